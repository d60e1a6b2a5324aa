//! One direction of the path: nothing comes from nowhere or vanishes, no bottleneck is beaten, nothing is early.

use super::{Verdict, holds};
use crate::segment::Body;
use pipefill_core::cell::{BottleneckSpec, DirectionSpec};
use pipefill_core::units::Time;
use pipefill_link::{Backlog, Count, Counters};
use std::time::Duration;

/// 10⁻⁹ bit in a byte.
const TOKENS_PER_BYTE: u128 = 8_000_000_000;

/// A direction as its checks remember it.
#[derive(Debug)]
pub(super) struct CheckedDirection {
    name: &'static str,
    bottleneck: Option<BottleneckSpec>,
    /// What each frame costs beside its own bytes, or less.
    overhead: i16,
    /// The one-way delay that nothing undercuts; zero where jitter or reordering may.
    delay: Duration,
    /// 10⁻⁹ bit that the bottleneck may still let through.
    tokens: u128,
    last: Time,
    delivered: Count,
}

impl CheckedDirection {
    pub(super) fn new(spec: &DirectionSpec, name: &'static str) -> Self {
        let is_fixed = spec.jitter.is_none() && spec.reorder.fraction() == 0.0;
        // A bottleneck whose rate changes is held to its highest one.
        let highest = spec.rate_over_time().map(|rates| rates.highest());
        let bottleneck = spec.bottleneck.clone().zip(highest);
        let bottleneck = bottleneck.map(|(bottleneck, rate)| BottleneckSpec { rate, ..bottleneck });
        let burst = spec.bottleneck.as_ref().map_or(0, |bottleneck| bottleneck.burst.get());
        Self {
            name,
            bottleneck,
            overhead: spec.framing().overhead,
            delay: if is_fixed { *spec.delays().start() } else { Duration::ZERO },
            tokens: u128::from(burst) * TOKENS_PER_BYTE,
            last: Time::ZERO,
            delivered: Count::default(),
        }
    }

    /// No packet arrives before the delay has passed since it was sent; TCP tells when in milliseconds.
    pub(super) fn is_not_early(&self, now: Time, body: &Body) -> Verdict {
        let (took_ms, unit) = match body {
            Body::Datagram { sent, .. } => {
                let took = now.since(*sent);
                return holds(took >= self.delay, || format!("{}: a datagram took {took:?}", self.name));
            }
            Body::Data(data) => (now.micros() / 1000 - u64::from(data.header.ts), "segment"),
            Body::Ack(ack) => (now.micros() / 1000 - u64::from(ack.ts), "ACK"),
            _ => return Ok(()),
        };
        // Both instants are rounded down.
        holds(u128::from(took_ms) + 1 >= self.delay.as_millis(), || {
            format!("{}: {unit} after {took_ms} ms, with a delay of {:?}", self.name, self.delay)
        })
    }

    /// Bytes and packets are conserved, and over any time t at most burst + rate × t leaves.
    pub(super) fn look(&mut self, now: Time, counts: Counters, backlog: &[Backlog]) -> Verdict {
        let mut came = counts.offered;
        came += counts.duplicated;
        let mut known = counts.delivered;
        known += counts.dropped_total();
        for element in backlog {
            known += Count { packets: element.packets, bytes: element.bytes };
        }
        holds(came == known, || format!("{}: {came:?} came, {known:?} is known of", self.name))?;
        self.utilisation(now, counts.delivered)
    }

    fn utilisation(&mut self, now: Time, delivered: Count) -> Verdict {
        let Some(bottleneck) = &self.bottleneck else { return Ok(()) };
        let elapsed = now.nanos().saturating_sub(self.last.nanos());
        let earned = u128::from(elapsed) * u128::from(bottleneck.rate.bps());
        let depth = u128::from(bottleneck.burst.get()) * TOKENS_PER_BYTE;
        self.tokens = (self.tokens + earned).min(depth);
        // A least size and cells only add to this.
        let overhead = (delivered.packets - self.delivered.packets).cast_signed() * i64::from(self.overhead);
        let bytes = (delivered.bytes - self.delivered.bytes).saturating_add_signed(overhead);
        (self.last, self.delivered) = (now, delivered);
        let spent = u128::from(bytes) * TOKENS_PER_BYTE;
        let rest = self.tokens.checked_sub(spent);
        self.tokens = rest.unwrap_or(0);
        holds(rest.is_some(), || format!("{}: {bytes} bytes beyond burst + rate × t", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::record::Element;
    use pipefill_core::units::{Bytes, QueueLimit, Rate};

    fn direction() -> CheckedDirection {
        let bottleneck = BottleneckSpec {
            rate: Rate::from_bps(8_000_000),
            overhead: Bytes::new(0),
            queue: QueueLimit::Packets(1),
            burst: Bytes::new(2000),
        };
        let delay = Duration::from_millis(5);
        CheckedDirection::new(
            &DirectionSpec { delay, bottleneck: Some(bottleneck), ..DirectionSpec::EMPTY },
            "forward",
        )
    }

    #[test]
    fn a_bottleneck_that_is_beaten_is_found() {
        let count = |bytes| Count { packets: 1, bytes };
        let mut way = direction();
        assert!(way.utilisation(Time::ZERO, count(2000)).is_ok());
        assert!(way.utilisation(Time::from_nanos(1_000_000), count(3000)).is_ok());
        assert!(way.utilisation(Time::from_nanos(1_999_999), count(4000)).is_err());
    }

    #[test]
    fn a_packet_that_vanished_is_found() {
        let held = |packets| Backlog { element: Element::Queue, packets, bytes: 0, dropped_packets: 0 };
        assert!(direction().look(Time::ZERO, Counters::default(), &[held(0)]).is_ok());
        assert!(direction().look(Time::ZERO, Counters::default(), &[held(1)]).is_err());
    }

    #[test]
    fn what_arrives_too_soon_is_found() {
        let sent = Time::from_nanos(1_000_000);
        let datagram = Body::Datagram { number: 0, len: 100, sent };
        assert!(direction().is_not_early(Time::from_nanos(6_000_000), &datagram).is_ok());
        assert!(direction().is_not_early(Time::from_nanos(5_999_999), &datagram).is_err());
    }
}
