//! Which crate may depend on which, for building, testing or running.
//!
//! The graph is that of `ARCHITECTURE.md`:
//!
//! ```text
//! cli ──► report ──► analysis ──► core ◄── link ◄── sim, lab ► capture
//!  ├────► runs ────► report, store ► rows
//!  ├────► hosts ───► runs, remote, lab
//!  ├────► observe ─► runs, lab, capture, pasted
//!  ├────► endpoint ► observe, report
//!  └────► sim, lab
//! ```
//!
//! The tests of every crate may use `testkit`, and nothing else may.
//!
//! Never: a row for a crate that doesn't exist yet.

use crate::workspace::Crate;

/// A crate, and the crates of the workspace that it may depend on.
type Row = (&'static str, &'static [&'static str]);

const MAY_DEPEND_ON: &[Row] = &[
    ("pipefill-core", &[]),
    ("pipefill-capture", &["pipefill-core"]),
    ("pipefill-pasted", &["pipefill-core"]),
    ("pipefill-link", &["pipefill-core"]),
    ("pipefill-analysis", &["pipefill-core"]),
    ("pipefill-report", &["pipefill-analysis", "pipefill-core"]),
    ("pipefill-rows", &["pipefill-core"]),
    ("pipefill-store", &["pipefill-rows", "pipefill-core"]),
    ("pipefill-remote", &["pipefill-core"]),
    ("pipefill-lab", &["pipefill-core", "pipefill-link", "pipefill-capture"]),
    ("pipefill-sim", &["pipefill-core", "pipefill-link", "pipefill-capture"]),
    ("pipefill-runs", &["pipefill-report", "pipefill-store", "pipefill-analysis", "pipefill-core"]),
    (
        "pipefill-hosts",
        &[
            "pipefill-runs",
            "pipefill-report",
            "pipefill-remote",
            "pipefill-lab",
            "pipefill-analysis",
            "pipefill-core",
        ],
    ),
    (
        "pipefill-observe",
        &[
            "pipefill-runs",
            "pipefill-lab",
            "pipefill-capture",
            "pipefill-pasted",
            "pipefill-analysis",
            "pipefill-core",
        ],
    ),
    ("pipefill-endpoint", &["pipefill-observe", "pipefill-report", "pipefill-analysis", "pipefill-core"]),
    (
        TESTKIT,
        &[
            "pipefill-report",
            "pipefill-analysis",
            "pipefill-store",
            "pipefill-rows",
            "pipefill-capture",
            "pipefill-pasted",
            "pipefill-remote",
            "pipefill-core",
        ],
    ),
    (
        "pipefill",
        &[
            "pipefill-runs",
            "pipefill-hosts",
            "pipefill-observe",
            "pipefill-endpoint",
            "pipefill-report",
            "pipefill-analysis",
            "pipefill-store",
            "pipefill-lab",
            "pipefill-sim",
            "pipefill-capture",
            "pipefill-remote",
            "pipefill-core",
        ],
    ),
    ("xtask", &["pipefill-report", "pipefill-analysis", "pipefill-sim", "pipefill-core"]),
];

/// What only tests may depend on.
const TESTKIT: &str = "pipefill-testkit";

/// Every dependency that goes the wrong way, and every crate that the table does not know.
pub(crate) fn check(crates: &[Crate]) -> Vec<String> {
    against(MAY_DEPEND_ON, crates)
}

fn against(table: &[Row], crates: &[Crate]) -> Vec<String> {
    let unknown = |each: &Crate| {
        format!(
            "{} is not in the table of xtask/src/directions.rs: a new crate needs a page in docs/adr/",
            each.name
        )
    };
    let mut problems = Vec::new();
    for each in crates {
        match table.iter().find(|(name, _)| *name == each.name) {
            Some((_, allowed)) => problems.extend(wrong_ways(each, allowed)),
            None => problems.push(unknown(each)),
        }
    }
    let gone = table.iter().filter(|(name, _)| !crates.iter().any(|each| each.name == *name));
    problems
        .extend(gone.map(|(name, _)| format!("{name} is in the table of xtask/src/directions.rs, and gone")));
    problems
}

fn wrong_ways(each: &Crate, allowed: &[&str]) -> Vec<String> {
    let is_wrong = |name: &&String| !allowed.contains(&name.as_str());
    let of_tests = each.test_dependencies.iter().filter(|name| *name != TESTKIT);
    each.dependencies
        .iter()
        .chain(of_tests)
        .filter(is_wrong)
        .map(|name| format!("{} must not depend on {name}; it may on: {}", each.name, allowed.join(", ")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn package(name: &str, dependencies: &[&str]) -> Crate {
        Crate {
            name: name.to_owned(),
            dependencies: dependencies.iter().map(|&name| name.to_owned()).collect(),
            test_dependencies: BTreeSet::new(),
            roots: Vec::new(),
        }
    }

    const TABLE: &[Row] = &[("core", &[]), ("analysis", &["core"]), ("lab", &["core"])];

    #[test]
    fn the_right_way_is_no_problem() {
        let crates = [package("core", &[]), package("analysis", &["core"]), package("lab", &[])];
        assert_eq!(against(TABLE, &crates), Vec::<String>::new());
    }

    #[test]
    fn the_lab_must_not_know_its_judge() {
        let crates =
            [package("core", &[]), package("analysis", &["core"]), package("lab", &["analysis", "core"])];
        assert_eq!(against(TABLE, &crates), ["lab must not depend on analysis; it may on: core"]);
    }

    #[test]
    fn the_store_knows_neither_who_makes_records_nor_who_judges_them() {
        for wrong in ["pipefill-analysis", "pipefill-report", "pipefill-lab", "pipefill-sim", "pipefill"] {
            let problems = check(&[package("pipefill-store", &["pipefill-core", wrong])]);
            let told =
                format!("pipefill-store must not depend on {wrong}; it may on: pipefill-rows, pipefill-core");
            assert!(problems.contains(&told), "{problems:?}");
        }
        let problems = check(&[package("pipefill-core", &["pipefill-store"])]);
        assert!(problems.iter().any(|told| told.starts_with("pipefill-core must not depend on")));
    }

    #[test]
    fn only_tests_are_built_with_the_testkit() {
        let tested = Crate {
            test_dependencies: [TESTKIT, "lab"].map(str::to_owned).into(),
            ..package("analysis", &["core"])
        };
        let crates = [package("core", &[TESTKIT]), tested, package("lab", &[])];
        let told = [
            "core must not depend on pipefill-testkit; it may on: ",
            "analysis must not depend on lab; it may on: core",
        ];
        assert_eq!(against(TABLE, &crates), told);
    }

    #[test]
    fn the_far_end_knows_no_namespaces() {
        let problems = check(&[package("pipefill-remote", &["pipefill-core", "pipefill-lab"])]);
        let told = "pipefill-remote must not depend on pipefill-lab; it may on: pipefill-core";
        assert!(problems.iter().any(|problem| problem == told), "{problems:?}");
    }

    #[test]
    fn runs_know_no_backend_and_nothing_knows_the_program() {
        for (name, wrong) in [
            ("pipefill-runs", "pipefill-lab"),
            ("pipefill-hosts", "pipefill-observe"),
            ("pipefill-observe", "pipefill"),
        ] {
            let problems = check(&[package(name, &["pipefill-core", wrong])]);
            let told = format!("{name} must not depend on {wrong}; ");
            assert!(problems.iter().any(|problem| problem.starts_with(&told)), "{problems:?}");
        }
    }

    #[test]
    fn a_crate_that_is_new_or_gone_shows() {
        let problems = against(TABLE, &[package("core", &[]), package("analysis", &[]), package("web", &[])]);
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[0].starts_with("web is not in the table"), "{problems:?}");
        assert!(problems[1].starts_with("lab is in the table"), "{problems:?}");
    }
}
