//! What is known of a path, whoever made the record: a scenario asked for it, or samples show it.

use crate::ground::interval::micros;
use crate::ground::models::headers::Headers;
use pipefill_core::cell::{Direction, Family, Framing, PathSpec, PolicerSpec};
use pipefill_core::record::{Fact, Origin, PathFacts, PolicerFacts, WayFacts};
use pipefill_core::units::{Bytes, QueueLimit, Rate};
use std::time::Duration;

/// A path. What nobody asked for and no sample shows is absent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KnownPath {
    /// What its packets carry beside payload.
    pub headers: Headers,
    /// The round trip without load.
    pub base_rtt: Option<Fact<Duration>>,
    /// Forward, reverse.
    ways: [KnownWay; 2],
}

/// A token bucket without a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policer {
    /// What passes in the long run, of Ethernet frames: at least this …
    pub rate: Rate,
    /// … and at most this.
    pub most: Rate,
    /// Depth of its bucket.
    pub burst: Bytes,
}

impl Policer {
    const fn asked(&PolicerSpec { rate, burst }: &PolicerSpec) -> Self {
        Self { rate, most: rate, burst }
    }

    const fn inferred(facts: &PolicerFacts) -> Self {
        Self {
            rate: Rate::from_bps(facts.rate_bps),
            most: Rate::from_bps(facts.most_bps),
            burst: Bytes::new(facts.burst_bytes),
        }
    }
}

/// One direction.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct KnownWay {
    /// How long a packet takes without load; half of the round trip where no scenario says it.
    pub delay: Option<Fact<Duration>>,
    /// The bottleneck's rate, of Ethernet frames.
    pub rate: Option<Fact<Rate>>,
    /// What each frame costs of it.
    pub framing: Framing,
    /// What its queue holds: as asked for, or the most that was seen.
    pub queue: Option<Fact<Bytes>>,
    /// Packets that it holds, where that is its bound.
    pub queue_packets: Option<u64>,
    /// Whether a discipline is known to manage its queue: then the queue's size is only a bound.
    pub has_aqm: bool,
    /// Depth of its token bucket.
    pub burst: Option<Fact<Bytes>>,
    /// The largest IP packet, in bytes, of an inner link that drops larger ones and tells nobody.
    pub black_hole_mtu: Option<u16>,
    /// What drops all beyond a rate, beside the bottleneck.
    pub policer: Option<Policer>,
    /// What round trips and losses show, where no scenario describes the path.
    pub inferred: Option<WayFacts>,
}

impl KnownPath {
    /// The path that a scenario asks for.
    pub fn asked(path: &PathSpec) -> Self {
        let way = |direction| {
            let way = path.way(direction);
            let policer = way.policer.as_ref().map(Policer::asked);
            let delay = Some(Fact::asked(way.delay));
            let rate = policer.map(|policer| Fact::asked(policer.rate));
            let black_hole_mtu = path.black_hole_mtu(direction);
            let known = KnownWay { delay, rate, policer, black_hole_mtu, ..KnownWay::default() };
            way.bottleneck.as_ref().map_or(known, |bottleneck| KnownWay {
                rate: Some(Fact::asked(
                    policer.map_or(bottleneck.rate, |policer| policer.rate.min(bottleneck.rate)),
                )),
                framing: way.framing(),
                queue: Some(Fact::asked(bottleneck.queue_bytes(path.rtt(), path.full_frame()))),
                queue_packets: match bottleneck.queue {
                    QueueLimit::Packets(packets) => Some(packets),
                    QueueLimit::Bytes(_) | QueueLimit::Bdp(_) => None,
                },
                has_aqm: way.aqm.is_some(),
                burst: Some(Fact::asked(bottleneck.burst)),
                ..known
            })
        };
        Self {
            headers: Headers::of(path),
            base_rtt: Some(Fact::asked(path.rtt())).filter(|rtt| !rtt.value.is_zero()),
            ways: Direction::ALL.map(way),
        }
    }

    /// A path of packets of `family` of which samples show `facts`, and of which `emulated` was asked for: that is known better than what
    /// samples show, except for losses and other flows.
    pub fn observed(family: Family, facts: &PathFacts, emulated: &PathFacts) -> Self {
        let mut known = Self::inferred(family, facts);
        let asked = (!emulated.is_empty()).then(|| Self::inferred(family, emulated));
        known.base_rtt = asked.and_then(|asked| asked.base_rtt).or(known.base_rtt);
        for (way, asked) in known.ways.iter_mut().zip(asked.map(|asked| asked.ways).unwrap_or_default()) {
            way.delay = asked.delay.or(way.delay);
            way.rate = asked.rate.or(way.rate);
            way.queue = asked.queue.or(way.queue);
            way.queue_packets = asked.queue_packets;
            way.has_aqm = asked.has_aqm;
            way.black_hole_mtu = asked.black_hole_mtu;
        }
        known
    }

    /// A path of packets of `family` of which samples show `facts`.
    pub fn inferred(family: Family, facts: &PathFacts) -> Self {
        let base_rtt = facts.base_rtt_us.map(|base| base.map(Duration::from_micros));
        let way = |direction| {
            let facts = facts.way(direction);
            let rate = facts.rate_bps.map(|rate| rate.map(Rate::from_bps));
            let queue = |(rate, wait): (Fact<Rate>, Fact<u64>)| {
                wait.map(|wait_us| rate.value.bdp(Duration::from_micros(wait_us)))
            };
            KnownWay {
                delay: base_rtt.map(|base| Fact::inferred(base.value / 2)),
                rate,
                queue: rate.zip(facts.queue_us).map(queue),
                queue_packets: facts.queue_packets.map(|packets| packets.value),
                has_aqm: facts.has_aqm,
                black_hole_mtu: facts.black_hole_mtu.map(|mtu| mtu.value),
                policer: facts.policer.map(|policer| Policer::inferred(&policer.value)),
                inferred: Some(*facts),
                ..KnownWay::default()
            }
        };
        Self { headers: Headers::usual(family), base_rtt, ways: Direction::ALL.map(way) }
    }

    /// One direction.
    pub const fn way(&self, direction: Direction) -> &KnownWay {
        &self.ways[direction.index()]
    }

    /// The round trip without load, microseconds.
    pub(crate) fn base_rtt_us(&self) -> Option<u64> {
        self.base_rtt.map(|base| micros(base.value))
    }

    /// The round trip without load; zero where it has none.
    pub fn base_rtt(&self) -> Duration {
        self.base_rtt.map_or(Duration::ZERO, |base| base.value)
    }

    /// Whether an inner link of `direction` drops segments of TCP with `mss` bytes of payload, and tells nobody.
    pub(crate) fn drops_segments_of(&self, direction: Direction, mss: u64) -> bool {
        let inner = self.way(direction).black_hole_mtu;
        inner.is_some_and(|mtu| mss > self.headers.with_mtu(mtu).mss())
    }

    /// What the queue of `direction` holds, in BDPs of the path; where it has no round trip, one byte counts as its BDP.
    pub fn queue_bdp(&self, direction: Direction) -> Option<f64> {
        let way = self.way(direction);
        let bdp = way.rate?.value.bdp(self.base_rtt()).get().max(1);
        Some(way.queue?.value.get() as f64 / bdp as f64)
    }
}

impl KnownWay {
    /// Since when it has a rate that samples show, microseconds since the record began; absent where it always has it.
    pub(crate) fn rate_since_us(&self) -> Option<u64> {
        let is_inferred = self.rate.is_some_and(|rate| rate.origin == Origin::Inferred);
        self.inferred.filter(|_| is_inferred)?.rate_since_us
    }
}
