//! Any file is read as far as it can be. `cargo +nightly fuzz run captures`
#![no_main]

use pipefill_testkit::entries::captures;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    captures::file(bytes);
});
