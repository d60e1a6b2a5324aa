//! Any bytes are a record or an error; never a panic. `cargo +nightly fuzz run records`
#![no_main]

use libfuzzer_sys::fuzz_target;
use pipefill_core::record::{TcpSample, decode_manifest, decode_table, encode_table};
use pipefill_core::tcp_info;

fuzz_target!(|bytes: &[u8]| {
    let _ = tcp_info::decode(bytes);
    let _ = decode_manifest(bytes);
    if let Ok(rows) = decode_table::<TcpSample>(bytes) {
        let mut again = Vec::new();
        encode_table(&rows, &mut again).expect("rows that were read can be written");
        assert_eq!(decode_table::<TcpSample>(&*again).expect("and read again"), rows);
    }
});
