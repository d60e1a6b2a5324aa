//! Any bytes of the BPF ring are events or none. `RUSTC_BOOTSTRAP=1 cargo fuzz run events`
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    pipefill_lab::hostile::events(bytes);
});
