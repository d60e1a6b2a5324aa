//! Observes connections that no scenario describes: live sockets of this host, captures, and other programs' output; judges and records them.
//!
//! Never: a command line, a terminal, a signal or an exit code.
#![forbid(unsafe_code)]

mod capture_flows;
mod capture_reading;
mod capture_udp;
mod carried;
mod cpu_tracks;
mod datagrams;
mod disciplines;
mod ending;
mod exact;
mod filter;
mod group_by;
mod groups;
mod handshake;
mod meter;
mod pasted_output;
mod peer;
mod processes;
mod record;
mod short_list;
mod tracker;
mod udp_sockets;
mod unseen;
mod watcher;

pub use capture_flows::judge_capture;
pub use capture_reading::{CaptureFile, CaptureRead, STDIN, capture_name, read_capture};
pub use carried::carried;
pub use datagrams::{DatagramWatcher, FoundDatagrams};
pub use disciplines::{DisciplineWatcher, FoundDisciplines};
pub use filter::Filter;
pub use group_by::GroupBy;
pub use groups::{GroupFigures, HeldBy, OTHER, RTT_BOUNDS_US, RttCounts, Sum, WorstConnection};
pub use meter::Metrics;
pub use pasted_output::{OutputRead, is_text, judge_output, keep_output, output_of, read_output};
pub use record::{TakenPath, keep_connections};
pub use watcher::{EmulatedPath, WatchRequest, Watcher};
