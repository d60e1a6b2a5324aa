//! The catalogue's result in `docs/guide/verdicts.md`, written from what `pipefill catalogue` prints.
//!
//! Never: a result that was not measured just now, or one with a wrong verdict in it.

use std::fs;
use std::path::Path;
use std::process::Command;

/// The page, relative to the workspace.
const PAGE: &str = "docs/guide/verdicts.md";
const BEGIN: &str = "<!-- catalogue: written by `cargo run -p xtask -- catalogue` -->\n";
const END: &str = "<!-- end of catalogue -->";

/// Runs the catalogue in the simulator and writes what it prints into the page.
///
/// # Errors
/// A verdict is wrong, or the page can't be written or has no place for it.
pub(crate) fn write(root: &Path) -> Result<(), String> {
    let result = measure(root)?;
    let old = fs::read_to_string(root.join(PAGE)).map_err(|error| format!("{PAGE}: {error}"))?;
    fs::write(root.join(PAGE), updated(&old, &result)?).map_err(|error| format!("{PAGE}: {error}"))
}

fn measure(root: &Path) -> Result<String, String> {
    let records = root.join("target/catalogue");
    let _ = fs::remove_dir_all(&records);
    let output = Command::new("cargo")
        .args(["run", "-q", "-p", "pipefill", "--", "catalogue", "--on", "sim", "--quiet", "--out"])
        .arg(&records)
        .current_dir(root)
        .output()
        .map_err(|error| format!("cargo: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    Err(format!("{text}{}", String::from_utf8_lossy(&output.stderr)))
}

fn updated(page: &str, result: &str) -> Result<String, String> {
    let lost = || format!("{PAGE}: the catalogue stands between two lines, {BEGIN:?} and {END:?}");
    let (before, rest) = page.split_once(BEGIN).ok_or_else(lost)?;
    let (_, after) = rest.split_once(END).ok_or_else(lost)?;
    Ok(format!("{before}{BEGIN}\n{result}\n{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stands_between_the_lines_changes() {
        let page = format!("# Title\n{BEGIN}old\n{END}\nafter\n");
        let new = updated(&page, "| new |\n").expect("the page has both lines");
        assert!(new.starts_with("# Title\n") && new.ends_with(&format!("{END}\nafter\n")), "{new}");
        assert!(new.contains("| new |") && !new.contains("old"), "{new}");
        assert!(updated("# Title\n", "").is_err());
    }
}
