//! The rules of the workspace, each a test: `cargo run -p xtask -- check RULE`. One that this machine can't look at is skipped, and counted as
//! such.

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::process::{Command, ExitCode};
use std::sync::LazyLock;

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

fn main() -> ExitCode {
    let tests = RULES.map(|rule| Trial::ignorable_test(rule, move || holds(rule)));
    libtest_mimic::run(&Arguments::from_args(), tests.into()).exit_code()
}

/// All rules at once: most of their time is the reading of the sources.
static CHECKED: LazyLock<String> = LazyLock::new(|| {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask")).arg("check").output().expect("xtask runs");
    [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat()
});

fn holds(rule: &str) -> Result<Completion, Failed> {
    let result = CHECKED.lines().find_map(|line| line.strip_prefix(rule)?.strip_prefix(": "));
    match result {
        Some("no problems") => Ok(Completion::Completed),
        Some(result) if let Some(why) = result.strip_prefix("not checked: ") => {
            Ok(Completion::ignored_with(format!("no-clang: {why}")))
        }
        _ => Err(CHECKED.as_str().into()),
    }
}
