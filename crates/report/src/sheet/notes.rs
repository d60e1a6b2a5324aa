//! What stands below a table: invalid runs, refused settings, failed expectations, verdicts, the machine.

use super::columns::EXACT;
use crate::quantity::{MISSING, QuantityKind, share};
use indexmap::IndexMap;
use pipefill_analysis::findings::experiment::{CellResult, Experiment};
use pipefill_analysis::findings::experiment::{ExpectationResult, Value};
use pipefill_analysis::findings::metrics::UnmetSetting;
use std::collections::{BTreeMap, BTreeSet};

/// A table with more cells than this keeps its verdicts for `explain`: a page of sentences is not read.
const SENTENCES_MAX: usize = 20;

/// All notes of a table's `cells`, in their order.
pub(super) fn notes(experiment: &Experiment, cells: &[&CellResult]) -> Vec<String> {
    let has_verdicts = cells.len() <= SENTENCES_MAX;
    let of_cell = |cell: &&CellResult| {
        let mut notes = problems(experiment, cell);
        if has_verdicts {
            notes.extend(cell.verdict.sentence.iter().map(|v| format!("{}: {v}", cell.coordinates())));
        }
        notes
    };
    let mut notes: Vec<String> = cells.iter().flat_map(of_cell).collect();
    if !has_verdicts && cells.iter().any(|cell| cell.verdict.sentence.is_some()) {
        notes.push("a verdict on every cell: pipefill explain DIR, or pipefill report DIR --json".to_owned());
    }
    if cells.iter().any(|cell| cell.invalid_figures.is_some()) {
        notes.push("figures in brackets are of invalid runs".to_owned());
    }
    notes
}

/// What is wrong with a cell: invalid and missing runs, refused settings, failed expectations.
pub(crate) fn problems(experiment: &Experiment, cell: &CellResult) -> Vec<String> {
    let mut problems = invalid(cell);
    problems.extend(unmet(cell));
    problems.extend(missing(experiment, cell));
    problems.extend(failed(cell));
    problems
}

/// Where the published figures come from.
pub(crate) fn source_line(experiment: &Experiment) -> Option<String> {
    let source = experiment.plan.published_source.as_ref()?;
    Some(format!("published: {source}"))
}

/// What the intervals of the medians cover, for every number of runs.
pub(crate) fn interval_line(experiment: &Experiment) -> Option<String> {
    let (exact, others): (Vec<_>, Vec<_>) = experiment.cells.iter().partition(|cell| cell.deterministic);
    let covered = others.iter().filter_map(|cell| Some((cell.valid, share(cell.goodput_coverage?))));
    let by_runs: BTreeMap<usize, String> = covered.collect();
    let parts: Vec<String> =
        by_runs.iter().map(|(runs, coverage)| format!("{coverage} with {runs} runs")).collect();
    let mut told = Vec::new();
    if !parts.is_empty() {
        told.push(format!("an interval of the median that covers {}", parts.join(", ")));
    }
    if exact.iter().any(|cell| cell.goodput_bps.is_some()) {
        told.push(format!(
            "{EXACT} (n = 1, deterministic) where nothing is random: every run would be the same"
        ));
    }
    (!told.is_empty()).then(|| format!("±%: {}", told.join("; ")))
}

/// Where and how well it was measured: backend, kernel, data path, CPUs, runs, lateness, version.
pub(crate) fn environment_line(experiment: &Experiment) -> Option<String> {
    let environment = &experiment.environment;
    let mut parts = vec![joined(
        experiment.cells.iter().filter_map(|cell| cell.backend.as_ref()).collect::<BTreeSet<_>>(),
    )];
    parts.push(prefixed("Linux ", joined(&environment.kernel)));
    parts.push(joined(&environment.data_path));
    parts.extend(environment.cpus.first().map(|_| joined(&environment.cpus) + " CPUs"));
    parts.push(prefixed("n = ", range(experiment)));
    let lateness = experiment.cells.iter().filter_map(|c| c.path_lateness_p99_ns).max();
    parts.extend(lateness.map(|ns| format!("path lateness p99 {}", QuantityKind::Time.alone(ns as f64))));
    parts.push(prefixed("pipefill ", joined(&environment.pipefill)));
    parts.retain(|part| !part.is_empty());
    let ran = experiment.cells.iter().any(|cell| cell.runs > 0);
    ran.then(|| parts.join(" · "))
}

fn invalid(cell: &CellResult) -> Vec<String> {
    let line = |count: &pipefill_analysis::findings::experiment::InvalidCount| {
        format!(
            "! {}: {} of {} runs invalid, {}: {}",
            cell.coordinates(),
            count.runs,
            cell.runs,
            count.reason,
            count.detail
        )
    };
    cell.invalid.iter().map(line).collect()
}

/// One line for each refusal, whatever the number of streams that met it.
fn unmet(cell: &CellResult) -> Vec<String> {
    let mut alike: IndexMap<_, Vec<&UnmetSetting>> = IndexMap::new();
    for setting in &cell.unmet_settings {
        let refusal = (&setting.name, &setting.asked, &setting.got, &setting.why);
        alike.entry(refusal).or_default().push(setting);
    }
    alike.values().map(|settings| format!("! {}: {}", cell.coordinates(), refusal(settings))).collect()
}

/// `settings` differ by their place only; there is at least one.
fn refusal(settings: &[&UnmetSetting]) -> String {
    let UnmetSetting { place, name, asked, got, why } = settings[0];
    let places = match settings.len() {
        1 => place.clone(),
        count => format!("{place} (and {} more)", count - 1),
    };
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| MISSING.to_owned());
    let why = why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
    format!("{places} {name} asked {}, got {}{why}", text(asked), text(got))
}

fn missing(experiment: &Experiment, cell: &CellResult) -> Option<String> {
    let asked = experiment.plan.cell(cell.index).spec.run.repeat as usize;
    (cell.runs < asked).then(|| format!("{}: {} of {asked} runs recorded", cell.coordinates(), cell.runs))
}

fn failed(cell: &CellResult) -> Vec<String> {
    let line = |result: &ExpectationResult| {
        let outcome = match (&result.reason, &result.measured, &result.bound) {
            (Some(reason), _, _) => reason.clone(),
            (None, Some(measured), Some(bound)) => {
                format!("measured {}, bound {}", value(measured), value(bound))
            }
            (None, _, _) => String::new(),
        };
        format!("FAILED {}: expected {}; {outcome}", cell.coordinates(), result.text)
    };
    cell.expectations.iter().filter(|result| result.failed()).map(line).collect()
}

fn value(value: &Value) -> String {
    match value {
        Value::Number(number) => format!("{number}"),
        Value::Word(word) => word.clone(),
    }
}

/// Valid runs of a cell: `3`, or `2–3` where they differ. Cells that never ran don't count.
fn range(experiment: &Experiment) -> String {
    let counts = || experiment.cells.iter().filter(|cell| cell.runs > 0).map(|cell| cell.valid);
    match (counts().min(), counts().max()) {
        (Some(low), Some(high)) if low == high => low.to_string(),
        (Some(low), Some(high)) => format!("{low}–{high}"),
        _ => String::new(),
    }
}

fn joined<T: ToString>(values: impl IntoIterator<Item = T>) -> String {
    let texts: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
    texts.join(", ")
}

fn prefixed(prefix: &str, text: String) -> String {
    if text.is_empty() { text } else { format!("{prefix}{text}") }
}
