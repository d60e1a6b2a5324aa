//! Any bytes in place of our own server's telemetry, clock or proof are that or nothing. `RUSTC_BOOTSTRAP=1 cargo fuzz run far_end`
#![no_main]

use pipefill_testkit::entries::far_end;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    far_end::telemetry(bytes);
    far_end::clock(bytes);
    far_end::proof(bytes);
});
