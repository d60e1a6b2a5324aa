//! Of a path whose rate changes: the capacity, the share of it that flows used, and how long after a rise they used it.
//!
//! Never: a figure for a rate that does not change, or that no scenario describes.

use crate::ground::interval::{TimeInterval, carrying, micros};
use crate::ground::models::headers::Headers;
use crate::ground::weighted_values::WeightedValues;
use crate::infer::{KnownRun, asked_rate};
use pipefill_core::cell::{CellSpec, ChangeSpec, Direction, FlowSpec, Protocol, RateOverTime};
use pipefill_core::record::{DeliverySample, StreamSummary};
use pipefill_core::units::{Bytes, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// A rate that becomes this many times as high has risen.
const RISE: f64 = 1.25;
/// A new rate is used where this share of its payload arrives.
const USED: f64 = 0.9;
/// Over how many base round trips an arrival rate is measured, and over how long at least: with less, a burst decides.
const ROUND_TRIPS: u32 = 2;
const LEAST_SPAN: Duration = Duration::from_millis(100);
/// A rate that holds for fewer of these spans is over before anything can follow.
const HOLDS_SPANS: u64 = 5;
/// Steps that are looked at in one span: a rate that changes more often holds for none.
const STEPS_OF_A_SPAN: usize = 1_000;

/// The capacity of a flow's direction in its measured time.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CapacityUse {
    /// Mean payload that the path could carry, bits/s: full segments of TCP, or the flow's datagrams.
    pub offered_bps: u64,
    /// How much of it all flows of the direction used; null where nothing was sampled.
    pub used_share: Option<f64>,
    /// How often in the run the rate rose by a quarter or more, and held for five times the interval that arrivals are measured over.
    pub rises: u64,
    /// After how many of these rises 90 % of the new rate arrived before it changed again.
    pub followed: u64,
    /// How long after the rise, median of those that were followed.
    pub follow_us_p50: Option<u64>,
}

/// Follows the arrivals of each direction whose rate changes.
pub(super) struct Following<'a> {
    plan: Option<&'a CellSpec>,
    directions: Vec<Followed>,
    /// Directions of the streams.
    streams: BTreeMap<u32, Direction>,
}

/// One direction.
struct Followed {
    direction: Direction,
    rates: RateOverTime,
    /// Payload per bit of frames.
    payload_share: f64,
    span_us: u64,
    /// Up to when the rate was looked at, nanoseconds.
    looked_ns: u64,
    received: BTreeMap<u32, u64>,
    /// When the arrivals of the current span began to count, and what had arrived by then.
    span: Option<(u64, u64)>,
    /// A rise that nothing has followed yet: when, and to which rate of payload.
    risen: Option<(u64, f64)>,
    rises: u64,
    waits: WeightedValues,
    followed: u64,
}

impl<'a> Following<'a> {
    pub(super) fn of(run: &KnownRun<'a>) -> Self {
        let changing = |direction: Direction| {
            let plan = run.plan?;
            let spec = plan.path.way(direction);
            let is_outage = spec.changes.iter().any(ChangeSpec::is_outage);
            let rates = asked_rate(spec).filter(|_| spec.has_changing_rate() || is_outage)?;
            Some(Followed::of(run, plan, direction, rates))
        };
        let stream = |stream: &StreamSummary| Some((stream.stream, run.flow_of(stream)?.direction));
        Self {
            plan: run.plan,
            directions: Direction::ALL.into_iter().filter_map(changing).collect(),
            streams: run.streams.iter().filter_map(stream).collect(),
        }
    }

    /// Takes the next row, in order of time.
    pub(super) fn push(&mut self, row: &DeliverySample) {
        let Some(direction) = self.streams.get(&row.stream) else { return };
        if let Some(followed) = self.directions.iter_mut().find(|followed| followed.direction == *direction) {
            followed.push(row);
        }
    }

    /// The capacity of each flow but pings, by its index; `used` is the share that it had.
    pub(super) fn uses(
        &self,
        run: &KnownRun<'_>,
        used: impl Fn(u32) -> Option<f64>,
    ) -> BTreeMap<u32, CapacityUse> {
        let flows = self.plan.map_or(&[][..], |plan| &plan.flows);
        let of_flow = |(index, flow): (u32, &FlowSpec)| {
            let followed = self.directions.iter().find(|followed| followed.direction == flow.direction)?;
            let TimeInterval { from_us, to_us } = run.measured_of_flow(index)?;
            let mean = followed.rates.mean(Duration::from_micros(from_us), Duration::from_micros(to_us));
            let (way, headers) = (run.path.way(flow.direction), run.path.headers);
            let payload = match flow.protocol {
                Protocol::Udp => flow.length,
                Protocol::Tcp | Protocol::Ping => Bytes::new(headers.mss()),
            };
            let use_of = CapacityUse {
                offered_bps: headers.goodput(mean, way.framing, flow.protocol, payload) as u64,
                used_share: used(index),
                rises: followed.rises,
                followed: followed.followed,
                follow_us_p50: followed.waits.lower_median(),
            };
            Some((index, use_of))
        };
        carrying(flows).filter_map(of_flow).collect()
    }
}

impl Followed {
    fn of(run: &KnownRun<'_>, plan: &CellSpec, direction: Direction, rates: RateOverTime) -> Self {
        let headers = Headers::of(&plan.path);
        let full = Bytes::new(headers.mss());
        let unit = Rate::from_bps(1_000_000_000);
        let way = run.path.way(direction);
        Self {
            direction,
            rates,
            payload_share: headers.goodput(unit, way.framing, Protocol::Tcp, full) / unit.bps() as f64,
            span_us: micros((ROUND_TRIPS * run.path.base_rtt()).max(LEAST_SPAN)).max(1),
            looked_ns: 0,
            received: BTreeMap::new(),
            span: None,
            risen: None,
            rises: 0,
            waits: WeightedValues::default(),
            followed: 0,
        }
    }

    fn push(&mut self, row: &DeliverySample) {
        self.received.insert(row.stream, row.received_bytes);
        let all = self.received.values().sum();
        let Some((since_us, before)) = self.span else {
            self.span = Some((row.t_us, all));
            return;
        };
        let length_us = row.t_us.saturating_sub(since_us);
        if length_us < self.span_us {
            return;
        }
        self.look_at_rises(row.t_us);
        if let Some((at_us, wanted)) = self.risen
            && since_us >= at_us
            && (all - before) as f64 * 8e6 / length_us as f64 >= USED * wanted
        {
            self.waits.add(since_us - at_us, 1);
            self.followed += 1;
            self.risen = None;
        }
        self.span = Some((row.t_us, all));
    }

    /// Notes the latest rise up to `t_us`. Flows that have not used a rise by the next change are no longer waited for.
    fn look_at_rises(&mut self, t_us: u64) {
        let now_ns = t_us.saturating_mul(1_000);
        let mut rate = self.rates.at(self.looked_ns).0;
        for _ in 0..STEPS_OF_A_SPAN {
            let next = self.rates.at(self.looked_ns).1.filter(|next| *next <= now_ns);
            let Some(next_ns) = next else { return };
            let (new, end) = self.rates.at(next_ns);
            let holds_us = end.map_or(u64::MAX, |end| (end - next_ns) / 1_000);
            self.risen = None;
            if new.bps() as f64 >= RISE * rate.bps() as f64 && holds_us / self.span_us >= HOLDS_SPANS {
                self.rises += 1;
                self.risen = Some((next_ns / 1_000, new.bps() as f64 * self.payload_share));
            }
            (self.looked_ns, rate) = (next_ns, new);
        }
        (self.looked_ns, self.risen) = (self.looked_ns.max(now_ns), None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::synthetic::manifest;

    fn sample(t_us: u64, received_bytes: u64) -> DeliverySample {
        DeliverySample { t_us, stream: 0, sent_bytes: received_bytes, received_bytes }
    }

    /// 10 Mbit/s, 20 from the second second on, 40 from the fourth on; what arrives follows the first rise 300 ms later, and the second
    /// one never.
    #[test]
    fn a_rise_is_followed_where_nine_tenths_of_it_arrive() {
        let manifest = manifest(
            "[path]\nrtt = \"20ms\"\nrate = \"10mbit\"\n[[path.change]]\nat = \"2s\"\nrate = \"20mbit\"\n\
             [[path.change]]\nat = \"4s\"\nrate = \"40mbit\"\n[[flow]]\nduration = \"6s\"\n",
        );
        let run = KnownRun::of(&manifest);
        let mut following = Following::of(&run);
        let mut received = 0;
        for tenth in 0..60_u64 {
            following.push(&sample(tenth * 100_000, received));
            let mbit = if tenth < 23 { 9 } else { 19 };
            received += mbit * 12_500;
        }
        let uses = following.uses(&run, |_| Some(0.5));
        let found = &uses[&0];
        assert_eq!((found.rises, found.followed), (2, 1));
        assert_eq!(found.follow_us_p50, Some(300_000));
        assert_eq!(found.used_share, Some(0.5));
    }

    /// A trace of two microseconds, and rows that are a century apart.
    #[test]
    fn a_rate_that_changes_all_the_time_is_looked_at_in_bounded_time() {
        let manifest = manifest(
            "[path]\nrtt = \"20ms\"\nrate_trace = \"fast\"\n[[flow]]\nduration = \"6s\"\n\
             [files]\nfast = \"0us 1mbit\\n1us 9mbit\\n2us repeat\"\n",
        );
        let run = KnownRun::of(&manifest);
        let mut following = Following::of(&run);
        (0..5).for_each(|row| following.push(&sample(row * 3_000_000_000_000_000, row)));
        assert_eq!(following.uses(&run, |_| None)[&0].rises, 0);
    }

    #[test]
    fn a_steady_rate_has_no_figures() {
        let manifest = manifest("[path]\nrtt = \"20ms\"\nrate = \"10mbit\"\n[[flow]]\n");
        let run = KnownRun::of(&manifest);
        assert!(Following::of(&run).uses(&run, |_| None).is_empty());
    }
}
