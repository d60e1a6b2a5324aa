//! Any bytes are another program's output or an error. `RUSTC_BOOTSTRAP=1 cargo fuzz run pasted`
#![no_main]

use pipefill_testkit::entries::pasted;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    pasted::output(bytes);
    pasted::context(bytes);
});
