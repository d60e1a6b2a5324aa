//! `pipefill pcap --scenario` on captures of every scenario, in the simulator: what it writes has the capture's goodput in most of them.

use crate::program::{Program, scenarios};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Where the scenarios are: those on which rules were made, and those on which they were not.
const SETS: [&str; 2] = ["scenarios/catalogue", "testdata/held-out-verdicts"];
/// Goodput that is this much off is another.
const OFF: f64 = 0.20;
/// So many have to have it again.
const LEAST: f64 = 0.80;
/// The written scenario runs once more with this seed: its figures were fitted with another.
const OTHER_SEED: &str = "run.seed=2";

/// What came out of a set.
#[derive(Default)]
struct Share {
    scenarios: usize,
    as_told: usize,
    fitted: usize,
    by_other_chance: usize,
    same_limit: usize,
    slowest: Duration,
    all: Duration,
}

/// Captures, writes, runs, and prints what came of it; with the program at `path` where one is named.
///
/// # Errors
/// Too few have the capture's goodput, or the program can't be built or run.
pub(crate) fn run(root: &Path, path: Option<&String>) -> Result<(), String> {
    let program = Program::named_or_built(path, root, "reproduce")?;
    let mut is_enough = true;
    for set in SETS {
        let mut share = Share::default();
        for scenario in scenarios(&root.join(set))? {
            program.empty()?;
            share.add(&program, &scenario)?;
        }
        share.print(set);
        is_enough &= share.fitted as f64 >= LEAST * share.scenarios as f64;
    }
    program.leave();
    is_enough.then_some(()).ok_or_else(|| "too few captures are reproduced".to_owned())
}

impl Share {
    fn add(&mut self, program: &Program, scenario: &Path) -> Result<(), String> {
        let name = scenario.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let file = scenario.to_string_lossy();
        let once = ["--repeat", "1", "--capture", "--json", "--quiet", "--out", "run"];
        program.run(&[&["run", &file, "--on", "sim"][..], &once].concat())?;
        let capture = capture(program).ok_or_else(|| format!("{name}: there is no capture"))?;
        let capture = capture.to_string_lossy();
        let began = Instant::now();
        let told = json(&program.run(&["pcap", &capture, "--scenario", "fitted.toml", "--json"])?.stdout);
        let took = began.elapsed();
        // Datagrams alone have no scenario.
        let Some(flow) = told.pointer("/flows/0") else { return Ok(()) };
        program.run(&["pcap", &capture, "--no-fit", "--scenario", "told.toml"])?;
        self.scenarios += 1;
        (self.slowest, self.all) = (self.slowest.max(took), self.all + took);
        let fitted = again(program, "fitted.toml", &[])?;
        let other = again(program, "fitted.toml", &["--set", OTHER_SEED])?;
        let [off, other, as_told] =
            [&fitted, &other, &again(program, "told.toml", &[])?].map(|run| off(flow, run));
        self.fitted += usize::from(off.abs() <= OFF);
        self.as_told += usize::from(as_told.abs() <= OFF);
        self.by_other_chance += usize::from(other.abs() <= OFF);
        let is_same = ["limited_by", "cwnd_cause"].iter().all(|key| flow[key] == fitted[key]);
        self.same_limit += usize::from(is_same);
        if off.abs() > OFF || other.abs() > OFF {
            let [off, other] = [off, other].map(|off| 100.0 * off);
            println!("{name}: {off:+.0} %, with another seed {other:+.0} %");
        }
        Ok(())
    }

    fn print(&self, set: &str) {
        let of_all =
            |count: usize| format!("{count} ({:.1} %)", 100.0 * count as f64 / self.scenarios as f64);
        println!(
            "{set}: {} captures with TCP; within {:.0} % of their goodput {}, with another seed {}, without runs that fit {}; \
             limited by the same {}; writing took {:.1} s each, {:.1} s at most",
            self.scenarios,
            100.0 * OFF,
            of_all(self.fitted),
            of_all(self.by_other_chance),
            of_all(self.as_told),
            of_all(self.same_limit),
            self.all.as_secs_f64() / self.scenarios.max(1) as f64,
            self.slowest.as_secs_f64(),
        );
    }
}

/// What came of the first flow of the scenario `file`.
fn again(program: &Program, file: &str, set: &[&str]) -> Result<Value, String> {
    let _ = fs::remove_dir_all(program.records().join("again"));
    let words = ["run", file, "--on", "sim", "--json", "--quiet", "--out", "again"];
    let found = json(&program.run(&[&words[..], set].concat())?.stdout);
    Ok(found.pointer("/cells/0/flows/0").cloned().unwrap_or_default())
}

/// The capture of the host that sends in the forward direction, of the only run.
fn capture(program: &Program) -> Option<PathBuf> {
    let mut runs = fs::read_dir(program.records().join("run/runs")).ok()?;
    Some(runs.next()?.ok()?.path().join("artifacts/sender.pcapng"))
}

/// How much faster the flow `again` is than the captured one, in parts of that.
fn off(flow: &Value, again: &Value) -> f64 {
    let bps = |flow: &Value| flow["goodput_bps"].as_f64().unwrap_or(0.0);
    bps(again) / bps(flow).max(1.0) - 1.0
}

fn json(text: &[u8]) -> Value {
    serde_json::from_slice(text).unwrap_or_default()
}
