//! Any lines are rows of a table or an error. `cargo +nightly fuzz run rows`
#![no_main]

#[path = "../entries/records.rs"]
#[allow(dead_code, reason = "each target calls one of them")]
mod entries;

libfuzzer_sys::fuzz_target!(|text: &[u8]| { entries::rows(text); });
