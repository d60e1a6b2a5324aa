//! Drivers: one that asks at every due instant, one that asks when it pleases.

use crate::spec::{Offer, RTT};
use pipefill_core::cell::DirectionSpec;
use pipefill_core::units::{Seed, Time};
use pipefill_link::{Count, Counters, OneWay, Released};

/// What came out of a path that was driven until it was empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) released: Vec<Released<usize>>,
    pub(crate) counters: Counters,
}

impl Outcome {
    /// The indices of the packets that were delivered at least once, ascending.
    pub(crate) fn delivered(&self) -> Vec<usize> {
        let mut indices: Vec<usize> = self.released.iter().map(|r| r.packet.payload).collect();
        indices.sort_unstable();
        indices.dedup();
        indices
    }
}

/// The forward direction of `spec`, whose traffic begins at 0.
pub(crate) fn forward(spec: &DirectionSpec, seed: u64) -> OneWay<usize> {
    let mut path = OneWay::new(spec, RTT, "forward", Seed::new(seed));
    path.begin(Time::ZERO);
    path
}

/// Offers everything, asking at every due instant. Checks at every one that nothing was created or lost unaccounted.
pub(crate) fn punctually(spec: &DirectionSpec, seed: u64, offers: &[Offer]) -> Outcome {
    punctually_watched(spec, seed, offers, |_| {})
}

/// As [`punctually`], showing the path to `watch` after every step.
pub(crate) fn punctually_watched(
    spec: &DirectionSpec,
    seed: u64,
    offers: &[Offer],
    mut watch: impl FnMut(&OneWay<usize>),
) -> Outcome {
    let mut path = forward(spec, seed);
    let mut released = Vec::new();
    for offer in offers {
        take_punctually(&mut path, offer.at, &mut released, &mut watch);
        path.offer(offer.at, offer.packet.clone());
        watch(&path);
        take_punctually(&mut path, offer.at, &mut released, &mut watch);
    }
    take_punctually(&mut path, Time::MAX, &mut released, &mut watch);
    Outcome { released, counters: path.counters() }
}

/// Offers everything, but asks only now and then: after the n-th offer, `patience[n % len]` nanoseconds late (if the next
/// offer leaves so much time) and for at most as many packets as its last digit says.
pub(crate) fn lazily(spec: &DirectionSpec, seed: u64, offers: &[Offer], patience: &[u32]) -> Outcome {
    let mut path = forward(spec, seed);
    let mut released = Vec::new();
    for (n, offer) in offers.iter().enumerate() {
        path.offer(offer.at, offer.packet.clone());
        let late = u64::from(patience[n % patience.len()]);
        let asked = Time::from_nanos(offer.at.nanos() + late);
        if offers.get(n + 1).is_none_or(|next| next.at >= asked) {
            let some = usize::try_from(late % 10).expect("a digit");
            released.extend(std::iter::from_fn(|| path.take_due(asked)).take(some));
        }
    }
    released.extend(std::iter::from_fn(|| path.take_due(Time::MAX)));
    Outcome { released, counters: path.counters() }
}

/// Checks that every packet and byte that came was taken, dropped, or is held. All that is due has been taken.
pub(crate) fn assert_conserved(path: &OneWay<usize>) {
    let counters = path.counters();
    let mut came = counters.offered;
    came += counters.duplicated;
    let mut accounted = counters.delivered;
    accounted += counters.dropped_total();
    for element in path.backlog() {
        accounted += Count { packets: element.packets, bytes: element.bytes };
    }
    assert_eq!(came, accounted, "{counters:?}");
}

fn take_punctually(
    path: &mut OneWay<usize>,
    until: Time,
    released: &mut Vec<Released<usize>>,
    watch: &mut impl FnMut(&OneWay<usize>),
) {
    while let Some(due) = path.next_due().filter(|due| *due <= until) {
        while let Some(packet) = path.take_due(due) {
            assert_eq!(packet.due, due, "a punctual driver finds what is due now");
            released.push(packet);
        }
        watch(path);
        assert_conserved(path);
    }
}
