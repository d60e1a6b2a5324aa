//! `explain` and `fix` from outside, on the simulator: its results are the same every time.

use crate::pipefill::Folder;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

/// Study 2's slow cell: a receive buffer of 512 KiB on 1 Gbit/s and 10 ms.
const SLOW: &str = r#"
name = "slow"
[path]
rate = "1gbit"
rtt = "10ms"
queue = "2bdp"
[sender]
tcp_wmem = "4096 16KiB 64MiB"
[receiver]
tcp_rmem = "4096 131072 512KiB"
[[flow]]
duration = "3s"
[run]
repeat = 1
"#;

/// Two kinds of traffic, of which only one has a window; and a cell in which nothing helps.
const MIXED: &str = r#"
name = "mixed"
[path]
rtt = "10ms"
rate = "100mbit"
queue = "2bdp"
[run]
repeat = 1
[[variant]]
name = "small"
receiver.tcp_rmem = ["4096 16384 65536", "4096 131072 6MiB"]
[[variant.flow]]
duration = "2s"
[[variant]]
name = "datagrams"
[[variant.flow]]
protocol = "udp"
bitrate = "10mbit"
duration = "2s"
[[variant]]
name = "modest"
[[variant.flow]]
bitrate = "10mbit"
duration = "2s"
"#;

fn ran(text: &str) -> Folder {
    let folder = Folder::new();
    folder.write("scenario.toml", text);
    folder.pipefill(&["run", "scenario.toml", "--on", "sim", "--out", "ran", "--quiet"]).assert().code(0);
    folder
}

fn json(folder: &Folder, words: &[&str]) -> Value {
    let output = folder.pipefill(words).assert().code(0).get_output().stdout.clone();
    serde_json::from_slice(&output).unwrap()
}

#[test]
fn an_explanation_has_the_sentence_the_band_the_evidence_and_the_advice() {
    let folder = ran(SLOW);
    let whole = folder.pipefill(&["explain", "ran"]).assert().code(0).get_output().stdout.clone();
    let whole = String::from_utf8(whole).unwrap();
    for part in [
        "Limited by the receive window",
        "WWWW",
        "> rwnd",
        "tcpi_rwnd_limited",
        "sysctl -w",
        "pipefill fix ran",
    ] {
        assert!(whole.contains(part), "{part}: {whole}");
    }
    assert!(!whole.contains('\x1b'));
    let cells = json(&folder, &["explain", "ran", "--json"])["cells"].clone();
    assert_eq!(
        (&cells[0]["limited_by"], &cells[0]["timeline"][0]["stream"]),
        (&Value::from("rwnd"), &Value::from(0))
    );
    let run = folder.pipefill(&["explain", "ran/runs/0000-r1", "--color", "always"]).assert().code(0);
    run.stdout(contains("\x1b[34m").and(contains("run 1 of 1")));
}

/// At least 94 % of the rate, and a prediction within 10 %.
#[test]
fn the_slow_cell_of_study_2_is_fixed() {
    let folder = ran(SLOW);
    let proof = json(&folder, &["fix", "ran", "--json", "--quiet", "--out", "fixed"]);
    let cell = &proof["cells"][0];
    let round = &cell["rounds"][0];
    assert_eq!(
        (&round["limited_by_before"], &round["limited_by_after"]),
        (&Value::from("rwnd"), &Value::from("path"))
    );
    assert_eq!(round["comparison"]["verdict"], "more");
    let after = round["comparison"]["after"]["bps"].as_f64().unwrap();
    assert!(after >= 0.94e9, "{after}");
    assert!(round["prediction_error"].as_f64().unwrap().abs() <= 0.1, "{round}");
    assert_eq!((&cell["end"], cell["rounds"].as_array().unwrap().len()), (&Value::from("pipe_full"), 1));
    // Both sides have the same seeds, and their records are experiments as any other.
    let seed = |side: &str| {
        let manifest =
            std::fs::read(folder.path("fixed/0000/round-1").join(side).join("runs/0000-r2/manifest.json"));
        serde_json::from_slice::<Value>(&manifest.unwrap()).unwrap()["run"]["seed"].clone()
    };
    assert_eq!(seed("before"), seed("after"));
    folder.pipefill(&["report", "fixed/0000/round-1/after"]).assert().code(0).stdout(contains("path"));
    folder.pipefill(&["fix", "ran", "--out", "fixed"]).assert().code(2).stderr(contains("--out OTHER"));
}

#[test]
fn a_variant_is_fixed_although_the_change_does_not_fit_the_others() {
    let folder = ran(MIXED);
    let fixed = folder.pipefill(&[
        "fix",
        "ran",
        "--only",
        "variant=small,receiver.tcp_rmem=4096 16384 65536",
        "--repeat",
        "3",
    ]);
    let mut fixed = fixed;
    fixed.assert().code(0).stdout(contains("Round 1").and(contains("Helped")).and(contains("3 pairs")));
    let nothing = json(&folder, &["fix", "ran", "--only", "variant=modest", "--json", "--quiet"]);
    let cell = &nothing["cells"][0];
    assert_eq!(
        (&cell["end"], &cell["rounds"]),
        (&Value::from("nothing_to_change"), &Value::from(Vec::<Value>::new()))
    );
    assert!(cell["why"].as_str().unwrap().contains("application"), "{cell}");
}

#[test]
fn what_is_no_experiment_is_refused_and_nothing_made() {
    let folder = Folder::new();
    for command in ["explain", "fix"] {
        folder
            .pipefill(&[command, "missing"])
            .assert()
            .code(2)
            .stderr(contains("there is no directory missing"));
    }
    assert!(folder.names().is_empty());
}
