//! Specifications and traffic to try the laws on.

use pipefill_core::cell::{
    BottleneckSpec, DirectionSpec, JitterDistribution, JitterSpec, LossSpec, LossUnit,
};
use pipefill_core::units::{Bytes, QueueLimit, Rate, Ratio, Time};
use pipefill_link::Packet;
use proptest::option::of;
use proptest::prelude::*;
use std::time::Duration;

/// The base round trip of every path here.
pub(crate) const RTT: Duration = Duration::from_micros(300);

/// A path that does nothing.
pub(crate) const fn clean() -> DirectionSpec {
    DirectionSpec::EMPTY
}

/// One packet of some traffic; its payload is its index.
#[derive(Debug, Clone)]
pub(crate) struct Offer {
    pub(crate) at: Time,
    pub(crate) packet: Packet<usize>,
}

/// Up to 150 packets of mixed sizes, in bursts and with gaps, in super-packets of a few segments.
pub(crate) fn traffic() -> impl Strategy<Value = Vec<Offer>> {
    let gap = prop_oneof![Just(0_u64), 0..2_000_u64, 0..60_000_u64];
    let step = (gap, 60..=1514_u32, any::<bool>());
    prop::collection::vec(step, 1..150).prop_map(|steps| {
        let (mut at, mut gso_id) = (0, 0);
        let offer = |(index, (gap, bytes, new_super_packet)): (usize, (u64, u32, bool))| {
            at += gap;
            gso_id += u64::from(new_super_packet);
            let packet = Packet { gso_id, bytes, payload: index };
            Offer { at: Time::from_nanos(at), packet }
        };
        steps.into_iter().enumerate().map(offer).collect()
    })
}

/// Any direction.
pub(crate) fn any_direction() -> impl Strategy<Value = DirectionSpec> {
    let held = (delay(), of(jitter()), of(limit()));
    let fate = (loss(), any::<bool>(), ratio(0.3), ratio(0.5));
    (held, fate, of(bottleneck())).prop_map(|((delay, jitter, delay_limit), fate, bottleneck)| {
        let (loss, whole_super_packets, duplicate, reorder) = fate;
        DirectionSpec {
            delay,
            jitter,
            delay_limit,
            loss,
            loss_unit: if whole_super_packets { LossUnit::SuperPacket } else { LossUnit::Segment },
            duplicate,
            reorder,
            bottleneck,
            ..DirectionSpec::EMPTY
        }
    })
}

/// Any direction in which no packet may overtake another.
pub(crate) fn in_order_direction() -> impl Strategy<Value = DirectionSpec> {
    any_direction().prop_map(|mut spec| {
        spec.reorder = Ratio::ZERO;
        if let Some(jitter) = &mut spec.jitter {
            jitter.reorder = false;
        }
        spec
    })
}

pub(crate) fn delay() -> impl Strategy<Value = Duration> {
    prop_oneof![Just(0_u64), 1..200_000_u64].prop_map(Duration::from_nanos)
}

pub(crate) fn jitter() -> impl Strategy<Value = JitterSpec> {
    let table = prop::collection::vec(-2.0..2.0_f64, 2..6).prop_map(|mut table| {
        table.sort_by(f64::total_cmp);
        JitterDistribution::Quantiles(table)
    });
    let distribution =
        prop_oneof![Just(JitterDistribution::Uniform), Just(JitterDistribution::Normal), table];
    (0..100_000_u64, distribution, any::<bool>()).prop_map(|(spread, distribution, reorder)| JitterSpec {
        spread: Duration::from_nanos(spread),
        distribution,
        reorder,
    })
}

pub(crate) fn limit() -> impl Strategy<Value = QueueLimit> {
    prop_oneof![
        (0..40_000_u64).prop_map(|bytes| QueueLimit::Bytes(Bytes::new(bytes))),
        (0..40_u64).prop_map(QueueLimit::Packets),
        (0.0..3.0).prop_map(QueueLimit::Bdp),
    ]
}

pub(crate) fn loss() -> impl Strategy<Value = LossSpec> {
    let gilbert_elliott = (ratio(0.3), ratio(1.0), ratio(1.0), ratio(0.1))
        .prop_map(|(p, r, loss_bad, loss_good)| LossSpec::GilbertElliott { p, r, loss_bad, loss_good });
    let list = prop::collection::btree_set(1..150_u64, 0..20)
        .prop_map(|lost| LossSpec::Packets(lost.into_iter().collect()));
    prop_oneof![Just(LossSpec::None), ratio(0.5).prop_map(LossSpec::Independent), gilbert_elliott, list]
}

/// From 10 Mbit/s to 10 Gbit/s; some buckets are smaller than some packets.
pub(crate) fn bottleneck() -> impl Strategy<Value = BottleneckSpec> {
    let overhead = prop_oneof![Just(0), Just(24), 0..100_u64];
    (10_000_000..10_000_000_000_u64, overhead, limit(), 500..20_000_u64).prop_map(
        |(bps, overhead, queue, burst)| BottleneckSpec {
            rate: Rate::from_bps(bps),
            overhead: Bytes::new(overhead),
            queue,
            burst: Bytes::new(burst),
        },
    )
}

fn ratio(highest: f64) -> impl Strategy<Value = Ratio> {
    prop_oneof![Just(0.0), 0.0..highest].prop_map(Ratio::from_fraction)
}
