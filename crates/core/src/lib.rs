//! The vocabulary of pipefill: units, chance, scenario, plan, records, `tcp_info`, and the seam to a backend.
//!
//! Never: a clock, a socket, a file, a thread, an iteration in random order. Time and chance are arguments.
#![forbid(unsafe_code)]

pub mod address;
pub mod backend;
pub mod cell;
pub mod evidence;
pub mod file_name;
pub mod flow_event;
pub mod hosts;
pub mod limit;
pub mod parse;
pub mod plan;
pub mod prng;
pub mod problem;
pub mod record;
pub mod scenario;
pub mod stacks;
pub mod tcp_info;
pub mod traffic;
pub mod units;
