//! What a round trip shows of the bottleneck's queue, where nobody sampled that queue.

use super::known_path::KnownPath;
use crate::ground::thresholds::Thresholds;
use pipefill_core::cell::Direction;
use pipefill_core::record::{PacketSample, WayFacts};
use std::time::Duration;

/// A smoothed round trip without the delay of its ACK. It follows that late: where it is most of what the round trip is above the least one, it is all of
/// that.
pub(crate) fn data_rtt_us(
    srtt_us: u64,
    (least_us, ack_delay_us): (Option<u64>, Option<u64>),
    thresholds: &Thresholds,
) -> u64 {
    let least_us = least_us.unwrap_or(0).min(srtt_us);
    let (above_us, delay_us) = (srtt_us - least_us, ack_delay_us.unwrap_or(0));
    let is_of_acks = delay_us > 0 && delay_us as f64 >= thresholds.ack_delay_most.value() * above_us as f64;
    if is_of_acks { least_us } else { srtt_us - delay_us.min(above_us) }
}

/// The same of a row.
pub(crate) fn data_rtt_of(row: &PacketSample, thresholds: &Thresholds) -> Option<u64> {
    let of_acks = (row.min_rtt_us.map(u64::from), row.ack_delay_us.map(u64::from));
    row.srtt_us.map(|us| data_rtt_us(us.into(), of_acks, thresholds))
}

/// The receiver's round trip without the delay of its ACK: no longer than the path's and what the data waited for on their way, where timestamps tell that.
pub(crate) fn receiver_rtt_of(row: &PacketSample, thresholds: &Thresholds) -> Option<u64> {
    let rtt_us = u64::from(row.receiver_rtt_us.map(u32::from).or(row.path_rtt_us)?);
    let of_data = row.path_rtt_us.zip(row.data_delay_us).map(|(path_us, delay_us)| {
        let least_us = u64::from(path_us) + u64::from(delay_us);
        rtt_us.clamp(least_us, least_us + thresholds.stamp_error_us.whole())
    });
    Some(of_data.unwrap_or(rtt_us))
}

/// By how much a round trip is above its base, microseconds, before a queue is the reason.
pub(crate) fn standing_us(base_us: u64, thresholds: &Thresholds) -> u64 {
    ((base_us as f64 * thresholds.queue_stands.value()) as u64).max(thresholds.queue_stands_us.whole())
}

/// The round trip from which on a queue stands, and not only a burst waits for its own beginning: up to a third of a window is sent at once
/// (`tcp_tso_should_defer()`), which on a path whose rate is used by three fifths adds a quarter. Where more of the rate is used, a shorter
/// round trip shows nothing.
pub(crate) fn beyond_bursts_us(base_us: u64, thresholds: &Thresholds) -> u64 {
    base_us + (base_us as f64 * thresholds.beyond_bursts.value()) as u64
}

/// What the bottleneck's queue in `direction` holds at a round trip of `rtt_us`, bytes; `None` where the rate is unknown.
pub(crate) fn bytes_of(
    path: &KnownPath,
    direction: Direction,
    rtt_us: u64,
    thresholds: &Thresholds,
) -> Option<u64> {
    let (base_us, rate) = (path.base_rtt_us()?, path.way(direction).rate?.value);
    let above_us = rtt_us.saturating_sub(base_us);
    let stands = above_us >= standing_us(base_us, thresholds);
    Some(if stands { rate.bdp(Duration::from_micros(above_us)).get() } else { 0 })
}

/// Whether a round trip of `rtt_us` is that of a queue which overflows, and longer than bursts alone make it; `false` where that is unknown.
pub(crate) fn is_full(path: &KnownPath, direction: Direction, rtt_us: u64, thresholds: &Thresholds) -> bool {
    path.base_rtt_us().is_some_and(|base_us| rtt_us >= beyond_bursts_us(base_us, thresholds))
        && path.way(direction).inferred.is_some_and(|way| may_overflow(&way, rtt_us, thresholds))
}

/// Whether a round trip of `rtt_us` may be that of a queue which overflows: what takes much longer and is not lost waits somewhere else, as
/// ACKs do on their way back.
pub(crate) fn may_overflow(way: &WayFacts, rtt_us: u64, thresholds: &Thresholds) -> bool {
    way.overflow_rtt_us
        .is_some_and(|overflow| (rtt_us as f64) < overflow.value as f64 * thresholds.overflow_reach.value())
}
