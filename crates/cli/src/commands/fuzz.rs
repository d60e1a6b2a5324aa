//! `pipefill sim fuzz`: random scenarios in the simulator, every check on, until one fails or the time is over.
//!
//! Each scenario follows from its number alone.

use crate::args::FuzzArgs;
use crate::outcome::Outcome;
use crate::signals::stop_on_signals;
use crate::terminal::Terminal;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use pipefill_core::backend::Watch;
use pipefill_core::scenario::Scenario;
use pipefill_core::units::Time;
use pipefill_runs::{Failure, Stop, duration_in_words};
use pipefill_sim::fuzz::{Examined, examine, scenario, smallest};
use serde::Serialize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Builder};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Scenarios where neither a number nor a time is given.
const RUNS: u64 = 100;

/// A scenario that fails.
#[derive(Debug, Serialize)]
struct Finding {
    seed: u64,
    what: String,
    command: String,
    scenario: String,
    smallest: String,
}

/// Everything that was found, and how much was looked at.
#[derive(Debug, Serialize)]
struct Findings {
    schema: u32,
    first_seed: u64,
    runs: u64,
    packets: u64,
    unconnected: u64,
    wall_s: f64,
    /// The user stopped it.
    interrupted: bool,
    findings: Vec<Finding>,
}

/// Looks for scenarios in which an invariant is broken.
pub(super) fn fuzz(args: &FuzzArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let stop = stop_on_signals()?;
    if let Some(path) = &args.file {
        let text = std::fs::read_to_string(path).map_err(Failure::file("reading", path))?;
        Scenario::parse(&text, &path.to_string_lossy())?;
        return one_file(&text, &stop, terminal);
    }
    let hunt = Hunt::new(args, &stop, terminal);
    // This thread works too: where no others are to be had, it does all the work.
    thread::scope(|scope| {
        let others = (1..args.jobs).map(|_| Builder::new().spawn_scoped(scope, || hunt.work()));
        let _those_there_are: Vec<_> = others.map_while(Result::ok).collect();
        hunt.work();
    });
    let found = hunt.finish();
    let text = if args.json {
        serde_json::to_string_pretty(&found).map_err(Failure::json)? + "\n"
    } else {
        found.findings.iter().map(Finding::text).collect::<String>() + &found.summary()
    };
    terminal.print_result(&text, args.json)?;
    if found.interrupted && found.findings.is_empty() {
        return Err(Failure::broken("stopped by the user"));
    }
    Ok(if found.findings.is_empty() { Outcome::Done } else { Outcome::Finding })
}

fn one_file(text: &str, stop: &Stop, terminal: &Terminal) -> Result<Outcome, Failure> {
    match fails(text, stop) {
        Err(what) => {
            terminal.print(&format!("{what}\n"))?;
            Ok(Outcome::Finding)
        }
        Ok(examined) => {
            let Examined { runs, packets, .. } = examined.unwrap_or_default();
            terminal.print(&format!("{runs} runs, {packets} packets, no finding\n"))?;
            Ok(Outcome::Done)
        }
    }
}

/// What is known while the scenarios run.
struct Hunt<'a> {
    first: u64,
    runs: Option<u64>,
    until: Option<Instant>,
    began: Instant,
    next: AtomicU64,
    stop: &'a Stop,
    bar: ProgressBar,
    sum: Mutex<(Examined, Vec<Finding>)>,
}

impl<'a> Hunt<'a> {
    fn new(args: &FuzzArgs, stop: &'a Stop, terminal: &Terminal) -> Self {
        let began = Instant::now();
        let usual = if args.seed.is_some() { 1 } else { RUNS };
        let runs = args.runs.or(args.span.is_none().then_some(usual));
        let first = args.seed.unwrap_or_else(another_seed);
        let target = if terminal.is_interactive() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(runs, target);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
            bar.set_style(style);
        }
        let until = args.span.map(|span| began + span);
        Self { first, runs, until, began, next: AtomicU64::new(0), stop, bar, sum: Mutex::default() }
    }

    /// Runs scenarios until none is left.
    fn work(&self) {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let is_over = self.until.is_some_and(|until| Instant::now() >= until);
            if is_over || self.runs.is_some_and(|runs| number >= runs) || self.stop.is_requested() {
                return;
            }
            self.examine_seed(self.first.wrapping_add(number));
        }
    }

    fn examine_seed(&self, seed: u64) {
        let text = scenario(seed);
        let outcome = fails(&text, self.stop);
        let finding = outcome.as_ref().err().map(|what| self.finding(seed, &text, what));
        let mut sum = self.sum.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(examined) = outcome.ok() else {
            sum.0.runs += 1;
            sum.1.extend(finding);
            return;
        };
        // A scenario that was cut short shows nothing.
        let Some(Examined { packets, unconnected, .. }) = examined else { return };
        sum.0.runs += 1;
        sum.0.packets += packets;
        sum.0.unconnected += unconnected;
        self.bar.set_message(self.progress(&sum.0, sum.1.len()));
    }

    fn finding(&self, seed: u64, scenario: &str, what: &str) -> Finding {
        let is_same = |part: &str| fails(part, self.stop).is_err_and(|other| kind(&other) == kind(what));
        Finding {
            seed,
            what: what.to_owned(),
            command: format!("pipefill sim fuzz --seed {seed}"),
            scenario: scenario.to_owned(),
            smallest: smallest(scenario, is_same),
        }
    }

    fn progress(&self, sum: &Examined, findings: usize) -> String {
        let elapsed = self.began.elapsed();
        let left = match (self.until, self.runs) {
            (Some(until), _) => until.saturating_duration_since(Instant::now()),
            (None, Some(runs)) => {
                let each = elapsed.div_f64(sum.runs.max(1) as f64);
                each.mul_f64(runs.saturating_sub(sum.runs) as f64)
            }
            (None, None) => Duration::ZERO,
        };
        format!(
            "{} runs, {} packets, {findings} findings; about {} left",
            sum.runs,
            sum.packets,
            duration_in_words(left)
        )
    }

    fn finish(self) -> Findings {
        self.bar.finish_and_clear();
        let (sum, mut findings) = self.sum.into_inner().unwrap_or_else(PoisonError::into_inner);
        findings.sort_by_key(|finding| finding.seed);
        Findings {
            schema: 1,
            first_seed: self.first,
            runs: sum.runs,
            packets: sum.packets,
            unconnected: sum.unconnected,
            wall_s: self.began.elapsed().as_secs_f64(),
            interrupted: self.stop.is_requested(),
            findings,
        }
    }
}

impl Finding {
    fn text(&self) -> String {
        let Self { seed, what, command, scenario, smallest } = self;
        format!(
            "seed {seed}: {what}\nto repeat it: {command}\n\n{scenario}\n\
             # the smallest part that still fails: pipefill sim fuzz --file FILE\n\n{smallest}\n"
        )
    }
}

impl Findings {
    fn summary(&self) -> String {
        format!(
            "{} runs from seed {}, {} packets, {} not connected, {} findings, {:.1} s\n",
            self.runs,
            self.first_seed,
            self.packets,
            self.unconnected,
            self.findings.len(),
            self.wall_s
        )
    }
}

/// Nothing to see while a scenario runs; only whether to stop.
struct StopOnly<'a>(&'a Stop);

impl Watch for StopOnly<'_> {
    fn progress(&self, _: Time) {}

    fn stop_requested(&self) -> bool {
        self.0.is_requested()
    }
}

/// What is wrong with a scenario; a panic is. `None` where the user stopped it.
fn fails(text: &str, stop: &Stop) -> Result<Option<Examined>, String> {
    match catch_unwind(AssertUnwindSafe(|| examine(text, &StopOnly(stop)))) {
        Ok(Ok(examined)) => Ok(Some(examined)),
        Ok(Err(problem)) if problem.is_stop() => Ok(None),
        Ok(Err(error)) => Err(error.to_string()),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            Err(format!("a panic: {}", text.unwrap_or("without a message")))
        }
    }
}

/// A message without its figures: two scenarios that fail alike.
fn kind(what: &str) -> String {
    what.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// Another one every time; it is printed with the summary.
fn another_seed() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::from(since.subsec_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_run_is_a_finding_and_messages_are_compared_without_figures() {
        let stop = Stop::default();
        assert!(fails("name = 1", &stop).is_err());
        let good =
            "name = \"t\"\n[path]\nrate = \"1mbit\"\n[[flow]]\nduration = \"50ms\"\n[run]\nrepeat = 1\n";
        assert_eq!(fails(good, &stop).map(|examined| examined.map(|examined| examined.runs)), Ok(Some(1)));
        assert_eq!(kind("stream 1: 20 in flight"), kind("stream 12: 3 in flight"));
    }

    #[test]
    fn a_seed_alone_is_one_run_and_no_finding_says_so() {
        let args = FuzzArgs { seed: Some(3), span: None, runs: None, file: None, jobs: 1, json: false };
        let stop = Stop::default();
        let hunt = Hunt::new(&args, &stop, &Terminal::blind());
        hunt.work();
        let found = hunt.finish();
        assert_eq!((found.first_seed, found.runs, found.findings.len()), (3, 1, 0));
        assert!(found.summary().starts_with("1 runs from seed 3, "), "{}", found.summary());
    }
}
