//! The terminal's table.

use crate::sheet::{Heading, Sheet, SheetEntry, Tone, environment_line, interval_line, sheets, source_line};
use crate::visible::visible;
use crate::{conclusions, prose};
use comfy_table::{Cell, CellAlignment, Color, ContentArrangement, Table, presets};
use pipefill_analysis::findings::experiment::Experiment;

/// How to draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal.
    pub width: u16,
    /// Whether to use ANSI colours.
    pub colour: bool,
}

impl Default for Style {
    /// 80 columns, no colour.
    fn default() -> Self {
        Self { width: 80, colour: false }
    }
}

/// `experiment` as one table, or one for each variant, with foot notes. Ends with a newline.
pub fn render(experiment: &Experiment, style: Style) -> String {
    let mut parts = vec![title(experiment)];
    for sheet in sheets(experiment) {
        parts.push(drawn(&sheet, style));
    }
    parts.extend(conclusions::in_terminal(experiment, style.width));
    let feet = [source_line, interval_line, environment_line].map(|line| line(experiment));
    let feet: Vec<String> = feet.into_iter().flatten().collect();
    if !feet.is_empty() {
        parts.push(feet.join("\n"));
    }
    visible(&(parts.join("\n\n") + "\n"), style.colour).into_owned()
}

fn title(experiment: &Experiment) -> String {
    match &experiment.plan.title {
        Some(title) => format!("{}: {title}", experiment.experiment),
        None => experiment.experiment.clone(),
    }
}

/// A sheet with its title and notes: two spaces between columns, one where the terminal is too narrow for two.
pub(crate) fn drawn(sheet: &Sheet, style: Style) -> String {
    let wide = grid(&sheet.headings, &sheet.rows, style, 2);
    let widest = wide.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    // The arrangement breaks a row in two where it has to.
    let is_broken = wide.lines().count() > sheet.rows.len() + heading_lines(&sheet.headings);
    let grid = if widest > usize::from(style.width) || is_broken {
        grid(&sheet.headings, &sheet.rows, style, 1)
    } else {
        wide
    };
    let mut lines: Vec<String> = sheet.title.iter().cloned().collect();
    lines.extend(grid.lines().map(|line| line.trim_end().to_owned()));
    lines.extend(sheet.notes.iter().map(|note| prose::filled(note, "", "  ", style.width)));
    lines.join("\n")
}

fn heading_lines(headings: &[Heading]) -> usize {
    if headings.iter().any(|h| !h.unit.is_empty()) { 2 } else { 1 }
}

/// The lines of a table without units, each behind `indent`.
pub(crate) fn lines(names: &[(&str, bool)], rows: &[Vec<SheetEntry>], style: Style, indent: &str) -> String {
    let headings: Vec<Heading> = names.iter().map(|&(name, numeric)| Heading::new(name, numeric)).collect();
    let narrower = Style { width: style.width.saturating_sub(indent.len() as u16), ..style };
    let grid = grid(&headings, rows, narrower, 2);
    grid.lines().map(|line| format!("{indent}{}\n", line.trim_end())).collect()
}

/// A borderless table.
fn grid(headings: &[Heading], rows: &[Vec<SheetEntry>], style: Style, gap: u16) -> String {
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(style.width);
    if style.colour {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    let two_lines = heading_lines(headings) == 2;
    table.set_header(headings.iter().map(|h| aligned(Cell::new(heading_text(h, two_lines)), h)));
    for row in rows {
        let cells = row.iter().zip(headings);
        table.add_row(cells.map(|(entry, heading)| aligned(toned(entry, style), heading)));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, gap));
    }
    table.to_string()
}

fn heading_text(heading: &Heading, two_lines: bool) -> String {
    if two_lines { format!("{}\n{}", heading.name, heading.unit) } else { heading.name.clone() }
}

fn aligned(cell: Cell, heading: &Heading) -> Cell {
    let alignment = if heading.numeric { CellAlignment::Right } else { CellAlignment::Left };
    cell.set_alignment(alignment)
}

fn toned(entry: &SheetEntry, style: Style) -> Cell {
    let cell = Cell::new(&entry.text);
    let colour = match entry.tone {
        Tone::Plain => return cell,
        Tone::Good => Color::Green,
        Tone::Faint => Color::DarkGrey,
        Tone::Warn => Color::Yellow,
        Tone::Bad => Color::Red,
    };
    if style.colour { cell.fg(colour) } else { cell }
}
