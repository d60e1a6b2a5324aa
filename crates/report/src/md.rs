//! Markdown: the terminal's tables for an issue or a README.
//!
//! Never: a cell whose text could break the table.

use crate::conclusions;
use crate::sheet::{Heading, Sheet, environment_line, interval_line, sheets, source_line};
use crate::visible::visible;
use pipefill_analysis::findings::experiment::Experiment;

/// A picture that the text shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// What it shows.
    pub title: String,
    /// Where it is, from the text's own place: letters, digits, hyphens, dots and slashes.
    pub path: String,
}

/// `experiment` as Markdown (GitHub's tables): title, source, table(s) with notes, `pictures`, environment. Ends with a newline.
pub fn render(experiment: &Experiment, pictures: &[Link]) -> String {
    let title = experiment.plan.title.as_ref().unwrap_or(&experiment.experiment);
    let mut parts = vec![format!("## {}", escaped(title))];
    parts.extend(source_line(experiment).map(|line| format!("*{}*", escaped(&line))));
    for sheet in sheets(experiment) {
        parts.extend(sheet.title.iter().map(|title| format!("### {}", escaped(title))));
        parts.push(table(&sheet));
        if !sheet.notes.is_empty() {
            let items: Vec<String> = sheet.notes.iter().map(|note| format!("- {}", escaped(note))).collect();
            parts.push(items.join("\n"));
        }
    }
    parts.extend(conclusions::in_markdown(experiment, &escaped));
    parts.extend(pictures.iter().map(|picture| format!("![{}]({})", escaped(&picture.title), picture.path)));
    parts.extend(interval_line(experiment).map(|line| format!("*{}*", escaped(&line))));
    parts.extend(environment_line(experiment).map(|line| format!("*{}*", escaped(&line))));
    parts.join("\n\n") + "\n"
}

/// A space at which no line ends, so that a figure keeps its prefix.
const UNBREAKABLE: &str = "\u{a0}";

fn table(sheet: &Sheet) -> String {
    let mut lines = vec![
        line(sheet.headings.iter().map(heading)),
        line(sheet.headings.iter().map(|h| if h.numeric { "---:" } else { "---" }.to_owned())),
    ];
    for row in &sheet.rows {
        lines.push(line(row.iter().zip(&sheet.headings).map(|(entry, heading)| {
            let text = escaped(&entry.text);
            if heading.numeric { text.replace(' ', UNBREAKABLE) } else { text }
        })));
    }
    lines.join("\n")
}

fn heading(heading: &Heading) -> String {
    if heading.unit.is_empty() {
        escaped(&heading.name)
    } else {
        escaped(&format!("{} ({})", heading.name, heading.unit))
    }
}

fn line(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
}

/// Escapes what Markdown and its tables would take for markup; line breaks become spaces.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in visible(&text.replace(['\n', '\r'], " "), false).chars() {
        match c {
            '|' | '*' | '_' | '`' | '<' | '\\' | '[' | ']' | '#' => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
    out
}
