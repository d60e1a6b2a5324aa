//! The bottleneck whose queue has a discipline: what leaves, and whether it does, is decided when the link is free.
//!
//! It stands for Linux's `tbf` with the qdisc as its child: the packet that leaves next is taken from the discipline as soon as the one before
//! has left (`qdisc_peek_dequeued()`), and then waits for tokens.

use crate::aqm::{AnyDiscipline, AqmCounts, AqmLog, Discipline};
use crate::bottleneck::FedBy;
use crate::counters::{Count, Counters};
use crate::ip_packet::IpPacket;
use crate::limit::Limit;
use crate::packet::{Packet, Released};
use crate::token_bucket::TokenBucket;
use pipefill_core::cell::{AqmSpec, BottleneckSpec, Direction, DirectionSpec, Framing};
use pipefill_core::prng::Prng;
use pipefill_core::record::{AqmSample, DropReason};
use pipefill_core::units::Time;
use std::collections::VecDeque;
use std::time::Duration;

/// A queue with a discipline and a token bucket.
#[derive(Debug)]
pub(crate) struct ManagedBottleneck<T> {
    bucket: TokenBucket,
    discipline: AnyDiscipline<T>,
    counts: AqmCounts,
    fed_by: FedBy,
    /// The packet that leaves next, and when.
    head: Option<Released<T>>,
    /// What has left, and the driver has not taken.
    left: VecDeque<Released<T>>,
    /// The latest instant that it has seen.
    latest: Time,
    /// The latest instant at which something left, and its super-packet where these count apart; what left together then.
    departed_at: (Time, u64),
    departed: Count,
}

impl<T: IpPacket> ManagedBottleneck<T> {
    /// The bottleneck of `spec` with the discipline `aqm`, whose chance comes from `prng`. `rtt` is that of the whole path, for a queue in BDPs.
    pub(crate) fn new(
        spec: &BottleneckSpec,
        aqm: &AqmSpec,
        rtt: Duration,
        fed_by: FedBy,
        prng: Prng,
    ) -> Self {
        let limit = Limit::resolve(spec.queue, Some(spec.rate), rtt).unwrap_or(Limit::Bytes(u64::MAX));
        Self {
            bucket: TokenBucket::new(spec.rate, spec.burst, Framing::beside(spec.overhead)),
            discipline: AnyDiscipline::new(aqm, limit, prng),
            counts: AqmCounts::new(aqm),
            fed_by,
            head: None,
            left: VecDeque::new(),
            latest: Time::ZERO,
            departed_at: (Time::ZERO, 0),
            departed: Count::default(),
        }
    }

    /// With the framing of `spec`, and with its trace and its changes from [`Self::begin`] on.
    #[must_use]
    pub(crate) fn of_direction(mut self, spec: &DirectionSpec) -> Self {
        self.bucket.follow(spec);
        self
    }

    pub(crate) fn begin(&mut self, now: Time) {
        self.bucket.begin(now);
    }

    /// Offers a packet at `now`.
    pub(crate) fn offer(&mut self, now: Time, packet: Packet<T>, counters: &mut Counters) {
        let now = now.max(self.latest);
        self.advance(now, counters);
        if !self.bucket.can_pass(packet.bytes) {
            counters.drop_packet(DropReason::ExceedsBurst, &packet);
            return;
        }
        let leaving = self.leaving() + self.departed_with(now, packet.gso_id);
        let mut log = AqmLog { counters, counts: &mut self.counts };
        self.discipline.enqueue(now, packet, leaving, &mut log);
        if self.head.is_none() {
            self.take_next(now, counters);
            self.advance(now, counters);
        }
    }

    /// Not later than the next packet leaves; `None` where it is empty.
    pub(crate) fn next_due(&self) -> Option<Time> {
        self.left.front().or(self.head.as_ref()).map(|released| released.due)
    }

    /// Whether there may be something to take at `now`.
    pub(crate) fn is_due(&self, now: Time) -> bool {
        self.next_due().is_some_and(|due| due <= now)
    }

    /// The next packet that is due at `now` or before, in order of due.
    pub(crate) fn take_due(&mut self, now: Time, counters: &mut Counters) -> Option<Released<T>> {
        self.advance(now, counters);
        self.left.pop_front()
    }

    /// What is inside and has not left.
    pub(crate) fn backlog(&self) -> Count {
        self.discipline.held() + self.leaving()
    }

    pub(crate) const fn counts(&self) -> &AqmCounts {
        &self.counts
    }

    pub(crate) fn sample(&self, t_us: u64, direction: Direction, counters: &Counters) -> AqmSample {
        self.counts.sample(t_us, direction, self.backlog(), self.discipline.state(), counters)
    }

    /// What left at `now` itself together with the super-packet `gso_id`, and counts as queued (docs/adr/0011, 0045).
    fn departed_with(&self, now: Time, gso_id: u64) -> Count {
        let is_counted = self.fed_by != FedBy::Device && self.together(now, gso_id) == self.departed_at;
        if is_counted { self.departed } else { Count::default() }
    }

    fn together(&self, at: Time, gso_id: u64) -> (Time, u64) {
        (at, if self.fed_by == FedBy::SuperPackets { gso_id } else { 0 })
    }

    fn leaving(&self) -> Count {
        self.head.as_ref().map_or(Count::default(), |head| Count::packet(head.packet.bytes))
    }

    /// Lets everything happen up to `now`, each at its instant.
    fn advance(&mut self, now: Time, counters: &mut Counters) {
        while self.head.as_ref().is_some_and(|head| head.due <= now) {
            let Some(head) = self.head.take() else { break };
            let due = head.due;
            let together = self.together(due, head.packet.gso_id);
            if together != self.departed_at {
                (self.departed_at, self.departed) = (together, Count::default());
            }
            self.departed += Count::packet(head.packet.bytes);
            self.left.push_back(head);
            self.take_next(due, counters);
        }
        self.latest = self.latest.max(now);
    }

    /// Takes the next packet from the discipline at `now`, when the link is free.
    fn take_next(&mut self, now: Time, counters: &mut Counters) {
        let mut log = AqmLog { counters, counts: &mut self.counts };
        let Some(waiting) = self.discipline.dequeue(now, &mut log) else { return };
        self.counts.leaves(waiting.sojourn(now));
        let bytes = waiting.packet.bytes;
        let due = self.bucket.departure(now, bytes);
        self.bucket.spend(due, bytes);
        self.head = Some(Released { due, packet: waiting.packet });
    }
}
