//! What the tests of several crates share: records and captures with known figures, readers that are not ours, and the entries of the fuzz
//! targets. Only a dev-dependency: no product crate is built with it.
#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "the names of tests' builders say what they make")]

pub mod arithmetic;
pub mod builder;
pub mod captures;
pub mod changes;
pub mod entries;
#[cfg(feature = "machine")]
pub mod goals;
#[cfg(feature = "analysis")]
pub mod judged;
#[cfg(feature = "machine")]
pub mod witness;
