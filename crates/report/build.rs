//! Where the report page's script and style are: `web/dist`, which `make web` fills. No network, no Node here.
//!
//! Without them the crate builds all the same, and says what to run: the pages that it makes then have tables and still pictures.
//! Never: a bundle made here, or one that is kept in the repository.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// The files, and the variables under which the crate finds their paths.
const FILES: [(&str, &str); 2] = [("page.js", "PIPEFILL_PAGE_JS"), ("page.css", "PIPEFILL_PAGE_CSS")];

fn main() {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../..");
    let dist = root.join("web/dist");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    println!("cargo::rerun-if-changed={}", dist.display());
    let is_there = FILES.iter().all(|(name, _)| dist.join(name).is_file());
    if !is_there {
        println!(
            "cargo::warning=the report page's script is not built: pages will not be interactive; run: make web"
        );
    }
    for (name, variable) in FILES {
        let from = dist.join(name);
        println!("cargo::rerun-if-changed={}", from.display());
        let to = out.join(name);
        place(is_there.then_some(from.as_path()), &root.join("web/src").join(name), &to);
        println!("cargo::rustc-env={variable}={}", to.display());
    }
}

/// The built file; else the source's, where it needs no building (the style); else an empty one.
fn place(built: Option<&Path>, source: &Path, to: &Path) {
    let from = built.or_else(|| Some(source).filter(|source| source.is_file()));
    let text = from.map_or_else(String::new, |from| {
        println!("cargo::rerun-if-changed={}", from.display());
        fs::read_to_string(from).unwrap_or_else(|error| panic!("{}: {error}", from.display()))
    });
    fs::write(to, text).unwrap_or_else(|error| panic!("{}: {error}", to.display()));
}
