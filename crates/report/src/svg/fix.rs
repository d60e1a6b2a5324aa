//! What a change did: before, predicted and after as bars, with the intervals of what was measured.
//!
//! Never: a prediction drawn like a measurement.

use super::scale::Scale;
use super::{Frame, Picture, WIDTH, n, x_axis};
use crate::quantity::QuantityKind;
use maud::{Markup, html};
use pipefill_analysis::findings::fix::{Proof, Round};
use pipefill_analysis::findings::paired_runs::Median;

/// Height of a bar with the gap below it, and of a round's name.
const BAR: f64 = 19.0;
const NAME: f64 = 20.0;
/// Letters of a round's name that fit.
const LETTERS: usize = 76;

/// The picture of `proof`; `None` where no pair of runs can be believed.
pub(crate) fn proof(proof: &Proof, name: &str) -> Option<Picture> {
    let rounds: Vec<(usize, &Round, Vec<Bar>)> = proof
        .rounds
        .iter()
        .enumerate()
        .map(|(number, round)| (number + 1, round, bars(round)))
        .filter(|(_, _, bars)| !bars.is_empty())
        .collect();
    let path = proof.path_goodput_bps.map(|bps| bps as f64);
    let ends =
        rounds.iter().flat_map(|(_, _, bars)| bars).map(|bar| bar.high.unwrap_or(bar.bps).max(bar.bps));
    let most = ends.chain(path).fold(0.0, f64::max);
    if rounds.is_empty() || most <= 0.0 {
        return None;
    }
    let heights = rounds.iter().map(|(_, _, bars)| NAME + BAR * bars.len() as f64);
    let tops: Vec<f64> = heights
        .scan(10.0, |top, height| {
            let here = *top;
            *top += height;
            Some(here)
        })
        .collect();
    let rows: usize = rounds.iter().map(|(_, _, bars)| bars.len()).sum();
    let bottom = 10.0 + NAME * rounds.len() as f64 + BAR * rows as f64 + 4.0;
    let frame = Frame { left: 150.0, top: 10.0, right: WIDTH - 24.0, bottom };
    let scale = Scale::linear([0.0, most * 1.08], [frame.left, frame.right]);
    let content = html! {
        (x_axis(frame, &scale, &scale.ticks(QuantityKind::Rate, 4), "goodput; the line is what the path lets through"))
        @if let Some(bps) = path { path class="theory law-1" d={ "M" (n(scale.at(bps))) " " (n(frame.top)) "V" (n(bottom)) } {} }
        @for ((number, round, bars), top) in rounds.iter().zip(tops) {
            text class="tick" x="4" y=(n(top + 14.0)) { (shortened(&format!("Round {number}: {}", round.advice.change))) }
            @for (place, bar) in bars.iter().enumerate() {
                (drawn(bar, &scale, top + NAME + BAR * place as f64))
            }
        }
    };
    Some(Picture::new(bottom + 40.0, name, content))
}

/// What is measured or predicted on one side.
struct Bar {
    name: &'static str,
    class: &'static str,
    bps: f64,
    low: Option<f64>,
    high: Option<f64>,
}

fn bars(round: &Round) -> Vec<Bar> {
    let Some(comparison) = &round.comparison else { return Vec::new() };
    let side = |name, class, median: &Median| Bar {
        name,
        class,
        bps: median.bps,
        low: median.low_bps,
        high: median.high_bps,
    };
    let predicted = round.advice.predicted_bps.or(round.advice.predicted_active_bps);
    let predicted = predicted.map(|bps| Bar {
        name: "predicted",
        class: "hollow",
        bps: bps as f64,
        low: None,
        high: None,
    });
    let before = side("before", "solid c6", &comparison.before);
    let after = side("after", "solid c0", &comparison.after);
    [Some(before), predicted, Some(after)].into_iter().flatten().collect()
}

fn drawn(bar: &Bar, scale: &Scale, y: f64) -> Markup {
    let from = scale.at(0.0);
    html! {
        text class="tick" x="16" y=(n(y + 11.0)) { (bar.name) " " (QuantityKind::Rate.alone(bar.bps)) }
        rect class=(bar.class) x=(n(from)) y=(n(y)) width=(n(scale.at(bar.bps) - from)) height="13" {}
        @if let (Some(low), Some(high)) = (bar.low, bar.high) {
            path class="whisker" d={ "M" (n(scale.at(low))) " " (n(y + 6.5)) "H" (n(scale.at(high))) } {}
        }
    }
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= LETTERS {
        text.to_owned()
    } else {
        text.chars().take(LETTERS - 1).chain(['…']).collect()
    }
}
