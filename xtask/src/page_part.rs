//! A part of a page that is written from the product's own tables: it stands between two lines.

use std::fs;
use std::path::Path;

/// Such a part.
pub(crate) struct PagePart {
    /// The page, relative to the workspace.
    pub(crate) page: &'static str,
    /// The line before it.
    pub(crate) begin: &'static str,
    /// The line after it.
    pub(crate) end: &'static str,
    /// What writes it: `cargo run -p xtask -- COMMAND`.
    pub(crate) command: &'static str,
}

impl PagePart {
    /// Writes `text` into the page.
    ///
    /// # Errors
    /// The page can't be read or written, or has no place for it.
    pub(crate) fn write(&self, root: &Path, text: &str) -> Result<(), String> {
        let new = self.updated(&self.read(root)?, text)?;
        fs::write(root.join(self.page), new).map_err(|error| format!("{}: {error}", self.page))
    }

    /// What is wrong with the page where it should have `text`.
    ///
    /// # Errors
    /// The page can't be read.
    pub(crate) fn check(&self, root: &Path, text: &str) -> Result<Vec<String>, String> {
        let old = self.read(root)?;
        Ok(match self.updated(&old, text) {
            Ok(new) if new == old => Vec::new(),
            Ok(_) => vec![format!("{} is out of date: cargo run -p xtask -- {}", self.page, self.command)],
            Err(problem) => vec![problem],
        })
    }

    fn read(&self, root: &Path) -> Result<String, String> {
        fs::read_to_string(root.join(self.page)).map_err(|error| format!("{}: {error}", self.page))
    }

    pub(crate) fn updated(&self, page: &str, text: &str) -> Result<String, String> {
        let Self { begin, end, .. } = self;
        let lost = || format!("{}: the part stands between two lines, {begin:?} and {end:?}", self.page);
        let (before, rest) = page.split_once(begin).ok_or_else(lost)?;
        let (_, after) = rest.split_once(end).ok_or_else(lost)?;
        Ok(format!("{before}{begin}{text}{end}{after}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PART: PagePart =
        PagePart { page: "page.md", begin: "<!-- a -->\n", end: "<!-- z -->", command: "a" };

    #[test]
    fn only_what_stands_between_the_lines_changes() {
        let page = "# Title\n<!-- a -->\nold\n<!-- z -->\nafter\n";
        assert_eq!(PART.updated(page, "new\n").unwrap(), page.replace("old", "new"));
        assert!(PART.updated("# Title\n", "").is_err());
    }
}
