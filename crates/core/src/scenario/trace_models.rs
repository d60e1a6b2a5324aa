//! The traces that pipefill ships, made from published models. The same numbers come out everywhere and for ever: chance has a fixed seed,
//! and no function is used whose last digit depends on the machine.

use crate::cell::{RateTrace, StepTrace, TraceSteps, ValueSteps};
use crate::prng::Prng;
use crate::units::{Rate, Ratio, Seed};

/// A trace of rates that is built in.
#[derive(Debug)]
pub struct TraceModel {
    /// Its name in a scenario.
    pub name: &'static str,
    /// What it stands for, with its source.
    pub source: &'static str,
    make: fn(&mut Prng) -> Made,
}

/// How long each rate holds, in ms, and the rates in bits per second.
struct Made {
    every_ms: u64,
    rates: Vec<f64>,
}

/// All, in the order of the documentation.
pub const TRACE_MODELS: &[TraceModel] = &[
    TraceModel {
        name: "lte-driving",
        source: "LTE in a moving car: the model of Sprout (Winstein et al., NSDI 2013, section 3.1). The rate is a Brownian motion of 200 packets/s per √s \
                 between 0 and 1,000 packets/s; an outage ends at a rate of 1/s",
        make: sprout,
    },
    TraceModel {
        name: "lte-static",
        source: "LTE of a resting phone, 10 MHz, one layer: a finite-state Markov channel (Wang and Moayeri, 1995) over the CQIs 7 to 14 of \
                 3GPP TS 36.213, table 7.2.3-1",
        make: lte_static,
    },
    TraceModel {
        name: "5g",
        source: "5G at 3.5 GHz, 100 MHz, one layer, half of the slots: a finite-state Markov channel over the CQIs 5 to 13 of 3GPP TS 38.214, \
                 table 5.2.2.1-3",
        make: nr,
    },
    TraceModel {
        name: "wifi",
        source: "802.11n, 20 MHz, one stream: a finite-state Markov channel over MCS 2 to 7 (IEEE 802.11-2020, table 19-27), and a neighbour \
                 who takes half of the time while active",
        make: wifi,
    },
    TraceModel {
        name: "starlink",
        source: "Starlink, down: a new rate every 15 s, when satellites are assigned anew (Mohan et al., WWW 2024), and nothing for 100 ms where \
                 that is another satellite",
        make: starlink,
    },
];

/// A trace of delays or losses that is built in.
#[derive(Debug)]
pub struct ValueModel<V: 'static> {
    /// Its name in a scenario.
    pub name: &'static str,
    /// What it stands for, with its source.
    pub source: &'static str,
    make: fn(&mut Prng) -> ValueSteps<V>,
}

/// Round trips over time, nanoseconds.
pub const DELAY_MODELS: &[ValueModel<u64>] = &[ValueModel {
    name: "starlink",
    source: "Starlink: a new round trip every 15 s, when satellites are assigned anew (Mohan et al., WWW 2024), between 35 and 65 ms",
    make: starlink_round_trips,
}];

/// Losses over time.
pub const LOSS_MODELS: &[ValueModel<Ratio>] = &[ValueModel {
    name: "lte-handover",
    source: "LTE in a moving car: nothing passes for 50 ms at each handover, the interruption of 3GPP TR 36.881, once in 15 s",
    make: lte_handovers,
}];

impl<V> ValueModel<V> {
    /// The trace.
    ///
    /// # Panics
    /// Never: a test makes each.
    pub fn trace(&self) -> StepTrace<V> {
        let steps = (self.make)(&mut Prng::stream(Seed::new(1), self.name));
        StepTrace::new(steps).unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }
}

impl TraceModel {
    /// The model called `name`.
    pub fn find(name: &str) -> Option<&'static Self> {
        TRACE_MODELS.iter().find(|model| model.name == name)
    }

    /// The trace; rates are whole kbit/s.
    ///
    /// # Panics
    /// Never: a test makes each.
    pub fn trace(&self) -> RateTrace {
        let made = (self.make)(&mut Prng::stream(Seed::new(1), self.name));
        let every = made.every_ms * 1_000;
        let mut steps = TraceSteps { at: Vec::new(), rates: Vec::new(), period: None };
        for (number, rate) in (0_u64..).zip(&made.rates) {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "rates are below 1 Tbit/s"
            )]
            let rate = Rate::from_bps((rate / 1_000.0).round() as u64 * 1_000);
            if steps.rates.last() != Some(&rate) {
                steps.at.push(number * every);
                steps.rates.push(rate);
            }
        }
        steps.period = u64::try_from(made.rates.len()).ok().map(|count| count * every);
        RateTrace::new(steps).unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }
}

/// A minute in steps of a tick of 20 ms, Sprout's. Reflected at both ends, but for the outage, which is left at its own rate.
fn sprout(chance: &mut Prng) -> Made {
    const TICK_S: f64 = 0.02;
    // σ √tick, packets per second.
    const STEP: f64 = 200.0 * 0.141_421_356_237_309_5;
    const MOST: f64 = 1_000.0;
    const ESCAPE_PER_S: f64 = 1.0;
    const PACKET_BITS: f64 = 1_504.0 * 8.0;
    let mut packets = MOST / 2.0;
    let rates = (0..3_000).map(|_| {
        let step = STEP * normal(chance);
        let is_stuck = packets == 0.0 && chance.next_unit() >= ESCAPE_PER_S * TICK_S;
        let moved = if is_stuck { 0.0 } else { packets + if packets == 0.0 { step.abs() } else { step } };
        packets = if moved > MOST { 2.0 * MOST - moved } else { moved.max(0.0) };
        packets * PACKET_BITS
    });
    Made { every_ms: 20, rates: rates.collect() }
}

/// 50 resource blocks of 12 subcarriers, 14 symbols a millisecond, three quarters of which carry data.
fn lte_static(chance: &mut Prng) -> Made {
    const SYMBOLS_PER_S: f64 = 50.0 * 12.0 * 14_000.0 * 0.75;
    const EFFICIENCY: [f64; 8] = [1.476_6, 1.914_1, 2.406_3, 2.730_5, 3.322_3, 3.902_3, 4.523_4, 5.115_2];
    let states = markov_channel(chance, EFFICIENCY.len(), 600, 0.1);
    Made { every_ms: 100, rates: states.map(|state| EFFICIENCY[state] * SYMBOLS_PER_S).collect() }
}

/// 273 resource blocks at 30 kHz, 28 symbols a millisecond; 74 % of the slots go down (DDDSU), 14 % of their symbols are overhead
/// (3GPP TS 38.306, 4.1.2), and others have half of them.
fn nr(chance: &mut Prng) -> Made {
    const SYMBOLS_PER_S: f64 = 273.0 * 12.0 * 28_000.0 * 0.74 * 0.86 * 0.5;
    const EFFICIENCY: [f64; 9] =
        [1.914_1, 2.406_3, 2.730_5, 3.322_3, 3.902_3, 4.523_4, 5.115_2, 5.554_7, 6.226_6];
    let states = markov_channel(chance, EFFICIENCY.len(), 600, 0.2);
    Made { every_ms: 100, rates: states.map(|state| EFFICIENCY[state] * SYMBOLS_PER_S).collect() }
}

/// Rates of the short guard interval; 65 % of the time carries payload with aggregation. The neighbour is active for 1 s, and then silent
/// for 2 s, on average.
fn wifi(chance: &mut Prng) -> Made {
    const MCS: [f64; 6] = [21.7e6, 28.9e6, 43.3e6, 57.8e6, 65.0e6, 72.2e6];
    const PAYLOAD: f64 = 0.65;
    let states: Vec<usize> = markov_channel(chance, MCS.len(), 600, 0.15).collect();
    let mut is_active = false;
    let rates = states.iter().map(|state| {
        is_active = if is_active { chance.next_unit() >= 0.1 } else { chance.next_unit() < 0.05 };
        MCS[*state] * PAYLOAD * if is_active { 0.5 } else { 1.0 }
    });
    Made { every_ms: 100, rates: rates.collect() }
}

/// Eight slots between 50 and 200 Mbit/s; half of the assignments are to another satellite.
fn starlink(chance: &mut Prng) -> Made {
    const SLOT: usize = 150;
    let mut rates = Vec::new();
    for _ in 0..8 {
        let rate = 50e6 + 150e6 * chance.next_unit();
        let is_handover = chance.next_unit() < 0.5;
        rates.push(if is_handover { 0.0 } else { rate });
        rates.extend([rate; SLOT - 1]);
    }
    Made { every_ms: 100, rates }
}

/// Eight slots, in steps of 100 µs.
fn starlink_round_trips(chance: &mut Prng) -> ValueSteps<u64> {
    const SLOT_US: u64 = 15_000_000;
    const SLOTS: u64 = 8;
    let round_trip = |_| 35_000_000 + 100_000 * below(chance, 301.0);
    ValueSteps {
        at_us: (0..SLOTS).map(|slot| slot * SLOT_US).collect(),
        values: (0..SLOTS).map(round_trip).collect(),
        period_us: Some(SLOTS * SLOT_US),
    }
}

/// Eight handovers in two minutes, each somewhere in its 15 s, in steps of 10 ms.
fn lte_handovers(chance: &mut Prng) -> ValueSteps<Ratio> {
    const SLOT_US: u64 = 15_000_000;
    const SLOTS: u64 = 8;
    const INTERRUPTION_US: u64 = 50_000;
    let mut steps =
        ValueSteps { at_us: vec![0], values: vec![Ratio::ZERO], period_us: Some(SLOTS * SLOT_US) };
    for slot in 0..SLOTS {
        let at_us = slot * SLOT_US + 10_000 * (1 + below(chance, 1_490.0));
        steps.at_us.extend([at_us, at_us + INTERRUPTION_US]);
        steps.values.extend([Ratio::ONE, Ratio::ZERO]);
    }
    steps
}

/// States of a channel that goes to either neighbour with probability `step`, from the middle on.
fn markov_channel(
    chance: &mut Prng,
    states: usize,
    count: usize,
    step: f64,
) -> impl Iterator<Item = usize> + use<'_> {
    let mut state = states / 2;
    (0..count).map(move |_| {
        let drawn = chance.next_unit();
        if drawn < step {
            state = state.saturating_sub(1);
        } else if drawn < 2.0 * step {
            state = (state + 1).min(states - 1);
        }
        state
    })
}

/// A whole number below `bound`, each as likely as the others.
fn below(chance: &mut Prng, bound: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounds are below 10^4")]
    let number = (bound * chance.next_unit()) as u64;
    number
}

/// Nearly normal: the sum of twelve uniform numbers less six, which needs no function of the machine's library.
fn normal(chance: &mut Prng) -> f64 {
    (0..12).map(|_| chance.next_unit()).sum::<f64>() - 6.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Name, steps, seconds, mean and highest rate in kbit/s. A change here changes every scenario that names the trace.
    #[test]
    fn the_traces_are_what_they_were() {
        let found: Vec<String> = TRACE_MODELS
            .iter()
            .map(|model| {
                let trace = model.trace();
                let steps = trace.steps();
                let (mean, most) = (trace.mean().bps() / 1_000, trace.highest().bps() / 1_000);
                let hash = crate::prng::fnv1a(serde_json::to_string(steps).unwrap_or_default().as_bytes());
                format!("{} {} {:?} {mean} {most} {hash:016x}", model.name, steps.at.len(), trace.length())
            })
            .collect();
        assert_eq!(found, EXPECTED);
    }

    #[test]
    fn delays_and_losses_are_what_they_were() {
        let hash = |text: String| crate::prng::fnv1a(text.as_bytes());
        let text = |steps: serde_json::Result<String>| steps.unwrap_or_default();
        let [delays] = DELAY_MODELS else { panic!("another model") };
        let [losses] = LOSS_MODELS else { panic!("another model") };
        let (delays, losses) = (delays.trace(), losses.trace());
        assert!(delays.values().iter().all(|ns| (35_000_000..=65_000_000).contains(ns)), "{delays:?}");
        let handovers = losses.steps().at_us.windows(2).step_by(2).count();
        assert_eq!((delays.values().len(), handovers), (8, 8));
        let hashes = [hash(text(serde_json::to_string(&delays))), hash(text(serde_json::to_string(&losses)))];
        assert_eq!(hashes.map(|hash| format!("{hash:016x}")), ["f7e00879716c119e", "bc2360bcba88b6f6"]);
    }

    const EXPECTED: [&str; 5] = [
        "lte-driving 2190 60s 5339 12032 1570d069badcc796",
        "lte-static 104 60s 23238 32226 2bd8cc0e95a1ac59",
        "5g 198 60s 93933 181741 52d9dc067eabbe43",
        "wifi 146 60s 32950 46930 5be26f96078af347",
        "starlink 10 120s 129721 188218 5821827ce6ead8a7",
    ];
}
