//! DualPI2 (RFC 9332, appendix A; `net/sched/sch_dualpi2.c`): a queue for L4S packets beside one for all others, coupled by one probability.

use super::pie::first_after;
use super::waiting::WaitingQueue;
use super::{AqmLog, AqmState, Discipline, Waiting};
use crate::counters::Count;
use crate::ip_packet::{Ecn, IpPacket};
use crate::limit::Limit;
use crate::packet::Packet;
use pipefill_core::cell::Dualpi2Spec;
use pipefill_core::prng::Prng;
use pipefill_core::record::DropReason;
use pipefill_core::units::Time;
use std::time::Duration;

/// Weights of the classic and the L4S queue where both wait (`c_protection_wc`, `c_protection_wl`).
const CLASSIC_WEIGHT: i64 = 10;
const L4S_WEIGHT: i64 = 90;
/// The controller is updated no more often; of an interval of zero there would be no end.
const UPDATE_MIN: Duration = Duration::from_micros(1);

/// Both queues.
#[derive(Debug)]
pub(crate) struct Dualpi2<T> {
    classic: WaitingQueue<T>,
    l4s: WaitingQueue<T>,
    limit: Limit,
    params: Dualpi2Spec,
    prng: Prng,
    control: Control,
    next_update: Time,
    /// Whose turn it is where both wait: above 0 the classic queue's (`c_protection_credit`).
    credit: i64,
}

impl<T> Dualpi2<T> {
    pub(super) fn new(spec: &Dualpi2Spec, limit: Limit, prng: Prng) -> Self {
        let params = Dualpi2Spec { tupdate: spec.tupdate.max(UPDATE_MIN), ..spec.clone() };
        Self {
            classic: WaitingQueue::new(),
            l4s: WaitingQueue::new(),
            limit,
            prng,
            control: Control::default(),
            credit: first_credit(spec),
            next_update: Time::ZERO.after(params.tupdate),
            params,
        }
    }

    fn both(&self) -> Count {
        self.classic.held() + self.l4s.held()
    }

    /// Makes the updates of `dualpi2_timer()` up to `now`.
    fn update(&mut self, now: Time) {
        while self.next_update <= now {
            let at = self.next_update;
            let delay = self.classic.head_sojourn(at).max(self.l4s.head_sojourn(at));
            self.control.update(&self.params, delay);
            self.next_update = at.after(self.params.tupdate);
            if self.control.is_at_rest() && self.both().packets == 0 {
                self.next_update = first_after(self.next_update, self.params.tupdate, now);
            }
        }
    }

    /// True with this probability; certainly where it is 1 or more.
    fn chance(&mut self, probability: f64) -> bool {
        self.prng.next_unit() < probability
    }

    /// The square of the base probability, of two draws (RFC 9332, section 4).
    fn classic_chance(&mut self) -> bool {
        self.chance(self.control.probability) && self.chance(self.control.probability)
    }

    /// The next packet by weighted round robin, and whether it is of the L4S queue (`dequeue_packet()`).
    fn next(&mut self) -> Option<(Waiting<T>, bool)> {
        let (has_classic, has_l4s) = (self.classic.held().packets > 0, self.l4s.held().packets > 0);
        let is_l4s = has_l4s && (!has_classic || self.credit <= 0);
        let queue = if is_l4s { &mut self.l4s } else { &mut self.classic };
        let Some(waiting) = queue.pop() else {
            self.credit = first_credit(&self.params);
            return None;
        };
        let bytes = i64::from(waiting.packet.bytes);
        match (is_l4s, has_classic, has_l4s) {
            (true, true, _) => self.credit += CLASSIC_WEIGHT * bytes,
            (false, _, true) => self.credit -= L4S_WEIGHT * bytes,
            _ => {}
        }
        Some((waiting, is_l4s))
    }
}

/// The L4S queue begins, by as many bytes as the weights differ (`dualpi2_calculate_c_protection()`).
fn first_credit(spec: &Dualpi2Spec) -> i64 {
    i64::try_from(spec.frame.get()).unwrap_or(i64::MAX).saturating_mul(CLASSIC_WEIGHT - L4S_WEIGHT)
}

impl<T: IpPacket> Dualpi2<T> {
    /// Whether the packet is dropped; it may be marked (`must_drop()`, `do_step_aqm()`).
    fn must_drop(&mut self, now: Time, waiting: &mut Waiting<T>, is_l4s: bool, log: &mut AqmLog<'_>) -> bool {
        let coupled = self.control.probability * self.params.coupling;
        let is_overload = coupled > 1.0;
        let is_short = self.both().bytes + u64::from(waiting.packet.bytes) < 2 * self.params.frame.get();
        if !is_short {
            if !is_l4s {
                if self.classic_chance() && (is_overload || !log.mark(&mut waiting.packet)) {
                    return true;
                }
            } else if is_overload {
                if self.classic_chance() {
                    return true;
                }
                log.mark(&mut waiting.packet);
            } else if self.chance(coupled) {
                log.mark(&mut waiting.packet);
            }
        }
        if is_l4s && waiting.sojourn(now) > self.params.step {
            log.mark(&mut waiting.packet);
        }
        false
    }
}

impl<T: IpPacket> Discipline<T> for Dualpi2<T> {
    /// `dualpi2_enqueue_skb()`, with the classifier of RFC 9331, section 5.1: ECT(1) and CE are L4S.
    fn enqueue(&mut self, now: Time, packet: Packet<T>, leaving: Count, log: &mut AqmLog<'_>) {
        self.update(now);
        if !self.limit.admits(self.both() + leaving, packet.bytes) {
            log.drop_packet(DropReason::QueueFull, &packet);
            return;
        }
        match packet.payload.ecn() {
            Ecn::Ect1 | Ecn::Ce => self.l4s.push(now, packet),
            Ecn::NotEct | Ecn::Ect0 => self.classic.push(now, packet),
        }
    }

    /// `dualpi2_qdisc_dequeue()`.
    fn dequeue(&mut self, now: Time, log: &mut AqmLog<'_>) -> Option<Waiting<T>> {
        self.update(now);
        loop {
            let credit = self.credit;
            let (mut waiting, is_l4s) = self.next()?;
            if !self.must_drop(now, &mut waiting, is_l4s, log) {
                return Some(waiting);
            }
            // What is dropped was not served.
            self.credit = credit;
            log.drop_packet(DropReason::Aqm, &waiting.packet);
        }
    }

    fn held(&self) -> Count {
        self.both()
    }

    fn state(&self) -> AqmState {
        AqmState { probability: Some(self.control.probability), ..AqmState::default() }
    }
}

/// The PI controller of the base probability.
#[derive(Debug, Default)]
struct Control {
    /// p' of RFC 9332: its square is the classic probability, and k times it the coupled one.
    probability: f64,
    old_delay: Duration,
}

impl Control {
    /// Whether further updates of empty queues change nothing.
    fn is_at_rest(&self) -> bool {
        self.probability <= 0.0 && self.old_delay.is_zero()
    }

    /// `calculate_probability()` (RFC 9332, appendix A.1, figure 6).
    fn update(&mut self, params: &Dualpi2Spec, delay: Duration) {
        let (delay_s, old_s) = (delay.as_secs_f64(), self.old_delay.as_secs_f64());
        let delta = params.alpha * (delay_s - params.target.as_secs_f64()) + params.beta * (delay_s - old_s);
        self.probability = (self.probability + delta).clamp(0.0, 1.0);
        self.old_delay = delay;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::AqmCounts;
    use crate::counters::Counters;
    use pipefill_core::cell::AqmSpec;
    use pipefill_core::units::Bytes;

    fn params() -> Dualpi2Spec {
        Dualpi2Spec {
            target: Duration::from_millis(15),
            tupdate: Duration::from_millis(16),
            alpha: 0.16,
            beta: 3.2,
            coupling: 2.0,
            step: Duration::from_millis(1),
            frame: Bytes::new(1514),
        }
    }

    /// A packet with its bits of ECN.
    #[derive(Debug, Clone)]
    struct Marked(Ecn);

    impl IpPacket for Marked {
        fn ecn(&self) -> Ecn {
            self.0
        }

        fn set_ce(&mut self) {
            self.0 = Ecn::Ce;
        }

        fn flow(&self) -> u64 {
            0
        }
    }

    /// Of 100,000 packets with `ecn` at a base probability that stays: shares marked and dropped. The queue is never short of
    /// frames, and no packet waits for as long as the step.
    fn shares(probability: f64, ecn: Ecn) -> (f64, f64) {
        const PACKETS: u32 = 100_000;
        let mut queue = Dualpi2::new(&params(), Limit::Packets(100), Prng::from_state([1, 2, 3, 4]));
        queue.control.probability = probability;
        let (mut counters, mut counts) = (Counters::default(), AqmCounts::new(&AqmSpec::Dualpi2(params())));
        let mut log = AqmLog { counters: &mut counters, counts: &mut counts };
        for _ in 0..PACKETS {
            while queue.held().packets < 60 {
                let packet = Packet { gso_id: 0, bytes: 1514, payload: Marked(ecn) };
                queue.enqueue(Time::ZERO, packet, Count::default(), &mut log);
            }
            queue.dequeue(Time::ZERO, &mut log).expect("60 are held");
        }
        let dropped = counters.dropped(DropReason::Aqm).packets as f64;
        let all = f64::from(PACKETS) + dropped;
        (counters.marked_aqm.packets as f64 / all, dropped / all)
    }

    /// RFC 9332, section 2.1 and appendix A.1: p_CL = k p', p_C = p'²; so p_C = (p_CL / k)².
    #[test]
    fn both_queues_are_coupled_by_the_square() {
        let is_near = |(marked, dropped): (f64, f64), wanted: (f64, f64)| {
            (marked - wanted.0).abs() < 0.01 && (dropped - wanted.1).abs() < 0.01
        };
        for probability in [0.05, 0.2, 0.45] {
            let (coupled, classic) = (2.0 * probability, probability * probability);
            assert!(is_near(shares(probability, Ecn::Ect1), (coupled, 0.0)), "L4S, {probability}");
            assert!(is_near(shares(probability, Ecn::NotEct), (0.0, classic)), "classic, {probability}");
            assert!(
                is_near(shares(probability, Ecn::Ect0), (classic, 0.0)),
                "classic with ECN, {probability}"
            );
        }
        // Overload, k p' > 1 (section 4.2.3): ECN no longer protects, and what is left of L4S is marked.
        for probability in [0.6, 0.8] {
            let classic = probability * probability;
            assert!(is_near(shares(probability, Ecn::Ect1), (1.0 - classic, classic)), "L4S, {probability}");
            assert!(is_near(shares(probability, Ecn::Ect0), (0.0, classic)), "classic, {probability}");
        }
    }

    /// RFC 9332, section 4.1.1: the L4S queue has precedence, and the classic one at least a tenth of the bytes.
    #[test]
    fn the_classic_queue_gets_a_tenth() {
        let mut queue = Dualpi2::new(&params(), Limit::Packets(1_000), Prng::from_state([1, 2, 3, 4]));
        let (mut counters, mut counts) = (Counters::default(), AqmCounts::new(&AqmSpec::Dualpi2(params())));
        let mut log = AqmLog { counters: &mut counters, counts: &mut counts };
        for ecn in [Ecn::Ect1, Ecn::NotEct].into_iter().cycle().take(800) {
            queue.enqueue(
                Time::ZERO,
                Packet { gso_id: 0, bytes: 1514, payload: Marked(ecn) },
                Count::default(),
                &mut log,
            );
        }
        let mut leave = || queue.dequeue(Time::ZERO, &mut log).expect("held").packet.payload.0;
        let classic = (0..400).filter(|_| leave() == Ecn::NotEct).count();
        assert!((38..=42).contains(&classic), "{classic} of 400");
    }

    /// RFC 9332, appendix A.1 (`step`): an L4S packet that waited longer than the step is marked, whatever the probability.
    #[test]
    fn what_waits_longer_than_the_step_is_marked() {
        let mut queue = Dualpi2::new(&params(), Limit::Packets(10), Prng::from_state([1, 2, 3, 4]));
        let (mut counters, mut counts) = (Counters::default(), AqmCounts::new(&AqmSpec::Dualpi2(params())));
        let mut log = AqmLog { counters: &mut counters, counts: &mut counts };
        let mut wait = |nanos| {
            queue.enqueue(
                Time::ZERO,
                Packet { gso_id: 0, bytes: 1514, payload: Marked(Ecn::Ect1) },
                Count::default(),
                &mut log,
            );
            queue.dequeue(Time::from_nanos(nanos), &mut log).expect("held").packet.payload.0
        };
        assert_eq!([wait(1_000_000), wait(1_000_001)], [Ecn::Ect1, Ecn::Ce]);
    }

    #[test]
    fn the_probability_rises_above_the_target_and_stays_within_its_bounds() {
        let params = params();
        let mut control = Control::default();
        control.update(&params, Duration::from_millis(25));
        assert!((control.probability - (0.16 * 0.010 + 3.2 * 0.025)).abs() < 1e-12, "{control:?}");
        (0..10_000).for_each(|_| control.update(&params, Duration::from_secs(2)));
        assert!(control.probability >= 1.0);
        (0..10_000).for_each(|_| control.update(&params, Duration::ZERO));
        assert!(control.is_at_rest(), "{control:?}");
    }
}
