//! What runs have to say while they are carried out, and who hears it.

use crate::evaluated::Evaluated;
use crate::failure::Failure;
use pipefill_core::plan::Run;
use pipefill_core::problem::Problem;
use pipefill_core::record::{Invalid, Manifest, Sink};
use pipefill_core::units::Time;
use pipefill_store::ExperimentDirectory;
use std::path::PathBuf;
use std::time::Duration;

/// Something that happens while runs are carried out.
#[derive(Debug)]
pub enum RunEvent<'a> {
    /// The runs of an experiment begin.
    Begins {
        /// The experiment; of two that are carried out in turn the second.
        experiment: &'a ExperimentDirectory,
        /// The name of what carries them out.
        backend: &'a str,
        /// How many there are to carry out.
        runs: usize,
        /// How long they take, one after another.
        estimate: Duration,
        /// How many are carried out at a time.
        jobs: u16,
    },
    /// A run begins.
    RunBegins(&'a Run),
    /// A run has reached a time of its traffic.
    Reached {
        /// The run.
        run: &'a Run,
        /// How long it takes.
        estimate: Duration,
        /// The time since its traffic began.
        now: Time,
    },
    /// Packets left the path of a run late by at most this time so far.
    Late(&'a Run, Duration),
    /// A run has its record.
    RunEnds {
        /// The experiment that it belongs to.
        experiment: &'a ExperimentDirectory,
        /// The run.
        run: &'a Run,
        /// How long it was estimated to take.
        estimate: Duration,
        /// How long it took.
        took: Duration,
        /// Why it is not valid; empty where it is.
        invalid: &'a [Invalid],
    },
    /// The wish to stop was heard.
    Stopping,
    /// No run is at work any more.
    Ends,
    /// The experiment has no result.
    Failed(&'a Failure),
}

/// Hears what happens while runs are carried out.
pub trait Reporter: Sync {
    /// A line for the user: what was removed, kept aside or left out.
    fn say(&self, line: &str);

    /// Something happens.
    fn hear(&self, event: &RunEvent<'_>) {
        let _not_shown = event;
    }

    /// Lets `measure` write the rows of `run` into `record`, through a sink of its own if it wants to see them.
    ///
    /// # Errors
    /// Those of `measure`.
    fn pass_rows(
        &self,
        run: &Run,
        record: &mut dyn Sink,
        measure: &mut dyn FnMut(&mut dyn Sink) -> Result<Manifest, Problem>,
    ) -> Result<Manifest, Problem> {
        let _not_shown = run;
        measure(record)
    }

    /// The experiment has a result. Returns the page that it left beside the records, if it left one.
    ///
    /// # Errors
    /// What it could not hand on of all that it heard.
    fn finished(
        &self,
        experiment: &ExperimentDirectory,
        evaluated: &Evaluated,
    ) -> Result<Option<PathBuf>, Failure> {
        let _not_shown = (experiment, evaluated);
        Ok(None)
    }
}

/// Hears nothing.
#[derive(Debug, Clone, Copy)]
pub struct Unreported;

impl Reporter for Unreported {
    fn say(&self, _: &str) {}
}
