//! RED (Floyd and Jacobson, 1993) and adaptive RED (Floyd, Gummadi, Shenker, 2001), as in `net/sched/sch_red.c` and `include/net/red.h`.
//!
//! Below `tbf` an empty queue does not begin an idle time, over which the average would decay: `tbf_dequeue()` only peeks, and RED begins one where it is
//! asked for a packet (`red_dequeue()`). The average decays with the packets that come.

use super::pie::first_after;
use super::waiting::WaitingQueue;
use super::{AqmLog, AqmState, Discipline, Waiting};
use crate::counters::Count;
use crate::ip_packet::IpPacket;
use crate::jiffies;
use crate::limit::Limit;
use crate::packet::Packet;
use pipefill_core::cell::RedSpec;
use pipefill_core::prng::Prng;
use pipefill_core::record::DropReason;
use pipefill_core::units::Time;
use std::time::Duration;

/// For so long the timer is armed by which the probability adapts (`red_adaptative_timer()`).
const ADAPT_AFTER: Duration = Duration::from_millis(500);
/// Bounds between which it adapts (`MAX_P_MIN`, `MAX_P_MAX`).
const PROBABILITY_LEAST: f64 = 0.01;
const PROBABILITY_MOST: f64 = 0.5;
/// It rises by this, or by a quarter where that is less (`MAX_P_ALPHA()`), and falls by a tenth.
const RISE_MOST: f64 = 0.01;
/// The average is to stay between these parts of the span from `min` to `max` (`red_set_parms()`).
const TARGET: [f64; 2] = [0.4, 0.6];
/// The smallest weight of the average that `tc` chooses, as a negative power of 2 (`tc_red_eval_ewma()`).
const WEIGHT_LOG_MAX: u8 = 31;

/// A queue that RED manages.
#[derive(Debug)]
pub(crate) struct Red<T> {
    queue: WaitingQueue<T>,
    limit: Limit,
    params: RedSpec,
    prng: Prng,
    /// Of a new length in the average.
    weight: f64,
    average: f64,
    probability: f64,
    /// Packets since the last drop; `None` while the average is outside of both thresholds (`qcount`).
    since_drop: Option<u32>,
    /// The random number that the next drop is decided by (`qR`).
    random: f64,
    /// From one adaptation to the next.
    adapt_every: Duration,
    next_adaptation: Time,
}

/// What becomes of a packet (`red_action()`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Pass,
    /// By chance.
    Early,
    /// The average is above `max`.
    Hard,
}

impl<T> Red<T> {
    pub(super) fn new(spec: &RedSpec, limit: Limit, prng: Prng) -> Self {
        let adapt_every = jiffies::period(ADAPT_AFTER);
        Self {
            queue: WaitingQueue::new(),
            limit,
            prng,
            weight: 0.5_f64.powi(red_weight_log(spec).into()),
            average: 0.0,
            probability: spec.probability.fraction(),
            since_drop: None,
            random: 0.0,
            adapt_every,
            next_adaptation: Time::ZERO.after(adapt_every),
            params: spec.clone(),
        }
    }

    fn span(&self) -> f64 {
        self.params.max.get().saturating_sub(self.params.min.get()) as f64
    }

    /// With which a packet is dropped or marked by the average as it stands.
    fn current_probability(&self) -> f64 {
        let share = (self.average - self.params.min.get() as f64) / self.span().max(1.0);
        if share >= 1.0 { 1.0 } else { share.max(0.0) * self.probability }
    }

    /// Makes the updates of `red_adaptative_timer()` up to `now`.
    fn adapt(&mut self, now: Time) {
        if !self.params.adaptive {
            return;
        }
        while self.next_adaptation <= now {
            let average = self.average - self.params.min.get() as f64;
            let [low, high] = TARGET.map(|part| part * self.span());
            if average > high && self.probability <= PROBABILITY_MOST {
                self.probability += (self.probability / 4.0).min(RISE_MOST);
            } else if average < low && self.probability >= PROBABILITY_LEAST {
                self.probability *= 0.9;
            }
            self.next_adaptation = self.next_adaptation.after(self.adapt_every);
            if average < low && self.probability < PROBABILITY_LEAST {
                self.next_adaptation = first_after(self.next_adaptation, self.adapt_every, now);
            }
        }
    }

    /// `red_action()`: between both thresholds packets are dropped at uniform distances.
    fn action(&mut self) -> Action {
        let above = self.average - self.params.min.get() as f64;
        if above < 0.0 {
            self.since_drop = None;
            return Action::Pass;
        }
        if above >= self.span() {
            self.since_drop = None;
            return Action::Hard;
        }
        let Some(count) = self.since_drop else {
            self.since_drop = Some(0);
            self.random = self.prng.next_unit();
            return Action::Pass;
        };
        let count = count.saturating_add(1);
        let probability = self.probability * above / self.span();
        if probability * f64::from(count) < self.random {
            self.since_drop = Some(count);
            return Action::Pass;
        }
        self.since_drop = Some(0);
        self.random = self.prng.next_unit();
        Action::Early
    }
}

impl<T: IpPacket> Discipline<T> for Red<T> {
    /// `red_enqueue()`.
    fn enqueue(&mut self, now: Time, mut packet: Packet<T>, leaving: Count, log: &mut AqmLog<'_>) {
        self.adapt(now);
        let held = self.queue.held() + leaving;
        self.average += self.weight * (held.bytes as f64 - self.average);
        let action = self.action();
        let is_marked = self.params.ecn && !(action == Action::Hard && self.params.harddrop);
        if action != Action::Pass && !(is_marked && log.mark(&mut packet)) {
            log.drop_packet(DropReason::Aqm, &packet);
        } else if self.limit.admits(held, packet.bytes) {
            self.queue.push(now, packet);
        } else {
            log.drop_packet(DropReason::QueueFull, &packet);
        }
    }

    fn dequeue(&mut self, _now: Time, _log: &mut AqmLog<'_>) -> Option<Waiting<T>> {
        self.queue.pop()
    }

    fn held(&self) -> Count {
        self.queue.held()
    }

    fn state(&self) -> AqmState {
        AqmState { probability: Some(self.current_probability()), ..AqmState::default() }
    }
}

/// The largest weight that lets a burst pass, as a negative power of 2 (`tc_red_eval_ewma()`; Floyd and Jacobson, 1993, equation 3).
pub fn red_weight_log(spec: &RedSpec) -> u8 {
    let packets = f64::from(spec.burst);
    let room = packets + 1.0 - spec.min.get() as f64 / spec.avpkt.get().max(1) as f64;
    let fits = |log: &u8| {
        let weight = 0.5_f64.powi((*log).into());
        room <= (1.0 - (1.0 - weight).powf(packets)) / weight
    };
    (1..=WEIGHT_LOG_MAX).find(fits).unwrap_or(WEIGHT_LOG_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::AqmCounts;
    use crate::counters::Counters;
    use pipefill_core::cell::AqmSpec;
    use pipefill_core::units::{Bytes, Ratio};

    fn spec() -> RedSpec {
        RedSpec {
            min: Bytes::new(30_000),
            max: Bytes::new(90_000),
            probability: Ratio::from_percent(2.0),
            avpkt: Bytes::new(1_000),
            burst: 50,
            adaptive: false,
            ecn: false,
            harddrop: false,
        }
    }

    /// `tc qdisc add … red limit 400000 min 30000 max 90000 avpkt 1000 burst 50` sends `Wlog` 5.
    #[test]
    fn the_weight_is_that_of_tc() {
        assert_eq!(red_weight_log(&spec()), 5);
    }

    #[test]
    fn an_empty_queue_does_not_begin_an_idle_time() {
        let mut red: Red<u32> = Red::new(&spec(), Limit::Packets(1_000), Prng::from_state([1, 2, 3, 4]));
        red.average = 95_000.0;
        let (mut counters, mut counts) = (Counters::default(), AqmCounts::new(&AqmSpec::Red(spec())));
        let mut log = AqmLog { counters: &mut counters, counts: &mut counts };
        assert!(red.dequeue(Time::ZERO, &mut log).is_none());
        let packet = Packet { gso_id: 0, bytes: 1514, payload: 0 };
        red.enqueue(Time::from_nanos(60_000_000_000), packet, Count::default(), &mut log);
        assert_eq!(counters.dropped(DropReason::Aqm).packets, 1, "{}", red.average);
    }

    #[test]
    fn between_the_thresholds_drops_have_the_probability_of_the_average() {
        let prng = Prng::from_state([1, 2, 3, 4]);
        let mut red: Red<u32> = Red::new(&spec(), Limit::Packets(1_000), prng);
        red.average = 60_000.0;
        let early = (0..100_000).filter(|_| red.action() == Action::Early).count();
        // Distances are uniform up to 1/p, with p = 1 % half-way: 50 on average.
        assert!((1_900..=2_100).contains(&early), "{early}");
        red.average = 29_999.0;
        assert_eq!(red.action(), Action::Pass);
        red.average = 90_000.0;
        assert_eq!(red.action(), Action::Hard);
    }
}
