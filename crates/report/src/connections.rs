//! The connections of a host as a table for a terminal, one line each, and one connection in words.

use crate::cause;
use crate::prose;
use crate::quantity::{Kind, MISSING};
use crate::sheet::{Entry, Heading, Tone};
use crate::table::{Style, grid};
use crate::words::UNKNOWN;
use pipefill_analysis::findings::connections::{ConnectionFinding, Connections};
use pipefill_core::cell::Direction;
use pipefill_core::limit::{CwndCause, LimitedBy};
use std::fmt::Write;

/// Longest name of a process that a line has room for.
const PROCESS: usize = 12;

/// A line for each connection that is not idle, the fastest first, and below them what is wrong with the looks.
pub fn render(found: &Connections, style: Style) -> String {
    let busy: Vec<&ConnectionFinding> = found.connections.iter().filter(|one| !is_idle(one)).collect();
    let mut text = String::new();
    if busy.is_empty() {
        text.push_str("No connection carried anything.\n");
    } else {
        let rows: Vec<Vec<Entry>> = busy.iter().map(|one| row(one)).collect();
        let drawn = grid(&headings(), &rows, style, 2);
        text.extend(drawn.lines().map(|line| line.trim_end().to_owned() + "\n"));
        for one in &busy {
            text.push('\n');
            text.push_str(&in_words(one, style));
        }
    }
    let _ = writeln!(text, "\n{}", prose::filled(&notes(found), "", "", style.width));
    text
}

/// One connection: its ends, the sentence, the advice.
pub fn in_words(one: &ConnectionFinding, style: Style) -> String {
    let arrow = if one.direction == Some(Direction::Reverse) { "<-" } else { "->" };
    let mut text = format!("{} {arrow} {}{}\n", one.local, one.remote, owner(one));
    let verdict = one.verdict.sentence.as_deref().unwrap_or(UNKNOWN);
    let _ = writeln!(text, "{}", prose::filled(verdict, "  ", "  ", style.width));
    if let Some(exact) = exact(one) {
        let _ = writeln!(text, "{}", prose::filled(&exact, "  ", "  ", style.width));
    }
    for advice in one.verdict.advice.iter().flatten().filter(|advice| advice.change != "nothing") {
        let line = format!("{}: {}", advice.change, advice.why);
        let _ = writeln!(text, "{}", prose::filled(&line, "  > ", "    ", style.width));
        for command in &advice.commands {
            let _ = writeln!(text, "      {command}");
        }
    }
    text
}

/// What BPF tells: shares of the congestion states, and what was sent again by why it was. `None` where it does not watch.
pub fn exact(one: &ConnectionFinding) -> Option<String> {
    let times = one.ca_state_us?;
    let total = times.total().max(1) as f64;
    let shares: Vec<String> = [
        ("open", times.open),
        ("disorder", times.disorder),
        ("cwr", times.cwr),
        ("recovery", times.recovery),
        ("loss", times.loss),
    ]
    .into_iter()
    .filter(|&(_, us)| us > 0)
    .map(|(state, us)| format!("{state} {}", Kind::Percent.alone(us as f64 / total * 100.0)))
    .collect();
    let span = Kind::Time.alone(total * 1e3);
    let mut text = format!("Congestion states in {span}, by BPF: {}.", shares.join(", "));
    let again = one.retransmits_by_kind.map(|kinds| {
        [
            (kinds.fast, "in fast recovery"),
            (kinds.rto, "after a timeout"),
            (kinds.tlp, "as loss probes"),
            (kinds.spurious, "without need"),
        ]
        .into_iter()
        .filter(|&(count, _)| count > 0)
        .map(|(count, why)| format!("{count} {why}"))
        .collect::<Vec<_>>()
    });
    match again {
        Some(again) if !again.is_empty() => {
            let _ = write!(text, " Segments sent again meanwhile: {}.", again.join(", "));
        }
        Some(_) => text.push_str(" No segment was sent again meanwhile."),
        None => text.push_str(" Of the segments that were sent again meanwhile some were missed."),
    }
    Some(text)
}

/// What limits it, in a word or two.
pub fn limit(one: &ConnectionFinding) -> String {
    match (one.verdict.limited_by, one.verdict.cwnd_cause) {
        (None, _) => MISSING.to_owned(),
        (Some(limit), None) => limit.as_str().to_owned(),
        (Some(limit), Some(cause)) => format!("{} {}", limit.as_str(), CwndCause::as_str(cause)),
    }
}

/// Whether it carried nothing.
pub fn is_idle(one: &ConnectionFinding) -> bool {
    one.rate_bps == Some(0) && one.verdict.limited_by == Some(LimitedBy::App)
}

/// How often it was looked, what was missed, and what is not shown.
pub fn notes(found: &Connections) -> String {
    let time = |us: u64| Kind::Time.alone(us as f64 * 1e3);
    let span = time(found.span_us);
    let mut parts = vec![format!("{} looks in {span}", found.looks)];
    if found.late_us >= 10_000 {
        parts.push(format!("the latest {} late", time(found.late_us)));
    }
    for (count, what) in [
        (found.idle, "idle"),
        (found.closed, "closed meanwhile"),
        (found.too_short, "too short to judge"),
        (found.not_followed, "more than can be followed"),
        (found.interrupted, "looks during which sockets came and went"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    }
    parts.join("; ") + "."
}

fn owner(one: &ConnectionFinding) -> String {
    match (&one.process, one.pid) {
        (Some(name), Some(pid)) => format!("  {name} ({pid})"),
        _ => String::new(),
    }
}

fn headings() -> Vec<Heading> {
    [
        ("peer", false),
        ("", false),
        ("process", false),
        ("rate", true),
        ("rtt", true),
        ("retr", true),
        ("limited by", false),
    ]
    .map(|(name, numeric)| Heading { name: name.to_owned(), unit: String::new(), numeric })
    .to_vec()
}

fn row(one: &ConnectionFinding) -> Vec<Entry> {
    let number = |kind: Kind, value: Option<u64>| {
        value.map_or_else(|| MISSING.to_owned(), |value| kind.alone(value as f64))
    };
    let time = |us: Option<u64>| number(Kind::Time, us.map(|us| us.saturating_mul(1_000)));
    let way = match one.direction {
        Some(Direction::Forward) => "out",
        Some(Direction::Reverse) => "in",
        None => "",
    };
    let process = one.process.as_deref().unwrap_or(MISSING);
    let tone = match one.verdict.limited_by {
        Some(LimitedBy::Unknown) | None => Tone::Warn,
        Some(_) => Tone::Plain,
    };
    let plain = Entry::plain;
    vec![
        plain(one.remote.clone()),
        plain(way.to_owned()),
        plain(process.chars().take(PROCESS).collect()),
        plain(number(Kind::Rate, one.rate_bps)),
        plain(time(one.rtt_us)),
        plain(one.retransmits.map_or_else(|| MISSING.to_owned(), |count| count.to_string())),
        Entry { tone, ..plain(limit(one)) },
    ]
}

/// The ANSI colour of what limits it.
pub fn colour(one: &ConnectionFinding) -> u8 {
    one.verdict.limited_by.map_or(90, cause::colour)
}
