//! What the curves of a run are called and which colour they have, where its flows and directions decide that; and the path's rate beside
//! them. The still picture and the page's script have it from here.

use pipefill_analysis::findings::series::{Quantity, RunSeries, with_bands};
use pipefill_analysis::ground::theory;
use pipefill_core::cell::{CellSpec, Direction};

/// Colours of curves.
const TONES: u32 = 8;
/// The colour of a sum: no flow has it until there are seven.
const SUM: &str = "c6";

/// A curve's name, and the class of its colour.
pub(crate) type Named = (String, String);

/// What the path lets through of payload in a direction.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PathRate {
    /// `path rate`, with its direction where that matters.
    pub(crate) name: String,
    pub(crate) bps: f64,
    /// It is the second one of two.
    pub(crate) is_dashed: bool,
    /// What is no more than this, but for data that had waited.
    pub(crate) quantity: Quantity,
}

/// The name and colour of a goodput where there are several flows: a flow's own, or that of a sum.
pub(crate) fn named(series: &RunSeries, quantity: Quantity) -> Option<Named> {
    let several = series.flows.len() > 1;
    match quantity {
        Quantity::FlowGoodput(place) => {
            let flow = series.flows.iter().find(|flow| flow.flow == place)?;
            Some((flow.name.clone(), format!("c{}", place % TONES)))
        }
        Quantity::DirectionGoodput(direction) => {
            Some((format!("all {}", direction.arrow()), format!("{SUM}{}", dashes(direction))))
        }
        Quantity::Goodput if several => {
            Some((format!("all {}", series.flows[0].direction.arrow()), SUM.to_owned()))
        }
        _ => None,
    }
}

/// Two sums are told apart by more than their names.
const fn dashes(direction: Direction) -> &'static str {
    match direction {
        Direction::Forward => "",
        Direction::Reverse => " dashed",
    }
}

/// The path's rate in each direction that has flows; one of both where that is the same.
pub(crate) fn path_rates(spec: &CellSpec, series: &RunSeries) -> Vec<PathRate> {
    let is_used = |direction: &Direction| series.flows.iter().any(|flow| flow.direction == *direction);
    let used: Vec<Direction> = Direction::ALL.into_iter().filter(is_used).collect();
    let rate = |direction| theory::rate_of(spec, direction);
    let is_same = used.iter().all(|&direction| rate(direction) == rate(used[0]));
    let rate_of_direction = |&direction: &Direction| {
        let name = if is_same { "path rate".to_owned() } else { format!("path rate {}", direction.arrow()) };
        let its: Vec<_> = series.flows.iter().filter(|flow| flow.direction == direction).collect();
        let quantity = match its.as_slice() {
            _ if used.len() == 1 => Quantity::Goodput,
            [only] => Quantity::FlowGoodput(only.flow),
            _ => Quantity::DirectionGoodput(direction),
        };
        let is_dashed = !is_same && direction == Direction::Reverse;
        Some(PathRate { name, bps: rate(direction)?, quantity, is_dashed })
    };
    used.iter().filter_map(rate_of_direction).collect()
}

/// The streams that have bands, with what tells them apart: nothing where there is one.
pub(crate) fn bands(series: &RunSeries) -> Vec<(u32, String)> {
    let streams = with_bands(&series.flows);
    let several_flows = series.flows.len() > 1;
    let name = |stream: u32| {
        let flow = series.flows.iter().find(|flow| flow.streams.contains(&stream));
        match flow.filter(|_| several_flows) {
            Some(flow) => flow.name.clone(),
            None if streams.len() > 1 => format!("stream {stream}"),
            None => String::new(),
        }
    };
    streams.iter().map(|&stream| (stream, name(stream))).collect()
}
