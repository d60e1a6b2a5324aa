//! What a run leaves behind: `manifest.json` and line-JSON tables, version 2. `docs/records.md` describes every column.
//!
//! Raw, append-only, versioned; flat rows, so that `zstdcat | jq`, pandas and DuckDB read them as they are.
//! Never: a derived figure (goodput, a verdict). A value that was not measured is null, never 0.
//! Their bytes and files are the business of `pipefill-store`.

mod aqm;
mod bucket;
mod columns;
mod congestion;
mod datagrams;
mod evidence;
mod expected;
mod files;
mod host_context;
mod packets;
mod read_from;
mod repetition;
mod sink;
mod subject;

pub use aqm::{AqmCounted, AqmSample, AqmSummary, FlowQueues};
pub use bucket::BucketFit;
pub use columns::{Gaps, NO_VALUE};
pub use congestion::{CaStateSource, CaStateTimes, Episode, Retransmit, RetransmitKind};
pub use datagrams::DatagramSample;
pub use evidence::{DropReason, Element, PathCount, ThreadRole};
pub use files::{ArtifactSummary, TableSummary};
pub use host_context::{CounterReading, HostContext, HostCounter, QdiscReading};
pub use packets::{CapturePoint, Micros, PacketSample, Waiting, Waits};
pub use read_from::{Gap, ReadFrom};
pub use repetition::Repetition;
pub use sink::{AnyRow, InMemory, Sink, SinkError};
pub use subject::{
    BufferLimits, CountsBefore, CpuQuota, EndFacts, Fact, LossKind, Observed, OptionsSet, Origin, PathCounts,
    PathFacts, PolicerFacts, Process, SOCKETS, Subject, WayFacts,
};

use crate::cell::Direction;
use crate::plan::Run;
use crate::tcp_info::TcpInfo;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the records that this code writes.
pub const RECORD_VERSION: u32 = 2;
/// The oldest version that it reads.
pub const RECORD_VERSION_MIN: u32 = 1;

/// Everything about one run that is not a time series.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Manifest {
    /// [`RECORD_VERSION`].
    pub version: u32,
    /// Version of pipefill, e.g. `0.1.0`.
    pub pipefill: String,
    /// `lab`, `sim` or `hosts`.
    pub backend: String,
    /// What was asked: experiment, cell (axes and resolved values), repetition, id, seed. Of observed connections it has their flows, and a
    /// path that asks for nothing.
    pub run: Run,
    /// Whether that was planned or observed. Records of version 1 are of planned runs.
    #[serde(default)]
    pub subject: Subject,
    /// Start, milliseconds since the Unix epoch; null in virtual time.
    pub started_unix_ms: Option<u64>,
    /// From the run's first action to its last, set-up and drain included; null in virtual time.
    pub wall_ms: Option<u64>,
    /// The machine.
    pub environment: Environment,
    /// Every setting: asked, got, and why they differ.
    pub settings: Vec<Setting>,
    /// One per stream.
    pub streams: Vec<StreamSummary>,
    /// Counters of queues, links and sockets before and after.
    pub counters: Vec<Counter>,
    /// What the disciplines of the bottlenecks' queues did; none where all are drop-tail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aqm: Vec<AqmSummary>,
    /// The instrument's own errors.
    pub instrument: Instrument,
    /// Why the run must not be believed; empty = valid.
    pub invalid: Vec<Invalid>,
    /// Every table that was written; absent in records of 0.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tables: Option<Vec<TableSummary>>,
    /// Every other file of the record, e.g. a capture.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<ArtifactSummary>,
}

/// The machine on which a run was made.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize, Default)]
pub struct Environment {
    /// `uname -r`.
    pub kernel: Option<String>,
    /// CPUs that this process may use.
    pub cpus: Option<u32>,
    /// CPU model.
    pub cpu_model: Option<String>,
    /// `root` or `user-namespace`.
    pub privilege: Option<String>,
    /// What emulated the path, e.g. `af_packet`.
    pub data_path: Option<String>,
    /// What a host sends at most where the path has no rate, bits per second; null where only the hardware limits it.
    #[serde(default)]
    pub host_rate_bps: Option<u64>,
    /// What the machine offers or lacks that bears on the result; sorted by name.
    pub facts: BTreeMap<String, String>,
}

/// A setting: what was asked, and what was read back.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Setting {
    /// `sender`, `receiver`, or `stream 0 sender` for a socket option.
    pub place: String,
    /// E.g. `net.ipv4.tcp_rmem`, `SO_SNDBUF`, `TCP_CONGESTION`.
    pub name: String,
    /// As asked; null where nothing was asked and the value is only recorded.
    pub asked: Option<String>,
    /// As read back; null where it could not be read.
    pub got: Option<String>,
    /// Why got differs from asked; null where it doesn't.
    pub why: Option<String>,
    /// Whether got fulfils asked; true where nothing was asked. A buffer that the kernel doubled is fulfilled.
    #[serde(default = "fulfilled")]
    pub met: bool,
}

/// Records of before [`Setting::met`] had no setting that was refused without a word.
const fn fulfilled() -> bool {
    true
}

/// What one stream did, in totals.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct StreamSummary {
    /// Number of the stream in the run, from 0.
    pub stream: u32,
    /// Index of its flow in the cell.
    pub flow: u32,
    /// When the sender offered its first byte.
    pub start_us: u64,
    /// When the sender stopped offering data.
    pub stop_us: u64,
    /// When the receiver had the last byte (or the drain ended).
    pub end_us: u64,
    /// Payload bytes that the sending socket took.
    pub sent_bytes: u64,
    /// Payload bytes that the receiving application read.
    pub received_bytes: u64,
    /// TCP: the sender's `tcp_info` at the end of the drain.
    pub tcp: Option<TcpInfo>,
    /// UDP totals.
    pub udp: Option<UdpTotals>,
    /// TCP, of a capture: what its packets show at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets: Option<PacketSample>,
    /// TCP, of a capture: the leaky bucket that explains its losses; absent where there are few.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bucket: Option<BucketFit>,
    /// TCP, of a capture near the receiver: whether its bursts repeat each round trip; absent where there are few.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repetition: Option<Repetition>,
    /// UDP, on the path of `pipefill exec`: what the path and the receiving socket counted in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<DatagramSample>,
    /// TCP: time in each congestion state from start to stop; null where it was only sampled.
    #[serde(default)]
    pub ca_state_us: Option<CaStateTimes>,
    /// TCP: where the times in the congestion states come from; null in records of before it was noted.
    #[serde(default)]
    pub ca_state_source: Option<CaStateSource>,
}

impl StreamSummary {
    /// Segments sent again; `None` where neither its sender's socket nor its packets show them.
    pub fn retransmits(&self) -> Option<u32> {
        let socket = self.tcp.map(|info| info.retransmits);
        socket.or_else(|| self.packets.map(|sample| sample.retransmits))
    }
}

/// UDP totals of one stream. `lost = sent − received_unique`.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize, Default)]
pub struct UdpTotals {
    /// Datagrams that the sending socket took.
    pub sent: u64,
    /// Datagrams received, duplicates not counted.
    pub received: u64,
    /// Datagrams received again.
    pub duplicates: u64,
    /// Datagrams that arrived after a later one (RFC 4737 type-P-reordered).
    pub reordered: u64,
    /// Dropped by the receiver's own socket buffer (`SK_MEMINFO_DROPS`, the counter of `SO_RXQ_OVFL`); part of lost.
    pub socket_drops: Option<u64>,
    /// RFC 3550 interarrival jitter at the end, nanoseconds.
    pub jitter_ns: Option<u64>,
    /// Smallest one-way delay, nanoseconds.
    pub one_way_delay_min_ns: Option<i64>,
    /// Median one-way delay, nanoseconds.
    pub one_way_delay_p50_ns: Option<i64>,
    /// 99th percentile of the one-way delay, nanoseconds.
    pub one_way_delay_p99_ns: Option<i64>,
    /// Largest one-way delay, nanoseconds.
    pub one_way_delay_max_ns: Option<i64>,
}

impl UdpTotals {
    /// Of what both ends counted: datagrams `sent`, the `highest` number that arrived (0: none did), and those below it that were `lost`.
    /// What was sent after that one may still be under way when the receiver stops: it is left out.
    pub fn of_both_ends(sent: u64, highest: u64, lost: u64) -> Self {
        let known = if highest == 0 { sent } else { sent.min(highest) };
        Self { sent: known, received: highest.saturating_sub(lost).min(known), ..Self::default() }
    }
}

/// A counter before and after.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Counter {
    /// Where, e.g. `path forward queue`, `sender nstat`, `receiver veth`.
    pub place: String,
    /// What, in the kernel's or the element's own word.
    pub name: String,
    /// Before the traffic.
    pub before: u64,
    /// After the drain.
    pub after: u64,
}

/// How good the instrument was in this run.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize, Default)]
pub struct Instrument {
    /// How late packets left the path, forward.
    pub release_lateness_forward: Option<Lateness>,
    /// How late packets left the path, reverse.
    pub release_lateness_reverse: Option<Lateness>,
    /// How late the sender's pacing timer was (UDP and `bitrate`).
    pub send_lateness: Option<Lateness>,
    /// How late the telemetry's samples were. Every sample that was due counts, also one that was missed, with the time until the
    /// next one; in records of before [`Self::samples_due`] only those that were taken.
    pub sample_lateness: Option<Lateness>,
    /// Times at which the telemetry was to sample, one every `run.sample`; null in simulation, and in records of before it was noted.
    #[serde(default)]
    pub samples_due: Option<u64>,
    /// Times at which it did: where it was late by more than `run.sample`, samples are missing.
    #[serde(default)]
    pub samples_taken: Option<u64>,
    /// How late a bare timer was meanwhile: a thread at normal priority that only sleeps to a deadline every 10 ms, and counts every
    /// deadline, also those that it slept through. It tells a late machine from a slow data path. Null in simulation, and in records
    /// of before it was noted.
    #[serde(default)]
    pub timer_lateness: Option<Lateness>,
    /// When the path was later than 4 ms, or than a quarter of what its queue takes to empty (1 ms at least): the first 10,000 times
    /// of a direction.
    #[serde(default)]
    pub stalls: Vec<Stall>,
    /// CPU time that the hypervisor gave to others during the run, all CPUs together (`steal` of `/proc/stat`, in ticks of
    /// 10 ms): why an idle machine can be late.
    pub steal_us: Option<u64>,
    /// Packets dropped by the data path's receive rings: lost by the instrument, not by the path.
    pub ring_drops: Option<u64>,
    /// Packets that the kernel would not take back from the data path.
    pub transmit_drops: Option<u64>,
    /// BPF events for which the ring had no room: rows that `retransmits.jsonl.zst` lacks. Null without BPF.
    #[serde(default)]
    pub trace_lost_events: Option<u64>,
    /// Who used the CPUs during the traffic; null in simulation, and in records of before it was noted.
    #[serde(default)]
    pub cpu_use: Option<CpuUse>,
    /// CPU time of each thread over the run.
    pub threads: Vec<ThreadCpu>,
}

/// Who used the CPUs that this process may use, from before the first byte until the last thread had ended.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct CpuUse {
    /// How many CPUs these are.
    pub cpus: u32,
    /// Length of that time.
    pub span_us: u64,
    /// CPU time of this process.
    pub own_us: u64,
    /// CPU time of all others on these CPUs (user, nice and system time of `/proc/stat`, in ticks of 10 ms), and what the hypervisor took
    /// away (steal). Interrupts are in neither figure, or in `own_us`: it depends on the kernel.
    pub others_us: u64,
}

/// CPU time of one thread.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ThreadCpu {
    /// What it does, e.g. `path forward`, `flow 0 sender`.
    pub thread: ThreadRole,
    /// User time.
    pub user_us: u64,
    /// System time.
    pub system_us: u64,
    /// Time in which it could run and had no CPU (run-queue delay, the second figure of `schedstat`); null in records of before it was
    /// noted.
    #[serde(default)]
    pub wait_us: Option<u64>,
}

/// A time in which a direction of the path let nothing out that was due.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Stall {
    /// Which.
    pub direction: Direction,
    /// When it ended.
    pub t_us: u64,
    /// How late the latest packet was.
    pub late_ns: u64,
}

/// A distribution of latenesses: how long after its due time something happened.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize, Default)]
pub struct Lateness {
    /// Events counted.
    pub count: u64,
    /// Mean, which is what it adds to a round trip. 0 in records made before this was noted.
    #[serde(default)]
    pub mean_ns: u64,
    /// Median.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// 99.9th percentile.
    pub p999_ns: u64,
    /// Largest.
    pub max_ns: u64,
    /// Histogram: upper bounds of the buckets in nanoseconds, doubling, and events in each.
    pub histogram: Vec<(u64, u64)>,
}

/// Why a run must not be believed.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Invalid {
    /// A stable word: `ring_drops`, `transmit_drops`, `interface_drops`, `late_releases`, `late_sender`, `late_samples`,
    /// `missing_samples`, `starved_cpu`, `not_drained`, `interrupted`, `flow_failed`.
    pub reason: String,
    /// What happened, with the figure and the bound.
    pub detail: String,
}

/// A row of a table: knows the table's file name.
pub trait Row: Serialize + for<'de> Deserialize<'de> {
    /// File name without `.jsonl.zst`.
    const TABLE: &'static str;
    /// Columns that are without a value in some rows.
    const GAPS: Gaps;

    /// When it was read, microseconds since the run began. A table is in this order.
    fn t_us(&self) -> u64;

    /// As a row of any table.
    fn into_any(self) -> AnyRow;
}

/// `tcp.jsonl.zst`: one sample of one end of one TCP stream.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct TcpSample {
    /// When it was read, microseconds since the run began.
    pub t_us: u64,
    /// Stream of the run.
    pub stream: u32,
    /// `sender` or `receiver`: the end of the *stream*, whichever host that is.
    pub end: StreamEnd,
    /// The decoded fields, flat.
    #[serde(flatten)]
    pub info: TcpInfo,
    /// `SO_MEMINFO`: bytes queued for sending, truesize (`sk_wmem_queued`).
    pub wmem_queued_bytes: Option<u64>,
    /// `SO_MEMINFO`: send buffer limit (`sk_sndbuf`).
    pub sndbuf_bytes: Option<u64>,
    /// `SO_MEMINFO`: receive memory in use, truesize (`sk_rmem_alloc`).
    pub rmem_alloc_bytes: Option<u64>,
    /// `SO_MEMINFO`: receive buffer limit (`sk_rcvbuf`).
    pub rcvbuf_bytes: Option<u64>,
    /// The kernel's `tcp_info` as it was read, base64; null in simulation.
    pub raw: Option<String>,
}

impl TcpSample {
    /// With what `tcp_info` shows alone: nothing is known of the socket's buffers.
    pub const fn of_info(t_us: u64, stream: u32, end: StreamEnd, info: TcpInfo) -> Self {
        Self {
            t_us,
            stream,
            end,
            info,
            wmem_queued_bytes: None,
            sndbuf_bytes: None,
            rmem_alloc_bytes: None,
            rcvbuf_bytes: None,
            raw: None,
        }
    }
}

/// Which end of a stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StreamEnd {
    /// Where the data comes from.
    #[default]
    Sender,
    /// Where the data goes.
    Receiver,
}

impl StreamEnd {
    /// Both, in order.
    pub const BOTH: [Self; 2] = [Self::Sender, Self::Receiver];
}

/// `delivery.jsonl.zst`: the application's byte counts of one stream, cumulative.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct DeliverySample {
    /// When it was read.
    pub t_us: u64,
    /// Stream of the run.
    pub stream: u32,
    /// Payload bytes that the sending socket took so far.
    pub sent_bytes: u64,
    /// Payload bytes that the receiving application read so far.
    pub received_bytes: u64,
}

/// `udp.jsonl.zst`: the receiver's view of one UDP stream, cumulative.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct UdpSample {
    /// When it was read.
    pub t_us: u64,
    /// Stream of the run.
    pub stream: u32,
    /// Datagrams sent so far.
    pub sent: u64,
    /// Datagrams received so far, duplicates not counted.
    pub received: u64,
    /// Duplicates so far.
    pub duplicates: u64,
    /// Reordered so far.
    pub reordered: u64,
    /// RFC 3550 jitter now.
    pub jitter_ns: Option<u64>,
}

/// `ping.jsonl.zst`: one request of a ping and its reply. A request whose reply was still due at the end has no row.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct PingSample {
    /// When the request was sent, microseconds since the run began.
    pub t_us: u64,
    /// Stream of the run.
    pub stream: u32,
    /// Number of the request, from 0.
    pub number: u64,
    /// Payload of the request.
    pub payload_bytes: u64,
    /// Payload of the reply.
    pub reply_bytes: u64,
    /// From the request's sending until the whole reply was there; null where none came in time.
    pub rtt_ns: Option<u64>,
}

/// `path.jsonl.zst`: one element of the path, cumulative counters and what it holds now.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct PathSample {
    /// When it was read.
    pub t_us: u64,
    /// Which way.
    pub direction: Direction,
    /// Which part of it.
    pub element: Element,
    /// Packets in it.
    pub backlog_packets: u64,
    /// Bytes in it (Ethernet frames without FCS).
    pub backlog_bytes: u64,
    /// Packets dropped by it so far.
    pub dropped_packets: u64,
}

/// `cpu.jsonl.zst`: CPU time of one thread so far.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct CpuSample {
    /// When it was read.
    pub t_us: u64,
    /// What the thread does.
    pub thread: ThreadRole,
    /// CPU time so far, user and system.
    pub cpu_us: u64,
    /// Time so far in which it could run and had no CPU (run-queue delay, the second figure of `schedstat`); null in records of before
    /// it was noted.
    #[serde(default)]
    pub wait_us: Option<u64>,
    /// Periods so far in which the CPU quota of its cgroup ran out (`nr_throttled` of `cpu.stat`); null where no quota is known.
    #[serde(default)]
    pub throttled_periods: Option<u64>,
    /// Time so far in which that cgroup was not allowed to run, the sum over the CPUs (`throttled_usec`; `throttled_time` of version 1);
    /// null where no quota is known.
    #[serde(default)]
    pub throttled_us: Option<u64>,
    /// CPU time of that cgroup so far (`usage_usec`; `cpuacct.usage` of version 1); null where it could not be read.
    #[serde(default)]
    pub cgroup_cpu_us: Option<u64>,
}

impl CpuSample {
    /// Of a thread in no cgroup with a known quota.
    pub const fn of_thread(t_us: u64, thread: ThreadRole, cpu_us: u64, wait_us: Option<u64>) -> Self {
        Self {
            t_us,
            thread,
            cpu_us,
            wait_us,
            throttled_periods: None,
            throttled_us: None,
            cgroup_cpu_us: None,
        }
    }
}

macro_rules! rows {
    ($($row:ident is $kind:ident of $table:literal with $gaps:expr;)*) => {
        $(impl Row for $row {
            const TABLE: &'static str = $table;
            const GAPS: Gaps = $gaps;

            fn t_us(&self) -> u64 {
                self.t_us
            }

            fn into_any(self) -> AnyRow {
                AnyRow::$kind(self)
            }
        })*
    };
}

/// Of a connection's sample: what has no bound, and what is not known before a first round trip; `raw` is read now and then.
const TCP_GAPS: Gaps = Gaps {
    numbers: &[
        "ssthresh_bytes",
        "srtt_us",
        "rttvar_us",
        "min_rtt_us",
        "rcv_rtt_us",
        "pacing_rate_bps",
        "max_pacing_rate_bps",
    ],
    texts: &["ca_state", "raw"],
};

/// Of a connection's packets: what is not known before a first round trip, or where the handshake was not captured.
const PACKET_GAPS: Gaps = Gaps {
    numbers: &[
        "rwnd_bytes",
        "rwnd_permille",
        "srtt_us",
        "min_rtt_us",
        "rto_us",
        "receiver_rtt_us",
        "path_rtt_us",
        "rwnd_at_peak_bytes",
    ],
    texts: &["ca_state"],
};

/// Of a flow of datagrams: a path without a rate has no bursts, and a socket may not be found.
const DATAGRAM_GAPS: Gaps = Gaps {
    numbers: &[
        "burst_packets",
        "burst_bytes",
        "needed_queue_packets",
        "needed_queue_bytes",
        "socket_drops",
        "unread_bytes",
        "rcvbuf_bytes",
    ],
    texts: &[],
};

rows! {
    TcpSample is Tcp of "tcp" with TCP_GAPS;
    DeliverySample is Delivery of "delivery" with Gaps::NONE;
    UdpSample is Udp of "udp" with Gaps { numbers: &["jitter_ns"], texts: &[] };
    PingSample is Ping of "ping" with Gaps { numbers: &["rtt_ns"], texts: &[] };
    PathSample is Path of "path" with Gaps::NONE;
    CpuSample is Cpu of "cpu" with Gaps::NONE;
    Retransmit is Retransmit of "retransmits" with Gaps::NONE;
    PacketSample is Packets of "packets" with PACKET_GAPS;
    DatagramSample is Datagrams of "datagrams" with DATAGRAM_GAPS;
    AqmSample is Aqm of "aqm" with Gaps { numbers: &["sojourn_us", "probability_ppb", "drop_count"], texts: &[] };
}

/// One run's record in memory: what analysis reads. A backend produces it row by row, into a [`Sink`].
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct RunRecord {
    /// `manifest.json`.
    pub manifest: Manifest,
    /// `tcp.jsonl.zst`.
    pub tcp: Vec<TcpSample>,
    /// `delivery.jsonl.zst`.
    pub delivery: Vec<DeliverySample>,
    /// `udp.jsonl.zst`.
    pub udp: Vec<UdpSample>,
    /// `ping.jsonl.zst`; not written where nobody pinged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ping: Vec<PingSample>,
    /// `path.jsonl.zst`.
    pub path: Vec<PathSample>,
    /// `cpu.jsonl.zst`.
    pub cpu: Vec<CpuSample>,
    /// `retransmits.jsonl.zst`.
    #[serde(default)]
    pub retransmits: Vec<Retransmit>,
    /// `packets.jsonl.zst`; not written where nothing was captured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub packets: Vec<PacketSample>,
    /// `datagrams.jsonl.zst`; not written where no flow of datagrams was counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub datagrams: Vec<DatagramSample>,
    /// `aqm.jsonl.zst`; not written where no queue has a discipline.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aqm: Vec<AqmSample>,
}

impl RunRecord {
    /// The samples of all tables in order of time. Retransmits are told when their recovery ends, pings when they are answered: they are none.
    pub fn rows(&self) -> Vec<AnyRow> {
        fn all<R: Row + Clone>(rows: &[R]) -> impl Iterator<Item = AnyRow> {
            rows.iter().cloned().map(R::into_any)
        }
        let tables = all(&self.tcp).chain(all(&self.delivery)).chain(all(&self.udp));
        let mut rows: Vec<AnyRow> = tables
            .chain(all(&self.packets))
            .chain(all(&self.aqm))
            .chain(all(&self.path))
            .chain(all(&self.cpu))
            .collect();
        rows.sort_by_key(AnyRow::t_us);
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_after_the_last_that_arrived_are_neither_lost_nor_received() {
        let of = |sent, highest, lost| {
            let totals = UdpTotals::of_both_ends(sent, highest, lost);
            (totals.sent, totals.received)
        };
        assert_eq!(of(100, 90, 30), (90, 60));
        assert_eq!(of(100, 100, 0), (100, 100));
        assert_eq!(of(100, 0, 0), (100, 0), "nothing arrived");
        assert_eq!(of(100, 120, 0), (100, 100), "the ends count over different times");
    }
}
