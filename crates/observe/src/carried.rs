//! What a connection carried, by its samples.

use crate::tracker::Tracked;
use pipefill_core::record::TcpSample;
use pipefill_core::tcp_info::TcpInfo;
use std::borrow::Cow;

/// Bits per second of payload, both ways, in each of the last `count` intervals; fewer where the samples do not reach back.
pub(crate) fn curve(samples: &[TcpSample], every_us: u64, count: usize) -> Vec<u64> {
    let Some(last) = samples.last() else { return Vec::new() };
    let at = |t_us: u64| {
        let next = samples.partition_point(|sample| sample.t_us <= t_us);
        samples.get(next.checked_sub(1)?).map(carried)
    };
    let ends = (0..=count as u64).rev().map(|back| last.t_us.checked_sub(back * every_us).and_then(at));
    let counts: Vec<Option<u64>> = ends.collect();
    let rate = |pair: &[Option<u64>]| {
        let [from, to] = pair else { return None };
        Some((*to)?.saturating_sub((*from)?).saturating_mul(8_000_000) / every_us.max(1))
    };
    counts.windows(2).filter_map(rate).collect()
}

/// The samples in one piece.
pub(crate) fn contiguous(tracked: &Tracked) -> Cow<'_, [TcpSample]> {
    match tracked.samples.as_slices() {
        (samples, []) => Cow::Borrowed(samples),
        (older, newer) => Cow::Owned([older, newer].concat()),
    }
}

/// Payload up to a sample, both ways.
pub fn carried(sample: &TcpSample) -> u64 {
    let TcpInfo { bytes_acked, bytes_received, .. } = sample.info;
    bytes_acked.unwrap_or(0).saturating_add(bytes_received.unwrap_or(0))
}

/// Payload that a connection carried, both ways.
pub(crate) fn moved(tracked: &Tracked) -> u64 {
    let (Some(first), Some(last)) = (tracked.samples.front(), tracked.samples.back()) else { return 0 };
    carried(last).saturating_sub(carried(first))
}
