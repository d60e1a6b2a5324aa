//! Captures of transfers whose limit and cause are known by construction: what the packets near either end show of it.

use crate::conversations::{cell, planted};
use crate::pcap::told;
use crate::pipefill::{Folder, names};
use pipefill_core::record::StreamEnd;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The set on which the rules were made, one with other values, which showed classes of faults that were mended since, and one on which nothing was
/// tuned.
const SETS: [&str; 3] =
    ["scenarios/causes.toml", "testdata/varied-causes.toml", "testdata/drawn-causes.toml"];
/// What packets cannot separate (`docs/guide/captures.md`): the planted limit and cause, and what they show near the sender and near the
/// receiver; nothing where no payload passes, or where what passes ends before the cause begins.
const NOT_SEPARATED: [(&str, [Option<&str>; 2]); 7] = [
    ("sndbuf/program", [Some("sndbuf/null"); 2]),
    ("sndbuf/maximum", [Some("sndbuf/null"); 2]),
    ("rwnd/program", [Some("rwnd/null"); 2]),
    ("rwnd/rmem_max", [Some("rwnd/null"); 2]),
    ("rwnd/maximum", [Some("rwnd/null"); 2]),
    ("path/mtu", [Some("path/silence"), None]),
    ("path/silence", [Some("path/silence"), None]),
];
/// Right verdicts near the sender and near the receiver, of all that are judged.
const LEAST: [f64; 2] = [0.95, 0.85];
/// Holders that are taken for others, of all that are judged.
const WRONG_MOST: f64 = 0.03;

/// What came of one end's captures.
#[derive(Default)]
struct Grades {
    judged: usize,
    right: usize,
    /// Holders that were taken for others.
    wrong: usize,
    /// Cells that are not right.
    others: Vec<String>,
}

#[test]
fn captures_of_the_causes_name_what_was_planted() {
    for set in SETS {
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

fn grades(folder: &Folder, runs: &[PathBuf], end: StreamEnd) -> Grades {
    let file = ["sender", "receiver"][end as usize];
    let mut grades = Grades::default();
    for run in runs {
        let cell = cell(run);
        let planted = planted(&cell).remove(0);
        let shown = NOT_SEPARATED.iter().find(|(cause, _)| *cause == planted).map(|(_, shown)| shown);
        let Some(expected) = shown.map_or(Some(planted.as_str()), |shown| shown[end as usize]) else {
            continue;
        };
        let found = told(folder, &run.join(format!("artifacts/{file}.pcapng")));
        let word = |key: &str| found["flows"][0][key].as_str().unwrap_or("null").to_owned();
        let (holder, cause) = (word("limited_by"), word("cause"));
        let named = format!("{holder}/{cause}");
        let is_right = named == expected || named == planted;
        let planted_holder = expected.split('/').next().unwrap_or_default();
        grades.judged += 1;
        grades.right += usize::from(is_right);
        grades.wrong += usize::from(holder != planted_holder && holder != "unknown");
        if !is_right {
            grades.others.push(format!("{}: {named} by {}, not {expected}", axes(&cell), word("rule")));
        }
    }
    grades
}

/// The cell's place in the matrix.
fn axes(cell: &Value) -> String {
    cell["axes"].to_string()
}
