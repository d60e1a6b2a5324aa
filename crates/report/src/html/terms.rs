//! Every word that a page uses, explained where it stands and in a list at its end.
//!
//! A term is a link to its explanation, so that it works with a keyboard, a finger and without a script.

use maud::{Markup, html};

/// Anchor, name, explanation.
const TERMS: [(&str, &str, &str); 50] = [
    (
        "goodput",
        "goodput",
        "Payload that the receiving application read, bits per second, in the measured window: warm-up left out.",
    ),
    (
        "received",
        "received",
        "Payload of datagrams that the receiving application read, bits per second; duplicates not counted.",
    ),
    (
        "sum",
        "sum",
        "Goodput of all flows together, where they go both ways or TCP and UDP share the path. The table of the flows has each.",
    ),
    ("offered", "offered", "What the application is asked to send: bitrate × streams."),
    (
        "interval",
        "interval",
        "Where the median goodput lies: between two of the valid runs. The share beside it says how often such an interval holds the true median: 75 % with three runs, 93.8 % with five, at least 95 % from six on.",
    ),
    ("half-width", "±%", "The interval's further end from the median, in per cent of the median."),
    ("published", "published", "What somebody else measured in this cell, from the source named below."),
    ("ratio", "ratio", "Our goodput over the published one. Green: within 10 %."),
    ("lost", "lost", "Datagrams that the receiving application never saw, in per cent of those sent."),
    (
        "jitter",
        "jitter",
        "Interarrival jitter as RFC 3550 has it: a smoothed mean deviation at the end of the run.",
    ),
    ("retransmits", "retransmits", "TCP segments that were sent again, over the whole life of the streams."),
    (
        "rtt",
        "RTT",
        "Round-trip time. In tables the median of the kernel's smoothed estimate, including queueing.",
    ),
    ("min-rtt", "least RTT", "The smallest round trip that the sender saw: without queues."),
    ("idle-rtt", "idle RTT", "The round trip without load: what the path's delay alone makes of it."),
    ("rtt-p95", "p95", "The round trip under load that 95 % of the measured time did not exceed."),
    ("rtt-p99", "p99", "The same for 99 % of the measured time."),
    (
        "flow",
        "flow",
        "Its number in the scenario, its protocol and streams, and which way its data go: → forward, ← reverse.",
    ),
    (
        "cwnd",
        "cwnd",
        "Congestion window: how much the sender lets be in flight, as its congestion control decides.",
    ),
    ("rwnd", "rwnd", "Receive window: how much the receiver says that it can take."),
    (
        "in-flight",
        "in flight",
        "Sent and not yet acknowledged, less what is known to be lost or received (tcp_packets_in_flight).",
    ),
    (
        "sndbuf",
        "send buffer",
        "Memory for data that was written and not yet acknowledged. A packet costs more memory than it carries.",
    ),
    ("used", "used", "How much of the send buffer's memory is in use."),
    ("limit", "limited by", "What kept the flow from going faster, most of the time."),
    ("app", "app", "Limited by the application: it offered no more."),
    ("path", "path", "Limited by the path: the bottleneck's rate was used up. The pipe is full."),
    ("receiver", "receiver", "Limited by the receiving application, which read too slowly."),
    ("pacing", "pacing", "Limited by the rate at which the sender's socket paces."),
    ("cpu", "cpu", "Limited by a CPU of an end."),
    (
        "testbed",
        "testbed",
        "Limited by the instrument or its path, not by TCP: what was lost or slow belongs to the testbed.",
    ),
    ("of-time", "of time", "Share of the measured time in which that limit held."),
    (
        "valid",
        "valid",
        "Runs that may be believed. A run is invalid where the instrument was late or lost packets itself.",
    ),
    ("cell", "cell", "One point of the matrix: one value of each axis."),
    ("run", "run", "One repetition of a cell."),
    (
        "ca-state",
        "congestion state",
        "Open: nothing is wrong. Disorder: duplicate ACKs. CWR: the window is being reduced. Recovery: fast recovery after a loss. Loss: after a retransmission time-out.",
    ),
    ("backlog", "queue", "Bytes that wait in the bottleneck's queue, in the direction of the data."),
    (
        "sojourn",
        "sojourn time",
        "How long packets waited in the bottleneck's queue, in the direction of the data, where an AQM manages it: the mean of each interval.",
    ),
    (
        "probability",
        "probability",
        "With which probability PIE, RED or DualPI2 drops or marks a packet; of DualPI2 the base probability, whose square is that of classic packets.",
    ),
    (
        "aqm-marks",
        "marks, drops",
        "Packets that the AQM had marked CE, or dropped though there was room, by then.",
    ),
    (
        "path-rate",
        "path rate",
        "What headers leave of the bottleneck's rate: rate × MSS / (MSS + 66), with rate_layer = \"wire\" / (MSS + 90).",
    ),
    (
        "window-law",
        "window law",
        "At most one window a round trip: window / RTT. The receive window is the one that was advertised where it limited a cell of the line, else half of its buffer; of the send buffer it is what it holds of payload in large packets.",
    ),
    (
        "mathis",
        "Mathis",
        "Mathis et al. 1997: MSS / RTT × √(3/2) / √p. Knows no time-outs: too high above about 2 % of loss.",
    ),
    (
        "pftk",
        "PFTK",
        "Padhye et al. 1998: Mathis with time-outs and a window limit. A send rate: it counts retransmissions.",
    ),
    (
        "cubic",
        "CUBIC",
        "RFC 9438: the mean window of CUBIC under random loss over the RTT. Knows no time-outs.",
    ),
    (
        "residual",
        "measured / bound",
        "Measured goodput over the lowest of theory's bounds at that point. 1 is what theory allows.",
    ),
    ("base", "base RTT", "The constant of the fit: the round trip of an empty packet."),
    ("bdp", "BDP", "Bandwidth-delay product: what has to be in flight to fill the path."),
    (
        "ping-naive",
        "naive",
        "Window over the round trip of a ping of that size. Too low: the ping is serialised twice.",
    ),
    (
        "ping-doubled",
        "doubled",
        "Twice the naive reading. Right only where the round trip is all serialisation.",
    ),
    ("ping-law", "law", "Window over the fitted base RTT, at most the path's rate."),
    (
        "late",
        "lateness",
        "How long after its due time something happened: a packet's release, a timer, a sample.",
    ),
];

/// Columns whose name is not the anchor of their term.
const COLUMNS: [(&str, &str); 26] = [
    ("±%", "half-width"),
    ("interval", "interval"),
    ("publ.", "published"),
    ("publ. lost", "published"),
    ("publ. retr", "published"),
    ("retr", "retransmits"),
    ("idle RTT", "idle-rtt"),
    ("p95", "rtt-p95"),
    ("p99", "rtt-p99"),
    ("flow", "flow"),
    ("RTT", "rtt"),
    ("flight", "in-flight"),
    ("of time", "of-time"),
    ("base", "base"),
    ("BDP", "bdp"),
    ("naive", "ping-naive"),
    ("doubled", "ping-doubled"),
    ("law", "ping-law"),
    ("Open", "ca-state"),
    ("Disorder", "ca-state"),
    ("CWR", "ca-state"),
    ("Recovery", "ca-state"),
    ("Loss", "ca-state"),
    ("forward", "path-rate"),
    ("reverse", "path-rate"),
    ("on", "run"),
];

/// `text` as a term, explained under `anchor`.
pub(super) fn term(anchor: &str, text: &str) -> Markup {
    match TERMS.iter().find(|(known, ..)| *known == anchor) {
        Some((_, _, explanation)) => html! {
            a class="term" href={ "#term-" (anchor) } title=(explanation) { (text) }
        },
        None => html! { bdi { (text) } },
    }
}

/// The head of a column: a term where there is one of that name.
pub(super) fn of_column(name: &str) -> Markup {
    let anchor = COLUMNS.iter().find(|(column, _)| *column == name).map_or(name, |(_, anchor)| anchor);
    term(anchor, name)
}

/// The list.
pub(super) fn section() -> Markup {
    html! {
        section id="terms" aria-labelledby="terms-title" {
            h2 id="terms-title" { "Terms" }
            dl class="terms" {
                @for (anchor, name, explanation) in TERMS {
                    div id={ "term-" (anchor) } { dt { (name) } dd { (explanation) } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_anchor_stands_once_and_every_column_leads_to_one() {
        let anchors: BTreeSet<&str> = TERMS.iter().map(|(anchor, ..)| *anchor).collect();
        assert_eq!(anchors.len(), TERMS.len());
        for (column, anchor) in COLUMNS {
            assert!(anchors.contains(anchor), "{column}");
        }
    }
}
