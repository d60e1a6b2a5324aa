//! What hostile records are fed to: called by the fuzz targets, and by an ordinary test (`crates/store/tests/store/hostile.rs`), which needs no
//! nightly compiler. Any input is what it should be, or an error; never a panic.

use pipefill_core::record::{
    AqmSample, CpuSample, DatagramSample, DeliverySample, PacketSample, PathSample, PingSample, Retransmit,
    TcpSample, UdpSample,
};
use pipefill_core::tcp_info;
use pipefill_rows::Line;
use pipefill_store::{decode_manifest, decode_table, encode_manifest, encode_table};

/// A kernel's `tcp_info`, a manifest, a table of any kind. What was read can be written, and read again.
pub fn records(bytes: &[u8]) -> usize {
    let _ = tcp_info::decode(bytes);
    if let Ok(manifest) = decode_manifest(bytes) {
        let mut again = Vec::new();
        encode_manifest(&manifest, &mut again).expect("a manifest that was read can be written");
        assert_eq!(decode_manifest(&*again).expect("and read again"), manifest);
    }
    table::<TcpSample>(bytes)
        + table::<DeliverySample>(bytes)
        + table::<UdpSample>(bytes)
        + table::<PingSample>(bytes)
        + table::<PathSample>(bytes)
        + table::<CpuSample>(bytes)
        + table::<Retransmit>(bytes)
        + table::<PacketSample>(bytes)
        + table::<DatagramSample>(bytes)
        + table::<AqmSample>(bytes)
}

/// The lines of a table before they are compressed, so that the parser of rows is reached; how many rows of all kinds it reads.
pub fn rows(text: &[u8]) -> usize {
    records(&zstd::encode_all(text, 1).expect("there is memory for it"))
}

fn table<R: Line + PartialEq + std::fmt::Debug>(bytes: &[u8]) -> usize {
    let Ok(rows) = decode_table::<R>(bytes) else { return 0 };
    let mut again = Vec::new();
    encode_table(&rows, &mut again).expect("rows that were read can be written");
    assert_eq!(decode_table::<R>(&*again).expect("and read again"), rows);
    rows.len()
}
