//! The figures behind an opinion, as sentences.

use super::expectations::name;
use crate::quantity::{bytes, duration, percent, rate};
use pipefill_analysis::findings::experiment::CellResult;
use pipefill_analysis::findings::experiment::Value;
use pipefill_analysis::findings::experiment::{ClaimResult, JudgedCell};
use pipefill_analysis::ground::statistics::rounded;
use pipefill_core::cell::ExpectMetric;
use pipefill_core::plan::{Against, Claim};

/// So many cells are told one by one; more are a range.
const SINGLE_MAX: usize = 3;

/// What `result` shows: the cells in which the claim fails, and those in which it holds.
pub(super) fn lines(claim: &Claim, result: &ClaimResult, cells: &[CellResult]) -> Vec<String> {
    let with = |held| result.cells.iter().filter(move |cell| cell.held == Some(held)).collect::<Vec<_>>();
    let mut lines = claim_lines(claim, &with(false), cells);
    lines.extend(claim_lines(claim, &with(true), cells));
    let unknown = result.cells.iter().filter(|cell| cell.held.is_none()).count();
    if unknown > 0 {
        lines.push(format!("{}: {unknown} cells were not measured", claim.text));
    }
    lines
}

fn claim_lines(claim: &Claim, judged: &[&JudgedCell], cells: &[CellResult]) -> Vec<String> {
    match judged {
        [] => Vec::new(),
        few if few.len() <= SINGLE_MAX => few.iter().map(|cell| single(claim, cell, cells)).collect(),
        many => vec![range(claim, many, cells)],
    }
}

fn single(claim: &Claim, judged: &JudgedCell, cells: &[CellResult]) -> String {
    let Some(cell) = result(cells, judged.cell, judged) else { return String::new() };
    let measured = judged.measured.as_ref().map_or_else(String::new, |value| told_value(claim.metric, value));
    let figure = match claim.metric {
        ExpectMetric::LimitedBy => windows(cell, &measured),
        metric => format!("{} {measured}", name(metric).0),
    };
    format!("{}: {figure}{}", cell.coordinates(), against(claim, judged, cells, cell))
}

/// `, 32 % of 945 Mbit/s at tcp_rmem …`
fn against(claim: &Claim, judged: &JudgedCell, cells: &[CellResult], cell: &CellResult) -> String {
    let Against::OtherCell { metric, .. } = claim.against else { return String::new() };
    let other = judged.other.and_then(|index| result(cells, index, judged));
    let (Some(other), Some(with)) = (other, &judged.compared_with) else { return String::new() };
    let share = share(judged).map_or_else(String::new, |share| format!("{} of ", percent(share)));
    let of = if metric == claim.metric { "" } else { name(metric).0 };
    let place: Vec<String> = other.coordinates_beside(cell);
    let gap = if of.is_empty() { "" } else { " " };
    format!(", {share}{of}{gap}{} at {}", told_value(metric, with), place.join(", "))
}

/// One line for many cells: the extremes.
fn range(claim: &Claim, judged: &[&JudgedCell], cells: &[CellResult]) -> String {
    let coordinates = |judged: &JudgedCell| {
        result(cells, judged.cell, judged).map_or_else(String::new, CellResult::coordinates)
    };
    let (first, last) = (judged[0], judged[judged.len() - 1]);
    let place = format!("{} … {} ({} cells)", coordinates(first), coordinates(last), judged.len());
    let mut words: Vec<String> = Vec::new();
    for word in judged.iter().filter_map(|cell| match &cell.measured {
        Some(Value::Word(word)) => Some(word),
        _ => None,
    }) {
        if !words.contains(word) {
            words.push(word.clone());
        }
    }
    if !words.is_empty() {
        return format!("{place}: {} {}", name(claim.metric).0, words.join(" or "));
    }
    let numbers: Vec<f64> = judged.iter().filter_map(|cell| number(cell.measured.as_ref())).collect();
    let shares: Vec<f64> = judged.iter().filter_map(|cell| share(cell)).collect();
    let told = span(&numbers, |value| told_value(claim.metric, &Value::Number(value)));
    let of = match claim.against {
        Against::OtherCell { metric, .. } if !shares.is_empty() => {
            format!(", {} of the other's {}", span(&shares, percent), name(metric).0)
        }
        _ => String::new(),
    };
    format!("{place}: {} {told}{of}", name(claim.metric).0)
}

/// `940 to 945 Mbit/s`; one figure where both ends read the same.
fn span(values: &[f64], told: impl Fn(f64) -> String) -> String {
    let least = told(values.iter().copied().fold(f64::INFINITY, f64::min));
    let most = told(values.iter().copied().fold(f64::NEG_INFINITY, f64::max));
    if least == most { least } else { format!("{least} to {most}") }
}

/// What limited, how long, and how large the four candidates were.
fn windows(cell: &CellResult, word: &str) -> String {
    let shares = cell.verdict.limited_fraction.as_ref().zip(cell.verdict.limited_by);
    let share = shares.and_then(|(shares, cause)| shares.get(&cause));
    let mut parts = vec![match share {
        Some(&share) => format!("limited by {word} {} of the time", percent(share)),
        None => format!("limited by {word}"),
    }];
    let named = [
        ("in flight", cell.tcp.in_flight_bytes_p50),
        ("cwnd", cell.tcp.cwnd_bytes_p50),
        ("rwnd", cell.tcp.rwnd_bytes_p50),
    ];
    parts.extend(named.iter().filter_map(|&(name, value)| Some(format!("{name} {}", bytes(value?)))));
    if let (Some(used), Some(limit)) = (cell.tcp.wmem_queued_bytes_p50, cell.tcp.sndbuf_bytes_p50) {
        parts.push(format!("send buffer {} of {}", bytes(used), bytes(limit)));
    }
    parts.join(", ")
}

fn result<'a>(cells: &'a [CellResult], index: usize, judged: &JudgedCell) -> Option<&'a CellResult> {
    cells.iter().find(|cell| cell.index == index && cell.backend == judged.backend)
}

fn share(judged: &JudgedCell) -> Option<f64> {
    let with = number(judged.compared_with.as_ref()).filter(|&with| with > 0.0)?;
    judged.other?;
    Some(number(judged.measured.as_ref())? / with)
}

fn number(value: Option<&Value>) -> Option<f64> {
    match value? {
        Value::Number(number) => Some(*number),
        Value::Word(_) => None,
    }
}

fn told_value(metric: ExpectMetric, value: &Value) -> String {
    match (metric, value) {
        (_, Value::Word(word)) => word.clone(),
        (
            ExpectMetric::MinRtt
            | ExpectMetric::Srtt
            | ExpectMetric::BaseRtt
            | ExpectMetric::IdleRtt
            | ExpectMetric::LoadedRtt
            | ExpectMetric::LoadedRttP95,
            Value::Number(us),
        ) => duration(rounded(*us)),
        (ExpectMetric::Retransmits, Value::Number(count)) => format!("{count:.0}"),
        (ExpectMetric::Fairness, Value::Number(index)) => percent(*index),
        (ExpectMetric::Lost, Value::Number(lost)) => percent(lost / 100.0),
        (_, Value::Number(bps)) => rate(rounded(*bps)),
    }
}
