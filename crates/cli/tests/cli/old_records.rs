//! Records of earlier versions stay readable: what 0.1.0 wrote, with today's code.

use crate::pipefill::{Folder, copy, names};
use predicates::str::contains;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A copy of 0.1.0's experiment `name` in `folder`.
fn copied(folder: &Folder, name: &str) -> PathBuf {
    let records = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/records-0.1.0").join(name);
    copy(&records, &folder.path(name));
    folder.path(name)
}

fn cells(folder: &Folder, directory: &str) -> Vec<Value> {
    let output = folder.pipefill(&["report", directory, "--json"]).assert().success().get_output().clone();
    let mut report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let Value::Array(cells) = report["cells"].take() else { panic!("{report}") };
    cells
}

/// Figures that are counted, and that no later judgement changes: as 0.1.0 itself reported them.
#[test]
fn records_of_0_1_0_are_reported_and_explained() {
    let folder = Folder::new();
    let known =
        [("sim", vec![("2ms", 2, 86, 2000), ("20ms", 2, 17, 20_000)]), ("lab", vec![("2ms", 1, 89, 2000)])];
    for (name, known) in known {
        copied(&folder, name);
        let cells = cells(&folder, name);
        assert_eq!(cells.len(), known.len());
        for (cell, (rtt, runs, retransmits, min_rtt_us)) in cells.iter().zip(known) {
            assert_eq!(cell["axes"]["path.rtt"], rtt);
            assert_eq!((&cell["runs"], &cell["valid"]), (&Value::from(runs), &Value::from(runs)));
            assert_eq!(cell["retransmits"], retransmits, "{cell}");
            assert_eq!(cell["min_rtt_us"], min_rtt_us, "{cell}");
            assert!(cell["goodput_bps"].as_u64().unwrap() > 5_000_000, "{cell}");
        }
        folder.pipefill(&["explain", name]).assert().success().stdout(contains("rtt"));
        for format in ["html", "csv", "md", "table"] {
            folder.pipefill(&["report", name, "--format", format]).assert().success();
        }
        let run = format!("{name}/runs/0000-rtt=2ms-r1");
        folder.pipefill(&["report", &run]).assert().success();
        folder.pipefill(&["report", name, "--format", "iperf3", "-o", "flows"]).assert().success();
    }
}

#[test]
fn an_experiment_of_0_1_0_is_continued_beside_its_runs() {
    let folder = Folder::new();
    let directory = copied(&folder, "sim");
    let words = ["run", "sim/scenario.toml", "--on", "sim", "--out", "sim", "--resume", "--json"];
    folder.pipefill(&words).assert().success().stderr(contains("0 of 4 runs (4 have a valid record)"));
    let runs = names(&directory.join("runs"));
    assert_eq!(runs[0], "0000-rtt=2ms-r1");
    fs::remove_dir_all(directory.join("runs").join(&runs[3])).unwrap();
    folder.pipefill(&words).assert().success().stderr(contains("1 of 4 runs (3 have a valid record)"));
    let runs = names(&directory.join("runs"));
    assert!(
        runs.contains(&"0001-rtt-20ms-r2".to_owned()) && runs.contains(&"0001-rtt=20ms-r1".to_owned()),
        "{runs:?}"
    );
    assert!(cells(&folder, "sim").iter().all(|cell| cell["valid"] == 2));
}

/// 0.1.0 listed no tables; a stream that delivered bytes has some all the same.
#[test]
fn a_table_that_0_1_0_must_have_written_is_missed() {
    let folder = Folder::new();
    let directory = copied(&folder, "sim");
    for table in ["delivery", "tcp", "udp"] {
        let file = directory.join("runs/0000-rtt=2ms-r1").join(format!("{table}.jsonl.zst"));
        let bytes = fs::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        let report = folder.pipefill(&["report", "sim"]).assert().code(2);
        report.stderr(contains(format!("0000-rtt=2ms-r1 is damaged: {table}.jsonl.zst is missing")));
        fs::write(&file, bytes).unwrap();
    }
    folder.pipefill(&["report", "sim"]).assert().success();
}
