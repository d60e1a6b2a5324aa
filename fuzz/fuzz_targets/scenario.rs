//! Any text is a scenario or an error that can be shown. `cargo +nightly fuzz run scenario`
#![no_main]

#[path = "../entries.rs"]
#[allow(dead_code, reason = "each target calls one of them")]
mod entries;

libfuzzer_sys::fuzz_target!(|text: &str| entries::scenario(text));
