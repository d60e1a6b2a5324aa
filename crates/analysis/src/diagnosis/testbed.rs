//! The testbed's own faults, found in what was asked and in what was dropped, before TCP is blamed for them.
//!
//! Never: a fault of the path that was asked for, or a note without the figures that it follows from.

use super::way::Drops;
use crate::models::headers;
use crate::models::window::slow_start_time;
use crate::wording::{bytes, rate, span};
use pipefill_core::cell::{CellSpec, Direction, DirectionSpec, FlowSpec, Protocol};
use pipefill_core::limit::{CwndCause, LimitedBy};
use pipefill_core::units::{Bytes, QueueLimit};

/// A transfer shorter than this many times its slow start measures slow start.
const STARTUPS: u32 = 3;

/// Whether `limited_by` is only what follows from the testbed's `drops`: a loss-based window after them, however long ago,
/// and a rate that BBR measured through them. A pacing rate that was asked for does not.
pub(super) fn is_to_blame(
    drops: Drops,
    flow: &FlowSpec,
    limited_by: LimitedBy,
    cause: Option<CwndCause>,
) -> bool {
    let follows = match limited_by {
        LimitedBy::Cwnd => cause.is_some_and(|cause| cause.is_loss() || cause == CwndCause::Growth),
        LimitedBy::Pacing => flow.max_pacing_rate.is_none(),
        _ => false,
    };
    follows && drops.are_the_testbeds()
}

/// What is wrong with the testbed for the data of `flow`, a sentence each.
pub(super) fn faults(spec: &CellSpec, flow: &FlowSpec, drops: Drops) -> Vec<String> {
    let path = spec.path.way(flow.direction);
    let mut faults = Vec::new();
    faults.extend(delay_limit(spec, flow.direction));
    faults.extend(small_queue(path));
    faults.extend(dropped(drops.delay_limit.unwrap_or(0), "the delay element, which was full"));
    faults.extend(dropped(
        drops.exceeds_burst.unwrap_or(0),
        "the token bucket, which is smaller than they were",
    ));
    faults.extend(short(spec, path, flow));
    faults
}

/// The delay element holds a bandwidth-delay product of its own delay, or it drops (netem's `limit`).
fn delay_limit(spec: &CellSpec, direction: Direction) -> Option<String> {
    let path = spec.path.way(direction);
    let flows = spec.flows.iter().filter(|flow| flow.direction == direction);
    let offers = flows.map(|flow| flow.bitrate?.bps().checked_mul(u64::from(flow.parallel)));
    let offered: Option<u64> = offers.sum();
    let rate_bps = path.bottleneck.as_ref().map(|one| one.rate.bps()).into_iter().chain(offered).min()?;
    let mss = Bytes::new(headers::DEFAULT_MSS);
    let frame = headers::frame(Protocol::Tcp, mss).get();
    let needed_bytes = u128::from(rate_bps) * path.delay.as_nanos() / 8_000_000_000;
    let needed = needed_bytes / u128::from(frame);
    let (held, is_short) = match path.delay_limit? {
        QueueLimit::Packets(packets) => (format!("{packets} packets"), u128::from(packets) < needed),
        QueueLimit::Bytes(size) => (bytes(size.get()), u128::from(size.get()) < needed_bytes),
        // A plan has resolved it.
        QueueLimit::Bdp(_) => return None,
    };
    is_short.then(|| {
        format!(
            "the delay element holds {held}; {} over {} are {needed} packets",
            rate(rate_bps),
            span(path.delay)
        )
    })
}

/// What the bucket lets through at once arrives at once too.
fn small_queue(path: &DirectionSpec) -> Option<String> {
    let bottleneck = path.bottleneck.as_ref()?;
    let QueueLimit::Bytes(queue) = bottleneck.queue else { return None };
    let frame = headers::frame(Protocol::Tcp, Bytes::new(headers::DEFAULT_MSS)).get();
    (queue.get() < 2 * frame)
        .then(|| format!("the bottleneck's queue of {} holds no two full frames", bytes(queue.get())))
}

fn dropped(packets: u64, place: &str) -> Option<String> {
    (packets > 0).then(|| format!("{packets} packets were dropped by {place}"))
}

/// Slow start up to the BDP is a large part of the transfer.
fn short(spec: &CellSpec, path: &DirectionSpec, flow: &FlowSpec) -> Option<String> {
    let rtt = spec.path.rtt();
    let bdp = path.bottleneck.as_ref()?.rate.bdp(rtt);
    let startup = slow_start_time(bdp, Bytes::new(headers::DEFAULT_MSS), rtt)?;
    if startup.is_zero() {
        return None;
    }
    let is_short =
        flow.protocol == Protocol::Tcp && flow.bitrate.is_none() && flow.duration < startup * STARTUPS;
    is_short.then(|| {
        format!(
            "{} are short: slow start alone takes {} to fill this path",
            span(flow.duration),
            span(startup)
        )
    })
}
