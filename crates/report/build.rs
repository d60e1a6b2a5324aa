//! Where the report page's script and style are: `web/dist`, which `make web` fills. No network, no Node here.
//!
//! Without them the crate builds all the same, and says what to run: the pages that it makes then have tables and still pictures.
//! Never: a bundle made here, or one that is kept in the repository.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// A file of the page: its name, the variable under which the crate finds it, and the sources that do for it unbuilt.
type File = (&'static str, &'static str, &'static [&'static str]);

const FILES: [File; 2] = [
    ("page.js", "PIPEFILL_PAGE_JS", &[]),
    ("page.css", "PIPEFILL_PAGE_CSS", &["colours.css", "picture.css", "page.css"]),
];

fn main() {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../..");
    let dist = root.join("web/dist");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    println!("cargo::rerun-if-changed={}", dist.display());
    let is_there = FILES.iter().all(|(name, ..)| dist.join(name).is_file());
    if !is_there {
        println!(
            "cargo::warning=the report page's script is not built: pages will not be interactive; run: make web"
        );
    }
    for (name, variable, sources) in FILES {
        let built = dist.join(name);
        println!("cargo::rerun-if-changed={}", built.display());
        let text = if is_there {
            read(&built)
        } else {
            sources.iter().map(|source| read(&root.join("web/src").join(source))).collect()
        };
        let to = out.join(name);
        fs::write(&to, text).unwrap_or_else(|error| panic!("{}: {error}", to.display()));
        println!("cargo::rustc-env={variable}={}", to.display());
    }
}

fn read(from: &Path) -> String {
    println!("cargo::rerun-if-changed={}", from.display());
    fs::read_to_string(from).unwrap_or_else(|error| panic!("{}: {error}", from.display()))
}
