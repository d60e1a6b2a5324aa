//! netperf's output of a bulk test: the classic table of `TCP_STREAM`, `TCP_MAERTS` and `UDP_STREAM` (also with `-P 0`), the `NAME=value` lines of the
//! omni tests (`-k`, also with `-j`), the interim results of `-D`, and the `tcp_info` that `DUMP_TCP_INFO=1` adds.
//!
//! `print_omni()` and the `*_title` texts of `nettest_omni.c` and `nettest_bsd.c` (2.4 to 2.7). A table has no round trip and no window.

use crate::iperf3_text::Line;
use crate::output::Output;
use crate::samples::{SentInterval, USUAL_MSS, micros};
use pipefill_core::record::{Gap, Observed};
use std::collections::BTreeMap;

/// More interim results than these are not kept.
const INTERVALS_MAX: usize = 100_000;

/// What `netperf` calls the direction in which its host receives.
const RECEIVES: [&str; 2] = ["TCP MAERTS", "TCP_MAERTS"];

/// The figures of a test, whichever way they are printed.
#[derive(Debug, Default)]
struct Test {
    seconds: Option<f64>,
    bps: Option<f64>,
    receives: bool,
    datagrams: Option<Datagrams>,
    retransmits: Option<u32>,
    /// Share of a CPU, here and at the peer.
    cpu: [Option<f64>; 2],
    interim: Vec<Interim>,
    /// Smoothed round trip in the end, microseconds.
    rtt_us: Option<u32>,
    cwnd_segments: Option<u64>,
    mss: Option<u64>,
    congestion_control: Option<String>,
    local: Option<String>,
    remote: Option<String>,
}

#[derive(Debug, Clone, Copy)]
struct Interim {
    bps: f64,
    seconds: f64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Datagrams {
    length: u64,
    sent: u64,
    received: Option<u64>,
}

/// Reads what looks like it.
pub(crate) fn read(text: &str) -> Option<Output> {
    let has_banner = text.lines().any(is_banner);
    let named = values(text);
    let is_named = ["THROUGHPUT", "ELAPSED_TIME"].iter().all(|name| named.contains_key(name));
    if !has_banner && !is_named && !is_bare_table(text) {
        return None;
    }
    let mut test = Test::default();
    test.take_lines(text);
    test.take_values(&named);
    let mut output = Output { program: "netperf".to_owned(), ..Output::default() };
    let lines = test.lines();
    let observed = Observed {
        local: test.local.clone().unwrap_or_default(),
        remote: test.remote.clone().unwrap_or_default(),
        writes_all: true,
        ..Observed::default()
    };
    output.is_cut_off = test.seconds.is_none();
    output.add(observed, &lines, test.receives);
    for connection in &mut output.connections {
        connection.cpu = test.cpu;
        connection.congestion_control = test.congestion_control.clone().unwrap_or_default();
        // It writes as fast as it can.
        if let Some(read_from) = &mut connection.observed.read_from {
            read_from.gaps.retain(|gap| *gap != Gap::OfferedRate);
        }
    }
    Some(output)
}

/// `MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.2 () port 0 AF_INET : demo`, and `TCP STREAM TEST` before 2.5.
fn is_banner(line: &str) -> bool {
    let line = line.strip_prefix("MIGRATED ").unwrap_or(line);
    let tests = [
        "TCP STREAM TEST",
        "TCP MAERTS TEST",
        "UDP STREAM TEST",
        "TCP REQUEST/RESPONSE TEST",
        "OMNI Send TEST",
        "OMNI Receive TEST",
    ];
    tests.iter().any(|test| line.starts_with(test))
}

/// The `NAME=value` lines.
fn values(text: &str) -> BTreeMap<&str, &str> {
    let is_name = |name: &str| {
        !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
    };
    let pairs = text.lines().filter_map(|line| line.trim().split_once('='));
    pairs.filter(|(name, _)| is_name(name)).map(|(name, value)| (name, value.trim())).collect()
}

/// Whether each line is a row of the table of `TCP_STREAM`, as `-P 0` prints it without any word.
fn is_bare_table(text: &str) -> bool {
    let rows: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    (1..=64).contains(&rows.len()) && rows.iter().all(|line| row(line).is_some_and(|row| row.sizes == 3))
}

/// A row of a table: sizes, then seconds and figures.
struct Row {
    sizes: usize,
    numbers: Vec<f64>,
}

fn row(line: &str) -> Option<Row> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let numbers: Vec<f64> = words.iter().map(|word| word.parse().ok()).collect::<Option<_>>()?;
    let sizes = words.iter().take_while(|word| word.bytes().all(|byte| byte.is_ascii_digit())).count();
    let is_one = numbers.iter().all(|number| number.is_finite() && *number >= 0.0);
    (is_one && (1..=3).contains(&sizes) && numbers.len() >= sizes + 2).then_some(Row { sizes, numbers })
}

/// `Interim result:  938.64 10^6bits/s over 1.000 seconds ending at 1700000000.123`
fn interim(rate: &str, unit: &str, words: &[&str]) -> Option<Interim> {
    let over = words.iter().position(|word| *word == "over")?;
    let seconds: f64 = words.get(over + 1)?.parse().ok().filter(|seconds| *seconds > 0.0)?;
    Some(Interim { bps: bits(rate.parse().ok()?, unit)?, seconds })
}

/// Bits per second of a figure in netperf's units: `10^6bits/s`, `MBytes/s`, a letter of `-f`.
fn bits(number: f64, unit: &str) -> Option<f64> {
    let unit = unit.trim_end_matches("ec");
    let factor = match unit {
        "10^3bits/s" => 1e3,
        "10^6bits/s" | "" => 1e6,
        "10^9bits/s" => 1e9,
        "KBytes/s" => 8.0 * f64::from(1 << 10),
        "MBytes/s" => 8.0 * f64::from(1 << 20),
        "GBytes/s" => 8.0 * f64::from(1 << 30),
        _ => return None,
    };
    Some(number * factor).filter(|bps| (0.0..1e15).contains(bps))
}

impl Test {
    fn take_lines(&mut self, text: &str) {
        let mut unit = "";
        let is_udp = text.contains("UDP STREAM TEST");
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            if is_banner(line) {
                self.receives =
                    RECEIVES.iter().any(|test| line.contains(test)) || line.contains("OMNI Receive");
                let after = |word: &str| {
                    words.iter().position(|other| *other == word).and_then(|at| words.get(at + 1))
                };
                self.remote = after("to").map(|host| (*host).to_owned());
                self.local = after("from").filter(|host| **host != "0.0.0.0").map(|host| (*host).to_owned());
            } else if let Some(found) =
                words.iter().find(|word| word.ends_with("/s") || word.ends_with("/sec"))
            {
                match words[..] {
                    ["Interim", "result:", rate, ..] => {
                        let interim = interim(rate, found, &words);
                        self.interim.extend(interim.filter(|_| self.interim.len() < INTERVALS_MAX));
                    }
                    _ => unit = found,
                }
            } else if words.iter().any(|word| word.starts_with("tcpi_")) {
                self.take_tcp_info(&words);
            } else if let Some(row) = row(line) {
                self.take_row(&row, unit, is_udp);
            }
        }
    }

    fn take_row(&mut self, row: &Row, unit: &str, is_udp: bool) {
        let figures = &row.numbers[row.sizes..];
        if is_udp {
            // The sender's row has the size of a message and errors, the receiver's has neither.
            match (row.sizes, figures) {
                (2, [seconds, sent, _, rate, ..]) => {
                    (self.seconds, self.bps) = (Some(*seconds), bits(*rate, unit));
                    let length = row.numbers[1] as u64;
                    self.datagrams = Some(Datagrams { length, sent: *sent as u64, received: None });
                }
                (1, [_, received, ..]) => {
                    if let Some(datagrams) = &mut self.datagrams {
                        datagrams.received = Some(*received as u64);
                    }
                }
                _ => {}
            }
        } else if let (3, [seconds, rate, ..]) = (row.sizes, figures) {
            // What -c and -C add is per cent of all CPUs of a host, whose number a table does not have.
            (self.seconds, self.bps) = (Some(*seconds), bits(*rate, unit));
        }
    }

    /// `tcpi_rtt 2093 tcpi_rttvar 119 tcpi_snd_ssthresh 19 tpci_snd_cwnd 24`: the last one has a slip of the program.
    fn take_tcp_info(&mut self, words: &[&str]) {
        for pair in words.windows(2) {
            let value = pair[1].parse::<u64>().ok();
            let short = value.and_then(|value| u32::try_from(value).ok());
            match pair[0] {
                "tcpi_rtt" => self.rtt_us = short.filter(|&us| us > 0),
                "tcpi_snd_cwnd" | "tpci_snd_cwnd" => self.cwnd_segments = value,
                "tcpi_snd_mss" => self.mss = value,
                "tcpi_total_retrans" => self.retransmits = short,
                _ => {}
            }
        }
    }

    fn take_values(&mut self, named: &BTreeMap<&str, &str>) {
        let number = |name: &str| -> Option<f64> {
            let number: f64 = named.get(name)?.parse().ok()?;
            Some(number).filter(|number| number.is_finite() && *number >= 0.0)
        };
        let text =
            |name: &str| named.get(name).filter(|text| !text.is_empty()).map(|text| (*text).to_owned());
        let unit = named.get("THROUGHPUT_UNITS").copied().unwrap_or_default();
        self.seconds = number("ELAPSED_TIME").or(self.seconds);
        self.bps = number("THROUGHPUT").and_then(|rate| bits(rate, unit)).or(self.bps);
        self.receives |=
            named.get("DIRECTION").is_some_and(|direction| direction.eq_ignore_ascii_case("receive"));
        let resent = if self.receives { "REMOTE_TRANSPORT_RETRANS" } else { "LOCAL_TRANSPORT_RETRANS" };
        self.retransmits = number(resent).map(|count| count as u32).or(self.retransmits);
        let share = |util: &str, count: &str| Some(number(util)? / 100.0 * number(count)?);
        self.cpu = [share("LOCAL_CPU_UTIL", "LOCAL_CPU_COUNT"), share("REMOTE_CPU_UTIL", "REMOTE_CPU_COUNT")];
        self.mss = number("TRANSPORT_MSS").map(|mss| mss as u64).filter(|&mss| mss > 0).or(self.mss);
        self.congestion_control = text("LOCAL_CONG_CONTROL");
        self.remote = text("REMOTE_HOST").or(self.remote.take());
        if named.get("PROTOCOL").is_some_and(|protocol| protocol.eq_ignore_ascii_case("udp")) {
            let sent = number("LOCAL_SEND_CALLS").map(|calls| calls as u64);
            let received = number("REMOTE_RECV_CALLS").map(|calls| calls as u64);
            let length = number("LOCAL_SEND_SIZE").map_or(0, |length| length as u64);
            self.datagrams = sent.map(|sent| Datagrams { length, sent, received });
        }
    }

    /// The intervals, and the whole test.
    fn lines(&self) -> Vec<Line> {
        let mut at = 0.0;
        let mut lines = Vec::new();
        for interim in &self.interim {
            let (from, to) = (at, at + interim.seconds);
            at = to;
            lines.extend(line(from, to, interim.bps));
        }
        let interims = lines.len();
        // No interim result has the end of what was sent, nor the time until the other end had it.
        let is_left_over = |(seconds, _): &(f64, f64)| !lines.is_empty() && *seconds > at;
        if let Some((seconds, bps)) = self.seconds.zip(self.bps).filter(is_left_over) {
            let told: f64 = self.interim.iter().map(|interim| interim.bps * interim.seconds).sum();
            lines.extend(line(at, seconds, (bps * seconds - told).max(0.0) / (seconds - at)));
        }
        let whole = self.seconds.zip(self.bps).and_then(|(seconds, bps)| line(0.0, seconds, bps));
        if let Some(mut whole) = whole {
            whole.is_whole = !lines.is_empty();
            whole.datagrams = self.datagrams.map(|datagrams| {
                (datagrams.sent.saturating_sub(datagrams.received.unwrap_or(datagrams.sent)), datagrams.sent)
            });
            if let Some(datagrams) = self.datagrams {
                let arrived = datagrams.received.unwrap_or(datagrams.sent);
                whole.interval.bytes = arrived.saturating_mul(datagrams.length);
            }
            whole.interval.retransmits = self.retransmits;
            lines.push(whole);
        }
        // What the socket counted in the end is the last interim result's, or the whole test's.
        let at = interims.checked_sub(1).unwrap_or_else(|| lines.len().saturating_sub(1));
        if let Some(last) = lines.get_mut(at) {
            let mss = self.mss.unwrap_or(u64::from(USUAL_MSS));
            last.interval.rtt_us = self.rtt_us;
            last.interval.cwnd = self.cwnd_segments.map(|segments| segments.saturating_mul(mss));
            last.interval.retransmits = last.interval.retransmits.or(self.retransmits);
        }
        lines
    }
}

fn line(from: f64, to: f64, bps: f64) -> Option<Line> {
    let (from_us, to_us) = (micros(from)?, micros(to)?);
    let bytes = (bps / 8.0 * (to - from)) as u64;
    let interval = SentInterval { from_us, to_us, bytes, ..SentInterval::default() };
    (to_us > from_us).then_some(Line { interval, datagrams: None, jitter_ns: None, is_whole: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.2 () port 0 AF_INET : demo
Recv   Send    Send
Socket Socket  Message  Elapsed
Size   Size    Size     Time     Throughput
bytes  bytes   bytes    secs.    10^6bits/sec

131072  16384  16384    10.00     941.35
";

    fn only(text: &str) -> crate::OutputConnection {
        let output = read(text).unwrap();
        assert_eq!(
            (output.program.as_str(), output.connections.len(), output.is_cut_off),
            ("netperf", 1, false),
            "{text}"
        );
        output.connections.into_iter().next().unwrap()
    }

    /// 10 s of 941.35 Mbit/s.
    const BYTES: u64 = 1_176_687_500;

    #[test]
    fn a_table_is_the_mean_of_the_test() {
        let connection = only(TABLE);
        assert_eq!((connection.carried(), connection.observed.remote.as_str()), (BYTES, "10.0.0.2"));
        assert!(connection.observed.writes_all);
        let gaps = &connection.observed.read_from.as_ref().unwrap().gaps;
        assert!(gaps.contains(&Gap::RoundTrip) && !gaps.contains(&Gap::OfferedRate), "{gaps:?}");
        assert_eq!(only("131072  16384  16384    10.00     941.35\n").carried(), BYTES, "-P 0");
        let receives = only(&TABLE.replace("TCP STREAM", "TCP MAERTS"));
        assert_eq!(receives.observed.read_from.unwrap().gaps, [Gap::Sender]);
        assert_eq!(
            only(&TABLE.replace("941.35", "1.0").replace("10^6bits/sec", "MBytes/sec")).carried(),
            10 << 20
        );
    }

    #[test]
    fn named_values_have_units_and_more() {
        let text = "THROUGHPUT=941.35\nTHROUGHPUT_UNITS=10^6bits/s\nELAPSED_TIME=10.00\nPROTOCOL=TCP\nDIRECTION=Send\n\
                    LOCAL_TRANSPORT_RETRANS=7\nLOCAL_CONG_CONTROL=cubic\nTRANSPORT_MSS=1448\nLOCAL_CPU_UTIL=25.0\nLOCAL_CPU_COUNT=4\n";
        let connection = only(text);
        assert_eq!((connection.carried(), connection.congestion_control.as_str()), (BYTES, "cubic"));
        assert_eq!(connection.samples.last().unwrap().info.retransmits, 7);
        assert_eq!(connection.cpu, [Some(1.0), None]);
    }

    /// The slip in the name is the program's.
    #[test]
    fn interim_results_are_intervals_and_tcp_info_is_the_last_ones() {
        let text = format!(
            "Interim result:  800.00 10^6bits/s over 1.000 seconds ending at 1700000000.1\n\
             Interim result:  900.00 10^6bits/s over 0.500 seconds ending at 1700000001.6\n\
             tcpi_rto 204000 tcpi_ato 0 tcpi_pmtu 1500 tcpi_rcv_ssthresh 29200\n\
             tcpi_rtt 2093 tcpi_rttvar 119 tcpi_snd_ssthresh 19 tpci_snd_cwnd 24\n{TABLE}"
        );
        let connection = only(&text);
        let times: Vec<u64> = connection.samples.iter().map(|sample| sample.t_us).collect();
        assert_eq!(times, [0, 1_000_000, 1_500_000, 10_000_000]);
        assert_eq!(connection.carried().abs_diff(BYTES) / 10, 0, "of the whole test");
        let interim = connection.samples[1].info;
        assert_eq!((interim.srtt_us, interim.cwnd_bytes), (Some(2_093), Some(24 * 1_448)));
    }

    #[test]
    fn datagrams_are_sent_and_received() {
        let text = "MIGRATED UDP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.2 () port 0 AF_INET\n\
                    Socket  Message  Elapsed      Messages\n\
                    Size    Size     Time         Okay Errors   Throughput\n\
                    bytes   bytes    secs            #      #   10^6bits/sec\n\n\
                    212992    1000   10.00       12500      0      10.00\n\
                    212992           10.00       10000              8.00\n";
        let output = read(text).unwrap();
        let flow = &output.datagrams[0];
        assert_eq!((flow.sent, flow.lost, flow.length, flow.span_us), (12_500, 2_500, 1_000, 10_000_000));
    }

    #[test]
    fn other_texts_are_not_its() {
        for text in ["1 2 3 4 5\nnothing\n", "a 1 2\n", "10.0 1 2 3 4\n", "A=1\nB=2\n", ""] {
            assert!(read(text).is_none(), "{text}");
        }
    }
}
