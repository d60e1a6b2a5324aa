//! Any packets are understood, or counted. `cargo +nightly fuzz run packets`
#![no_main]

#[path = "../captures.rs"]
#[allow(dead_code, reason = "each target calls one of them")]
mod captures;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    captures::packets(bytes);
});
