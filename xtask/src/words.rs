//! How many words people have to write, read and keep right under `docs/`: at most [`MOST`].
//!
//! Never counted: what a program wrote or a measurement gave, code and its output in fences, the table of contents.

use std::fs;
use std::path::Path;
use walkdir::WalkDir;

/// Words of written text in all pages together.
const MOST: usize = 60_000;
const FOLDER: &str = "docs";
/// Pages that a program writes as a whole, and the table of contents.
const NOT_WRITTEN: [&str; 2] = ["accuracy.md", "SUMMARY.md"];
/// The report of a study, which `make figures` writes.
const REPORT: &str = "report.md";
/// Pages of dated measurements: their tables are results.
const RESULTS: [&str; 2] = ["held-out.md", "performance.md"];
/// Parts between `<!-- NAME: … -->` and `<!-- end of NAME -->` that are written by a program, held to the code by a test, or results.
const PARTS: [&str; 6] = ["catalogue", "columns", "keys", "result", "rules", "thresholds"];

/// What is wrong: too many words, or a part without its end.
///
/// # Errors
/// A page can't be read.
pub(crate) fn check(root: &Path) -> Result<Vec<String>, String> {
    let (mut count, mut problems) = (0, Vec::new());
    for entry in WalkDir::new(root.join(FOLDER)).sort_by_file_name() {
        let entry = entry.map_err(|error| error.to_string())?;
        let name = entry.file_name().to_string_lossy();
        if !name.ends_with(".md") || name == REPORT || NOT_WRITTEN.contains(&&*name) {
            continue;
        }
        let page = entry.path().strip_prefix(root).unwrap_or(entry.path()).display().to_string();
        let text = fs::read_to_string(entry.path()).map_err(|error| format!("{page}: {error}"))?;
        match written(&text, RESULTS.contains(&&*name)) {
            Ok(words) => count += words,
            Err(problem) => problems.push(format!("{page}: {problem}")),
        }
    }
    if count > MOST {
        problems.push(format!(
            "{FOLDER}/ has {count} words of written text, and {MOST} are the most: say each thing once, and leave out what is history"
        ));
    }
    Ok(problems)
}

/// The words of a page's written text. Tables are results where the page has `tables_of_results`.
///
/// # Errors
/// A part that has no end.
fn written(text: &str, tables_of_results: bool) -> Result<usize, String> {
    let (mut count, mut part, mut is_code) = (0, None, false);
    for line in text.lines() {
        if let Some(name) = part {
            if line == format!("<!-- end of {name} -->") {
                part = None;
            }
        } else if let Some(name) = beginning(line) {
            part = Some(name);
        } else if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else {
            let is_result = tables_of_results && line.starts_with('|');
            if !is_code && !is_result {
                count += line.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count();
            }
        }
    }
    part.map_or(Ok(count), |name| Err(format!("there is no line <!-- end of {name} -->")))
}

/// The part that begins with this line.
fn beginning(line: &str) -> Option<&'static str> {
    let name = line.strip_prefix("<!-- ")?.split(':').next()?;
    PARTS.into_iter().find(|part| *part == name)
}

#[cfg(test)]
mod tests {
    use super::written;

    const PAGE: &str = "# A title\n\nFive words, – with a\ndash.\n\n```sh\nnot this line\n```\n| one | two |\n| --- | --- |\n\n\
                        <!-- result: by hand -->\n| 1 | 2 |\n<!-- end of result -->\nthe end\n";

    #[test]
    fn text_and_tables_count_without_code_and_results() {
        assert_eq!(written(PAGE, false), Ok(11));
        assert_eq!(written(PAGE, true), Ok(9));
    }

    #[test]
    fn a_part_needs_its_end() {
        assert!(written("<!-- keys: written -->\n| a |\n", false).unwrap_err().contains("end of keys"));
    }
}
