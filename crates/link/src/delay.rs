//! Propagation: each packet leaves a fixed time after it came, give or take a random part.
//!
//! The oracle is `net/sched/sch_netem.c`.

use crate::counters::Count;
use crate::element::Element;
use crate::fifo::Fifo;
use crate::jitter::Jitter;
use crate::limit::Limit;
use crate::overtaking::Overtaking;
use crate::packet::{Dropped, Packet, Released};
use pipefill_core::cell::DirectionSpec;
use pipefill_core::prng::Prng;
use pipefill_core::record::DropReason;
use pipefill_core::units::{Ratio, Seed, Time};
use std::time::Duration;

/// The delay element: fixed delay, jitter, reordering, and a limit to what it holds.
#[derive(Debug)]
pub struct Delay<T> {
    delay_ns: u64,
    jitter: Option<Jitter>,
    skip: Option<Skip>,
    /// The latest due of a packet that did not skip, where jitter must not reorder.
    latest: Option<Time>,
    limit: Option<Limit>,
    store: Store<T>,
}

impl<T> Delay<T> {
    /// Whether `spec` delays anything at all.
    pub fn is_needed(spec: &DirectionSpec) -> bool {
        !spec.delays().end().is_zero() || spec.jitter.as_ref().is_some_and(|jitter| !jitter.spread.is_zero())
    }

    /// The element for `spec`, with the streams `{name}/jitter` and `{name}/reorder` of `seed`. `rtt` is that of the whole
    /// path, for a limit in BDPs; where there is no rate such a limit does not bind.
    pub fn new(spec: &DirectionSpec, rtt: Duration, name: &str, seed: Seed) -> Self {
        let stream = |part: &str| Prng::stream(seed, &format!("{name}/{part}"));
        let rate = spec.bottleneck.as_ref().map(|bottleneck| bottleneck.rate);
        let jitter = spec.jitter.as_ref();
        let jitter_reorders = jitter.is_some_and(|jitter| jitter.reorder);
        let skip = Skip::new(spec.reorder, stream("reorder"));
        Self {
            delay_ns: whole_nanos(spec.delay),
            store: Store::new(jitter_reorders || skip.is_some()),
            jitter: jitter.and_then(|jitter| Jitter::new(jitter, stream("jitter"))),
            skip,
            latest: (!jitter_reorders).then_some(Time::ZERO),
            limit: spec.delay_limit.and_then(|limit| Limit::resolve(limit, rate, rtt)),
        }
    }

    /// Packets that come from now on are delayed for so long. Unless jitter may reorder, one that would overtake waits for those before
    /// it.
    pub(crate) fn set_delay(&mut self, fixed: Duration) {
        self.delay_ns = whole_nanos(fixed);
    }

    /// Packets that left after one that had come later (RFC 4737, type-P-reordered).
    pub fn reordered(&self) -> u64 {
        match &self.store {
            Store::InOrder(_) => 0,
            Store::Overtaking(store) => store.reordered(),
        }
    }

    #[inline]
    pub(crate) fn is_due(&self, now: Time) -> bool {
        match &self.store {
            Store::InOrder(fifo) => fifo.is_due(now),
            Store::Overtaking(heap) => heap.is_due(now),
        }
    }

    /// The delay of the next packet, nanoseconds; `None` where it skips the delay. Every draw is made for every packet, so that neither
    /// reordering nor a full element reshuffles the jitter of the others.
    #[inline]
    fn draw(&mut self) -> Option<u64> {
        let offset_ns = self.jitter.as_mut().map_or(0, Jitter::offset_ns);
        let skips = self.skip.as_mut().is_some_and(Skip::skips);
        (!skips).then(|| self.delay_ns.saturating_add_signed(offset_ns))
    }

    /// When a packet that comes at `now` leaves.
    #[inline]
    fn due(&mut self, now: Time, delay_ns: Option<u64>) -> Time {
        let Some(delay_ns) = delay_ns else { return now };
        let due = Time::from_nanos(now.nanos().saturating_add(delay_ns));
        match &mut self.latest {
            None => due,
            Some(latest) => {
                *latest = due.max(*latest);
                *latest
            }
        }
    }
}

fn whole_nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

impl<T> Element<T> for Delay<T> {
    #[inline]
    fn offer(&mut self, now: Time, packet: Packet<T>) -> Result<(), Dropped<T>> {
        self.store.settle(now);
        let delay_ns = self.draw();
        let held = self.store.backlog();
        if self.limit.is_some_and(|limit| !limit.admits(held, packet.bytes)) {
            let reason = DropReason::DelayLimit;
            return Err(Dropped { reason, packet });
        }
        let due = self.due(now, delay_ns);
        self.store.push(due, packet);
        Ok(())
    }

    #[inline]
    fn next_due(&self) -> Option<Time> {
        match &self.store {
            Store::InOrder(fifo) => fifo.next_due(),
            Store::Overtaking(heap) => heap.next_due(),
        }
    }

    #[inline]
    fn take_due(&mut self, now: Time) -> Option<Released<T>> {
        match &mut self.store {
            Store::InOrder(fifo) => fifo.take_due(now),
            Store::Overtaking(heap) => heap.take_due(now),
        }
    }

    fn backlog(&self) -> Count {
        self.store.backlog()
    }
}

/// netem's `reorder` with gap 1: a packet skips the delay with a fixed probability, and so overtakes what is being delayed.
#[derive(Debug)]
struct Skip {
    probability: Ratio,
    prng: Prng,
}

impl Skip {
    fn new(probability: Ratio, prng: Prng) -> Option<Self> {
        (probability > Ratio::ZERO).then_some(Self { probability, prng })
    }

    fn skips(&mut self) -> bool {
        self.prng.chance(self.probability)
    }
}

/// A heap is paid for only where packets may overtake.
#[derive(Debug)]
enum Store<T> {
    InOrder(Fifo<T>),
    Overtaking(Overtaking<T>),
}

impl<T> Store<T> {
    const fn new(overtaking: bool) -> Self {
        if overtaking { Self::Overtaking(Overtaking::new()) } else { Self::InOrder(Fifo::new()) }
    }

    fn settle(&mut self, now: Time) {
        match self {
            Self::InOrder(fifo) => fifo.settle(now),
            Self::Overtaking(heap) => heap.settle(now),
        }
    }

    fn push(&mut self, due: Time, packet: Packet<T>) {
        match self {
            Self::InOrder(fifo) => fifo.push(due, packet),
            Self::Overtaking(heap) => heap.push(due, packet),
        }
    }

    fn backlog(&self) -> Count {
        match self {
            Self::InOrder(fifo) => fifo.backlog(),
            Self::Overtaking(heap) => heap.backlog(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::cell::{JitterDistribution, JitterSpec};
    use pipefill_core::units::QueueLimit;

    const MS: Duration = Duration::from_millis(1);

    fn spec(delay: Duration) -> DirectionSpec {
        DirectionSpec { delay, ..DirectionSpec::EMPTY }
    }

    fn element(spec: &DirectionSpec) -> Delay<u64> {
        Delay::new(spec, 2 * MS, "forward", Seed::new(1))
    }

    fn packet(payload: u64) -> Packet<u64> {
        Packet { gso_id: payload, bytes: 1514, payload }
    }

    fn drain(delay: &mut Delay<u64>) -> Vec<(u64, u64)> {
        let taken = std::iter::from_fn(|| delay.take_due(Time::MAX));
        taken.map(|released| (released.packet.payload, released.due.nanos())).collect()
    }

    #[test]
    fn the_limit_counts_what_has_not_left_yet() {
        let mut spec = spec(MS);
        spec.delay_limit = Some(QueueLimit::Packets(2));
        let mut delay = element(&spec);
        assert_eq!(delay.offer(Time::ZERO, packet(0)), Ok(()));
        assert_eq!(delay.offer(Time::from_nanos(5), packet(1)), Ok(()));
        let dropped = delay.offer(Time::from_nanos(999_999), packet(2)).expect_err("two are held");
        assert_eq!((dropped.reason, dropped.packet.payload), (DropReason::DelayLimit, 2));
        // The first has left by now, though nobody has taken it yet.
        assert_eq!(delay.offer(Time::from_nanos(1_000_000), packet(3)), Ok(()));
        assert_eq!(drain(&mut delay), [(0, 1_000_000), (1, 1_000_005), (3, 2_000_000)]);
    }

    #[test]
    fn a_limit_in_bdps_does_not_bind_without_a_rate() {
        let mut spec = spec(MS);
        spec.delay_limit = Some(QueueLimit::Bdp(0.001));
        let mut delay = element(&spec);
        assert!((0..1000).all(|payload| delay.offer(Time::ZERO, packet(payload)).is_ok()));
    }

    #[test]
    fn a_skipped_delay_overtakes() {
        let mut spec = spec(MS);
        spec.reorder = Ratio::from_percent(25.0);
        let mut delay = element(&spec);
        for payload in 0..1000 {
            assert_eq!(delay.offer(Time::from_nanos(payload), packet(payload)), Ok(()));
        }
        let left = drain(&mut delay);
        let skipped = left.iter().filter(|(payload, due)| due == payload).count();
        assert!(left.iter().all(|(payload, due)| due - payload == 0 || due - payload == 1_000_000));
        // 250 ± 4 standard deviations of 13.7.
        assert!((196..=304).contains(&skipped), "{skipped}");
        assert!(left.is_sorted_by_key(|(_, due)| *due));
    }

    #[test]
    fn jitter_that_must_not_reorder_waits_for_the_packet_before() {
        let mut spec = spec(MS);
        spec.jitter =
            Some(JitterSpec { spread: MS / 2, distribution: JitterDistribution::Uniform, reorder: true });
        let dues = |spec: &DirectionSpec| {
            let mut delay = element(spec);
            for payload in 0..200 {
                let now = Time::from_nanos(payload * 10_000);
                assert_eq!(delay.offer(now, packet(payload)), Ok(()));
            }
            let mut left = drain(&mut delay);
            left.sort_unstable();
            left
        };
        let free = dues(&spec);
        spec.jitter.iter_mut().for_each(|jitter| jitter.reorder = false);
        let mut latest = 0;
        for ((_, free), (_, kept)) in free.into_iter().zip(dues(&spec)) {
            latest = latest.max(free);
            assert_eq!(kept, latest);
        }
    }

    #[test]
    fn what_does_not_skip_keeps_its_order_behind_jitter_that_must_not_reorder() {
        let mut spec = spec(MS);
        spec.reorder = Ratio::from_percent(25.0);
        spec.jitter =
            Some(JitterSpec { spread: MS / 2, distribution: JitterDistribution::Uniform, reorder: false });
        let mut delay = element(&spec);
        for payload in 0..200 {
            assert_eq!(delay.offer(Time::from_nanos(payload), packet(payload)), Ok(()));
        }
        let (skipped, kept): (Vec<_>, Vec<_>) =
            drain(&mut delay).into_iter().partition(|(payload, due)| due == payload);
        assert!(kept.is_sorted_by_key(|(payload, _)| *payload));
        assert_eq!((skipped.len() > 20, skipped.len() + kept.len()), (true, 200));
    }

    #[test]
    fn jitter_and_reordering_draw_from_streams_of_their_own_names() {
        let half = Ratio::from_percent(50.0);
        let mut spec = spec(MS);
        spec.reorder = half;
        spec.jitter = Some(JitterSpec {
            spread: Duration::from_nanos(1000),
            distribution: JitterDistribution::Uniform,
            reorder: true,
        });
        let mut delay = element(&spec);
        let mut jitter = Prng::stream(Seed::new(1), "forward/jitter");
        let mut reorder = Prng::stream(Seed::new(1), "forward/reorder");
        for _ in 0..100 {
            let delayed = 1_000_000 - 1000 + jitter.below(2001);
            assert_eq!(delay.draw(), (!reorder.chance(half)).then_some(delayed));
        }
    }

    #[test]
    fn a_negative_total_delay_is_none() {
        let mut spec = spec(Duration::ZERO);
        spec.jitter = Some(JitterSpec {
            spread: MS,
            distribution: JitterDistribution::Quantiles(vec![-2.0, -1.0]),
            reorder: true,
        });
        let mut delay = element(&spec);
        assert_eq!(delay.offer(Time::from_nanos(7), packet(7)), Ok(()));
        assert_eq!(drain(&mut delay), [(7, 7)]);
    }
}
