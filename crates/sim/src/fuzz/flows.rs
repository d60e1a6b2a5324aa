//! The traffic of a random scenario: one to eight flows, mixed.
//!
//! Never: more packets than the run's budget, whatever the rate.

use super::dice::Dice;
use super::text::{line, quoted};

/// The packets that a run may send, about.
const BUDGET: u64 = 100_000;
/// Rows of telemetry that a run may have, about.
const ROWS: u64 = 20_000;
const SHORTEST_MS: u64 = 5;
const LONGEST_MS: u64 = 60_000;
/// More than any window: what is in flight over a long path bounds its rate.
const WINDOW_BITS: u64 = 8 * (16 << 20);

/// What the flows have to know of the path.
#[derive(Debug)]
pub(super) struct Path {
    /// The faster direction's bottleneck, bits per second.
    pub(super) rate: u64,
    pub(super) rtt_us: u64,
    /// The largest IP packet and its header, bytes.
    pub(super) mtu: u64,
    pub(super) header: u64,
}

/// The flows as TOML, and an interval for the telemetry, milliseconds.
pub(super) fn flows(dice: &mut Dice, path: &Path) -> (String, u64) {
    let by_window = WINDOW_BITS * 1_000_000 / path.rtt_us.max(1);
    let rate = path.rate.min(by_window).max(1);
    let packets = dice.magnitude(BUDGET / 50, BUDGET);
    let frame_bits = (path.mtu + 14) * 8;
    let millis = (packets * frame_bits * 1000 / rate).clamp(SHORTEST_MS, LONGEST_MS);
    let mut text = String::new();
    let count = if dice.percent(50) { 1 } else { dice.between(2, 8) };
    for _ in 0..count {
        text += "\n[[flow]]\n";
        flow(dice, path, millis, &mut text);
    }
    let sample_ms = dice.magnitude(1, 1000).max(millis * 6 * count / ROWS).clamp(1, millis.div_ceil(2));
    (text, sample_ms)
}

/// One flow; `millis` is how long the run lasts, about.
fn flow(dice: &mut Dice, path: &Path, millis: u64, text: &mut String) {
    let is_tcp = dice.percent(80);
    let span = dice.between(millis.div_ceil(2), millis);
    quoted(text, "protocol", if is_tcp { "tcp" } else { "udp" });
    quoted(text, "duration", format_args!("{span}ms"));
    quoted(text, "direction", dice.pick(&["forward", "forward", "forward", "reverse", "both"]));
    if dice.percent(30) {
        quoted(text, "start", format_args!("{}us", dice.between(0, millis * 500)));
    }
    if dice.percent(20) {
        line(text, "parallel", dice.between(2, 4));
    }
    if is_tcp {
        tcp(dice, path, text);
    } else {
        let length = dice.magnitude(32, path.mtu - path.header - 8);
        let most = (2 * path.rate).min(BUDGET / 4 * length * 8 * 1000 / span).max(20_000);
        quoted(text, "length", format_args!("{length}B"));
        if dice.percent(20) {
            let size = dice.magnitude(1, most.div_ceil(8));
            line(text, "app", format_args!("{{ kind = \"bursts\", size = \"{size}B\", every = \"1s\" }}"));
        } else {
            quoted(text, "bitrate", format_args!("{}bit", dice.magnitude(10_000, most)));
        }
    }
}

fn tcp(dice: &mut Dice, path: &Path, text: &mut String) {
    if dice.percent(30) {
        let app = conversation(dice);
        line(text, "app", format_args!("{{ {app} }}"));
        line(text, "nodelay", dice.percent(30));
    } else {
        bulk(dice, path, text);
    }
    if dice.percent(15) {
        quoted(text, "max_pacing_rate", format_args!("{}bit", dice.magnitude(20_000, 2 * path.rate)));
    }
    for key in ["sndbuf", "rcvbuf"] {
        if dice.percent(25) {
            quoted(text, key, format_args!("{}B", dice.magnitude(1, 64 << 20)));
        }
    }
    if dice.percent(25) {
        quoted(text, "congestion_control", dice.pick(&["cubic", "reno", "bbr"]));
    }
}

/// Programs that wait for each other, or for a clock. Messages of a few bytes would be many packets more than the budget has.
fn conversation(dice: &mut Dice) -> String {
    let mut size = |most: u64| format!("\"{}B\"", dice.magnitude(100, most));
    let (small, large, window) = (size(100_000), size(2 << 20), size(8 << 20));
    let sizes = [size(3_000), size(30_000), size(3_000)];
    let wait = dice.magnitude(1, 500);
    match dice.between(0, 3) {
        0 => format!(
            "kind = \"requests\", request = {small}, response = {large}, outstanding = {}, think = \"{wait}ms\", \
             pause = \"{}ms\"",
            dice.between(1, 20),
            dice.between(0, 50),
        ),
        1 => format!("kind = \"window\", size = {window}"),
        2 => {
            let count = dice.between(1, 3) as usize;
            format!("kind = \"writes\", sizes = [{}], response = {small}", sizes[..count].join(", "))
        }
        _ => format!("kind = \"bursts\", size = {large}, every = \"{wait}ms\""),
    }
}

fn bulk(dice: &mut Dice, path: &Path, text: &mut String) {
    let is_paced = dice.percent(20);
    if is_paced {
        quoted(text, "bitrate", format_args!("{}bit", dice.magnitude(10_000, path.rate)));
    }
    if dice.percent(30) {
        // A paced writer of single bytes would be an event a byte.
        let least = if is_paced { 1000 } else { 100 };
        quoted(text, "length", format_args!("{}B", dice.magnitude(least, 4 << 20)));
    }
    if !is_paced && dice.percent(20) {
        quoted(text, "writer", dice.pick(&["blocking", "once-per-wake"]));
    }
    // From a reader that stalls for minutes to one that nobody notices.
    if dice.percent(20) {
        quoted(text, "read_rate", format_args!("{}bit", dice.magnitude(1000, 2 * path.rate)));
    }
}
