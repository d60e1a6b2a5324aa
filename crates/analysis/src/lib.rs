//! Records in, findings out: metrics, statistics, models, expectations.
//!
//! The judge does not know who made a record: nothing here depends on a backend. Never: a clock, a file, a thread, an
//! iteration in random order, a 0 for something that was not measured.
#![forbid(unsafe_code)]

pub mod advice;
mod buffers;
pub mod calculator;
pub mod changes;
pub mod conclusions;
pub mod confusion;
mod count_at;
pub mod diagnosis;
pub mod downsampling;
pub mod expect;
pub mod experiment;
pub mod finding;
pub mod fix;
mod headline;
pub mod intervals;
pub mod metrics;
pub mod models;
pub mod observed;
pub mod paired_runs;
pub mod series;
pub mod statistics;
pub mod step_function;
pub mod theory;
pub mod verdict;
mod weighted_values;
mod wording;
