//! Any packets are understood, or counted. `cargo +nightly fuzz run packets`
#![no_main]

use pipefill_testkit::entries::captures;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    captures::packets(bytes);
});
