//! The simulator: Linux's TCP in virtual time, over the very path elements that the lab drives.
//!
//! Never: a clock, a thread, a socket, chance outside of the run's seed, or an iteration in random order. The same scenario,
//! seed and version give the same bytes on every machine.
#![forbid(unsafe_code)]

pub mod cc;
