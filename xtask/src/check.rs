//! All rules, one after the other; every problem is printed, not only the first.

use crate::rule::{Outcome, Rule};
use crate::workspace::Workspace;
use crate::{book, bpf, circles, columns, directions, layers, literals, names, purity, sources, words};

const RULES: &[(&str, Rule)] = &[
    ("directions", |workspace| Ok(Outcome::Problems(directions::check(&workspace.crates)))),
    ("sources", |workspace| sources::check(workspace).map(Outcome::Problems)),
    ("purity", |workspace| purity::check(workspace).map(Outcome::Problems)),
    ("layers", |workspace| layers::check(workspace).map(Outcome::Problems)),
    ("circles", |workspace| circles::check(workspace).map(Outcome::Problems)),
    ("literals", |workspace| literals::check(workspace).map(Outcome::Problems)),
    ("book", |workspace| book::check(&workspace.root).map(Outcome::Problems)),
    ("columns", |workspace| columns::check(&workspace.root).map(Outcome::Problems)),
    ("words", |workspace| words::check(&workspace.root).map(Outcome::Problems)),
    ("names", |workspace| names::check(workspace).map(Outcome::Problems)),
    ("bpf", |workspace| bpf::check(&workspace.root)),
    #[cfg(feature = "generated")]
    ("generated", |workspace| {
        let root = &workspace.root;
        let problems = [
            crate::key_reference::check(root)?,
            crate::rule_reference::check(root)?,
            crate::schemas::check(root)?,
            crate::scenario_schema::check(root)?,
        ];
        Ok(Outcome::Problems(problems.concat()))
    }),
];

/// Nothing is wrong, as far as this machine could look.
const OK: u8 = 0;
/// This machine lacks what a rule needs; nothing is wrong with the others.
const CANNOT_LOOK: u8 = 3;

/// Checks the `names`d rules, all where there is no name. Returns the exit code.
///
/// # Errors
/// All problems, one a line; a rule that is not known.
pub(crate) fn run(workspace: &Workspace, names: &[String]) -> Result<u8, String> {
    let (mut problems, mut code) = (Vec::new(), OK);
    for (name, rule) in chosen(names)? {
        match rule(workspace)? {
            Outcome::Problems(found) => problems.extend(found),
            Outcome::CannotLook(why) => {
                println!("{name} is not checked: {why}");
                code = CANNOT_LOOK;
            }
        }
    }
    if !problems.is_empty() {
        return Err(format!("{}\nxtask check: problems: {}", problems.join("\n"), problems.len()));
    }
    println!("xtask check: {} crates, problems: none", workspace.crates.len());
    Ok(code)
}

fn chosen(names: &[String]) -> Result<Vec<(&'static str, Rule)>, String> {
    let find = |name: &String| RULES.iter().copied().find(|(known, _)| known == name);
    if names.is_empty() {
        return Ok(RULES.to_vec());
    }
    names.iter().map(|name| find(name).ok_or_else(|| format!("there is no rule {name:?}"))).collect()
}
