//! The tests of what excuses a late run (`measuring/witness.rs`): the tests that measure have no harness of the standard library.
#![allow(dead_code, unreachable_pub, reason = "made for the tests that measure")]

#[path = "measuring/witness.rs"]
mod witness;
