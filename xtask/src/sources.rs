//! What every source file has to obey: size, a first line that says why it exists, names of folders, where `unsafe` may stand.
//!
//! These rules look at text, not at syntax; the compiler's own lints judge. Every rule has a test that breaks it.

use crate::workspace::{Crate, Workspace};
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use walkdir::WalkDir;

/// More lines than this in one file are a second file.
const LINES_MAX: usize = 800;
/// Names that say nothing about what is inside.
const EMPTY_NAMES: [&str; 6] = ["util", "utils", "common", "helper", "helpers", "misc"];
/// Not ours, or generated.
const FOREIGN_FOLDERS: [&str; 4] = ["target", ".git", "node_modules", "corpus"];
/// The crate whose business the machine is.
const LAB: &str = "pipefill-lab";
/// The only place where `unsafe` may be allowed.
const UNSAFE_FOLDER: &str = "crates/lab/src/sys/";

/// A Rust file; its path is relative to the workspace, with `/`.
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Everything that is wrong with the sources.
///
/// # Errors
/// A folder or file that can't be read.
pub(crate) fn check(workspace: &Workspace) -> Result<Vec<String>, String> {
    let sources = read(&workspace.root)?;
    let mut problems = folder_names(&folders(&workspace.root)?);
    for source in &sources {
        problems.extend(size(source));
        problems.extend(purpose(source));
        problems.extend(allows_unsafe(source));
    }
    problems.extend(forbids_unsafe(&workspace.crates, &sources));
    Ok(problems)
}

/// Every Rust file of ours.
///
/// # Errors
/// A folder or file that can't be read.
pub(crate) fn read(root: &Path) -> Result<Vec<Source>, String> {
    let mut sources = Vec::new();
    for entry in walk(root) {
        let entry = entry.map_err(|error| error.to_string())?;
        if entry.path().extension() == Some(OsStr::new("rs")) {
            let text = fs::read_to_string(entry.path())
                .map_err(|error| format!("{}: {error}", entry.path().display()))?;
            sources.push(Source { path: relative(root, entry.path()), text });
        }
    }
    Ok(sources)
}

fn folders(root: &Path) -> Result<Vec<String>, String> {
    let mut folders = Vec::new();
    for entry in walk(root) {
        let entry = entry.map_err(|error| error.to_string())?;
        if entry.file_type().is_dir() {
            folders.push(relative(root, entry.path()));
        }
    }
    Ok(folders)
}

fn walk(root: &Path) -> impl Iterator<Item = walkdir::Result<walkdir::DirEntry>> {
    let is_ours = |entry: &walkdir::DirEntry| {
        entry.depth() == 0 || !FOREIGN_FOLDERS.iter().any(|name| entry.file_name() == *name)
    };
    WalkDir::new(root).sort_by_file_name().into_iter().filter_entry(is_ours)
}

/// `path` below `root`, with `/`.
pub(crate) fn relative(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

fn size(source: &Source) -> Option<String> {
    let lines = source.text.lines().count();
    (lines > LINES_MAX).then(|| format!("{}: {lines} lines, and {LINES_MAX} are too many", source.path))
}

/// A module says in its first line why it exists; unit tests in a file of their own need not.
fn purpose(source: &Source) -> Option<String> {
    let has_purpose = source.text.starts_with("//!") || source.path.ends_with("/tests.rs");
    (!has_purpose).then(|| format!("{}: the first line has to say why it exists (//! …)", source.path))
}

fn folder_names(folders: &[String]) -> Vec<String> {
    let is_empty = |folder: &&String| EMPTY_NAMES.contains(&folder.rsplit('/').next().unwrap_or(folder));
    let problem = |folder: &String| format!("{folder}/: a folder is called by what is inside");
    folders.iter().filter(is_empty).map(problem).collect()
}

fn allows_unsafe(source: &Source) -> Option<String> {
    let allows = ["allow(unsafe_code", "expect(unsafe_code", "warn(unsafe_code"]
        .iter()
        .any(|word| code(source).any(|(_, line)| line.contains(word)));
    (allows && !source.path.starts_with(UNSAFE_FOLDER) && !source.path.starts_with("xtask/"))
        .then(|| format!("{}: unsafe code may stand in {UNSAFE_FOLDER} only", source.path))
}

fn forbids_unsafe(crates: &[Crate], sources: &[Source]) -> Vec<String> {
    let roots = crates.iter().filter(|each| each.name != LAB).flat_map(|each| &each.roots);
    let forbids = |root: &str| {
        let source = sources.iter().find(|source| source.path == root);
        source.is_some_and(|source| code(source).any(|(_, line)| line == "#![forbid(unsafe_code)]"))
    };
    roots
        .filter(|root| !forbids(root))
        .map(|root| format!("{root}: has to begin with #![forbid(unsafe_code)]"))
        .collect()
}

/// Trimmed lines that aren't comments, with their numbers from 1.
fn code(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(source.text.lines().map(str::trim)).filter(|(_, line)| !line.starts_with("//"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn a_file_may_have_eight_hundred_lines_and_no_more() {
        assert_eq!(size(&source("a.rs", &"//! x\n".repeat(LINES_MAX))), None);
        assert!(size(&source("a.rs", &"//! x\n".repeat(LINES_MAX + 1))).is_some());
    }

    #[test]
    fn a_file_says_why_it_exists() {
        assert_eq!(purpose(&source("a/b.rs", "//! Why.\n")), None);
        assert_eq!(purpose(&source("a/tests.rs", "use super::*;\n")), None);
        assert!(purpose(&source("a/b.rs", "fn main() {}\n")).is_some());
    }

    #[test]
    fn a_folder_of_leftovers_shows() {
        let folders = ["crates/core/src", "crates/core/src/utils", "common"].map(str::to_owned);
        assert_eq!(folder_names(&folders).len(), 2);
    }

    #[test]
    fn unsafe_is_allowed_in_one_folder() {
        let text = "//! Why.\n#![allow(unsafe_code)]\n";
        assert_eq!(allows_unsafe(&source("crates/lab/src/sys/packet.rs", text)), None);
        assert!(allows_unsafe(&source("crates/lab/src/clock.rs", text)).is_some());
        assert_eq!(allows_unsafe(&source("crates/core/src/a.rs", "// allow(unsafe_code)\n")), None);
    }

    #[test]
    fn every_crate_but_the_lab_forbids_unsafe() {
        let package = |name: &str, root: &str| Crate {
            name: name.to_owned(),
            dependencies: std::collections::BTreeSet::new(),
            test_dependencies: std::collections::BTreeSet::new(),
            roots: vec![root.to_owned()],
        };
        let crates = [package("core", "core.rs"), package("cli", "cli.rs"), package(LAB, "lab.rs")];
        let sources = [
            source("core.rs", "//! Why.\n#![forbid(unsafe_code)]\n"),
            source("cli.rs", "//! Why.\n// #![forbid(unsafe_code)]\n"),
            source("lab.rs", "//! Why.\n"),
        ];
        assert_eq!(forbids_unsafe(&crates, &sources), ["cli.rs: has to begin with #![forbid(unsafe_code)]"]);
    }
}
