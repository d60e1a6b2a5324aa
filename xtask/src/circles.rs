//! Circles of modules: siblings that use each other, themselves or through what is below them. A module and what is below it may.
//!
//! Unit tests are left out: what a test uses is not needed by what it tests.

use crate::modules::Tree;
use crate::workspace::Workspace;
use std::collections::{BTreeMap, BTreeSet};

/// A circle that stays, and why.
struct Exception {
    package: &'static str,
    /// The modules as they are reported; a circle of some of them is allowed too.
    modules: &'static [&'static str],
    reason: &'static str,
}

/// A type with many mechanisms: each file has the state of one, and the type's functions for it.
const ONE_TYPE: &str = "one type, whose functions are in several files";
#[rustfmt::skip]
const EXCEPTIONS: &[Exception] = &[
    Exception { package: "pipefill-sim", reason: ONE_TYPE, modules: &[
        "crate::tcp::ack_policy", "crate::tcp::receive_window", "crate::tcp::receiver",
    ] },
    Exception { package: "pipefill-sim", reason: ONE_TYPE, modules: &[
        "crate::tcp::process", "crate::tcp::rack", "crate::tcp::rate", "crate::tcp::send_queue", "crate::tcp::sender",
        "crate::tcp::sender_trace", "crate::tcp::timers",
    ] },
    Exception { package: "pipefill-store", reason: "the crate's one error holds the others' types, and their functions return it", modules: &[
        "crate::damage", "crate::error", "crate::owner",
    ] },
];

/// Modules of one parent that use each other.
struct Circle {
    package: String,
    modules: BTreeSet<String>,
    /// One place for each edge.
    edges: Vec<String>,
}

/// Who uses whom below one parent, with the first place.
type Edges = BTreeMap<(usize, usize), String>;

/// Every circle that is no exception, and every exception that nothing needs.
///
/// # Errors
/// A file that can't be read.
pub(crate) fn check(workspace: &Workspace) -> Result<Vec<String>, String> {
    Ok(against(EXCEPTIONS, workspace.trees()?))
}

fn against(exceptions: &[Exception], trees: &[Tree]) -> Vec<String> {
    let circles: Vec<Circle> = trees.iter().flat_map(circles).collect();
    let allows = |exception: &Exception, circle: &Circle| {
        exception.package == circle.package
            && circle.modules.iter().all(|module| exception.modules.contains(&module.as_str()))
    };
    let mut problems = Vec::new();
    for circle in
        circles.iter().filter(|circle| !exceptions.iter().any(|exception| allows(exception, circle)))
    {
        let modules: Vec<&str> = circle.modules.iter().map(String::as_str).collect();
        problems.push(format!("{}: a circle of modules: {}", circle.package, modules.join(", ")));
        problems.extend(circle.edges.iter().map(|edge| format!("    {edge}")));
    }
    for exception in exceptions {
        let allowed = circles.iter().filter(|circle| allows(exception, circle));
        let members: BTreeSet<&str> =
            allowed.flat_map(|circle| circle.modules.iter().map(String::as_str)).collect();
        let gone: Vec<&str> =
            exception.modules.iter().copied().filter(|module| !members.contains(module)).collect();
        if !gone.is_empty() {
            problems.push(format!(
                "xtask/src/circles.rs: {}: in no circle any more: {}; shorten the exception ({})",
                exception.package,
                gone.join(", "),
                exception.reason
            ));
        }
    }
    problems
}

fn circles(tree: &Tree) -> Vec<Circle> {
    edges(tree).values().flat_map(|edges| circles_of(tree, edges)).collect()
}

/// By parent: which of its children, or what is below them, uses which other.
fn edges(tree: &Tree) -> BTreeMap<usize, Edges> {
    let mut found: BTreeMap<usize, Edges> = BTreeMap::new();
    for (number, module) in tree.modules.iter().enumerate().filter(|(_, module)| !module.is_test) {
        // What is written again leads to the same modules.
        let mut written = BTreeSet::new();
        let names = module.names.iter().filter(|name| !name.is_test);
        for name in names.filter(|name| written.insert(&name.segments)) {
            for target in tree.modules_of(number, &name.segments) {
                let Some((parent, [user, used])) = siblings(tree, number, target) else { continue };
                let place = || {
                    let [user, used] = [user, used].map(|module| tree.shown(module));
                    format!("{user} uses {used}: {}:{}: {}", module.file, name.line, name.segments.join("::"))
                };
                found.entry(parent).or_default().entry((user, used)).or_insert_with(place);
            }
        }
    }
    found
}

/// The lowest module that both are below, and its children towards them; none where one is below the other.
fn siblings(tree: &Tree, first: usize, second: usize) -> Option<(usize, [usize; 2])> {
    let [first, second] = [line(tree, first), line(tree, second)];
    let common = first.iter().zip(&second).take_while(|(first, second)| first == second).count();
    Some((*first.get(common.checked_sub(1)?)?, [*first.get(common)?, *second.get(common)?]))
}

/// From the root to `module`.
fn line(tree: &Tree, module: usize) -> Vec<usize> {
    let mut line = vec![module];
    while let Some(parent) = tree.modules[line[line.len() - 1]].parent {
        line.push(parent);
    }
    line.reverse();
    line
}

/// Sets of modules each of which reaches all others of its set.
fn circles_of(tree: &Tree, edges: &Edges) -> Vec<Circle> {
    let reached: BTreeMap<usize, BTreeSet<usize>> =
        edges.keys().map(|&(user, _)| (user, reached_from(user, edges))).collect();
    let reaches = |from: usize, to: usize| reached.get(&from).is_some_and(|reached| reached.contains(&to));
    let mut sets: Vec<BTreeSet<usize>> = reached
        .keys()
        .filter(|&&module| reaches(module, module))
        .map(|&module| reached[&module].iter().copied().filter(|&other| reaches(other, module)).collect())
        .collect();
    sets.sort();
    sets.dedup();
    let circle = |set: BTreeSet<usize>| Circle {
        package: tree.package.clone(),
        modules: set.iter().map(|&module| tree.shown(module)).collect(),
        edges: edges
            .iter()
            .filter(|((user, used), _)| set.contains(user) && set.contains(used))
            .map(|(_, place)| place.clone())
            .collect(),
    };
    sets.into_iter().map(circle).collect()
}

fn reached_from(start: usize, edges: &Edges) -> BTreeSet<usize> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![start]);
    while let Some(module) = open.pop() {
        let used = edges.range((module, 0)..=(module, usize::MAX)).map(|(&(_, used), _)| used);
        open.extend(used.filter(|&used| reached.insert(used)));
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> Tree {
        Tree::of_texts("x", files).unwrap()
    }

    fn names(tree: &Tree) -> Vec<Vec<String>> {
        circles(tree).into_iter().map(|circle| circle.modules.into_iter().collect()).collect()
    }

    const CIRCLE: &[(&str, &str)] = &[
        ("lib.rs", "mod a; mod b; mod c; mod d;"),
        ("a.rs", "use crate::b::B;"),
        ("b.rs", "pub struct B; fn f() { super::c::c() }"),
        ("c.rs", "pub fn c() -> crate::a::A {}"),
        ("d.rs", "use crate::a::A;"),
    ];

    #[test]
    fn modules_that_use_each_other_are_a_circle() {
        assert_eq!(names(&tree(CIRCLE)), [["crate::a", "crate::b", "crate::c"]]);
        assert_eq!(
            names(&tree(&[("lib.rs", "mod a {} mod b { use crate::a; } mod c { use crate::{a, b}; }")])),
            [[""; 0]; 0]
        );
    }

    #[test]
    fn what_is_below_a_module_counts_as_the_module() {
        let tree = tree(&[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "mod low { use crate::b::B; } pub mod high {}"),
            ("b.rs", "pub struct B; mod low { use crate::a::high; }"),
        ]);
        assert_eq!(names(&tree), [["crate::a", "crate::b"]]);
    }

    #[test]
    fn a_module_and_what_is_below_it_may_use_each_other() {
        let tree = tree(&[
            ("lib.rs", "mod a; fn f() { a::g() }"),
            ("a.rs", "pub mod b { use super::g; use crate::f; } use b::h; fn g() {}"),
        ]);
        assert_eq!(names(&tree), [[""; 0]; 0]);
    }

    #[test]
    fn a_circle_through_what_the_parent_imports_shows() {
        let tree = tree(&[(
            "lib.rs",
            "use b::B; mod a { use super::B; pub struct A; } mod b { use crate::a::A; pub struct B; }",
        )]);
        assert_eq!(names(&tree), [["crate::a", "crate::b"]]);
    }

    #[test]
    fn tests_make_no_circle() {
        let text = "mod a { #[cfg(test)] mod tests { use crate::b; } } mod b { use crate::a; }";
        assert_eq!(names(&tree(&[("lib.rs", text)])), [[""; 0]; 0]);
    }

    #[test]
    fn a_circle_is_told_with_its_edges() {
        let told = against(&[], &[tree(CIRCLE)]);
        let expected = [
            "x: a circle of modules: crate::a, crate::b, crate::c",
            "    crate::a uses crate::b: a.rs:1: crate::b::B",
            "    crate::b uses crate::c: b.rs:1: super::c::c",
            "    crate::c uses crate::a: c.rs:1: crate::a::A",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn an_exception_allows_a_circle_and_is_reported_where_nothing_needs_it() {
        let exception = |modules| [Exception { package: "x", modules, reason: "one type" }];
        assert_eq!(against(&exception(&["crate::a", "crate::b", "crate::c"]), &[tree(CIRCLE)]), [""; 0]);
        let too_small = against(&exception(&["crate::a", "crate::b"]), &[tree(CIRCLE)]);
        assert_eq!(too_small.len(), 5, "{too_small:?}");
        let stale = against(&exception(&["crate::a", "crate::b", "crate::c", "crate::d"]), &[tree(CIRCLE)]);
        let told =
            "xtask/src/circles.rs: x: in no circle any more: crate::d; shorten the exception (one type)";
        assert_eq!(stale, [told]);
    }
}
