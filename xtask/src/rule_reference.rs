//! The rules and the thresholds in `docs/guide/verdicts.md`, written from the judge's own tables.
//!
//! Never: a rule or a threshold that isn't in those tables.

use crate::page_part::PagePart;
use pipefill_analysis::ground::threshold::{Layer, ThresholdAbout, Unit};
use pipefill_analysis::ground::thresholds::ABOUT;
use pipefill_analysis::judge::{Part, REVISIONS, RULES, Rule};
use std::fmt::Write;
use std::path::Path;

const PAGE: &str = "docs/guide/verdicts.md";
const COMMAND: &str = "rules";

const RULE_TABLE: PagePart = PagePart {
    page: PAGE,
    begin: "<!-- rules: written by `cargo run -p xtask -- rules`; edit crates/analysis/src/judge/rules instead -->\n",
    end: "<!-- end of rules -->",
    command: COMMAND,
};
const THRESHOLD_TABLE: PagePart = PagePart {
    page: PAGE,
    begin: "<!-- thresholds: written by `cargo run -p xtask -- rules`; edit crates/analysis/src/ground/thresholds.rs instead -->\n",
    end: "<!-- end of thresholds -->",
    command: COMMAND,
};

/// Writes both tables into the page.
///
/// # Errors
/// As [`PagePart::write`].
pub(crate) fn write(root: &Path) -> Result<(), String> {
    RULE_TABLE.write(root, &rules())?;
    THRESHOLD_TABLE.write(root, &thresholds())
}

/// What is wrong with the page as it is.
///
/// # Errors
/// As [`PagePart::check`].
pub(crate) fn check(root: &Path) -> Result<Vec<String>, String> {
    let mut problems = RULE_TABLE.check(root, &rules())?;
    problems.extend(THRESHOLD_TABLE.check(root, &thresholds())?);
    problems.dedup();
    Ok(problems)
}

fn rules() -> String {
    let mut text = String::from("\n| rule | asks | needs |\n| --- | --- | --- |\n");
    for rule in RULES {
        let _ = writeln!(text, "| `{}` | {} | {} |", rule.id, rule.question, needs(rule));
    }
    text.push_str(
        "\nRevisions, over the finished ledger:\n\n| revision | asks | then |\n| --- | --- | --- |\n",
    );
    for revision in REVISIONS {
        let _ = writeln!(text, "| `{}` | {} | {} |", revision.id, revision.question, revision.change);
    }
    text.push('\n');
    text
}

fn needs(rule: &Rule) -> String {
    rule.needs.iter().map(Part::as_str).collect::<Vec<_>>().join(", ")
}

fn thresholds() -> String {
    let mut text =
        String::from("\n| threshold | value | compared with | source |\n| --- | ---: | --- | --- |\n");
    for about in ABOUT {
        let by = if about.layer == Layer::Infer { " (inference)" } else { "" };
        let _ = writeln!(
            text,
            "| `{}`{by} | {} | {} | {} |",
            about.name,
            value(about),
            about.about.trim(),
            about.source
        );
    }
    let _ = writeln!(text, "\n{} thresholds.\n", ABOUT.len());
    text
}

fn value(about: &ThresholdAbout) -> String {
    match about.unit {
        Unit::Share => format!("{} %", trimmed(about.value * 100.0)),
        Unit::Microseconds => format!("{} ms", trimmed(about.value / 1e3)),
        unit => format!("{} {}", trimmed(about.value), unit.as_str()).trim_end().to_owned(),
    }
}

/// Without digits that only binary fractions have.
fn trimmed(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_and_threshold_has_a_line() {
        let (rules, thresholds) = (rules(), thresholds());
        assert!(RULES.iter().all(|rule| rules.contains(&format!("| `{}` | ", rule.id))));
        assert!(REVISIONS.iter().all(|revision| rules.contains(&format!("| `{}` | ", revision.id))));
        assert!(ABOUT.iter().all(|about| thresholds.contains(&format!("| `{}`", about.name))));
    }

    #[test]
    fn values_read_as_they_are_written() {
        let [share, times, small] = ["on_time_in_full_path", "receiver_risen", "datagrams_lost_in_queue"]
            .map(|name| value(ABOUT.iter().find(|about| about.name == name).expect("it is there")));
        assert_eq!([share.as_str(), times.as_str(), small.as_str()], ["99.5 %", "1.12 ×", "0.01 %"]);
    }
}
