//! Matches the cells of one experiment with those of another.
//!
//! Never: two cells of one experiment matched with the same cell of the other, or a cell that was not run.

use crate::findings::experiment::{CellResult, Experiment};

/// The cells of two experiments that were run, each in exactly one of these.
#[derive(Debug, Default)]
pub(super) struct Matched<'a> {
    /// Before and after, in the order of before.
    pub(super) pairs: Vec<(&'a CellResult, &'a CellResult)>,
    pub(super) only_before: Vec<&'a CellResult>,
    pub(super) only_after: Vec<&'a CellResult>,
}

/// Whether two cells are the same point.
type Rule = fn(&CellResult, &CellResult) -> bool;

/// In this order: a later rule sees only the cells that no earlier rule matched. An axis on one side may be a fixed value on the other; then
/// the resolved cells are compared.
const RULES: [Rule; 3] = [
    |before, after| before.axes == after.axes && before.backend == after.backend,
    |before, after| before.axes == after.axes,
    |before, after| before.id == after.id,
];

/// Matches the cells of both. Where each side has one cell only these are meant, whatever their coordinates.
pub(super) fn matched<'a>(before: &'a Experiment, after: &'a Experiment) -> Matched<'a> {
    let ran = |experiment: &'a Experiment| -> Vec<&'a CellResult> {
        experiment.cells.iter().filter(|cell| cell.runs > 0).collect()
    };
    let (mut left, mut right) = (ran(before), ran(after));
    if let ([before], [after]) = (&left[..], &right[..]) {
        return Matched { pairs: vec![(*before, *after)], ..Matched::default() };
    }
    let mut pairs = Vec::new();
    for rule in RULES {
        left.retain(|before| {
            let at = right.iter().position(|after| rule(before, after));
            pairs.extend(at.map(|at| (*before, right.remove(at))));
            at.is_none()
        });
    }
    pairs.sort_by_key(|(before, _)| (before.index, before.backend.clone()));
    Matched { pairs, only_before: left, only_after: right }
}
