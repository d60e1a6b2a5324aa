//! How sure a verdict is: how much of the time its holder has, by what margin, and whether the kernel's counters name another.
//!
//! Never: a number that looks like a probability; there is no sample of verdicts that it could be one of.

use super::Witness;
use crate::ground::thresholds::Thresholds;
use pipefill_core::limit::LimitedBy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How sure a verdict is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// The holder has less than half of the time, or less than three quarters while a counter of the kernel names another.
    Low,
    /// Neither low nor high.
    Medium,
    /// The holder has at least three quarters of the time, no threshold decides by less than a tenth, no counter names another, and the
    /// evidence tells the possible holders apart.
    High,
}

/// What a confidence follows from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grounds<'a> {
    pub(super) limited_by: LimitedBy,
    /// Share of the time that the holder has.
    pub(super) share: f64,
    /// See [`super::Diagnosis::margin`].
    pub(super) margin: Option<f64>,
    pub(super) witnesses: &'a [Witness],
    /// Whether the evidence cannot tell the holder from another one.
    pub(super) is_ambiguous: bool,
}

impl Confidence {
    /// `None` where the holder is unknown. A counter that measured nothing contradicts nobody: the kernel's clocks miss causes.
    pub(super) fn of(grounds: &Grounds<'_>, t: &Thresholds) -> Option<Self> {
        if grounds.limited_by == LimitedBy::Unknown {
            return None;
        }
        let is_contradicted = grounds.witnesses.iter().any(Witness::accuses_another);
        let is_clear = grounds.share >= t.confidence_clear.value();
        let is_close = grounds.margin.is_some_and(|margin| margin < t.confidence_margin.value());
        Some(if grounds.share < t.confidence_most.value() || (!is_clear && is_contradicted) {
            Self::Low
        } else if is_clear && !is_contradicted && !is_close && !grounds.is_ambiguous {
            Self::High
        } else {
            Self::Medium
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::thresholds::STANDARD;
    use Confidence::{High, Low, Medium};

    const GROUNDS: Grounds<'_> = Grounds {
        limited_by: LimitedBy::Rwnd,
        share: 0.8,
        margin: Some(0.2),
        witnesses: &[],
        is_ambiguous: false,
    };

    fn of(grounds: Grounds<'_>) -> Option<Confidence> {
        Confidence::of(&grounds, &STANDARD)
    }

    #[test]
    fn it_falls_with_the_share_and_with_a_counter_that_names_another() {
        let witness =
            |share, agrees| [Witness { name: "any".to_owned(), accuses: LimitedBy::Rwnd, share, agrees }];
        let with = |witnesses: &[Witness]| {
            [0.8, 0.6, 0.4].map(|share| Confidence::of(&Grounds { share, witnesses, ..GROUNDS }, &STANDARD))
        };
        assert_eq!(with(&witness(0.9, true)), [High, Medium, Low].map(Some));
        assert_eq!(with(&witness(0.1, false)), [High, Medium, Low].map(Some), "it measured little");
        assert_eq!(with(&witness(0.9, false)), [Medium, Low, Low].map(Some));
    }

    #[test]
    fn a_small_margin_or_evidence_that_fits_two_holders_is_not_sure_and_unknown_has_none() {
        assert_eq!(of(Grounds { margin: Some(0.05), ..GROUNDS }), Some(Medium));
        assert_eq!(of(Grounds { margin: None, ..GROUNDS }), Some(High));
        assert_eq!(of(Grounds { is_ambiguous: true, ..GROUNDS }), Some(Medium));
        assert_eq!(of(Grounds { limited_by: LimitedBy::Unknown, ..GROUNDS }), None);
    }
}
