//! The layers of `analysis`: each uses only those before it, in tests too.

use crate::modules::{Name, Tree};
use crate::workspace::Workspace;

const PACKAGE: &str = "pipefill-analysis";
/// From the bottom up.
const LAYERS: [&str; 4] = ["ground", "infer", "judge", "findings"];

/// Every path from a layer into a later one, and every module that belongs to none.
///
/// # Errors
/// A file that can't be read.
pub(crate) fn check(workspace: &Workspace) -> Result<Vec<String>, String> {
    let trees = workspace.trees()?.iter().filter(|tree| tree.package == PACKAGE);
    Ok(trees.flat_map(|tree| against(&LAYERS, tree)).collect())
}

fn against(layers: &[&str], tree: &Tree) -> Vec<String> {
    let layer_of = |module: usize| {
        let first = tree.modules[module].path.first()?;
        layers.iter().position(|layer| layer == first)
    };
    let mut problems = Vec::new();
    for (number, module) in tree.modules.iter().enumerate() {
        let Some(own) = layer_of(number) else {
            if !module.path.is_empty() {
                problems.push(format!("{}: {} belongs to no layer", module.file, tree.shown(number)));
            }
            continue;
        };
        let later = |name: &Name| {
            let named = tree.modules_of(number, &name.segments);
            named.into_iter().filter_map(layer_of).find(|&layer| layer > own)
        };
        problems.extend(module.names.iter().filter_map(|name| {
            let layer = later(name)?;
            Some(format!(
                "{}:{}: {} must not use {}, which is a later layer: {}",
                module.file,
                name.line,
                layers[own],
                layers[layer],
                name.segments.join("::")
            ))
        }));
    }
    problems.dedup();
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: (&str, &str) = ("lib.rs", "pub mod ground; pub mod infer; pub use infer::Shown;");

    fn problems(ground: &str, infer: &str) -> Vec<String> {
        let files = [ROOT, ("ground.rs", "pub mod deep;"), ("ground/deep.rs", ground), ("infer.rs", infer)];
        against(&["ground", "infer"], &Tree::of_texts("x", &files).unwrap())
    }

    #[test]
    fn a_later_layer_may_use_an_earlier_one() {
        let infer =
            "use crate::ground::deep::thing; pub struct Shown; fn f() { super::ground::deep::thing() }";
        assert_eq!(problems("pub fn thing() { self::other() } fn other() {}", infer), [""; 0]);
    }

    #[test]
    fn an_earlier_layer_must_not_use_a_later_one_however_it_is_named() {
        let infer = "pub struct Shown; pub mod low {}";
        for ground in [
            "use crate::infer::Shown;",
            "use super::super::infer::low;",
            "use crate::Shown;",
            "use crate::{infer as later};",
            "fn f() -> Option<crate::infer::Shown> { None }",
            "fn f() { assert!(crate::infer::Shown) }",
            "#[cfg(test)] mod tests { use crate::infer::Shown; }",
        ] {
            let told = problems(ground, infer);
            assert_eq!(told.len(), 1, "{ground}: {told:?}");
            let start = "ground/deep.rs:1: ground must not use infer, which is a later layer: ";
            assert!(told[0].starts_with(start), "{told:?}");
        }
    }

    #[test]
    fn an_earlier_layer_must_not_name_what_a_later_one_has_from_it() {
        let told = problems(
            "pub struct Own; use crate::infer::Own as Again;",
            "pub use crate::ground::deep::Own; pub struct Shown;",
        );
        assert_eq!(told.len(), 1, "{told:?}");
    }

    #[test]
    fn every_module_belongs_to_a_layer() {
        let tree = Tree::of_texts("x", &[("lib.rs", "mod odd;"), ("odd.rs", "")]).unwrap();
        assert_eq!(against(&LAYERS, &tree), ["odd.rs: crate::odd belongs to no layer"]);
    }
}
