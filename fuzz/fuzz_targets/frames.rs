//! Any packet of the ring is cut without a byte lost. `RUSTC_BOOTSTRAP=1 cargo fuzz run frames`
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pipefill_lab::hostile::frame(bytes));
