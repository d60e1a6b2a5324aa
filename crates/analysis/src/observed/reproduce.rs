//! A scenario that reproduces the flows between two hosts of a capture: the path as their packets show it, and what limits each at its ends.

use super::captured::{Captured, CapturedFlow};
use crate::models::loss::cubic;
use core::net::{IpAddr, SocketAddr};
use pipefill_core::cell::Direction;
use pipefill_core::limit::{CwndCause, LimitedBy};
use pipefill_core::units::{Bytes, Ratio};
use std::fmt::Write;
use std::time::Duration;

/// A limit that was not seen is out of the way: so many times what was in flight.
const OUT_OF_THE_WAY: u64 = 16;
/// Receivers advertise the part of their buffer that payload fills (`tcp_win_from_space()`, `scaling_ratio`).
const BUFFER_OF_WINDOW: f64 = 1.5;
/// Bytes of the least maximum of a buffer.
const LEAST_BUFFER: u64 = 4 << 20;
/// Bytes of the shortest queue.
const LEAST_QUEUE: u64 = 30_000;
/// Runs are no shorter and no longer, microseconds.
const SPAN_US: (u64, u64) = (100_000, 60_000_000);
/// The largest window without scaling (RFC 7323, 2.3).
const UNSCALED: u64 = 65_535;
/// Shares of losses that the response function is asked for.
const MODEL_LOSS: (f64, f64) = (1e-8, 0.5);
/// The function knows no timeouts: it holds up to here.
const RARE: f64 = 0.03;
/// Flows with less than this part of the largest one's bytes do not count, nor do more than so many.
const SMALL: f64 = 0.01;
const FLOWS_MAX: usize = 16;

/// The text of a scenario called `name`, of the largest flow and those between the same two hosts, of which the largest goes forward; `None`
/// without any flow.
pub fn scenario(found: &Captured, name: &str) -> Option<String> {
    let main = found.flows.first()?;
    let flows = beside(&found.flows, main);
    let first_us = flows.iter().map(|(flow, _)| flow.start_us).min().unwrap_or(0);
    let mut text = format!(
        "# Made from a capture of {} -> {}.\n# {}\n\nname = \"{name}\"\n",
        main.src,
        main.dst,
        main.verdict.as_deref().unwrap_or("What limits it was not told.")
    );
    path(&mut text, &flows, main);
    host(&mut text, &flows);
    let is_alone_in_it = !flows.iter().all(|(flow, _)| windowed(flow).is_some());
    for (flow, direction) in &flows {
        of_flow(&mut text, flow, *direction, first_us, is_alone_in_it);
    }
    text += "\n[run]\nrepeat = 3\nwarmup = \"0s\"\n";
    Some(text)
}

/// The flows between the hosts of `main`, with their directions.
fn beside<'a>(all: &'a [CapturedFlow], main: &CapturedFlow) -> Vec<(&'a CapturedFlow, Direction)> {
    let ends = |flow: &CapturedFlow| (address(&flow.src), address(&flow.dst));
    let (from, to) = ends(main);
    let flows = all.iter().filter_map(|flow| match ends(flow) {
        one if one == (from, to) => Some((flow, Direction::Forward)),
        one if one == (to, from) => Some((flow, Direction::Reverse)),
        _ => None,
    });
    flows.filter(|(flow, _)| flow.bytes as f64 >= SMALL * main.bytes as f64).take(FLOWS_MAX).collect()
}

fn address(end: &str) -> Option<IpAddr> {
    end.parse().ok().map(|end: SocketAddr| end.ip())
}

fn path(text: &mut String, flows: &[(&CapturedFlow, Direction)], main: &CapturedFlow) {
    let mut line = |words: String| {
        let _ = writeln!(text, "{words}");
    };
    line("\n[path]".to_owned());
    line(format!("rtt = \"{}us\"", main.min_rtt_us.unwrap_or(0)));
    for (way, prefix) in [(Direction::Forward, ""), (Direction::Reverse, "reverse_")] {
        let own: Vec<&CapturedFlow> =
            flows.iter().filter(|(_, direction)| *direction == way).map(|(flow, _)| *flow).collect();
        if let Some(rate) = rate(&own) {
            line(format!("{prefix}rate = \"{rate}bit\""));
            let queue_us = own.iter().filter_map(|flow| flow.queue_us).max();
            if let Some(queue) = queue_us.map(|us| rate / 8 * us / 1_000_000).filter(|&bytes| bytes > 0) {
                line(format!("{prefix}queue = \"{}B\"", queue.max(LEAST_QUEUE)));
            }
        }
        if let Some((again, loss)) = loss(&own) {
            line(format!("# {again:.4} % were sent again; so many losses by chance make CUBIC as fast."));
            line(format!("{prefix}loss = \"{loss:.4}%\""));
        }
    }
}

/// The bottleneck of a direction. Where it is not known, the path is no faster than what got through at most.
fn rate(flows: &[&CapturedFlow]) -> Option<u64> {
    let may_be_full = |flow: &&CapturedFlow| match flow.limited_by {
        Some(LimitedBy::Path) => true,
        // A window that grows has not met the bottleneck yet.
        Some(LimitedBy::Cwnd) => !matches!(flow.cwnd_cause, Some(CwndCause::Startup)),
        _ => false,
    };
    let together = flows.iter().map(|flow| goodput_beside(flows, flow)).max()?;
    let known = flows.iter().filter_map(|flow| flow.path_rate_bps).filter(|&rate| rate >= together).max();
    let fastest = || match flows {
        [one] => one.fastest_bps.filter(|_| may_be_full(one)),
        // Each of several has a part of it.
        _ => None,
    };
    let is_full = flows.iter().any(|flow| flow.limited_by == Some(LimitedBy::Path));
    known.or_else(fastest).or(is_full.then_some(together))
}

/// Of all flows that were there at the same time as `one`.
fn goodput_beside(flows: &[&CapturedFlow], one: &CapturedFlow) -> u64 {
    let half_us = one.start_us + one.span_us / 2;
    let is_there = |flow: &&&CapturedFlow| (flow.start_us..=flow.start_us + flow.span_us).contains(&half_us);
    flows.iter().filter(is_there).filter_map(|flow| flow.goodput_bps).sum()
}

/// What was sent again, and the losses by chance that make CUBIC as fast as the mean of the lossy flows, percent of the segments. Whatever the
/// sender's congestion control is, and whether losses came in bursts: the scenario has CUBIC and single losses.
fn loss(flows: &[&CapturedFlow]) -> Option<(f64, f64)> {
    let by_chance = |flow: &&CapturedFlow| match flow.cwnd_cause {
        Some(CwndCause::RandomLoss | CwndCause::Policer) => true,
        Some(CwndCause::Startup) => false,
        _ => flow.loss_is_chance,
    };
    let lossy: Vec<&CapturedFlow> = flows.iter().copied().filter(by_chance).collect();
    let sum = |count: fn(&CapturedFlow) -> u64| lossy.iter().map(|flow| count(flow)).sum::<u64>();
    let (again, all) = (sum(|flow| flow.retransmits), sum(|flow| flow.segments));
    if again == 0 || all == 0 {
        return None;
    }
    let measured = again as f64 / all as f64;
    let mss = Bytes::new(sum(|flow| flow.bytes) / all.saturating_sub(again).max(1));
    let rtt = Duration::from_micros(lossy.iter().filter_map(|flow| flow.min_rtt_us).min()?);
    let is_held_back = lossy.iter().all(|flow| flow.limited_by == Some(LimitedBy::Cwnd));
    let each = lossy.iter().filter_map(|flow| flow.goodput_bps).sum::<u64>() as f64 / lossy.len() as f64;
    let equal = is_held_back.then(|| loss_that_gives(each, mss, rtt)).flatten();
    let equal = equal.filter(|&share| share <= RARE).unwrap_or(measured);
    Some((100.0 * measured, 100.0 * equal))
}

/// The share of losses at which CUBIC reaches `bps`.
fn loss_that_gives(bps: f64, mss: Bytes, rtt: Duration) -> Option<f64> {
    let (mut low, mut high) = MODEL_LOSS;
    for _ in 0..40 {
        let middle = (low * high).sqrt();
        if cubic(mss, rtt, Ratio::from_fraction(middle))? > bps {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(low)
}

fn host(text: &mut String, flows: &[(&CapturedFlow, Direction)]) {
    let flight = flows.iter().filter_map(|(flow, _)| flow.in_flight_bytes).max().unwrap_or(0);
    let roomy = (OUT_OF_THE_WAY * flight).max(LEAST_BUFFER);
    let mut line = |words: &str| {
        let _ = writeln!(text, "{words}");
    };
    line("\n[host]\ncongestion_control = \"cubic\"");
    let window = flows.iter().map(|(flow, _)| windowed(flow)).min().flatten();
    let receive = window.map_or(roomy, |window| (BUFFER_OF_WINDOW * window as f64) as u64);
    line(&format!("tcp_rmem = \"4096 {} {receive}B\"", receive.min(131_072)));
    line(&format!("tcp_wmem = \"4096 16384 {roomy}B\""));
    if flows.iter().all(|(flow, _)| windowed(flow).is_some_and(|window| window <= UNSCALED)) {
        line("sysctl.\"net.ipv4.tcp_window_scaling\" = 0");
    }
    if flows.iter().any(|(flow, _)| flow.limited_by == Some(LimitedBy::Sndbuf)) {
        line(
            "# With segmentation offload a write goes in whole, whatever the send buffer: without it the buffer holds what it says.",
        );
        line("gso = false");
    }
}

/// The window that holds the flow back.
fn windowed(flow: &CapturedFlow) -> Option<u64> {
    flow.rwnd_bytes.filter(|_| flow.limited_by == Some(LimitedBy::Rwnd))
}

fn of_flow(
    text: &mut String,
    flow: &CapturedFlow,
    direction: Direction,
    first_us: u64,
    is_alone_in_it: bool,
) {
    let mut line = |words: String| {
        let _ = writeln!(text, "{words}");
    };
    line("\n[[flow]]".to_owned());
    let start_ms = (flow.start_us - first_us) / 1_000;
    if start_ms > 0 {
        line(format!("start = \"{start_ms}ms\""));
    }
    line(format!("duration = \"{}ms\"", flow.span_us.clamp(SPAN_US.0, SPAN_US.1).div_ceil(1_000)));
    if direction == Direction::Reverse {
        line("direction = \"reverse\"".to_owned());
    }
    let goodput = flow.goodput_bps.unwrap_or(0);
    match flow.limited_by {
        Some(LimitedBy::App) => line(format!("bitrate = \"{goodput}bit\"")),
        Some(LimitedBy::Receiver) => line(format!("read_rate = \"{goodput}bit\"")),
        Some(LimitedBy::Pacing) => line(format!("max_pacing_rate = \"{}bit\"", goodput / 20 * 21)),
        // Both are asked for in half of what the kernel then takes (socket(7)).
        Some(LimitedBy::Sndbuf) => {
            let held = goodput / 8 * flow.min_rtt_us.unwrap_or(0) / 1_000_000;
            line(format!("sndbuf = \"{}B\"", held.max(1)));
            line("writer = \"once-per-wake\"".to_owned());
        }
        Some(LimitedBy::Rwnd) => {
            let asked = windowed(flow)
                .filter(|_| is_alone_in_it)
                .map(|window| (BUFFER_OF_WINDOW / 2.0 * window as f64) as u64);
            asked.into_iter().for_each(|bytes| line(format!("rcvbuf = \"{bytes}B\"")));
        }
        // What it did is known, and not why.
        None | Some(LimitedBy::Unknown) => line(format!("bitrate = \"{goodput}bit\"")),
        _ => {}
    }
}
