//! Any JSON is the plan of an `experiment.json` or an error. `cargo +nightly fuzz run plan`
#![no_main]

#[path = "../entries.rs"]
#[allow(dead_code, reason = "each target calls one of them")]
mod entries;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| { entries::plan(bytes); });
