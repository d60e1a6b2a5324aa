//! A verdict in a table and below it, whatever it is on.

use crate::cause;
use crate::prose::filled;
use crate::quantity::{MISSING, counted};
use crate::sheet::{Entry, Tone};
use pipefill_analysis::findings::verdict::Verdict;
use pipefill_core::limit::{CwndCause, LimitedBy};

/// What limits it, in a word or two.
pub(crate) fn limit(verdict: &Verdict) -> String {
    match (verdict.limited_by, verdict.cwnd_cause) {
        (None, _) => MISSING.to_owned(),
        (Some(limit), Some(of_cwnd)) => format!("{} {}", limit.as_str(), CwndCause::as_str(of_cwnd)),
        (Some(_), None) => cause::limit_to_ask_for(verdict).unwrap_or_default(),
    }
}

/// The same as a field of a table.
pub(crate) fn entry(verdict: &Verdict) -> Entry {
    let is_known = verdict.limited_by.is_some_and(|limit| limit != LimitedBy::Unknown);
    Entry { tone: if is_known { Tone::Plain } else { Tone::Warn }, ..Entry::plain(limit(verdict)) }
}

/// Each advice in lines that end, with its commands as they are to be run.
pub(crate) fn advice(verdict: &Verdict, width: u16) -> String {
    let mut text = String::new();
    for advice in verdict.advice.iter().flatten().filter(|advice| advice.change != "nothing") {
        text += &(filled(&format!("{}: {}", advice.change, advice.why), "  > ", "    ", width) + "\n");
        text.extend(advice.commands.iter().map(|command| format!("      {command}\n")));
    }
    text
}

/// Counts of what happened; none of those that did not. Their words are those of [`counted`].
pub(crate) fn happened(counts: impl IntoIterator<Item = (u64, &'static str)>) -> Vec<String> {
    let some = counts.into_iter().filter(|&(count, _)| count > 0);
    some.map(|(count, what)| counted(count, what)).collect()
}
