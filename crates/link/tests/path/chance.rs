//! Loss has the statistics that were asked for. Seeds are fixed: a failure is a change, not bad luck.

use crate::drive::punctually;
use crate::spec::{Offer, clean};
use pipefill_core::cell::{DirectionSpec, LossSpec, LossUnit};
use pipefill_core::record::DropReason;
use pipefill_core::units::{Ratio, Time};
use pipefill_link::Packet;

const PACKETS: usize = 20_000;

/// How far from its expectation a statistic may be, in standard deviations.
const SIGMAS: f64 = 4.0;

#[test]
fn independent_loss_is_binomial() {
    for percent in [0.1, 1.0, 15.0, 50.0] {
        let p = percent / 100.0;
        let spec = DirectionSpec { loss: LossSpec::Independent(Ratio::from_percent(percent)), ..clean() };
        for seed in 1..=5 {
            let lost = fates(&spec, seed).iter().filter(|lost| **lost).count() as f64;
            let n = PACKETS as f64;
            assert_near(lost, n * p, (n * p * (1.0 - p)).sqrt());
        }
    }
}

#[test]
fn independent_losses_do_not_come_in_bursts() {
    let p = 0.2;
    let spec = DirectionSpec { loss: LossSpec::Independent(Ratio::from_fraction(p)), ..clean() };
    for seed in 1..=5 {
        let bursts = burst_lengths(&fates(&spec, seed));
        // Geometric: mean 1 / (1 - p), variance p / (1 - p)².
        let deviation = p.sqrt() / (1.0 - p) / (bursts.len() as f64).sqrt();
        assert_near(mean(&bursts), 1.0 / (1.0 - p), deviation);
    }
}

#[test]
fn gilbert_elliott_has_its_stationary_loss_and_burst_length() {
    let (p, r) = (0.02, 0.25);
    let spec = DirectionSpec { loss: gilbert_elliott(p, r, 1.0, 0.0), ..clean() };
    for seed in 1..=5 {
        let fates = fates(&spec, seed);
        let lost = fates.iter().filter(|lost| **lost).count() as f64;
        let bad = p / (p + r);
        assert_near(lost, fates.len() as f64 * bad, chain_deviation(p, r, fates.len()));
        let bursts = burst_lengths(&fates);
        let deviation = (1.0 - r).sqrt() / r / (bursts.len() as f64).sqrt();
        assert_near(mean(&bursts), 1.0 / r, deviation);
    }
}

#[test]
fn gilbert_elliott_loses_in_both_states_with_their_own_probability() {
    let (p, r, loss_bad, loss_good) = (0.05, 0.2, 0.6, 0.02);
    let spec = DirectionSpec { loss: gilbert_elliott(p, r, loss_bad, loss_good), ..clean() };
    let bad = p / (p + r);
    let ratio = bad * loss_bad + (1.0 - bad) * loss_good;
    for seed in 1..=5 {
        let fates = fates(&spec, seed);
        let (n, lost) = (fates.len(), fates.iter().filter(|lost| **lost).count() as f64);
        let by_state = (loss_bad - loss_good) * chain_deviation(p, r, n);
        let by_draw = (n as f64 * ratio * (1.0 - ratio)).sqrt();
        assert_near(lost, n as f64 * ratio, by_state.hypot(by_draw));
    }
}

#[test]
fn the_super_packet_as_a_unit_loses_the_same_share_of_super_packets() {
    let p = 0.1;
    let spec = DirectionSpec {
        loss: LossSpec::Independent(Ratio::from_fraction(p)),
        loss_unit: LossUnit::SuperPacket,
        ..clean()
    };
    let fates = fates(&spec, 1);
    let super_packets = fates.chunks(SEGMENTS_PER_SUPER_PACKET);
    let (n, lost) = (super_packets.len() as f64, super_packets.filter(|segments| segments[0]).count() as f64);
    assert_near(lost, n * p, (n * p * (1.0 - p)).sqrt());
    // Losses of segments come in whole super-packets.
    assert!(burst_lengths(&fates).iter().all(|length| length % SEGMENTS_PER_SUPER_PACKET as f64 == 0.0));
}

const SEGMENTS_PER_SUPER_PACKET: usize = 4;

/// The fate of every packet: true = lost.
fn fates(spec: &DirectionSpec, seed: u64) -> Vec<bool> {
    let offer = |index: usize| Offer {
        at: Time::from_nanos(index as u64),
        packet: Packet { gso_id: (index / SEGMENTS_PER_SUPER_PACKET) as u64, bytes: 1514, payload: index },
    };
    let offers: Vec<Offer> = (0..PACKETS).map(offer).collect();
    let outcome = punctually(spec, seed, &offers);
    let mut fates = vec![true; PACKETS];
    for index in outcome.delivered() {
        fates[index] = false;
    }
    let lost = fates.iter().filter(|lost| **lost).count();
    assert_eq!(outcome.counters.dropped(DropReason::RandomLoss).packets, lost as u64);
    fates
}

fn gilbert_elliott(p: f64, r: f64, loss_bad: f64, loss_good: f64) -> LossSpec {
    LossSpec::GilbertElliott {
        p: Ratio::from_fraction(p),
        r: Ratio::from_fraction(r),
        loss_bad: Ratio::from_fraction(loss_bad),
        loss_good: Ratio::from_fraction(loss_good),
    }
}

/// Standard deviation of the number of bad states among `n` of a two-state Markov chain, whose autocorrelation is
/// (1 - p - r)^k.
fn chain_deviation(p: f64, r: f64, n: usize) -> f64 {
    let (bad, memory) = (p / (p + r), 1.0 - p - r);
    (n as f64 * bad * (1.0 - bad) * (1.0 + memory) / (1.0 - memory)).sqrt()
}

fn burst_lengths(fates: &[bool]) -> Vec<f64> {
    fates.chunk_by(|a, b| a == b).filter(|run| run[0]).map(|run| run.len() as f64).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[track_caller]
fn assert_near(value: f64, expected: f64, deviation: f64) {
    let sigmas = (value - expected) / deviation;
    assert!(sigmas.abs() <= SIGMAS, "{value} is {sigmas:.1} standard deviations from {expected}");
}
