//! Any text is a scenario or an error that can be shown. `RUSTC_BOOTSTRAP=1 cargo fuzz run scenario`
#![no_main]

use pipefill_testkit::entries::scenarios;

libfuzzer_sys::fuzz_target!(|text: &str| scenarios::scenario(text));
