//! `pipefill bdp`: the calculator's screen, 80 columns and at most 40 lines.
//!
//! Never: arithmetic; every figure comes from the calculation.

use crate::quantity::Kind;
use pipefill_analysis::calculator::{Calculation, LossAnswer, PredictedBy, WindowAnswer};

/// Width of the labels.
const LABEL: usize = 22;
/// Width of the figures.
const FIGURE: usize = 15;

/// `calculation` as text. Ends with a newline.
pub fn render(calculation: &Calculation) -> String {
    let mut lines = vec![question(calculation), String::new()];
    lines.extend(pipe(calculation));
    if let Some(window) = &calculation.window {
        lines.push(String::new());
        lines.extend(window_lines(window));
    }
    if let Some(loss) = &calculation.loss {
        lines.push(String::new());
        lines.extend(loss_lines(loss));
    }
    lines.push(String::new());
    lines.push(answer(calculation));
    lines.push(String::new());
    lines.extend(needs(calculation));
    lines.join("\n") + "\n"
}

fn question(c: &Calculation) -> String {
    format!(
        "{} bottleneck (IP + 14 bytes), RTT {}, MSS {} B",
        rate(c.rate_bps),
        micros(c.rtt_us),
        c.mss_bytes
    )
}

fn pipe(c: &Calculation) -> Vec<String> {
    vec![
        line("BDP", &bytes(c.bdp_bytes), &format!("{} B, rate × RTT", c.bdp_bytes)),
        line("", &c.bdp_packets.to_string(), "full frames"),
        line("goodput at most", &rate(c.goodput_limit_bps), "rate × MSS / (MSS + 66)"),
        line("slow start", &micros(c.slow_start_us), "until a BDP is in flight, from 10 segments"),
    ]
}

fn window_lines(w: &WindowAnswer) -> Vec<String> {
    let filled = format!("{:.0} % of the BDP", w.bdp_percent);
    vec![
        line("window", &bytes(w.window_bytes), &filled),
        line("window law", &rate(w.window_law_bps), "window / RTT"),
        line("fills the pipe up to", &micros(w.rtt_limit_us), "RTT = window / rate"),
    ]
}

fn loss_lines(l: &LossAnswer) -> Vec<String> {
    let region =
        if l.reno_friendly { "RFC 9438 section 5, Reno-friendly region" } else { "RFC 9438 section 5" };
    vec![
        line("loss", &Kind::Percent.alone(l.loss_percent), "independent, per segment"),
        line("Mathis (1997)", &rate(l.mathis_bps), "MSS/RTT × 1.22/√p"),
        line("PFTK (1998)", &rate(l.pftk_bps), "Reno with time-outs, delayed ACKs"),
        line("CUBIC", &rate(l.cubic_bps), region),
    ]
}

fn answer(c: &Calculation) -> String {
    let why = match c.predicted_by {
        PredictedBy::Rate => "the rate, less headers",
        PredictedBy::Window => "the window",
        PredictedBy::Loss => "the loss (CUBIC)",
    };
    line("expect", &rate(c.predicted_bps), &format!("limited by {why}"))
}

fn needs(c: &Calculation) -> Vec<String> {
    let mut lines = vec!["To have a BDP in flight, on both ends:".to_owned()];
    lines.extend(c.sysctl.iter().map(|sysctl| format!("  {sysctl}")));
    lines.push("To emulate the path:".to_owned());
    lines.push(format!("  netem limit at least {} (packets; full frames)", c.netem_limit_packets));
    lines.push(format!("  tbf burst at least {} B", c.tbf_burst_bytes));
    lines
}

fn line(label: &str, figure: &str, why: &str) -> String {
    format!("{label:<LABEL$}{figure:<FIGURE$}{why}").trim_end().to_owned()
}

fn rate(bps: u64) -> String {
    Kind::Rate.alone(bps as f64)
}

fn bytes(bytes: u64) -> String {
    Kind::Bytes.alone(bytes as f64)
}

fn micros(us: u64) -> String {
    Kind::Time.alone(us as f64 * 1e3)
}
