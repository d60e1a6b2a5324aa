//! How sure a verdict is: how much of the time its cause held, and whether a witness accuses another.
//!
//! Never: a number that looks like a probability; there is no sample of verdicts that it could be one of.

use super::Witness;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A cause that held for this share of the time leaves no room for another.
const CLEAR: f64 = 0.75;
/// One that held for less than this is only the largest of several.
const MOST: f64 = 0.5;

/// How sure a verdict is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// The cause held for less than half of the time, or for less than three quarters while a witness accuses another.
    Low,
    /// Neither of both.
    Medium,
    /// It held for three quarters of the time and more, and no witness accuses another.
    High,
}

impl Confidence {
    /// Of a verdict whose cause held for `share` of the time. A witness who saw nothing contradicts nobody: the kernel's clocks miss
    /// causes.
    pub(super) fn of(share: f64, witnesses: &[Witness]) -> Self {
        let is_contradicted = witnesses.iter().any(Witness::accuses_another);
        match (share >= CLEAR, share >= MOST, is_contradicted) {
            (true, _, false) => Self::High,
            (_, false, _) | (false, _, true) => Self::Low,
            _ => Self::Medium,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::limit::LimitedBy;

    fn witness(share: f64, agrees: bool) -> Witness {
        Witness { name: "any".to_owned(), accuses: LimitedBy::Rwnd, share, agrees }
    }

    #[test]
    fn it_falls_with_the_share_and_with_a_witness_who_accuses_another() {
        let (for_it, silent, against) = (witness(0.9, true), witness(0.1, false), witness(0.9, false));
        let of = |share, one: &Witness| Confidence::of(share, std::slice::from_ref(one));
        assert_eq!(
            [0.8, 0.6, 0.4].map(|share| of(share, &for_it)),
            [Confidence::High, Confidence::Medium, Confidence::Low]
        );
        assert_eq!(
            [0.8, 0.6, 0.4].map(|share| of(share, &silent)),
            [Confidence::High, Confidence::Medium, Confidence::Low]
        );
        assert_eq!(
            [0.8, 0.6, 0.4].map(|share| of(share, &against)),
            [Confidence::Medium, Confidence::Low, Confidence::Low]
        );
    }
}
