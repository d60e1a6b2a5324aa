//! A random scenario: path, hosts and run; the flows stand in a module of their own.
//!
//! Every key and every form that the simulator models can come up, mild values and absurd ones.

use super::dice::Dice;
use super::flows::{self, Path};
use super::text::{line, quoted};
use std::fmt::Write;

/// What a path without a rate carries, bits per second.
const HOST_RATE: u64 = 25_000_000_000;
/// Tells the dice of the AQM from those of all else.
const AQM_DICE: u64 = 0xa9_0000;

/// The scenario of `seed`, as TOML.
pub fn scenario(seed: u64) -> String {
    let mut dice = Dice::new(seed);
    let mut text = format!("name = \"fuzz-{seed}\"\n\n[path]\n");
    let path = path(&mut dice, &mut text);
    // Of dice of its own: scenarios without an AQM stay what they were.
    let mut aqm_dice = Dice::new(seed ^ AQM_DICE);
    let has_ecn = aqm(&mut aqm_dice, &mut text);
    hosts(&mut dice, &mut text, has_ecn);
    let (traffic, sample_ms) = flows::flows(&mut dice, &path);
    text += &traffic;
    line(&mut text, "\n[run]\nrepeat", "1");
    line(&mut text, "seed", dice.between(1, 1_000_000));
    quoted(&mut text, "sample", format_args!("{sample_ms}ms"));
    text
}

fn path(dice: &mut Dice, text: &mut String) -> Path {
    let rtt_us = delays(dice, text);
    let (mtu, header) = packets(dice, text);
    let rate = dice.percent(85).then(|| {
        let low = if dice.percent(10) { 64_000 } else { 1_000_000 };
        dice.magnitude(low, 10_000_000_000)
    });
    let reverse_rate = dice.percent(30).then(|| dice.magnitude(64_000, 10_000_000_000));
    for (prefix, rate) in [("", rate), ("reverse_", reverse_rate)] {
        if let Some(rate) = rate {
            bottleneck(dice, text, prefix, rate, mtu + 14);
        }
    }
    if rate.or(reverse_rate).is_some() && dice.percent(20) {
        quoted(text, "rate_layer", "wire");
    }
    losses(dice, text);
    delay_variation(dice, text, mtu + 14);
    let fastest = rate.unwrap_or(HOST_RATE).max(reverse_rate.unwrap_or(HOST_RATE));
    Path { rate: fastest, rtt_us, mtu, header }
}

/// The MTU and the IP header, bytes.
fn packets(dice: &mut Dice, text: &mut String) -> (u64, u64) {
    let is_ipv6 = dice.percent(25);
    if is_ipv6 {
        quoted(text, "family", "ipv6");
    }
    let mtu = if dice.percent(25) { dice.magnitude(if is_ipv6 { 1280 } else { 576 }, 9000) } else { 1500 };
    line(text, "mtu", mtu);
    (mtu, if is_ipv6 { 40 } else { 20 })
}

fn delays(dice: &mut Dice, text: &mut String) -> u64 {
    let mut delay = |most| if dice.percent(10) { 0 } else { dice.magnitude(10, most) };
    let (rtt, forward, reverse) = (delay(1_000_000), delay(500_000), delay(500_000));
    match dice.between(0, 3) {
        0 => {
            quoted(text, "forward_delay", format_args!("{forward}us"));
            quoted(text, "reverse_delay", format_args!("{reverse}us"));
            return forward + reverse;
        }
        1 => {
            quoted(text, "rtt", format_args!("{rtt}us"));
            quoted(text, "split", "forward");
        }
        _ => quoted(text, "rtt", format_args!("{rtt}us")),
    }
    rtt
}

fn bottleneck(dice: &mut Dice, text: &mut String, prefix: &str, rate: u64, frame: u64) {
    quoted(text, &format!("{prefix}rate"), format_args!("{rate}bit"));
    if dice.percent(80) {
        let limit = limit(dice, frame, true);
        quoted(text, &format!("{prefix}queue"), limit);
    }
    if dice.percent(50) {
        quoted(text, &format!("{prefix}burst"), format_args!("{}B", dice.magnitude(frame + 24, 1 << 20)));
    }
}

/// How the queues are managed, in half of the scenarios with a rate; says whether the hosts ask for ECN.
fn aqm(dice: &mut Dice, text: &mut String) -> bool {
    let kinds = [
        "drophead",
        "codel",
        "codel target=1ms interval=20ms",
        "fq_codel",
        "fq_codel flows=4 quantum=300B memory_limit=100kB",
        "pie",
        "pie target=1ms tupdate=4ms",
        "dualpi2",
    ];
    let mut marks = false;
    for prefix in ["", "reverse_"] {
        let has_rate = text.lines().any(|line| line.starts_with(&format!("{prefix}rate =")));
        if has_rate && dice.percent(50) {
            let kind = dice.pick(&kinds);
            quoted(text, &format!("{prefix}aqm"), kind);
            if !kind.starts_with("dualpi2") && dice.percent(50) {
                marks = true;
                line(text, &format!("{prefix}ecn"), "true");
            }
        }
    }
    marks
}

fn limit(dice: &mut Dice, frame: u64, has_rate: bool) -> String {
    match dice.between(0, if has_rate { 3 } else { 2 }) {
        0 => format!("{}p", dice.between(1, 5)),
        1 => format!("{}p", dice.magnitude(1, 10_000)),
        2 => format!("{}B", dice.magnitude(frame, 16 << 20)),
        _ => format!("0.{}bdp", dice.between(1, 99)),
    }
}

fn losses(dice: &mut Dice, text: &mut String) {
    let mut has_loss = false;
    for (key, often) in [("loss", 50), ("reverse_loss", 25)] {
        if dice.percent(often) {
            has_loss = true;
            let loss = loss(dice);
            quoted(text, key, loss);
        }
    }
    if has_loss && dice.percent(30) {
        quoted(text, "loss_unit", dice.pick(&["segment", "super-packet"]));
    }
}

fn loss(dice: &mut Dice) -> String {
    match dice.between(0, 4) {
        0 => format!("0.0{}%", dice.between(1, 99)),
        1 => format!("{}%", dice.magnitude(1, 60)),
        2 => format!(
            "gilbert-elliott p={}% r={}% loss_bad={}% loss_good={}%",
            dice.magnitude(1, 20),
            dice.magnitude(1, 100),
            dice.between(10, 100),
            dice.between(0, 3),
        ),
        3 => {
            let first = dice.magnitude(6, 500);
            format!("packets {},{first}-{}", dice.between(1, 5), first + dice.magnitude(1, 100))
        }
        _ => {
            let mut lost: Vec<u64> = (0..dice.between(1, 12)).map(|_| dice.magnitude(1, 2000)).collect();
            lost.sort_unstable();
            lost.dedup();
            let lost: Vec<String> = lost.iter().map(u64::to_string).collect();
            format!("packets {}", lost.join(","))
        }
    }
}

fn delay_variation(dice: &mut Dice, text: &mut String, frame: u64) {
    let mut has_jitter = false;
    for (key, often) in [("jitter", 30), ("reverse_jitter", 15)] {
        if dice.percent(often) {
            has_jitter = true;
            quoted(text, key, format_args!("{}us", dice.magnitude(1, 100_000)));
        }
    }
    if has_jitter {
        line(text, "jitter_reorder", dice.pick(&["true", "false"]));
        if dice.percent(50) {
            quoted(text, "jitter_distribution", dice.pick(&["uniform", "normal", "quantiles -1 0 0.5 3"]));
        }
    }
    for (key, often) in [("duplicate", 15), ("reorder", 15)] {
        if dice.percent(often) {
            quoted(text, key, format_args!("{}%", dice.magnitude(1, 50)));
        }
    }
    for (key, often) in [("delay_limit", 10), ("reverse_delay_limit", 5)] {
        if dice.percent(often) {
            let limit = limit(dice, frame, false);
            quoted(text, key, limit);
        }
    }
}

fn hosts(dice: &mut Dice, text: &mut String, has_ecn: bool) {
    for section in ["host", "sender", "receiver"] {
        let _written = writeln!(text, "\n[{section}]");
        if section == "host" && has_ecn {
            line(text, "tcp_ecn", "1");
        }
        if section == "host" || dice.percent(20) {
            quoted(text, "congestion_control", dice.pick(&["cubic", "reno", "bbr"]));
        }
        let often = if section == "host" { 1 } else { 3 };
        for key in ["tcp_rmem", "tcp_wmem"] {
            if dice.percent(60 / often) {
                let sizes = sizes(dice);
                quoted(text, key, sizes);
            }
        }
        for key in ["gso", "gro", "tso"] {
            if dice.percent(9 / often) {
                line(text, key, dice.pick(&["true", "false"]));
            }
        }
        let _written = writeln!(text, "\n[{section}.sysctl]");
        for name in ["window_scaling", "timestamps", "slow_start_after_idle", "moderate_rcvbuf"] {
            if dice.percent(24 / often) {
                line(text, &format!("\"net.ipv4.tcp_{name}\""), dice.pick(&["0", "0", "1"]));
            }
        }
        if dice.percent(15 / often) {
            let scale = dice.pick(&["-31", "-8", "-2", "-1", "0", "1", "2", "3", "8", "31"]);
            line(text, "\"net.ipv4.tcp_adv_win_scale\"", scale);
        }
    }
}

/// Minimum, default and maximum, from a byte up.
fn sizes(dice: &mut Dice) -> String {
    let low = if dice.percent(20) { 1 } else { 4096 };
    let mut sizes = [dice.magnitude(low, 8192), dice.magnitude(low, 1 << 20), dice.magnitude(low, 64 << 20)];
    sizes.sort_unstable();
    sizes.map(|size| size.to_string()).join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::scenario::Scenario;

    #[test]
    fn every_scenario_is_one_and_none_is_like_another() {
        for seed in 0..500 {
            let text = scenario(seed);
            let parsed =
                Scenario::parse(&text, "fuzz.toml").unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert_eq!(parsed.plan().runs().len(), 1, "{text}");
            assert_ne!(text, scenario(seed + 1));
            assert_eq!(text, scenario(seed));
        }
    }
}
