//! UDP: it sends what it was told to; what matters is where the rest went.

use super::way::Drops;
use super::{Confidence, Diagnosis, Figures, Span, testbed};
use crate::metrics::window::Window;
use pipefill_core::cell::{CellSpec, FlowSpec};
use pipefill_core::limit::LimitedBy;
use pipefill_core::record::{StreamSummary, UdpTotals};
use std::collections::BTreeMap;

/// Losses up to this share are not the story of a flow …
const NEGLIGIBLE: f64 = 0.001;
/// … but those of a queue that was full are: more rate would have brought them through.
const NEGLIGIBLE_IN_A_QUEUE: f64 = 0.0001;

/// The diagnosis of the UDP flow `index` with its `streams`, of whose direction the path dropped `drops`.
pub(super) fn diagnose(
    spec: &CellSpec,
    (index, flow): (u32, &FlowSpec),
    streams: &[&StreamSummary],
    drops: Drops,
) -> Option<Diagnosis> {
    let totals: Vec<UdpTotals> = streams.iter().filter_map(|stream| stream.udp).collect();
    let sent: u64 = totals.iter().map(|one| one.sent).sum();
    if sent == 0 {
        return None;
    }
    let received: u64 = totals.iter().map(|one| one.received).sum();
    let lost = sent.saturating_sub(received) as f64 / sent as f64;
    let (limited_by, share) = culprit(&totals, drops, sent.saturating_sub(received), lost);
    let span = |summary: &&StreamSummary| Span {
        stream: summary.stream,
        from_us: summary.start_us,
        to_us: summary.stop_us,
        limited_by,
        cwnd_cause: None,
    };
    let whole = streams.iter().map(|one| Window { from_us: one.start_us, to_us: one.stop_us });
    let length_us = whole.map(Window::length_us).max().unwrap_or(0).max(1);
    Some(Diagnosis {
        flow: index,
        protocol: flow.protocol,
        direction: flow.direction,
        limited_by,
        cwnd_cause: None,
        limited_fraction: BTreeMap::from([(limited_by, 1.0)]),
        timeline: streams.iter().map(span).collect(),
        figures: Figures {
            loss_share: Some(lost),
            acked_bps: u64::try_from(
                u128::from(received) * u128::from(flow.length.get()) * 8_000_000 / u128::from(length_us),
            )
            .ok(),
            ..Figures::default()
        },
        confidence: Some(Confidence::of(share, &[])),
        witnesses: Vec::new(),
        faults: testbed::faults(spec, flow, drops),
    })
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
}
