//! The testbed's own faults, found in what was asked and in what was dropped, before TCP is blamed for them.
//!
//! Never: a fault of the path that was asked for, or a note without the figures that it follows from.

use crate::ground::models::headers::Headers;
use crate::ground::models::window::slow_start_time;
use crate::ground::thresholds::Thresholds;
use crate::ground::wording::{bytes, rate, span};
use crate::infer::way::Drops;
use pipefill_core::cell::{CellSpec, Direction, DirectionSpec, FlowSpec, Protocol};
use pipefill_core::units::{Bytes, QueueLimit};

/// What is wrong with the testbed for the data of `flow`, a sentence each.
pub(super) fn faults(spec: &CellSpec, flow: &FlowSpec, drops: Drops, thresholds: &Thresholds) -> Vec<String> {
    let path = spec.path.way(flow.direction);
    let mut faults = Vec::new();
    faults.extend(delay_limit(spec, flow.direction));
    faults.extend(small_queue(path, spec.path.full_frame()));
    faults.extend(dropped(drops.delay_limit.unwrap_or(0), "the delay element, which was full"));
    faults.extend(dropped(
        drops.exceeds_burst.unwrap_or(0),
        "the token bucket, which is smaller than they were",
    ));
    faults.extend(short(spec, path, flow, thresholds));
    faults
}

/// The delay element holds a bandwidth-delay product of its own delay, or it drops (netem's `limit`).
fn delay_limit(spec: &CellSpec, direction: Direction) -> Option<String> {
    let path = spec.path.way(direction);
    let flows = spec.flows.iter().filter(|flow| flow.direction == direction);
    let offers = flows.map(|flow| flow.bitrate?.bps().checked_mul(u64::from(flow.parallel)));
    let offered: Option<u64> = offers.sum();
    let rate_bps = path.bottleneck.as_ref().map(|one| one.rate.bps()).into_iter().chain(offered).min()?;
    let frame = spec.path.full_frame().get();
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
fn small_queue(path: &DirectionSpec, frame: Bytes) -> Option<String> {
    let bottleneck = path.bottleneck.as_ref()?;
    let QueueLimit::Bytes(queue) = bottleneck.queue else { return None };
    (queue.get() < 2 * frame.get())
        .then(|| format!("the bottleneck's queue of {} holds no two full frames", bytes(queue.get())))
}

fn dropped(packets: u64, place: &str) -> Option<String> {
    (packets > 0).then(|| format!("{packets} packets were dropped by {place}"))
}

/// Slow start up to the BDP is a large part of the transfer.
fn short(spec: &CellSpec, path: &DirectionSpec, flow: &FlowSpec, thresholds: &Thresholds) -> Option<String> {
    let rtt = spec.path.rtt();
    let bdp = path.bottleneck.as_ref()?.rate.bdp(rtt);
    let startup = slow_start_time(bdp, Bytes::new(Headers::of(&spec.path).mss()), rtt)?;
    if startup.is_zero() {
        return None;
    }
    let is_short = flow.protocol == Protocol::Tcp
        && flow.bitrate.is_none()
        && flow.duration < startup.mul_f64(thresholds.startups.value());
    is_short.then(|| {
        format!(
            "{} are short: slow start alone takes {} to fill this path",
            span(flow.duration),
            span(startup)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::thresholds::STANDARD;
    use crate::infer::synthetic::manifest;

    fn found(text: &str, drops: Drops) -> Vec<String> {
        let spec = manifest(text).run.cell.spec;
        faults(&spec, &spec.flows[0], drops, &STANDARD)
    }

    #[test]
    fn a_short_delay_element_is_found_in_the_datas_direction() {
        let text = |prefix: &str, flow: &str| {
            format!(
                "[path]\nrate = \"200mbit\"\nreverse_rate = \"200mbit\"\nrtt = \"100ms\"\n{prefix}delay_limit = \"100p\"\n[[flow]]\n{flow}"
            )
        };
        let told = |prefix, flow| found(&text(prefix, flow), Drops::default()).len();
        assert_eq!([told("", ""), told("reverse_", "direction = \"reverse\"\n")], [1, 1]);
        assert_eq!([told("reverse_", ""), told("", "direction = \"reverse\"\n")], [0, 0]);
    }

    #[test]
    fn drops_are_told_with_their_place_and_a_short_transfer_with_its_slow_start() {
        let drops = Drops { delay_limit: Some(7), exceeds_burst: Some(0), ..Drops::default() };
        let told = found("[path]\nrate = \"1gbit\"\nrtt = \"100ms\"\n[[flow]]\nduration = \"1s\"\n", drops);
        assert!(told[0].starts_with("7 packets were dropped by the delay element"), "{told:?}");
        assert!(told[1].starts_with("1.00 s are short: slow start alone takes"), "{told:?}");
        let small = "[path]\nrate = \"1mbit\"\nrtt = \"1ms\"\n[[flow]]\nduration = \"20ms\"\n";
        assert!(found(small, Drops::default()).is_empty(), "ten segments are more than its BDP");
    }
}
