//! The sums of test runners' own lines: what passed, failed, and was skipped with a reason.
//!
//! libtest's lines, and those of Node's runner as TAP. A test that can't run here prints one line `skipped: WORD: REASON` and returns; libtest counts it as passed, so that it is
//! taken off again. Never: a count of what the runner did not print.

use std::fmt;

/// Tests counted so far.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Tally {
    passed: usize,
    failed: usize,
    skipped: usize,
    /// Skips that the runner counted as passed.
    within: usize,
    /// The reasons of the skips, as printed.
    pub(crate) reasons: Vec<String>,
}

impl Tally {
    /// Counts one line of a runner's output; most count nothing.
    pub(crate) fn read(&mut self, line: &str) {
        if let Some(summary) = line.trim().strip_prefix("test result: ") {
            self.passed += count(summary, "passed");
            self.failed += count(summary, "failed");
            self.skipped += count(summary, "ignored");
        } else if let Some((word, number)) = of_node(line) {
            match word {
                "pass" => self.passed += number,
                "fail" => self.failed += number,
                "skipped" => self.skipped += number,
                _ => {}
            }
        } else if let Some(reason) = skip_reason(line) {
            self.within += 1;
            self.reasons.push(reason.to_owned());
        }
    }

    /// Notes what could not run at all, and that no runner counts.
    pub(crate) fn skip(&mut self, reason: String) {
        self.reasons.push(reason);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let passed = self.passed.saturating_sub(self.within);
        let skipped = self.skipped + self.reasons.len();
        write!(f, "{passed} passed, {} failed, {skipped} skipped", self.failed)
    }
}

/// The number before `word` in `ok. 12 passed; 0 failed; 1 ignored; …`.
fn count(summary: &str, word: &str) -> usize {
    let parts = summary.split([';', '.']).map(str::trim);
    parts
        .filter_map(|part| part.strip_suffix(word))
        .find_map(|number| number.trim().parse().ok())
        .unwrap_or(0)
}

/// `# pass 12`: the end of a TAP stream.
fn of_node(line: &str) -> Option<(&str, usize)> {
    let (word, number) = line.strip_prefix("# ")?.split_once(' ')?;
    Some((word, number.parse().ok()?))
}

/// The line begins with `skipped: `, or has it behind libtest's `test NAME ... `.
fn skip_reason(line: &str) -> Option<&str> {
    let said = match line.strip_prefix("test ") {
        Some(rest) => rest.split_once(" ... ")?.1,
        None => line,
    };
    said.starts_with("skipped: ").then_some(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(output: &str) -> Tally {
        let mut tally = Tally::default();
        output.lines().for_each(|line| tally.read(line));
        tally
    }

    #[test]
    fn results_of_several_runners_add_up() {
        let output = "test a ... ok\n\
            test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.10s\n\
            test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 4 filtered out; finished in 0.10s\n";
        assert_eq!(tally(output).to_string(), "15 passed, 2 failed, 1 skipped");
    }

    #[test]
    fn a_test_that_said_skipped_did_not_pass() {
        let output = "test lab ... skipped: lab-unavailable: no namespaces\nok\n\
            skipped: lab-unavailable: no namespaces\n\
            test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s\n";
        assert_eq!(tally(output).to_string(), "1 passed, 0 failed, 2 skipped");
    }

    #[test]
    fn node_counts_its_own() {
        assert_eq!(
            tally("ok 1 - a\n# tests 3\n# pass 2\n# fail 1\n# skipped 0\n").to_string(),
            "2 passed, 1 failed, 0 skipped"
        );
    }

    #[test]
    fn what_could_not_run_is_skipped_and_takes_nothing_off() {
        let mut tally = tally("test result: ok. 12 passed; 0 failed; 1 ignored\n");
        tally.skip("skipped: page-unavailable: no browser".to_owned());
        assert_eq!(tally.to_string(), "12 passed, 0 failed, 2 skipped");
    }

    #[test]
    fn other_lines_count_nothing() {
        assert_eq!(tally("5 passed\n  note: skipped: x\nall 3 failed;\n"), Tally::default());
    }
}
