//! Which cells draw nothing from the seed: every run of such a cell is the same, to the byte.
//!
//! Never: a cell with chance called one without. What draws is listed here, and a test runs random cells under two seeds.

use pipefill_core::cell::{AqmSpec, CellSpec, DirectionSpec, FlowSpec, LossSpec, Protocol};
use pipefill_core::units::Ratio;

/// Congestion controls that draw nothing: BBR draws the phase that its gain cycle begins with.
const CERTAIN: [&str; 3] = ["cubic", "reno", "dctcp"];

/// Whether nothing in `cell` draws from the seed: no element of the path, and no congestion control. A capture draws numbers for the
/// packets' headers.
pub(super) fn is_absent(cell: &CellSpec) -> bool {
    let draws = |flow: &FlowSpec| {
        let of_host = &cell.data_sender(flow.direction).congestion_control;
        let name = flow.congestion_control.as_ref().unwrap_or(of_host);
        flow.protocol == Protocol::Tcp && !CERTAIN.contains(&name.as_str())
    };
    let paths = [&cell.path.forward, &cell.path.reverse];
    let streams: u32 = cell.flows.iter().map(|flow| flow.parallel).sum();
    paths.into_iter().all(|way| is_certain(way) && !hashes_or_rolls(way, streams))
        && !cell.flows.iter().any(draws)
        && !cell.run.capture
}

/// Whether the discipline of a queue draws: for each packet, or the hash that several streams are told apart by.
fn hashes_or_rolls(way: &DirectionSpec, streams: u32) -> bool {
    match way.aqm {
        None | Some(AqmSpec::Drophead | AqmSpec::Codel(_)) => false,
        Some(AqmSpec::FqCodel(_)) => streams > 1,
        Some(AqmSpec::Pie(_) | AqmSpec::Red(_) | AqmSpec::Dualpi2(_)) => true,
    }
}

fn is_certain(way: &DirectionSpec) -> bool {
    let draws = |loss: &LossSpec| match loss {
        LossSpec::None | LossSpec::Packets(_) => false,
        LossSpec::Independent(share) => *share != Ratio::ZERO,
        LossSpec::GilbertElliott { .. } => true,
    };
    let is_between = |share: &Ratio| *share != Ratio::ZERO && *share != Ratio::ONE;
    let follows_chance = way.loss_trace.as_ref().is_some_and(|trace| trace.values().iter().any(is_between));
    let losses = way.changes.iter().filter_map(|change| change.loss.as_ref()).chain([&way.loss, &way.mark]);
    !losses.into_iter().any(draws)
        && !follows_chance
        && way.jitter.is_none()
        && way.duplicate == Ratio::ZERO
        && way.reorder == Ratio::ZERO
}
