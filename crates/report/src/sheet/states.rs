//! The second table of an experiment whose source published times in congestion states: these beside ours.
//!
//! Never: a measured time without saying how it was known.

use super::{Column, Heading, Sheet, SheetEntry};
use crate::quantity::{self, MILLISECONDS, QuantityKind};
use pipefill_analysis::findings::experiment::CellResult;
use pipefill_analysis::findings::metrics::CaStateTimes;
use pipefill_core::plan::PublishedStates;
use pipefill_core::record::CaStateSource;

/// A congestion state, and where its times are.
struct StateColumn {
    name: &'static str,
    measured: fn(&CaStateTimes) -> u64,
    published: fn(&PublishedStates) -> Option<u64>,
}

/// In the order of `enum tcp_ca_state`.
const STATES: [StateColumn; 5] = [
    StateColumn { name: "Open", measured: |t| t.open, published: |p| p.open },
    StateColumn { name: "Disorder", measured: |t| t.disorder, published: |p| p.disorder },
    StateColumn { name: "CWR", measured: |t| t.cwr, published: |p| p.cwr },
    StateColumn { name: "Recovery", measured: |t| t.recovery, published: |p| p.recovery },
    StateColumn { name: "Loss", measured: |t| t.loss, published: |p| p.loss },
];

/// `None` where no source published such times for any of `cells`, or none of them was measured.
pub(super) fn sheet(variant: Option<&str>, cells: &[&CellResult]) -> Option<Sheet> {
    cells.iter().find_map(|cell| published(cell))?;
    let source = how(cells)?;
    let title = format!("time in the congestion states, ms, {source}");
    let title = variant.map_or(title.clone(), |variant| format!("{variant}: {title}"));
    let measured = STATES
        .iter()
        .map(|state| column(state.name, "", cells, |cell| cell.tcp.ca_state_us.as_ref().map(state.measured)));
    let beside = STATES.iter().filter_map(|state| {
        let time = |cell: &CellResult| published(cell).and_then(|times| (state.published)(&times));
        cells.iter().find_map(|cell| time(cell))?;
        Some(column("publ.", state.name, cells, time))
    });
    Some(super::sheet(Some(title), cells, measured.chain(beside).collect()))
}

fn published(cell: &CellResult) -> Option<PublishedStates> {
    cell.published?.ca_state_us
}

/// How the times are known: no better than the worst of them.
fn how(cells: &[&CellResult]) -> Option<String> {
    let sources = || cells.iter().filter_map(|cell| cell.tcp.ca_state_source);
    let worst = sources().find(|&source| source == CaStateSource::Sampled).or_else(|| sources().next())?;
    Some(match worst {
        CaStateSource::Bpf => "every change seen by BPF".to_owned(),
        CaStateSource::Exact => "every change seen in the simulator".to_owned(),
        CaStateSource::Sampled => {
            // The median interval between samples, of the run where it is longest.
            let runs = cells.iter().flat_map(|cell| &cell.run_values);
            let widest_us = runs.filter_map(|run| run.tcp.sample_interval_us_p50).max()?;
            format!("sampled every {}", quantity::duration(widest_us))
        }
    })
}

fn column(
    name: &str,
    unit: &str,
    cells: &[&CellResult],
    time_us: impl Fn(&CellResult) -> Option<u64>,
) -> Column {
    let heading = Heading { name: name.to_owned(), unit: unit.to_owned(), numeric: true };
    let text = |us: u64| QuantityKind::Time.in_column(us as f64 * 1e3, MILLISECONDS);
    let entry = |cell: &&CellResult| SheetEntry::or_missing(time_us(cell).map(text));
    (heading, cells.iter().map(entry).collect())
}
