//! What a stream waited for, and when, by the packets of both directions: spans in order of time, none over another.

use crate::ground::interval::TimeInterval;
use crate::ground::thresholds::Thresholds;
use pipefill_core::record::{PacketSample, Waiting, Waits};

/// A time in which the stream waited for one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wait {
    pub(crate) interval: TimeInterval,
    pub(crate) waiting: Waiting,
}

/// The waits of a stream with these samples, in order of time: a wait is counted when it ends, and stands before the first sample that has it.
pub(crate) fn waits(samples: &[PacketSample], thresholds: &Thresholds) -> Vec<Wait> {
    let Some(all) = samples.last().map(|last| last.waits) else { return Vec::new() };
    let kinds = || Waiting::ALL.into_iter().filter(|&waiting| counts(waiting, all, thresholds));
    let (mut found, mut before, mut end_us) = (Vec::<Wait>::new(), Waits::default(), 0);
    for sample in samples.iter().filter(|sample| sample.waits.total_us() > 0) {
        let news = sample.waits.since(&before);
        before = sample.waits;
        let total_us: u64 = kinds().map(|waiting| news.us(waiting)).sum();
        let mut at_us = sample.t_us.saturating_sub(total_us).max(end_us);
        for waiting in kinds() {
            let to_us = at_us.saturating_add(news.us(waiting)).min(sample.t_us);
            let interval = TimeInterval { from_us: at_us, to_us };
            if interval.length_us() == 0 {
                continue;
            }
            (at_us, end_us) = (to_us, to_us);
            match found
                .last_mut()
                .filter(|last| last.waiting == waiting && last.interval.to_us == interval.from_us)
            {
                Some(last) => last.interval.to_us = to_us,
                None => found.push(Wait { interval, waiting }),
            }
        }
    }
    found
}

/// A single late ACK may have been lost.
fn counts(waiting: Waiting, all: Waits, thresholds: &Thresholds) -> bool {
    waiting != Waiting::DelayedAck || f64::from(all.delayed_acks) >= thresholds.delayed_acks.value()
}
