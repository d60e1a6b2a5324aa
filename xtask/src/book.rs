//! The pages under `docs/` as one book: each is in its summary, every link between files leads to one, and the files that ARCHITECTURE.md
//! names exist. Web addresses are not followed.

use std::fs;
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// The book's folder, and its table of contents.
const FOLDER: &str = "docs";
const SUMMARY: &str = "docs/SUMMARY.md";
const ARCHITECTURE: &str = "ARCHITECTURE.md";
/// Pages beside it whose links are looked at too.
const OTHERS: [&str; 3] = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"];

/// Everything that is wrong with them.
///
/// # Errors
/// A page that can't be read.
pub(crate) fn check(root: &Path) -> Result<Vec<String>, String> {
    let pages = pages(root)?;
    let summary = read(root, SUMMARY)?;
    let listed: Vec<PathBuf> = links(&summary).map(|link| Path::new(FOLDER).join(link)).collect();
    let is_missing = |page: &&PathBuf| page.as_path() != Path::new(SUMMARY) && !listed.contains(page);
    let mut problems: Vec<String> = pages
        .iter()
        .filter(is_missing)
        .map(|page| format!("{} is not in {SUMMARY}", page.display()))
        .collect();
    for page in pages.iter().cloned().chain(OTHERS.map(PathBuf::from)) {
        let text = read(root, &page.to_string_lossy())?;
        problems.extend(dead_links(root, &page, &text));
    }
    problems.extend(missing_files(root, &read(root, ARCHITECTURE)?));
    Ok(problems)
}

/// Files and folders that `text` names in backticks and that do not exist: relative to the workspace or to `crates/`.
fn missing_files(root: &Path, text: &str) -> Vec<String> {
    let prose = text.split("```").step_by(2);
    let quoted = prose.flat_map(|part| part.split('`').skip(1).step_by(2));
    let is_path = |word: &&str| {
        let (folder, _) = word.split_once('/').unwrap_or(("", ""));
        !word.contains([' ', '*', '{'])
            && !folder.is_empty()
            && (root.join(folder).is_dir() || root.join("crates").join(folder).is_dir())
    };
    let is_missing = |word: &&str| {
        let path = word.replace("NAME", "rtt");
        !root.join(&path).exists() && !root.join("crates").join(&path).exists()
    };
    quoted
        .filter(is_path)
        .filter(is_missing)
        .map(|word| format!("{ARCHITECTURE}: there is no {word}"))
        .collect()
}

/// Every page of the folder, relative to the workspace.
fn pages(root: &Path) -> Result<Vec<PathBuf>, String> {
    let mut pages = Vec::new();
    for entry in WalkDir::new(root.join(FOLDER)).sort_by_file_name() {
        let entry = entry.map_err(|error| error.to_string())?;
        if entry.path().extension().is_some_and(|extension| extension == "md") {
            pages.push(entry.path().strip_prefix(root).unwrap_or(entry.path()).to_owned());
        }
    }
    Ok(pages)
}

fn read(root: &Path, page: &str) -> Result<String, String> {
    fs::read_to_string(root.join(page)).map_err(|error| format!("{page}: {error}"))
}

fn dead_links(root: &Path, page: &Path, text: &str) -> Vec<String> {
    let folder = root.join(page.parent().unwrap_or(Path::new("")));
    let is_dead = |link: &&str| !folder.join(link).exists();
    links(text).filter(is_dead).map(|link| format!("{}: there is no {link}", page.display())).collect()
}

/// The files that Markdown's links name, without the place in them; no addresses of elsewhere, nothing in a block of code.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let prose = text.split("```").step_by(2);
    let targets = prose.flat_map(|part| part.split("](").skip(1)).filter_map(|rest| rest.split(')').next());
    let files = targets.map(|target| target.split('#').next().unwrap_or(target));
    files.filter(|file| !file.is_empty() && !file.contains(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_files_of_ours() {
        let text =
            "[a](x.md) [b](y/z.md#there) [c](#here) [d](https://e.org/f)\n```\n[g](code.md)\n```\n[h](i.md)";
        assert_eq!(links(text).collect::<Vec<_>>(), ["x.md", "y/z.md", "i.md"]);
    }

    #[test]
    fn a_file_that_moved_is_found() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let text = "`core/src/cell.rs`, `docs/adr/`, `rate = \"1/2\"`, `a/b`, `report/src/gone/`\n```\n`core/src/x.rs`\n```\n";
        assert_eq!(missing_files(&root, text), ["ARCHITECTURE.md: there is no report/src/gone/"]);
    }

    #[test]
    fn a_link_to_nowhere_is_told_with_its_page() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let problems =
            dead_links(root, Path::new("src/page.md"), "[a](book.rs) [b](../Cargo.toml) [c](gone.rs)");
        assert_eq!(problems, ["src/page.md: there is no gone.rs"]);
    }
}
