//! What a source concluded, held against our own figures.
//!
//! A conclusion stands where every claim holds in every cell that it speaks of. Never: an opinion about a cell that was not
//! measured, or a figure that is not of this experiment.

use crate::findings::expect;
use crate::findings::result::{CellResult, ClaimResult, ConclusionResult, JudgedCell, Opinion, Value};
use pipefill_core::cell::CellSpec;
use pipefill_core::plan::{Against, Claim, Conclusion, Pair, Plan};

/// Judges every conclusion of `plan` by its `cells`.
pub fn judge(plan: &Plan, cells: &[CellResult]) -> Vec<ConclusionResult> {
    plan.conclusions.iter().map(|conclusion| judged(plan, conclusion, cells)).collect()
}

fn judged(plan: &Plan, conclusion: &Conclusion, cells: &[CellResult]) -> ConclusionResult {
    let claims: Vec<ClaimResult> =
        conclusion.claims.iter().map(|claim| judged_claim(plan, claim, cells)).collect();
    let opinion = opinion(&claims);
    let ours = match opinion {
        Opinion::Confirmed => conclusion.if_so.clone(),
        Opinion::Refuted => conclusion.if_not.clone(),
        Opinion::NotTested => None,
    };
    ConclusionResult { published: conclusion.published.clone(), opinion, ours, evidence: Vec::new(), claims }
}

fn opinion(claims: &[ClaimResult]) -> Opinion {
    let held = || claims.iter().flat_map(|claim| claim.cells.iter().map(|cell| cell.held));
    let is_judged = |claim: &ClaimResult| !claim.cells.is_empty();
    if held().any(|held| held == Some(false)) {
        Opinion::Refuted
    } else if !claims.is_empty() && claims.iter().all(is_judged) && held().all(|held| held == Some(true)) {
        Opinion::Confirmed
    } else {
        Opinion::NotTested
    }
}

fn judged_claim(plan: &Plan, claim: &Claim, cells: &[CellResult]) -> ClaimResult {
    let of_pair = |pair: &Pair| {
        let results = cells.iter().filter(|result| result.index == pair.cell);
        results.map(|result| judged_cell(plan, claim, *pair, result, cells)).collect::<Vec<_>>()
    };
    ClaimResult { text: claim.text.clone(), cells: claim.pairs.iter().flat_map(of_pair).collect() }
}

fn judged_cell(
    plan: &Plan,
    claim: &Claim,
    pair: Pair,
    result: &CellResult,
    cells: &[CellResult],
) -> JudgedCell {
    let spec = &plan.cell(pair.cell).spec;
    let is_beside = |cell: &&CellResult, index| cell.index == index && cell.backend == result.backend;
    let other = pair.other.and_then(|index| cells.iter().find(|cell| is_beside(cell, index)));
    let measured = expect::measured(result, claim.metric);
    let compared_with = compared_with(claim, spec, other);
    let held = measured
        .as_ref()
        .zip(compared_with.as_ref())
        .and_then(|(measured, with)| expect::compare(measured, claim.comparison, &shared(claim, with)));
    JudgedCell {
        cell: pair.cell,
        other: pair.other,
        backend: result.backend.clone(),
        held,
        measured,
        compared_with,
    }
}

fn compared_with(claim: &Claim, spec: &CellSpec, other: Option<&CellResult>) -> Option<Value> {
    match &claim.against {
        Against::Bound(bound) => expect::bound(spec, bound),
        Against::OtherCell { metric, .. } => expect::measured(other?, *metric),
    }
}

/// The share of `with` that the claim speaks of.
fn shared(claim: &Claim, with: &Value) -> Value {
    match (&claim.against, with) {
        (Against::OtherCell { share, .. }, Value::Number(number)) => Value::Number(number * share.fraction()),
        _ => with.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(held: &[Option<bool>]) -> ClaimResult {
        let cell = |&held: &Option<bool>| JudgedCell {
            cell: 0,
            other: None,
            backend: None,
            held,
            measured: None,
            compared_with: None,
        };
        ClaimResult { text: String::new(), cells: held.iter().map(cell).collect() }
    }

    #[test]
    fn a_conclusion_stands_where_every_claim_holds_everywhere() {
        let (yes, no, unknown) = (Some(true), Some(false), None);
        assert_eq!(opinion(&[claim(&[yes, yes]), claim(&[yes])]), Opinion::Confirmed);
        assert_eq!(opinion(&[claim(&[yes, no]), claim(&[unknown])]), Opinion::Refuted);
        assert_eq!(opinion(&[claim(&[yes, unknown])]), Opinion::NotTested);
        assert_eq!(opinion(&[claim(&[yes]), claim(&[])]), Opinion::NotTested);
        assert_eq!(opinion(&[]), Opinion::NotTested);
    }
}
