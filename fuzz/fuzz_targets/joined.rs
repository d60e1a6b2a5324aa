//! Any two ends of one connection are joined as far as they can be. `cargo +nightly fuzz run joined`
#![no_main]

#[path = "../captures.rs"]
#[allow(dead_code, reason = "each target calls one of them")]
mod captures;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    captures::two_ends(bytes);
});
