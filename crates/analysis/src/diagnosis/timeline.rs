//! One stream's causes in order of time, in at most [`MOST`] spans.
//!
//! Never: a change of cause left out while there is room for it.

use super::{CwndCause, Span};
use crate::experiment::LimitedBy;

/// Spans of a stream. A terminal shows some hundred columns, a page some thousand.
const MOST: usize = 1000;

/// The spans so far; neighbours with the same cause are one.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    spans: Vec<Span>,
}

impl Timeline {
    /// Adds the next span.
    pub(super) fn push(&mut self, span: Span) {
        if self.spans.len() == MOST {
            self.halve();
        }
        join(&mut self.spans, span);
    }

    pub(super) fn into_spans(self) -> Vec<Span> {
        self.spans
    }

    /// Of every two neighbours the longer one speaks for both.
    fn halve(&mut self) {
        let mut halved = Vec::with_capacity(MOST);
        for pair in self.spans.chunks(2) {
            let (first, last) = (pair[0], pair[pair.len() - 1]);
            let longer = if length(&first) >= length(&last) { first } else { last };
            join(&mut halved, Span { from_us: first.from_us, to_us: last.to_us, ..longer });
        }
        self.spans = halved;
    }
}

fn join(spans: &mut Vec<Span>, span: Span) {
    match spans.last_mut().filter(|last| cause(last) == cause(&span)) {
        Some(last) => last.to_us = span.to_us,
        None => spans.push(span),
    }
}

fn cause(span: &Span) -> (LimitedBy, Option<CwndCause>) {
    (span.limited_by, span.cwnd_cause)
}

fn length(span: &Span) -> u64 {
    span.to_us - span.from_us
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Causes in turn, `long` and 1 µs long.
    fn in_turn(changes: u64, long: u64) -> Vec<Span> {
        let mut timeline = Timeline::default();
        let mut from_us = 0;
        for number in 0..changes {
            let (length, limited_by) = [(long, LimitedBy::Path), (1, LimitedBy::Cwnd)][(number % 2) as usize];
            let to_us = from_us + length;
            timeline.push(Span { stream: 0, from_us, to_us, limited_by, cwnd_cause: None });
            from_us = to_us;
        }
        timeline.into_spans()
    }

    #[test]
    fn every_change_is_kept_while_there_is_room() {
        assert_eq!(in_turn(999, 3).len(), 999);
    }

    #[test]
    fn of_more_changes_the_longer_causes_stay_and_no_time_is_left_out() {
        let spans = in_turn(100_001, 3);
        assert!(spans.len() <= MOST, "{}", spans.len());
        assert!(spans.windows(2).all(|pair| pair[0].to_us == pair[1].from_us));
        assert_eq!((spans[0].from_us, spans[spans.len() - 1].to_us), (0, 50_001 * 3 + 50_000));
        let of_path: u64 = spans.iter().filter(|span| span.limited_by == LimitedBy::Path).map(length).sum();
        assert!(of_path >= 150_000, "{of_path}");
    }
}
