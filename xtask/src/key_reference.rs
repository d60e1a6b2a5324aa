//! The reference of scenario keys in `docs/guide/scenarios.md`, written from the table that the parser reads.
//!
//! Never: a word about a key that isn't in that table.

use crate::page_part::PagePart;
use pipefill_core::scenario::{KEYS, Key, KeyKind, Section, TOP};
use std::fmt::Write;
use std::path::Path;

/// Where it stands.
const PART: PagePart = PagePart {
    page: "docs/guide/scenarios.md",
    begin: "<!-- keys: written by `cargo run -p xtask -- keys`; edit crates/core/src/scenario/table.rs instead -->\n",
    end: "<!-- end of keys -->",
    command: "keys",
};

/// Writes the reference into the page.
///
/// # Errors
/// As [`PagePart::write`].
pub(crate) fn write(root: &Path) -> Result<(), String> {
    PART.write(root, &reference())
}

/// What is wrong with the page as it is.
///
/// # Errors
/// As [`PagePart::check`].
pub(crate) fn check(root: &Path) -> Result<Vec<String>, String> {
    PART.check(root, &reference())
}

fn reference() -> String {
    let mut text = String::from("\n### At the top\n\n| key | means |\n| --- | --- |\n");
    for (name, doc) in TOP {
        line(&mut text, &[&format!("`{name}`"), doc]);
    }
    for section in Section::ALL {
        let keys: Vec<&Key> = Key::of(section).collect();
        // A host's keys stand under [host]; the sections that override it have the same.
        if section != Section::Sender && section != Section::Receiver {
            write_section(&mut text, section, &keys);
        }
    }
    let axes = KEYS.iter().filter(|key| key.axis).count();
    let _ = writeln!(text, "\n{} keys; {axes} of them may be an axis.\n", KEYS.len());
    text
}

fn write_section(text: &mut String, section: Section, keys: &[&Key]) {
    let title = match section {
        Section::Host => "`[host]`, `[sender]`, `[receiver]`".to_owned(),
        Section::Flow => "`[[flow]]`".to_owned(),
        other => format!("`[{other}]`"),
    };
    let _ = writeln!(text, "\n### {title}\n\n| key | takes | default | means |\n| --- | --- | --- | --- |");
    for key in keys {
        let name = if key.name.ends_with('.') { format!("{}*", key.name) } else { key.name.to_owned() };
        let axis = if key.axis { "" } else { " Not an axis." };
        let default = key.default.map_or_else(|| "–".to_owned(), |default| format!("`{default}`"));
        let takes = format!("{}, e.g. `{}`", word(key.kind), key.example);
        line(text, &[&format!("`{name}`"), &takes, &default, &format!("{}{axis}", key.doc)]);
    }
}

/// What a key takes, in a word; the example shows its form.
fn word(kind: KeyKind) -> &'static str {
    match kind {
        KeyKind::Duration => "duration",
        KeyKind::Rate => "rate",
        KeyKind::Bytes => "bytes",
        KeyKind::Queue => "bytes, packets or BDPs",
        KeyKind::Ratio => "per cent",
        KeyKind::Count => "number",
        KeyKind::Flag => "true or false",
        KeyKind::Word => "word",
        KeyKind::Loss => "loss",
        KeyKind::Buffers => "buffers",
        KeyKind::Sizes => "sizes",
        KeyKind::Application => "application",
        KeyKind::Aqm => "discipline",
        KeyKind::Writes => "list of sizes",
        KeyKind::Trace | KeyKind::DelayTrace | KeyKind::LossTrace => "trace",
        KeyKind::Profile => "profile",
        KeyKind::Sysctl => "sysctl's value",
        KeyKind::Expectation => "comparison",
    }
}

fn line(text: &mut String, columns: &[&str]) {
    let escaped: Vec<String> = columns.iter().map(|column| column.replace('|', "\\|")).collect();
    let _ = writeln!(text, "| {} |", escaped.join(" | "));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_in_the_reference() {
        let text = reference();
        for key in KEYS {
            assert!(text.contains(&format!("| `{}", key.name)), "{} is missing", key.name);
        }
    }
}
