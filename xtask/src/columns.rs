//! The tables of columns in `docs/records.md` against the schemas of the rows: every column is on the page, and no other.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const PAGE: &str = "docs/records.md";
const SCHEMAS: &str = "schemas";
/// What a table's heading ends with, behind its name.
const ENDING: &str = ".jsonl.zst`";
/// A file of whole documents, whose fields the page says in a sentence.
const WITHOUT_TABLE: &str = "summary";

/// Every column that is on one side alone.
///
/// # Errors
/// The page or a schema can't be read.
pub(crate) fn check(root: &Path) -> Result<Vec<String>, String> {
    let page = fs::read_to_string(root.join(PAGE)).map_err(|error| format!("{PAGE}: {error}"))?;
    let mut problems = Vec::new();
    for section in page.split("\n## `").skip(1) {
        let Some((heading, text)) = section.split_once('\n') else { continue };
        let Some(table) = heading.strip_suffix(ENDING).filter(|table| *table != WITHOUT_TABLE) else {
            continue;
        };
        let schema = format!("{SCHEMAS}/{table}.json");
        let schema_text =
            fs::read_to_string(root.join(&schema)).map_err(|error| format!("{schema}: {error}"))?;
        let known: Value =
            serde_json::from_str(&schema_text).map_err(|error| format!("{schema}: {error}"))?;
        let known: BTreeSet<&str> =
            known["properties"].as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
        let named = columns(text.split("\n## ").next().unwrap_or(text));
        problems
            .extend(known.difference(&named).map(|name| format!("{PAGE}: {table} lacks the column {name}")));
        problems.extend(named.difference(&known).map(|name| format!("{PAGE}: {table} has no column {name}")));
    }
    Ok(problems)
}

/// The names in backticks in the first cell of each line of a table.
fn columns(text: &str) -> BTreeSet<&str> {
    let cells = text.lines().filter(|line| line.starts_with("| `")).filter_map(|line| line.split('|').nth(1));
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect()
}

#[cfg(test)]
mod tests {
    use super::columns;

    #[test]
    fn columns_are_the_names_in_the_first_cell() {
        let text = "Rows of `x`.\n\n| column | type |\n| --- | --- |\n| `t_us`, `stream` | µs [`tcpi_x`] |\n| `end` | text |\n";
        assert_eq!(columns(text).into_iter().collect::<Vec<_>>(), ["end", "stream", "t_us"]);
    }
}
