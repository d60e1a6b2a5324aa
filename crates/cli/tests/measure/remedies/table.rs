//! What was measured before and after a remedy: a row of the guide's table.

use super::cases::Case;
use std::fmt;
use std::fs;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/programs.md");

/// Rates of one case, bits per second of payload.
pub(super) struct Row<'a> {
    pub(super) case: &'a Case,
    pub(super) before_bps: f64,
    pub(super) predicted_bps: f64,
    pub(super) after_bps: f64,
}

impl Row<'_> {
    /// By which part of what was predicted more was measured.
    pub(super) fn error(&self) -> f64 {
        self.after_bps / self.predicted_bps - 1.0
    }

    /// Writes it in place of the case's row in the guide.
    ///
    /// # Panics
    /// The guide has no such row.
    pub(super) fn write(&self) {
        static WRITING: Mutex<()> = Mutex::new(());
        let _alone = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
        let page = fs::read_to_string(PAGE).unwrap();
        let begin = format!("| {} |", self.case.report);
        assert_eq!(page.matches(&begin).count(), 1, "{PAGE} has one row {begin:?}");
        let row = |line: &str| if line.starts_with(&begin) { self.to_string() } else { line.to_owned() };
        let lines: Vec<String> = page.lines().map(row).collect();
        fs::write(PAGE, lines.join("\n") + "\n").unwrap();
    }
}

impl fmt::Display for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Case { report, rtt, cause, remedy, .. } = self.case;
        let [before, predicted, after] =
            [self.before_bps, self.predicted_bps, self.after_bps].map(|bps| Mbit(bps / 1e6));
        let far = self.error() * 100.0;
        let date = said("date", &["-u", "+%F"]);
        write!(
            f,
            "| {report} | {rtt} | `{cause}` | {remedy} | {before} | {predicted} | {after} | {far:+.0} % | {date} |"
        )
    }
}

/// Megabits, with three digits.
struct Mbit(f64);

impl fmt::Display for Mbit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = (2.0 - self.0.abs().log10().floor()).clamp(0.0, 6.0) as usize;
        write!(f, "{:.digits$}", self.0)
    }
}

fn said(program: &str, words: &[&str]) -> String {
    let output = Command::new(program).args(words).output().unwrap();
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
