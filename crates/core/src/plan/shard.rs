//! A plan in parts: each cell belongs to one of them, whoever asks, so that parts made on many machines make up the whole.
//!
//! Never: a cell in two parts, or a choice that depends on anything but the plan and its costs.

use super::{Cell, Plan};
use crate::parse::ParseError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// One of several parts of a plan: `3/16`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
pub struct Shard {
    /// Which one, from 1.
    pub number: u32,
    /// How many there are.
    pub of: u32,
}

/// Some shard would have nothing to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the plan has {cells} cells, and each of {of} shards needs one")]
pub struct TooFewCells {
    /// Cells of the plan.
    pub cells: usize,
    /// Shards that were asked for.
    pub of: u32,
}

impl Shard {
    /// All shards of a plan that is cut into `of`.
    pub fn all(of: u32) -> impl Iterator<Item = Self> {
        (1..=of).map(move |number| Self { number, of })
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        const HELP: &str = "write I/N, e.g. 3/16 for the third of 16 shards; they count from 1";
        let number =
            |text: &str| text.parse::<u32>().ok().filter(|_| text.bytes().all(|b| b.is_ascii_digit()));
        let parts = text.split_once('/').and_then(|(at, of)| Some((number(at)?, number(of)?)));
        let Some((number, of)) = parts else {
            return Err(ParseError::new(format!("\"{text}\" is no shard"), HELP));
        };
        match number {
            0 => Err(ParseError::new("there is no shard 0", HELP)),
            _ if number > of => Err(ParseError::new(format!("there is no shard {number} of {of}"), HELP)),
            _ => Ok(Self { number, of }),
        }
    }
}

impl Plan {
    /// The part of this plan that is `shard`. The cells are dealt by what they cost, so that all parts take about as long: the
    /// dearest first, each to the part that has least so far (Graham, 1969: at most 4/3 of the best).
    ///
    /// # Errors
    /// There are fewer cells than shards.
    pub fn part(&self, shard: Shard, cost: impl Fn(&Cell) -> Duration) -> Result<Self, TooFewCells> {
        let cells = self.cells.len();
        if usize::try_from(shard.of).is_ok_and(|of| of > cells) {
            return Err(TooFewCells { cells, of: shard.of });
        }
        let costs: Vec<u128> = self.cells.iter().map(|cell| cost(cell).as_nanos()).collect();
        let shards = dealt(&costs, shard.of);
        let mine: BTreeSet<usize> = self
            .cells
            .iter()
            .zip(shards)
            .filter(|&(_, number)| number == shard.number)
            .map(|(cell, _)| cell.index)
            .collect();
        let mut part = self.clone();
        part.keep(|cell| mine.contains(&cell.index));
        Ok(part)
    }
}

/// The number of the shard that each item goes to. Of shards with the same load the one with fewer items takes it, then the first one, so
/// that none stays empty where nothing costs anything.
fn dealt(costs: &[u128], of: u32) -> Vec<u32> {
    let mut order: Vec<usize> = (0..costs.len()).collect();
    order.sort_by_key(|&at| (Reverse(costs[at]), at));
    let mut loads: BTreeSet<(u128, usize, u32)> = Shard::all(of).map(|shard| (0, 0, shard.number)).collect();
    let mut dealt = vec![0; costs.len()];
    for at in order {
        let Some((load, items, number)) = loads.pop_first() else { break };
        dealt[at] = number;
        loads.insert((load + costs[at], items + 1, number));
    }
    dealt
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_shard_is_written_as_it_is_shown() {
        let read = |text: &str| text.parse::<Shard>();
        assert_eq!(read("3/16").unwrap(), Shard { number: 3, of: 16 });
        assert_eq!(read("16/16").unwrap().to_string(), "16/16");
        for wrong in ["0/4", "5/4", "0/0", "3", "3/", "/4", "+1/4", "1/4/2", "a/b", "-1/4", "1/99999999999"] {
            let error = read(wrong).unwrap_err();
            assert!(error.help.contains("I/N"), "{wrong}: {error:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// No shard takes longer than all of them together would need on average, and one item more.
        #[test]
        fn shards_are_balanced_and_none_is_empty(costs in prop::collection::vec(0_u128..1_000, 1..200), of in 1_u32..20) {
            prop_assume!(costs.len() >= of as usize);
            let shards = dealt(&costs, of);
            let loads: Vec<(u128, usize)> = Shard::all(of)
                .map(|shard| {
                    let own = || costs.iter().zip(&shards).filter(|(_, number)| **number == shard.number);
                    (own().map(|(cost, _)| cost).sum(), own().count())
                })
                .collect();
            prop_assert!(loads.iter().all(|&(_, items)| items > 0));
            prop_assert_eq!(loads.iter().map(|&(_, items)| items).sum::<usize>(), costs.len());
            let whole: u128 = costs.iter().sum();
            let largest = costs.iter().copied().max().unwrap_or_default();
            let bound = whole / u128::from(of) + largest;
            prop_assert!(loads.iter().all(|&(load, _)| load <= bound), "{:?} {}", loads, bound);
        }
    }
}
