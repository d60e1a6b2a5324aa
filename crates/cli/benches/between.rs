//! What a test between two hosts can carry: `pipefill test` against `pipefill serve` beside a stock iperf3 at both ends, over a plain veth pair
//! between two namespaces, in turn.
//!
//! 1. one stream from the client to the server, and the other way, with the machine's own congestion control and with cubic, which does not pace
//!    (to hold: at least 1.3 times iperf3's rate, the median of the pairs);
//! 2. four streams (told, nothing to hold).
//!
//! `cargo bench -p pipefill --bench between`; some five minutes. Needs root and iperf3.

#[path = "../tests/measuring/mod.rs"]
mod measuring;

use measuring::namespace::{Namespace, end, root_folder, until};
use pipefill_testkit::goals::judge;
use serde_json::Value;
use std::error::Error;
use std::process::{ExitCode, Stdio};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Pairs of tests of each kind.
const PAIRS: usize = 7;
/// Options of the tests, and whether the goal is for them.
const KINDS: [(&str, bool); 5] =
    [("", true), ("-R", true), ("-C cubic", true), ("-C cubic -R", true), ("-P 4", false)];
/// Times iperf3's rate.
const TIMES: f64 = 1.3;
/// The server's address.
const SERVER: &str = "10.99.0.2";

fn main() -> ExitCode {
    if !std::env::args().any(|argument| argument == "--bench") {
        return ExitCode::SUCCESS; // `cargo test` runs benches too; this one measures.
    }
    match root_folder(&["iperf3", "ss"]) {
        Ok(_folder) => judge(measure),
        Err(skip) => {
            println!("skipped ({skip})");
            ExitCode::SUCCESS
        }
    }
}

/// The goals that were missed.
fn measure() -> Outcome<Vec<String>> {
    let (here, there) = (Namespace::new(), Namespace::new());
    here.join("10.99.0.1", &there, SERVER);
    println!(
        "pipefill test and serve beside iperf3 at both ends, over veth: Gbit/s, medians of {PAIRS} pairs"
    );
    let mut missed = Vec::new();
    for (options, has_goal) in KINDS {
        let times = kind(&here, &there, options)?;
        if has_goal && times < TIMES {
            missed.push(format!("{TIMES} times iperf3 with {options:?}: {times:.2}"));
        }
    }
    Ok(missed)
}

/// Both in turn; how many times iperf3's rate ours is.
fn kind(here: &Namespace, there: &Namespace, options: &str) -> Outcome<f64> {
    let ours = env!("CARGO_BIN_EXE_pipefill");
    let (mut rates, mut ratios) = ([Vec::new(), Vec::new()], Vec::new());
    for _ in 0..PAIRS {
        let theirs = carried(here, there, &["iperf3", "-s", "-1"], &["iperf3", "-c", SERVER], options)?;
        let own = carried(here, there, &[ours, "serve", "--once"], &[ours, "test", SERVER], options)?;
        rates[0].push(theirs);
        rates[1].push(own);
        ratios.push(own / theirs);
    }
    let spread = format!(
        "{:.2} to {:.2}",
        ratios.iter().copied().fold(f64::INFINITY, f64::min),
        ratios.iter().copied().fold(0.0, f64::max)
    );
    let (times, [theirs, own]) = (median(&mut ratios), rates.map(|mut rates| median(&mut rates)));
    println!(
        "  {options:>11}: iperf3 {:5.1}, pipefill {:5.1}: {times:.2} times ({spread})",
        theirs / 1e9,
        own / 1e9
    );
    Ok(times)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// What the receiver of one test got, bits per second.
fn carried(
    here: &Namespace,
    there: &Namespace,
    server: &[&str],
    client: &[&str],
    options: &str,
) -> Outcome<f64> {
    let mut listening = there.command(server).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let sockets = || there.command(&["ss", "-Hltn", "sport = :5201"]).output();
    until(|| sockets().is_ok_and(|output| !output.stdout.is_empty()), "the server does not listen");
    let mut command = here.command(client);
    let output = command.args(["-t", "3", "-O", "1", "-J"]).args(options.split_whitespace()).output()?;
    end(&mut listening);
    let told: Value = serde_json::from_slice(&output.stdout)?;
    let rate = told["end"]["sum_received"]["bits_per_second"].as_f64();
    rate.ok_or_else(|| format!("{client:?} {options}: {}", String::from_utf8_lossy(&output.stderr)).into())
}
