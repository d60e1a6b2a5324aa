//! Reads a run's rows on their way to the record, and updates the state of the live view ten times a second. Every row goes on
//! unchanged.

use super::history::RunHistory;
use super::locked;
use super::state::{LiveState, Snapshot};
use pipefill_analysis::ground::thresholds::STANDARD;
use pipefill_analysis::judge::{Diagnosing, Span};
use pipefill_core::file_name::FileName;
use pipefill_core::limit::CwndCause;
use pipefill_core::plan::Run;
use pipefill_core::record::{AnyRow, Manifest, Sink, SinkError};
use std::io::Write;
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

/// How often the state is updated.
const EVERY: Duration = Duration::from_millis(100);

/// A sink that copies what it needs, and passes every row on.
pub(crate) struct LiveTap<'a> {
    record: &'a mut dyn Sink,
    run: &'a Run,
    state: &'a Mutex<LiveState>,
    /// Filled at the first row, when the begin of the traffic is known.
    expected: &'a OnceLock<Manifest>,
    diagnosing: Option<Diagnosing<'a>>,
    history: RunHistory,
    updated: Instant,
}

impl<'a> LiveTap<'a> {
    /// Of `run`, whose rows go on to `record`. `expected` is empty.
    pub(crate) fn new(
        run: &'a Run,
        state: &'a Mutex<LiveState>,
        expected: &'a OnceLock<Manifest>,
        record: &'a mut dyn Sink,
    ) -> Self {
        Self {
            record,
            run,
            state,
            expected,
            diagnosing: None,
            history: RunHistory::of(run),
            updated: Instant::now(),
        }
    }

    /// Updates the state.
    pub(crate) fn update(&mut self) {
        let so_far = self.diagnosing.as_ref().map_or_else(Vec::new, Diagnosing::so_far);
        let causes = causes(so_far, self.history.shown_stream());
        locked(self.state).show(self.run, Snapshot { history: self.history.clone(), causes });
        self.updated = Instant::now();
    }
}

impl Sink for LiveTap<'_> {
    fn push(&mut self, row: AnyRow) -> Result<(), SinkError> {
        self.history.push(&row);
        let (run, t_us) = (self.run, row.t_us());
        let begin =
            || Diagnosing::new(self.expected.get_or_init(|| Manifest::expected(run, t_us)), &STANDARD);
        self.diagnosing.get_or_insert_with(begin).push(&row);
        if self.updated.elapsed() >= EVERY {
            self.update();
        }
        self.record.push(row)
    }

    fn artifact(&mut self, name: &FileName) -> Result<Box<dyn Write + Send>, SinkError> {
        self.record.artifact(name)
    }
}

/// The spans of `stream` alone. Causes of losses are known at the end only, from counters.
fn causes(mut spans: Vec<Span>, stream: Option<u32>) -> Vec<Span> {
    spans.retain(|span| Some(span.stream) == stream);
    for span in &mut spans {
        span.cwnd_cause =
            span.cwnd_cause.filter(|cause| !matches!(cause, CwndCause::RandomLoss | CwndCause::QueueLoss));
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::Estimate;
    use crate::live::synthetic;
    use pipefill_core::cell::Direction;

    #[derive(Default)]
    struct Count(usize);

    impl Sink for Count {
        fn push(&mut self, _: AnyRow) -> Result<(), SinkError> {
            self.0 += 1;
            Ok(())
        }
    }

    #[test]
    fn every_row_goes_on_and_the_state_shows_what_limits() {
        let record = synthetic::record();
        let (run, rows) = (&record.manifest.run, record.rows());
        let state = Mutex::new(LiveState::new("tiny", "sim", Estimate::new(1, Duration::ZERO, 1)));
        let (mut count, expected) = (Count::default(), OnceLock::new());
        let mut tap = LiveTap::new(run, &state, &expected, &mut count);
        rows.iter().for_each(|row| tap.push(row.clone()).unwrap());
        tap.update();
        assert_eq!(count.0, rows.len());
        let state = locked(&state);
        let snapshot = state.current().unwrap().0.snapshot.as_ref().unwrap();
        assert!(snapshot.causes.iter().all(|span| span.stream == 0) && !snapshot.causes.is_empty());
        assert!(snapshot.history.mean_bps(Direction::Forward).is_some());
    }
}
