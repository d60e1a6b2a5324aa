//! Any datagrams are UDP flows with figures that can be. `RUSTC_BOOTSTRAP=1 cargo fuzz run datagrams`
#![no_main]

use pipefill_testkit::entries::captures;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    captures::datagrams(bytes);
});
