//! Reads a capture, and prints what limited each of its flows.
//!
//! `cargo run -p pipefill --example judge_capture -- trace.pcapng`

use pipefill::Problem;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Problem> {
    let file = std::env::args_os().nth(1).map(PathBuf::from);
    let file = file.ok_or_else(|| Problem::usage("no capture was named", "name a pcap or pcapng file"))?;
    print!("{}", verdicts(&file)?);
    Ok(())
}

/// A line for each flow, the largest first.
pub(crate) fn verdicts(file: &Path) -> Result<String, Problem> {
    let mut lines = String::new();
    for flow in pipefill::judge_capture(file)?.flows {
        lines += &format!(
            "{} to {}: {}\n",
            flow.src,
            flow.dst,
            flow.verdict.sentence.as_deref().unwrap_or("unknown")
        );
    }
    Ok(lines)
}
