//! The flows of a capture: a table for a terminal with each verdict in words.

use crate::quantity::{self, counted};
use crate::sheet::SheetEntry;
use crate::table::{Style, lines};
use crate::verdicts::{advice, happened};
use crate::words::UNKNOWN;
use crate::{captured_facts, captured_udp, joined, prose, verdicts};
use pipefill_analysis::findings::connections::{Captured, CapturedFlow};
use pipefill_analysis::ground::thresholds::STANDARD;
use pipefill_analysis::judge::TOO_SHORT;
use pipefill_core::record::CapturePoint;
use std::fmt::Write;

/// The column of what limits a flow.
pub(crate) const LIMIT: &str = "limited by";

/// Which flows are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// So many, the largest first, a line each; in words those with a verdict.
    Largest(usize),
    /// All of them, those that are too short to judge in words too.
    All,
}

/// The flows, a line each, and their verdicts in words.
pub fn render(found: &Captured, extent: Extent, style: Style) -> String {
    let mut text = String::new();
    let most = match extent {
        Extent::Largest(most) => most,
        Extent::All => usize::MAX,
    };
    let shown = &found.flows[..found.flows.len().min(most)];
    let is_told = |flow: &&CapturedFlow| extent == Extent::All || has_words(flow, found);
    if shown.is_empty() {
        text += &(prose::filled(&captured_udp::in_place_of_tcp(found), "", "", style.width) + "\n");
    } else {
        let rows: Vec<Vec<SheetEntry>> = shown.iter().map(row).collect();
        text += &lines(&HEADINGS, &rows, style, "");
        for flow in shown.iter().filter(is_told) {
            text.push('\n');
            text.push_str(&in_words(flow, found, style));
        }
        if let Some(sentence) = too_short(found).filter(|_| extent != Extent::All) {
            text += &format!(
                "\n{}\n",
                prose::filled(&format!("{sentence} --all shows each."), "", "", style.width)
            );
        }
    }
    let datagrams = udp(found, most, style);
    if !datagrams.is_empty() {
        text += &format!("\n{datagrams}");
    }
    let of_both = found.joined.iter().flat_map(joined::captures);
    for sentence in captured_udp::groups(found).into_iter().chain(of_both) {
        let _ = write!(text, "\n{}", prose::filled(&sentence, "", "", style.width));
    }
    let hidden = hidden(found.flows.len() - shown.len(), "--most, --json");
    let _ = writeln!(text, "\n{}", prose::filled(&notes(found, hidden.as_deref()), "", "", style.width));
    text
}

/// The UDP flows: a table, and what its datagrams show. Empty where there are none.
pub(crate) fn udp(found: &Captured, most: usize, style: Style) -> String {
    let mut text = captured_udp::table(found, most, style);
    for sentence in captured_udp::sentences(found, most) {
        text += &(prose::filled(&sentence, "  ", "  ", style.width) + "\n");
    }
    text
}

/// Whether a flow is told of in words: there is a verdict, or it is the only flow, or a second capture has more of it.
pub(crate) fn has_words(flow: &CapturedFlow, found: &Captured) -> bool {
    flow.verdict.rule != Some(TOO_SHORT) || found.flows.len() == 1 || flow.joined.is_some()
}

/// One sentence on all flows that are not told of in words; `None` where there are none.
pub(crate) fn too_short(found: &Captured) -> Option<String> {
    let short: Vec<&CapturedFlow> = found.flows.iter().filter(|flow| !has_words(flow, found)).collect();
    let counted_once = short.iter().filter(|flow| !found.is_behind_nat(flow));
    let bytes = quantity::bytes(counted_once.map(|flow| flow.bytes).sum());
    let (are, carried) = if short.len() == 1 { ("is", bytes) } else { ("are", format!("{bytes} in all")) };
    let thresholds = &STANDARD;
    (!short.is_empty()).then(|| {
        format!(
            "{} {are} too short to judge (fewer than {} segments, or less than {} round trips): {carried}.",
            counted(short.len() as u64, "flow(s)"),
            thresholds.judged_segments.whole(),
            thresholds.judged_round_trips.whole(),
        )
    })
}

/// One flow: its ends, what was seen of it, the sentence, the advice.
fn in_words(flow: &CapturedFlow, found: &Captured, style: Style) -> String {
    let line = |sentence: &str| prose::filled(sentence, "  ", "  ", style.width) + "\n";
    let mut text = format!("{} -> {}\n", flow.src, flow.dst);
    text += &line(flow.verdict.sentence.as_deref().unwrap_or(UNKNOWN));
    text += &line(&packets_sentence(flow));
    text.extend(captured_facts::sentences(flow).iter().map(|sentence| line(sentence)));
    if let Some(both) = &flow.joined {
        text += &joined::tables(both, style);
        text.extend(joined::sentences(both, found.joined.as_ref()).iter().map(|sentence| line(sentence)));
    }
    text + &advice(&flow.verdict, style.width)
}

/// What the packets say beside the verdict, and from where.
pub(crate) fn packets_sentence(flow: &CapturedFlow) -> String {
    let bytes = |count: u64| quantity::bytes(count);
    let time = |us: u64| quantity::duration(us);
    let span =
        flow.data_us.map_or_else(|| "an unknown time (the clock was set back or is wrong)".to_owned(), time);
    let mut parts = vec![format!("{} in {span}", bytes(flow.bytes))];
    parts.extend(flow.in_flight_bytes.map(|most| format!("at most {} in flight", bytes(most))));
    parts.push(match flow.rwnd_bytes {
        Some(window) => format!("advertised window at most {}", bytes(window)),
        None => {
            "the scale of the advertised window is not known: the handshake is not in the capture".to_owned()
        }
    });
    let kind = |name: &str| flow.retransmits_by_kind.get(name).copied().unwrap_or(0);
    let kinds = happened([
        (kind("fast"), "in fast recovery"),
        (kind("rto"), "after a timeout"),
        (kind("tlp"), "as loss probe(s)"),
        (kind("syn"), "SYN(s)"),
        (kind("fin"), "FIN(s)"),
        (kind("spurious"), "for nothing"),
    ]);
    if !kinds.is_empty() {
        parts.push(format!("sent again: {}", kinds.join(", ")));
    }
    let place = match flow.vantage {
        CapturePoint::Sender => "Captured near the sender",
        CapturePoint::Receiver => "Captured near the receiver, who does not know what the sender had to send",
        CapturePoint::Between => "Captured between the ends",
        CapturePoint::Unknown => "The capture point is unknown",
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
    all.extend(
        flow.min_rtt_us.is_none().then_some(
            "The round trip is not known: nothing was acknowledged, or sooner than the clock shows.",
        ),
    );
    all
}

/// How many flows are not shown, and the `options` that do; `None` where all are.
pub(crate) fn hidden(hidden: usize, options: &str) -> Option<String> {
    (hidden > 0).then(|| format!("{} not shown ({options})", counted(hidden as u64, "smaller flow(s)")))
}

/// What was read, and what is missing.
pub(crate) fn notes(found: &Captured, hidden: Option<&str>) -> String {
    let mut parts = vec![quantity::counted(found.packets, "packet(s)")];
    parts.extend(captured_udp::not_read(found));
    parts.extend(happened([
        (found.dropped.unwrap_or(0), "dropped while capturing"),
        (found.forgotten, "connection(s) forgotten before their end"),
        (found.left_out, "smaller connection(s) left out, of more than are kept"),
        (found.udp_left_out, "smaller UDP flow(s) left out, of more than are kept"),
    ]));
    parts.extend(hidden.map(str::to_owned));
    let mut text = parts.join("; ") + ".";
    text.extend(
        found.backward_times.iter().flat_map(joined::backwards).map(|sentence| format!(" {sentence}")),
    );
    text.extend(found.clock_resolution_us.filter(|_| !found.flows.is_empty()).map(|us| {
        format!(
            " The capture's clock has a resolution of {}: shorter round trips are not known, nor rates over less than five times it.",
            quantity::whole_ms(us)
        )
    }));
    text.extend(captured_udp::remedies(found).iter().map(|sentence| format!(" {sentence}")));
    if let Some(broken) = &found.broken {
        let _ = write!(text, " Reading ended early: {broken}.");
    }
    text
}

/// The columns of a row: the name of each, and whether it has numbers.
pub(crate) const HEADINGS: [(&str, bool); 6] =
    [("from", false), ("to", false), ("rate", true), ("rtt", true), ("retr", true), (LIMIT, false)];

pub(crate) fn row(flow: &CapturedFlow) -> Vec<SheetEntry> {
    vec![
        SheetEntry::plain(flow.src.clone()),
        SheetEntry::plain(flow.dst.clone()),
        SheetEntry::or_missing(flow.goodput_bps.map(quantity::rate)),
        SheetEntry::or_missing(flow.min_rtt_us.map(quantity::duration)),
        SheetEntry::plain(flow.retransmits.to_string()),
        verdicts::entry(&flow.verdict),
    ]
}
