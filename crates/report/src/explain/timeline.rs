//! The timeline of causes as one line a stream: a letter for what held most of the time of each column.

use crate::band::{BandAxis, event_mark, event_sentence, holder};
use crate::cause::{self, Cause, letter, meaning};
use crate::quantity;
use crate::table::Style;
use pipefill_analysis::judge::{HeldTime, Span};
use pipefill_core::flow_event::FlowEvent;
use pipefill_core::limit::LimitedBy;
use std::collections::BTreeMap;

/// Columns of the band at most; fewer where the terminal is narrow.
const WIDEST: u16 = 60;
/// Columns to the left and the right of it.
const MARGINS: u16 = 18;
/// Streams that are drawn; more tell nothing new.
const STREAMS: usize = 16;
/// Events that have a line.
const EVENTS: usize = 8;
/// A holder of a smaller part of the time has no line.
const LEAST_SHOWN: f64 = 0.005;
/// Where nothing was judged.
const NOTHING: char = '·';

/// The band of every stream, the marks of `events` below them, the axis and the legend.
pub(super) fn drawing(timeline: &[Span], events: &[FlowEvent], style: Style) -> Vec<String> {
    let columns = usize::from(WIDEST.min(style.width.saturating_sub(MARGINS)).max(10));
    let Some(axis) = BandAxis::of(timeline.iter(), columns) else { return Vec::new() };
    let mut streams: BTreeMap<u32, Vec<&Span>> = BTreeMap::new();
    for span in timeline {
        streams.entry(span.stream).or_default().push(span);
    }
    let band = |(stream, spans): (&u32, &Vec<&Span>)| {
        format!("stream {stream:<3} {}", drawn(&axis.holders(spans), style))
    };
    let mut lines: Vec<String> = streams.iter().take(STREAMS).map(band).collect();
    if streams.len() > STREAMS {
        lines.push(format!("and {} more streams", streams.len() - STREAMS));
    }
    let marks = axis.marks(events);
    lines.extend((!marks.is_empty()).then(|| format!("           {marks}")));
    lines.push(labels(&axis));
    lines.extend(legend(timeline, style));
    let shown = events.iter().take(EVENTS);
    lines.extend(shown.map(|event| {
        format!("           {}  {}", event_mark(event.kind), event_sentence(event, axis.from_us))
    }));
    if events.len() > EVENTS {
        lines.push(format!("           and {} more events", events.len() - EVENTS));
    }
    lines
}

/// `text` in the colour of `limit`, where colours are wanted.
pub(super) fn painted(text: &str, limit: LimitedBy, style: Style) -> String {
    if !style.colour || text.is_empty() {
        return text.to_owned();
    }
    format!("\x1b[{}m{text}\x1b[0m", cause::colour(limit))
}

/// The ledger of a flow: a bar of its whole time, and a line for each holder, the longest first.
pub(super) fn ledger(time: &[HeldTime], style: Style) -> Vec<String> {
    let columns = usize::from(WIDEST.min(style.width.saturating_sub(MARGINS)).max(10));
    let all_us: u64 = time.iter().map(|held| held.us).sum();
    if all_us == 0 {
        return Vec::new();
    }
    let (mut drawn_to, mut at_us, mut bar) = (0, 0_u128, String::new());
    for held in time {
        at_us += u128::from(held.us);
        let to = usize::try_from(at_us * columns as u128 / u128::from(all_us)).unwrap_or(columns);
        let letters = letter((held.limited_by, held.cause)).to_string().repeat(to - drawn_to);
        bar += &painted(&letters, held.limited_by, style);
        drawn_to = to;
    }
    let shown = |held: &&HeldTime| held.share >= LEAST_SHOWN;
    let line = |held: &HeldTime| {
        let cause = (held.limited_by, held.cause);
        let letter = painted(&letter(cause).to_string(), held.limited_by, style);
        let (percent, time) = (held.share * 100.0, quantity::duration(held.us));
        format!("{percent:>4.0} %  {time:>8}  {letter}  {}", meaning(cause))
    };
    std::iter::once(bar).chain(time.iter().filter(shown).map(line)).collect()
}

/// Neighbours of one colour are painted at once.
fn drawn(causes: &[Option<Cause>], style: Style) -> String {
    let colour = |cause: &Option<Cause>| cause.map(|(limit, _)| limit);
    let runs = causes.chunk_by(|a, b| colour(a) == colour(b));
    runs.map(|run| {
        let letters: String = run.iter().map(|cause| cause.map_or(NOTHING, letter)).collect();
        colour(&run[0]).map_or(letters.clone(), |limit| painted(&letters, limit, style))
    })
    .collect()
}

fn labels(axis: &BandAxis) -> String {
    let instant = |us: u64| if us == 0 { "0 s".to_owned() } else { quantity::duration(us) };
    let (left, right) = (instant(axis.from_us), instant(axis.to_us));
    let gap = axis.columns.saturating_sub(left.chars().count() + right.chars().count()).max(1);
    format!("           {left}{}{right}", " ".repeat(gap))
}

/// Of what occurs, in the order of the causes.
fn legend(timeline: &[Span], style: Style) -> Vec<String> {
    let causes: std::collections::BTreeSet<Cause> = timeline.iter().map(holder).collect();
    let entry = |&cause: &Cause| {
        format!("           {}  {}", painted(&letter(cause).to_string(), cause.0, style), meaning(cause))
    };
    causes.iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::flow_event::FlowEventKind;
    use pipefill_core::limit;

    fn span(stream: u32, from_us: u64, to_us: u64, limited_by: LimitedBy) -> Span {
        Span { stream, from_us, to_us, limited_by, cause: None, cwnd_cause: None, rule: None }
    }

    #[test]
    fn each_column_shows_what_stood_longest() {
        let spans = [span(0, 0, 260_000, LimitedBy::Cwnd), span(0, 260_000, 1_000_000, LimitedBy::Path)];
        let lines = drawing(&spans, &[], Style { width: 28, colour: false });
        assert_eq!(lines[0], "stream 0   ccc#######");
        assert_eq!(lines[1], "           0 s 1.00 s");
        assert_eq!(lines.len(), 4, "{lines:?}");
    }

    #[test]
    fn a_gap_is_no_cause_and_a_colour_has_its_letter() {
        let spans = [span(0, 0, 500_000, LimitedBy::Rwnd), span(1, 500_000, 1_000_000, LimitedBy::App)];
        let plain = drawing(&spans, &[], Style { width: 28, colour: false });
        assert_eq!(plain[..2], ["stream 0   WWWWW·····", "stream 1   ·····AAAAA"]);
        let coloured = drawing(&spans, &[], Style { width: 28, colour: true });
        assert_eq!(coloured[0], "stream 0   \x1b[34mWWWWW\x1b[0m·····");
    }

    #[test]
    fn the_ledger_is_a_bar_and_a_line_for_each_holder() {
        let held = |cause, us| HeldTime {
            limited_by: LimitedBy::App,
            cause: Some(cause),
            us,
            share: us as f64 / 1e6,
        };
        let time = [
            held(limit::Cause::Response, 700_000),
            held(limit::Cause::Turns, 298_000),
            held(limit::Cause::Rate, 2_000),
        ];
        let lines = ledger(&time, Style { width: 28, colour: false });
        assert_eq!(lines[0], "wwwwwwwttr", "ten columns");
        assert_eq!(lines[1], "  70 %    700 ms  w  app response: asked, and not answering yet");
        assert_eq!(lines.len(), 3, "two in a thousand have no line: {lines:?}");
    }

    #[test]
    fn events_have_marks_and_lines() {
        let spans = [span(0, 0, 1_000_000, LimitedBy::Cwnd)];
        let kind = FlowEventKind::Timeout;
        let event = FlowEvent { kind, from_us: 500_000, to_us: 500_000, count: 1 };
        let lines = drawing(&spans, &[event], Style { width: 28, colour: false });
        assert_eq!(lines[1], "                !");
        assert_eq!(lines.last().unwrap(), "           !  the retransmission timer ran out, at 500 ms");
        let many = drawing(&spans, &[event; 20], Style { width: 28, colour: false });
        assert_eq!(many.last().unwrap(), "           and 12 more events");
    }

    #[test]
    fn nothing_judged_is_no_band() {
        assert!(drawing(&[], &[], Style::default()).is_empty());
    }
}
