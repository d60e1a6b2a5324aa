//! The far end of a test: iperf3's protocol as values and bytes, our own members in it, and a control connection with deadlines.
//!
//! Never: traffic, telemetry, namespaces (those are the lab's); a file; a length from the network that is believed before it is bounded.
#![forbid(unsafe_code)]

pub mod agent;
pub mod clock;
pub mod control;
pub mod far_end;
pub mod iperf3;
pub mod key;
