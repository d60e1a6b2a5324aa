//! Any segments of one connection leave a state that can be. `cargo +nightly fuzz run segments`
#![no_main]

#[path = "../captures.rs"]
#[allow(dead_code, reason = "each target calls one of them")]
mod captures;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    captures::segments(bytes);
});
