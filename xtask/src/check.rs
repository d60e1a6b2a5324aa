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

/// Checks the `names`d rules, all where there is no name. Prints the problems of each, then a line with its name: `words: problems: 2`. Returns the
/// exit code.
///
/// # Errors
/// The rules that have problems; a rule that is not known; a file that can't be read.
pub(crate) fn run(workspace: &Workspace, names: &[String]) -> Result<u8, String> {
    let (mut broken, mut code) = (Vec::new(), OK);
    for (name, rule) in chosen(names)? {
        match rule(workspace)? {
            Outcome::Problems(found) if found.is_empty() => println!("{name}: no problems"),
            Outcome::Problems(found) => {
                println!("{}\n{name}: problems: {}", found.join("\n"), found.len());
                broken.push(name);
            }
            Outcome::CannotLook(why) => {
                println!("{name}: not checked: {why}");
                code = CANNOT_LOOK;
            }
        }
    }
    if broken.is_empty() { Ok(code) } else { Err(format!("xtask check: problems of {}", broken.join(", "))) }
}

fn chosen(names: &[String]) -> Result<Vec<(&'static str, Rule)>, String> {
    let find = |name: &String| RULES.iter().copied().find(|(known, _)| known == name);
    if names.is_empty() {
        return Ok(RULES.to_vec());
    }
    names.iter().map(|name| find(name).ok_or_else(|| format!("there is no rule {name:?}"))).collect()
}
