//! UDP: it sends what it was told to; what matters is where the rest went.
//!
//! Never: a congestion window.

use super::{Confidence, Diagnosis, Figures, Span};
use pipefill_core::cell::{CellSpec, Direction, FlowSpec, Protocol};
use pipefill_core::limit::LimitedBy;
use pipefill_core::record::{Manifest, UdpTotals};
use std::collections::BTreeMap;

/// Losses up to this share are not the story of a run.
const NEGLIGIBLE: f64 = 0.001;

/// The diagnosis of a run whose streams are all UDP.
pub(super) fn diagnose(manifest: &Manifest) -> Option<Diagnosis> {
    let totals: Vec<UdpTotals> = manifest.streams.iter().filter_map(|stream| stream.udp).collect();
    let sent: u64 = totals.iter().map(|one| one.sent).sum();
    if sent == 0 {
        return None;
    }
    let spec = &manifest.run.cell.spec;
    let received: u64 = totals.iter().map(|one| one.received).sum();
    let (limited_by, share) = culprit(manifest, &totals, sent.saturating_sub(received) as f64 / sent as f64);
    let span = |summary: &pipefill_core::record::StreamSummary| Span {
        stream: summary.stream,
        from_us: summary.start_us,
        to_us: summary.stop_us,
        limited_by,
        cwnd_cause: None,
    };
    Some(Diagnosis {
        limited_by,
        cwnd_cause: None,
        limited_fraction: BTreeMap::from([(limited_by, 1.0)]),
        timeline: manifest.streams.iter().map(span).collect(),
        figures: Figures {
            loss_share: Some(sent.saturating_sub(received) as f64 / sent as f64),
            ..Figures::default()
        },
        confidence: Some(Confidence::of(share, &[])),
        witnesses: Vec::new(),
        faults: super::testbed::faults(spec, direction(spec), super::facts::drops(manifest, direction(spec))),
    })
}

/// The place that dropped most, with its share of all drops; without losses the application, which offered no more.
fn culprit(manifest: &Manifest, totals: &[UdpTotals], lost: f64) -> (LimitedBy, f64) {
    if lost <= NEGLIGIBLE {
        return (LimitedBy::App, 1.0);
    }
    let drops = super::facts::drops(manifest, direction(&manifest.run.cell.spec));
    let socket: u64 = totals.iter().filter_map(|one| one.socket_drops).sum();
    let places = [
        (drops.queue, LimitedBy::Path),
        (drops.random, LimitedBy::Path),
        (drops.delay_limit + drops.exceeds_burst, LimitedBy::Testbed),
        (socket, LimitedBy::Receiver),
    ];
    let all: u64 = places.iter().map(|&(count, _)| count).sum();
    let most = places.into_iter().max_by_key(|&(count, _)| count);
    most.map_or((LimitedBy::Path, 0.0), |(count, place)| (place, count as f64 / all.max(1) as f64))
}

/// Which way the datagrams go.
fn direction(spec: &CellSpec) -> Direction {
    let is_forward = |flow: &FlowSpec| flow.protocol == Protocol::Udp && flow.direction == Direction::Forward;
    if spec.flows.iter().any(is_forward) { Direction::Forward } else { Direction::Reverse }
}
