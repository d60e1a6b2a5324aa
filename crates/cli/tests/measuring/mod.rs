//! Tests that measure on this machine's kernel: first the slow ones, five at a time, then the others one by one ([`rounds`]); each passes,
//! fails, or is skipped with a typed reason.
//!
//! A late run fails its test, unless the [`Witness`] shows that the machine was late. Such a run is measured again, twice at most; whether a run
//! was late is known without a look at what it measured. A test without a valid run never passes. Where other tests ran at the same time, they
//! may be why a run was late: when all slow tests have ended, that test is made again beside one other at most, and if it is late there too, alone,
//! and counts as it ends then. A test that the machine was late for in three of four runs of this program fails.
#![allow(dead_code, unreachable_pub, reason = "each test crate uses a part")]

mod lateness;
pub mod namespace;
#[path = "../pipefill/mod.rs"]
mod pipefill;
mod rounds;

#[allow(unused_imports, reason = "each test crate uses a part")]
pub use pipefill::{Folder, names};

use libtest_mimic::{Arguments, Completion, Trial};
use pipefill_testkit::witness::{LatenessKind, Testimony, Witness};
use rounds::Round;
use serde_json::Value;
use signal_hook::consts::SIGHUP;
use std::cell::Cell;
use std::fmt;
use std::process::{ExitCode, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// Why a test could not do what it is for.
#[derive(Debug)]
pub enum Skip {
    /// The lab can't run here. A failure where `PIPEFILL_REQUIRE_LAB=1` says that it can.
    LabUnavailable(String),
    /// This kernel has no BPF for us.
    NoBpf(String),
    /// The machine, not the program, was late in every attempt.
    MachineLate(String),
    /// A run was late beside other tests; never the end of a test, which is made again.
    BesideOthers(String),
    /// The programs that read records are not to be had.
    ReadersUnavailable(String),
    /// A program that a test runs is not installed.
    ProgramMissing(String),
    /// Containers can't be started here.
    ContainersUnavailable(String),
    /// No cgroup with a CPU quota can be made here.
    NoCgroup(String),
    /// No kernel to boot, with what this machine's own lacks.
    NoKernelKit(String),
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LabUnavailable(reason) => write!(f, "lab-unavailable: {reason}"),
            Self::NoBpf(reason) => write!(f, "no-bpf: {reason}"),
            Self::MachineLate(reason) => write!(f, "machine-late: {reason}"),
            Self::BesideOthers(reason) => write!(f, "beside-others: {reason}"),
            Self::ReadersUnavailable(reason) => write!(f, "readers-unavailable: {reason}"),
            Self::NoCgroup(reason) => write!(f, "no-cgroup: {reason}"),
            Self::ContainersUnavailable(reason) => write!(f, "containers-unavailable: {reason}"),
            Self::ProgramMissing(name) => write!(f, "program-missing: {name}"),
            Self::NoKernelKit(reason) => write!(f, "no-kernel-kit: {reason}"),
        }
    }
}

/// How a test ends that does not panic.
pub type Outcome = Result<(), Skip>;

/// A test before it is run.
pub struct Test {
    name: String,
    is_slow: bool,
    body: Box<dyn Fn() -> Outcome + Send>,
}

/// A test of that name, while no other one runs.
pub fn test(name: impl Into<String>, body: impl Fn() -> Outcome + Send + 'static) -> Test {
    Test { name: name.into(), is_slow: false, body: Box::new(body) }
}

/// A test of that name that takes little of a CPU, 200 Mbit/s at most: some of them run at a time.
pub fn slow_test(name: impl Into<String>, body: impl Fn() -> Outcome + Send + 'static) -> Test {
    Test { is_slow: true, ..test(name, body) }
}

/// A test of each cell: the slow ones; and on a quiet machine, alone, those whose name has one of `fast` in it.
pub fn tests_of(cells: Vec<String>, fast: &[&str], check: fn(&str) -> Outcome) -> Vec<Test> {
    let of_cell = |only: String| Test {
        is_slow: !fast.iter().any(|name| only.contains(name)),
        ..test(only.clone(), move || check(&only))
    };
    cells.into_iter().map(of_cell).filter(|test| test.is_slow || is_quiet()).collect()
}

/// Whether the machine has nothing else to do, as `make proof` says by `PIPEFILL_QUIET=1`. Only then does a test assert a rate or a time that a
/// busy machine cannot reach; what is never more and never earlier than the path allows is asserted everywhere.
pub fn is_quiet() -> bool {
    std::env::var("PIPEFILL_QUIET").is_ok_and(|value| value == "1")
}

/// The least rate or longest time that is asserted: `limit` on a quiet machine, else `anything`.
pub fn if_quiet(limit: f64, anything: f64) -> f64 {
    if is_quiet() { limit } else { anything }
}

/// Tests of a part, and its name.
pub type Part = (&'static str, Vec<Test>);

/// Runs the tests of all parts, whatever the arguments say of threads: each has one, in which it waits for its turn.
pub fn run(parts: impl IntoIterator<Item = Part>) -> ExitCode {
    let of_part = |(part, tests): Part| {
        tests.into_iter().map(move |test| Test { name: format!("{part}::{}", test.name), ..test })
    };
    let_children_hang_up();
    // Ahead of what else the machine does, where that is permitted: a program that waits for a CPU is its own limit.
    let _permitted = rustix::process::nice(-10);
    let (slow, fast): (Vec<_>, Vec<_>) = parts.into_iter().flat_map(of_part).partition(|test| test.is_slow);
    let tests: Vec<Trial> = slow.into_iter().chain(fast).enumerate().map(trial).collect();
    // With one thread alone the harness would print a name before its test.
    let arguments = Arguments { test_threads: Some(tests.len().max(2)), ..Arguments::from_args() };
    libtest_mimic::run(&arguments, tests).exit_code()
}

/// Some tests send SIGHUP, which under nohup(1) this process and all that it starts ignore. A signal that is handled here has its default in a
/// new program (execve(2)).
fn let_children_hang_up() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    if ignored >> (SIGHUP - 1) & 1 == 1 {
        signal_hook::flag::register(SIGHUP, Arc::default()).unwrap();
    }
}

thread_local! {
    /// Whether no other test runs beside that of this thread.
    static IS_ALONE: Cell<bool> = const { Cell::new(true) };
}

fn trial((number, Test { name, is_slow, body }): (usize, Test)) -> Trial {
    Trial::ignorable_test(name.clone(), move || {
        let rounds = if is_slow { &Round::ALL[..] } else { &[Round::Alone] };
        let ended = in_rounds(rounds, number, &name, &body);
        let is_late = matches!(ended, Err(Skip::MachineLate(_)));
        if lateness::is_too_often(&lateness::file(), &name, is_late) {
            return Err(format!("the machine was late in three of the last four runs: {ended:?}").into());
        }
        match ended {
            Ok(()) => Ok(Completion::Completed),
            Err(skip) if !is_late && nothing_may_lack() => {
                Err(format!("{NOTHING_LACKS}=1, but {skip}").into())
            }
            Err(skip) => Ok(Completion::ignored_with(skip)),
        }
    })
}

/// Set by `make proof`: what a machine lacks for good may be skipped in `make test`, not there.
const NOTHING_LACKS: &str = "PIPEFILL_REQUIRE_ALL";

fn nothing_may_lack() -> bool {
    std::env::var(NOTHING_LACKS).is_ok_and(|value| value == "1")
}

/// How the test ends in the first of `rounds` in which no other test makes it late.
fn in_rounds(rounds: &[Round], number: usize, name: &str, body: &dyn Fn() -> Outcome) -> Outcome {
    let mut ended = Ok(());
    for round in rounds {
        let _turn = rounds::wait_for(*round, number);
        IS_ALONE.set(*round == Round::Alone);
        ended = timed(&format!("{name}, {round}"), body);
        let Err(Skip::BesideOthers(reason)) = &ended else { break };
        println!("beside other tests, to be made again: {reason}");
    }
    ended
}

fn timed(what: &str, body: &dyn Fn() -> Outcome) -> Outcome {
    let began = Instant::now();
    let ended = body();
    println!("{what}: {:.1} s", began.elapsed().as_secs_f64());
    ended
}

/// A folder on a machine where the lab runs.
///
/// # Errors
/// The lab can't run here.
pub fn lab() -> Result<Folder, Skip> {
    static LACK: OnceLock<Option<String>> = OnceLock::new();
    let folder = Folder::new();
    match LACK.get_or_init(|| lack(&folder)) {
        None => Ok(folder),
        Some(reason) => {
            let is_required = std::env::var("PIPEFILL_REQUIRE_LAB").is_ok_and(|value| value == "1");
            assert!(!is_required, "PIPEFILL_REQUIRE_LAB=1, but {reason}");
            Err(Skip::LabUnavailable(reason.clone()))
        }
    }
}

/// What the lab lacks on this machine.
fn lack(folder: &Folder) -> Option<String> {
    let output = folder.pipefill(&["doctor"]).output().unwrap();
    let found = String::from_utf8_lossy(&output.stdout);
    let missing = found.lines().find(|line| line.starts_with("MISSING"));
    (!output.status.success()).then(|| missing.unwrap_or("doctor failed").to_owned())
}

/// Exit code of a run that is invalid.
pub const INVALID: i32 = 4;
/// How often a late run is measured at most.
const TURNS: usize = 3;
/// After so many late runs a machine will not be in time a minute later either: nothing is measured again.
const MOST_LATE: usize = 9;
/// Late runs so far, of all tests of this program.
static LATE: AtomicUsize = AtomicUsize::new(0);

/// What `work` returns, whose runs are all valid.
///
/// # Errors
/// A run is invalid, and the machine was late meanwhile, or other tests ran.
///
/// # Panics
/// A run is invalid, and the machine was not late.
pub fn in_time<const N: usize>(work: impl FnOnce() -> [Output; N]) -> Result<[Output; N], Skip> {
    let witness = Witness::start();
    let outputs = work();
    let seen = witness.stop();
    match outputs.iter().find(|output| output.status.code() == Some(INVALID)) {
        None => Ok(outputs),
        Some(late) => Err(excused(&seen, String::from_utf8_lossy(&late.stdout).trim())),
    }
}

/// The report of `pipefill run` with `words`, whose runs are all valid. The records are in the folder's `lab/runs`.
///
/// # Errors
/// The machine was late in every turn, or other tests ran.
///
/// # Panics
/// The command failed, or a run is invalid though the machine was not late.
pub fn report(folder: &Folder, words: &[&str]) -> Result<Value, Skip> {
    let mut words = [&["run"], words, &["--out", "lab", "--quiet", "--json"]].concat();
    for turn in 1.. {
        let witness = Witness::start();
        let output = folder.pipefill(&words).output().unwrap();
        let seen = witness.stop();
        let report = read(&output);
        let Some(invalid) = invalid(&report) else {
            println!("{seen}");
            return Ok(report);
        };
        let skip = excused(&seen, &invalid);
        if !IS_ALONE.get() || turn == TURNS || LATE.fetch_add(1, Ordering::Relaxed) >= MOST_LATE {
            return Err(skip);
        }
        println!("attempt {turn} of {TURNS}: {skip}");
        if turn == 1 {
            words.push("--resume");
        }
    }
    unreachable!("the last turn returns")
}

/// The report that was printed.
///
/// # Panics
/// The command failed for another reason than an expectation or an invalid run.
pub fn read(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 1 | INVALID)), "{text}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Why runs are invalid, `None` where all are valid.
fn invalid(report: &Value) -> Option<String> {
    let cells = report["cells"].as_array().unwrap();
    assert!(!cells.is_empty(), "{report}");
    let runs = |cell: &Value, name: &str| cell[name].as_u64().unwrap_or_else(|| panic!("no {name}: {cell}"));
    let late = cells.iter().find(|cell| runs(cell, "valid") < runs(cell, "runs"))?;
    Some(late["invalid"].to_string())
}

/// The skip for a run that is `invalid`, as printed.
///
/// # Panics
/// No other test ran, and the machine was not late, or not so: the run's lateness is the program's own.
pub fn excused(seen: &Testimony, invalid: &str) -> Skip {
    if !IS_ALONE.get() {
        return Skip::BesideOthers(invalid.to_owned());
    }
    let is_starved = invalid.contains("starved_cpu") && !invalid.contains("late_");
    let kind = match is_as_a_rule(invalid) {
        true => LatenessKind::AsARule,
        false if is_starved => LatenessKind::Starved,
        false => LatenessKind::AtTimes,
    };
    match seen.machine_was_late(kind) {
        Some(why) => Skip::MachineLate(format!("{why}: {invalid}")),
        None => panic!("a run is invalid, and the machine was not late: {invalid}\n{seen}"),
    }
}

/// Whether a reason speaks of all packets, not of the latest; a line may be broken anywhere.
fn is_as_a_rule(invalid: &str) -> bool {
    let words = invalid.split_whitespace().collect::<Vec<_>>().join(" ");
    ["late on average", "late at the median"].iter().any(|reason| words.contains(reason))
}

/// All cells of the scenario `text`, each as `--only` takes it: `variant=delay,path.rtt=1ms`.
pub fn cells(text: &str) -> Vec<String> {
    let folder = Folder::new();
    folder.write("scenario.toml", text);
    let output = folder.pipefill(&["plan", "scenario.toml", "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
    plan["cells"].as_array().unwrap().iter().map(only).collect()
}

fn only(cell: &Value) -> String {
    let axes = cell["axes"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    axes.iter().map(|axis| text(&axis[0]) + "=" + &text(&axis[1])).collect::<Vec<_>>().join(",")
}
