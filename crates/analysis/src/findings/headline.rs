//! Which flow a cell's verdict is about: the one with the most to gain; of a connection the direction that carried most.

use crate::findings::metrics::{FlowMetrics, RunMetrics};
use crate::judge::Diagnosis;
use pipefill_core::limit::LimitedBy;
use pipefill_core::record::SOCKETS;

/// What lifting a flow's own limit brings, in three steps and within them by size. Declared from little to much.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
enum Gain {
    /// The application offers no more, or reads no more: nothing. By goodput.
    Nothing(f64),
    /// Only a faster path would: by goodput.
    FasterPath(f64),
    /// A change at an end would: by how much, bits per second.
    Change(f64),
}

/// The flow of `run` that its verdict is about, the first of equals; `None` where none was diagnosed.
pub fn of(run: &RunMetrics) -> Option<&FlowMetrics> {
    if run.backend == SOCKETS { with_most_data(&run.flows) } else { with_most_to_gain(&run.flows) }
}

/// What limited that flow.
pub fn diagnosis(run: &RunMetrics) -> Option<&Diagnosis> {
    of(run)?.diagnosis.as_ref()
}

/// Both directions of a connection have the same time.
fn with_most_data(flows: &[FlowMetrics]) -> Option<&FlowMetrics> {
    let judged = flows.iter().filter(|flow| flow.diagnosis.is_some());
    judged.rev().max_by_key(|flow| flow.figures.goodput_bps)
}

fn with_most_to_gain(flows: &[FlowMetrics]) -> Option<&FlowMetrics> {
    let gains = flows.iter().filter_map(|flow| Some((gain(flow, flows)?, flow)));
    let first_largest = |best: (Gain, _), next: (Gain, _)| if next.0 > best.0 { next } else { best };
    gains.reduce(first_largest).map(|(_, flow)| flow)
}

/// The rate that `flow` could reach among the flows of its direction: its own plus what is free, or an equal share of the path. `None` where the
/// path has no rate.
pub(crate) fn room_bps(flow: &FlowMetrics, flows: &[FlowMetrics]) -> Option<f64> {
    let figures = &flow.diagnosis.as_ref()?.figures;
    let path = figures.path_goodput_bps? as f64;
    let goodput = flow.figures.goodput_bps.unwrap_or(0) as f64;
    let is_beside = |other: &&FlowMetrics| {
        other.figures.direction == flow.figures.direction
            && other.figures.goodput_bps.is_some_and(|bps| bps > 0)
    };
    let beside = flows.iter().filter(is_beside).count().max(1);
    let free = path * (1.0 - figures.utilisation.unwrap_or(0.0)).max(0.0);
    let alone = if beside == 1 { path } else { 0.0 };
    Some((goodput + free).max(path / beside as f64).max(alone).min(path))
}

fn gain(flow: &FlowMetrics, flows: &[FlowMetrics]) -> Option<Gain> {
    let goodput = flow.figures.goodput_bps.unwrap_or(0) as f64;
    Some(match flow.diagnosis.as_ref()?.limited_by {
        LimitedBy::App | LimitedBy::Receiver => Gain::Nothing(goodput),
        LimitedBy::Path => Gain::FasterPath(goodput),
        LimitedBy::Sndbuf
        | LimitedBy::Rwnd
        | LimitedBy::Cwnd
        | LimitedBy::Pacing
        | LimitedBy::Cpu
        | LimitedBy::Testbed
        | LimitedBy::Unknown => Gain::Change((room_bps(flow, flows).unwrap_or(goodput) - goodput).max(0.0)),
    })
}
