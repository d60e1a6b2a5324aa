//! What was measured before and after a remedy: a row of the guide's table.

use crate::measuring::if_quiet;
use std::fmt;
use std::fs;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/programs.md");
/// What is measured then is so near to what was predicted.
pub(super) const NEAR: f64 = 0.2;

/// What is compared.
#[derive(Debug, Clone, Copy)]
pub(super) enum Figure {
    /// Of a transfer as long as before: payload, bits per second.
    Rate(f64),
    /// Of a transfer of the same bytes, seconds.
    Time(f64),
}

impl Figure {
    const fn value(self) -> f64 {
        match self {
            Self::Rate(value) | Self::Time(value) => value,
        }
    }
}

/// A case of the guide's table.
pub(super) struct Row<'a> {
    /// What was reported, and where: the row begins with it.
    pub(super) report: &'a str,
    pub(super) rtt: &'a str,
    pub(super) cause: &'a str,
    pub(super) applied: &'a str,
    /// Before, predicted, after.
    pub(super) figures: [Figure; 3],
}

impl Row<'_> {
    /// By which part of what was predicted more was measured.
    fn error(&self) -> f64 {
        let [_, predicted, after] = self.figures;
        after.value() / predicted.value() - 1.0
    }

    /// # Panics
    /// What was measured then is no gain, or better than predicted, or, on a quiet machine, worse.
    pub(super) fn check(&self) {
        let [before, _, after] = self.figures;
        let gain = match after {
            Figure::Rate(bps) => bps / before.value(),
            Figure::Time(seconds) => before.value() / seconds,
        };
        assert!(gain > 1.0, "no gain: {self}");
        let worse = if let Figure::Time(_) = after { self.error() } else { -self.error() };
        let near = -NEAR..=if_quiet(NEAR, f64::INFINITY);
        assert!(near.contains(&worse), "predicted otherwise: {self}");
    }

    /// Writes it in place of the case's row in the guide.
    ///
    /// # Panics
    /// The guide has no such row.
    pub(super) fn write(&self) {
        static WRITING: Mutex<()> = Mutex::new(());
        let _alone = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
        let page = fs::read_to_string(PAGE).unwrap();
        let begin = format!("| {} |", self.report);
        assert_eq!(page.matches(&begin).count(), 1, "{PAGE} has one row {begin:?}");
        let row = |line: &str| if line.starts_with(&begin) { self.to_string() } else { line.to_owned() };
        let lines: Vec<String> = page.lines().map(row).collect();
        fs::write(PAGE, lines.join("\n") + "\n").unwrap();
    }
}

impl fmt::Display for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { report, rtt, cause, applied, figures: [before, predicted, after] } = self;
        let far = self.error() * 100.0;
        let date = output_of("date", &["-u", "+%F"]);
        write!(
            f,
            "| {report} | {rtt} | `{cause}` | {applied} | {before} | {predicted} | {after} | {far:+.0} % | {date} |"
        )
    }
}

/// With three digits.
impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match *self {
            Self::Rate(bps) => (bps / 1e6, "Mbit/s"),
            Self::Time(seconds) => (seconds, "s"),
        };
        let digits = (2.0 - value.abs().log10().floor()).clamp(0.0, 6.0) as usize;
        write!(f, "{value:.digits$} {unit}")
    }
}

fn output_of(program: &str, words: &[&str]) -> String {
    let output = Command::new(program).args(words).output().unwrap();
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
