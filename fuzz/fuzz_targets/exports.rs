//! Any record has a report in every form, or is refused. `cargo +nightly fuzz run exports`
#![no_main]

use pipefill_testkit::entries::exports;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| { exports::exports(bytes); });
