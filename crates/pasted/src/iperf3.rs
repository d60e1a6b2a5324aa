//! `iperf3 -J` and `--json-stream`, of client and server, TCP and UDP.
//!
//! Written by `iperf_api.c` and `iperf_client_api.c` of 3.1 to 3.19. Members came with time: `snd_wnd` and `rttvar` with 3.11, `sender` with 3.7. Older
//! ones leave them out, and they are absent here.

use crate::documents::each;
use crate::number::{Number, Text};
use crate::output::{Output, OutputConnection, OutputDatagrams, ReadError};
use crate::samples::{self, SentInterval, SentStream, USUAL_MSS, micros, received, sent};
use pipefill_core::record::{Gap, Observed, OptionsSet, ReadFrom};
use pipefill_core::units::Rate;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// Headers of IPv4 and TCP with timestamps, bytes: what the MSS is smaller by than the path's MTU.
const HEADERS: u32 = 52;

/// A document, or a line of `--json-stream`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Document {
    #[serde(deserialize_with = "whole")]
    start: Start,
    intervals: Vec<Interval>,
    #[serde(deserialize_with = "whole")]
    end: End,
    error: Text,
    server_output_json: Option<Box<Self>>,
    /// `start`, `interval`, `end`, `error`, `server_output_json` of a line.
    event: Option<String>,
    data: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Start {
    connected: Vec<Connected>,
    version: Text,
    accepted_connection: Option<serde::de::IgnoredAny>,
    tcp_mss: Number,
    tcp_mss_default: Number,
    sock_bufsize: Number,
    sndbuf_actual: Number,
    congestion_used: Text,
    test_start: TestStart,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Connected {
    socket: Number,
    local_host: Text,
    local_port: Number,
    remote_host: Text,
    remote_port: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TestStart {
    protocol: Text,
    num_streams: Number,
    blksize: Number,
    reverse: Number,
    target_bitrate: Number,
    fqrate: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Interval {
    streams: Vec<StreamInterval>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StreamInterval {
    socket: Number,
    start: Number,
    end: Number,
    seconds: Number,
    bytes: Number,
    retransmits: Number,
    snd_cwnd: Number,
    max_snd_cwnd: Number,
    snd_wnd: Number,
    max_snd_wnd: Number,
    rtt: Number,
    mean_rtt: Number,
    rttvar: Number,
    pmtu: Number,
    packets: Number,
    lost_packets: Number,
    out_of_order: Number,
    jitter_ms: Number,
    omitted: Number,
    sender: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct End {
    streams: Vec<EndStream>,
    cpu_utilization_percent: Cpu,
    sender_tcp_congestion: Text,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct EndStream {
    sender: Option<StreamInterval>,
    receiver: Option<StreamInterval>,
    udp: Option<StreamInterval>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Cpu {
    host_total: Number,
    remote_total: Number,
}

/// A part of a document that may have a member several times, as iperf3 writes the sizes of the buffers for each stream: the last one counts.
fn whole<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(deserializer: D) -> Result<T, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(deserializer)?).unwrap_or_default())
}

/// A stream's key: its socket, and whether this host sends on it.
type Key = (u64, bool);

/// Reads every document of `text`.
pub(crate) fn read(text: &str) -> Result<Output, ReadError> {
    let mut output = Output { program: "iperf3 -J".to_owned(), ..Output::default() };
    let (mut failure, mut streamed) = (None, Document::default());
    let is_cut_off = each(text, |document: Document| {
        let Some(event) = document.event.as_deref() else { return take(document, &mut output, &mut failure) };
        let data = document.data.unwrap_or_default();
        match event {
            "start" => {
                // The test before has no end: it was killed.
                let before = std::mem::take(&mut streamed);
                take(before, &mut output, &mut failure);
                streamed.start = serde_json::from_value(data).unwrap_or_default();
            }
            "interval" => streamed.intervals.extend(serde_json::from_value::<Interval>(data).ok()),
            "end" => {
                streamed.end = serde_json::from_value(data).unwrap_or_default();
                take(std::mem::take(&mut streamed), &mut output, &mut failure);
            }
            "error" => streamed.error = serde_json::from_value(data).unwrap_or_default(),
            _ => {}
        }
        output.program = "iperf3 --json-stream".to_owned();
    })?;
    output.is_cut_off = is_cut_off || !streamed.intervals.is_empty();
    take(streamed, &mut output, &mut failure);
    match failure {
        Some(message) if output.connections.is_empty() && output.datagrams.is_empty() => {
            Err(ReadError::Failed { program: "iperf3".to_owned(), message })
        }
        failure => {
            output.is_cut_off |= failure.is_some();
            Ok(output)
        }
    }
}

fn take(document: Document, output: &mut Output, failure: &mut Option<String>) {
    if let Some(message) = &document.error.0 {
        failure.get_or_insert_with(|| message.clone());
    }
    if let Some(version) = &document.start.version.0 {
        output.version.get_or_insert_with(|| version.trim_start_matches("iperf ").to_owned());
    }
    if document.start.test_start.protocol.0.as_deref().is_some_and(|word| word.eq_ignore_ascii_case("udp")) {
        output.datagrams.extend(document.datagrams());
        return;
    }
    let own = document.connections();
    // The server's output, which --get-server-output brings, shows the sender where this host received.
    let servers = document.server_output_json.map(|document| document.connections()).unwrap_or_default();
    let sends = |connection: &&OutputConnection| !connection.is_of_receiver();
    let far: Vec<OutputConnection> = servers.iter().filter(sends).cloned().collect();
    let is_theirs = |connection: &OutputConnection| {
        connection.is_of_receiver()
            && far.iter().any(|other| {
                other.observed.local == connection.observed.remote
                    && other.observed.remote == connection.observed.local
            })
    };
    output.connections.extend(own.into_iter().filter(|connection| !is_theirs(connection)));
    output.connections.extend(far);
}

impl OutputConnection {
    /// Whether it shows what arrived, and nothing of the sender.
    fn is_of_receiver(&self) -> bool {
        self.samples.last().is_some_and(|sample| sample.info.bytes_received.is_some())
    }
}

impl Document {
    /// Whether this host sends on a stream of which the output does not say it.
    fn sends(&self) -> bool {
        let is_server = self.start.accepted_connection.is_some();
        self.start.test_start.reverse.is_set() == is_server
    }

    /// The intervals of each stream and direction, in order of time: those that count, without the omitted ones.
    fn by_stream(&self) -> BTreeMap<Key, Vec<&StreamInterval>> {
        let mut streams: BTreeMap<Key, Vec<&StreamInterval>> = BTreeMap::new();
        let counts = |interval: &&StreamInterval| !interval.omitted.is_set();
        for interval in self.intervals.iter().flat_map(|interval| &interval.streams).filter(counts) {
            let sends = interval.sender.unwrap_or_else(|| self.sends());
            streams.entry((interval.socket.count().unwrap_or(0), sends)).or_default().push(interval);
        }
        if streams.is_empty() {
            // Without a report in between (-i 0, or an end alone) the whole test is one interval.
            for end in &self.end.streams {
                let sends =
                    end.sender.as_ref().and_then(|sender| sender.sender).unwrap_or_else(|| self.sends());
                let own = if sends { &end.sender } else { &end.receiver };
                if let Some(own) = own {
                    streams.entry((own.socket.count().unwrap_or(0), sends)).or_default().push(own);
                }
            }
        }
        streams
    }

    fn connections(&self) -> Vec<OutputConnection> {
        let streams = self.by_stream();
        let count = streams.len();
        let connection = |((socket, sends), all): (Key, Vec<&StreamInterval>)| {
            let intervals = in_order(all.iter().filter_map(|interval| interval.sent()));
            let (first, last) = (intervals.first()?, intervals.last()?);
            (last.to_us > first.from_us).then_some(())?;
            let stream = self.stream(&all);
            let samples = if sends { sent(&intervals, stream) } else { received(&intervals, stream.mss) };
            let test = &self.start.test_start;
            let target = test.target_bitrate.count();
            let share = |percent: Number| percent.positive().map(|percent| percent / 100.0 / count as f64);
            let cpu = &self.end.cpu_utilization_percent;
            // Both ends set what `-w` asks for; older versions do not print whether it was there.
            let asked = self.start.sock_bufsize.count();
            let options = asked.map(|bytes| OptionsSet::of_buffers(bytes > 0, None));
            Some(OutputConnection {
                observed: Observed {
                    // A test without a rate writes as fast as it can. Versions that do not print the rate may have one.
                    writes_all: sends && target == Some(0),
                    read_from: Some(ReadFrom {
                        flight_estimated: sends,
                        sample_per_round: sends,
                        gaps: gaps(sends, &intervals, stream, target),
                        ..ReadFrom::default()
                    }),
                    local_options: options,
                    remote_options: options,
                    ..self.observed(socket)
                },
                congestion_control: self.congestion_control(),
                offered: target.filter(|&bps| bps > 0).map(Rate::from_bps),
                every: Duration::from_micros(first.to_us.saturating_sub(first.from_us)),
                samples,
                cpu: [share(cpu.host_total), share(cpu.remote_total)],
                buffers: asked.filter(|&bytes| bytes > 0),
            })
        };
        streams.into_iter().filter_map(connection).collect()
    }

    fn observed(&self, socket: u64) -> Observed {
        let is_its = |connected: &&Connected| connected.socket.count() == Some(socket);
        let connected = &self.start.connected;
        let ends = connected.iter().find(is_its).or(connected.first());
        ends.map_or_else(Observed::default, |ends| Observed {
            local: end(&ends.local_host, ends.local_port),
            remote: end(&ends.remote_host, ends.remote_port),
            ..Observed::default()
        })
    }

    fn congestion_control(&self) -> String {
        let named = self.end.sender_tcp_congestion.0.as_ref().or(self.start.congestion_used.0.as_ref());
        named.cloned().unwrap_or_default()
    }

    fn stream(&self, all: &[&StreamInterval]) -> SentStream {
        let start = &self.start;
        let of_pmtu = || all.iter().find_map(|interval| interval.pmtu.count32()?.checked_sub(HEADERS));
        let mss = [start.tcp_mss, start.tcp_mss_default].iter().find_map(|mss| mss.count32());
        SentStream {
            mss: mss.filter(|&mss| mss > 0).or_else(of_pmtu).unwrap_or(USUAL_MSS),
            // What the system chose at the beginning grows.
            sndbuf: start.sndbuf_actual.count().filter(|&bytes| bytes > 0 && start.sock_bufsize.is_set()),
            pacing_rate_bps: start.test_start.fqrate.count().filter(|&bps| bps > 0),
        }
    }

    fn datagrams(&self) -> Vec<OutputDatagrams> {
        let test = &self.start.test_start;
        let flow = |end: &EndStream| {
            // 3.7 has both ends' counts in one object; the receiver's are in it.
            let counted = end.udp.as_ref().or(end.receiver.as_ref()).or(end.sender.as_ref())?;
            let sender = end.sender.as_ref().unwrap_or(counted);
            let sent = [counted.packets, sender.packets].into_iter().filter_map(Number::count).max()?;
            let sends = counted.sender.unwrap_or_else(|| self.sends());
            let seconds = sender.seconds.positive().or(sender.end.positive())?;
            let lost = counted.lost_packets.count();
            Some(OutputDatagrams {
                observed: Observed {
                    read_from: Some(ReadFrom { gaps: vec![Gap::Drops], ..ReadFrom::default() }),
                    ..self.observed(counted.socket.count().unwrap_or(0))
                },
                sends,
                asked: test.target_bitrate.count().filter(|&bps| bps > 0).map(Rate::from_bps),
                span_us: micros(seconds)?.max(1),
                length: test.blksize.count().unwrap_or(0),
                sent,
                lost: lost?.min(sent),
                reordered: counted.out_of_order.count().unwrap_or(0),
                jitter_ns: counted.jitter_ms.positive().map(|ms| (ms * 1e6) as u64),
            })
        };
        self.end.streams.iter().filter_map(flow).filter(|flow| flow.sent > 0).collect()
    }
}

impl StreamInterval {
    fn sent(&self) -> Option<SentInterval> {
        let from_us = micros(self.start.0?)?;
        let to_us = self.end.0.and_then(micros).or_else(|| Some(from_us + micros(self.seconds.0?)?))?;
        (to_us > from_us).then_some(())?;
        let set = |number: Number| number.count().filter(|&count| count > 0);
        Some(SentInterval {
            from_us,
            to_us,
            bytes: self.bytes.count()?,
            retransmits: self.retransmits.count32(),
            cwnd: set(self.snd_cwnd).or(set(self.max_snd_cwnd)),
            rwnd: set(self.snd_wnd).or(set(self.max_snd_wnd)).and_then(|window| u32::try_from(window).ok()),
            rtt_us: self.rtt.count32().or(self.mean_rtt.count32()).filter(|&us| us > 0),
            rttvar_us: self.rttvar.count32(),
        })
    }
}

/// Those that follow each other: an interval that begins before the end of the last one is left out.
pub(crate) fn in_order(intervals: impl Iterator<Item = SentInterval>) -> Vec<SentInterval> {
    /// Rounding of the printed times.
    const OVERLAP_US: u64 = 10_000;
    let mut kept: Vec<SentInterval> = Vec::new();
    for interval in intervals {
        let to_us = kept.last().map_or(0, |last| last.to_us);
        if interval.from_us + OVERLAP_US >= to_us && interval.to_us > to_us {
            kept.push(SentInterval { from_us: interval.from_us.max(to_us), ..interval });
        }
    }
    kept
}

/// What the output does not show of a stream.
fn gaps(sends: bool, intervals: &[SentInterval], stream: SentStream, target: Option<u64>) -> Vec<Gap> {
    if !sends {
        return vec![Gap::Sender];
    }
    let mut gaps = samples::gaps(intervals);
    gaps.extend(stream.sndbuf.is_none().then_some(Gap::SendBuffer));
    gaps.extend(target.is_none().then_some(Gap::OfferedRate));
    gaps
}

/// Empty where the output has no address.
fn end(host: &Text, port: Number) -> String {
    host.0.as_deref().map_or_else(String::new, |host| address(host, port.count().unwrap_or(0)))
}

/// `10.0.0.1:5201`, `[fd00::1]:5201`.
pub(crate) fn address(host: &str, port: u64) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}
