//! Captures made by hand: frames, containers, and exchanges whose truth is known.

pub(crate) mod container;
pub(crate) mod exchange;
pub(crate) mod frame;
pub(crate) mod in_memory;
