//! `pipefill fix` on every scenario of the three sets of verdicts, and on the causes and the applications, in the simulator: no error of its own, no
//! full pipe below 95 %, and at most one prediction in ten more than a quarter off.

use crate::program::{Program, scenarios};
use pipefill_analysis::judge::FULL;
use serde_json::Value;
use std::path::Path;

/// Where the scenarios are.
const SETS: [&str; 3] = ["scenarios/catalogue", "testdata/wrong-verdicts", "testdata/held-out-verdicts"];
/// Scenarios of many cells.
const MATRICES: [&str; 2] = ["scenarios/causes.toml", "scenarios/applications.toml"];
/// A prediction that is this much off is wrong.
const OFF: f64 = 0.25;
/// Of a hundred proofs so many predictions may be.
const MAY_BE_OFF: f64 = 0.10;

/// What came out of all proofs.
#[derive(Default)]
struct Outcome {
    scenarios: usize,
    predictions: usize,
    off: Vec<String>,
    wrong: Vec<String>,
}

/// Runs every scenario, tries its advice, and prints what came of it.
///
/// # Errors
/// A bound does not hold, or the program can't be built or run.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let program = Program::built(root, "fixes")?;
    let mut outcome = Outcome::default();
    for set in SETS {
        for scenario in scenarios(&root.join(set))? {
            program.empty()?;
            outcome.add(&program, &scenario)?;
        }
    }
    for matrix in MATRICES {
        program.empty()?;
        outcome.add(&program, &root.join(matrix))?;
    }
    program.leave();
    outcome.report()
}

impl Outcome {
    fn add(&mut self, program: &Program, scenario: &Path) -> Result<(), String> {
        let name = scenario.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let file = scenario.to_string_lossy();
        program.run(&["run", &file, "--on", "sim", "--repeat", "1", "--out", "run", "--json", "--quiet"])?;
        let fixed = program.run(&["fix", "run", "--repeat", "2", "--out", "fixed", "--json", "--quiet"])?;
        self.scenarios += 1;
        let Ok(result) = serde_json::from_slice::<Value>(&fixed.stdout) else {
            self.wrong.push(format!("{name}: {}", String::from_utf8_lossy(&fixed.stderr)));
            return Ok(());
        };
        for proof in result["cells"].as_array().into_iter().flatten() {
            self.take(&name, proof);
        }
        Ok(())
    }

    fn take(&mut self, name: &str, proof: &Value) {
        if proof["end"] == "failed" {
            self.wrong.push(format!("{name}: {}", proof["why"]));
        }
        let rounds = || proof["rounds"].as_array().into_iter().flatten();
        for round in rounds() {
            let Some(error) = round["prediction_error"].as_f64() else { continue };
            self.predictions += 1;
            if error.abs() > OFF {
                self.off.push(format!("{name}: {}, {:+.0} %", round["advice"]["change"], 100.0 * error));
            }
        }
        let after = rounds().rfind(|round| round["kept"] == true);
        let bps = after.and_then(|round| round["comparison"]["after"]["bps"].as_f64());
        if let Some((bps, path)) = bps.zip(proof["path_goodput_bps"].as_f64())
            && proof["end"] == "pipe_full"
            && bps < FULL * path
        {
            self.wrong.push(format!("{name}: called full at {:.0} % of the path", 100.0 * bps / path));
        }
    }

    fn report(&self) -> Result<(), String> {
        for line in self.wrong.iter().chain(&self.off) {
            println!("{line}");
        }
        let off = self.off.len() as f64 / self.predictions.max(1) as f64;
        println!(
            "{} scenarios, {} predictions, {} of them more than 25 % off ({:.1} %), {} faults",
            self.scenarios,
            self.predictions,
            self.off.len(),
            100.0 * off,
            self.wrong.len()
        );
        if self.wrong.is_empty() && off <= MAY_BE_OFF {
            Ok(())
        } else {
            Err("a bound of fix does not hold".to_owned())
        }
    }
}
