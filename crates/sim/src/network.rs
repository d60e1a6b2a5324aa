//! The path between both hosts: the very elements of `link`, one direction each.
//!
//! Where the scenario sets no rate, a direction that carries data has the hosts' own limit; without it a window of any size would
//! leave in no time at all.

use crate::capture::Capture;
use crate::segment::Segment;
use pipefill_core::cell::{BottleneckSpec, Direction, DirectionSpec, PathSpec, Pmtud};
use pipefill_core::problem::Problem;
use pipefill_core::record::{AqmSample, AqmSummary, Counter};
use pipefill_core::units::{Bytes, QueueLimit, Rate, Seed, Time};
use pipefill_link::{Backlog, Counters, FedBy, OneWay, Packet, Released};

/// What a host without a bottleneck sends at most.
pub(crate) const HOST_RATE: Rate = Rate::from_bps(25_000_000_000);
/// It sends at once what it has gathered for this long, and drops nothing.
const HOST_BURST: Bytes = Bytes::new(65_536);
const HOST_QUEUE: Bytes = Bytes::new(u64::MAX >> 1);

/// Both directions.
#[derive(Debug)]
pub(crate) struct Network {
    forward: OneWay<Segment>,
    reverse: OneWay<Segment>,
    /// What a link between the hosts carries, where the sender of a larger packet is told.
    pub(crate) told_mtu: Option<u32>,
    /// Looks on where the run asks for it.
    capture: Option<Box<Capture>>,
}

impl Network {
    /// `carries` says which directions carry data, `fed_by` what hands the bottlenecks their packets.
    pub(crate) fn new(
        path: &PathSpec,
        seed: Seed,
        fed_by: FedBy,
        carries: impl Fn(Direction) -> bool,
        capture: Option<Box<Capture>>,
    ) -> Self {
        let one_way = |spec: &DirectionSpec, name, direction| {
            let mut spec = spec.clone();
            if spec.bottleneck.is_none() && carries(direction) {
                let queue = QueueLimit::Bytes(HOST_QUEUE);
                spec.bottleneck = Some(BottleneckSpec {
                    rate: HOST_RATE,
                    overhead: Bytes::new(0),
                    queue,
                    burst: HOST_BURST,
                });
            }
            OneWay::fed_by(&spec, path.rtt(), name, seed, fed_by)
        };
        Self {
            forward: one_way(&path.forward, "forward", Direction::Forward),
            reverse: one_way(&path.reverse, "reverse", Direction::Reverse),
            told_mtu: path
                .forward
                .inner_mtu
                .as_ref()
                .and_then(|inner| (inner.pmtud == Pmtud::Icmp).then_some(u32::from(inner.mtu))),
            capture,
        }
    }

    /// Takes the streams of packets that a direction dropped since they were too large, and whose senders are told.
    pub(crate) fn take_oversized(&mut self, direction: Direction) -> impl Iterator<Item = u32> {
        self.direction(direction).take_oversized().map(|packet| packet.payload.stream)
    }

    /// The traffic begins at `now`: changes of the path count from here.
    pub(crate) fn begin(&mut self, now: Time) {
        self.forward.begin(now);
        self.reverse.begin(now);
    }

    #[inline]
    pub(crate) fn offer(&mut self, now: Time, direction: Direction, packet: Packet<Segment>) {
        if self.capture.is_some() {
            self.offer_captured(now, direction, packet);
        } else {
            self.direction(direction).offer(now, packet);
        }
    }

    /// Apart, since only what a capture numbers has to be copied for it.
    #[inline(never)]
    fn offer_captured(&mut self, now: Time, direction: Direction, mut packet: Packet<Segment>) {
        if let Some(capture) = &mut self.capture {
            capture.leaves(now, direction, &mut packet);
        }
        self.direction(direction).offer(now, packet);
    }

    /// When to ask again.
    #[inline]
    pub(crate) fn next_due(&self) -> Option<Time> {
        Time::earliest(self.forward.next_due(), self.reverse.next_due())
    }

    /// Whether a packet may arrive this way at `now`.
    #[inline]
    pub(crate) fn is_due(&self, now: Time, direction: Direction) -> bool {
        let way = match direction {
            Direction::Forward => &self.forward,
            Direction::Reverse => &self.reverse,
        };
        way.is_due(now)
    }

    /// The next packet that arrives this way at `now`.
    #[inline]
    pub(crate) fn take_due(&mut self, now: Time, direction: Direction) -> Option<Released<Segment>> {
        self.direction(direction).take_due(now)
    }

    /// Shows a packet that arrives to who looks on.
    #[inline]
    pub(crate) fn show_arrival(&mut self, now: Time, direction: Direction, packet: &Packet<Segment>) {
        if let Some(capture) = &mut self.capture {
            capture.arrives(now, direction, packet);
        }
    }

    /// Ends the captures.
    ///
    /// # Errors
    /// What could not be written.
    pub(crate) fn end_capture(&mut self, now: Time) -> Result<(), Problem> {
        self.capture.take().map_or(Ok(()), |capture| capture.end(now))
    }

    /// Packets that a direction holds.
    pub(crate) fn held(&self, direction: Direction) -> u64 {
        self.backlog(direction).iter().map(|backlog| backlog.packets).sum()
    }

    /// What a direction has done so far.
    pub(crate) fn counts(&self, direction: Direction) -> Counters {
        match direction {
            Direction::Forward => self.forward.counters(),
            Direction::Reverse => self.reverse.counters(),
        }
    }

    pub(crate) fn backlog(&self, direction: Direction) -> Vec<Backlog> {
        match direction {
            Direction::Forward => self.forward.backlog(),
            Direction::Reverse => self.reverse.backlog(),
        }
    }

    /// How the disciplines of both queues stand at `now`.
    pub(crate) fn aqm_samples(&self, now: Time) -> impl Iterator<Item = AqmSample> {
        let ways = [(Direction::Forward, &self.forward), (Direction::Reverse, &self.reverse)];
        ways.into_iter().filter_map(move |(direction, way)| way.aqm_sample(now.micros(), direction))
    }

    /// The counters of both directions, named as the lab names them.
    pub(crate) fn counters(&self) -> Vec<Counter> {
        Direction::ALL.into_iter().flat_map(|way| self.counts(way).records(way)).collect()
    }

    /// What the disciplines of both queues did.
    pub(crate) fn aqm(&self) -> Vec<AqmSummary> {
        let ways = [(Direction::Forward, &self.forward), (Direction::Reverse, &self.reverse)];
        ways.into_iter().filter_map(|(direction, way)| Some(way.aqm()?.summary(direction))).collect()
    }

    #[inline]
    fn direction(&mut self, direction: Direction) -> &mut OneWay<Segment> {
        match direction {
            Direction::Forward => &mut self.forward,
            Direction::Reverse => &mut self.reverse,
        }
    }
}
