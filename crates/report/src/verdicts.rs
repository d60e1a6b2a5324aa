//! A verdict in a table and below it, whatever it is on.

use crate::prose::filled;
use crate::quantity::{MISSING, counted, duration, rate};
use crate::sheet::{SheetEntry, Tone};
use pipefill_analysis::findings::finding::Advice;
use pipefill_analysis::findings::verdict::Verdict;
use pipefill_core::limit::{Cause, CwndCause, LimitedBy};

/// Where no change helps, an advice has this in place of one.
pub(crate) const NOTHING: &str = "nothing";

/// What limits it, in a word or two.
pub(crate) fn limit(verdict: &Verdict) -> String {
    match (verdict.limited_by, verdict.cwnd_cause) {
        (None, _) => MISSING.to_owned(),
        (Some(limit), Some(of_cwnd)) => format!("{} {}", limit.as_str(), CwndCause::as_str(of_cwnd)),
        (Some(limit), None) => match verdict.cause {
            Some(cause) => format!("{} {}", limit.as_str(), cause.as_str()),
            None => limit.as_str().to_owned(),
        },
    }
}

/// The same as a field of a table.
pub(crate) fn entry(verdict: &Verdict) -> SheetEntry {
    let is_known = verdict.limited_by.is_some_and(|limit| limit != LimitedBy::Unknown);
    SheetEntry { tone: if is_known { Tone::Plain } else { Tone::Warn }, ..SheetEntry::plain(limit(verdict)) }
}

/// What to change; where nothing helps, what else to look at, if that says more than the limit.
pub fn wanted(verdict: &Verdict) -> Vec<&Advice> {
    let all = || verdict.advice.iter().flatten();
    let changes: Vec<&Advice> = all().filter(|advice| advice.change != NOTHING).collect();
    let says_enough = match verdict.limited_by {
        None | Some(LimitedBy::Unknown) => true,
        Some(LimitedBy::App) => verdict.cause != Some(Cause::Response),
        Some(_) => false,
    };
    if changes.is_empty() && !says_enough { all().take(1).collect() } else { changes }
}

/// What stands above `advice` on a page.
pub(crate) fn heading<'a>(advice: impl IntoIterator<Item = &'a Advice>) -> &'static str {
    let changes_something = advice.into_iter().any(|advice| advice.change != NOTHING);
    if changes_something { "What to change" } else { "What else to look at" }
}

/// The change, what it should bring, and why; only the latter where nothing is to be changed.
pub fn in_a_sentence(advice: &Advice) -> String {
    match advice.change.as_str() {
        NOTHING => advice.why.clone(),
        change => format!("{change}{}: {}", predicted(advice), advice.why),
    }
}

/// Each advice in lines that end, with its commands as they are to be run.
pub(crate) fn advice(verdict: &Verdict, width: u16) -> String {
    let mut text = String::new();
    for advice in wanted(verdict) {
        text += &(filled(&in_a_sentence(advice), "  > ", "    ", width) + "\n");
        text.extend(advice.commands.iter().map(|command| format!("      {command}\n")));
    }
    text
}

/// What a change should bring, behind its name: a rate, and the time that the same bytes take; empty where that is not known.
pub(crate) fn predicted(advice: &Advice) -> String {
    let same_bytes = |us: u64| format!(", the same bytes in {}", duration(us));
    match (advice.predicted_bps, advice.predicted_active_bps) {
        (Some(bps), _) => {
            let time = advice.predicted_us.map_or_else(String::new, same_bytes);
            format!(", should give {}{time}", rate(bps))
        }
        (None, Some(bps)) => format!(", should give {} while it is active", rate(bps)),
        (None, None) => String::new(),
    }
}

/// Counts of what happened; none of those that did not. Their words are those of [`counted`].
pub(crate) fn happened(counts: impl IntoIterator<Item = (u64, &'static str)>) -> Vec<String> {
    let some = counts.into_iter().filter(|&(count, _)| count > 0);
    some.map(|(count, what)| counted(count, what)).collect()
}
