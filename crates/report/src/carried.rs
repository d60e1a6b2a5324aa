//! What the program carries for its pages and pictures, packed by `build.rs`: a third of what it is unpacked.

use flate2::read::ZlibDecoder;
use std::io::Read;
use std::sync::LazyLock;

/// The bundle of `web/`; empty where it was not built.
pub(crate) static SCRIPT: LazyLock<String> =
    LazyLock::new(|| String::from_utf8(unpacked(PACKED_SCRIPT)).unwrap_or_default());

const PACKED_SCRIPT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/page.js.zlib"));
#[cfg(feature = "png")]
const SANS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/sans.ttf.zlib"));
#[cfg(feature = "png")]
const SANS_BOLD: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/sans-bold.ttf.zlib"));

/// DejaVu Sans, regular and bold: the files of the fonts.
#[cfg(feature = "png")]
pub(crate) fn fonts() -> [Vec<u8>; 2] {
    [SANS, SANS_BOLD].map(unpacked)
}

fn unpacked(packed: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    // `build.rs` packed it: there is nothing in it that could not be read.
    let _whole = ZlibDecoder::new(packed).read_to_end(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_packed_is_whole() {
        assert_eq!(fonts(), [dejavu::sans::regular(), dejavu::sans::bold()]);
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/dist/page.js");
        assert_eq!(*SCRIPT, std::fs::read_to_string(script).unwrap_or_default());
    }
}
