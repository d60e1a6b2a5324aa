//! All rules, one after the other; every problem is printed, not only the first.

use crate::workspace::Workspace;
use crate::{book, bpf, directions, key_reference, schemas, sources};

/// Checks everything.
///
/// # Errors
/// All problems, one a line.
pub(crate) fn run(workspace: &Workspace) -> Result<(), String> {
    let mut problems = directions::check(&workspace.crates);
    problems.extend(sources::check(workspace)?);
    problems.extend(key_reference::check(&workspace.root)?);
    problems.extend(schemas::check(&workspace.root)?);
    problems.extend(book::check(&workspace.root)?);
    problems.extend(bpf::check(&workspace.root)?);
    if !problems.is_empty() {
        return Err(format!("{}\nxtask check: problems: {}", problems.join("\n"), problems.len()));
    }
    println!("xtask check: {} crates, problems: none", workspace.crates.len());
    Ok(())
}
