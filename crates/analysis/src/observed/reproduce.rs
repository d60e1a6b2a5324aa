//! A scenario that reproduces one flow of a capture: the path as its packets show it, and what limits it at the ends.

use super::captured::CapturedFlow;
use pipefill_core::limit::{CwndCause, LimitedBy};
use std::fmt::Write;

/// Receivers advertise the part of their buffer that payload fills (`tcp_win_from_space()`, `scaling_ratio`).
const BUFFER_OF_WINDOW: f64 = 1.5;
/// A send buffer is asked for in half of what the kernel then takes (socket(7)). It counts memory, of which payload is most, and who writes
/// once for each wake-up keeps two thirds of it filled.
const ASKED_OF_FLIGHT: f64 = 0.5;
/// A limit that was not seen is out of the way: so many times what was in flight.
const OUT_OF_THE_WAY: u64 = 16;
/// Bytes of the least maximum of a buffer.
const LEAST_BUFFER: u64 = 4 << 20;
/// Runs are no shorter and no longer, microseconds.
const SPAN_US: (u64, u64) = (100_000, 60_000_000);
/// The largest window without scaling (RFC 7323, 2.3).
const UNSCALED: u64 = 65_535;

/// The scenario's text, called `name`. Data go forward, from the flow's sender.
pub fn scenario(flow: &CapturedFlow, name: &str) -> String {
    let limit = flow.limited_by;
    let flight = flow.in_flight_bytes.unwrap_or(0);
    let mut text = format!(
        "# Made from a capture of {} -> {}.\n# {}\n\nname = \"{name}\"\n\n[path]\n",
        flow.src,
        flow.dst,
        flow.verdict.as_deref().unwrap_or("What limits it was not told.")
    );
    let mut line = |words: String| {
        let _ = writeln!(text, "{words}");
    };
    line(format!("rtt = \"{}us\"", flow.min_rtt_us.unwrap_or(0)));
    // Where the bottleneck is not known, the path is no faster than what got through at most.
    let may_be_full = match limit {
        Some(LimitedBy::Path) => true,
        // A window that grows has not met the bottleneck yet.
        Some(LimitedBy::Cwnd) => !matches!(flow.cwnd_cause, Some(CwndCause::Startup)),
        _ => false,
    };
    let at_most = flow.fastest_bps.filter(|_| may_be_full);
    if let Some(rate) = flow.path_rate_bps.or(at_most) {
        line(format!("rate = \"{rate}bit\""));
        if let Some(queue) = flow.queue_us.map(|us| rate / 8 * us / 1_000_000).filter(|&bytes| bytes > 0) {
            line(format!("queue = \"{}B\"", queue.max(30_000)));
        }
    }
    let by_chance = flow.cwnd_cause == Some(CwndCause::RandomLoss)
        || flow.cwnd_cause == Some(CwndCause::Policer)
        || flow.loss_is_chance;
    if by_chance && flow.retransmits > 0 && flow.segments > 0 {
        line(format!("loss = \"{:.4}%\"", 100.0 * flow.retransmits as f64 / flow.segments as f64));
    }
    line("\n[host]\ncongestion_control = \"cubic\"".to_owned());
    let roomy = (OUT_OF_THE_WAY * flight).max(LEAST_BUFFER);
    let window = flow.rwnd_bytes.unwrap_or(0);
    let is_windowed = matches!(limit, Some(LimitedBy::Rwnd));
    let receive = if is_windowed { (BUFFER_OF_WINDOW * window as f64) as u64 } else { roomy };
    line(format!("tcp_rmem = \"4096 {} {receive}B\"", receive.min(131_072)));
    line(format!("tcp_wmem = \"4096 16384 {roomy}B\""));
    if is_windowed && window <= UNSCALED {
        line("sysctl.\"net.ipv4.tcp_window_scaling\" = 0".to_owned());
    }
    let span_us = flow.span_us.clamp(SPAN_US.0, SPAN_US.1);
    line(format!("\n[[flow]]\nduration = \"{}ms\"", span_us.div_ceil(1_000)));
    let goodput = flow.goodput_bps.unwrap_or(0);
    match limit {
        Some(LimitedBy::App) => line(format!("bitrate = \"{goodput}bit\"")),
        Some(LimitedBy::Receiver) => line(format!("read_rate = \"{goodput}bit\"")),
        Some(LimitedBy::Pacing) => line(format!("max_pacing_rate = \"{}bit\"", goodput / 20 * 21)),
        Some(LimitedBy::Sndbuf) => {
            line(format!("sndbuf = \"{}B\"", (ASKED_OF_FLIGHT * flight as f64) as u64));
            line("writer = \"once-per-wake\"".to_owned());
        }
        _ => {}
    }
    line("\n[run]\nrepeat = 3\nwarmup = \"0s\"".to_owned());
    text
}
