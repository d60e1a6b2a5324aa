//! What findings of any kind are computed with: intervals of time, statistics, models of TCP and of paths, the calculator.
//!
//! Never: a use of `infer`, `judge` or `findings`; `xtask check` refuses it.

pub(crate) mod buffers;
pub mod calculator;
pub(crate) mod count_at;
pub mod distribution;
pub mod downsampling;
pub mod interval;
pub mod models;
pub mod statistics;
pub mod step_function;
pub mod theory;
pub mod threshold;
pub mod thresholds;
pub mod weighted_values;
