//! What hostile input is fed to: called by the fuzz targets, and by an ordinary test (`crates/core/tests/hostile.rs`), which needs
//! no nightly compiler. Any input is what it should be, or an error; never a panic.

use pipefill_core::record::{TcpSample, decode_manifest, decode_table, encode_table};
use pipefill_core::scenario::{Scenario, Style};
use pipefill_core::tcp_info;

/// The first line is a `--set`, the rest a scenario file. An error can be shown.
pub(crate) fn scenario(text: &str) {
    let (set, file) = text.split_once('\n').unwrap_or(("", text));
    match Scenario::parse(file, "fuzz.toml") {
        Ok(mut scenario) => {
            assert!(!scenario.plan().cells.is_empty());
            if let Err(error) = scenario.set(set) {
                error.render(Style::Plain);
            }
        }
        Err(error) => {
            error.render(Style::Coloured);
        }
    }
}

/// A kernel's `tcp_info`, a manifest, a table. What was read can be written, and read again.
pub(crate) fn records(bytes: &[u8]) {
    let _ = tcp_info::decode(bytes);
    let _ = decode_manifest(bytes);
    if let Ok(rows) = decode_table::<TcpSample>(bytes) {
        let mut again = Vec::new();
        encode_table(&rows, &mut again).expect("rows that were read can be written");
        assert_eq!(decode_table::<TcpSample>(&*again).expect("and read again"), rows);
    }
}
