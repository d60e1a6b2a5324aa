//! `--set path.rtt=50ms`: one setting as text, checked as in a file.

use super::bounds::FLOWS_MAX;
use super::error::{Origin, ScenarioProblem};
use super::key::{APP, Key, KeyKind, Slot};
use super::layer::{Setting, Text, unknown_key, unknown_table};
use super::section::Section;
use std::ops::Range;

/// Reads `KEY=VALUE` or `KEY=[VALUE,VALUE]`, an axis or the sizes of writes; values with commas stand in double quotes there. `source` is the index of the
/// text for the carets.
///
/// # Errors
/// What is wrong with the key or the values.
pub(super) fn read(text: &str, source: usize) -> Result<Setting, Vec<ScenarioProblem>> {
    let at = |span: Range<usize>| Origin { source, span };
    let Some(equals) = text.find('=') else {
        let help = "write KEY=VALUE, e.g. path.rtt=50ms, or KEY=[VALUE,VALUE] for an axis";
        return Err(vec![ScenarioProblem::new(&at(0..text.len()), "\"=\" is missing", help)]);
    };
    let (slot, key) = slot(&text[..equals])
        .map_err(|(message, help)| vec![ScenarioProblem::new(&at(0..equals), message, help)])?;
    let start = equals + 1;
    let list = text[start..].strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if let Some(list) = list.filter(|_| key.kind == KeyKind::Writes) {
        let sizes: Vec<&str> = items(list, start + 1).into_iter().map(|span| &text[span]).collect();
        let value = Text { text: sizes.join(","), origin: at(start..text.len()) };
        return Setting::checked(slot, key, vec![value], false, &at(start..text.len()));
    }
    let spans = match list {
        Some(list) => items(list, start + 1),
        None => std::iter::once(start..text.len()).collect(),
    };
    let values = spans
        .into_iter()
        .map(|span| Text { text: text[span.clone()].to_owned(), origin: at(span) })
        .collect();
    Setting::checked(slot, key, values, list.is_some(), &at(start..text.len()))
}

/// The slot and key of `path.rtt`, `flow.bitrate`, `flow.0.bitrate`, `flow.app.think`, `host.sysctl.net.ipv4.tcp_sack`.
fn slot(path: &str) -> Result<(Slot, &'static Key), (String, String)> {
    let (section_name, name) = path.split_once('.').unwrap_or((path, ""));
    let section = Section::from_name(section_name).ok_or_else(|| unknown_table(section_name, &[]))?;
    let slot = match name.split_once('.') {
        Some((number, name)) if section == Section::Flow && format!("{number}.") != APP => {
            let index = number.parse().ok().filter(|index| *index < FLOWS_MAX);
            let index = index.ok_or_else(|| unknown_key(section, number))?;
            Slot::in_flow(index, name)
        }
        _ => Slot::new(section, name),
    };
    let key = Key::find(section, &slot.name).ok_or_else(|| unknown_key(section, &slot.name))?;
    Ok((slot, key))
}

/// Spans of the values between commas, without the space and the quotes around them. An empty list has none.
fn items(list: &str, start: usize) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let mut from = 0;
    let mut is_quoted = false;
    for (at, c) in list.char_indices().chain(std::iter::once((list.len(), ','))) {
        if c == '"' {
            is_quoted = !is_quoted;
        }
        if c == ',' && (!is_quoted || at == list.len()) {
            let part = &list[from..at];
            let left = part.len() - part.trim_start().len();
            let trimmed = part.trim();
            let quoted = trimmed.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
            let (inset, length) = quoted.map_or((0, trimmed.len()), |inner| (1, inner.len()));
            let begin = start + from + left + inset;
            spans.push(begin..begin + length);
            from = at + 1;
        }
    }
    if list.trim().is_empty() {
        spans.clear();
    }
    spans
}
