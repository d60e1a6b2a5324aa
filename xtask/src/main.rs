//! The checks that people forget, the tests in the right order, the simulator against its oracle:
//! `cargo run -p xtask -- check|keys|schemas|catalogue|bpf|test|accuracy`.
//!
//! Without the feature `generated` it is built in seconds, and knows check, catalogue, bpf and test only. Never: a rule of the product
//! itself, or anything that the product needs at run time.
#![forbid(unsafe_code)]

#[cfg(feature = "generated")]
mod accuracy;
mod book;
mod bpf;
mod check;
mod directions;
#[cfg(feature = "generated")]
mod key_reference;
mod page_tests;
#[cfg(feature = "generated")]
mod schemas;
mod sources;
mod tally;
mod test_run;
mod verdict_page;
mod workspace;

use std::process::ExitCode;
use workspace::Workspace;

const USAGE: &str = "\
usage: cargo run -p xtask -- COMMAND
  check   directions of dependencies, unsafe code, purity, sizes, folder names, the BPF object,
          links between pages
  keys    writes the key reference into docs/guide/scenarios.md
  schemas writes the JSON Schemas into schemas/
  catalogue
          runs the catalogue of known limits in the simulator, and writes the result into docs/guide/verdicts.md
  bpf     compiles the lab's BPF programs (clang-14)
  test    every test of the workspace; those of the lab alone and one at a time, after all others
  accuracy [CELL…]
          runs the oracle's cells in the simulator, writes docs/accuracy.md and fails where a bound does not hold;
          prints the given cells instead";

fn main() -> ExitCode {
    let command = std::env::args().nth(1).unwrap_or_default();
    let result = Workspace::load().and_then(|workspace| match command.as_str() {
        "check" => check::run(&workspace).map(|()| ExitCode::SUCCESS),
        #[cfg(feature = "generated")]
        "keys" => key_reference::write(&workspace.root).map(|()| ExitCode::SUCCESS),
        #[cfg(feature = "generated")]
        "schemas" => schemas::write(&workspace.root).map(|()| ExitCode::SUCCESS),
        "catalogue" => verdict_page::write(&workspace.root).map(|()| ExitCode::SUCCESS),
        "bpf" => bpf::write(&workspace.root).map(|()| ExitCode::SUCCESS),
        "test" => Ok(test_run::run(&workspace)),
        #[cfg(feature = "generated")]
        "accuracy" => accuracy::run(&workspace.root, std::env::args().skip(2)),
        _ => Err(USAGE.to_owned()),
    });
    result.unwrap_or_else(|message| {
        eprintln!("{message}");
        ExitCode::FAILURE
    })
}
