//! `pipefill fix` on every scenario of the three sets of verdicts, in the simulator: no error of its own, no full pipe below 95 %, and at
//! most one prediction in ten more than a quarter off.

use pipefill_analysis::diagnosis::FULL;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Where the scenarios are.
const SETS: [&str; 3] = ["scenarios/catalogue", "testdata/wrong-verdicts", "testdata/held-out-verdicts"];
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
    let built =
        Command::new("cargo").args(["build", "-q", "--release", "-p", "pipefill"]).current_dir(root).status();
    if !built.map_err(|error| format!("cargo: {error}"))?.success() {
        return Err("the program could not be built".to_owned());
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let (program, records) = (target.join("release/pipefill"), target.join("fixes"));
    let mut outcome = Outcome::default();
    for set in SETS {
        for scenario in scenarios(&root.join(set))? {
            let _ = fs::remove_dir_all(&records);
            fs::create_dir_all(&records).map_err(|error| format!("{}: {error}", records.display()))?;
            outcome.add(&program, &records, &scenario)?;
        }
    }
    let _ = fs::remove_dir_all(&records);
    outcome.report()
}

fn scenarios(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    Ok(files)
}

impl Outcome {
    fn add(&mut self, program: &Path, records: &Path, scenario: &Path) -> Result<(), String> {
        let name = scenario.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let pipefill = |words: &[&str]| -> Result<Output, String> {
            let output = Command::new(program).args(words).current_dir(records).output();
            output.map_err(|error| format!("{}: {error}", program.display()))
        };
        let file = scenario.to_string_lossy();
        pipefill(&["run", &file, "--on", "sim", "--repeat", "1", "--out", "run", "--json", "--quiet"])?;
        let fixed = pipefill(&["fix", "run", "--repeat", "2", "--out", "fixed", "--json", "--quiet"])?;
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
