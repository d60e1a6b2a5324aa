//! The seam between a plan and what carries it out.

use crate::cell::CellSpec;
use crate::plan::Run;
use crate::problem::Problem;
use crate::record::{InMemory, Manifest, RunRecord, Sink};
use crate::units::Time;
use std::time::Duration;

/// Something that can carry out a run: the simulator, the lab, or hosts that are there already.
pub trait Backend: Sync {
    /// Its name in manifests: `sim`, `lab` or `hosts`.
    fn name(&self) -> &'static str;

    /// Carries out one run, hands its rows to `sink` as they are measured, and returns its manifest. A run that can't be
    /// believed is a manifest with `invalid` reasons, not an error.
    ///
    /// # Errors
    /// [`Problem`] where nothing was measured; what `sink` has then is no record.
    fn stream(&self, run: &Run, watch: &dyn Watch, sink: &mut dyn Sink) -> Result<Manifest, Problem>;

    /// Carries out one run and returns its record, all rows in memory: for short runs and for tests.
    ///
    /// # Errors
    /// As [`Backend::stream`].
    fn run(&self, run: &Run, watch: &dyn Watch) -> Result<RunRecord, Problem> {
        let mut rows = InMemory::default();
        let manifest = self.stream(run, watch, &mut rows)?;
        Ok(rows.into_record(manifest))
    }

    /// Whether this machine can do the run at all, found without doing it; asked for every run before the first one.
    ///
    /// # Errors
    /// [`Problem`], with the remedy.
    fn check(&self, run: &Run) -> Result<(), Problem>;

    /// Whether nothing in `cell` is left to chance, so that each of its runs is the same whatever its seed. In doubt it is not.
    fn is_deterministic(&self, cell: &CellSpec) -> bool {
        let _there_is_always_some_on_a_real_machine = cell;
        false
    }

    /// How long the run will take on the wall, set-up and drain included; for estimates.
    fn estimate(&self, run: &Run) -> Duration;
}

/// Told of a run's progress; asked whether to go on.
pub trait Watch: Sync {
    /// The run has reached `now` of its traffic.
    fn progress(&self, now: Time);
    /// Packets left the path late by at most `path` so far.
    fn late(&self, path: Duration) {
        let _not_shown = path;
    }
    /// True once the user asked to stop (Ctrl-C, SIGTERM).
    fn stop_requested(&self) -> bool;
}

/// Nobody looks on, nobody stops it.
#[derive(Debug, Clone, Copy)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn progress(&self, _: Time) {}

    fn stop_requested(&self) -> bool {
        false
    }
}
