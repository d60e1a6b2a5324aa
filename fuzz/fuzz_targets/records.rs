//! Any bytes are a record or an error. `cargo +nightly fuzz run records`
#![no_main]

#[path = "../entries/records.rs"]
#[allow(dead_code, reason = "each target calls one of them")]
mod entries;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    entries::records(bytes);
});
