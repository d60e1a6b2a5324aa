//! Any bytes on a control connection are iperf3's protocol or an error. `RUSTC_BOOTSTRAP=1 cargo fuzz run iperf3`
#![no_main]

use pipefill_testkit::entries::iperf3;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    iperf3::document(bytes);
    iperf3::states(bytes);
    iperf3::first(bytes);
});
