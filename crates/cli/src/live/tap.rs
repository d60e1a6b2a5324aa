//! Looks at a run's rows on their way to the record, and tells the board ten times a second.
//!
//! Never: a row changed, held back or dropped; the record is first.

use super::board::{Board, Look};
use super::locked;
use super::pulse::Pulse;
use pipefill_analysis::diagnosis::{Diagnosing, Span};
use pipefill_core::limit::CwndCause;
use pipefill_core::plan::Run;
use pipefill_core::record::{AnyRow, Manifest, RecordError, Sink};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

/// How often the board is told.
const EVERY: Duration = Duration::from_millis(100);

/// A sink that looks at what goes through.
pub(crate) struct Onlooker<'a> {
    record: &'a mut dyn Sink,
    run: &'a Run,
    board: &'a Mutex<Board>,
    /// Filled when the first row tells when the traffic began.
    expected: &'a OnceLock<Manifest>,
    diagnosing: Option<Diagnosing<'a>>,
    pulse: Pulse,
    told: Instant,
}

impl<'a> Onlooker<'a> {
    /// Of `run`, whose rows go on to `record`. `expected` is empty.
    pub(crate) fn new(
        run: &'a Run,
        board: &'a Mutex<Board>,
        expected: &'a OnceLock<Manifest>,
        record: &'a mut dyn Sink,
    ) -> Self {
        Self { record, run, board, expected, diagnosing: None, pulse: Pulse::of(run), told: Instant::now() }
    }

    /// Tells the board what was seen last.
    pub(crate) fn tell(&mut self) {
        let causes = self.diagnosing.as_ref().map_or_else(Vec::new, |diagnosing| causes(diagnosing.so_far()));
        locked(self.board).show(self.run, Look { pulse: self.pulse.clone(), causes });
        self.told = Instant::now();
    }
}

impl Sink for Onlooker<'_> {
    fn take(&mut self, row: AnyRow) -> Result<(), RecordError> {
        self.pulse.take(&row);
        let (run, t_us) = (self.run, row.t_us());
        let begin = || Diagnosing::new(self.expected.get_or_init(|| Manifest::expected(run, t_us)));
        self.diagnosing.get_or_insert_with(begin).take(&row);
        if self.told.elapsed() >= EVERY {
            self.tell();
        }
        self.record.take(row)
    }
}

/// Of the first stream that has any. Whether a queue or chance made a loss, only the counters at the end tell.
fn causes(mut spans: Vec<Span>) -> Vec<Span> {
    let Some(first) = spans.first().map(|span| span.stream) else { return spans };
    spans.retain(|span| span.stream == first);
    for span in &mut spans {
        span.cwnd_cause =
            span.cwnd_cause.filter(|cause| !matches!(cause, CwndCause::RandomLoss | CwndCause::QueueLoss));
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Estimate;
    use crate::synthetic;

    #[derive(Default)]
    struct Count(usize);

    impl Sink for Count {
        fn take(&mut self, _: AnyRow) -> Result<(), RecordError> {
            self.0 += 1;
            Ok(())
        }
    }

    #[test]
    fn every_row_goes_on_and_the_board_is_told_what_limits() {
        let record = synthetic::record();
        let (run, rows) = (&record.manifest.run, record.rows());
        let board = Mutex::new(Board::new("tiny", "sim", Estimate::new(1, Duration::ZERO, 1)));
        let (mut count, expected) = (Count::default(), OnceLock::new());
        let mut onlooker = Onlooker::new(run, &board, &expected, &mut count);
        rows.iter().for_each(|row| onlooker.take(row.clone()).unwrap());
        onlooker.tell();
        assert_eq!(count.0, rows.len());
        let board = locked(&board);
        let look = board.current().unwrap().0.look.as_ref().unwrap();
        assert!(look.causes.iter().all(|span| span.stream == 0) && !look.causes.is_empty());
        assert!(look.pulse.mean_bps().is_some());
    }
}
