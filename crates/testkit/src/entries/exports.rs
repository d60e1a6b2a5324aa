//! What is made of a record that anybody may have written: the figures, the verdict, every form of a report. Called by the fuzz target
//! `exports`, and for a moment by report's tests. Any record that can be read has a report, or an error; never a panic.

use super::record::RECORD;
use pipefill_analysis::findings::experiment::ExperimentBuilder;
use pipefill_analysis::findings::intervals::Following;
use pipefill_analysis::findings::series::Drawing;
use pipefill_core::plan::Plan;
use pipefill_core::record::{AnyRow, RunRecord};
use pipefill_report::html::{Page, RunPart};
use pipefill_report::words::complete_experiment;
use pipefill_report::{csv, explain, flent, html, iperf3, json, md, pictures, table};
use serde_json::Value;

/// What an integer becomes: up to 2^53, which is the most that a record may hold.
const INTEGERS: [i64; 12] =
    [0, 1, 2, 7, 1000, 65_536, 1_000_000, 4_294_967_295, 1_000_000_000_000, (1 << 53) - 1, 1 << 53, -1];
const FLOATS: [f64; 6] = [0.0, 1.0, -1.0, 1e-300, 1e300, 0.5];
const TEXTS: [&str; 6] = ["", "\u{1b}[2J\u{7}", "<script>", "\u{202e}x", "=1+1", "../../x"];

/// The seed with a place changed for every four bytes, and all that is made of it. False where that is no record any more.
pub fn exports(bytes: &[u8]) -> bool {
    let mut value = RECORD.clone();
    for change in bytes.chunks_exact(4) {
        let places = count(&value);
        let place = usize::from(u16::from_be_bytes([change[0], change[1]])) % places;
        if let Some(place) = nth(&mut value, &mut { place }) {
            alter(place, change[2], change[3]);
        }
    }
    let Ok(record) = serde_json::from_value::<RunRecord>(value) else { return false };
    report(&record);
    true
}

fn report(record: &RunRecord) {
    let manifest = &record.manifest;
    let mut rows = record.rows();
    rows.sort_by_key(AnyRow::t_us);
    let mut drawing = Drawing::of(manifest, 24);
    rows.iter().for_each(|row| drawing.push(row));
    record.retransmits.iter().for_each(|row| drawing.count(row));
    record.ping.iter().for_each(|row| drawing.answer(row));
    let part = RunPart {
        series: drawing.finish(),
        settings: manifest.settings.clone(),
        instrument: manifest.instrument.clone(),
    };
    for width_us in [iperf3::INTERVAL_US, flent::STEP_US] {
        let mut following = Following::of(manifest, width_us);
        rows.iter().for_each(|row| following.push(row));
        let intervals = following.finish();
        iperf3::documents(manifest, &intervals).expect("what was read can be written");
        flent::files(manifest, &intervals).expect("what was read can be written");
    }
    let plan = Plan {
        experiment: manifest.run.experiment.clone(),
        title: None,
        cells: vec![manifest.run.cell.clone()],
        published: Vec::new(),
        published_source: None,
        conclusions: Vec::new(),
    };
    let mut builder = ExperimentBuilder::new(plan);
    if builder.add(record).is_err() {
        return;
    }
    let experiment = complete_experiment(builder.finish(), "pipefill run x.toml");
    let parts = [part];
    json::render(&experiment).expect("a report is JSON");
    csv::render(&experiment).expect("a report is CSV");
    md::render(&experiment, &[]);
    table::render(&experiment, table::Style { width: 100, ..table::Style::default() });
    explain::render(&experiment, "pipefill fix DIR", table::Style::default());
    pictures::files(&experiment, &parts);
    let page = Page {
        experiment: &experiment,
        runs: &parts,
        captures: &[],
        proofs: &[],
        scenario: None,
        fix: "pipefill fix DIR",
    };
    html::render(&page).expect("a page is made");
}

/// Scalars, and lists, each as a place of its own beside what is in it.
pub fn count(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
        Value::Object(members) => members.values().map(count).sum(),
        _ => 1,
    }
}

/// The place number `left`, counted as [`count`] does.
pub fn nth<'a>(value: &'a mut Value, left: &mut usize) -> Option<&'a mut Value> {
    if value.is_object() {
        return value.as_object_mut()?.values_mut().find_map(|member| nth(member, left));
    }
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    value.as_array_mut()?.iter_mut().find_map(|item| nth(item, left))
}

fn alter(place: &mut Value, kind: u8, choice: u8) {
    let choice = usize::from(choice);
    match place {
        Value::Array(items) if kind.is_multiple_of(2) => items.truncate(choice % (items.len() + 1)),
        Value::Array(items) => items.extend(items.first().cloned()),
        whole if kind.is_multiple_of(16) => *whole = Value::Null,
        Value::Number(number) if number.is_f64() => *place = FLOATS[choice % FLOATS.len()].into(),
        Value::Number(_) | Value::Null => *place = INTEGERS[choice % INTEGERS.len()].into(),
        Value::String(_) => *place = TEXTS[choice % TEXTS.len()].into(),
        Value::Bool(flag) => *flag = !*flag,
        Value::Object(_) => {}
    }
}
