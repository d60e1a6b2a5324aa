//! The text of iperf 2: its client with `-e` prints what was sent again, the congestion window and the round trip; without, rates alone.
//!
//! `reportEnhanced` formats of `Locale.c` (2.0.5 to 2.2).

use crate::iperf3_text::{Line, amount, ends, interval, stream_of};
use crate::output::Output;
use crate::samples::micros;
use pipefill_core::record::Observed;
use std::collections::BTreeMap;

/// Reads what looks like it.
pub(crate) fn read(text: &str) -> Option<Output> {
    let is_its = text.contains("Client connecting to")
        || text.contains("Server listening on TCP port")
        || text.contains("Server listening on UDP port");
    if !is_its {
        return None;
    }
    let mut streams: BTreeMap<String, (Observed, Vec<Line>)> = BTreeMap::new();
    let is_server = text.contains("Server listening on");
    for line in text.lines() {
        let Some((id, rest)) = stream_of(line) else { continue };
        if let Some(ends) = ends(rest) {
            streams.entry(id).or_default().0 = ends;
        } else if let Some(line) = enhanced(rest) {
            streams.entry(id).or_default().1.push(line);
        }
    }
    let mut output =
        Output { program: "iperf".to_owned(), version: Some("2".to_owned()), ..Output::default() };
    for (_, (observed, mut lines)) in streams.into_iter().filter(|(id, _)| !id.starts_with("SUM")) {
        // The last line is the whole test, from its beginning.
        let is_many = lines.len() > 1;
        if let Some(last) = lines.last_mut() {
            last.is_whole = is_many && last.interval.from_us == 0;
        }
        output.add(observed, &lines, is_server);
    }
    Some(output)
}

/// `0.0000-1.0000 sec  1.25 MBytes  10.5 Mbits/sec  11/0          0       14K/25100 us  52224`: writes and errors, what was sent again, the window
/// and the round trip.
fn enhanced(rest: &str) -> Option<Line> {
    let mut line = interval(rest)?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let seconds = words.iter().position(|word| *word == "sec")?;
    let figures = words.get(seconds + 5..).unwrap_or_default();
    if line.datagrams.is_some() || figures.is_empty() {
        return Some(line);
    }
    (line.interval.retransmits, line.interval.cwnd) = (None, None);
    let [written, again, window, ..] = figures else { return Some(line) };
    if !written.contains('/') {
        return Some(line);
    }
    line.interval.retransmits = again.parse().ok();
    // `14K/25100(120) us`, or `14K/25100 us`.
    if let Some((cwnd, rtt)) = window.split_once('/') {
        let digits = cwnd.trim_end_matches(|letter: char| !letter.is_ascii_digit());
        let unit = cwnd.get(digits.len()..).unwrap_or_default();
        line.interval.cwnd = amount(digits, &format!("{unit}Bytes")).filter(|&bytes| bytes > 0);
        let rtt: String = rtt.chars().take_while(char::is_ascii_digit).collect();
        let rtt_us = rtt.parse::<f64>().ok().and_then(|us| micros(us / 1e6));
        line.interval.rtt_us = rtt_us.and_then(|us| u32::try_from(us).ok()).filter(|&us| us > 0);
    }
    Some(line)
}
