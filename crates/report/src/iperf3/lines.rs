//! The lines of a test between two hosts, for a terminal: one for each stream and interval, sums, totals, and the verdict.

use super::measured::{Counted, Interval, IntervalCount, Measured, TestStream, sum};
use crate::connections::in_words;
use crate::prose;
use crate::quantity::{self, QuantityKind};
use crate::table::Style;
use crate::words::warnings;
use pipefill_analysis::findings::connections::{Ends, Server, TestFinding, TestResult};
use pipefill_analysis::ground::statistics::median;
use std::fmt::Write;

/// The head of the lines of intervals.
pub fn heading(measured: &Measured) -> String {
    let last = if measured.is_udp { "datagrams" } else { "retr   cwnd        rtt" };
    format!("stream     interval              transfer    rate          {last}\n")
}

/// The line before test `number` of `count`.
pub fn number(number: u32, count: u32) -> String {
    let before = if number == 1 { "" } else { "\n" };
    format!("{before}Test {number} of {count}\n\n")
}

/// What several valid tests have in common: medians and what lies around them, for each way that data went.
pub fn repeated(tests: &[TestResult]) -> String {
    let mut text = String::new();
    for sends in [true, false] {
        let rate = |test: &TestResult| if sends { test.to_server_bps } else { test.to_client_bps };
        let rates: Vec<f64> = tests.iter().filter(|test| test.valid).filter_map(rate).collect();
        let Some(middle) = median(&rates) else { continue };
        let [least, most] = [f64::min, f64::max].map(|of| rates.iter().copied().fold(middle, of));
        let [middle, least, most] = [middle, least, most].map(|bps| QuantityKind::Rate.alone(bps));
        let way = if sends { "to" } else { "from" };
        let _ = writeln!(
            text,
            "{} tests {way} the server: {middle} in the median, {least} to {most}",
            rates.len()
        );
    }
    text
}

/// The lines of one interval.
pub fn interval(measured: &Measured, interval: &Interval) -> String {
    let mut text = String::new();
    let each = || measured.streams.iter().zip(&interval.streams);
    for (stream, count) in each() {
        let _ = writeln!(text, "{}", line(measured, &name(stream), interval, stream.sends, count));
    }
    if measured.parallel > 1 {
        for sends in [true, false] {
            let of_way = each().filter(|(stream, _)| stream.sends == sends).map(|(_, count)| count.counted);
            if measured.streams.iter().any(|stream| stream.sends == sends) {
                let all = IntervalCount { counted: sum(of_way), look: None };
                let _ = writeln!(
                    text,
                    "{}",
                    line(measured, &format!("sum {}", arrow(sends)), interval, sends, &all)
                );
            }
        }
    }
    text
}

fn line(measured: &Measured, name: &str, interval: &Interval, sends: bool, count: &IntervalCount) -> String {
    let span_us = interval.to_us.saturating_sub(interval.from_us);
    let mut text = amounts(name, interval.from_us, interval.to_us, count.counted.bytes, span_us);
    if measured.is_udp {
        text.push_str(&if sends {
            count.counted.packets.to_string()
        } else {
            lost(&count.counted, measured.is_clock_set)
        });
    } else if let Some(look) = count.look {
        let again = count.counted.retransmits.unwrap_or(0);
        let (cwnd, rtt) = (quantity::bytes(look.cwnd_bytes), quantity::duration(look.srtt_us));
        let _ = write!(text, "{again:<6} {cwnd:<11} {rtt}");
    }
    text.truncate(text.trim_end().len());
    if interval.is_omitted { text + "  (omitted)" } else { text }
}

fn amounts(name: &str, from_us: u64, to_us: u64, bytes: u64, span_us: u64) -> String {
    let [from, to] = [from_us, to_us].map(|us| us as f64 / 1e6);
    let span = format!("{from:.2}-{to:.2} s");
    let bits = if span_us > 0 { bytes as f64 * 8e6 / span_us as f64 } else { 0.0 };
    let (bytes, rate) = (quantity::bytes(bytes), QuantityKind::Rate.alone(bits));
    format!("{name:<10} {span:<21} {bytes:<11} {rate:<13} ")
}

/// A jitter says nothing where a clock was set.
fn lost(counted: &Counted, is_clock_set: bool) -> String {
    let share = 100.0 * counted.lost as f64 / counted.packets.max(1) as f64;
    let lost = format!("{} of {} lost ({share:.2} %)", counted.lost, counted.packets);
    if is_clock_set {
        return lost;
    }
    format!("{lost}, jitter {}", QuantityKind::Time.alone(counted.jitter_ns as f64))
}

fn name(stream: &TestStream) -> String {
    format!("{} {}", stream.socket, arrow(stream.sends))
}

const fn arrow(sends: bool) -> &'static str {
    if sends { "->" } else { "<-" }
}

/// Totals of each stream, and what limits the test.
pub fn summary(measured: &Measured, finding: &TestFinding, style: Style) -> String {
    let mut text = String::from("\n");
    let mut total = |name: &str, which: &str, counted: &Counted, last: &str| {
        let line = amounts(name, 0, counted.span_us, counted.bytes, counted.span_us);
        let _ = writeln!(text, "{}", format!("{line}{which} {last}").trim_end());
    };
    let again = |counted: &Counted| {
        counted.retransmits.map(|count| format!(", {count} retransmits")).unwrap_or_default()
    };
    let of_receiver = |counted: &Counted| {
        if measured.is_udp { format!(", {}", lost(counted, measured.is_clock_set)) } else { String::new() }
    };
    for stream in &measured.streams {
        total(&name(stream), "sent", &stream.sent, again(&stream.sent).trim_start_matches(", "));
        total(
            &name(stream),
            "received",
            &stream.received,
            of_receiver(&stream.received).trim_start_matches(", "),
        );
    }
    for sends in [true, false].into_iter().filter(|_| measured.parallel > 1) {
        let of_way = || measured.streams.iter().filter(|stream| stream.sends == sends);
        if of_way().next().is_some() {
            let name = format!("sum {}", arrow(sends));
            let (sent, received) =
                (sum(of_way().map(|stream| stream.sent)), sum(of_way().map(|stream| stream.received)));
            total(&name, "sent", &sent, again(&sent).trim_start_matches(", "));
            total(&name, "received", &received, of_receiver(&received).trim_start_matches(", "));
        }
    }
    text.push('\n');
    for sentence in warnings(finding) {
        text.push_str(&prose::filled(&sentence, "", "", style.width));
        text.push_str("\n\n");
    }
    text.push_str(&verdicts(finding, style));
    text.push_str(&clocks(finding, style));
    let _ = writeln!(text, "\n{}", prose::filled(&rests_on(measured, finding), "", "", style.width));
    if let Some(output) = &measured.server_output {
        let said = output.as_str().map_or_else(|| output.to_string(), str::to_owned);
        // Marked, so that no line of the server's can be taken for one of ours.
        let marked: Vec<String> = said.trim_end().lines().map(|line| format!("| {line}")).collect();
        let _ = writeln!(text, "\nThe server says:\n{}", marked.join("\n"));
    }
    text
}

/// The offset of the clocks, and one-way delays.
fn clocks(finding: &TestFinding, style: Style) -> String {
    let time = |us: i64| QuantityKind::Time.alone(us as f64 * 1e3);
    let mut text = String::new();
    if let Some(delays) = &finding.one_way_delay {
        for (way, delay) in [("to the server", &delays.to_server), ("from the server", &delays.to_client)] {
            let Some(idle) = delay.idle_us else { continue };
            let _ = write!(text, "\nOne-way delay {way}: {}", time(idle));
            if let (Some(middle), Some(high)) = (delay.loaded_us_p50, delay.loaded_us_p95) {
                let _ = write!(text, ", under load {} (95 % below {})", time(middle), time(high));
            }
        }
        text.push('\n');
    }
    if let Some(clock) = &finding.clock {
        let place = if clock.offset_us < 0 { "behind" } else { "ahead of" };
        let (offset, error) = (time(clock.offset_us.abs()), quantity::duration(clock.offset_error_us));
        let told = format!(
            "The server's clock is {offset} {place} this host's, or up to {error} off that: half of the round trip. Each one-way delay may be wrong \
             by as much; what load adds to it is not."
        );
        text.push_str(&prose::filled(&told, "", "", style.width));
        text.push('\n');
    }
    text
}

fn verdicts(finding: &TestFinding, style: Style) -> String {
    if finding.connections.is_empty() || !finding.invalid.is_empty() {
        return prose::filled(&finding.verdict, "", "", style.width) + "\n";
    }
    let all: Vec<String> = finding.connections.iter().map(|connection| in_words(connection, style)).collect();
    all.join("\n")
}

/// What the verdict rests on, and what it can't see.
fn rests_on(measured: &Measured, finding: &TestFinding) -> String {
    let receives = measured.streams.iter().any(|stream| !stream.sends);
    if !finding.invalid.is_empty() {
        return "The figures are what both ends counted, and are not to be compared.".to_owned();
    }
    match (finding.server, finding.ends) {
        _ if measured.is_udp => "The verdict rests on what both ends counted.".to_owned(),
        (_, Ends::Both) => "The verdict rests on the sockets of both ends: the server is pipefill serve.".to_owned(),
        (Server::Pipefill, Ends::Own) => "The verdict rests on the sockets of this host.".to_owned(),
        (Server::Iperf3, Ends::Own) if receives => {
            "The verdict rests on the sockets of this host: an iperf3 server does not report its own. This host sees when data arrive, but not the \
             sender's congestion window and send buffer. With pipefill serve at the other end the verdict uses both."
                .to_owned()
        }
        (Server::Iperf3, Ends::Own) => {
            "The verdict rests on the sockets of this host: an iperf3 server does not report its own.".to_owned()
        }
    }
}
