//! Any segments of one connection leave a state that can be. `RUSTC_BOOTSTRAP=1 cargo fuzz run segments`
#![no_main]

use pipefill_testkit::entries::captures;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    captures::segments(bytes);
});
