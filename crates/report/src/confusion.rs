//! The catalogue in Markdown: scenario by scenario, and the confusion matrix. It reads well on a terminal too.

use crate::quantity::MISSING;
use pipefill_analysis::findings::confusion::{Blindfold, Catalogue, Finding};
use pipefill_analysis::findings::perturbation::Perturbation;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The findings, the matrix, and what is wrong.
pub fn render(catalogue: &Catalogue) -> String {
    let found = |one: &Finding| one.found.clone().unwrap_or_else(|| MISSING.to_owned());
    let mark = |one: &Finding| match (&one.found, one.right) {
        (None, _) => "not judged",
        (_, true) => "right",
        (_, false) => "WRONG",
    };
    let rows = catalogue.findings.iter();
    let rows =
        rows.map(|one| vec![one.scenario.clone(), one.planted.clone(), found(one), mark(one).to_owned()]);
    let mut text = table(&["scenario", "planted", "found", ""], &rows.collect::<Vec<_>>());
    text.push('\n');
    text.push_str(&matrix(catalogue));
    let _ = writeln!(
        text,
        "\n{} of {} right, {} not judged ({}).",
        catalogue.right,
        catalogue.judged,
        catalogue.findings.len() - catalogue.judged,
        catalogue.backends.join(", ")
    );
    for one in catalogue.findings.iter().filter(|one| !one.right) {
        let _ = writeln!(text, "\n{}: {}", one.scenario, one.wrong.join("; "));
        text.extend(one.verdict.iter().map(|verdict| format!("  {verdict}\n")));
    }
    text.extend(catalogue.blindfold.as_ref().map(blindfolded));
    text.extend(catalogue.perturbation.as_ref().map(perturbed));
    text
}

/// Which verdicts hang on one threshold, and whether margins say the same.
pub fn perturbed(perturbation: &Perturbation) -> String {
    let Perturbation { by, thresholds, flows, span_us, moved_us, within_margin_us, .. } = *perturbation;
    let part = |us: u64| format!("{:.2} %", 100.0 * us as f64 / span_us.max(1) as f64);
    let mut text = format!(
        "\n{thresholds} thresholds moved by {:.0} %, up and down, one at a time: {} of {flows} verdicts change with one of them.\n\
         Of the time {} changes its holder with a threshold of the rules moved; margins say {}.\n",
        100.0 * by,
        perturbation.hanging.len(),
        part(moved_us),
        part(within_margin_us)
    );
    let rows = perturbation.hanging.iter().flat_map(|verdict| {
        verdict.changes.iter().map(|change| {
            vec![
                format!("{}, flow {}", verdict.scenario, verdict.flow + 1),
                verdict.limited_by.as_str().to_owned(),
                verdict
                    .margin
                    .map_or_else(|| MISSING.to_owned(), |margin| format!("{:.1} %", 100.0 * margin)),
                format!("{} {:+.0} %", change.threshold, 100.0 * change.by),
                change.limited_by.as_str().to_owned(),
            ]
        })
    });
    let rows: Vec<Vec<String>> = rows.collect();
    if !rows.is_empty() {
        text.push('\n');
        text.push_str(&table(&["verdict", "limited by", "margin", "threshold", "becomes"], &rows));
    }
    text
}

/// How good the verdicts of one end's sockets are.
pub fn blindfolded(blindfold: &Blindfold) -> String {
    let Blindfold { judged, right, unknown, wrong, causes_judged, causes_right, left_out, .. } = *blindfold;
    let share = |part: usize, whole: usize| format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64);
    let mut text = format!(
        "\nBy the {}'s sockets alone, flow by flow:\n\n{}",
        blindfold.view.as_str(),
        counts(&blindfold.confusion)
    );
    let _ = writeln!(
        text,
        "\n{right} of {judged} right ({}), {wrong} wrong ({}), {unknown} unknown ({}); {left_out} left out, of which no \
         socket can tell.",
        share(right, judged),
        share(wrong, judged),
        share(unknown, judged)
    );
    if causes_right > 0 {
        let _ = writeln!(
            text,
            "\nWhy the congestion window was no larger:\n\n{}\n{causes_right} of {causes_judged} right ({}).",
            counts(&blindfold.cause_confusion),
            share(causes_right, causes_judged)
        );
    }
    for one in blindfold.flows.iter().filter(|one| one.found.as_ref() != Some(&one.planted)) {
        let found = one.found.as_deref().unwrap_or(MISSING);
        let _ = writeln!(
            text,
            "\n{}, flow {}: {} planted, {found} found",
            one.scenario,
            one.flow + 1,
            one.planted
        );
        text.extend(one.verdict.iter().map(|verdict| format!("  {verdict}\n")));
    }
    text
}

/// Planted causes down, found causes across.
pub fn matrix(catalogue: &Catalogue) -> String {
    counts(&catalogue.confusion)
}

fn counts(confusion: &BTreeMap<String, BTreeMap<String, usize>>) -> String {
    let found: BTreeSet<&str> = confusion.values().flatten().map(|(cause, _)| cause.as_str()).collect();
    let heading: Vec<&str> = std::iter::once("planted").chain(found.iter().copied()).collect();
    let count = |counts: &BTreeMap<String, usize>, cause: &str| {
        counts.get(cause).map_or_else(String::new, ToString::to_string)
    };
    let row = |(planted, counts): (&String, &BTreeMap<String, usize>)| {
        std::iter::once(planted.clone()).chain(found.iter().map(|cause| count(counts, cause))).collect()
    };
    table(&heading, &confusion.iter().map(row).collect::<Vec<Vec<String>>>())
}

/// A Markdown table with aligned columns.
fn table(heading: &[&str], rows: &[Vec<String>]) -> String {
    let heading: Vec<String> = heading.iter().map(|&word| word.to_owned()).collect();
    let width = |at: usize| {
        std::iter::once(&heading).chain(rows).map(|row| row[at].chars().count()).max().unwrap_or(0).max(3)
    };
    let line = |row: &Vec<String>| {
        let cells: Vec<String> =
            row.iter().enumerate().map(|(at, text)| format!("{text:<width$}", width = width(at))).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let rule: Vec<String> = (0..heading.len()).map(|at| "-".repeat(width(at))).collect();
    std::iter::once(&heading).chain(std::iter::once(&rule)).chain(rows).map(line).collect()
}
