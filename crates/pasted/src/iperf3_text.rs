//! The plain text of `iperf3`: intervals with `Retr` and `Cwnd`, of the sender; without, of the receiver.
//!
//! `report_bw_retrans_cwnd_format` and the others of `iperf_locale.c`. It shows neither a round trip nor the receiver's window.

use crate::iperf3::{address, in_order};
use crate::output::{Output, OutputConnection, OutputDatagrams};
use crate::samples::{SentInterval, SentStream, USUAL_MSS, gaps, micros, received, sent};
use pipefill_core::record::{Gap, Observed, ReadFrom};
use std::collections::BTreeMap;
use std::time::Duration;

/// A line of an interval.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line {
    pub(crate) interval: SentInterval,
    /// Lost, and sent, of datagrams.
    pub(crate) datagrams: Option<(u64, u64)>,
    pub(crate) jitter_ns: Option<u64>,
    /// Whether it sums up the whole test.
    pub(crate) is_whole: bool,
}

/// Reads what looks like it.
pub(crate) fn read(text: &str) -> Option<Output> {
    let is_its = text.contains("iperf3")
        || (text.contains("[ ID] Interval") && text.contains("Bitrate"))
        || (text.contains("[ ID] Interval") && text.contains("Bandwidth") && text.contains(" sec  "));
    let is_old = text.contains("Client connecting to") || text.contains("Server listening on TCP port");
    if !is_its || is_old {
        return None;
    }
    let mut streams: BTreeMap<String, (Observed, Vec<Line>)> = BTreeMap::new();
    let mut version = None;
    for line in text.lines() {
        if let Some(found) = line.trim().strip_prefix("iperf 3") {
            version
                .get_or_insert_with(|| format!("3{}", found.split_whitespace().next().unwrap_or_default()));
        }
        let Some((id, rest)) = stream_of(line) else { continue };
        if let Some(ends) = ends(rest) {
            streams.entry(id).or_default().0 = ends;
        } else if let Some(interval) = interval(rest) {
            streams.entry(id).or_default().1.push(interval);
        }
    }
    let mut output = Output { program: "iperf3".to_owned(), version, ..Output::default() };
    output.is_cut_off = !streams.values().flat_map(|(_, lines)| lines).any(|line| line.is_whole);
    for (id, (observed, lines)) in streams.into_iter().filter(|(id, _)| !id.starts_with("SUM")) {
        let is_of_receiver = id.contains("RX") || !lines.iter().any(|line| line.interval.cwnd.is_some());
        output.add(observed, &lines, is_of_receiver);
    }
    Some(output)
}

impl Output {
    /// Adds one stream by the lines of its intervals.
    pub(crate) fn add(&mut self, observed: Observed, lines: &[Line], is_of_receiver: bool) {
        let whole = lines.iter().rev().find(|line| line.datagrams.is_some());
        if let Some(Line { interval, datagrams: Some((lost, sent)), jitter_ns, .. }) = whole.copied() {
            let read_from =
                Some(ReadFrom { gaps: vec![Gap::OfferedRate, Gap::Drops], ..ReadFrom::default() });
            self.datagrams.extend((sent > 0).then(|| OutputDatagrams {
                observed: Observed { read_from, ..observed },
                sends: true,
                asked: None,
                span_us: interval.to_us.saturating_sub(interval.from_us).max(1),
                length: interval.bytes / sent.saturating_sub(lost).max(1),
                sent,
                lost: lost.min(sent),
                reordered: 0,
                jitter_ns,
            }));
            return;
        }
        let parts = lines.iter().filter(|line| !line.is_whole);
        let mut intervals = in_order(parts.map(|line| line.interval));
        if intervals.is_empty() {
            intervals = in_order(lines.iter().map(|line| line.interval).take(1));
        }
        let Some(first) = intervals.first() else { return };
        let stream = SentStream { mss: USUAL_MSS, ..SentStream::default() };
        let gaps = if is_of_receiver {
            vec![Gap::Sender]
        } else {
            [gaps(&intervals), vec![Gap::SendBuffer, Gap::OfferedRate]].concat()
        };
        let read_from = Some(ReadFrom {
            flight_estimated: !is_of_receiver,
            sample_per_round: !is_of_receiver,
            gaps,
            ..ReadFrom::default()
        });
        self.connections.push(OutputConnection {
            observed: Observed { read_from, ..observed },
            every: Duration::from_micros(first.to_us.saturating_sub(first.from_us)),
            samples: if is_of_receiver { received(&intervals, stream.mss) } else { sent(&intervals, stream) },
            ..OutputConnection::default()
        });
    }
}

/// `[  5]`, `[SUM]`, `[  5][TX-C]`, `[  3]`: the stream, and what follows.
pub(crate) fn stream_of(line: &str) -> Option<(String, &str)> {
    let mut rest = line.trim_start().strip_prefix('[')?;
    let mut id = String::new();
    loop {
        let (name, after) = rest.split_once(']')?;
        id.push_str(name.trim());
        match after.strip_prefix('[') {
            Some(next) => rest = next,
            None => return Some((id, after)),
        }
    }
}

/// `local 10.77.0.1 port 41014 connected to 10.77.0.2 port 5201`, and `with` in iperf 2.
pub(crate) fn ends(rest: &str) -> Option<Observed> {
    let words: Vec<&str> = rest.split_whitespace().collect();
    let after = |word: &str| words.iter().position(|other| *other == word).and_then(|at| words.get(at + 1));
    let local = after("local")?;
    let remote = after("to").or_else(|| after("with"))?;
    let mut ports =
        words.windows(2).filter_map(|pair| (pair.first() == Some(&"port")).then(|| pair.last()).flatten());
    let mut port = || {
        let digits = ports.next()?.trim_end_matches(|letter: char| !letter.is_ascii_digit());
        digits.parse().ok()
    };
    let (first, second) = (port().unwrap_or(0), port().unwrap_or(0));
    Some(Observed { local: address(local, first), remote: address(remote, second), ..Observed::default() })
}

/// `0.00-1.00   sec  4.13 MBytes  34.7 Mbits/sec    0    789 KBytes`, and what iperf 2 prints in its place.
pub(crate) fn interval(rest: &str) -> Option<Line> {
    let words: Vec<&str> = rest.split_whitespace().collect();
    let seconds = words.iter().position(|word| *word == "sec")?;
    // `0.0- 1.0 sec` has a space in it.
    let times: String = words.get(..seconds)?.concat();
    let (from, to) = times.split_once('-')?;
    let (from_us, to_us) = (micros(from.parse().ok()?)?, micros(to.parse().ok()?)?);
    (to_us > from_us).then_some(())?;
    let after = words.get(seconds + 1..)?;
    let bytes = amount(after.first()?, after.get(1)?)?;
    let figures = after.get(4..).unwrap_or_default();
    let mut line = Line {
        interval: SentInterval { from_us, to_us, bytes, ..SentInterval::default() },
        datagrams: None,
        jitter_ns: None,
        is_whole: rest.contains("sender") || rest.contains("receiver") || rest.contains("datagrams received"),
    };
    // 0.012 ms  0/8633 (0%)
    if let Some(milliseconds) = figures.first().filter(|_| figures.get(1) == Some(&"ms")) {
        line.jitter_ns = milliseconds.parse::<f64>().ok().filter(|ms| *ms >= 0.0).map(|ms| (ms * 1e6) as u64);
        let counts: String = figures.get(2..).unwrap_or_default().concat();
        let counts = counts.split('(').next().unwrap_or_default();
        line.datagrams = counts.split_once('/').and_then(|(lost, sent)| {
            let sent: String = sent.chars().take_while(char::is_ascii_digit).collect();
            Some((lost.trim_start_matches('-').parse().ok()?, sent.parse().ok()?))
        });
        return Some(line);
    }
    line.interval.retransmits = figures.first().and_then(|word| word.parse().ok());
    line.interval.cwnd = figures
        .get(1)
        .zip(figures.get(2))
        .and_then(|(number, unit)| amount(number, unit))
        .filter(|&bytes| bytes > 0);
    Some(line)
}

/// `4.13 MBytes`: iperf's letters are powers of 1024 for bytes (`unit_snprintf()`).
pub(crate) fn amount(number: &str, unit: &str) -> Option<u64> {
    let number: f64 = number.parse().ok().filter(|number| *number >= 0.0)?;
    let unit = unit.strip_suffix("Bytes").or_else(|| unit.strip_suffix("Byte"))?;
    let factor = match unit {
        "" => 1.0,
        "K" => f64::from(1 << 10),
        "M" => f64::from(1 << 20),
        "G" => f64::from(1 << 30),
        "T" => (1_u64 << 40) as f64,
        _ => return None,
    };
    let bytes = number * factor;
    (bytes < 1e15).then_some(bytes as u64)
}
