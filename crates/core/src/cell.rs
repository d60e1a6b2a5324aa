//! One point of the matrix, resolved: every value typed, every default filled in.
//!
//! A [`CellSpec`] is what a backend runs and what a manifest keeps. Never: text that still needs parsing, or a choice
//! that a backend would have to make (then two backends would choose differently).

mod application;
mod aqm;
mod framing;
mod hazards;
mod rate_over_time;
mod rate_trace;
mod step_trace;
mod trace_times;

pub use application::{Application, BurstsSpec, RequestsSpec, WindowSpec, WritesSpec};
pub use aqm::{AqmSpec, CodelSpec, Dualpi2Spec, FqCodelSpec, PieSpec, RedSpec};
pub use framing::{Cells, Framing};
pub use hazards::{ChangeSpec, InnerMtuSpec, Phase, Pmtud, PolicerSpec};
pub use rate_over_time::RateOverTime;
pub use rate_trace::{RateTrace, TraceSteps};
pub use step_trace::{StepTrace, ValueSteps};
pub use trace_times::{BadTrace, TRACE_STEPS_MAX};

use crate::hosts::HostsSpec;
use crate::units::{Bytes, QueueLimit, Rate, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// Serialises a [`Duration`] as whole nanoseconds.
pub mod nanos {
    use serde::{Deserialize, Deserializer, Serializer};
    use std::time::Duration;

    /// Writes nanoseconds.
    pub fn serialize<S: Serializer>(value: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(value.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Reads nanoseconds.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_nanos)
    }
}

/// Serialises an optional [`Duration`] as whole nanoseconds or null.
pub mod nanos_opt {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::time::Duration;

    /// Writes nanoseconds or null.
    pub fn serialize<S: Serializer>(value: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
        value.map(|v| u64::try_from(v.as_nanos()).unwrap_or(u64::MAX)).serialize(serializer)
    }

    /// Reads nanoseconds or null.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(deserializer)?.map(Duration::from_nanos))
    }
}

/// A cell: the path, both ends, the traffic, and how to run it.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CellSpec {
    /// The network between the ends.
    pub path: PathSpec,
    /// The end whose name is A: it sends in the forward direction.
    pub sender: HostSpec,
    /// The end whose name is B.
    pub receiver: HostSpec,
    /// The traffic; at least one.
    pub flows: Vec<FlowSpec>,
    /// Repetition, sampling, warm-up.
    pub run: RunSpec,
    /// Assertions on the cell's results.
    pub expect: Vec<Expectation>,
    /// Where both ends are, where the path is not built for the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<HostsSpec>,
}

impl CellSpec {
    /// The host whose data goes in `direction`.
    pub const fn data_sender(&self, direction: Direction) -> &HostSpec {
        match direction {
            Direction::Forward => &self.sender,
            Direction::Reverse => &self.receiver,
        }
    }

    /// The word that it is to have for `metric`; `None` where nothing is expected, or a number.
    pub fn expected_word(&self, metric: ExpectMetric) -> Option<&str> {
        let its = self.expect.iter().filter(|expectation| expectation.metric == metric);
        its.into_iter().find_map(|expectation| match &expectation.bound {
            Bound::Word(word) => Some(word.as_str()),
            Bound::Value(_) | Bound::OfRate(_) => None,
        })
    }

    /// Number of the `[[flow]]` table that the flow at `position` was written in.
    pub fn table_of(&self, position: usize) -> usize {
        let table = self.flows.get(position).and_then(|flow| flow.table);
        table.and_then(|table| usize::try_from(table).ok()).unwrap_or(position)
    }

    /// The host that data of `direction` reaches.
    pub const fn data_receiver(&self, direction: Direction) -> &HostSpec {
        self.data_sender(direction.opposite())
    }
}

/// The path: what data meets on the way there, and what ACKs meet on the way back.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct PathSpec {
    /// From sender to receiver.
    pub forward: DirectionSpec,
    /// From receiver to sender.
    pub reverse: DirectionSpec,
    /// What becomes of payload. Records of 0.1.0 do not say it.
    #[serde(default, skip_serializing_if = "Payload::is_zeros")]
    pub payload: Payload,
    /// Which IP the flows use.
    #[serde(default, skip_serializing_if = "Family::is_ipv4")]
    pub family: Family,
    /// Largest IP packet, bytes.
    #[serde(rename = "mtu_bytes", default = "ethernet_mtu", skip_serializing_if = "is_ethernet_mtu")]
    pub mtu: u16,
}

/// MTU of Ethernet.
pub const ETHERNET_MTU: u16 = 1500;

const fn ethernet_mtu() -> u16 {
    ETHERNET_MTU
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_ethernet_mtu(mtu: &u16) -> bool {
    *mtu == ETHERNET_MTU
}

/// What becomes of the bytes that packets carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Payload {
    /// Headers travel; zeros of the same length arrive. For flows whose payload nobody reads.
    #[default]
    Zeros,
    /// Whole packets travel, as programs need it.
    Kept,
}

impl Payload {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_zeros(&self) -> bool {
        *self == Self::Zeros
    }
}

/// Version of IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// IPv4 (RFC 791): a header of 20 bytes.
    #[default]
    Ipv4,
    /// IPv6 (RFC 8200): a header of 40 bytes.
    Ipv6,
}

impl Family {
    /// Bytes of a header without options or extensions.
    #[inline]
    pub const fn header(self) -> u16 {
        match self {
            Self::Ipv4 => 20,
            Self::Ipv6 => 40,
        }
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_ipv4(&self) -> bool {
        *self == Self::Ipv4
    }
}

impl PathSpec {
    /// A path that asks for nothing.
    pub const EMPTY: Self = Self {
        forward: DirectionSpec::EMPTY,
        reverse: DirectionSpec::EMPTY,
        payload: Payload::Zeros,
        family: Family::Ipv4,
        mtu: ETHERNET_MTU,
    };

    /// A full frame: Ethernet without its FCS (IP + 14).
    pub const fn full_frame(&self) -> Bytes {
        Bytes::new(self.mtu as u64 + 14)
    }

    /// One direction.
    pub const fn way(&self, direction: Direction) -> &DirectionSpec {
        match direction {
            Direction::Forward => &self.forward,
            Direction::Reverse => &self.reverse,
        }
    }

    /// The largest IP packet of an inner link of `direction` that drops what is as large as the hosts' own links allow, and tells nobody (RFC 2923, section
    /// 2.1).
    pub fn black_hole_mtu(&self, direction: Direction) -> Option<u16> {
        let inner = self.way(direction).inner_mtu.as_ref();
        inner.filter(|inner| inner.pmtud == Pmtud::BlackHole && inner.mtu < self.mtu).map(|inner| inner.mtu)
    }

    /// The base round trip: both fixed delays, no serialisation, no queue.
    pub fn rtt(&self) -> Duration {
        self.forward.delay + self.reverse.delay
    }
}

/// One direction of the path. A packet meets the parts in this order, which is that of netem with a tbf child: loss, the inner link's
/// MTU, the policer, marks, duplication, delay (with jitter, reordering and its own limit), then the bottleneck's queue and token bucket.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct DirectionSpec {
    /// Fixed one-way delay.
    #[serde(rename = "delay_ns", with = "nanos")]
    #[schemars(with = "u64")]
    pub delay: Duration,
    /// Random part of the delay; `None` = none.
    pub jitter: Option<JitterSpec>,
    /// What the delay element may hold; `None` = sized so that it never drops.
    pub delay_limit: Option<QueueLimit>,
    /// Random or listed loss, before everything else.
    pub loss: LossSpec,
    /// What one draw of loss decides about.
    pub loss_unit: LossUnit,
    /// Probability that a packet is delivered twice.
    pub duplicate: Ratio,
    /// Probability that a packet skips the delay and so overtakes (netem's `reorder`).
    pub reorder: Ratio,
    /// Bottleneck; `None` = no limit.
    pub bottleneck: Option<BottleneckSpec>,
    /// How the bottleneck's queue is managed; `None` = drop-tail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aqm: Option<AqmSpec>,
    /// CE marks by chance; only packets that may be marked are counted and drawn for.
    #[serde(default = "no_mark", skip_serializing_if = "LossSpec::is_none")]
    pub mark: LossSpec,
    /// Drops what exceeds a rate; `None` = none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policer: Option<PolicerSpec>,
    /// A link between the hosts that carries smaller packets than theirs; `None` = none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inner_mtu: Option<InnerMtuSpec>,
    /// How the bottleneck counts frames, where that is more than its `overhead_bytes`; `None` = by that alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub framing: Option<Framing>,
    /// The bottleneck's rate over time, whose mean is the bottleneck's `rate`; `None` = always that rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_trace: Option<RateTrace>,
    /// The fixed one-way delay over time, nanoseconds, whose shortest is `delay_ns`; `None` = always that delay.
    #[serde(rename = "delay_trace_ns", default, skip_serializing_if = "Option::is_none")]
    pub delay_trace: Option<StepTrace<u64>>,
    /// Independent loss over time, a share of one, in place of `loss`; `None` = always that loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_trace: Option<StepTrace<Ratio>>,
    /// What changes while the traffic runs, in the order of the scenario.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangeSpec>,
}

const fn no_mark() -> LossSpec {
    LossSpec::None
}

impl DirectionSpec {
    /// A direction that asks for nothing: packets leave as they come.
    pub const EMPTY: Self = Self {
        delay: Duration::ZERO,
        jitter: None,
        delay_limit: None,
        loss: LossSpec::None,
        loss_unit: LossUnit::Segment,
        duplicate: Ratio::ZERO,
        reorder: Ratio::ZERO,
        bottleneck: None,
        aqm: None,
        mark: LossSpec::None,
        policer: None,
        inner_mtu: None,
        framing: None,
        rate_trace: None,
        delay_trace: None,
        loss_trace: None,
        changes: Vec::new(),
    };

    /// Whether it asks for nothing. Without a delay there is nothing to limit and nothing to overtake.
    pub fn is_empty(&self) -> bool {
        self.delay.is_zero()
            && self.jitter.is_none()
            && self.loss == LossSpec::None
            && self.duplicate == Ratio::ZERO
            && self.bottleneck.is_none()
            && !self.has_hazards()
    }
}

/// A token bucket behind a queue, which is drop-tail unless the direction has an `aqm`.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct BottleneckSpec {
    /// `bottleneck_rate`, counting Ethernet frames without FCS (IP + 14 bytes) as `tc`'s tbf does, and `overhead` for each.
    #[serde(rename = "rate_bps")]
    pub rate: Rate,
    /// What each frame costs beside its own bytes (the `overhead` of `tc`'s tbf); nothing where the rate counts frames alone. The
    /// queue counts frames alone in any case.
    #[serde(rename = "overhead_bytes", default = "no_overhead", skip_serializing_if = "is_no_overhead")]
    pub overhead: Bytes,
    /// What waits for tokens at most.
    pub queue: QueueLimit,
    /// Depth of the bucket.
    #[serde(rename = "burst_bytes")]
    pub burst: Bytes,
}

impl BottleneckSpec {
    /// What its queue holds in full frames of size `frame`, on a path with this base round trip.
    pub fn queue_bytes(&self, rtt: Duration, frame: Bytes) -> Bytes {
        match self.queue {
            QueueLimit::Bytes(size) => size,
            QueueLimit::Packets(packets) => Bytes::new(packets.saturating_mul(frame.get())),
            QueueLimit::Bdp(share) => Bytes::new((self.rate.bdp(rtt).get() as f64 * share) as u64),
        }
    }

    /// The same in BDPs of the path; where it has no round trip, one byte counts as its BDP.
    pub fn queue_bdp(&self, rtt: Duration, frame: Bytes) -> f64 {
        match self.queue {
            QueueLimit::Bdp(share) => share,
            _ => self.queue_bytes(rtt, frame).get() as f64 / self.rate.bdp(rtt).get().max(1) as f64,
        }
    }
}

/// What a full-duplex Ethernet wire carries beside a frame of IP + 14 bytes: preamble and start delimiter 8, FCS 4, the gap between
/// frames 12 (IEEE 802.3 clauses 3.1.1 and 4.4.2).
pub const WIRE_OVERHEAD: Bytes = Bytes::new(8 + 4 + 12);

const fn no_overhead() -> Bytes {
    Bytes::new(0)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_no_overhead(overhead: &Bytes) -> bool {
    overhead.get() == 0
}

/// The random part of a delay.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct JitterSpec {
    /// Spread: half the width (uniform), one standard deviation (normal), the unit of the table (quantiles).
    #[serde(rename = "spread_ns", with = "nanos")]
    #[schemars(with = "u64")]
    pub spread: Duration,
    /// Its distribution.
    pub distribution: JitterDistribution,
    /// Whether a packet may overtake another. If not, a packet leaves no earlier than the one before it.
    pub reorder: bool,
}

/// How the random part of a delay is distributed. A negative total delay counts as zero.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JitterDistribution {
    /// Uniform in ±spread.
    Uniform,
    /// Normal with standard deviation = spread.
    Normal,
    /// An inverse CDF at equidistant probabilities from 0 to 1, in units of the spread, interpolated linearly. At least two.
    Quantiles(Vec<f64>),
}

/// Which packets are lost before the queue.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossSpec {
    /// None.
    None,
    /// Each packet independently with this probability.
    Independent(Ratio),
    /// Gilbert–Elliott: a good and a bad state with loss probabilities of their own (Elliott, 1963; netem's `gemodel`).
    GilbertElliott {
        /// Good → bad, per packet.
        p: Ratio,
        /// Bad → good, per packet.
        r: Ratio,
        /// Loss probability in the bad state (netem's 1-h).
        loss_bad: Ratio,
        /// Loss probability in the good state (netem's 1-k).
        loss_good: Ratio,
    },
    /// Exactly these packets, counted from 1 as they reach the element; sorted, without repeats.
    Packets(Vec<u64>),
}

impl LossSpec {
    /// Whether it loses nothing.
    #[inline]
    pub const fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }
}

/// What one draw of loss decides about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossUnit {
    /// One MTU segment, as on a wire.
    Segment,
    /// A whole TSO/GSO super-packet, as `tc netem` on a virtual NIC.
    SuperPacket,
}

/// Settings of one end.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct HostSpec {
    /// `TCP_CONGESTION` of its sockets.
    pub congestion_control: String,
    /// Sysctls in the dotted form, e.g. `net.ipv4.tcp_rmem`; values in the sysctl's own form.
    pub sysctl: BTreeMap<String, String>,
    /// What its interface does for TCP.
    #[serde(default, skip_serializing_if = "Offloads::is_empty")]
    pub offloads: Offloads,
}

/// Why a socket has a smaller buffer than it asked for, in the settings of a record.
pub const BUFFER_CAPPED: &str = "capped by net.core's maximum of its host, then doubled as always";

impl HostSpec {
    /// What `SO_RCVBUF` of `asked` bytes becomes before the kernel doubles it: no more than this host's `net.core.rmem_max`, where the
    /// scenario has one (`sk_setsockopt()`).
    pub fn granted_rcvbuf(&self, asked: Bytes) -> Bytes {
        self.granted("net.core.rmem_max", asked)
    }

    /// The same of `SO_SNDBUF` by `net.core.wmem_max`.
    pub fn granted_sndbuf(&self, asked: Bytes) -> Bytes {
        self.granted("net.core.wmem_max", asked)
    }

    fn granted(&self, sysctl: &str, asked: Bytes) -> Bytes {
        let most = self.sysctl.get(sysctl).and_then(|value| value.trim().parse().ok());
        most.map_or(asked, |most| asked.min(Bytes::new(most)))
    }
}

/// Features of an interface in the words of `ethtool -K`; `None` = as the machine has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Offloads {
    /// `generic-segmentation-offload`: the kernel cuts super-packets into segments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gso: Option<bool>,
    /// `generic-receive-offload`: segments are joined before TCP takes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gro: Option<bool>,
    /// `tcp-segmentation-offload`: the interface cuts super-packets into segments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tso: Option<bool>,
}

impl Offloads {
    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Transport protocol of a flow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// TCP.
    #[default]
    Tcp,
    /// UDP.
    Udp,
    /// Requests and replies over UDP, one at a time.
    Ping,
}

impl Protocol {
    /// `tcp`, `udp` or `ping`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Ping => "ping",
        }
    }
}

/// Which way the data of a flow goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Sender to receiver.
    Forward,
    /// Receiver to sender (iperf3's `-R`).
    Reverse,
}

impl Direction {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Forward, Self::Reverse];

    /// Its place in [`Self::ALL`].
    pub const fn index(self) -> usize {
        match self {
            Self::Forward => 0,
            Self::Reverse => 1,
        }
    }

    /// `forward` or `reverse`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Reverse => "reverse",
        }
    }

    /// `→` or `←`.
    pub const fn arrow(self) -> char {
        match self {
            Self::Forward => '→',
            Self::Reverse => '←',
        }
    }

    /// The way back: that of a flow's ACKs.
    #[must_use]
    #[inline]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Forward => Self::Reverse,
            Self::Reverse => Self::Forward,
        }
    }
}

/// A flow's name in tables and pictures: `0 tcp ×4 →`, its place in the cell, its streams, and which way its data go.
pub fn flow_name(flow: u32, protocol: Protocol, streams: u32, direction: Direction) -> String {
    let several = if streams > 1 { format!(" ×{streams}") } else { String::new() };
    format!("{flow} {}{several} {}", protocol.as_str(), direction.arrow())
}

/// What a program does that sends as fast as it can, and is told that there is room in the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Writer {
    /// Writes until the socket refuses: the buffer is filled to the brim.
    #[default]
    Blocking,
    /// Writes once and asks again, as iperf3 does: the buffer stays near the two thirds at which the kernel wakes the writer.
    OncePerWake,
}

impl Writer {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_blocking(&self) -> bool {
        *self == Self::Blocking
    }
}

/// One flow: `parallel` streams of the same kind. `direction = "both"` in a scenario makes two flows.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct FlowSpec {
    /// Transport.
    pub protocol: Protocol,
    /// Which way the data goes.
    pub direction: Direction,
    /// When it starts, after the run's start.
    #[serde(rename = "start_ns", with = "nanos")]
    #[schemars(with = "u64")]
    pub start: Duration,
    /// How long data is offered.
    #[serde(rename = "duration_ns", with = "nanos")]
    #[schemars(with = "u64")]
    pub duration: Duration,
    /// Number of streams (iperf3's `-P`).
    pub parallel: u32,
    /// Application rate per stream, payload bits (iperf3's `-b`); always present for UDP, `None` = as fast as it goes.
    #[serde(rename = "bitrate_bps")]
    pub bitrate: Option<Rate>,
    /// UDP: payload of a datagram. TCP: size of a write.
    #[serde(rename = "length_bytes")]
    pub length: Bytes,
    /// The receiver reads no faster than this, per stream.
    #[serde(rename = "read_rate_bps")]
    pub read_rate: Option<Rate>,
    /// `SO_SNDBUF` as asked (the kernel doubles it); `None` = autotuning.
    #[serde(rename = "sndbuf_bytes")]
    pub sndbuf: Option<Bytes>,
    /// `SO_RCVBUF` as asked (the kernel doubles it); `None` = autotuning.
    #[serde(rename = "rcvbuf_bytes")]
    pub rcvbuf: Option<Bytes>,
    /// `SO_MAX_PACING_RATE`.
    #[serde(rename = "max_pacing_rate_bps")]
    pub max_pacing_rate: Option<Rate>,
    /// Overrides the sending host's congestion control.
    pub congestion_control: Option<String>,
    /// How a TCP flow without `bitrate` writes.
    #[serde(default, skip_serializing_if = "Writer::is_blocking")]
    pub writer: Writer,
    /// The program behind each stream.
    #[serde(default, skip_serializing_if = "Application::is_bulk")]
    pub app: Application,
    /// `TCP_NODELAY` of both ends' sockets: Nagle's algorithm (RFC 9293, 3.7.4) is off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nodelay: bool,
    /// Number of its `[[flow]]` table, from 0, where that is not its own position: after a table with `direction = "both"`, which makes
    /// two flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<u32>,
    /// What a ping sends; `None` for other protocols, and then not written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ping: Option<PingSpec>,
}

/// Requests of several sizes, one at a time; see [`crate::traffic::ping`].
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct PingSpec {
    /// Payloads of the requests, in turn; at least one.
    #[serde(rename = "payloads_bytes")]
    pub payloads: Vec<Bytes>,
    /// From a reply, or its time-out, to the next request.
    #[serde(rename = "interval_ns", with = "nanos")]
    #[schemars(with = "u64")]
    pub interval: Duration,
}

/// How a cell is run.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct RunSpec {
    /// Runs of the cell.
    pub repeat: u32,
    /// The experiment's seed; each run has its own, derived from it.
    pub seed: u64,
    /// Interval of the telemetry.
    #[serde(rename = "sample_ns", with = "nanos")]
    #[schemars(with = "u64")]
    pub sample: Duration,
    /// Left out at the start of every flow; `None` = the automatic rule of `docs/metrics.md`.
    #[serde(rename = "warmup_ns", with = "nanos_opt")]
    #[schemars(with = "Option<u64>")]
    pub warmup: Option<Duration>,
    /// Whether packets are captured at both ends.
    pub capture: bool,
    /// What a super-packet is in a capture.
    #[serde(default, skip_serializing_if = "CapturePackets::is_kept")]
    pub capture_packets: CapturePackets,
}

/// What a capture makes of a packet of several segments, which TSO, GSO or GRO have made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CapturePackets {
    /// It stays one, as tcpdump sees it on the host's interface.
    #[default]
    Kept,
    /// It is cut into the segments that a wire carries, all at one instant.
    Split,
}

impl CapturePackets {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_kept(&self) -> bool {
        *self == Self::Kept
    }
}

/// An assertion on a cell's result, from `[expect]`.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Expectation {
    /// What is judged.
    pub metric: ExpectMetric,
    /// How it is compared.
    pub comparison: Comparison,
    /// The right-hand side, in the metric's unit or as a share of something.
    pub bound: Bound,
    /// The text of the scenario, for messages.
    pub text: String,
}

/// What an expectation judges. Medians over the valid runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExpectMetric {
    /// `goodput_bps`.
    Goodput,
    /// `sender_bps`.
    Sender,
    /// `retransmits`.
    Retransmits,
    /// `min_rtt_us`.
    MinRtt,
    /// `srtt_us_p50`.
    Srtt,
    /// `lost_percent`.
    Lost,
    /// `limited_by`.
    LimitedBy,
    /// `cause`.
    Cause,
    /// `cwnd_cause`.
    CwndCause,
    /// `ping.base_rtt_us`.
    BaseRtt,
    /// `ping.forward_bps`.
    ForwardRate,
    /// `ping.reverse_bps`.
    ReverseRate,
    /// `ping.naive_bps`.
    PingNaive,
    /// `ping.doubled_bps`.
    PingDoubled,
    /// `ping.law_bps`.
    PingLaw,
    /// The category with the second largest share in `limited_fraction`, where that is a tenth and more.
    AlsoLimitedBy,
    /// `limited_by` and `cause` of each flow, in the scenario's order.
    Flows,
    /// The direction whose queue adds a standing delay, or `none`.
    Bufferbloat,
    /// `idle_rtt_us` of the flow that the verdict is about.
    IdleRtt,
    /// `loaded_rtt_us_p50` of that flow.
    LoadedRtt,
    /// `loaded_rtt_us_p95` of that flow.
    LoadedRttP95,
    /// `fairness_index`.
    Fairness,
}

/// How an expectation compares.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Comparison {
    /// `>=`
    AtLeast,
    /// `<=`
    AtMost,
    /// `within 10% of`: |value − bound| ≤ share × bound.
    Within(Ratio),
    /// `=`: the very value (counts, `limited_by`).
    Equal,
}

/// The right-hand side of an expectation.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// A number in the metric's unit (bits/s, µs, per cent, count).
    Value(f64),
    /// A share of the path's forward `rate`.
    OfRate(Ratio),
    /// A word (`limited_by`).
    Word(String),
}
