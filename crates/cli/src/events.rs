//! `--json-stream`: events on standard output, one JSON object a line, each as soon as it happens.
//!
//! Closing the pipe does not stop the run. Any other error of writing is kept, and is the command's result.

use crate::args::StreamOf;
use crate::outcome::{Outcome, code_of};
use crate::terminal::Terminal;
use indexmap::IndexMap;
use pipefill_analysis::findings::experiment::Experiment;
use pipefill_core::file_name::FileName;
use pipefill_core::plan::{Cell, Run};
use pipefill_core::problem::Problem;
use pipefill_core::record::{AnyRow, Invalid, Sink, SinkError};
use pipefill_report::stream::{Event, SCHEMA};
use pipefill_runs::{Failure, evaluate_cell};
use pipefill_store::ExperimentDirectory;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The stream of one experiment.
#[derive(Debug)]
pub(crate) struct Events {
    what: StreamOf,
    terminal: Terminal,
    /// Ids of the cells whose end was written.
    finished_cells: Mutex<BTreeSet<String>>,
    /// The first event that could not be written.
    error: Mutex<Option<Failure>>,
}

impl Events {
    /// Of `what`, to standard output.
    pub(crate) fn new(what: StreamOf, terminal: Terminal) -> Self {
        Self { what, terminal, finished_cells: Mutex::default(), error: Mutex::default() }
    }

    /// The experiment begins; so many of its runs are `pending`.
    pub(crate) fn started(&self, experiment: &ExperimentDirectory, backend: &str, pending: usize) {
        let plan = &experiment.stored.plan;
        self.write(&Event::Started {
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
        self.write(&Event::RunStarted { run: &run.directory, axes: &axes(&run.cell), repeat: run.repeat });
    }

    /// `run` has its record; with it perhaps its cell has all of them.
    pub(crate) fn run_finished(
        &self,
        experiment: &ExperimentDirectory,
        run: &Run,
        took: Duration,
        invalid: &[Invalid],
    ) {
        self.write(&Event::RunFinished {
            run: &run.directory,
            axes: &axes(&run.cell),
            repeat: run.repeat,
            took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            invalid,
        });
        match evaluate_cell(experiment, &run.cell) {
            Ok(Some(cell)) => {
                let mut finished = self.finished_cells.lock().unwrap_or_else(PoisonError::into_inner);
                if finished.insert(cell.id.clone()) {
                    self.write(&Event::CellFinished { cell: &cell });
                }
            }
            Ok(None) => {}
            Err(failure) => self.keep(failure),
        }
    }

    /// Everything is done.
    pub(crate) fn finished(&self, result: &Experiment, directory: &Path) {
        let (experiment, directory) = (&result.experiment, &directory.to_string_lossy());
        self.write(&Event::Finished { experiment, directory, exit_code: Outcome::of(result).code() });
    }

    /// It ended early.
    pub(crate) fn failed(&self, failure: &Failure) {
        self.write(&Event::Failed { message: &failure.to_string(), exit_code: code_of(failure) });
    }

    /// A sink in front of `record` that writes every row as an event, if rows were asked for.
    pub(crate) fn rows<'a>(&'a self, run: &'a Run, record: &'a mut dyn Sink) -> EventSink<'a> {
        EventSink { events: self, run, record, is_asked_for: self.what == StreamOf::Samples }
    }

    /// What kept an event from being written, e.g. a full disk.
    ///
    /// # Errors
    /// The first [`Failure`].
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }

    fn write(&self, event: &Event<'_>) {
        let written = event.line().map_err(Problem::json).and_then(|line| self.terminal.print_data(&line));
        if let Err(problem) = written {
            self.keep(problem.into());
        }
    }

    /// The first one is the command's result.
    fn keep(&self, failure: Failure) {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
    }
}

/// Writes rows as events on their way to the record.
pub(crate) struct EventSink<'a> {
    events: &'a Events,
    run: &'a Run,
    record: &'a mut dyn Sink,
    is_asked_for: bool,
}

impl Sink for EventSink<'_> {
    fn push(&mut self, row: AnyRow) -> Result<(), SinkError> {
        if self.is_asked_for {
            self.events.write(&Event::Sample { run: &self.run.directory, row: &row });
        }
        self.record.push(row)
    }

    fn artifact(&mut self, name: &FileName) -> Result<Box<dyn Write + Send>, SinkError> {
        self.record.artifact(name)
    }
}

fn axes(cell: &Cell) -> IndexMap<&str, &str> {
    cell.axes.iter().map(|(axis, value)| (axis.as_str(), value.as_str())).collect()
}
