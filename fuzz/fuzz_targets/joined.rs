//! Any two ends of one connection are joined as far as they can be. `RUSTC_BOOTSTRAP=1 cargo fuzz run joined`
#![no_main]

use pipefill_testkit::entries::captures;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    captures::two_ends(bytes);
});
