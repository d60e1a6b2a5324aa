//! All rules, one after the other; every problem is printed, not only the first. What is written from the product's own types is a
//! test, since it needs the product built.

use crate::workspace::Workspace;
use crate::{book, bpf, directions, sources};

/// Checks everything.
///
/// # Errors
/// All problems, one a line.
pub(crate) fn run(workspace: &Workspace) -> Result<(), String> {
    let mut problems = directions::check(&workspace.crates);
    problems.extend(sources::check(workspace)?);
    problems.extend(book::check(&workspace.root)?);
    problems.extend(bpf::check(&workspace.root)?);
    if !problems.is_empty() {
        return Err(format!("{}\nxtask check: problems: {}", problems.join("\n"), problems.len()));
    }
    println!("xtask check: {} crates, problems: none", workspace.crates.len());
    Ok(())
}

#[cfg(all(test, feature = "generated"))]
mod tests {
    use crate::workspace::Workspace;
    use crate::{key_reference, schemas};

    #[test]
    fn what_is_written_from_the_types_is_up_to_date() {
        let root = Workspace::load().unwrap().root;
        assert_eq!(key_reference::check(&root).unwrap(), [""; 0]);
        assert_eq!(schemas::check(&root).unwrap(), [""; 0]);
    }
}
