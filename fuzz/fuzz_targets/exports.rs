//! Any record has a report in every form, or is refused. `RUSTC_BOOTSTRAP=1 cargo fuzz run exports`
#![no_main]

use pipefill_testkit::entries::exports;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| { exports::exports(bytes); });
