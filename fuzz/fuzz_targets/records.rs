//! Any bytes are a record or an error. `RUSTC_BOOTSTRAP=1 cargo fuzz run records`
#![no_main]

use pipefill_testkit::entries::records;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    records::records(bytes);
});
