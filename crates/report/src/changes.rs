//! `pipefill compare`: what changed from one experiment to another, cell by cell.
//!
//! Never: a word of better or worse where the interval of the difference holds zero.

use crate::prose::filled;
use crate::quantity::{self, MISSING, QuantityKind};
use crate::sheet::{Column, Heading, Sheet, SheetEntry, Tone, beside_axes};
use crate::table::{Style, drawn};
use indexmap::IndexMap;
use pipefill_analysis::findings::changes::{CellChange, Change, Changes, Finding};
use pipefill_analysis::findings::experiment::coordinates;
use pipefill_analysis::ground::statistics::VALUES_MIN;

/// Stands for a difference that is not shown.
const SAME: &str = "≈";
/// Lines are shorter than on any terminal: they go into mails and logs.
const WIDTH: u16 = 80;
/// From this many cells on a few differ by chance alone, and that is said.
const MANY: usize = 10;
/// The share of intervals that do not hold the truth.
const CHANCE: f64 = 0.05;

/// The comparison: what else differs, a table for each variant, what limits now, and the count. Ends with a newline.
pub fn render(changes: &Changes, style: Style) -> String {
    let width = style.width.min(WIDTH);
    let line = |text: String| filled(&text, "", "  ", width);
    let mut head = vec![line(format!("{} → {}", changes.before.directory, changes.after.directory))];
    head.extend(changes.notes.iter().map(|note| line(format!("differs: {note}"))));
    let mut parts = vec![head.join("\n")];
    for (variant, cells) in by_variant(changes) {
        parts.push(drawn(&sheet(variant, &cells), Style { width, ..style }));
    }
    let told: Vec<String> =
        changes.cells.iter().flat_map(|cell| cell_lines(cell, style)).chain(missing(changes)).collect();
    if !told.is_empty() {
        parts.push(told.into_iter().map(line).collect::<Vec<_>>().join("\n"));
    }
    parts.push(conclusion(changes).into_iter().map(line).collect::<Vec<_>>().join("\n"));
    parts.join("\n\n") + "\n"
}

fn by_variant(changes: &Changes) -> IndexMap<Option<&str>, Vec<&CellChange>> {
    let mut groups: IndexMap<Option<&str>, Vec<&CellChange>> = IndexMap::new();
    for cell in &changes.cells {
        groups.entry(cell.axes.get("variant").map(String::as_str)).or_default().push(cell);
    }
    groups
}

fn sheet(variant: Option<&str>, cells: &[&CellChange]) -> Sheet {
    let axes: Vec<&IndexMap<String, String>> = cells.iter().map(|cell| &cell.axes).collect();
    let columns = goodput(cells).into_iter().chain(differences(cells)).chain([findings(cells)]);
    let (headings, rows) = beside_axes(&axes, columns);
    Sheet { title: variant.map(str::to_owned), headings, cells: Vec::new(), rows, notes: Vec::new() }
}

/// Goodput of both sides, its change, the half width of that change's interval, and the smallest change that would be seen.
fn goodput(cells: &[&CellChange]) -> Vec<Column> {
    let changes: Vec<Option<Change>> = cells.iter().map(|cell| cell.goodput_bps).collect();
    let known = || changes.iter().flatten();
    if known().next().is_none() {
        return Vec::new();
    }
    let rates: Vec<f64> = known().flat_map(|change| [change.before, change.after]).collect();
    let scale = QuantityKind::Rate.scale(&rates);
    let unit = QuantityKind::Rate.heading_unit(scale);
    let rate = |name: &str, value: fn(&Change) -> f64| {
        let text = |change: &Change| QuantityKind::Rate.in_column(value(change), scale);
        column(name, &unit, &changes, text, |_| Tone::Plain)
    };
    vec![
        rate("before", |change| change.before),
        rate("after", |change| change.after),
        column("change", "%", &changes, |change| percent(change.difference_fraction), tone),
        column("±", "%", &changes, half_width, |_| Tone::Plain),
        column("detects", "%", &changes, detectable, |_| Tone::Plain),
    ]
}

/// The other figures: only their change.
fn differences(cells: &[&CellChange]) -> Vec<Column> {
    let of =
        |name: &str, unit: &str, field: fn(&CellChange) -> Option<Change>, text: fn(&Change) -> String| {
            let changes: Vec<Option<Change>> = cells.iter().map(|cell| field(cell)).collect();
            let is_known = changes.iter().any(Option::is_some);
            is_known.then(|| column(name, unit, &changes, |change| shown(change, text), tone))
        };
    [
        of("RTT p95", "%", |cell| cell.srtt_us_p95, |change| percent(change.difference_fraction)),
        of("retr", "%", |cell| cell.retransmits, counts),
        of("lost", "points", |cell| cell.lost_percent, |change| signed(change.difference, 2)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A share of nothing is none; then both counts stand there.
fn counts(change: &Change) -> String {
    match change.difference_fraction {
        Some(share) => percent(Some(share)),
        None if change.difference == 0.0 => SAME.to_owned(),
        None => format!("0→{:.0}", change.after),
    }
}

fn shown(change: &Change, text: fn(&Change) -> String) -> String {
    if change.finding == Finding::NotShown { SAME.to_owned() } else { text(change) }
}

/// What the row says in a word.
fn findings(cells: &[&CellChange]) -> Column {
    let heading = Heading { name: String::new(), unit: String::new(), numeric: false };
    let entry = |cell: &&CellChange| {
        let (text, tone) = word(cell);
        SheetEntry { text: text.to_owned(), value: None, tone }
    };
    (heading, cells.iter().map(entry).collect())
}

fn word(cell: &CellChange) -> (&'static str, Tone) {
    match (cell.regression, cell.improvement, cell.goodput_bps.map(|change| change.finding)) {
        (true, ..) => ("REGRESSION", Tone::Bad),
        (_, true, _) => ("better", Tone::Good),
        _ if cell.trade_off => ("trade-off", Tone::Warn),
        (_, _, Some(Finding::Worse)) => ("worse", Tone::Warn),
        (_, _, Some(Finding::Better)) => ("better", Tone::Plain),
        (_, _, Some(Finding::NotShown)) => (SAME, Tone::Plain),
        (_, _, Some(Finding::TooFewRuns)) => ("few runs", Tone::Warn),
        (_, _, None) if cell.is_unusable() => ("invalid", Tone::Bad),
        (_, _, None) => (MISSING, Tone::Plain),
    }
}

fn column(
    name: &str,
    unit: &str,
    changes: &[Option<Change>],
    text: impl Fn(&Change) -> String,
    tone: impl Fn(&Change) -> Tone,
) -> Column {
    let heading = Heading { name: name.to_owned(), unit: unit.to_owned(), numeric: true };
    let entry = |change: &Option<Change>| match change {
        Some(change) => SheetEntry { text: text(change), value: None, tone: tone(change) },
        None => SheetEntry::or_missing(None),
    };
    (heading, changes.iter().map(entry).collect())
}

fn tone(change: &Change) -> Tone {
    match change.finding {
        Finding::Better => Tone::Good,
        Finding::Worse => Tone::Bad,
        Finding::NotShown | Finding::TooFewRuns => Tone::Plain,
    }
}

fn half_width(change: &Change) -> String {
    let half = change.difference_low.zip(change.difference_high).map(|(low, high)| (high - low) / 2.0);
    let share = half.filter(|_| change.before > 0.0).map(|half| half / change.before * 100.0);
    share.map_or_else(|| MISSING.to_owned(), |share| format!("{share:.1}"))
}

fn detectable(change: &Change) -> String {
    change.detectable_fraction.map_or_else(|| MISSING.to_owned(), |share| format!("{:.1}", share * 100.0))
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| MISSING.to_owned(), |share| signed(share * 100.0, 1))
}

/// With its sign; without one where it rounds to zero.
fn signed(value: f64, decimals: usize) -> String {
    let digits = format!("{:.decimals$}", value.abs());
    match digits.bytes().any(|byte| (b'1'..=b'9').contains(&byte)) {
        false => digits,
        true if value < 0.0 => format!("−{digits}"),
        true => format!("+{digits}"),
    }
}

/// Regressions with their interval, and what limits a cell now where that is another thing.
fn cell_lines(cell: &CellChange, style: Style) -> Vec<String> {
    let name = coordinates(&cell.axes);
    let mut lines = Vec::new();
    if cell.regression {
        let (red, reset) = if style.colour { ("\x1b[31m", "\x1b[0m") } else { ("", "") };
        let what: Vec<String> = [("goodput", cell.goodput_bps), ("RTT p95", cell.srtt_us_p95)]
            .into_iter()
            .filter_map(worse)
            .collect();
        lines.push(format!("{red}REGRESSION{reset} {name}: {}", what.join("; ")));
    }
    if let (Some(before), Some(after)) = (cell.limited_by_before, cell.limited_by_after)
        && before != after
    {
        lines.push(format!("{name}: limited by {}, was {}", after.as_str(), before.as_str()));
    }
    if cell.is_unusable() {
        let side = if cell.valid_before == 0 { "before" } else { "after" };
        lines.push(format!("{name}: no valid run {side}"));
    }
    lines
}

fn worse((name, change): (&str, Option<Change>)) -> Option<String> {
    let change = change.filter(|change| change.finding == Finding::Worse)?;
    let share =
        |value: Option<f64>| percent(value.filter(|_| change.before > 0.0).map(|v| v / change.before));
    let (low, high) = (share(change.difference_low), share(change.difference_high));
    Some(format!("{name} {} % (95 % interval {low} to {high} %)", percent(change.difference_fraction)))
}

fn missing(changes: &Changes) -> Vec<String> {
    let line = |side: &str, cells: &[IndexMap<String, String>]| {
        let names: Vec<String> = cells.iter().map(coordinates).collect();
        (!names.is_empty()).then(|| format!("only {side}: {}", names.join("; ")))
    };
    [line("before", &changes.only_before), line("after", &changes.only_after)].into_iter().flatten().collect()
}

fn conclusion(changes: &Changes) -> Vec<String> {
    let cells = changes.cells.len();
    let counted = |finding| {
        let has = |cell: &&CellChange| cell.goodput_bps.is_some_and(|change| change.finding == finding);
        changes.cells.iter().filter(has).count()
    };
    let (few, judged) = (counted(Finding::TooFewRuns), cells - counted(Finding::TooFewRuns));
    let mut lines = vec![format!(
        "{}, {}, {}. A regression is {} % of goodput less, or of the 95th percentile of the round trip more for no more goodput, in an interval without zero.",
        quantity::counted(cells as u64, "cell(s)"),
        quantity::counted(changes.regressions as u64, "regression(s)"),
        quantity::counted(changes.improvements as u64, "improvement(s)"),
        (changes.threshold_fraction * 1e4).round() / 100.0,
    )];
    lines.push(format!(
        "Medians of the valid runs, as in a report; ± is half of the 95 % interval of the change; detects: the smallest change of goodput that these runs would show four times in five; {SAME}: no difference shown."
    ));
    if few > 0 {
        lines.push(format!(
            "{} of {cells} cells have too few runs for an interval: {VALUES_MIN} on each side, better five.",
            few
        ));
    }
    if judged >= MANY {
        lines.push(format!(
            "Of {judged} cells up to {:.0} may differ by chance alone.",
            (judged as f64 * CHANCE).ceil()
        ));
    }
    lines
}
