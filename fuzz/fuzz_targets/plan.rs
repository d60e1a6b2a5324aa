//! Any JSON is the plan of an `experiment.json` or an error. `RUSTC_BOOTSTRAP=1 cargo fuzz run plan`
#![no_main]

use pipefill_testkit::entries::scenarios;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| { scenarios::plan(bytes); });
