//! The testbed's own faults, found in what was asked and in what was dropped, before TCP is blamed for them.
//!
//! Never: a fault of the path that was asked for, or a note without the figures that it follows from.

use crate::ground::interval::micros;
use crate::ground::models::headers::Headers;
use crate::ground::models::window::slow_start_time;
use crate::ground::thresholds::Thresholds;
use crate::infer::KnownRun;
use crate::infer::drops::Drops;
use pipefill_core::cell::{CellSpec, Direction, DirectionSpec, FlowSpec, Protocol};
use pipefill_core::units::{Bytes, QueueLimit};
use serde::{Deserialize, Serialize};

/// What is wrong with the testbed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestbedFault {
    /// The delay element holds less than a bandwidth-delay product of its own delay (netem's `limit`).
    SmallDelayElement {
        /// What it holds.
        holds: QueueLimit,
        /// What goes through it at most.
        rate_bps: u64,
        /// How long it holds a packet.
        delay_us: u64,
        /// What it would have to hold.
        needed_packets: u64,
    },
    /// The bottleneck's queue, in bytes, holds no two full frames: what the bucket lets through at once arrives at once too.
    SmallQueue(u64),
    /// Packets were dropped by the delay element, which was full.
    DroppedByDelay(u64),
    /// Packets were dropped by the token bucket, which is smaller than they were.
    DroppedByBucket(u64),
    /// Slow start up to the BDP is a large part of the transfer.
    ShortTransfer {
        /// How long it takes.
        duration_us: u64,
        /// How long slow start alone takes.
        startup_us: u64,
    },
    /// In a sentence: as `report` has it, and as earlier versions recorded it.
    #[serde(untagged)]
    Sentence(String),
}

/// What is wrong with the testbed for the data of `flow`; nothing where no scenario built one.
pub(super) fn faults(
    run: &KnownRun<'_>,
    flow: &FlowSpec,
    drops: Drops,
    thresholds: &Thresholds,
) -> Vec<TestbedFault> {
    let Some(spec) = run.plan else { return Vec::new() };
    let path = spec.path.way(flow.direction);
    let some = |packets: Option<u64>| packets.filter(|&packets| packets > 0);
    let faults = [
        small_delay_element(spec, flow.direction),
        small_queue(path, spec.path.full_frame()),
        some(drops.delay_limit).map(TestbedFault::DroppedByDelay),
        some(drops.exceeds_burst).map(TestbedFault::DroppedByBucket),
        short_transfer(spec, path, flow, thresholds),
    ];
    faults.into_iter().flatten().collect()
}

fn small_delay_element(spec: &CellSpec, direction: Direction) -> Option<TestbedFault> {
    let path = spec.path.way(direction);
    let flows = spec.flows.iter().filter(|flow| flow.direction == direction);
    let offers = flows.map(|flow| flow.bitrate?.bps().checked_mul(u64::from(flow.parallel)));
    let offered: Option<u64> = offers.sum();
    let rate_bps =
        path.bottleneck.as_ref().map(|bottleneck| bottleneck.rate.bps()).into_iter().chain(offered).min()?;
    let needed_bytes = u128::from(rate_bps) * path.delay.as_nanos() / 8_000_000_000;
    let needed_packets = needed_bytes / u128::from(spec.path.full_frame().get());
    let holds = path.delay_limit?;
    let is_small = match holds {
        QueueLimit::Packets(packets) => u128::from(packets) < needed_packets,
        QueueLimit::Bytes(size) => u128::from(size.get()) < needed_bytes,
        // A plan has resolved it.
        QueueLimit::Bdp(_) => false,
    };
    is_small.then(|| TestbedFault::SmallDelayElement {
        holds,
        rate_bps,
        delay_us: micros(path.delay),
        needed_packets: u64::try_from(needed_packets).unwrap_or(u64::MAX),
    })
}

fn small_queue(path: &DirectionSpec, frame: Bytes) -> Option<TestbedFault> {
    let QueueLimit::Bytes(queue) = path.bottleneck.as_ref()?.queue else { return None };
    (queue.get() < 2 * frame.get()).then(|| TestbedFault::SmallQueue(queue.get()))
}

fn short_transfer(
    spec: &CellSpec,
    path: &DirectionSpec,
    flow: &FlowSpec,
    thresholds: &Thresholds,
) -> Option<TestbedFault> {
    let rtt = spec.path.rtt();
    let bdp = path.bottleneck.as_ref()?.rate.bdp(rtt);
    let startup = slow_start_time(bdp, Bytes::new(Headers::of(&spec.path).mss()), rtt)?;
    let is_short = flow.protocol == Protocol::Tcp
        && flow.bitrate.is_none()
        && flow.duration < startup.mul_f64(thresholds.startups.value());
    (is_short && !startup.is_zero()).then(|| TestbedFault::ShortTransfer {
        duration_us: micros(flow.duration),
        startup_us: micros(startup),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::thresholds::STANDARD;
    use crate::infer::synthetic::manifest;

    fn faults_of(text: &str, drops: Drops) -> Vec<TestbedFault> {
        let manifest = manifest(text);
        faults(&KnownRun::of(&manifest), &manifest.run.cell.spec.flows[0], drops, &STANDARD)
    }

    #[test]
    fn a_short_delay_element_is_found_in_the_datas_direction() {
        let text = |prefix: &str, flow: &str| {
            format!(
                "[path]\nrate = \"200mbit\"\nreverse_rate = \"200mbit\"\nrtt = \"100ms\"\n{prefix}delay_limit = \"100p\"\n[[flow]]\n{flow}"
            )
        };
        let told = |prefix, flow| faults_of(&text(prefix, flow), Drops::default()).len();
        assert_eq!([told("", ""), told("reverse_", "direction = \"reverse\"\n")], [1, 1]);
        assert_eq!([told("reverse_", ""), told("", "direction = \"reverse\"\n")], [0, 0]);
    }

    #[test]
    fn drops_are_told_with_their_place_and_a_short_transfer_with_its_slow_start() {
        let drops = Drops { delay_limit: Some(7), exceeds_burst: Some(0), ..Drops::default() };
        let told =
            faults_of("[path]\nrate = \"1gbit\"\nrtt = \"100ms\"\n[[flow]]\nduration = \"1s\"\n", drops);
        assert_eq!(told[0], TestbedFault::DroppedByDelay(7));
        let is_short = matches!(told[1], TestbedFault::ShortTransfer { duration_us: 1_000_000, .. });
        assert!(is_short, "{told:?}");
        let small = "[path]\nrate = \"1mbit\"\nrtt = \"1ms\"\n[[flow]]\nduration = \"20ms\"\n";
        assert!(faults_of(small, Drops::default()).is_empty(), "ten segments are more than its BDP");
    }

    #[test]
    fn a_fault_is_read_as_it_was_written_and_as_earlier_versions_wrote_it() {
        let fault = TestbedFault::SmallDelayElement {
            holds: QueueLimit::Packets(100),
            rate_bps: 1,
            delay_us: 2,
            needed_packets: 3,
        };
        let text = serde_json::to_string(&[fault.clone(), TestbedFault::SmallQueue(9)]).unwrap();
        let read: Vec<TestbedFault> = serde_json::from_str(&text).unwrap();
        assert_eq!(read, [fault, TestbedFault::SmallQueue(9)], "{text}");
        let earlier: Vec<TestbedFault> = serde_json::from_str(r#"["7 packets were dropped"]"#).unwrap();
        assert_eq!(earlier, [TestbedFault::Sentence("7 packets were dropped".to_owned())]);
    }
}
