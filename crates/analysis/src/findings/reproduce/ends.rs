//! The hosts and flows of the scenario: what limits each flow at its ends.

use super::knob::{Knob, Setting};
use super::{Draft, Placed};
use crate::findings::connections::CapturedFlow;
use pipefill_core::cell::Direction;
use pipefill_core::limit::LimitedBy;
use std::fmt::Write;

/// A limit that the capture does not show is set to this many times the largest flight, so that it does not limit.
const OUT_OF_THE_WAY: u64 = 16;
/// Receivers advertise the part of their buffer that payload fills (`tcp_win_from_space()`, `scaling_ratio`).
const BUFFER_OF_WINDOW: f64 = 1.5;
/// Bytes of the least maximum of a buffer.
const LEAST_BUFFER: u64 = 4 << 20;
/// The shortest and the longest run, microseconds.
const SPAN_US: (u64, u64) = (100_000, 60_000_000);
/// The largest window without scaling (RFC 7323, 2.3).
const UNSCALED: u64 = 65_535;
/// A window that held back for this share of the time, and was filled to this part, is the receiver's whole buffer.
const FOR_A_WHILE: f64 = 0.2;
const FILLED: f64 = 0.9;

pub(super) fn write(text: &mut String, draft: &Draft<'_>, setting: Option<Setting>) {
    let factor = |knob, flow: &CapturedFlow| {
        let is_it = |setting: &Setting| setting.knob == knob && std::ptr::eq(flow, draft.main);
        setting.filter(is_it).map_or(1.0, |setting| setting.value)
    };
    let window = |flow: &CapturedFlow| windowed(flow).map(|bytes| bytes as f64 * factor(Knob::Window, flow));
    host(text, &draft.flows, &window);
    let first_us = draft.flows.iter().map(|(flow, _)| flow.start_us).min().unwrap_or(0);
    let is_alone_in_it = !draft.flows.iter().all(|(flow, _)| windowed(flow).is_some());
    for &(flow, direction) in &draft.flows {
        of_flow(text, flow, direction, first_us);
        at_its_ends(text, flow, factor(Knob::Sndbuf, flow), window(flow).filter(|_| is_alone_in_it));
    }
}

fn host(text: &mut String, flows: &[Placed<'_>], window: &dyn Fn(&CapturedFlow) -> Option<f64>) {
    let flight = flows.iter().filter_map(|(flow, _)| flow.in_flight_bytes).max().unwrap_or(0);
    let roomy = (OUT_OF_THE_WAY * flight).max(LEAST_BUFFER);
    let mut line = |words: &str| {
        let _ = writeln!(text, "{words}");
    };
    line("\n[host]\ncongestion_control = \"cubic\"");
    let windows: Option<Vec<f64>> = flows.iter().map(|(flow, _)| window(flow)).collect();
    let largest = windows.map(|all| all.into_iter().fold(f64::INFINITY, f64::min));
    let receive = largest.map_or(roomy, |window| (BUFFER_OF_WINDOW * window) as u64);
    line(&format!("tcp_rmem = \"4096 {} {receive}B\"", receive.min(131_072)));
    line(&format!("tcp_wmem = \"4096 16384 {roomy}B\""));
    if flows.iter().all(|(flow, _)| windowed(flow).is_some_and(|window| window <= UNSCALED)) {
        line("sysctl.\"net.ipv4.tcp_window_scaling\" = 0");
    }
    if flows.iter().any(|(flow, _)| flow.verdict.limited_by == Some(LimitedBy::Sndbuf)) {
        line(
            "# With segmentation offload a write goes in whole, whatever the send buffer: without it the buffer holds what it says.",
        );
        line("gso = false");
    }
}

/// The window that holds the flow back, or did so until something else was narrower.
pub(super) fn windowed(flow: &CapturedFlow) -> Option<u64> {
    let share = flow.verdict.limited_fraction.as_ref().and_then(|all| all.get(&LimitedBy::Rwnd)).copied();
    let was_filled =
        |window: u64| flow.in_flight_bytes.is_some_and(|most| most as f64 >= FILLED * window as f64);
    let for_a_while = |window: u64| share.is_some_and(|share| share >= FOR_A_WHILE) && was_filled(window);
    flow.rwnd_bytes.filter(|&window| flow.verdict.limited_by == Some(LimitedBy::Rwnd) || for_a_while(window))
}

fn of_flow(text: &mut String, flow: &CapturedFlow, direction: Direction, first_us: u64) {
    let mut line = |words: String| {
        let _ = writeln!(text, "{words}");
    };
    line("\n[[flow]]".to_owned());
    let start_ms = (flow.start_us - first_us) / 1_000;
    if start_ms > 0 {
        line(format!("start = \"{start_ms}ms\""));
    }
    let data_us = flow.data_us.unwrap_or(0);
    line(format!("duration = \"{}ms\"", data_us.clamp(SPAN_US.0, SPAN_US.1).div_ceil(1_000)));
    if direction == Direction::Reverse {
        line("direction = \"reverse\"".to_owned());
    }
}

fn at_its_ends(text: &mut String, flow: &CapturedFlow, of_sndbuf: f64, window: Option<f64>) {
    let mut line = |words: String| {
        let _ = writeln!(text, "{words}");
    };
    let goodput = flow.goodput_bps.unwrap_or(0);
    match flow.verdict.limited_by {
        Some(LimitedBy::App) => line(format!("bitrate = \"{goodput}bit\"")),
        Some(LimitedBy::Receiver) => line(format!("read_rate = \"{goodput}bit\"")),
        Some(LimitedBy::Pacing) => line(format!("max_pacing_rate = \"{}bit\"", goodput / 20 * 21)),
        // Both are asked for in half of what the kernel then takes (socket(7)).
        Some(LimitedBy::Sndbuf) => {
            let held = goodput / 8 * flow.min_rtt_us.unwrap_or(0) / 1_000_000;
            line(format!("sndbuf = \"{}B\"", ((held as f64 * of_sndbuf) as u64).max(1)));
            line("writer = \"once-per-wake\"".to_owned());
        }
        // What it did is known, and not why.
        None | Some(LimitedBy::Unknown) => line(format!("bitrate = \"{goodput}bit\"")),
        _ => {
            let asked = window.map(|bytes| (BUFFER_OF_WINDOW / 2.0 * bytes) as u64);
            asked.into_iter().for_each(|bytes| line(format!("rcvbuf = \"{bytes}B\"")));
        }
    }
}
