//! Any file is read as far as it can be. `RUSTC_BOOTSTRAP=1 cargo fuzz run captures`
#![no_main]

use pipefill_testkit::entries::captures;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    captures::file(bytes);
});
