//! `--json-stream`: what happens, on standard output, an event a line and as soon as it happens.
//!
//! Never: another line between them, or an experiment that ends because nobody reads any more.

use crate::args::StreamOf;
use crate::evaluation::evaluate_cell;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::store::ExperimentDirectory;
use crate::terminal::Terminal;
use indexmap::IndexMap;
use pipefill_core::plan::{Cell, Run};
use pipefill_core::record::{AnyRow, Manifest, RecordError, Sink};
use pipefill_report::stream::{Event, SCHEMA};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The stream of one experiment.
#[derive(Debug)]
pub(crate) struct Events {
    what: StreamOf,
    terminal: Terminal,
    /// Ids of the cells that were told.
    told: Mutex<BTreeSet<String>>,
}

impl Events {
    /// Of `what`, to standard output.
    pub(crate) fn new(what: StreamOf, terminal: Terminal) -> Self {
        Self { what, terminal, told: Mutex::default() }
    }

    /// The experiment begins; so many of its runs are `pending`.
    pub(crate) fn started(&self, experiment: &ExperimentDirectory, backend: &str, pending: usize) {
        let plan = &experiment.stored.plan;
        self.tell(&Event::Started {
            schema: SCHEMA,
            pipefill: env!("CARGO_PKG_VERSION"),
            experiment: &plan.experiment,
            backend,
            directory: &experiment.path.to_string_lossy(),
            cells: plan.cells.len(),
            runs: plan.run_count(),
            pending,
        });
    }

    /// `run` begins.
    pub(crate) fn run_started(&self, run: &Run) {
        self.tell(&Event::RunStarted { run: &run.directory, axes: &axes(&run.cell), repeat: run.repeat });
    }

    /// `run` has its record; with it perhaps its cell has all of them.
    ///
    /// # Errors
    /// [`Failure`] for a record that can't be read.
    pub(crate) fn run_finished(
        &self,
        experiment: &ExperimentDirectory,
        run: &Run,
        took: Duration,
        manifest: &Manifest,
    ) -> Result<(), Failure> {
        self.tell(&Event::RunFinished {
            run: &run.directory,
            axes: &axes(&run.cell),
            repeat: run.repeat,
            took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            invalid: &manifest.invalid,
        });
        let Some(cell) = evaluate_cell(experiment, &run.cell)? else { return Ok(()) };
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.insert(cell.id.clone()) {
            self.tell(&Event::CellFinished { cell: &cell });
        }
        Ok(())
    }

    /// Everything is done.
    pub(crate) fn finished(&self, experiment: &str, directory: &Path, outcome: Outcome) {
        let directory = &directory.to_string_lossy();
        self.tell(&Event::Finished { experiment, directory, exit_code: outcome.code() });
    }

    /// It ended early.
    pub(crate) fn failed(&self, failure: &Failure) {
        self.tell(&Event::Failed { message: &failure.to_string(), exit_code: failure.code() });
    }

    /// A sink in front of `record`, that tells of every row on its way where rows were asked for.
    pub(crate) fn rows<'a>(&'a self, run: &'a Run, record: &'a mut dyn Sink) -> Telling<'a> {
        Telling { events: self, run, record, is_asked_for: self.what == StreamOf::Samples }
    }

    /// A reader that has gone is no reason to end a measurement.
    fn tell(&self, event: &Event<'_>) {
        let _nobody_reads = event.line().map(|line| self.terminal.print(&line));
    }
}

/// Tells of rows on their way.
pub(crate) struct Telling<'a> {
    events: &'a Events,
    run: &'a Run,
    record: &'a mut dyn Sink,
    is_asked_for: bool,
}

impl Sink for Telling<'_> {
    fn take(&mut self, row: AnyRow) -> Result<(), RecordError> {
        if self.is_asked_for {
            self.events.tell(&Event::Sample { run: &self.run.directory, row: &row });
        }
        self.record.take(row)
    }
}

fn axes(cell: &Cell) -> IndexMap<&str, &str> {
    cell.axes.iter().map(|(axis, value)| (axis.as_str(), value.as_str())).collect()
}
