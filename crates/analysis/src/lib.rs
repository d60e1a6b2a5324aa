//! Records in, findings out, in four layers: ground ← infer ← judge ← findings. None uses a later one.
//!
//! The judge does not know who made a record: nothing here depends on a backend. Never: a clock, a file, a thread, an
//! iteration in random order, a 0 for something that was not measured.
#![forbid(unsafe_code)]

pub mod findings;
pub mod ground;
pub mod infer;
pub mod judge;
