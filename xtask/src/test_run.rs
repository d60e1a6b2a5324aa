//! Every test of the workspace, in an order that keeps measurements honest.
//!
//! Tests of the lab measure: they run alone, one at a time, after everything has been built and everything else has run. An
//! integration test whose name begins with `lab`, `kernel` or `parity` is one. The browser looks at pages before them. Never: a closing line that says more than the
//! runners did.

use crate::page_tests;
use crate::tally::Tally;
use crate::workspace::{Crate, Workspace};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};

/// Begins the name of an integration test that measures on the real kernel.
const MEASURES: [&str; 3] = ["lab", "kernel", "parity"];

/// The test that compares records with their hashes: run once more as users build it, without overflow checks.
const IN_RELEASE: &str = "hashes";

/// Runs all tests and prints the sum as its last line. Fails where a test did, or cargo before any could run.
pub(crate) fn run(workspace: &Workspace) -> ExitCode {
    let mut tally = Tally::default();
    let mut code = ExitCode::SUCCESS;
    let phases = phases(&workspace.crates);
    let is_alone = |arguments: &Vec<String>| arguments.iter().any(|word| word == ALONE);
    let (alone, together): (Vec<_>, Vec<_>) = phases.into_iter().partition(is_alone);
    let carry_out = |tally: &mut Tally, code: &mut ExitCode, arguments: &[String]| {
        if let Err(failure) = cargo(arguments, tally) {
            println!("{failure}");
            *code = ExitCode::FAILURE;
        }
    };
    together.iter().for_each(|arguments| carry_out(&mut tally, &mut code, arguments));
    if let Err(failure) = page_tests::run(workspace, &mut tally) {
        println!("{failure}");
        code = ExitCode::FAILURE;
    }
    alone.iter().for_each(|arguments| carry_out(&mut tally, &mut code, arguments));
    for reason in &tally.reasons {
        println!("{reason}");
    }
    println!("{tally}");
    code
}

/// What those that measure are run with.
const ALONE: &str = "--test-threads=1";

/// The arguments of cargo, phase by phase.
fn phases(crates: &[Crate]) -> Vec<Vec<String>> {
    let tests: BTreeSet<&str> = crates.iter().flat_map(|each| &each.tests).map(String::as_str).collect();
    let (measuring, plain): (Vec<&str>, Vec<&str>) =
        tests.into_iter().partition(|name| MEASURES.iter().any(|prefix| name.starts_with(prefix)));
    let named =
        |names: &[&str]| names.iter().flat_map(|name| ["--test".to_owned(), (*name).to_owned()]).collect();
    let phase = |head: &[&str], names: Vec<String>, tail: &[&str]| {
        let start = ["test", "--workspace", "--no-fail-fast"].iter().chain(head);
        start
            .map(|&word| word.to_owned())
            .chain(names)
            .chain(tail.iter().map(|&word| word.to_owned()))
            .collect()
    };
    let mut phases = Vec::new();
    if !measuring.is_empty() {
        phases.push(phase(&["--no-run"], named(&measuring), &[]));
    }
    phases.push(phase(&["--lib", "--bins"], named(&plain), &[]));
    phases.push(phase(&["--doc"], Vec::new(), &[]));
    if plain.contains(&IN_RELEASE) {
        phases.push(phase(&["--release"], named(&[IN_RELEASE]), &[]));
    }
    if !measuring.is_empty() {
        phases.push(phase(&[], named(&measuring), &["--", ALONE, "--nocapture"]));
    }
    phases
}

/// Runs cargo, shows its output as it comes and counts it.
pub(crate) fn cargo(arguments: &[String], tally: &mut Tally) -> Result<(), String> {
    let line = format!("cargo {}", arguments.join(" "));
    println!("$ {line}");
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    counted(Command::new(program).args(arguments), &line, tally)
}

/// Runs `command`, shows its output as it comes and counts it; `line` is what it is called.
pub(crate) fn counted(command: &mut Command, line: &str, tally: &mut Tally) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{line}: {error}");
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(failed)?;
    if let Some(output) = child.stdout.take() {
        for text in BufReader::new(output).split(b'\n') {
            let text = text.map_err(failed)?;
            let text = String::from_utf8_lossy(&text);
            println!("{text}");
            tally.read(&text);
        }
    }
    let status = child.wait().map_err(failed)?;
    if status.success() { Ok(()) } else { Err(format!("{line}: {status}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(tests: &[&str]) -> Crate {
        Crate {
            name: "any".to_owned(),
            dependencies: BTreeSet::new(),
            roots: Vec::new(),
            tests: tests.iter().map(|&name| name.to_owned()).collect(),
        }
    }

    #[test]
    fn what_measures_is_built_first_and_runs_last_and_alone() {
        let phases = phases(&[package(&["plan", "lab_runs"]), package(&["kernel"])]);
        let lines: Vec<String> = phases.iter().map(|words| words.join(" ")).collect();
        assert_eq!(
            lines,
            [
                "test --workspace --no-fail-fast --no-run --test kernel --test lab_runs",
                "test --workspace --no-fail-fast --lib --bins --test plan",
                "test --workspace --no-fail-fast --doc",
                "test --workspace --no-fail-fast --test kernel --test lab_runs -- --test-threads=1 --nocapture",
            ]
        );
    }

    #[test]
    fn the_hashes_are_compared_in_release_too() {
        let phases = phases(&[package(&["hashes"])]);
        assert_eq!(phases[2].join(" "), "test --workspace --no-fail-fast --release --test hashes");
    }

    #[test]
    fn without_anything_that_measures_there_is_no_phase_for_it() {
        assert_eq!(phases(&[package(&["plan"])]).len(), 2);
    }
}
