//! Captures of transfers whose limit and cause are known by construction: what the packets near either end show of it.

use crate::conversations::{cell, planted};
use crate::pcap::pcap_json;
use crate::pipefill::{Folder, names};
use pipefill_core::record::StreamEnd;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The set on which the rules were made, one with other values, which showed classes of faults that were mended since, and one on which nothing was
/// tuned when it was first run.
const SETS: [&str; 3] = ["scenarios/causes.toml", VARIED, "testdata/drawn-causes.toml"];
const VARIED: &str = "testdata/varied-causes.toml";
/// Drawn after the others; judged by sockets.
const REDRAWN: &str = "testdata/redrawn-causes.toml";
/// What packets cannot separate (`docs/guide/captures.md`): the planted limit and cause, and what they show near the sender and near the
/// receiver; nothing where no payload passes, or where what passes ends before the cause begins.
const NOT_SEPARATED: [(&str, [Option<&str>; 2]); 7] = [
    ("sndbuf/program", [Some("sndbuf/null"); 2]),
    ("sndbuf/maximum", [Some("sndbuf/null"); 2]),
    ("rwnd/program", [Some("rwnd/program"), Some("rwnd/null")]),
    ("rwnd/rmem_max", [Some("rwnd/program"); 2]),
    ("rwnd/maximum", [Some("rwnd/maximum"), Some("rwnd/null")]),
    ("path/mtu", [Some("path/silence"), None]),
    ("path/silence", [Some("path/silence"), None]),
];
/// What sockets cannot separate (`docs/guide/sockets.md`), likewise.
const NOT_SEPARATED_BY_SOCKETS: [(&str, [Option<&str>; 2]); 6] = [
    ("sndbuf/program", [Some("sndbuf/program"), Some("sndbuf/null")]),
    ("sndbuf/maximum", [Some("sndbuf/maximum"), Some("sndbuf/null")]),
    ("rwnd/rmem_max", [Some("rwnd/program"), Some("rwnd/rmem_max")]),
    ("cwnd/policer", [Some("cwnd/policer"), Some("cwnd/null")]),
    ("path/mtu", [Some("path/mtu"), None]),
    ("path/silence", [Some("path/silence"), None]),
];
/// Right verdicts near the sender and near the receiver, of all that are judged.
const LEAST: [f64; 2] = [0.95, 0.85];
/// Holders that are taken for others, of all that are judged.
const WRONG_MOST: f64 = 0.03;
/// The same of sockets: of the sender's the right ones, of the receiver's those of which nothing is said.
const SOCKETS_LEAST: f64 = 0.95;
const SOCKETS_UNKNOWN_MOST: f64 = 0.15;
/// Holders that are taken for others: by the sender's, and by the receiver's.
const SOCKETS_WRONG_MOST: [f64; 2] = [0.03, 0.05];

/// What came of one end's captures.
#[derive(Default)]
struct Grades {
    judged: usize,
    right: usize,
    /// Holders that were taken for others.
    wrong: usize,
    unknown: usize,
    /// Cells that are not right.
    others: Vec<String>,
}

/// Those of `sets` that are judged: `PIPEFILL_CAUSES=all`, as in `make proof`, or without the older ones.
fn chosen<'a>(sets: &[&'a str], older: &[&str]) -> Vec<&'a str> {
    let is_whole = std::env::var("PIPEFILL_CAUSES").is_ok_and(|which| which == "all");
    sets.iter().copied().filter(|set| is_whole || !older.contains(set)).collect()
}

#[test]
fn captures_of_the_causes_name_what_was_planted() {
    for set in chosen(&SETS, &[VARIED]) {
        let folder = Folder::new();
        let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(set);
        let words = ["run", scenario.to_str().unwrap(), "--on", "sim", "--capture", "--quiet", "--out", "o"];
        // What the sockets show is not the matter here.
        folder.pipefill(&words).output().unwrap();
        let runs = folder.path("o/runs");
        let runs: Vec<PathBuf> = names(&runs).into_iter().map(|run| runs.join(run)).collect();
        assert_eq!(runs.len(), 36, "{set}");
        for end in StreamEnd::BOTH {
            let grades = grades(&folder, &runs, end);
            let named = format!("{set}, near the {end:?}: {} of {}", grades.right, grades.judged);
            println!("{named}, {} wrong; {:#?}", grades.wrong, grades.others);
            let share = grades.right as f64 / grades.judged as f64;
            assert!(share >= LEAST[end as usize], "{named}: {:#?}", grades.others);
            let wrong = grades.wrong as f64 / grades.judged as f64;
            assert!(wrong <= WRONG_MOST, "{named}: {:#?}", grades.others);
        }
    }
}

/// A cell counts where the verdict with all facts is what was planted.
#[test]
fn sockets_of_either_end_name_what_was_planted() {
    let [first, varied, drawn] = SETS;
    for set in chosen(&[first, varied, drawn, REDRAWN], &[varied, drawn]) {
        let folder = Folder::new();
        let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(set);
        folder
            .pipefill(&["run", scenario.to_str().unwrap(), "--on", "sim", "--quiet", "--out", "o"])
            .output()
            .unwrap();
        let cells: Vec<Value> =
            names(&folder.path("o/runs")).iter().map(|run| cell(&folder.path("o/runs").join(run))).collect();
        let judged = |view: &[&str]| {
            let output = folder.pipefill(&[&["report", "o", "--format", "json"], view].concat()).output();
            let found: Value = serde_json::from_slice(&output.unwrap().stdout).unwrap();
            let flows = found["cells"].as_array().unwrap().iter().map(|cell| cell["flows"][0].clone());
            flows.collect::<Vec<Value>>()
        };
        let with_all_facts = judged(&[]);
        for end in StreamEnd::BOTH {
            let view = ["sender", "receiver"][end as usize];
            let mut grades = Grades::default();
            for ((cell, found), planned) in
                cells.iter().zip(judged(&["--blindfold", view])).zip(&with_all_facts)
            {
                if planted(cell).contains(&named(planned)) {
                    grades.add(cell, &found, &NOT_SEPARATED_BY_SOCKETS, end);
                }
            }
            let said = format!("{set}, the {view}'s sockets: {} of {}", grades.right, grades.judged);
            println!("{said}, {} unknown, {} wrong; {:#?}", grades.unknown, grades.wrong, grades.others);
            let share = |count: usize| count as f64 / grades.judged as f64;
            let wrong_most = SOCKETS_WRONG_MOST[end as usize];
            assert!(share(grades.wrong) <= wrong_most, "{said}: {:#?}", grades.others);
            match end {
                StreamEnd::Sender => {
                    assert!(share(grades.right) >= SOCKETS_LEAST, "{said}: {:#?}", grades.others);
                }
                StreamEnd::Receiver => {
                    assert!(share(grades.unknown) <= SOCKETS_UNKNOWN_MOST, "{said}: {:#?}", grades.others);
                }
            }
        }
    }
}

fn grades(folder: &Folder, runs: &[PathBuf], end: StreamEnd) -> Grades {
    let file = ["sender", "receiver"][end as usize];
    let mut grades = Grades::default();
    for run in runs {
        let found = pcap_json(folder, &run.join(format!("artifacts/{file}.pcapng")));
        grades.add(&cell(run), &found["flows"][0], &NOT_SEPARATED, end);
    }
    grades
}

impl Grades {
    /// Counts the verdict `found` of a cell, unless nothing of it can be seen from `end`.
    fn add(
        &mut self,
        cell: &Value,
        found: &Value,
        not_separated: &[(&str, [Option<&str>; 2])],
        end: StreamEnd,
    ) {
        let planted = planted(cell).remove(0);
        let shown = not_separated.iter().find(|(cause, _)| *cause == planted).map(|(_, shown)| shown);
        let Some(expected) = shown.map_or(Some(planted.as_str()), |shown| shown[end as usize]) else {
            return;
        };
        let named = named(found);
        let is_right = named == expected || named == planted;
        let holder = |name: &str| name.split('/').next().unwrap_or_default().to_owned();
        self.judged += 1;
        self.right += usize::from(is_right);
        self.unknown += usize::from(holder(&named) == "unknown");
        self.wrong += usize::from(holder(&named) != holder(expected) && holder(&named) != "unknown");
        if !is_right {
            self.others.push(format!("{}: {named} by {}, not {expected}", axes(cell), word(found, "rule")));
        }
    }
}

/// The limit and the cause of a verdict.
fn named(found: &Value) -> String {
    format!("{}/{}", word(found, "limited_by"), word(found, "cause"))
}

fn word<'a>(found: &'a Value, key: &str) -> &'a str {
    found[key].as_str().unwrap_or("null")
}

/// The cell's place in the matrix.
fn axes(cell: &Value) -> String {
    cell["axes"].to_string()
}
