//! Any file is read as far as it can be. `cargo +nightly fuzz run captures`
#![no_main]

#[path = "../captures.rs"]
#[allow(dead_code, reason = "each target calls one of them")]
mod captures;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    captures::file(bytes);
});
