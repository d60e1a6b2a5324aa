//! UDP: it sends what it was told to; what matters is where the rest went.

use super::way::Drops;
use super::{Confidence, Diagnosis, Figures, Span, testbed};
use crate::ground::interval::TimeInterval;
use pipefill_core::cell::{CellSpec, FlowSpec};
use pipefill_core::limit::LimitedBy;
use pipefill_core::record::{StreamSummary, UdpTotals};
use std::collections::BTreeMap;

/// Losses up to this share are not the story of a flow …
const NEGLIGIBLE: f64 = 0.001;
/// … but those of a queue that was full are: more rate would have brought them through.
const NEGLIGIBLE_IN_A_QUEUE: f64 = 0.0001;
/// Of what was asked for, so much at least was sent where nothing but the application limits it.
const OFFERED: f64 = 0.98;
/// Nobody counted where a datagram was lost: on the path, or in a receiver that is too slow. The path is the likelier place.
const LIKELY: f64 = 0.6;

/// The diagnosis of the UDP flow `index` with its `streams`, of whose direction the path dropped `drops`.
pub(super) fn diagnose(
    spec: &CellSpec,
    flow: (u32, &FlowSpec),
    streams: &[&StreamSummary],
    drops: Drops,
) -> Option<Diagnosis> {
    let counted = Counted::of(streams)?;
    let found = culprit(&counted.totals, drops, counted.missing(), counted.lost_share());
    let faults = testbed::faults(spec, flow.1, drops);
    Some(Diagnosis { faults, ..diagnosis(flow, streams, &counted, found) })
}

/// The same of a path that nobody planned, where only both applications counted.
pub(super) fn diagnose_observed(
    (index, flow): (u32, &FlowSpec),
    streams: &[&StreamSummary],
) -> Option<Diagnosis> {
    let counted = Counted::of(streams)?;
    let asked_bps = flow.bitrate.map(|rate| rate.bps().saturating_mul(u64::from(flow.parallel)));
    // Also what was still under way when the receiver stopped.
    let sent_bytes: u64 = streams.iter().map(|one| one.sent_bytes).sum();
    let sent_bps = counted.bps(sent_bytes);
    let limited_by = of_ends(asked_bps, sent_bps, counted.lost_share());
    let share = if limited_by == LimitedBy::App { 1.0 } else { LIKELY };
    Some(diagnosis((index, flow), streams, &counted, (limited_by, share)))
}

/// What limits datagrams of which only both ends' counts are known: what was asked for (`None`: as much as goes) and sent, bits per second, and
/// the share that did not arrive.
pub(crate) fn of_ends(asked_bps: Option<u64>, sent_bps: u64, lost_share: f64) -> LimitedBy {
    if lost_share > NEGLIGIBLE {
        return LimitedBy::Path;
    }
    let is_offered = asked_bps.is_some_and(|asked| carries_all(asked, sent_bps));
    if is_offered { LimitedBy::App } else { LimitedBy::Unknown }
}

/// Whether what was `carried` is all that an application had to offer, bits per second.
pub(super) fn carries_all(offered_bps: u64, carried_bps: u64) -> bool {
    carried_bps as f64 >= OFFERED * offered_bps as f64
}

/// What the ends of a flow counted.
struct Counted {
    totals: Vec<UdpTotals>,
    sent: u64,
    received: u64,
    length_us: u64,
}

impl Counted {
    /// `None` where nothing was sent.
    fn of(streams: &[&StreamSummary]) -> Option<Self> {
        let totals: Vec<UdpTotals> = streams.iter().filter_map(|stream| stream.udp).collect();
        let whole = streams.iter().map(|one| TimeInterval { from_us: one.start_us, to_us: one.stop_us });
        let counted = Self {
            sent: totals.iter().map(|one| one.sent).sum(),
            received: totals.iter().map(|one| one.received).sum(),
            length_us: whole.map(TimeInterval::length_us).max().unwrap_or(0).max(1),
            totals,
        };
        (counted.sent > 0).then_some(counted)
    }

    const fn missing(&self) -> u64 {
        self.sent.saturating_sub(self.received)
    }

    fn lost_share(&self) -> f64 {
        self.missing() as f64 / self.sent as f64
    }

    /// `bytes` of payload as bits per second.
    fn bps(&self, bytes: u64) -> u64 {
        u64::try_from(u128::from(bytes) * 8_000_000 / u128::from(self.length_us)).unwrap_or(u64::MAX)
    }
}

fn diagnosis(
    (index, flow): (u32, &FlowSpec),
    streams: &[&StreamSummary],
    counted: &Counted,
    (limited_by, share): (LimitedBy, f64),
) -> Diagnosis {
    let span = |summary: &&StreamSummary| Span {
        stream: summary.stream,
        from_us: summary.start_us,
        to_us: summary.stop_us,
        limited_by,
        cwnd_cause: None,
    };
    Diagnosis {
        flow: index,
        protocol: flow.protocol,
        direction: flow.direction,
        limited_by,
        cwnd_cause: None,
        limited_fraction: BTreeMap::from([(limited_by, 1.0)]),
        timeline: streams.iter().map(span).collect(),
        figures: Figures {
            loss_share: Some(counted.lost_share()),
            acked_bps: Some(counted.bps(counted.received.saturating_mul(flow.length.get()))),
            ..Figures::default()
        },
        confidence: Some(Confidence::of(share, &[])),
        witnesses: Vec::new(),
        faults: Vec::new(),
    }
}

/// The place that dropped most, with its share of all drops; without losses the application, which offered no more. Where what was counted
/// explains less than half of what is missing nobody knows.
fn culprit(totals: &[UdpTotals], drops: Drops, missing: u64, lost: f64) -> (LimitedBy, f64) {
    let is_of_a_queue = drops.queue.is_some_and(|count| count.saturating_mul(2) >= missing);
    if lost <= if is_of_a_queue { NEGLIGIBLE_IN_A_QUEUE } else { NEGLIGIBLE } {
        return (LimitedBy::App, 1.0);
    }
    let socket: Option<u64> = totals.iter().map(|one| one.socket_drops).sum();
    let places = [
        (drops.by_the_path(), LimitedBy::Path),
        (drops.by_the_path().map(|_| drops.by_the_testbed()), LimitedBy::Testbed),
        (socket, LimitedBy::Receiver),
    ];
    let known = || places.into_iter().filter_map(|(count, place)| Some((count?, place)));
    let all: u64 = known().map(|(count, _)| count).sum();
    match known().max_by_key(|&(count, _)| count) {
        Some((count, place)) if all > 0 && all.saturating_mul(2) >= missing => {
            (place, count as f64 / all as f64)
        }
        _ => (LimitedBy::Unknown, 0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drops(random: u64, queue: u64, delay_limit: u64) -> Drops {
        Drops {
            random: Some(random),
            queue: Some(queue),
            delay_limit: Some(delay_limit),
            exceeds_burst: Some(0),
            ..Drops::default()
        }
    }

    #[test]
    fn the_place_that_dropped_most_is_to_blame_and_without_drops_none() {
        let of = |socket, drops| {
            culprit(&[UdpTotals { socket_drops: socket, ..UdpTotals::default() }], drops, 10, 0.5).0
        };
        assert_eq!(of(Some(0), drops(3, 4, 5)), LimitedBy::Path);
        assert_eq!(of(Some(4), drops(0, 0, 0)), LimitedBy::Unknown, "the counters explain 4 of 10");
        assert_eq!(of(Some(0), drops(1, 0, 5)), LimitedBy::Testbed);
        assert_eq!(of(Some(9), drops(1, 0, 5)), LimitedBy::Receiver);
        assert_eq!(of(Some(0), drops(0, 0, 0)), LimitedBy::Unknown);
        assert_eq!(of(None, Drops::default()), LimitedBy::Unknown);
        assert_eq!(culprit(&[], drops(9, 9, 9), 0, 0.0).0, LimitedBy::App);
        assert_eq!(culprit(&[], drops(0, 9, 0), 9, 0.0009).0, LimitedBy::Path, "a queue was full");
        assert_eq!(culprit(&[], drops(9, 0, 0), 9, 0.0009).0, LimitedBy::App, "a few by chance");
    }

    #[test]
    fn where_only_the_ends_counted_losses_are_the_paths_and_a_slow_sender_is_not_the_application() {
        assert_eq!(of_ends(Some(100), 100, 0.1), LimitedBy::Path);
        assert_eq!(of_ends(Some(100), 99, 0.0009), LimitedBy::App);
        assert_eq!(of_ends(Some(100), 90, 0.0), LimitedBy::Unknown);
        assert_eq!(of_ends(None, 90, 0.0), LimitedBy::Unknown);
    }
}
