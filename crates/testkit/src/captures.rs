//! Captures made byte by byte or segment by segment, whose truth is known, and captures read with others' code.

pub mod container;
pub mod datagram;
pub mod dissected;
pub mod exchange;
pub mod frame;
#[cfg(feature = "capture")]
pub mod in_memory;
pub mod manner;
