//! Which cells draw nothing from the seed: every run of such a cell is the same, to the byte.
//!
//! Never: a cell with chance called one without. What draws is listed here, and a test runs random cells under two seeds.

use pipefill_core::cell::{CellSpec, DirectionSpec, FlowSpec, LossSpec, Protocol};
use pipefill_core::units::Ratio;

/// Congestion controls that draw nothing: BBR draws the phase that its gain cycle begins with.
const CERTAIN: [&str; 2] = ["cubic", "reno"];

/// Whether nothing in `cell` draws from the seed: no element of the path, and no congestion control. A capture draws numbers for the
/// packets' headers.
pub(super) fn is_absent(cell: &CellSpec) -> bool {
    let draws = |flow: &FlowSpec| {
        let of_host = &cell.data_sender(flow.direction).congestion_control;
        let name = flow.congestion_control.as_ref().unwrap_or(of_host);
        flow.protocol == Protocol::Tcp && !CERTAIN.contains(&name.as_str())
    };
    let paths = [&cell.path.forward, &cell.path.reverse];
    paths.into_iter().all(is_certain) && !cell.flows.iter().any(draws) && !cell.run.capture
}

fn is_certain(way: &DirectionSpec) -> bool {
    let draws = |loss: &LossSpec| match loss {
        LossSpec::None | LossSpec::Packets(_) => false,
        LossSpec::Independent(share) => *share != Ratio::ZERO,
        LossSpec::GilbertElliott { .. } => true,
    };
    let losses = way.changes.iter().filter_map(|change| change.loss.as_ref()).chain([&way.loss, &way.mark]);
    !losses.into_iter().any(draws)
        && way.jitter.is_none()
        && way.duplicate == Ratio::ZERO
        && way.reorder == Ratio::ZERO
}
