//! How the circumstances of two compared experiments differ: the machine, the version, settings that are not coordinates.

use crate::findings::experiment::{CellResult, Experiment};
use pipefill_core::cell::CellSpec;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// More settings than this are a number.
const SETTINGS_MAX: usize = 8;

/// A line for each.
pub(super) fn notes(
    before: &Experiment,
    after: &Experiment,
    pairs: &[(&CellResult, &CellResult)],
) -> Vec<String> {
    let (environment_before, environment_after) = (&before.environment, &after.environment);
    let mut notes = Vec::new();
    notes.extend(change("scenario", [&before.experiment], [&after.experiment]));
    notes.extend(change("backend", &backends(before), &backends(after)));
    notes.extend(change("pipefill", &environment_before.pipefill, &environment_after.pipefill));
    notes.extend(change("kernel", &environment_before.kernel, &environment_after.kernel));
    notes.extend(change("data path", &environment_before.data_path, &environment_after.data_path));
    notes.extend(change("CPUs", &environment_before.cpus, &environment_after.cpus));
    notes.extend(change("CPU", &environment_before.cpu_model, &environment_after.cpu_model));
    notes.extend(change("privilege", &environment_before.privilege, &environment_after.privilege));
    notes.extend(settings(before, after, pairs));
    notes
}

/// What ran the cells.
pub(super) fn backends(experiment: &Experiment) -> BTreeSet<String> {
    experiment.cells.iter().filter_map(|cell| cell.backend.clone()).collect()
}

/// `None` where it is the same.
fn change<T: ToString>(
    name: &str,
    before: impl IntoIterator<Item = T>,
    after: impl IntoIterator<Item = T>,
) -> Option<String> {
    let (before, after) = (joined(before), joined(after));
    (before != after).then(|| format!("{name}: {before} → {after}"))
}

fn joined<T: ToString>(values: impl IntoIterator<Item = T>) -> String {
    let texts: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
    if texts.is_empty() { "none".to_owned() } else { texts.join(", ") }
}

/// Settings in which matched cells differ. Where it is one change for all of them, what it is.
fn settings(before: &Experiment, after: &Experiment, pairs: &[(&CellResult, &CellResult)]) -> Vec<String> {
    let mut changes: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for (cell_before, cell_after) in
        pairs.iter().filter(|(cell_before, cell_after)| cell_before.id != cell_after.id)
    {
        let (old, new) = (leaves(spec(before, cell_before)), leaves(spec(after, cell_after)));
        let paths: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        for path in paths {
            let value =
                |side: &BTreeMap<String, String>| side.get(path).map_or("not set", String::as_str).to_owned();
            if old.get(path) != new.get(path) {
                changes.entry(path.clone()).or_default().push((value(&old), value(&new)));
            }
        }
    }
    let mut lines: Vec<String> =
        changes.iter().map(|(path, values)| line(path, values, pairs.len())).collect();
    if lines.len() > SETTINGS_MAX {
        let more = lines.split_off(SETTINGS_MAX - 1).len();
        lines.push(format!("and {more} settings more"));
    }
    lines
}

fn line(path: &str, values: &[(String, String)], cells: usize) -> String {
    let (old, new) = &values[0];
    match values.iter().all(|value| *value == values[0]) {
        true if values.len() == cells => format!("{path}: {old} → {new}"),
        true => format!("{path}: {old} → {new} in {} of {cells} cells", values.len()),
        false => format!("{path} is another one in {} of {cells} cells", values.len()),
    }
}

fn spec<'a>(experiment: &'a Experiment, cell: &CellResult) -> &'a CellSpec {
    &experiment.plan.cell(cell.index).spec
}

/// Every value of a cell under its path, without those that do not affect a run and without nulls.
fn leaves(spec: &CellSpec) -> BTreeMap<String, String> {
    let mut leaves = BTreeMap::new();
    collect("", &serde_json::json!(spec), &mut leaves);
    leaves.retain(|path, _| !path.starts_with("expect") && path != "run.repeat");
    leaves
}

fn collect(path: &str, value: &Value, leaves: &mut BTreeMap<String, String>) {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match value {
        Value::Null => {}
        Value::Object(members) => {
            for (name, member) in members {
                collect(&below(name), member, leaves);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(&below(&index.to_string()), item, leaves);
            }
        }
        Value::String(text) => {
            leaves.insert(path.to_owned(), text.clone());
        }
        leaf => {
            leaves.insert(path.to_owned(), leaf.to_string());
        }
    }
}
