//! One connection that was there: its samples as a record, and what they say.
//!
//! A socket sends and receives: what it sends is the first flow, seen from its sender, and what it receives the second one, seen from its
//! receiver. Only the directions that carried data are flows.

use super::process_cpu::ConnectionCpu;
use super::unplanned::{family, flow, manifest, spec};
use crate::findings::experiment::{FlowResult, RunFlows, flow_results};
use crate::findings::metrics::{FlowCondenser, RetransmitCounts};
use crate::findings::verdict::ShortReading;
use crate::ground::interval::TimeInterval;
use crate::ground::thresholds::{STANDARD, Thresholds};
use crate::infer::drops::Drops;
use crate::infer::{Inference, KnownPath, KnownRun, delivery};
use crate::judge::FlowLedger;
use pipefill_core::cell::{CellSpec, Direction, FlowSpec, Protocol};
use pipefill_core::plan::Run;
use pipefill_core::record::{
    AnyRow, BucketFit, CaStateSource, CaStateTimes, CountsBefore, Manifest, Observed, PacketSample,
    PathFacts, Repetition, Retransmit, StreamEnd, StreamSummary, TcpSample,
};
use pipefill_core::tcp_info::TcpInfo;
use pipefill_core::units::Rate;
use std::time::Duration;

/// A connection and its samples, in order of time. [`TcpSample::stream`] and [`TcpSample::end`] of them do not matter.
#[derive(Debug, Clone)]
pub struct Connection<'a> {
    /// Who it is.
    pub observed: Observed,
    /// Name of its congestion control.
    pub congestion_control: String,
    /// What its application was to send, bits per second of payload; `None` where that is not known, or as much as goes.
    pub offered: Option<Rate>,
    /// How often it was looked at.
    pub every: Duration,
    /// What its socket showed.
    pub samples: &'a [TcpSample],
    /// What the peer's socket showed meanwhile, by the same clock, where it was sampled too.
    pub peer_samples: &'a [TcpSample],
    /// What its packets showed, where they were captured.
    pub packets: ConnectionPackets<'a>,
    /// What BPF reported of the connection, where BPF is permitted.
    pub exact: Option<&'a Exact>,
    /// What the processes at its ends used of their CPUs, in the time of the samples.
    pub cpu: ConnectionCpu,
}

/// The packets of a connection, in order of time. [`PacketSample::stream`] of them does not matter.
#[derive(Debug, Clone, Copy, Default)]
pub struct ConnectionPackets<'a> {
    /// Of the data that this host sends.
    pub sent: &'a [PacketSample],
    /// Of the data that it receives.
    pub received: &'a [PacketSample],
    /// The time that is judged of what it sends and of what it receives, in the time of the samples: from the first payload of either
    /// direction to the last of its own. `None` where that is not known, or not one of this part of the capture: that of the samples.
    pub lives: [Option<TimeInterval>; 2],
    /// The leaky buckets that explain the losses of what it sends and of what it receives.
    pub buckets: [Option<BucketFit>; 2],
    /// How the bursts of what it receives repeat.
    pub repetition: Option<Repetition>,
}

/// What BPF reported of a sending socket since it began to watch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exact {
    /// Time in each congestion state; `None` where it could not be read.
    pub ca_state_us: Option<CaStateTimes>,
    /// What was sent again, in order of time; [`Retransmit::stream`] does not matter.
    pub retransmits: Vec<Retransmit>,
    /// Retransmissions that are missing from these.
    pub lost: u64,
}

impl Exact {
    /// What was sent again by why it was; `None` where some are missing.
    pub fn retransmits_by_kind(&self) -> Option<RetransmitCounts> {
        (self.lost == 0).then(|| RetransmitCounts::of(&self.retransmits))
    }
}

/// Which way a connection carried data between two samples, in bytes of payload: sent and acknowledged, received.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Carried {
    /// Acknowledged by the peer.
    pub sent: u64,
    /// Received from it.
    pub received: u64,
    /// Outstanding after the retransmission timer has run out, and what waits behind it: nobody has answered. By the last sample.
    pub unanswered: u64,
}

impl Carried {
    /// What this end sent or sends in vain.
    pub const fn offered(self) -> u64 {
        self.sent.saturating_add(self.unanswered)
    }

    /// Which way most of it went, or was to go.
    pub const fn direction(self) -> Direction {
        if self.received > self.offered() { Direction::Reverse } else { Direction::Forward }
    }

    /// In that direction.
    pub const fn most(self) -> u64 {
        if self.received > self.offered() { self.received } else { self.offered() }
    }
}

/// States (`include/net/tcp_states.h`) in which this end's FIN is acknowledged, and in which the peer's has come: the kernel counts either as a byte.
const OWN_FIN_ACKED: [u8; 2] = [FIN_WAIT2, TIME_WAIT];
const PEERS_FIN_CAME: [u8; 4] = [TIME_WAIT, CLOSE_WAIT, LAST_ACK, CLOSING];
const FIN_WAIT2: u8 = 5;
const TIME_WAIT: u8 = 6;
const CLOSE_WAIT: u8 = 8;
const LAST_ACK: u8 = 9;
const CLOSING: u8 = 11;

impl Connection<'_> {
    /// What it carried from the first sample to the last: nothing where that is not counted. Counters that go back are another socket's.
    pub fn carried(&self) -> Carried {
        let of_socket = |bytes: fn(&TcpInfo) -> Option<u64>, fin_states: &[u8]| {
            let Some((first, last)) = self.samples.first().zip(self.samples.last()) else { return 0 };
            let counts = bytes(&first.info).zip(bytes(&last.info));
            let has_fin = |sample: &TcpSample| fin_states.contains(&sample.info.state);
            let fin = u64::from(has_fin(last) && !has_fin(first));
            counts.map_or(0, |(first, last)| last.saturating_sub(first).saturating_sub(fin))
        };
        let of_packets = |samples: &[PacketSample]| {
            let ends = samples.first().zip(samples.last());
            ends.map_or(0, |(first, last)| last.acked_bytes.saturating_sub(first.acked_bytes))
        };
        let last = self.samples.last().map(|last| last.info);
        let unanswered = last
            .filter(|info| info.backoff.is_some_and(|doublings| doublings > 0))
            .map(|info| info.unacked_bytes.saturating_add(info.notsent_bytes.map_or(0, u64::from)));
        Carried {
            unanswered: unanswered.unwrap_or(0),
            sent: of_socket(|info| info.bytes_acked, &OWN_FIN_ACKED).max(of_packets(self.packets.sent)),
            received: of_socket(|info| info.bytes_received, &PEERS_FIN_CAME)
                .max(of_packets(self.packets.received)),
        }
    }

    /// The flows, and the end that each is seen from: the sender's where it sent or tries to, the receiver's where it received.
    fn streams(&self) -> impl Iterator<Item = (u32, StreamEnd)> + Clone + use<> {
        let Carried { sent, received, unanswered } = self.carried();
        let waits =
            |info: &TcpInfo| info.unacked_bytes > 0 || info.notsent_bytes.is_some_and(|bytes| bytes > 0);
        let tries = self.samples.iter().any(|sample| waits(&sample.info))
            || self.packets.sent.iter().any(|sample| sample.unacked_bytes > 0);
        let is_silent = self.packets.sent.last().is_some_and(|last| last.waits.silence_us > 0);
        let sends = sent > 0 || is_silent || unanswered > received || (tries && received == 0);
        let sender = sends.then_some(StreamEnd::Sender);
        let receiver = (received > 0).then_some(StreamEnd::Receiver);
        (0..).zip([sender, receiver].into_iter().flatten())
    }

    /// Appends the record's rows: each sample once for each flow, with counters that begin at the first sample, as those of a planned run do.
    /// One kind and end comes after the other, each in order of time. Its first stream and flow are number `first`.
    pub fn append_rows(&self, first: u32, rows: &mut Vec<AnyRow>) {
        let streams = self.streams().map(|(index, end)| (first + index, end));
        let count = streams.clone().count();
        let packets = self.packets.sent.len() + self.packets.received.len();
        rows.reserve(count * (self.samples.len() + self.cpu.len()) + self.peer_samples.len() + packets);
        for sample in self.samples {
            let info = self.counted(sample);
            let its = streams.clone().map(|(stream, end)| TcpSample { stream, end, info, ..sample.clone() });
            rows.extend(its.map(AnyRow::Tcp));
        }
        // What the peer's socket shows as the receiver of what this end sends.
        let sent = streams.clone().find(|&(_, end)| end == StreamEnd::Sender);
        if let Some(((stream, _), before)) = sent.zip(self.peer_samples.first()) {
            let end = StreamEnd::Receiver;
            let its = self.peer_samples.iter().map(|sample| TcpSample {
                stream,
                end,
                info: sample.info.since(&before.info),
                ..sample.clone()
            });
            rows.extend(its.map(AnyRow::Tcp));
        }
        for (stream, end) in streams.clone() {
            let its = self.packets_of(end).map(|sample| PacketSample { stream, end, ..sample });
            rows.extend(its.map(AnyRow::Packets));
        }
        for (flow, end) in streams {
            rows.extend(self.cpu.rows(flow, end).map(AnyRow::Cpu));
        }
    }

    fn packets_of(&self, end: StreamEnd) -> impl DoubleEndedIterator<Item = PacketSample> + '_ {
        let samples = match end {
            StreamEnd::Sender => self.packets.sent,
            StreamEnd::Receiver => self.packets.received,
        };
        samples.iter().map(|sample| sample.since(&samples[0]))
    }

    fn counted(&self, sample: &TcpSample) -> TcpInfo {
        self.samples.first().map_or(sample.info, |first| sample.info.since(&first.info))
    }

    /// What its sending end sent again.
    pub fn retransmits(&self) -> impl Iterator<Item = Retransmit> + '_ {
        let sender = self.streams().find(|&(_, end)| end == StreamEnd::Sender);
        let rows = sender.zip(self.exact).map(|((stream, _), exact)| {
            exact.retransmits.iter().map(move |row| Retransmit { stream, ..*row })
        });
        rows.into_iter().flatten()
    }

    /// Its manifest, as the only run of its cell.
    pub fn manifest(&self, run: &Run) -> Manifest {
        let observed = Observed { before: self.before(), ..self.observed.clone() };
        let mut manifest = manifest(run, &observed, self.summaries().collect());
        manifest.instrument.trace_lost_events = self.exact.map(|exact| exact.lost);
        manifest
    }

    /// What its socket had counted at its first sample. `tcp_ack()` counts the SYN of the end that opens as a byte.
    fn before(&self) -> Option<CountsBefore> {
        self.samples.first().map(|first| CountsBefore {
            acked_bytes: first.info.bytes_acked.unwrap_or(0).saturating_sub(1),
            retransmits: first.info.retransmits,
        })
    }

    /// Its cell in a record.
    pub fn spec(&self) -> CellSpec {
        spec(&self.observed, &self.congestion_control, self.every, self.flows().collect())
    }

    fn flows(&self) -> impl Iterator<Item = FlowSpec> {
        let direction = |end| match end {
            StreamEnd::Sender => Direction::Forward,
            StreamEnd::Receiver => Direction::Reverse,
        };
        let flows = self.streams().map(move |(_, end)| {
            let life = self.life(end);
            flow(Protocol::Tcp, direction(end), life.from_us..life.to_us)
        });
        flows.map(|flow| FlowSpec { bitrate: self.offered, ..flow })
    }

    fn summaries(&self) -> impl Iterator<Item = StreamSummary> {
        self.streams().map(|(stream, end)| self.summary(stream, end))
    }

    /// From the first sample to the last.
    pub fn span_us(&self) -> u64 {
        let (from_us, to_us) = self.ends_us();
        to_us - from_us
    }

    fn life(&self, end: StreamEnd) -> TimeInterval {
        let (from_us, to_us) = self.ends_us();
        let known = match end {
            StreamEnd::Sender => self.packets.lives[0],
            StreamEnd::Receiver => self.packets.lives[1],
        };
        known.unwrap_or(TimeInterval { from_us, to_us })
    }

    fn ends_us(&self) -> (u64, u64) {
        let ConnectionPackets { sent, received, .. } = self.packets;
        let sampled = self.samples.first().zip(self.samples.last());
        let ends = [
            sampled.map(|(first, last)| (first.t_us, last.t_us)),
            sent.first().zip(sent.last()).map(|(first, last)| (first.t_us, last.t_us)),
            received.first().zip(received.last()).map(|(first, last)| (first.t_us, last.t_us)),
        ];
        let ends = ends.into_iter().flatten().reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        ends.unwrap_or_default()
    }

    fn summary(&self, stream: u32, end: StreamEnd) -> StreamSummary {
        let TimeInterval { from_us, to_us } = self.life(end);
        let exact = self.exact.filter(|_| end == StreamEnd::Sender);
        let last = self.samples.last().map(|last| self.counted(last));
        let packets = self.packets_of(end).next_back();
        let count = last.and_then(|info| match end {
            StreamEnd::Sender => info.bytes_acked,
            StreamEnd::Receiver => info.bytes_received,
        });
        let count = count.or(packets.map(|sample| sample.acked_bytes)).unwrap_or(0);
        StreamSummary {
            stream,
            flow: stream,
            start_us: from_us,
            stop_us: to_us,
            end_us: to_us,
            sent_bytes: count,
            received_bytes: count,
            tcp: last.filter(|_| end == StreamEnd::Sender),
            packets: packets.map(|sample| PacketSample { stream, end, ..sample }),
            bucket: match end {
                StreamEnd::Sender => self.packets.buckets[0],
                StreamEnd::Receiver => self.packets.buckets[1],
            },
            repetition: self.packets.repetition.filter(|_| end == StreamEnd::Receiver),
            ca_state_us: exact.and_then(|exact| exact.ca_state_us),
            ca_state_source: exact.map(|_| CaStateSource::Bpf),
            ..StreamSummary::default()
        }
    }

    /// Why a single reading of `samples` is too short to judge; `None` where it is long enough. A window that is
    /// closed, and a timer that is awaited, show themselves in few segments too.
    pub fn too_short(&self, thresholds: &Thresholds) -> Option<ShortReading> {
        let (first, last) = self.samples.first().zip(self.samples.last())?;
        let span_us = self.span_us();
        let rtt_us = self.samples.iter().filter_map(|sample| sample.info.srtt_us).max()?;
        let round_trips = span_us as f64 / f64::from(rtt_us.max(1));
        if round_trips < thresholds.reading_round_trips.value() {
            return Some(ShortReading::RoundTrips { span_us, rtt_us });
        }
        let now = self.counted(last);
        let segments = now.data_segs_out?;
        let is_busy = |us: Option<u64>| {
            us.is_some_and(|us| us as f64 >= thresholds.reading_busy.value() * span_us as f64)
        };
        let is_an_event = is_busy(now.rwnd_limited_us) || last.info.rto_count > first.info.rto_count;
        let Carried { sent, received, .. } = self.carried();
        (sent >= received
            && f64::from(segments) < thresholds.reading_segments.value()
            && is_busy(now.busy_us)
            && !is_an_event)
            .then_some(ShortReading::Segments { span_us, segments })
    }

    /// What limits each direction that carried data: the sent one first.
    pub fn judge(&self) -> Vec<Judged> {
        judge_together(std::slice::from_ref(self)).0.pop().unwrap_or_default()
    }
}

/// A flow, and what its verdict rests on.
#[derive(Debug, Clone)]
pub struct Judged {
    /// With its verdict.
    pub flow: FlowResult,
    /// Its time by who held it; `None` where nothing was sampled.
    pub ledger: Option<FlowLedger>,
}

/// The rows' places in order of time. They are large, and stay where they are.
fn order_of_time(rows: &[AnyRow]) -> Vec<usize> {
    let mut order: Vec<(u64, usize)> = rows.iter().map(AnyRow::t_us).zip(0..).collect();
    order.sort_unstable();
    order.into_iter().map(|(_, index)| index).collect()
}

/// Judges connections between the same two hosts, which share a path: facts on the path from each apply to all. Returns these facts too.
pub fn judge_together(connections: &[Connection<'_>]) -> (Vec<Vec<Judged>>, PathFacts) {
    let Some(first) = connections.first() else { return (Vec::new(), PathFacts::default()) };
    let (mut flows, mut streams, mut samples) = (Vec::new(), Vec::new(), Vec::new());
    for connection in connections {
        let index = u32::try_from(streams.len()).unwrap_or(u32::MAX);
        flows.extend(connection.flows());
        streams.extend(connection.summaries().map(|summary| StreamSummary {
            stream: summary.stream + index,
            flow: summary.flow + index,
            ..summary
        }));
        connection.append_rows(index, &mut samples);
    }
    let in_order = order_of_time(&samples);
    let samples = || in_order.iter().map(|&index| &samples[index]);
    let family = family(&first.observed);
    let emulated = &first.observed.emulated;
    let congestion_controls = [first.congestion_control.as_str(); 2];
    // Not each connection's SYNs are known, and all are of the same hosts.
    let mut ends = first.observed.ends();
    for (at, end) in ends.iter_mut().enumerate() {
        end.stack = connections.iter().find_map(|connection| connection.observed.ends()[at].stack);
    }
    let unknown = KnownRun {
        plan: None,
        flows: &flows,
        streams: &streams,
        path: KnownPath::observed(family, &PathFacts::default(), emulated),
        warmup: Some(Duration::ZERO),
        drops: Direction::ALL.map(|direction| Drops::of_emulated(emulated, direction)),
        host_rate: None,
        writes_all: first.observed.writes_all,
        read_from: first.observed.read_from.as_ref(),
        is_quic: false,
        ends,
        before: connections
            .iter()
            .filter_map(Connection::before)
            .fold(CountsBefore::default(), CountsBefore::plus),
        congestion_controls,
    };
    let mut inference = Inference::new(&unknown, &STANDARD);
    samples().for_each(|row| inference.push(row));
    let facts = inference.facts();
    let path = KnownPath::observed(family, &facts, emulated);
    let mut condenser = FlowCondenser::new(KnownRun { path, ..unknown }, &STANDARD);
    for row in samples() {
        condenser.push(row);
        delivery(row).iter().for_each(|delivery| condenser.push(delivery));
    }
    let (_, metrics, mut ledgers) = condenser.finish();
    let run = RunFlows { repeat: 1, plan: None, path, congestion_controls, ends, aqm: &[], flows: &metrics };
    let mut judged = flow_results(&flows, &[run]).into_iter().map(|flow| {
        let its = ledgers.extract_if(.., |ledger| ledger.flow() == flow.figures.flow).next();
        Judged { ledger: its, flow }
    });
    let judged = connections
        .iter()
        .map(|connection| judged.by_ref().take(connection.streams().count()).collect())
        .collect();
    (judged, facts)
}
