//! The question, and the answer in two sentences: how much there was, and what limited it.

use super::terms::term;
use crate::quantity::QuantityKind;
use crate::words::limit_name;
use maud::{Markup, html};
use pipefill_analysis::findings::experiment::{CellResult, Experiment};
use pipefill_core::limit::LimitedBy;
use std::collections::BTreeMap;

/// The section at the top.
pub(super) fn section(experiment: &Experiment) -> Markup {
    let answer = sentences(experiment);
    html! {
        section id="answer" aria-label="Question and answer" {
            p class="question" { bdi { (question(experiment)) } }
            @for sentence in &answer { p class="answer" { bdi { (sentence) } } }
            (tiles(experiment))
        }
    }
}

/// What was varied.
fn question(experiment: &Experiment) -> String {
    let mut axes: Vec<(&str, Vec<&str>)> = Vec::new();
    for (path, value) in experiment.cells.iter().flat_map(|cell| &cell.axes) {
        match axes.iter_mut().find(|(known, _)| known == path) {
            Some((_, values)) if values.contains(&value.as_str()) => {}
            Some((_, values)) => values.push(value),
            None => axes.push((path, vec![value])),
        }
    }
    let axis = |(path, values): &(&str, Vec<&str>)| {
        let name = path.rsplit('.').next().unwrap_or(path);
        match values.as_slice() {
            [first, .., last] if values.len() > 4 => {
                format!("{name} ({} values, {first} … {last})", values.len())
            }
            some => format!("{name} ({})", some.join(", ")),
        }
    };
    let varied = axes.iter().filter(|(_, values)| values.len() > 1);
    let axes: Vec<String> = varied.map(axis).collect();
    match axes.as_slice() {
        [] => "What does this path carry, and what limits it?".to_owned(),
        axes => format!("What does the path carry, and what limits it, by {}?", axes.join(", ")),
    }
}

/// At most two.
fn sentences(experiment: &Experiment) -> Vec<String> {
    [extremes(experiment), limits(experiment)].into_iter().flatten().collect()
}

fn extremes(experiment: &Experiment) -> Option<String> {
    let known = |cell: &&CellResult| cell.goodput_bps.is_some();
    let cells = || experiment.cells.iter().filter(known);
    let most = cells().max_by_key(|cell| cell.goodput_bps)?;
    let least = cells().min_by_key(|cell| cell.goodput_bps)?;
    let rate = |cell: &CellResult| QuantityKind::Rate.alone(cell.goodput_bps.unwrap_or(0) as f64);
    let (high, low) = (rate(most), rate(least));
    if most.index == least.index || high == low {
        return Some(format!("{high} of payload arrived ({}).", most.coordinates()));
    }
    Some(format!(
        "Between {high} ({}) and {low} ({}) of payload arrived.",
        most.coordinates(),
        least.coordinates()
    ))
}

fn limits(experiment: &Experiment) -> Option<String> {
    let mut counts: BTreeMap<LimitedBy, usize> = BTreeMap::new();
    for limit in experiment.cells.iter().filter_map(|cell| cell.verdict.limited_by) {
        *counts.entry(limit).or_default() += 1;
    }
    let mut counts: Vec<(LimitedBy, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|&(limit, count)| (std::cmp::Reverse(count), limit));
    let all: usize = counts.iter().map(|(_, count)| count).sum();
    match counts.as_slice() {
        [] => None,
        [(limit, 1)] => Some(format!("It was limited by {}.", limit_name(*limit, None))),
        [(limit, _)] => Some(format!("All {all} cells were limited by {}.", limit_name(*limit, None))),
        counts => {
            let part =
                |(limit, count): &(LimitedBy, usize)| format!("{} in {count}", limit_name(*limit, None));
            let parts: Vec<String> = counts.iter().map(part).collect();
            Some(format!("What limited the {all} cells: {}.", parts.join(", ")))
        }
    }
}

fn tiles(experiment: &Experiment) -> Markup {
    let runs: usize = experiment.cells.iter().map(|cell| cell.runs).sum();
    let valid: usize = experiment.cells.iter().map(|cell| cell.valid).sum();
    let failed = experiment
        .cells
        .iter()
        .flat_map(|cell| &cell.expectations)
        .filter(|expectation| expectation.failed())
        .count();
    html! {
        dl class="tiles" {
            div { dt { (term("cell", "cells")) } dd { (experiment.cells.len()) } }
            div { dt { (term("run", "runs")) } dd { (runs) } }
            div class=[(valid < runs).then_some("warn")] { dt { (term("valid", "valid runs")) } dd { (valid) } }
            @if failed > 0 {
                div class="bad" { dt { "failed expectations" } dd { (failed) } }
            }
        }
    }
}
