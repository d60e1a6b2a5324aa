//! What was watched as an experiment on disk, which `explain`, `report` and `compare` read like any other: one cell a connection.

use super::Watcher;
use crate::args::Selection;
use crate::asked::Asked;
use crate::evaluation::evaluate;
use crate::failure::Failure;
use crate::page;
use crate::terminal::Terminal;
use pipefill_analysis::findings::connections::{
    BACKEND, Connection, ConnectionPackets, DatagramFlow, Exact, cell,
};
use pipefill_core::cell::CellSpec;
use pipefill_core::file_name::FileName;
use pipefill_core::plan::{CELLS_MAX, Cell, Plan, Run};
use pipefill_core::record::{AnyRow, Manifest, Observed, Sink, TcpSample};
use pipefill_core::units::Rate;
use pipefill_store::{Owner, Partial, Records, Staged};
use std::path::Path;
use std::time::Duration;

/// What is kept in place of a scenario: nobody wrote one.
const TEXT: &str = "# Connections that were seen. There is no scenario to run again.\n";

/// A connection with its samples, its own.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    pub(crate) observed: Observed,
    pub(crate) congestion_control: String,
    pub(crate) offered: Option<Rate>,
    pub(crate) every: Duration,
    pub(crate) samples: Vec<TcpSample>,
    pub(crate) exact: Option<Exact>,
}

impl Kept {
    pub(crate) fn connection(&self) -> Connection<'_> {
        Connection {
            observed: self.observed.clone(),
            congestion_control: self.congestion_control.clone(),
            offered: self.offered,
            every: self.every,
            samples: &self.samples,
            packets: ConnectionPackets::default(),
            exact: self.exact.as_ref(),
        }
    }

    /// `PEER`, or `PEER from PORT` where several go there.
    fn name(&self, all: &[Self]) -> String {
        let remote = &self.observed.remote;
        let is_alone = all.iter().filter(|one| one.observed.remote == *remote).count() == 1;
        let port = self.observed.local.rsplit(':').next().unwrap_or_default();
        if is_alone { remote.clone() } else { format!("{remote} from {port}") }
    }
}

/// What one cell of such an experiment is of.
#[derive(Debug, Clone)]
pub(crate) enum Recorded {
    /// A connection of TCP.
    Connection(Kept),
    /// A stream of datagrams of a test.
    Datagrams(DatagramFlow),
}

impl Recorded {
    fn spec(&self) -> CellSpec {
        match self {
            Self::Connection(one) => one.connection().spec(),
            Self::Datagrams(one) => one.spec(),
        }
    }

    fn manifest(&self, run: &Run) -> Manifest {
        match self {
            Self::Connection(one) => one.connection().manifest(run),
            Self::Datagrams(one) => one.manifest(run),
        }
    }

    fn each_row<E>(&self, take: impl FnMut(AnyRow) -> Result<(), E>) -> Result<(), E> {
        match self {
            Self::Connection(one) => {
                let connection = one.connection();
                let retransmits = connection.retransmits().map(AnyRow::Retransmit);
                connection.rows().chain(retransmits).try_for_each(take)
            }
            Self::Datagrams(one) => one.rows().try_for_each(take),
        }
    }
}

/// Writes every connection that carried something into `target`, where nothing is; where both ends are watched, as the end that sends more of
/// the data tells it. Returns a line that says how many.
///
/// # Errors
/// [`Failure`] where it can't be written.
pub(crate) fn keep(watchers: &mut [Watcher], target: &Path, terminal: &Terminal) -> Result<String, Failure> {
    let mut kept = Vec::new();
    let has_both_ends = watchers.len() > 1;
    for watcher in watchers {
        watcher.each_busy(|one| {
            let carried = one.carried();
            if kept.len() < CELLS_MAX && (!has_both_ends || carried.sent > carried.received) {
                kept.push(Kept {
                    observed: one.observed.clone(),
                    congestion_control: one.congestion_control.clone(),
                    offered: None,
                    every: one.every,
                    samples: one.samples.to_vec(),
                    exact: one.exact.cloned(),
                });
            }
        });
    }
    let names: Vec<String> = kept.iter().map(|one| one.name(&kept)).collect();
    let kept = kept.into_iter().map(Recorded::Connection).collect();
    write(&[kept], &names, "watch", target, terminal)
}

/// Writes the experiment `name` into `target`, where nothing is, and its page: each of `times` has the same connections, called `names`, once more.
/// Returns lines that say how many there are, and where.
///
/// # Errors
/// [`Failure`] where it can't be written.
pub(crate) fn write(
    times: &[Vec<Recorded>],
    names: &[String],
    name: &str,
    target: &Path,
    terminal: &Terminal,
) -> Result<String, Failure> {
    let repeat = u32::try_from(times.len()).unwrap_or(u32::MAX);
    let spec_of = |one: &Recorded| {
        let mut spec = one.spec();
        spec.run.repeat = repeat;
        spec
    };
    let first = times.first().into_iter().flatten();
    let cells = first.zip(names).enumerate().map(|(index, (one, name))| cell(index, name, spec_of(one)));
    let cells: Vec<Cell> = cells.collect();
    let plan = Plan {
        experiment: FileName::cleaned(name),
        title: Some("Connections that were seen".to_owned()),
        cells,
        published: Vec::new(),
        published_source: None,
        conclusions: Vec::new(),
    };
    let asked = Asked {
        study: None,
        text: TEXT.to_owned(),
        selection: Selection::default(),
        plan: plan.clone(),
        whole: None,
        records: Records::Rows,
    };
    let owner = Owner::current()?;
    let Some((experiment, _lock)) = Staged::create(target, &asked.request(BACKEND), &owner)? else {
        return Err(Failure::usage(
            format!("{} is there already", target.display()),
            "choose another one with --out OTHER",
        ));
    };
    for mut run in plan.runs() {
        let one = &times[run.repeat as usize - 1][run.cell.index];
        run.cell.spec = spec_of(one);
        let mut partial = Partial::create(&experiment.runs(), &run.directory, &owner)?;
        one.each_row(|row| partial.take(row)).map_err(|error| Failure::Other(error.to_string()))?;
        partial.complete(&one.manifest(&run))?;
    }
    let count: usize = times.iter().map(Vec::len).sum();
    let plural = if count == 1 { "" } else { "s" };
    let mut told = format!("records of {count} connection{plural}: {}", target.display());
    if page::is_of_use(&experiment)
        && let Some(page) = page::try_leave(&experiment, &evaluate(&experiment, None, terminal)?, terminal)
    {
        told += &format!("\npage: {}", page.display());
    }
    Ok(told)
}
