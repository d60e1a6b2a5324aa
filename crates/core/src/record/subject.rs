//! What a record is about: a run that was planned, or connections that were there.
//!
//! Of a planned run the path is known, since it was asked for. Of observed connections it is what their sockets tell: each fact says
//! where it comes from, and what nobody knows is absent.

use crate::cell::{Direction, PathSpec};
use crate::limit::Cause;
use crate::record::{Counter, DropReason, PathCount, ReadFrom};
use crate::stacks::Stack;
use crate::units::QueueLimit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The backend of connections that were watched, beside `lab`, `sim` and `hosts`.
pub const SOCKETS: &str = "sockets";

/// What a record is about.
#[expect(clippy::large_enum_variant, reason = "there is one of a run")]
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Subject {
    /// A run of a plan: its cell says what the path was.
    #[default]
    Planned,
    /// Connections that nobody planned: the cell's path is empty because it is unknown.
    Observed(Observed),
}

impl Subject {
    /// What is known of observed connections; `None` where the run was planned.
    pub const fn observed(&self) -> Option<&Observed> {
        match self {
            Self::Planned => None,
            Self::Observed(observed) => Some(observed),
        }
    }
}

/// Connections that were there.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Observed {
    /// The process that owns the socket, where that is known.
    pub process: Option<Process>,
    /// The socket's own address and port; empty where no socket was looked at.
    pub local: String,
    /// The peer's.
    pub remote: String,
    /// Whether its application writes as fast as it can, as a test without a rate does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub writes_all: bool,
    /// What is known of the path.
    #[serde(default)]
    pub path: PathFacts,
    /// What `pipefill exec` emulates of the path; absent where it is not this connection's.
    #[serde(default, skip_serializing_if = "PathFacts::is_empty")]
    pub emulated: PathFacts,
    /// What this host allows sockets to buffer; absent where it was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_buffers: Option<BufferLimits>,
    /// The same of the peer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote_buffers: Option<BufferLimits>,
    /// What the socket had counted at its first sample, from which on the record's counters count; absent where no socket was sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<CountsBefore>,
    /// The TCP implementations of this host and of the peer, by their SYNs; absent where nothing tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_stack: Option<Stack>,
    /// See [`Self::local_stack`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote_stack: Option<Stack>,
    /// The CPU quota that this end's process has; absent where it has none, or none is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_quota: Option<CpuQuota>,
    /// The same of the peer's process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote_quota: Option<CpuQuota>,
    /// What this end's program has set of its socket; absent where nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_options: Option<OptionsSet>,
    /// The same of the peer's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote_options: Option<OptionsSet>,
    /// Version of QUIC in the long headers of its first datagrams (RFC 8999); absent where they show none. Of a qlog the version that was agreed on, empty
    /// where it does not show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quic: Option<String>,
    /// Whose output its samples were read from; absent where pipefill itself read the socket or the packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_from: Option<ReadFrom>,
}

impl Observed {
    /// What is known of its ends: this one, the peer.
    pub const fn ends(&self) -> [EndFacts<'_>; 2] {
        [
            EndFacts {
                buffers: self.local_buffers,
                stack: self.local_stack,
                quota: self.local_quota.as_ref(),
                options: self.local_options,
            },
            EndFacts {
                buffers: self.remote_buffers,
                stack: self.remote_stack,
                quota: self.remote_quota.as_ref(),
                options: self.remote_options,
            },
        ]
    }
}

/// What is known of one end of an observed connection beside its samples.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct EndFacts<'a> {
    /// What its host allows TCP sockets to buffer.
    pub buffers: Option<BufferLimits>,
    /// Its TCP implementation.
    pub stack: Option<Stack>,
    /// The CPU quota of its process.
    pub quota: Option<&'a CpuQuota>,
    /// What its program has set of its socket.
    pub options: Option<OptionsSet>,
}

/// What a program has set of its TCP socket.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct OptionsSet {
    /// Whether it has set `SO_SNDBUF`: the kernel no longer sizes that buffer (`SOCK_SNDBUF_LOCK`). Null before Linux 5.14.
    pub sndbuf_set: Option<bool>,
    /// The same of `SO_RCVBUF` (`SOCK_RCVBUF_LOCK`).
    pub rcvbuf_set: Option<bool>,
    /// `TCP_NODELAY`: whether Nagle's algorithm is off. Null where that is not known.
    pub nodelay: Option<bool>,
}

impl OptionsSet {
    /// Of a program that sets both buffers, or neither.
    pub const fn of_buffers(are_set: bool, nodelay: Option<bool>) -> Self {
        Self { sndbuf_set: Some(are_set), rcvbuf_set: Some(are_set), nodelay }
    }
}

/// What a socket counted from its connection's beginning to its first sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct CountsBefore {
    /// Payload that was acknowledged, bytes (`tcpi_bytes_acked`).
    pub acked_bytes: u64,
    /// Segments that were sent again (`tcpi_total_retrans`).
    pub retransmits: u32,
}

impl CountsBefore {
    /// What both sockets counted.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            acked_bytes: self.acked_bytes.saturating_add(other.acked_bytes),
            retransmits: self.retransmits.saturating_add(other.retransmits),
        }
    }
}

/// What a host allows TCP sockets to buffer, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct BufferLimits {
    /// `net.ipv4.tcp_rmem`: least, initial, maximum. Autotuning ends at the maximum.
    pub tcp_rmem: [u64; 3],
    /// `net.ipv4.tcp_wmem`, likewise.
    pub tcp_wmem: [u64; 3],
    /// `net.core.rmem_max`: the most that a program may ask of `SO_RCVBUF`.
    pub rmem_max: Option<u64>,
    /// `net.core.wmem_max`, of `SO_SNDBUF`.
    pub wmem_max: Option<u64>,
}

impl BufferLimits {
    /// Of sysctls by their names; `None` where `tcp_rmem` or `tcp_wmem` is not among them.
    pub fn of<'a>(sysctl: impl Fn(&str) -> Option<&'a str>) -> Option<Self> {
        let numbers =
            |name| sysctl(name).map(|text| text.split_whitespace().map_while(|word| word.parse().ok()));
        let triple = |name| numbers(name)?.collect::<Vec<u64>>().try_into().ok();
        let first_of = |name| numbers(name)?.next();
        Some(Self {
            tcp_rmem: triple("net.ipv4.tcp_rmem")?,
            tcp_wmem: triple("net.ipv4.tcp_wmem")?,
            rmem_max: first_of("net.core.rmem_max"),
            wmem_max: first_of("net.core.wmem_max"),
        })
    }
}

/// A process of this host.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Its name (`/proc/PID/comm`).
    pub name: String,
}

/// The CPU time that a cgroup may use in each period (`cpu.max`; `cpu.cfs_quota_us` of version 1).
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct CpuQuota {
    /// Directory of the cgroup.
    pub cgroup: String,
    /// The file in it that holds the quota: `cpu.max` or `cpu.cfs_quota_us`.
    pub file: String,
    /// CPU time of each period, all CPUs together.
    pub quota_us: u64,
    /// The period.
    pub period_us: u64,
}

impl CpuQuota {
    /// Name of version 2's file.
    pub const FILE: &'static str = "cpu.max";
    /// Name of version 1's file.
    pub const FILE_1: &'static str = "cpu.cfs_quota_us";

    /// Whether its file holds the period too, as version 2's does.
    pub fn has_period_beside_it(&self) -> bool {
        self.file == Self::FILE
    }
}

/// Where a fact of the path comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// A scenario asked for it, and the emulator made it so.
    Asked,
    /// It was read: the kernel measured it.
    Measured,
    /// It follows from what was measured.
    Inferred,
}

/// A value and where it comes from.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Fact<T> {
    /// The value, in the unit of the field's name.
    pub value: T,
    /// Its origin.
    pub origin: Origin,
}

impl<T> Fact<T> {
    /// What a scenario asked for.
    pub const fn asked(value: T) -> Self {
        Self { value, origin: Origin::Asked }
    }

    /// What the kernel measured.
    pub const fn measured(value: T) -> Self {
        Self { value, origin: Origin::Measured }
    }

    /// What follows from it.
    pub const fn inferred(value: T) -> Self {
        Self { value, origin: Origin::Inferred }
    }

    /// The same in another unit.
    pub fn map<U>(self, unit: impl FnOnce(T) -> U) -> Fact<U> {
        Fact { value: unit(self.value), origin: self.origin }
    }
}

/// What is known of a path that nobody planned.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct PathFacts {
    /// The round trip without load.
    pub base_rtt_us: Option<Fact<u64>>,
    /// Where data goes from the socket's host to its peer.
    pub forward: WayFacts,
    /// Where data comes from the peer.
    pub reverse: WayFacts,
}

impl PathFacts {
    /// What the emulated `path` was asked for: round trip, rate, the longest wait in its queue, and an inner link that drops silently. A trace or a
    /// change of the rate makes rate and queue unknown, one of the delay makes the round trip unknown: each value holds only for a part of the time.
    pub fn asked(path: &PathSpec) -> Self {
        let micros = |time: Duration| Fact::asked(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
        let way = |direction| {
            let bottleneck = path.way(direction).bottleneck.as_ref();
            let has_one_rate = path.way(direction).changes.iter().all(|change| change.rate.is_none());
            let is_steady = path.way(direction).rate_trace.is_none() && has_one_rate;
            let black_hole = path.black_hole_mtu(direction).map(Fact::asked);
            let without_rate = WayFacts { black_hole_mtu: black_hole, ..WayFacts::default() };
            bottleneck.map_or(without_rate, |bottleneck| WayFacts {
                rate_bps: is_steady.then(|| Fact::asked(bottleneck.rate.bps())),
                queue_us: is_steady.then(|| {
                    micros(
                        bottleneck.rate.time_to_send(bottleneck.queue_bytes(path.rtt(), path.full_frame())),
                    )
                }),
                queue_packets: match bottleneck.queue {
                    QueueLimit::Packets(packets) => Some(Fact::asked(packets)),
                    QueueLimit::Bytes(_) | QueueLimit::Bdp(_) => None,
                },
                has_aqm: path.way(direction).aqm.is_some(),
                ..without_rate
            })
        };
        let has_one_rtt = [&path.forward, &path.reverse]
            .into_iter()
            .all(|way| way.delay_trace.is_none() && way.changes.iter().all(|change| change.delay.is_none()));
        Self {
            base_rtt_us: Some(micros(path.rtt())).filter(|rtt| has_one_rtt && rtt.value > 0),
            forward: way(Direction::Forward),
            reverse: way(Direction::Reverse),
        }
    }

    /// The same from the other end.
    #[must_use]
    pub fn reversed(&self) -> Self {
        Self { forward: self.reverse, reverse: self.forward, ..self.clone() }
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// One direction.
    pub const fn way(&self, direction: Direction) -> &WayFacts {
        match direction {
            Direction::Forward => &self.forward,
            Direction::Reverse => &self.reverse,
        }
    }

    /// The same, to be changed.
    pub const fn way_mut(&mut self, direction: Direction) -> &mut WayFacts {
        match direction {
            Direction::Forward => &mut self.forward,
            Direction::Reverse => &mut self.reverse,
        }
    }
}

/// What is known of one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct WayFacts {
    /// The bottleneck's rate, bits per second of Ethernet frames; absent where no flow has tried it.
    pub rate_bps: Option<Fact<u64>>,
    /// Since when it has that rate, microseconds since the record began: more got through before. Absent where it always had it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_since_us: Option<u64>,
    /// The longest wait in its queue that was seen, microseconds.
    pub queue_us: Option<Fact<u64>>,
    /// Packets that its queue holds; absent where it is not bounded in packets, or nobody asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_packets: Option<Fact<u64>>,
    /// Whether a discipline manages its queue, as somebody asked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_aqm: bool,
    /// The largest IP packet, in bytes, of an inner link that drops larger ones and tells nobody (RFC 2923, 2.1); absent where there is none, or nobody
    /// asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub black_hole_mtu: Option<Fact<u16>>,
    /// A policer that drops packets; absent where losses show none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policer: Option<Fact<PolicerFacts>>,
    /// What an emulated path counted of all connections together; absent where it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<PathCounts>,
    /// What got through at the slowest although the queue stood, bits per second of payload: others share the bottleneck, or its rate changes.
    /// Absent where that is always nearly the same.
    #[serde(default)]
    pub shared_bps: Option<Fact<u64>>,
    /// Why packets were lost.
    pub loss: Option<Fact<LossKind>>,
    /// The round trip at which its queue overflows, microseconds; absent where losses are not a queue's, or came once.
    #[serde(default)]
    pub overflow_rtt_us: Option<Fact<u64>>,
}

impl WayFacts {
    /// Whether losses look like those of a queue that overflows.
    pub fn has_full_queue(&self) -> bool {
        self.loss.is_some_and(|loss| loss.value == LossKind::Queue)
    }
}

/// What a policer lets through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct PolicerFacts {
    /// In the long run at least this, bits per second of Ethernet frames …
    pub rate_bps: u64,
    /// … and at most this.
    pub most_bps: u64,
    /// Depth of its bucket, bytes of frames.
    pub burst_bytes: u64,
}

/// What one direction of an emulated path counted, in packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct PathCounts {
    /// Offered to the path.
    pub offered_packets: u64,
    /// Left the delay element after a packet that had reached it later (RFC 4737).
    pub reordered_packets: u64,
    /// Dropped by chance.
    pub dropped_random_loss_packets: u64,
    /// Dropped by the inner link's MTU; absent where there is no such link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped_exceeds_mtu_packets: Option<u64>,
    /// Dropped by the policer; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped_policed_packets: Option<u64>,
    /// Dropped by the delay element's limit.
    pub dropped_delay_limit_packets: u64,
    /// Dropped by the full queue.
    pub dropped_queue_full_packets: u64,
    /// Dropped by the queue's discipline though there was room; absent where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped_aqm_packets: Option<u64>,
    /// Dropped because they are larger than the token bucket.
    pub dropped_exceeds_burst_packets: u64,
}

impl PathCounts {
    /// Those of `direction` among `counters`; `None` where the path is not among them.
    pub fn of(counters: &[Counter], direction: Direction) -> Option<Self> {
        let count = |count| Counter::of_path(counters, direction, count);
        let dropped = |reason| count(PathCount::Dropped(reason));
        Some(Self {
            offered_packets: count(PathCount::Offered)?,
            reordered_packets: count(PathCount::Reordered)?,
            dropped_random_loss_packets: dropped(DropReason::RandomLoss)?,
            dropped_exceeds_mtu_packets: dropped(DropReason::ExceedsMtu),
            dropped_policed_packets: dropped(DropReason::Policed),
            dropped_delay_limit_packets: dropped(DropReason::DelayLimit)?,
            dropped_queue_full_packets: dropped(DropReason::QueueFull)?,
            dropped_aqm_packets: dropped(DropReason::Aqm),
            dropped_exceeds_burst_packets: dropped(DropReason::ExceedsBurst)?,
        })
    }

    /// Packets that were dropped for `reason`; `None` where nothing of the path does so.
    pub const fn dropped(&self, reason: DropReason) -> Option<u64> {
        match reason {
            DropReason::RandomLoss => Some(self.dropped_random_loss_packets),
            DropReason::ExceedsMtu => self.dropped_exceeds_mtu_packets,
            DropReason::Policed => self.dropped_policed_packets,
            DropReason::DelayLimit => Some(self.dropped_delay_limit_packets),
            DropReason::QueueFull => Some(self.dropped_queue_full_packets),
            DropReason::Aqm => self.dropped_aqm_packets,
            DropReason::ExceedsBurst => Some(self.dropped_exceeds_burst_packets),
        }
    }
}

/// What losses look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LossKind {
    /// They come when the round trip has risen, or always at the same window: a queue overflows.
    Queue,
    /// They come at any time.
    Chance,
    /// They come at a constant rate without any queue.
    Policer,
    /// Segments arrived in another order.
    Reordering,
    /// Data arrived and its ACKs did not.
    Acks,
}

impl From<LossKind> for Cause {
    /// What holds a congestion window that such losses cut.
    fn from(kind: LossKind) -> Self {
        match kind {
            LossKind::Queue => Self::QueueLoss,
            LossKind::Chance => Self::RandomLoss,
            LossKind::Policer => Self::Policer,
            LossKind::Reordering => Self::Reordering,
            LossKind::Acks => Self::AckPath,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    #[test]
    fn a_value_that_changes_during_the_run_is_unknown() {
        let asked = |more: &str| {
            let text = format!(
                "name = \"x\"\n[path]\nrtt = \"20ms\"\nrate = \"9mbit\"\nqueue = \"90p\"\n{more}\n[[flow]]\n"
            );
            let scenario = Scenario::parse(&text, "x.toml").unwrap_or_else(|e| panic!("{e}"));
            let facts = PathFacts::asked(&scenario.plan().runs()[0].cell.spec.path);
            let WayFacts { rate_bps, queue_us, queue_packets, .. } = facts.forward;
            [facts.base_rtt_us.is_some(), rate_bps.is_some(), queue_us.is_some(), queue_packets.is_some()]
        };
        let change = |keys: &str| format!("[[path.change]]\nat = \"2s\"\n{keys}");
        assert_eq!(asked(""), [true; 4]);
        assert_eq!(asked(&change("rate = \"90mbit\"")), [true, false, false, true]);
        assert_eq!(asked(&change("rtt = \"90ms\"")), [false, true, true, true]);
        assert_eq!(asked(&change("loss = \"100%\"\nfor = \"1s\"")), [true; 4], "an outage");
    }
}
