//! PIE (RFC 8033; `net/sched/sch_pie.c`), with the sojourn time of packets as the queue's delay, as Linux has it where no rate is estimated.

use super::waiting::WaitingQueue;
use super::{AqmLog, AqmState, Discipline, Waiting};
use crate::counters::Count;
use crate::ip_packet::IpPacket;
use crate::jiffies;
use crate::limit::Limit;
use crate::packet::Packet;
use pipefill_core::cell::PieSpec;
use pipefill_core::prng::Prng;
use pipefill_core::record::DropReason;
use pipefill_core::units::Time;
use std::time::Duration;

/// How long a burst passes after the queue was idle (RFC 8033, section 4.4; `pie_vars_init()`).
const BURST_ALLOWANCE: Duration = Duration::from_millis(150);
/// Alpha and beta count sixteenths (`>> 4` in `pie_calculate_probability()`).
const SIXTEENTH: f64 = 1.0 / 16.0;
/// Above this probability packets are dropped that might be marked (RFC 8033, section 5.1).
const MARK_AT_MOST: f64 = 0.1;
/// From this probability on a step is no larger than [`STEP_MOST`] (RFC 8033, section 5.5).
const LARGE: f64 = 0.1;
const STEP_MOST: f64 = 0.02;
/// Linux computes with 64 bits, of which certainty takes 56: only here the probability is set back to 1 (`MAX_PROB` of `include/net/pie.h`). Until
/// then it grows beyond 1 where flows do not react, and takes as long to come down.
const OVERFLOW: f64 = 256.0;
/// A delay above this raises the probability by [`STEP_MOST`] more (RFC 8033, section 5.5).
const LONG_DELAY: Duration = Duration::from_millis(250);
/// Below this probability a delay of less than half of the target drops nothing (RFC 8033, section 4.1).
const SAFEGUARD: f64 = 0.2;
/// Nothing is dropped before the probabilities since the last drop add up to this, and certainly at [`ACCUMULATED_MOST`]
/// (RFC 8033, section 5.4).
const ACCUMULATED_LEAST: f64 = 0.85;
const ACCUMULATED_MOST: f64 = 8.5;

/// A queue that PIE manages.
#[derive(Debug)]
pub(crate) struct Pie<T> {
    queue: WaitingQueue<T>,
    limit: Limit,
    params: PieSpec,
    prng: Prng,
    control: Control,
    /// From one update to the next (`pie_timer()`).
    update_every: Duration,
    next_update: Time,
}

impl<T> Pie<T> {
    pub(super) fn new(spec: &PieSpec, limit: Limit, prng: Prng) -> Self {
        let update_every = jiffies::period(spec.tupdate);
        Self {
            queue: WaitingQueue::new(),
            limit,
            update_every,
            next_update: Time::ZERO.after(update_every),
            params: spec.clone(),
            prng,
            control: Control::default(),
        }
    }

    /// Makes the updates of `pie_timer()` up to `now`; meanwhile a packet waited for the link alone, or none did. Linux counts it as backlog
    /// (`qdisc_peek_dequeued()`).
    fn update(&mut self, now: Time, has_leaving: bool) {
        while self.next_update <= now {
            self.control.update(&self.params, has_leaving || self.queue.held().bytes > 0);
            self.next_update = self.next_update.after(self.update_every);
            if self.control.is_at_rest() && self.queue.held().packets == 0 {
                self.next_update = first_after(self.next_update, self.update_every, now);
            }
        }
    }

    /// Whether a packet that comes now is dropped or marked (`pie_drop_early()`).
    fn drops_early(&mut self, backlog: u64) -> bool {
        let Self { control, params, .. } = self;
        if !control.burst_allowance.is_zero()
            || (control.delay < params.target / 2 && control.probability < SAFEGUARD)
            || backlog < 2 * params.frame.get()
        {
            return false;
        }
        if control.probability > 0.0 {
            control.accumulated += control.probability;
        } else {
            control.accumulated = 0.0;
        }
        if control.accumulated < ACCUMULATED_LEAST {
            return false;
        }
        if control.accumulated >= ACCUMULATED_MOST {
            return true;
        }
        let drops = self.prng.next_unit() < control.probability;
        if drops {
            control.accumulated = 0.0;
        }
        drops
    }
}

/// The first update after `now`, of those that come every `every` from `next` on.
pub(super) fn first_after(next: Time, every: Duration, now: Time) -> Time {
    if next > now {
        return next;
    }
    let every = u64::try_from(every.as_nanos()).unwrap_or(u64::MAX).max(1);
    let passed = (now.nanos() - next.nanos()) / every + 1;
    Time::from_nanos(next.nanos().saturating_add(passed.saturating_mul(every)))
}

impl<T: IpPacket> Discipline<T> for Pie<T> {
    /// `pie_qdisc_enqueue()`.
    fn enqueue(&mut self, now: Time, mut packet: Packet<T>, leaving: Count, log: &mut AqmLog<'_>) {
        self.update(now, leaving.packets > 0);
        let held = self.queue.held() + leaving;
        let reason = if !self.limit.admits(held, packet.bytes) {
            DropReason::QueueFull
        } else if !self.drops_early(held.bytes)
            || (self.params.ecn && self.control.probability <= MARK_AT_MOST && log.mark(&mut packet))
        {
            self.queue.push(now, packet);
            return;
        } else {
            DropReason::Aqm
        };
        self.control.accumulated = 0.0;
        log.drop_packet(reason, &packet);
    }

    /// `pie_qdisc_dequeue()`. Up to now the packet before waited for the link.
    fn dequeue(&mut self, now: Time, _log: &mut AqmLog<'_>) -> Option<Waiting<T>> {
        self.update(now, true);
        let waiting = self.queue.pop()?;
        self.control.leaves(now, waiting.sojourn(now), self.queue.held().bytes == 0);
        Some(waiting)
    }

    fn held(&self) -> Count {
        self.queue.held()
    }

    fn state(&self) -> AqmState {
        AqmState { probability: Some(self.control.probability), ..AqmState::default() }
    }
}

/// The controller (`struct pie_vars`).
#[derive(Debug, Clone)]
struct Control {
    probability: f64,
    /// Of the packet that left last, and at the update before.
    delay: Duration,
    old_delay: Duration,
    burst_allowance: Duration,
    /// Sum of the probabilities since the last drop (RFC 8033, section 5.4).
    accumulated: f64,
    /// When a packet left last.
    last_departure: Option<Time>,
}

impl Default for Control {
    fn default() -> Self {
        Self {
            probability: 0.0,
            delay: Duration::ZERO,
            old_delay: Duration::ZERO,
            burst_allowance: BURST_ALLOWANCE,
            accumulated: 0.0,
            last_departure: None,
        }
    }
}

impl Control {
    /// Whether further updates of an empty queue change nothing.
    fn is_at_rest(&self) -> bool {
        self.probability <= 0.0 && self.delay.is_zero() && self.old_delay.is_zero()
    }

    /// `pie_process_dequeue()`.
    fn leaves(&mut self, now: Time, sojourn: Duration, is_last: bool) {
        let since_last = self.last_departure.map_or(Duration::ZERO, |last| now.since(last));
        self.last_departure = Some(now);
        self.delay = if is_last { Duration::ZERO } else { sojourn };
        self.burst_allowance = self.burst_allowance.saturating_sub(since_last);
    }

    /// `pie_calculate_probability()` (RFC 8033, section 4.2).
    fn update(&mut self, params: &PieSpec, has_backlog: bool) {
        let (delay, old_delay) = (self.delay, self.old_delay);
        let scale = SIXTEENTH * auto_tuning(self.probability);
        let mut delta = scale * params.alpha * (delay.as_secs_f64() - params.target.as_secs_f64())
            + scale * params.beta * (delay.as_secs_f64() - old_delay.as_secs_f64());
        if delta > STEP_MOST && self.probability >= LARGE {
            delta = STEP_MOST;
        }
        if delay > LONG_DELAY {
            delta += STEP_MOST;
        }
        let raised = self.probability + delta;
        let is_overflow = raised >= OVERFLOW;
        self.probability = if is_overflow { 1.0 } else { raised.max(0.0) };
        // Without a delay for two updates it decays (RFC 8033, section 5.5); a delay of 0 before a backlog is no measurement.
        let is_measured = !(is_overflow || delay.is_zero() && has_backlog);
        if delay.is_zero() && old_delay.is_zero() && is_measured {
            self.probability -= self.probability / 64.0;
        }
        let is_short = |delay: Duration| delay < params.target / 2;
        if is_short(delay) && is_short(old_delay) && self.probability <= 0.0 {
            self.burst_allowance = BURST_ALLOWANCE;
            self.accumulated = 0.0;
            self.last_departure = None;
        }
        self.old_delay = delay;
    }
}

/// Smaller steps at smaller probabilities (RFC 8033, section 5.2): a half below 10 %, and a quarter of that for each power of ten below 1 %, down
/// to 0.0001 %.
fn auto_tuning(probability: f64) -> f64 {
    let mut scale = 1.0;
    if probability < 0.1 {
        scale = 0.5;
        for power in [0.01, 0.001, 0.000_1, 0.000_01, 0.000_001] {
            if probability >= power {
                break;
            }
            scale *= 0.25;
        }
    }
    scale
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::AqmCounts;
    use crate::counters::Counters;
    use pipefill_core::cell::AqmSpec;
    use pipefill_core::units::Bytes;

    fn params() -> PieSpec {
        PieSpec {
            target: Duration::from_millis(15),
            tupdate: Duration::from_millis(15),
            alpha: 2.0,
            beta: 20.0,
            ecn: false,
            frame: Bytes::new(1514),
        }
    }

    /// Linux does not stop it at 1: after 10 s of a delay of 1 s it is above.
    #[test]
    fn the_probability_of_a_delay_rises_beyond_one_and_falls_to_zero() {
        let mut control = Control { delay: Duration::from_secs(1), ..Control::default() };
        let mut largest = 0.0_f64;
        for _ in 0..10_000 {
            control.update(&params(), true);
            assert!((0.0..OVERFLOW).contains(&control.probability));
            largest = largest.max(control.probability);
        }
        assert!(largest > 200.0, "{largest}");
        control.probability = largest;
        control.delay = Duration::ZERO;
        for _ in 0..100_000 {
            control.update(&params(), false);
        }
        assert!(control.is_at_rest(), "{control:?}");
        assert_eq!(control.burst_allowance, BURST_ALLOWANCE);
    }

    /// The first update of RFC 8033 above a target of 15 ms: 1/2048 of alpha and beta at a probability of 0, as Linux has them.
    #[test]
    fn the_first_step_is_that_of_the_table() {
        let mut control = Control { delay: Duration::from_millis(25), ..Control::default() };
        control.update(&params(), true);
        let wanted = (2.0 * 0.010 + 20.0 * 0.025) / 16.0 / 2048.0;
        assert!((control.probability - wanted).abs() < 1e-12, "{control:?}");
    }

    /// Without a delay and without backlog it decays besides; the packet that waits for the link alone is backlog.
    #[test]
    fn a_packet_that_waits_for_the_link_is_backlog() {
        let probability = |at_ns: u64, leaving: Count| {
            let mut pie = Pie::<u32>::new(&params(), Limit::Packets(10), Prng::from_state([1, 2, 3, 4]));
            pie.control.probability = 0.5;
            let (mut counters, mut counts) = (Counters::default(), AqmCounts::new(&AqmSpec::Pie(params())));
            let mut log = AqmLog { counters: &mut counters, counts: &mut counts };
            let packet = Packet { gso_id: 0, bytes: 1514, payload: 0 };
            pie.enqueue(Time::from_nanos(at_ns), packet, leaving, &mut log);
            pie.control.probability
        };
        let [beside, alone] =
            [Count::packet(1514), Count::default()].map(|leaving| probability(16_000_000, leaving));
        assert!((alone / beside - 63.0 / 64.0).abs() < 1e-12, "{beside}, {alone}");
        // A timer that is armed for 15 ms fires 16 ms after it fired before.
        assert!((probability(15_999_999, Count::default()) - 0.5).abs() < f64::EPSILON);
    }

    #[test]
    fn updates_that_were_missed_do_not_shift_later_ones() {
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        let every = Duration::from_millis(15);
        assert_eq!([29, 30, 44].map(|now| first_after(at(15), every, at(now))), [30, 45, 45].map(at));
        assert_eq!(first_after(at(15), every, at(3)), at(15));
    }
}
