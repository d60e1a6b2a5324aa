//! Any lines are rows of a table or an error. `RUSTC_BOOTSTRAP=1 cargo fuzz run rows`
#![no_main]

use pipefill_testkit::entries::records;

libfuzzer_sys::fuzz_target!(|text: &[u8]| { records::rows(text); });
