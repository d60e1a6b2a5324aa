//! Captures: containers, headers, and what TCP did, from packets alone; what its graphs are drawn from. `write` makes captures.
//!
//! Never: a clock, a file, a thread. What is read comes from a [`std::io::Read`], what is written goes to a [`std::io::Write`].
#![forbid(unsafe_code)]

pub mod graphs;
pub mod headers;
pub mod join;
pub mod mptcp;
pub mod read;
pub mod rows;
pub mod tcp;
pub mod translated;
pub mod udp;
pub mod whole;
pub mod write;
