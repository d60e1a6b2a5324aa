//! Any bytes are a record or an error. `cargo +nightly fuzz run records`
#![no_main]

use pipefill_testkit::entries::records;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    records::records(bytes);
});
