//! What the program carries for its pages and pictures: script and style from `web/dist`, which `make web` fills, and a font. What is large is
//! packed (`src/carried.rs`). No network, no Node here.
//!
//! Without script and style the crate builds all the same, and says what to run: the pages that it makes then have tables and still pictures.
//! Never: a bundle made here, or one that is kept in the repository.

use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

const SCRIPT: &str = "page.js";
const STYLE: &str = "page.css";
/// What does for the style, unbuilt.
const STYLE_SOURCES: [&str; 3] = ["colours.css", "picture.css", "page.css"];

fn main() {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../..");
    let dist = root.join("web/dist");
    println!("cargo::rerun-if-changed={}", dist.display());
    let [script, style] = [SCRIPT, STYLE].map(|name| dist.join(name));
    let is_there = script.is_file() && style.is_file();
    let (script, style) = if is_there {
        (read(&script), read(&style))
    } else {
        println!(
            "cargo::warning=the report page's script is not built: pages will not be interactive; run: make web"
        );
        (String::new(), STYLE_SOURCES.map(|source| read(&root.join("web/src").join(source))).concat())
    };
    write(STYLE, style.as_bytes());
    write(&format!("{SCRIPT}.zlib"), &packed(script.as_bytes()));
    write("sans.ttf.zlib", &packed(dejavu::sans::regular()));
    write("sans-bold.ttf.zlib", &packed(dejavu::sans::bold()));
}

fn read(from: &Path) -> String {
    println!("cargo::rerun-if-changed={}", from.display());
    fs::read_to_string(from).unwrap_or_else(|error| panic!("{}: {error}", from.display()))
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::best());
    packer.write_all(bytes).and_then(|()| packer.finish()).unwrap_or_else(|error| panic!("packing: {error}"))
}

/// Writes a file for the crate's `include_bytes!`.
fn write(name: &str, bytes: &[u8]) {
    let to = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join(name);
    fs::write(&to, bytes).unwrap_or_else(|error| panic!("{}: {error}", to.display()));
}
