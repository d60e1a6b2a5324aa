//! `pipefill explain`: for each cell the verdict, its shares, when what limited, the evidence, who disagrees, what to change.
//!
//! Never: a figure that is not in the JSON, or a colour that carries what the text does not say.

mod capture;
mod context;
mod evidence;
mod pasted;
mod timeline;

pub use capture::{ExplainedCapture, capture};
pub use context::ExplainedRemark;
pub use pasted::{ExplainedOutput, output};

use crate::prose::filled;
use crate::quantity;
use crate::sheet::{environment_line, ping_sentence};
use crate::table::Style;
use crate::verdicts;
use indexmap::IndexMap;
use pipefill_analysis::findings::experiment::{CellResult, Experiment, FlowResult};
use pipefill_analysis::findings::finding::Advice;
use pipefill_analysis::findings::times::FlowTimes;
use pipefill_analysis::findings::verdict::Verdict;
use pipefill_analysis::judge::{Confidence, Diagnosis, Figures, Span, Witness};
use pipefill_core::limit::LimitedBy;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Prose is hard to read in longer lines.
const PROSE: u16 = 80;
/// Columns of a bar of one hundred per cent.
const BAR: f64 = 40.0;
/// Shares that differ by less are printed as one figure.
const SAME_SHARE: f64 = 0.005;

/// What there is to say about one cell. The timeline, the figures and the witnesses are those of the run that the verdict is
/// about, the shares those of all runs.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Explanation<'a> {
    /// Position in the plan.
    pub index: usize,
    /// The cell's id.
    pub id: &'a str,
    /// Scenario path → value as text.
    pub axes: &'a IndexMap<String, String>,
    /// `lab` or `sim`; null where the cell was not run.
    pub backend: Option<&'a str>,
    /// Runs recorded.
    pub runs: usize,
    /// Of these, valid.
    pub valid: usize,
    /// Goodput, median of the runs.
    pub goodput_bps: Option<u64>,
    /// What theory gives for it.
    pub predicted_bps: Option<u64>,
    /// What limited it, and what to change.
    #[serde(flatten)]
    pub verdict: &'a Verdict,
    /// Its times, and what happened to it.
    #[serde(flatten)]
    pub times: &'a FlowTimes,
    /// Which repetition it is about.
    pub verdict_repeat: Option<u32>,
    /// What limited each stream when.
    pub timeline: Option<&'a [Span]>,
    /// What the arithmetic started from.
    pub figures: Option<&'a Figures>,
    /// Who else has an opinion.
    pub witnesses: Option<&'a [Witness]>,
    /// How sure the verdict is; null where the limit is unknown.
    pub confidence: Option<Confidence>,
    /// Each flow with its own verdict, in the scenario's order.
    pub flows: &'a [FlowResult],
    /// The command that repeats the cell.
    pub repeat_command: &'a str,
}

impl<'a> Explanation<'a> {
    /// Of one cell.
    pub fn of(cell: &'a CellResult) -> Self {
        let diagnosis = diagnosis(cell);
        Self {
            index: cell.index,
            id: &cell.id,
            axes: &cell.axes,
            backend: cell.backend.as_deref(),
            runs: cell.runs,
            valid: cell.valid,
            goodput_bps: cell.goodput_bps,
            predicted_bps: cell.predicted_bps,
            verdict: &cell.verdict,
            times: &cell.times,
            verdict_repeat: cell.verdict_repeat,
            timeline: diagnosis.map(|diagnosis| diagnosis.timeline.as_slice()),
            figures: diagnosis.map(|diagnosis| &diagnosis.figures),
            witnesses: diagnosis.map(|diagnosis| diagnosis.witnesses.as_slice()),
            confidence: diagnosis.and_then(evidence::confidence_of),
            flows: &cell.flows,
            repeat_command: &cell.repeat_command,
        }
    }
}

/// `experiment` explained, cell by cell; `fix` is the command that would try the advice. Ends with a newline.
pub fn render(experiment: &Experiment, fix: &str, style: Style) -> String {
    let mut parts = vec![heading(experiment, style)];
    parts.extend(experiment.cells.iter().map(|cell| explained(cell, style)));
    if experiment.cells.iter().any(|cell| advice_of(cell).any(|advice| !advice.set.is_empty())) {
        parts.push(format!("Try the advice, before and after in turn: {fix}"));
    }
    parts.extend(environment_line(experiment));
    parts.join("\n\n") + "\n"
}

fn heading(experiment: &Experiment, style: Style) -> String {
    let title = experiment.plan.title.as_ref().map_or_else(String::new, |title| format!(": {title}"));
    bold(&format!("{}{title}", experiment.experiment), style)
}

fn explained(cell: &CellResult, style: Style) -> String {
    let width = style.width.min(PROSE);
    let mut lines = vec![bold(&title(cell), style)];
    let Some(verdict) = &cell.verdict.sentence else {
        lines.push(filled(&why_nothing(cell), "  ", "  ", width));
        return lines.join("\n");
    };
    lines.push(filled(verdict, "  ", "  ", width));
    lines.extend(confidence(cell).map(|text| filled(&text, "  ", "  ", width)));
    lines.extend(rule(cell).map(|text| filled(&text, "  ", "  ", width)));
    lines.extend(held_time(&cell.verdict, style));
    lines.extend(section("Each flow", &flows(cell, width)));
    lines.extend(section("Capacity over time", &capacities(cell, width)));
    if let Some(diagnosis) = diagnosis(cell) {
        let of_run = format!("run {} of {}", cell.verdict_repeat.unwrap_or(1), cell.runs);
        lines.extend(section(
            &format!("What limited it when ({of_run})"),
            &timeline::drawing(&timeline(cell), &diagnosis.events, style),
        ));
        lines.extend(section(&format!("Evidence ({of_run})"), &evidence::lines(diagnosis)));
        lines.extend(section("Kernel counters", &evidence::witnesses(diagnosis)));
    }
    lines.extend(section("Advice", &advice(advice_of(cell), width)));
    lines.join("\n")
}

/// The verdict of each flow, where there are several.
fn flows(cell: &CellResult, width: u16) -> Vec<String> {
    if cell.flows.len() < 2 {
        return Vec::new();
    }
    let line = |flow: &FlowResult| {
        let goodput = flow.figures.goodput_bps.map_or_else(|| "no goodput".to_owned(), quantity::rate);
        let verdict = flow.verdict.sentence.as_deref().unwrap_or("Nothing was sampled.");
        let text = format!("{} ({}): {goodput}. {verdict}", flow.figures.flow + 1, flow.describe());
        filled(&text, "", "  ", width.saturating_sub(4))
    };
    cell.flows.iter().map(line).collect()
}

/// What a path whose rate changes offered each flow, and how the flows used it.
fn capacities(cell: &CellResult, width: u16) -> Vec<String> {
    let line = |flow: &FlowResult| {
        let capacity = flow.figures.capacity.as_ref()?;
        let used = capacity
            .used_share
            .map_or_else(String::new, |share| format!("; {} of it was used", quantity::percent(share)));
        let rises = match (capacity.rises, capacity.follow_us_p50.map(quantity::duration)) {
            (0, _) => String::new(),
            (1, Some(after)) => {
                format!(" The rate rose once; {after} later the flow reached 90 % of the new rate.")
            }
            (1, None) => " The rate rose once; the flow did not reach 90 % of the new rate.".to_owned(),
            (rises, None) => {
                format!(
                    " The rate rose {rises} times; the flow reached 90 % of the new rate after none of these."
                )
            }
            (rises, Some(after)) => format!(
                " The rate rose {rises} times; the flow reached 90 % of the new rate after {} of these, in {after} in the median.",
                capacity.followed
            ),
        };
        let offered = quantity::rate(capacity.offered_bps);
        let text =
            format!("{}: the path offered {offered} of payload on average{used}.{rises}", flow.describe());
        Some(filled(&text, "", "  ", width.saturating_sub(4)))
    };
    cell.flows.iter().filter_map(line).collect()
}

/// What limited each stream of every flow when, in the run that the verdict is about.
fn timeline(cell: &CellResult) -> Vec<Span> {
    let run = cell.run_values.iter().find(|run| Some(run.repeat) == cell.verdict_repeat);
    run.into_iter().flat_map(pipefill_analysis::findings::metrics::RunMetrics::timeline).copied().collect()
}

fn title(cell: &CellResult) -> String {
    let on = cell.backend.as_ref().map_or_else(String::new, |backend| format!(" on {backend}"));
    let goodput = cell.goodput_bps.map_or_else(|| "no goodput".to_owned(), quantity::rate);
    let runs = quantity::counted(cell.runs as u64, "run(s)");
    format!("{}{on}: {goodput} ({runs})", cell.coordinates())
}

fn why_nothing(cell: &CellResult) -> String {
    let reasons: Vec<String> =
        cell.invalid.iter().map(|invalid| format!("{}: {}", invalid.reason, invalid.detail)).collect();
    match (cell.runs, reasons.is_empty(), &cell.ping) {
        (0, ..) => format!("It was not run. {}", cell.repeat_command),
        (_, false, _) => format!("No run is valid: {}.", reasons.join("; ")),
        (.., Some(ping)) => ping_sentence(ping),
        _ => "Nothing was sampled, so nothing can be said of the cause.".to_owned(),
    }
}

/// Largest first.
fn shares(shares: Option<&BTreeMap<LimitedBy, f64>>, style: Style) -> Vec<String> {
    let Some(shares) = shares else { return Vec::new() };
    let mut sorted: Vec<(LimitedBy, f64)> = shares.iter().map(|(&cause, &share)| (cause, share)).collect();
    sorted.sort_by(|a, b| b.1.total_cmp(&a.1));
    let line = |(cause, share): (LimitedBy, f64)| {
        let bar = "█".repeat((share.min(1.0) * BAR).round() as usize);
        let bar = timeline::painted(&bar, cause, style);
        format!("{:<9} {:>4.0} %  {bar}", cause.as_str(), share * 100.0).trim_end().to_owned()
    };
    sorted.into_iter().map(line).collect()
}

/// Who held the time: the ledger, where more than one holder, or a cause, has it, and the share of each holder where the ledger does not
/// have the same figure: of several causes of one holder, and of the measured time, which leaves out a scenario's warm-up.
fn held_time(verdict: &Verdict, style: Style) -> Vec<String> {
    let time = verdict.time.as_deref().unwrap_or_default();
    let fractions = verdict.limited_fraction.as_ref();
    let shares = shares(fractions, style);
    let is_divided = time.len() > 1 || time.iter().any(|held| held.cause.is_some());
    if !is_divided {
        return section("Share of the time", &shares);
    }
    let share_of = |limit: LimitedBy| -> f64 {
        time.iter().filter(|held| held.limited_by == limit).map(|held| held.share).sum()
    };
    let is_whole = fractions
        .is_none_or(|all| all.iter().all(|(&limit, &share)| (share - share_of(limit)).abs() < SAME_SHARE));
    let holders: BTreeSet<LimitedBy> = time.iter().map(|held| held.limited_by).collect();
    let mut lines = match (is_whole, holders.len() == time.len()) {
        (true, true) => Vec::new(),
        (true, false) => section("Share of the time", &shares),
        (false, _) => section("Share of the measured time", &shares),
    };
    let all_us = time.iter().map(|held| held.us).sum();
    let name = format!("Where the time went ({})", quantity::duration(all_us));
    lines.extend(section(&name, &timeline::ledger(time, style)));
    lines
}

fn advice<'a>(all: impl IntoIterator<Item = &'a Advice>, width: u16) -> Vec<String> {
    all.into_iter().enumerate().flat_map(|(index, advice)| advised(index + 1, advice, width)).collect()
}

fn advised(number: usize, advice: &Advice, width: u16) -> Vec<String> {
    let inner = width.saturating_sub(4);
    let predicted = verdicts::predicted(advice);
    if advice.target.is_none() {
        return vec![filled(&format!("{}: {}", advice.change, advice.why), "", "", inner)];
    }
    if advice.set.is_empty() {
        return vec![filled(&format!("{}{predicted}: {}", advice.change, advice.why), "", "", inner)];
    }
    let rtt = advice
        .predicted_rtt_us
        .map_or_else(String::new, |us| format!(" with a round trip of {}", quantity::duration(us)));
    let first = format!("{number}. ");
    let mut lines = vec![filled(&format!("{}{predicted}{rtt}", advice.change), &first, "   ", inner)];
    lines.push(filled(&format!("because {}", advice.why), "   ", "   ", inner));
    lines.extend(advice.commands.iter().map(|command| format!("     {command}")));
    lines
}

/// `lines` under a heading, indented; nothing where there are none.
fn section(name: &str, lines: &[String]) -> Vec<String> {
    if lines.is_empty() {
        return Vec::new();
    }
    let inner = lines.iter().flat_map(|text| text.split('\n')).map(|line| format!("    {line}"));
    [String::new(), format!("  {name}")].into_iter().chain(inner).collect()
}

fn advice_of(cell: &CellResult) -> impl Iterator<Item = &Advice> {
    cell.verdict.advice.iter().flatten()
}

/// How sure the verdict of `cell` is, and why.
pub(crate) fn confidence(cell: &CellResult) -> Option<String> {
    let is_observed = cell.run_values.iter().any(|run| run.path_facts.is_some());
    evidence::confidence(diagnosis(cell)?, is_observed)
}

/// Which rule decided on `cell`, and by what margin.
pub(crate) fn rule(cell: &CellResult) -> Option<String> {
    evidence::rule(cell.verdict.rule, cell.verdict.margin)
}

/// The diagnosis of the run that the verdict is about.
pub(crate) fn diagnosis(cell: &CellResult) -> Option<&Diagnosis> {
    diagnosis_of(cell, cell.headline()?)
}

/// The diagnosis of `flow` in the run that its verdict is about.
fn diagnosis_of<'a>(cell: &'a CellResult, flow: &FlowResult) -> Option<&'a Diagnosis> {
    let run = cell.run_values.iter().find(|run| Some(run.repeat) == flow.verdict_repeat)?;
    run.flows.iter().find(|known| known.figures.flow == flow.figures.flow)?.diagnosis.as_ref()
}

fn bold(text: &str, style: Style) -> String {
    if style.colour { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
}
