//! What is wrong with a testbed, in words.

use crate::quantity::{bytes, duration, rate};
use pipefill_analysis::judge::TestbedFault;
use pipefill_core::units::QueueLimit;

pub(super) fn in_words(fault: &TestbedFault) -> String {
    match fault {
        &TestbedFault::SmallDelayElement { holds, rate_bps, delay_us, needed_packets } => {
            let holds = match holds {
                QueueLimit::Packets(packets) => format!("{packets} packets"),
                QueueLimit::Bytes(size) => bytes(size.get()),
                QueueLimit::Bdp(bdp) => format!("{bdp} BDP"),
            };
            format!(
                "the delay element holds {holds}; {} over {} are {needed_packets} packets",
                rate(rate_bps),
                duration(delay_us)
            )
        }
        &TestbedFault::SmallQueue(size) => {
            format!("the bottleneck's queue of {} holds no two full frames", bytes(size))
        }
        TestbedFault::DroppedByDelay(packets) => {
            format!("{packets} packets were dropped by the delay element, which was full")
        }
        TestbedFault::DroppedByBucket(packets) => {
            format!("{packets} packets were dropped by the token bucket, which is smaller than they were")
        }
        &TestbedFault::ShortTransfer { duration_us, startup_us } => format!(
            "{} are short: slow start alone takes {} to fill this path",
            duration(duration_us),
            duration(startup_us)
        ),
        TestbedFault::Sentence(sentence) => sentence.clone(),
    }
}
