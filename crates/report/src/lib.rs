//! Findings to text: terminal table, JSON, CSV, Markdown, the calculator's screen, a plan, explanations and proofs.
//!
//! Everything is rendered to a `String`; who writes it where is not its business. Never: a figure that is not in the JSON, or
//! a missing value that looks like a number.
#![forbid(unsafe_code)]

mod axis_columns;
pub mod band;
pub mod calculator;
pub mod capture_graphs;
pub mod captured;
mod captured_facts;
mod captured_udp;
mod carried;
pub mod cause;
pub mod changes;
mod charts;
mod conclusions;
pub mod confusion;
pub mod connections;
pub mod csv;
mod curves;
pub mod explain;
pub mod fix;
pub mod flent;
pub mod html;
pub mod iperf3;
mod joined;
pub mod json;
mod limiters;
pub mod md;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod pictures;
pub mod plan;
#[cfg(feature = "png")]
pub mod png;
mod prose;
pub mod quantity;
mod runs;
pub mod segments;
mod sheet;
pub mod stream;
mod svg;
pub mod sweep;
pub mod table;
pub mod verdicts;
pub mod visible;
mod wall_clock;
pub mod words;
