//! One stream's causes in order of time, in at most [`MOST`] spans.

use super::Span;
use crate::ground::step_function::{Step, StepFunction};
use pipefill_core::limit::{CwndCause, LimitedBy};

/// Spans of a stream. A terminal shows some hundred columns, a page some thousand.
const MOST: usize = 1000;

/// A cause of one stream.
type Cause = (u32, LimitedBy, Option<CwndCause>);

/// The spans so far; neighbours with the same cause are one.
#[derive(Debug, Clone)]
pub(super) struct Timeline(StepFunction<Cause>);

impl Default for Timeline {
    fn default() -> Self {
        Self(StepFunction::of(MOST))
    }
}

impl Timeline {
    /// Adds the next span.
    pub(super) fn push(&mut self, span: Span) {
        let Span { stream, from_us, to_us, limited_by, cwnd_cause } = span;
        self.0.push(Step { from_us, to_us, value: (stream, limited_by, cwnd_cause) });
    }

    pub(super) fn into_spans(self) -> Vec<Span> {
        let span = |stay: Step<Cause>| {
            let (stream, limited_by, cwnd_cause) = stay.value;
            Span { stream, from_us: stay.from_us, to_us: stay.to_us, limited_by, cwnd_cause }
        };
        self.0.into_steps().into_iter().map(span).collect()
    }
}
