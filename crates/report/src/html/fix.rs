//! What came of trying a cell's advice: before, predicted and after, round by round.

use crate::fix::{conclusion, outcome};
use crate::svg;
use maud::{Markup, html};
use pipefill_analysis::findings::experiment::CellResult;
use pipefill_analysis::findings::fix::{Proof, Round};

/// The proof of `cell`'s advice, if it was tried.
pub(super) fn of<'a>(proofs: &'a [Proof], cell: &CellResult) -> Option<&'a Proof> {
    proofs.iter().find(|proof| proof.id == cell.id && Some(&proof.backend) == cell.backend.as_ref())
}

/// What it says.
pub(super) fn proof_section(proof: &Proof, cell: &CellResult) -> Markup {
    let name = format!("The advice, tried: {}", cell.coordinates());
    html! {
        div class="proof" {
            h3 { "What came of it" }
            @if let Some(picture) = svg::proof(proof, &name) { (picture.inline()) }
            ol {
                @for round in &proof.rounds { li { code { (round.advice.change) } " " (round_sentence(round)) } }
            }
            p { strong { (conclusion(proof)) } }
            p { "Prove it again: " code class="command" { (proof.repeat_command) } }
        }
    }
}

fn round_sentence(round: &Round) -> String {
    match &round.comparison {
        Some(comparison) => outcome(comparison, round),
        None => "No pair of runs is valid.".to_owned(),
    }
}
