//! The output of another program explained, connection by connection, and what it does not show.

use super::context::ExplainedRemark;
use super::{advice, bold, evidence, held_time, section, timeline};
use crate::prose::filled;
use crate::quantity::{self, counted};
use crate::table::Style;
use crate::verdicts::wanted;
use crate::words::UNKNOWN;
use pipefill_analysis::findings::connections::{Bearing, ConnectionFinding, PastedConnection, PastedOutput};
use pipefill_analysis::findings::experiment::SCHEMA;
use pipefill_analysis::judge::{Confidence, Figures, Span, Witness};
use pipefill_core::cell::{Direction, Protocol};
use pipefill_core::record::{Gap, HostContext, ReadFrom};
use schemars::JsonSchema;
use serde::Serialize;

/// Connections that are explained; the JSON has all.
const MOST: usize = 20;

/// What limits the connections of another program's output, the fastest first.
#[derive(Debug, JsonSchema, Serialize)]
pub struct ExplainedOutput<'a> {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The program, and what its output does not show.
    pub read_from: &'a ReadFrom,
    /// What to run for what it does not show, one sentence each.
    pub missing: Vec<&'static str>,
    /// Connections that were too many to judge.
    pub left_out: usize,
    /// What `--context` gave of the host; empty without it.
    pub context: &'a HostContext,
    /// One entry for each connection, or flow of datagrams.
    pub connections: Vec<ExplainedConnection<'a>>,
}

/// A connection, and what its verdict rests on.
#[derive(Debug, JsonSchema, Serialize)]
pub struct ExplainedConnection<'a> {
    /// As `pipefill watch --json` has it.
    #[serde(flatten)]
    pub connection: &'a ConnectionFinding,
    /// What limited it when; null where nothing was judged.
    pub timeline: Option<&'a [Span]>,
    /// What the arithmetic started from.
    pub figures: Option<&'a Figures>,
    /// Who else has an opinion.
    pub witnesses: Option<&'a [Witness]>,
    /// How sure the verdict is; null where the limit is unknown.
    pub confidence: Option<Confidence>,
    /// What the host counts beside it, contradictions first.
    pub context: Vec<ExplainedRemark>,
}

impl<'a> ExplainedOutput<'a> {
    /// Of what was found.
    pub fn of(found: &'a PastedOutput) -> Self {
        Self {
            schema: SCHEMA,
            read_from: &found.read_from,
            missing: found.read_from.gaps.iter().map(|&gap| remedy(gap)).collect(),
            left_out: found.left_out,
            context: &found.context,
            connections: found.connections.iter().map(ExplainedConnection::of).collect(),
        }
    }
}

impl<'a> ExplainedConnection<'a> {
    fn of(connection: &'a PastedConnection) -> Self {
        let diagnosis = connection.diagnosis.as_ref();
        Self {
            connection: &connection.finding,
            timeline: diagnosis.map(|diagnosis| diagnosis.timeline.as_slice()),
            figures: diagnosis.map(|diagnosis| &diagnosis.figures),
            witnesses: diagnosis.map(|diagnosis| diagnosis.witnesses.as_slice()),
            confidence: diagnosis.and_then(evidence::confidence_of),
            context: connection.context.iter().map(ExplainedRemark::of).collect(),
        }
    }
}

/// What limited each connection of the output called `name`, when, and how that is known. Ends with a newline.
pub fn output(found: &PastedOutput, name: &str, style: Style) -> String {
    let width = style.width.min(super::PROSE);
    let version =
        found.read_from.version.as_ref().map_or_else(String::new, |version| format!(" ({version})"));
    let mut parts = vec![bold(&format!("{name}: {}{version}", found.read_from.program), style)];
    let busy =
        || found.connections.iter().filter(|connection| !crate::connections::is_idle(&connection.finding));
    parts.extend(busy().take(MOST).map(|connection| explained(connection, style)));
    let idle = found.connections.len() - busy().count();
    let hidden = found.left_out + busy().count().saturating_sub(MOST);
    let rest = [(idle, "idle connection(s)"), (hidden, "connection(s) not shown")];
    let rest = rest.into_iter().filter(|&(count, _)| count > 0);
    let rest: Vec<String> = rest.map(|(count, what)| counted(count as u64, what)).collect();
    parts.extend((!rest.is_empty()).then(|| format!("{}.", rest.join("; "))));
    parts.extend(also_counted(found, width));
    let mut missing = Vec::new();
    if found.read_from.flight_estimated {
        missing.push(filled(ESTIMATED, "", "", width.saturating_sub(4)));
    }
    missing
        .extend(found.read_from.gaps.iter().map(|&gap| filled(remedy(gap), "", "", width.saturating_sub(4))));
    if !missing.is_empty() {
        // The empty line before a section is between two parts here.
        parts.push(section("What this output does not show", &missing)[1..].join("\n"));
    }
    parts.join("\n\n") + "\n"
}

/// What the host counts that is neither for nor against a verdict, once for all connections.
fn also_counted(found: &PastedOutput, width: u16) -> Option<String> {
    let mut lines: Vec<String> = Vec::new();
    let remarks = found.connections.iter().flat_map(|connection| &connection.context);
    for remark in remarks.filter(|remark| remark.bearing == Bearing::Adds) {
        let line = filled(&ExplainedRemark::of(remark).line(), "", "", width.saturating_sub(4));
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    let is_given = !found.context.qdiscs.is_empty() || !found.context.counters.is_empty();
    if is_given && found.connections.iter().all(|connection| connection.context.is_empty()) {
        lines.push("Nothing that bears on a verdict: no drops, no marks, nothing that waits, and no counter above 0.".to_owned());
    }
    (!lines.is_empty()).then(|| section("What the host counts beside", &lines)[1..].join("\n"))
}

/// How the flight is known where the program does not print it.
const ESTIMATED: &str = "Bytes in flight: estimated for each interval as its rate times its round trip. ss -tinm on the sender shows them.";

/// What an output does not show, and the command that shows it.
const fn remedy(gap: Gap) -> &'static str {
    match gap {
        Gap::Rest => "The rest: the output breaks off.",
        Gap::Sender => {
            "The sender: this is the receiver's side. Run iperf3 -J on the sender, add --get-server-output, or run ss -tinm there meanwhile."
        }
        Gap::RoundTrip => "The round trip: iperf3 -J on the sender, or ss -tinm there meanwhile, shows it.",
        Gap::ReceiveWindow => {
            "The receive window: iperf3 -J of 3.11 or newer, and ss -tin of iproute2 5.4 or newer, show it as snd_wnd."
        }
        Gap::CongestionWindow => {
            "The congestion window: iperf3 -J on the sender, or ss -tinm there meanwhile, shows it."
        }
        Gap::SendBuffer => {
            "The send buffer: ss -tinm on the sender meanwhile shows it as skmem (tb is its size, w what is in it)."
        }
        Gap::Flight => "Bytes in flight: ss -tinm on the sender shows them.",
        Gap::LeastRoundTrip => {
            "The least round trip: ss -tin on the sender shows it as minrtt. Without it, a queue that is always full looks like a longer path."
        }
        Gap::OfferedRate => {
            "The rate that the program was to send: say whether the test had -b, or repeat it with iperf3 -J of 3.7 or newer."
        }
        Gap::Readings => {
            "More than an instant: run ss -tinm several times, e.g. for n in $(seq 20); do date +%s.%N; ss -tinm; sleep 0.2; done"
        }
        Gap::Times => {
            "The times of the readings: they are taken from the sockets' own counters. Print date +%s.%N before each."
        }
        Gap::Bytes => "What was acknowledged: ss -tin of iproute2 4.1 or newer shows it as bytes_acked.",
        Gap::Unsent => {
            "What waits to be sent: a qlog has no event for it. Where both windows have room for a round trip, the program offers no more."
        }
        Gap::Drops => {
            "Where datagrams were lost: tc -s qdisc on the path and nstat -az UdpRcvbufErrors on the receiver show drops."
        }
    }
}

fn explained(connection: &PastedConnection, style: Style) -> String {
    let width = style.width.min(super::PROSE);
    let finding = &connection.finding;
    let rate = finding.rate_bps.map_or_else(|| "rate unknown".to_owned(), quantity::rate);
    let arrow = if finding.direction == Some(Direction::Reverse) { "<-" } else { "->" };
    let protocol = if finding.protocol == Protocol::Udp { "UDP " } else { "" };
    let ends = match (finding.local.is_empty(), finding.remote.is_empty()) {
        (true, true) => "connection".to_owned(),
        (true, false) => format!("{arrow} {}", finding.remote),
        (false, true) => finding.local.clone(),
        (false, false) => format!("{} {arrow} {}", finding.local, finding.remote),
    };
    let mut lines = vec![bold(&format!("{protocol}{ends}: {rate}"), style)];
    let mut say = |text: &str| lines.push(filled(text, "  ", "  ", width));
    say(finding.verdict.sentence.as_deref().unwrap_or(UNKNOWN));
    let diagnosis = connection.diagnosis.as_ref();
    if let Some(text) = diagnosis.and_then(|diagnosis| evidence::confidence(diagnosis, true)) {
        say(&text);
    }
    if let Some(text) = evidence::rule(finding.verdict.rule, finding.verdict.margin) {
        say(&text);
    }
    lines.extend(held_time(&finding.verdict, style));
    if let Some(diagnosis) = diagnosis {
        // One connection is one stream, whatever its number among those that were judged together.
        let alone: Vec<Span> = diagnosis.timeline.iter().map(|span| Span { stream: 0, ..*span }).collect();
        lines.extend(section("What limited it when", &timeline::drawing(&alone, &diagnosis.events, style)));
        lines.extend(section("Evidence", &evidence::lines(diagnosis)));
        lines.extend(section("Kernel counters", &evidence::witnesses(diagnosis)));
    }
    let remarks = connection.context.iter().filter(|remark| remark.bearing != Bearing::Adds);
    let remarks: Vec<String> = remarks
        .map(|remark| filled(&ExplainedRemark::of(remark).line(), "", "", width.saturating_sub(4)))
        .collect();
    lines.extend(section("What the host counts", &remarks));
    lines.extend(section("Advice", &advice(wanted(&finding.verdict), width)));
    lines.join("\n")
}
