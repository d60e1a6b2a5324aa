//! The catalogue in Markdown: scenario by scenario, and the confusion matrix. It reads well on a terminal too.

use crate::quantity::MISSING;
use pipefill_analysis::findings::confusion::{
    Blindfold, Catalogue, CatalogueSet, Confusion, Finding, Grade, Grades,
};
use pipefill_analysis::findings::perturbation::Perturbation;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The findings, the matrix of each set, and what is wrong.
pub fn render(catalogue: &Catalogue) -> String {
    let row = |finding: &Finding| {
        vec![
            finding.set.as_str().to_owned(),
            finding.scenario.clone(),
            finding.planted.clone(),
            finding.found.clone().unwrap_or_else(|| MISSING.to_owned()),
            mark(finding).to_owned(),
        ]
    };
    let rows: Vec<Vec<String>> = catalogue.findings.iter().map(row).collect();
    let mut text = table(&["set", "scenario", "planted", "found", ""], &rows);
    for (set, result) in &catalogue.sets {
        let _ = writeln!(
            text,
            "\nThe set {}:\n\n{}\n{}; {} not judged ({}).",
            set.as_str(),
            counts(&result.confusion),
            grades_sentence(&result.grades),
            result.not_judged,
            catalogue.backends.join(", ")
        );
    }
    for finding in catalogue.findings.iter().filter(|finding| !finding.right) {
        let _ = writeln!(text, "\n{}: {}", finding.scenario, finding.wrong.join("; "));
        text.extend(finding.verdict.iter().map(|verdict| format!("  {verdict}\n")));
    }
    text.extend(catalogue.blindfold.as_ref().map(blindfolded));
    text.extend(catalogue.perturbation.as_ref().map(perturbed));
    text
}

/// Whether the scenario is right: the verdict, and every other expectation.
fn mark(finding: &Finding) -> &'static str {
    match finding.grade {
        None => "not judged",
        Some(Grade::Right) if !finding.right => Grade::Wrong.as_str(),
        Some(grade) => grade.as_str(),
    }
}

/// `36 of 38 right (94.7 %), 1 holder only (2.6 %), …`: the cause counts where one is planted.
fn grades_sentence(grades: &Grades) -> String {
    let Grades { judged, right, holder_only, unknown, wrong, causes_judged, causes_right } = *grades;
    let share = |part: usize| format!("({:.1} %)", percent(part, judged));
    let mut text = format!(
        "{right} of {judged} right {}, {holder_only} holder only {}, {unknown} unknown {}, {wrong} wrong {}",
        share(right),
        share(holder_only),
        share(unknown),
        share(wrong)
    );
    if causes_judged > 0 {
        let causes = percent(causes_right, causes_judged);
        let _ = write!(text, "; {causes_right} of {causes_judged} planted causes right ({causes:.1} %)");
    }
    text
}

fn percent(part: usize, whole: usize) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
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

/// How good the verdicts of one end's sockets are, set by set.
pub fn blindfolded(blindfold: &Blindfold) -> String {
    let mut text = String::new();
    for (set, sums) in &blindfold.sets {
        let _ = writeln!(
            text,
            "\nThe set {} by the {}'s sockets alone, flow by flow:\n\n{}\n{}; {} left out, which sockets show nothing of.",
            set.as_str(),
            blindfold.view.as_str(),
            counts(&sums.confusion),
            grades_sentence(&sums.grades),
            sums.left_out
        );
        if sums.grades.causes_judged > 0 {
            let _ = writeln!(text, "\nThe causes:\n\n{}", counts(&sums.cause_confusion).trim_end());
        }
        text.push_str(&misjudged(blindfold, *set));
    }
    text
}

/// Each flow whose limit or cause is another.
fn misjudged(blindfold: &Blindfold, set: CatalogueSet) -> String {
    let mut text = String::new();
    for flow in blindfold.flows.iter().filter(|flow| flow.set == set && flow.grade != Some(Grade::Right)) {
        let found = flow.found.as_deref().unwrap_or(MISSING);
        let _ = writeln!(
            text,
            "\n{}, flow {}: {} planted, {found} found",
            flow.scenario,
            flow.flow + 1,
            flow.planted
        );
        text.extend(flow.verdict.iter().map(|verdict| format!("  {verdict}\n")));
    }
    text
}

/// Planted down, found across.
fn counts(confusion: &Confusion) -> String {
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
