//! Who held a flow when, in columns, and the events beside it: the same in `explain`, in `watch` and on pages.

use crate::cause::Cause;
use crate::quantity::{self, counted};
use pipefill_analysis::judge::Span;
use pipefill_core::flow_event::{FlowEvent, FlowEventKind};
use std::collections::BTreeMap;

/// A span of time that is cut into columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BandAxis {
    /// When it begins, microseconds.
    pub from_us: u64,
    /// When it ends.
    pub to_us: u64,
    /// Its columns.
    pub columns: usize,
}

impl BandAxis {
    /// Of all spans; `None` where there are none.
    pub fn of<'a>(spans: impl Iterator<Item = &'a Span> + Clone, columns: usize) -> Option<Self> {
        let from_us = spans.clone().map(|span| span.from_us).min()?;
        let to_us = spans.map(|span| span.to_us).max()?;
        Some(Self { from_us, to_us, columns })
    }

    /// Who held most of each column; `None` where nothing was judged.
    pub fn holders(&self, spans: &[&Span]) -> Vec<Option<Cause>> {
        (0..self.columns).map(|column| longest(spans, self.edge(column), self.edge(column + 1))).collect()
    }

    /// The mark of the first event that touches each column, or a space.
    pub fn marks(&self, events: &[FlowEvent]) -> String {
        let mark = |column: usize| {
            let (from, to) = (self.edge(column), self.edge(column + 1));
            let is_last = column + 1 == self.columns;
            let touches = |event: &&FlowEvent| {
                let begins = event.from_us < to || (is_last && event.from_us >= to);
                begins && (event.to_us > from || (event.to_us == event.from_us && event.to_us >= from))
            };
            events.iter().find(touches).map_or(' ', |event| event_mark(event.kind))
        };
        let marks: String = (0..self.columns).map(mark).collect();
        marks.trim_end().to_owned()
    }

    fn edge(&self, column: usize) -> u64 {
        let length = self.to_us.saturating_sub(self.from_us);
        let part = u128::from(length) * column as u128 / self.columns.max(1) as u128;
        self.from_us + u64::try_from(part).unwrap_or(u64::MAX)
    }
}

/// The holder of a span. Records of 0.1.0 have the causes of congestion windows alone.
pub fn holder(span: &Span) -> Cause {
    (span.limited_by, span.cause.or(span.cwnd_cause.map(Into::into)))
}

/// The cause that stood longest between two instants; of a run shorter than its columns, whatever stood there.
fn longest(spans: &[&Span], from: u64, to: u64) -> Option<Cause> {
    let mut times: BTreeMap<Cause, u64> = BTreeMap::new();
    for span in spans {
        let shared = span.to_us.min(to).saturating_sub(span.from_us.max(from));
        if shared > 0 {
            *times.entry(holder(span)).or_default() += shared;
        }
    }
    times.into_iter().max_by_key(|&(_, time)| time).map(|(cause, _)| cause)
}

/// The mark of an event below a band.
pub const fn event_mark(kind: FlowEventKind) -> char {
    match kind {
        FlowEventKind::Outage => 'x',
        FlowEventKind::ZeroWindow => '0',
        FlowEventKind::Timeout => '!',
        FlowEventKind::CeMarks => '*',
        FlowEventKind::Reset => '|',
        FlowEventKind::CaptureGap => '/',
        FlowEventKind::ClockStep => '<',
        FlowEventKind::Idle => '_',
    }
}

/// What an event is.
const fn event_name(kind: FlowEventKind) -> &'static str {
    match kind {
        FlowEventKind::Outage => "outage: nothing came back",
        FlowEventKind::ZeroWindow => "the receiver's window was 0",
        FlowEventKind::Timeout => "the retransmission timer ran out",
        FlowEventKind::CeMarks => "the path marked packets (CE)",
        FlowEventKind::Reset => "reset",
        FlowEventKind::CaptureGap => "packets are missing from the capture",
        FlowEventKind::ClockStep => "the capture's clock was set back",
        FlowEventKind::Idle => "idle",
    }
}

/// An event in words: what, when from the band's beginning, and how often.
pub fn event_sentence(event: &FlowEvent, from_us: u64) -> String {
    let instant = |us: u64| match us.saturating_sub(from_us) {
        0 => "0 s".to_owned(),
        since => quantity::duration(since),
    };
    let (from, to) = (instant(event.from_us), instant(event.to_us));
    let when = if from == to { format!("at {from}") } else { format!("{from} to {to}") };
    let count = match event.count {
        0 | 1 => String::new(),
        count => format!(", {}", counted(count, "time(s)")),
    };
    format!("{}, {when}{count}", event_name(event.kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::limit::LimitedBy;

    fn event(kind: FlowEventKind, from_us: u64, to_us: u64, count: u64) -> FlowEvent {
        FlowEvent { kind, from_us, to_us, count }
    }

    #[test]
    fn marks_stand_where_events_are_and_have_words() {
        let axis = BandAxis { from_us: 1_000_000, to_us: 2_000_000, columns: 10 };
        let events = [
            event(FlowEventKind::Timeout, 1_250_000, 1_250_000, 1),
            event(FlowEventKind::ZeroWindow, 1_500_000, 1_700_000, 3),
            event(FlowEventKind::Reset, 2_000_000, 2_000_000, 1),
        ];
        assert_eq!(axis.marks(&events), "  !  00  |");
        let words = events.map(|event| event_sentence(&event, axis.from_us));
        assert_eq!(words[0], "the retransmission timer ran out, at 250 ms");
        assert_eq!(words[1], "the receiver's window was 0, 500 ms to 700 ms, 3 times");
        assert_eq!(axis.marks(&[]), "");
    }

    #[test]
    fn every_event_has_a_mark_of_its_own() {
        use FlowEventKind::{CaptureGap, CeMarks, ClockStep, Idle, Outage, Reset, Timeout, ZeroWindow};
        let kinds = [Outage, ZeroWindow, Timeout, CeMarks, Reset, CaptureGap, ClockStep, Idle];
        let marks: std::collections::BTreeSet<char> = kinds.map(event_mark).into_iter().collect();
        assert_eq!(marks.len(), kinds.len());
    }

    #[test]
    fn a_column_is_of_who_held_most_of_it() {
        let span = |from_us, to_us, limited_by| Span {
            stream: 0,
            from_us,
            to_us,
            limited_by,
            cause: None,
            cwnd_cause: None,
            rule: None,
        };
        let spans = [span(0, 30, LimitedBy::App), span(30, 100, LimitedBy::Path)];
        let axis = BandAxis::of(spans.iter(), 2).unwrap();
        let held = axis.holders(&spans.iter().collect::<Vec<_>>());
        assert_eq!(held, [Some((LimitedBy::App, None)), Some((LimitedBy::Path, None))]);
    }
}
