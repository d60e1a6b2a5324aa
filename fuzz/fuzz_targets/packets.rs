//! Any packets are understood, or counted. `RUSTC_BOOTSTRAP=1 cargo fuzz run packets`
#![no_main]

use pipefill_testkit::entries::captures;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    captures::packets(bytes);
});
