//! The flows of a capture: a table for a terminal with each verdict in words.

use crate::quantity::{Kind, MISSING};
use crate::sheet::{Entry, Heading, Tone};
use crate::table::{Style, grid};
use crate::words::UNKNOWN;
use crate::{joined, prose};
use pipefill_analysis::findings::connections::{Captured, CapturedFlow};
use pipefill_core::limit::{CwndCause, LimitedBy};
use pipefill_core::record::CapturePoint;
use std::fmt::Write;

/// The column of what limits a flow.
pub(crate) const LIMIT: &str = "limited by";

/// At most `most` flows, a line each, and each in words.
pub fn render(found: &Captured, most: usize, style: Style) -> String {
    let mut text = String::new();
    let shown = &found.flows[..found.flows.len().min(most)];
    if shown.is_empty() {
        text.push_str("No TCP connection carried anything.\n");
    } else {
        let rows: Vec<Vec<Entry>> = shown.iter().map(row).collect();
        let drawn = grid(&headings(), &rows, style, 2);
        text.extend(drawn.lines().map(|line| line.trim_end().to_owned() + "\n"));
        for flow in shown {
            text.push('\n');
            text.push_str(&in_words(flow, found, style));
        }
    }
    for sentence in found.joined.iter().flat_map(joined::captures) {
        let _ = write!(text, "\n{}", prose::filled(&sentence, "", "", style.width));
    }
    let hidden = hidden(found, shown.len());
    let _ = writeln!(text, "\n{}", prose::filled(&notes(found, hidden.as_deref()), "", "", style.width));
    text
}

/// One flow: its ends, what was seen of it, the sentence, the advice.
fn in_words(flow: &CapturedFlow, found: &Captured, style: Style) -> String {
    let mut text = format!("{} -> {}\n", flow.src, flow.dst);
    let mut line = |words: &str, first: &str, later: &str| {
        let _ = writeln!(text, "{}", prose::filled(words, first, later, style.width));
    };
    line(flow.verdict.as_deref().unwrap_or(UNKNOWN), "  ", "  ");
    line(&seen(flow), "  ", "  ");
    if let Some(both) = &flow.joined {
        text.push_str(&joined::tables(both, style));
        for sentence in joined::sentences(both, found.joined.as_ref()) {
            let _ = writeln!(text, "{}", prose::filled(&sentence, "  ", "  ", style.width));
        }
    }
    let mut line = |words: &str, first: &str, later: &str| {
        let _ = writeln!(text, "{}", prose::filled(words, first, later, style.width));
    };
    for advice in flow.advice.iter().flatten().filter(|advice| advice.change != "nothing") {
        line(&format!("{}: {}", advice.change, advice.why), "  > ", "    ");
        for command in &advice.commands {
            line(command, "      ", "      ");
        }
    }
    text
}

/// What the packets say beside the verdict, and from where.
pub(crate) fn seen(flow: &CapturedFlow) -> String {
    let bytes = |count: u64| Kind::Bytes.alone(count as f64);
    let time = |us: u64| Kind::Time.alone(us as f64 * 1e3);
    let span = flow.span_us.map_or_else(|| "an unknown time (the clock was set back)".to_owned(), time);
    let mut parts = vec![format!("{} in {span}", bytes(flow.bytes))];
    parts.extend(flow.in_flight_bytes.map(|most| format!("at most {} in flight", bytes(most))));
    parts.push(match flow.rwnd_bytes {
        Some(window) => format!("advertised window at most {}", bytes(window)),
        None => {
            "the scale of the advertised window is not known: the handshake is not in the capture".to_owned()
        }
    });
    let kinds: Vec<String> = [
        ("fast", "in fast recovery"),
        ("rto", "after a timeout"),
        ("tlp", "as loss probes"),
        ("spurious", "for nothing"),
    ]
    .into_iter()
    .filter_map(|(kind, words)| Some((*flow.retransmits_by_kind.get(kind)?, words)))
    .filter(|&(count, _)| count > 0)
    .map(|(count, words)| format!("{count} {words}"))
    .collect();
    if !kinds.is_empty() {
        parts.push(format!("sent again: {}", kinds.join(", ")));
    }
    let place = match flow.vantage {
        CapturePoint::Sender => "Captured near the sender",
        CapturePoint::Receiver => "Captured near the receiver, who does not know what the sender had to send",
        CapturePoint::Between => "Captured between the ends",
        CapturePoint::Unknown => "Where it was captured can't be told",
    };
    format!("{place}: {}.", parts.join("; "))
}

/// What the packets of a flow can't tell, a sentence each.
pub(crate) fn unknown(flow: &CapturedFlow) -> Vec<&'static str> {
    let of_place = match flow.vantage {
        CapturePoint::Sender => None,
        CapturePoint::Receiver => {
            Some("What the sender had to send, and what was in flight, is not seen at the receiver's end.")
        }
        CapturePoint::Between => {
            Some("What was in flight is not seen between the ends: only what had passed there.")
        }
        CapturePoint::Unknown => {
            Some("It is not known at which end this was captured, and so not what was in flight there.")
        }
    };
    let window =
        "The advertised window is not known: its scale is in the handshake, which is not in the capture.";
    let mut all = vec!["cwnd and the send buffer are in no packet: they are estimated from when data left."];
    all.extend(of_place);
    all.extend(flow.rwnd_bytes.is_none().then_some(window));
    all.extend(flow.min_rtt_us.is_none().then_some("The round trip is not known: nothing was acknowledged."));
    all
}

/// How many flows are not among those `shown`; `None` where all are.
pub(crate) fn hidden(found: &Captured, shown: usize) -> Option<String> {
    let hidden = found.flows.len() - shown;
    (hidden > 0).then(|| format!("{hidden} smaller flows are not shown (--most, --json)"))
}

/// What was read, and what is missing.
pub(crate) fn notes(found: &Captured, hidden: Option<&str>) -> String {
    let mut parts = vec![format!("{} packets", found.packets)];
    for (kind, count) in &found.not_understood {
        parts.push(format!("{count} not understood: {kind}"));
    }
    match found.dropped {
        Some(0) | None => {}
        Some(count) => parts.push(format!("{count} dropped while capturing")),
    }
    if found.forgotten > 0 {
        parts.push(format!("{} connections forgotten before their end", found.forgotten));
    }
    if found.left_out > 0 {
        parts.push(format!("{} smaller connections left out, of more than are kept", found.left_out));
    }
    parts.extend(hidden.map(str::to_owned));
    let mut text = parts.join("; ") + ".";
    text.extend(
        found.backward_times.iter().flat_map(joined::backwards).map(|sentence| format!(" {sentence}")),
    );
    if let Some(broken) = &found.broken {
        let _ = write!(text, " Reading ended early: {broken}.");
    }
    text
}

pub(crate) fn headings() -> Vec<Heading> {
    [("from", false), ("to", false), ("rate", true), ("rtt", true), ("retr", true), (LIMIT, false)]
        .map(|(name, numeric)| Heading { name: name.to_owned(), unit: String::new(), numeric })
        .to_vec()
}

pub(crate) fn row(flow: &CapturedFlow) -> Vec<Entry> {
    let number = |kind: Kind, value: Option<u64>| {
        value.map_or_else(|| MISSING.to_owned(), |value| kind.alone(value as f64))
    };
    let tone = match flow.limited_by {
        Some(LimitedBy::Unknown) | None => Tone::Warn,
        Some(_) => Tone::Plain,
    };
    let plain = Entry::plain;
    vec![
        plain(flow.src.clone()),
        plain(flow.dst.clone()),
        plain(number(Kind::Rate, flow.goodput_bps)),
        plain(number(Kind::Time, flow.min_rtt_us.map(|us| us.saturating_mul(1_000)))),
        plain(flow.retransmits.to_string()),
        Entry { tone, ..plain(limit(flow)) },
    ]
}

fn limit(flow: &CapturedFlow) -> String {
    match (flow.limited_by, flow.cwnd_cause) {
        (None, _) => MISSING.to_owned(),
        (Some(limit), None) => limit.as_str().to_owned(),
        (Some(limit), Some(cause)) => format!("{} {}", limit.as_str(), CwndCause::as_str(cause)),
    }
}
