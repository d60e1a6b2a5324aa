//! A capture explained, flow by flow, in the words for a run.

use super::{advice, bold, evidence, held_time, section, timeline};
use crate::captured::{has_words, hidden, notes, packets_sentence, too_short, udp};
use crate::captured_facts::remarks;
use crate::captured_udp::{groups, in_place_of_tcp};
use crate::prose::filled;
use crate::quantity;
use crate::table::Style;
use crate::verdicts::wanted;
use crate::words::UNKNOWN;
use pipefill_analysis::findings::connections::{BackwardTimes, Captured, CapturedFlow};
use pipefill_analysis::findings::experiment::SCHEMA;
use pipefill_analysis::judge::{Confidence, Figures, Span, Witness};
use schemars::JsonSchema;
use serde::Serialize;

/// Flows that are explained; the JSON has all.
const MOST: usize = 20;

/// The flows of a capture, the largest first.
#[derive(Debug, JsonSchema, Serialize)]
pub struct ExplainedCapture<'a> {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Packets that were read.
    pub packets: u64,
    /// How often and how far the capture's times ran backwards; null where they did not.
    pub backward_times: Option<BackwardTimes>,
    /// The resolution of the capture's clock, microseconds, where that is 1 ms or coarser; null otherwise.
    pub clock_resolution_us: Option<u64>,
    /// Where and why reading ended early; null where it did not.
    pub broken: Option<&'a str>,
    /// One entry for each connection and direction that carried data.
    pub flows: Vec<ExplainedFlow<'a>>,
}

/// A flow, and what its verdict rests on.
#[derive(Debug, JsonSchema, Serialize)]
pub struct ExplainedFlow<'a> {
    /// As `pipefill pcap --json` has it.
    #[serde(flatten)]
    pub flow: &'a CapturedFlow,
    /// What limited it when; null where it was too short.
    pub timeline: Option<Vec<Span>>,
    /// What the arithmetic started from.
    pub figures: Option<Figures>,
    /// Who else has an opinion.
    pub witnesses: Option<Vec<Witness>>,
    /// How sure the verdict is; null where the limit is unknown.
    pub confidence: Option<Confidence>,
}

impl<'a> ExplainedCapture<'a> {
    /// Of what was found.
    pub fn of(found: &'a Captured) -> Self {
        let broken = found.broken.as_deref();
        let flows = found.flows.iter().map(ExplainedFlow::of).collect();
        let backward_times = found.backward_times;
        let clock_resolution_us = found.clock_resolution_us;
        Self { schema: SCHEMA, packets: found.packets, backward_times, clock_resolution_us, broken, flows }
    }
}

impl<'a> ExplainedFlow<'a> {
    fn of(flow: &'a CapturedFlow) -> Self {
        let diagnosis = flow.diagnosis();
        let confidence = diagnosis.as_ref().and_then(evidence::confidence_of);
        Self {
            flow,
            figures: diagnosis.as_ref().map(|diagnosis| diagnosis.figures),
            witnesses: diagnosis.as_ref().map(|diagnosis| diagnosis.witnesses.clone()),
            timeline: diagnosis.map(|diagnosis| diagnosis.timeline),
            confidence,
        }
    }
}

/// What limited each flow of the capture called `name`, when, and how that is known. Ends with a newline.
pub fn capture(found: &Captured, name: &str, style: Style) -> String {
    let told: Vec<&CapturedFlow> = found.flows.iter().filter(|flow| has_words(flow, found)).collect();
    let shown = &told[..told.len().min(MOST)];
    let mut parts = vec![bold(name, style)];
    parts.extend(shown.iter().map(|flow| explained(flow, style)));
    parts.extend(
        too_short(found).map(|sentence| {
            filled(&format!("{sentence} pipefill pcap --all shows each."), "", "", style.width)
        }),
    );
    if found.flows.is_empty() {
        parts.push(filled(&in_place_of_tcp(found), "", "", style.width));
    }
    let datagrams = udp(found, MOST, style);
    parts.extend((!datagrams.is_empty()).then(|| datagrams.trim_end().to_owned()));
    parts.extend(groups(found).iter().map(|sentence| filled(sentence, "", "", style.width)));
    parts.push(filled(
        &notes(found, hidden(told.len() - shown.len(), "--json").as_deref()),
        "",
        "",
        style.width,
    ));
    parts.join("\n\n") + "\n"
}

fn explained(flow: &CapturedFlow, style: Style) -> String {
    let width = style.width.min(super::PROSE);
    let rate = match flow.goodput_bps {
        Some(bps) => quantity::rate(bps),
        None if flow.segments == 1 => "a single packet".to_owned(),
        None => "rate unknown".to_owned(),
    };
    let mut lines = vec![bold(&format!("{} -> {}: {rate}", flow.src, flow.dst), style)];
    let mut say = |text: &str| lines.push(filled(text, "  ", "  ", width));
    say(flow.verdict.sentence.as_deref().unwrap_or(UNKNOWN));
    let diagnosis = flow.diagnosis();
    if let Some(text) = diagnosis.as_ref().and_then(|diagnosis| evidence::confidence(diagnosis, true)) {
        say(&text);
    }
    if let Some(text) = evidence::rule(flow.verdict.rule, flow.verdict.margin) {
        say(&text);
    }
    say(&packets_sentence(flow));
    remarks(flow).iter().for_each(|sentence| say(sentence));
    lines.extend(held_time(&flow.verdict, style));
    if let Some(diagnosis) = &diagnosis {
        // One flow is one stream, whatever its number among those that were judged together.
        let alone: Vec<Span> = diagnosis.timeline.iter().map(|span| Span { stream: 0, ..*span }).collect();
        lines.extend(section("What limited it when", &timeline::drawing(&alone, &flow.events, style)));
        lines.extend(section("Evidence from packets", &evidence::lines(diagnosis)));
        lines.extend(section("Kernel counters", &evidence::witnesses(diagnosis)));
    }
    lines.extend(section("Advice", &advice(wanted(&flow.verdict), width)));
    lines.join("\n")
}
