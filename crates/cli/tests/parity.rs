//! The simulator held against the machine's own kernel: the same scenarios on both, the same goodput.
//!
//! Never: a difference that is explained away; what is outside of the bounds is a bug in one of the two. A run that the machine was
//! too late for is no difference: it is done again, and where that does not help it is said to be skipped.

mod pipefill;

use pipefill::{cells_in_time, privileged_lab, said_too_late};
use serde_json::Value;

const SCENARIO: &str = include_str!("scenarios/parity.toml");

/// Relative difference that is allowed where nothing is lost at random, and where chance decides.
const WITHOUT_LOSS: f64 = 0.10;
const WITH_LOSS: f64 = 0.20;
#[test]
fn the_simulator_and_the_kernel_agree() {
    let Some(folder) = privileged_lab() else { return };
    folder.write("parity.toml", SCENARIO);
    let [simulated, real] = ["sim", "lab"].map(|backend| cells_in_time(&folder, "parity.toml", backend));
    assert_eq!(simulated.len(), real.len());
    let mut wrong = Vec::new();
    for (sim, lab) in simulated.iter().zip(&real).filter(|(_, lab)| lab["valid"].as_u64() > Some(0)) {
        assert_eq!(sim["axes"], lab["axes"]);
        let (sim, lab, axes) = (goodput(sim), goodput(lab), &lab["axes"]);
        let (difference, bound) = (sim / lab - 1.0, bound(axes));
        println!("{axes}: sim {sim:.0}, lab {lab:.0} bit/s, {:+.1} %", 100.0 * difference);
        if difference.abs() > bound {
            wrong.push(format!("{axes}: sim {sim:.0}, lab {lab:.0} bit/s"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    said_too_late(&real);
}

fn goodput(cell: &Value) -> f64 {
    cell["goodput_bps"].as_f64().unwrap_or_else(|| panic!("no goodput: {cell}"))
}

fn bound(axes: &Value) -> f64 {
    let is_lossy = axes["variant"].as_str().is_some_and(|name| name.starts_with("lossy"));
    if is_lossy { WITH_LOSS } else { WITHOUT_LOSS }
}
