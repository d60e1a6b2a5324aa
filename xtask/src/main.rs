//! The checks that people forget, and the simulator against its oracle:
//! `cargo run -p xtask -- check|keys|rules|schemas|catalogue|fixes|reproduce|packets|literals|bpf|accuracy`.
//!
//! Without the feature `generated` it is built in seconds, and knows check (without the generated files), catalogue, literals and bpf only. Never: a rule of the product
//! itself, or anything that the product needs at run time.
#![forbid(unsafe_code)]

#[cfg(feature = "generated")]
mod accuracy;
mod book;
mod bpf;
mod check;
mod circles;
mod columns;
mod directions;
#[cfg(feature = "generated")]
mod fixes;
#[cfg(feature = "generated")]
mod key_reference;
mod layers;
mod literals;
mod modules;
mod names;
#[cfg(feature = "generated")]
mod packets;
#[cfg(feature = "generated")]
mod page_part;
#[cfg(feature = "generated")]
mod program;
mod purity;
#[cfg(feature = "generated")]
mod reproduce;
mod rule;
#[cfg(feature = "generated")]
mod rule_reference;
#[cfg(feature = "generated")]
mod scenario_schema;
#[cfg(feature = "generated")]
mod schemas;
mod sources;
mod verdict_page;
mod words;
mod workspace;

use std::process::ExitCode;
use workspace::Workspace;

const USAGE: &str = "\
usage: cargo run -p xtask -- COMMAND
  check [RULE…]
          what has to hold in the workspace; exit code 3 where this machine lacks what a rule needs. The rules:
          directions  of dependencies
          sources     unsafe code, sizes, folder names
          purity      no clocks, sockets, files, threads in the pure crates
          layers      of analysis: none uses a later one
          circles     of modules that use each other
          literals    no numbers of the judge outside of thresholds.rs
          book        pages in the summary, links between pages
          columns     docs/records.md has the columns of the schemas, and no others
          words       written text under docs/: at most 60,000 words
          names       no binding, type or printed phrase that names nothing
          bpf         the BPF object is what its source compiles to
          generated   the key reference, the rules, the thresholds and the schemas are up to date; shipped scenarios name theirs
  keys    writes the key reference into docs/guide/scenarios.md
  rules   writes the rules and the thresholds of the judge into docs/guide/verdicts.md
  schemas writes the JSON Schemas into schemas/
  catalogue
          runs the catalogue of known limits in the simulator, and writes the result into docs/guide/verdicts.md
  fixes   tries the advice on every scenario of the three sets of verdicts in the simulator; fails where a bound does not hold
  reproduce [PROGRAM]
          captures every scenario of the catalogue and the held-out ones in the simulator, and runs what `pcap --scenario` makes of
          the capture; fails where too few have its goodput again. PROGRAM instead of a release build
  packets [PROGRAM]
          captures every scenario of the three sets of verdicts in the simulator at both ends; fails where too few verdicts from packets
          are those with all facts. PROGRAM instead of a release build
  literals
          prints the numbers of the judge that are outside of thresholds.rs
  bpf     compiles the lab's BPF programs (clang-14)
  accuracy [CELL…]
          runs the oracle's cells in the simulator, writes docs/accuracy.md and fails where a bound does not hold;
          prints the given cells instead";

fn main() -> ExitCode {
    let command = std::env::args().nth(1).unwrap_or_default();
    let rules: Vec<String> = std::env::args().skip(2).collect();
    let result = Workspace::load().and_then(|workspace| match command.as_str() {
        "check" => check::run(&workspace, &rules).map(ExitCode::from),
        #[cfg(feature = "generated")]
        "keys" => key_reference::write(&workspace.root).map(|()| ExitCode::SUCCESS),
        #[cfg(feature = "generated")]
        "schemas" => schemas::write(&workspace.root).map(|()| ExitCode::SUCCESS),
        #[cfg(feature = "generated")]
        "rules" => rule_reference::write(&workspace.root).map(|()| ExitCode::SUCCESS),
        "catalogue" => verdict_page::write(&workspace.root).map(|()| ExitCode::SUCCESS),
        #[cfg(feature = "generated")]
        "fixes" => fixes::run(&workspace.root).map(|()| ExitCode::SUCCESS),
        #[cfg(feature = "generated")]
        "reproduce" => reproduce::run(&workspace.root, rules.first()).map(|()| ExitCode::SUCCESS),
        #[cfg(feature = "generated")]
        "packets" => packets::run(&workspace.root, rules.first()).map(|()| ExitCode::SUCCESS),
        "literals" => literals::print(&workspace).map(|()| ExitCode::SUCCESS),
        "bpf" => bpf::write(&workspace.root).map(|()| ExitCode::SUCCESS),
        #[cfg(feature = "generated")]
        "accuracy" => accuracy::run(&workspace.root, std::env::args().skip(2)),
        _ => Err(USAGE.to_owned()),
    });
    result.unwrap_or_else(|message| {
        eprintln!("{message}");
        ExitCode::FAILURE
    })
}
