//! Records in, findings out: metrics, statistics, models, expectations.
//!
//! The judge does not know who made a record: nothing here depends on a backend. Never: a clock, a file, a thread, an
//! iteration in random order, a 0 for something that was not measured.
#![forbid(unsafe_code)]

pub mod advice;
pub mod band;
mod buffers;
pub mod calculator;
pub mod catalogue;
pub mod changes;
pub mod comparison;
pub mod conclusions;
pub mod diagnosis;
pub mod expect;
pub mod experiment;
pub mod finding;
mod headline;
pub mod intervals;
pub mod metrics;
pub mod models;
pub mod observed;
pub mod proof;
mod reading;
pub mod series;
pub mod statistics;
mod tally;
pub mod theory;
pub mod thinning;
pub mod verdict;
mod wording;
