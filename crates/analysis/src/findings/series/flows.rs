//! Goodput of each flow, and of all of a direction together.
//!
//! Never: a sum of what goes both ways.

use super::Quantity;
use super::rates::Rates;
use crate::ground::downsampling::Point;
use crate::ground::interval::{TimeInterval, carrying};
use pipefill_core::cell::{Direction, FlowSpec, Protocol, flow_name};
use pipefill_core::record::{DeliverySample, Manifest};

/// How many flows have a curve of their own: more could not be told apart.
const FLOWS: usize = 8;

/// A flow as it is drawn; pings are none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawnFlow {
    /// Its place in the cell.
    pub flow: u32,
    /// `0 tcp ×4 →`.
    pub name: String,
    /// Its transport.
    pub protocol: Protocol,
    /// Which way its data go.
    pub direction: Direction,
    /// The numbers of its streams in the run.
    pub streams: Vec<u32>,
}

/// The flows of the run that `manifest` is about, in the order of the cell.
pub(super) fn drawn(manifest: &Manifest) -> Vec<DrawnFlow> {
    let drawn_flow = |(place, flow): (u32, &FlowSpec)| DrawnFlow {
        flow: place,
        name: flow_name(place, flow.protocol, flow.parallel, flow.direction),
        protocol: flow.protocol,
        direction: flow.direction,
        streams: manifest
            .streams
            .iter()
            .filter(|stream| stream.flow == place)
            .map(|stream| stream.stream)
            .collect(),
    };
    carrying(&manifest.run.cell.spec.flows).map(drawn_flow).collect()
}

/// The rates of all sets of streams that have a curve.
#[derive(Debug)]
pub(super) struct FlowRates(Vec<Set>);

/// Streams that are summed.
#[derive(Debug)]
struct Set {
    /// What their sum is called: received, and sent where that has a curve.
    quantities: [Option<Quantity>; 2],
    streams: Vec<u32>,
    rates: Rates,
}

impl FlowRates {
    /// Of `flows`, within `window` of the run that `manifest` is about.
    pub(super) fn of(flows: &[DrawnFlow], manifest: &Manifest, window: TimeInterval, buckets: usize) -> Self {
        let rates = || Rates::of(window, buckets, manifest.run.cell.spec.run.sample);
        let streams = |is_it: &dyn Fn(&DrawnFlow) -> bool| -> Vec<u32> {
            flows.iter().filter(|flow| is_it(flow)).flat_map(|flow| flow.streams.clone()).collect()
        };
        let is_one_way = flows.windows(2).all(|pair| pair[0].direction == pair[1].direction);
        let mut sets = Vec::new();
        if is_one_way {
            let quantities = [Some(Quantity::Goodput), Some(Quantity::Sent)];
            sets.push(Set { quantities, streams: streams(&|_| true), rates: rates() });
        } else {
            let several =
                |direction: &Direction| flows.iter().filter(|flow| flow.direction == *direction).count() > 1;
            sets.extend(Direction::ALL.into_iter().filter(several).map(|direction| Set {
                quantities: [Some(Quantity::DirectionGoodput(direction)), None],
                streams: streams(&|flow| flow.direction == direction),
                rates: rates(),
            }));
        }
        if flows.len() > 1 {
            sets.extend(flows.iter().take(FLOWS).map(|flow| Set {
                quantities: [Some(Quantity::FlowGoodput(flow.flow)), None],
                streams: flow.streams.clone(),
                rates: rates(),
            }));
        }
        Self(sets)
    }

    /// Takes the next sample.
    pub(super) fn observe(&mut self, row: &DeliverySample) {
        for set in self.0.iter_mut().filter(|set| set.streams.contains(&row.stream)) {
            set.rates.observe(row);
        }
    }

    /// Each curve with its points, after the last sample.
    pub(super) fn finish(self) -> impl Iterator<Item = (Quantity, Vec<Point>)> {
        self.0.into_iter().flat_map(|set| {
            let both = set.quantities.into_iter().zip(set.rates.finish());
            both.filter_map(|(quantity, points)| Some((quantity?, points)))
        })
    }
}
