//! What a host's queues and counters add to a connection's verdict: whether they support it, contradict it, or show something else.

use super::finding::ConnectionFinding;
use crate::ground::thresholds::Thresholds;
use pipefill_core::cell::{Direction, Protocol};
use pipefill_core::limit::{Cause, LimitedBy};
use pipefill_core::record::{CounterReading, HostContext, HostCounter, QdiscReading};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How something that the host counts stands to a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bearing {
    /// It speaks against it.
    Contradicts,
    /// It is what one would find if the verdict is right.
    Supports,
    /// It is neither for nor against it.
    Adds,
}

/// Something that the host counts, beside one connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextRemark {
    /// How it stands to the connection's verdict.
    pub bearing: Bearing,
    /// What it is.
    pub fact: ContextFact,
}

/// What the host counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContextFact {
    /// A discipline dropped packets.
    Dropped(QdiscReading),
    /// No discipline of these dropped any, although the connection sent segments again.
    NoneDropped(Vec<QdiscReading>),
    /// A discipline marked packets.
    Marked(QdiscReading),
    /// Packets waited in it.
    Waited(QdiscReading),
    /// A discipline shapes to the rate at which all connections together send: payload over this rate, in per mille.
    ShapesToRate(QdiscReading, u64),
    /// A discipline shapes to less than the connections send: they do not pass it.
    ShapesToLess(QdiscReading),
    /// A counter of the whole host.
    Counted(CounterReading),
}

impl ContextRemark {
    /// Of the connection `finding`, the contradictions first; `sent_bps` is the payload that all connections of the output send from this host.
    pub fn of(
        context: &HostContext,
        finding: &ConnectionFinding,
        sent_bps: u64,
        t: &Thresholds,
    ) -> Vec<Self> {
        let mut remarks: Vec<Self> =
            context.qdiscs.iter().flat_map(|qdisc| of_qdisc(qdisc, finding, sent_bps, t)).collect();
        remarks.extend(none_dropped(&context.qdiscs, finding));
        let counted = context.counters.iter().filter(|counter| counter.value > 0);
        remarks.extend(counted.map(|counter| Self {
            bearing: of_counter(counter.counts, finding),
            fact: ContextFact::Counted(counter.clone()),
        }));
        remarks.sort_by_key(|remark| remark.bearing);
        remarks
    }
}

/// A discipline sees what leaves this host: of a connection that receives, its ACKs.
fn leaves(finding: &ConnectionFinding) -> bool {
    finding.direction != Some(Direction::Reverse)
}

fn of_qdisc(
    qdisc: &QdiscReading,
    finding: &ConnectionFinding,
    sent_bps: u64,
    t: &Thresholds,
) -> Vec<ContextRemark> {
    let limit = (finding.verdict.limited_by, finding.verdict.cause);
    let is_path = matches!(limit, (Some(LimitedBy::Path), _));
    let used = qdisc.rate_bps.filter(|&bps| bps > 0).map(|bps| sent_bps as f64 / bps as f64);
    let passes = leaves(finding) && used.is_none_or(|used| used <= 1.0);
    let when = |is_so: bool, bearing: Bearing| if is_so && passes { bearing } else { Bearing::Adds };
    let mut remarks = Vec::new();
    let mut say = |bearing: Bearing, fact: ContextFact| remarks.push(ContextRemark { bearing, fact });
    if let Some(dropped) = qdisc.dropped_packets.filter(|&dropped| dropped > 0) {
        let is_queue = matches!(limit, (Some(LimitedBy::Cwnd), Some(Cause::QueueLoss | Cause::Policer)));
        let explains_losses = finding.retransmits.is_some_and(|resent| resent > 0 && dropped >= resent);
        let is_chance = matches!(limit, (Some(LimitedBy::Cwnd), Some(Cause::RandomLoss)));
        let bearing = if is_chance && explains_losses {
            when(true, Bearing::Contradicts)
        } else {
            when(is_path || is_queue, Bearing::Supports)
        };
        say(bearing, ContextFact::Dropped(qdisc.clone()));
    }
    if qdisc.marked_packets.is_some_and(|marked| marked > 0) {
        let is_marked = matches!(limit, (Some(LimitedBy::Cwnd), Some(Cause::Ecn)));
        say(when(is_path || is_marked, Bearing::Supports), ContextFact::Marked(qdisc.clone()));
    }
    if qdisc.backlog_packets.is_some_and(|packets| packets > 0) {
        say(when(is_path, Bearing::Supports), ContextFact::Waited(qdisc.clone()));
    }
    let Some(used) = used.filter(|_| leaves(finding)) else { return remarks };
    if !passes {
        say(Bearing::Adds, ContextFact::ShapesToLess(qdisc.clone()));
    } else if used >= t.path_full.value() {
        let bearing = match limit.0 {
            Some(LimitedBy::Path) => Bearing::Supports,
            Some(
                LimitedBy::App
                | LimitedBy::Rwnd
                | LimitedBy::Sndbuf
                | LimitedBy::Receiver
                | LimitedBy::Pacing,
            ) => Bearing::Contradicts,
            _ => Bearing::Adds,
        };
        say(bearing, ContextFact::ShapesToRate(qdisc.clone(), (used * 1e3).round() as u64));
    }
    remarks
}

/// Losses that no queue of this host made are the path's further along.
fn none_dropped(qdiscs: &[QdiscReading], finding: &ConnectionFinding) -> Option<ContextRemark> {
    let counting: Vec<QdiscReading> =
        qdiscs.iter().filter(|qdisc| qdisc.dropped_packets.is_some()).cloned().collect();
    let drops = |qdisc: &QdiscReading| qdisc.dropped_packets != Some(0);
    let has_losses = finding.retransmits.is_some_and(|resent| resent > 0) && leaves(finding);
    if counting.is_empty() || counting.iter().any(drops) || !has_losses {
        return None;
    }
    let is_chance = finding.verdict.cause == Some(Cause::RandomLoss);
    let bearing = if is_chance { Bearing::Supports } else { Bearing::Adds };
    Some(ContextRemark { bearing, fact: ContextFact::NoneDropped(counting) })
}

/// A counter is of all connections of the host: by itself it contradicts only what it excludes.
fn of_counter(counts: HostCounter, finding: &ConnectionFinding) -> Bearing {
    let limit = (finding.verdict.limited_by, finding.verdict.cause);
    let receives = finding.direction == Some(Direction::Reverse);
    let is_datagrams = finding.protocol == Protocol::Udp;
    match (counts, limit) {
        (HostCounter::Timeouts, (Some(LimitedBy::Cwnd), Some(Cause::Timeout)))
        | (HostCounter::Timeouts, (Some(LimitedBy::Path), Some(Cause::Silence | Cause::Mtu)))
        | (
            HostCounter::Reordering | HostCounter::SpuriousRetransmits,
            (Some(LimitedBy::Cwnd), Some(Cause::Reordering)),
        )
        | (HostCounter::HystartExits, (Some(LimitedBy::Cwnd), Some(Cause::HystartExit)))
        | (HostCounter::CeMarks, (Some(LimitedBy::Cwnd), Some(Cause::Ecn))) => Bearing::Supports,
        (HostCounter::ZeroWindowsSent | HostCounter::ReceiveBufferFull, (Some(LimitedBy::Receiver), _))
            if receives =>
        {
            Bearing::Supports
        }
        (HostCounter::ZeroWindowsReceived, (Some(LimitedBy::Receiver), _)) if !receives => Bearing::Supports,
        // A buffer may not grow where there is no memory for it.
        (HostCounter::MemoryPressure, (Some(LimitedBy::Rwnd | LimitedBy::Sndbuf), _)) => Bearing::Contradicts,
        (HostCounter::UdpReceiveBufferFull, (Some(LimitedBy::Path), _)) if is_datagrams => {
            Bearing::Contradicts
        }
        _ => Bearing::Adds,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::verdict::Verdict;
    use crate::ground::thresholds::STANDARD;

    fn limited(limited_by: LimitedBy, cause: Option<Cause>, direction: Direction) -> ConnectionFinding {
        ConnectionFinding {
            direction: Some(direction),
            retransmits: Some(20),
            verdict: Verdict { limited_by: Some(limited_by), cause, ..Verdict::default() },
            ..ConnectionFinding::default()
        }
    }

    fn qdisc(dropped: u64) -> QdiscReading {
        QdiscReading {
            kind: "tbf".to_owned(),
            rate_bps: Some(10_000_000),
            dropped_packets: Some(dropped),
            ..QdiscReading::default()
        }
    }

    fn bearings(context: &HostContext, finding: &ConnectionFinding, sent_bps: u64) -> Vec<Bearing> {
        ContextRemark::of(context, finding, sent_bps, &STANDARD).iter().map(|remark| remark.bearing).collect()
    }

    fn counted(counts: HostCounter, value: u64) -> HostContext {
        let counter = CounterReading { source: String::new(), name: String::new(), counts, value };
        HostContext { counters: vec![counter], ..HostContext::default() }
    }

    #[test]
    fn drops_of_this_host_are_no_random_losses() {
        let forward = Direction::Forward;
        let random = limited(LimitedBy::Cwnd, Some(Cause::RandomLoss), forward);
        let context = |dropped| HostContext { qdiscs: vec![qdisc(dropped)], ..HostContext::default() };
        assert_eq!(bearings(&context(20), &random, 0), [Bearing::Contradicts]);
        assert_eq!(bearings(&context(19), &random, 0), [Bearing::Adds], "they explain a part");
        assert_eq!(bearings(&context(0), &random, 0), [Bearing::Supports], "lost further along");
        let queue = limited(LimitedBy::Cwnd, Some(Cause::QueueLoss), forward);
        assert_eq!(bearings(&context(1), &queue, 0), [Bearing::Supports]);
        let receives = limited(LimitedBy::Path, Some(Cause::Full), Direction::Reverse);
        assert_eq!(bearings(&context(1), &receives, 0), [Bearing::Adds], "only its ACKs pass here");
    }

    #[test]
    fn a_shaper_at_its_rate_is_the_path() {
        let context = HostContext { qdiscs: vec![qdisc(0)], ..HostContext::default() };
        let at = |limited_by, sent_bps| {
            let finding =
                ConnectionFinding { retransmits: None, ..limited(limited_by, None, Direction::Forward) };
            bearings(&context, &finding, sent_bps)
        };
        assert_eq!(at(LimitedBy::Path, 9_500_000), [Bearing::Supports]);
        assert_eq!(at(LimitedBy::Rwnd, 9_500_000), [Bearing::Contradicts]);
        assert_eq!(at(LimitedBy::Cwnd, 9_500_000), [Bearing::Adds]);
        assert_eq!(at(LimitedBy::Path, 9_400_000), []);
        assert_eq!(at(LimitedBy::Rwnd, 10_100_000), [Bearing::Adds], "it is not on the way");
    }

    #[test]
    fn counters_of_the_host_support_their_own_cause() {
        let cases = [
            (
                HostCounter::Timeouts,
                LimitedBy::Cwnd,
                Some(Cause::Timeout),
                Direction::Forward,
                Bearing::Supports,
            ),
            (HostCounter::Timeouts, LimitedBy::Rwnd, None, Direction::Forward, Bearing::Adds),
            (HostCounter::CeMarks, LimitedBy::Cwnd, Some(Cause::Ecn), Direction::Forward, Bearing::Supports),
            (HostCounter::ZeroWindowsSent, LimitedBy::Receiver, None, Direction::Reverse, Bearing::Supports),
            (HostCounter::ZeroWindowsSent, LimitedBy::Receiver, None, Direction::Forward, Bearing::Adds),
            (
                HostCounter::ZeroWindowsReceived,
                LimitedBy::Receiver,
                None,
                Direction::Forward,
                Bearing::Supports,
            ),
            (HostCounter::MemoryPressure, LimitedBy::Sndbuf, None, Direction::Forward, Bearing::Contradicts),
            (HostCounter::AcceptQueueFull, LimitedBy::App, None, Direction::Forward, Bearing::Adds),
        ];
        for (counter, limited_by, cause, direction, wanted) in cases {
            let finding = limited(limited_by, cause, direction);
            assert_eq!(bearings(&counted(counter, 1), &finding, 0), [wanted], "{counter:?} {limited_by:?}");
        }
        assert_eq!(
            bearings(
                &counted(HostCounter::Timeouts, 0),
                &limited(LimitedBy::App, None, Direction::Forward),
                0
            ),
            []
        );
    }
}
