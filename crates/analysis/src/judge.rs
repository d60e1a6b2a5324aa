//! The judge: evidence in, verdict with its rule and its margin out.
//!
//! Intervals of at least a round trip become [`Evidence`](pipefill_core::evidence::Evidence), the first rule of [`RULES`] that holds names
//! who holds each, the `ledger` owns the time, and [`REVISIONS`] change what only the whole flow shows. `docs/guide/verdicts.md` lists
//! them. No rule asks who made the record.

mod both_captures;
mod buffer_causes;
mod conditions;
mod confidence;
mod cwnd_causes;
mod datagram_figures;
mod decision;
mod figures;
mod flow_ledger;
mod judging;
mod ledger;
mod length;
mod packets;
mod release;
mod revisions;
mod rule;
mod rule_names;
mod rules;
mod testbed;
mod trace;
mod witness;

pub use both_captures::{BothCaptures, JoinedEvidence, QueueWait};
pub use confidence::Confidence;
pub use datagram_figures::DatagramFigures;
pub use flow_ledger::FlowLedger;
pub(crate) use judging::udp_socket_limited_by;
pub use judging::{Diagnosing, datagrams_limited_by};
pub(crate) use ledger::{FinishedLedger, Holding};
pub use length::{COARSE_CLOCK, FlowLength, OTHER_DIRECTION, TOO_SHORT, ZERO_WINDOW};
pub use revisions::REVISIONS;
pub use rule::{Part, Parts, Revision, Rule, RuleId};
pub use rules::RULES;
pub use testbed::TestbedFault;
pub use witness::Witness;

use crate::ground::thresholds::Thresholds;
use pipefill_core::cell::{Direction, Protocol};
use pipefill_core::flow_event::FlowEvent;
use pipefill_core::limit::{Cause, CwndCause, LimitedBy};
use pipefill_core::record::{StreamEnd, Waits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// From this share of its rate on a path is full.
pub const FULL: f64 = Thresholds::standard().path_full.value();

/// What limited one flow in one run.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Diagnosis {
    /// Index of the flow in the cell.
    pub flow: u32,
    /// Its transport.
    pub protocol: Protocol,
    /// Which way its data goes.
    pub direction: Direction,
    /// The category with the largest share of the time.
    pub limited_by: LimitedBy,
    /// What refines it; `None` where the evidence does not support a cause, and in records judged before there were such.
    #[serde(default)]
    pub cause: Option<Cause>,
    /// Where that is the congestion window: why it was no larger.
    pub cwnd_cause: Option<CwndCause>,
    /// The rule or revision that gave the category most of its time; `None` in records judged before rules had names.
    #[serde(default)]
    pub rule: Option<RuleId>,
    /// The smallest relative move of one threshold that gives an interval another holder: the median over the category's time. `None` where
    /// no threshold decides.
    #[serde(default)]
    pub margin: Option<f64>,
    /// Category → share of the measured time, all streams of the flow; the shares add up to one.
    pub limited_fraction: BTreeMap<LimitedBy, f64>,
    /// The same over the active time: without what the other side had not asked for, and without pauses of an application that nobody asks;
    /// `None` where nothing is left, and in records judged before.
    #[serde(default)]
    pub active_limited_by: Option<LimitedBy>,
    /// What refines that.
    #[serde(default)]
    pub active_cause: Option<Cause>,
    /// That active time, of all streams, microseconds; `None` in records judged before.
    #[serde(default)]
    pub active_us: Option<u64>,
    /// The time of all streams by who held it, the longest first.
    #[serde(default)]
    pub time: Vec<HeldTime>,
    /// Every stream's spans in order of time; neighbours with the same cause are one.
    pub timeline: Vec<Span>,
    /// What the figures of the verdict come from, medians over the epochs of its cause.
    pub figures: Figures,
    /// How sure that is; `None` where the category is unknown, and in records judged before there was such a word.
    #[serde(default)]
    pub confidence: Option<Confidence>,
    /// Others who have an opinion on the cause.
    pub witnesses: Vec<Witness>,
    /// What is wrong with the testbed, a sentence each.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub faults: Vec<TestbedFault>,
    /// What happened to it.
    #[serde(default)]
    pub events: Vec<FlowEvent>,
}

/// Time that one holder had for one cause.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct HeldTime {
    /// The holder.
    pub limited_by: LimitedBy,
    /// What refines it; null where the evidence supports no cause.
    pub cause: Option<Cause>,
    /// Microseconds.
    pub us: u64,
    /// Of all time.
    pub share: f64,
}

/// A holder for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Span {
    /// Stream of the run.
    pub stream: u32,
    /// Since when, microseconds.
    pub from_us: u64,
    /// Until when.
    pub to_us: u64,
    /// The holder.
    pub limited_by: LimitedBy,
    /// What refines it.
    #[serde(default)]
    pub cause: Option<Cause>,
    /// Where it is the congestion window: why.
    pub cwnd_cause: Option<CwndCause>,
    /// The rule or revision that says so; `None` in records judged before rules had names.
    #[serde(default)]
    pub rule: Option<RuleId>,
}

/// The time before a token bucket was empty: any rate passes then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct UnlimitedStart {
    /// Depth of the bucket.
    pub bucket_bytes: u64,
    /// From the flow's start until these bytes had passed, or to its end.
    pub lasted_us: u64,
}

/// What the arithmetic of a verdict needs; medians over the epochs of its cause, sums over the flow's streams.
#[derive(Debug, Clone, Copy, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Figures {
    /// Peak of `snd_nxt − snd_una` in a round trip.
    pub flight_bytes: Option<u64>,
    /// Mean over the time in which the streams moved; of sockets without what SACKs told of (`tcp_packets_in_flight()`).
    pub flight_mean_bytes: Option<u64>,
    /// Share of the time in which a stream with data out heard of nothing delivered for longer than a round trip.
    pub stalled_share: Option<f64>,
    /// Mean over that time of the smoothed round trip, by which `flight_mean_bytes` gives the rate (Little's law).
    pub rtt_mean_us: Option<u64>,
    /// Payload acknowledged while this was the limit, bits per second.
    pub acked_bps: Option<u64>,
    /// Congestion window.
    pub cwnd_bytes: Option<u64>,
    /// Window that the receivers advertised.
    pub rwnd_bytes: Option<u64>,
    /// Memory of the send queues.
    pub wmem_queued_bytes: Option<u64>,
    /// Its limit.
    pub sndbuf_bytes: Option<u64>,
    /// Smoothed round trip.
    pub srtt_us: Option<u64>,
    /// Least round trip.
    pub min_rtt_us: Option<u64>,
    /// Pacing rate.
    pub pacing_rate_bps: Option<u64>,
    /// Payload of a full segment.
    pub mss_bytes: Option<u64>,
    /// Segments lost of those sent, in the measured time.
    pub loss_share: Option<f64>,
    /// Of those sent, lost by chance; where the queue dropped others. Theory of random losses knows these only.
    #[serde(default)]
    pub random_loss_share: Option<f64>,
    /// What the path's rate lets through as payload of this flow, were it alone.
    pub path_goodput_bps: Option<u64>,
    /// The path's rate in the measured time, of Ethernet frames: the mean where it changed.
    #[serde(default)]
    pub path_rate_bps: Option<u64>,
    /// What passed in the flow's direction, all flows together, over the path's rate, in the measured time; one at most.
    pub utilisation: Option<f64>,
    /// By which part of its peak what was in flight changed within an epoch: where that is much, Little's law does not hold.
    #[serde(default)]
    pub changing_share: Option<f64>,
    /// The path's fixed round trip, or the least one that was measured where it has none.
    #[serde(default)]
    pub base_rtt_us: Option<u64>,
    /// Segments whose ACK told of a CE mark, all streams; of packets the ACKs that did. `None` where there were none.
    #[serde(default)]
    pub ce_segments: Option<u64>,
    /// Before the bottleneck's bucket was empty, where that is a considerable part of the flow's time.
    #[serde(default)]
    pub unlimited: Option<UnlimitedStart>,
    /// cwnd before the idle times after which it was smaller, all streams.
    #[serde(default)]
    pub cwnd_before_idle_bytes: Option<u64>,
    /// Share of the segments sent again that had arrived already (DSACK).
    #[serde(default)]
    pub spurious_share: Option<f64>,
    /// Share of what went the other way, ACKs among it, that the path dropped.
    #[serde(default)]
    pub ack_loss_share: Option<f64>,
    /// Mean wait of ACKs in the queue of their way, in the epochs that the congestion window limited.
    #[serde(default)]
    pub ack_wait_us: Option<u64>,
    /// What the packets of both directions show that it waited for, all streams.
    #[serde(default)]
    pub waits: Option<Waits>,
    /// Share of the time in which the busiest thread of the flow computed, in the epochs that the CPU limited.
    #[serde(default)]
    pub cpu_share: Option<f64>,
    /// The same of waiting for a CPU.
    #[serde(default)]
    pub cpu_wait_share: Option<f64>,
    /// What the CPU quota that ran out did, in the time that it held. `None` where none did.
    #[serde(default)]
    pub quota: Option<QuotaFigures>,
    /// Of datagrams on an emulated path that has counted the flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<DatagramFigures>,
}

/// What a CPU quota did to the cgroup of one end's process.
#[derive(Debug, Clone, Copy, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct QuotaFigures {
    /// Whose it is.
    pub end: StreamEnd,
    /// Share of its periods in which it ran out.
    pub periods_share: f64,
    /// Time in which its cgroup was not allowed to run over wall time; each CPU's counts.
    pub held_share: f64,
    /// CPU time that its cgroup used over wall time; null where that is not known.
    pub used_share: Option<f64>,
}

impl Diagnosis {
    /// The share of the time that the category has.
    pub fn share(&self) -> f64 {
        self.limited_fraction.get(&self.limited_by).copied().unwrap_or(1.0)
    }

    /// The time that the category has, microseconds: over all streams.
    pub fn held_us(&self) -> u64 {
        self.time.iter().filter(|held| held.limited_by == self.limited_by).map(|held| held.us).sum()
    }
}

impl Figures {
    /// Whether the sender was seen, by its socket or by packets near it: a receiver shows nothing of what is in flight.
    pub fn are_of_the_sender(&self) -> bool {
        self.flight_bytes.is_some_and(|bytes| bytes > 0)
    }

    /// Whether they are of TCP: datagrams have no segments.
    pub fn are_of_tcp(&self) -> bool {
        self.mss_bytes.is_some()
    }
}
