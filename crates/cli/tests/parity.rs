//! The simulator held against the machine's own kernel: the same scenarios on both, the same goodput.
//!
//! Never: a difference that is explained away; what is outside of the bounds is a bug in one of the two.

mod pipefill;

use pipefill::{Folder, privileged_lab};
use serde_json::Value;

const SCENARIO: &str = include_str!("scenarios/parity.toml");

/// Relative difference that is allowed where nothing is lost at random, and where chance decides.
const WITHOUT_LOSS: f64 = 0.10;
const WITH_LOSS: f64 = 0.20;
/// So many have to be in time where the machine is known to have a lab.
const COMPARED: usize = 12;

#[test]
fn the_simulator_and_the_kernel_agree() {
    let Some(folder) = privileged_lab() else { return };
    folder.write("parity.toml", SCENARIO);
    let (simulated, real) = (cells(&folder, "sim"), cells(&folder, "lab"));
    assert_eq!(simulated.len(), real.len());
    let mut wrong = Vec::new();
    let mut late = Vec::new();
    for (sim, lab) in simulated.iter().zip(&real) {
        assert_eq!(sim["axes"], lab["axes"]);
        if lab["valid"].as_u64() == Some(0) {
            late.push(lab);
            continue;
        }
        let (sim, lab, axes) = (goodput(sim), goodput(lab), &lab["axes"]);
        let (difference, bound) = (sim / lab - 1.0, bound(axes));
        println!("{axes}: sim {sim:.0}, lab {lab:.0} bit/s, {:+.1} %", 100.0 * difference);
        if difference.abs() > bound {
            wrong.push(format!("{axes}: sim {sim:.0}, lab {lab:.0} bit/s"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    said_too_late(&late, real.len());
    let compared = real.len() - late.len();
    let is_required = std::env::var_os("PIPEFILL_REQUIRE_LAB").is_some();
    assert!(compared >= COMPARED || !is_required, "{compared} of {} scenarios could be compared", real.len());
}

/// The report's cells of the scenario on `backend`.
fn cells(folder: &Folder, backend: &str) -> Vec<Value> {
    let words = ["run", "parity.toml", "--on", backend, "--out", backend, "--quiet", "--json"];
    let output = folder.pipefill(&words).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 4)), "{text}");
    let mut report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let Value::Array(cells) = report["cells"].take() else { panic!("no cells: {text}") };
    cells
}

fn goodput(cell: &Value) -> f64 {
    cell["goodput_bps"].as_f64().unwrap_or_else(|| panic!("no goodput: {cell}"))
}

fn bound(axes: &Value) -> f64 {
    let is_lossy = axes["variant"].as_str().is_some_and(|name| name.starts_with("lossy"));
    if is_lossy { WITH_LOSS } else { WITHOUT_LOSS }
}

/// A machine that was too busy to measure says so itself, and only for that reason; what it could not measure counts as a skip.
fn said_too_late(late: &[&Value], of: usize) {
    let reasons: Vec<&Value> = late.iter().flat_map(|cell| cell["invalid"].as_array().unwrap()).collect();
    for reason in &reasons {
        assert!(reason["reason"].as_str().unwrap().starts_with("late_"), "{reason}");
    }
    if let Some(first) = reasons.first() {
        println!("skipped: machine-late: {} of {of} cells, the first: {}", late.len(), first["detail"]);
    }
}
