//! `pipefill bdp`: the calculator's screen, 80 columns and at most 40 lines.

use crate::quantity::{QuantityKind, bytes, duration, rate};
use pipefill_analysis::ground::calculator::{
    BufferAnswer, Calculation, LossAnswer, PredictedBy, WindowAnswer,
};

/// Width of the screen.
const COLUMNS: usize = 80;
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
    if let Some(buffer) = &calculation.buffer {
        lines.push(String::new());
        lines.extend(buffer_lines(buffer));
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
    let counted = match c.overhead_bytes {
        0 => "IP + 14 bytes".to_owned(),
        overhead => format!("IP + 14 + {overhead} bytes"),
    };
    format!("{} bottleneck ({counted}), RTT {}, MSS {} B", rate(c.rate_bps), duration(c.rtt_us), c.mss_bytes)
}

fn pipe(c: &Calculation) -> Vec<String> {
    let beside = c.counted_bytes.saturating_sub(c.mss_bytes);
    let wire = match c.overhead_bytes {
        0 => String::new(),
        bytes => format!(", {bytes} for the wire"),
    };
    vec![
        line("BDP", &bytes(c.bdp_bytes), &format!("{} B, rate × RTT", c.bdp_bytes)),
        line("in flight", &c.bdp_packets.to_string(), "full frames"),
        line("window needed", &bytes(c.bdp_bytes), "cwnd, receive window and send buffer, each"),
        line("goodput at most", &rate(c.goodput_limit_bps), &format!("rate × MSS / (MSS + {beside}){wire}")),
        line("slow start", &duration(c.slow_start_us), "until a BDP is in flight, from 10 segments"),
    ]
}

fn window_lines(w: &WindowAnswer) -> Vec<String> {
    let filled = format!("{:.0} % of the BDP", w.bdp_percent);
    vec![
        line("window", &bytes(w.window_bytes), &filled),
        line("window law", &rate(w.window_law_bps), "window / RTT"),
        line("fills the pipe up to", &duration(w.rtt_limit_us), "RTT = window / rate"),
    ]
}

fn buffer_lines(b: &BufferAnswer) -> Vec<String> {
    vec![
        line("buffer", &bytes(b.buffer_bytes), ""),
        line("as receive buffer", &rate(b.rcvbuf_bps), "at least; since Linux 6.6 up to half more"),
        line("as send buffer", &rate(b.sndbuf_gso_bps), "at least, in super-packets (GSO)"),
        line("", &rate(b.sndbuf_mtu_bps), "at least, in packets of one segment"),
    ]
}

fn loss_lines(l: &LossAnswer) -> Vec<String> {
    let region =
        if l.reno_friendly { "RFC 9438 section 5, Reno-friendly region" } else { "RFC 9438 section 5" };
    vec![
        line("loss", &QuantityKind::Percent.alone(l.loss_percent), "independent, per segment"),
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
    let mut lines =
        vec!["To have a BDP in flight, on both ends (/etc/sysctl.d, or sysctl -w \"…\"):".to_owned()];
    lines.extend(indented(&c.sysctl));
    lines.push("For programs that set SO_RCVBUF and SO_SNDBUF themselves:".to_owned());
    lines.extend(indented(&c.socket_sysctl));
    lines.push("To emulate the path (the last line undoes it):".to_owned());
    lines.extend(c.tc.iter().map(|line| broken(line)));
    lines.push(format!("  netem limit at least {} (packets; full frames)", c.netem_limit_packets));
    lines.push(format!("  tbf burst {} B is safe for any timer, the BDP is not needed", c.tbf_burst_bytes));
    lines
}

/// A command in two lines that a shell reads as one; in three where the second one would be too long.
fn broken(command: &str) -> String {
    let Some(at) = ["netem", "tbf"].iter().find_map(|word| command.find(word)) else {
        return format!("  {command}");
    };
    let (head, tail) = command.split_at(at);
    let is_long = tail.len() + 4 > COLUMNS;
    let tail = if is_long { tail.replacen(" limit", " \\\n      limit", 1) } else { tail.to_owned() };
    format!("  {head}\\\n    {tail}")
}

fn indented(lines: &[String]) -> impl Iterator<Item = String> {
    lines.iter().map(|line| format!("  {line}"))
}

fn line(label: &str, figure: &str, why: &str) -> String {
    format!("{label:<LABEL$}{figure:<FIGURE$}{why}").trim_end().to_owned()
}
