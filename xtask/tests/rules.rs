//! The rules of the workspace, each a test: `cargo run -p xtask -- check RULE`. One that this machine can't look at is skipped, and counted as
//! such.

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::process::{Command, ExitCode};

const RULES: [&str; 12] = [
    "directions",
    "sources",
    "purity",
    "layers",
    "circles",
    "literals",
    "book",
    "columns",
    "words",
    "names",
    "bpf",
    "generated",
];
/// Exit code where this machine lacks what a rule needs.
const CANNOT_LOOK: i32 = 3;

fn main() -> ExitCode {
    let tests = RULES.map(|rule| Trial::ignorable_test(rule, move || holds(rule)));
    libtest_mimic::run(&Arguments::from_args(), tests.into()).exit_code()
}

fn holds(rule: &str) -> Result<Completion, Failed> {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask")).args(["check", rule]).output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    match output.status.code() {
        Some(0) => Ok(Completion::Completed),
        Some(CANNOT_LOOK) => {
            let why = said.lines().next().unwrap_or_default();
            Ok(Completion::ignored_with(format!("no-clang: {why}")))
        }
        _ => Err(format!("{said}{}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}
