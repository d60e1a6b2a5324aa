//! Experiments of which only summaries are kept: the same report, in one file.

use crate::pipefill::{Folder, names};
use std::fs;

const SCENARIO: &str = r#"
name = "many"
[path]
rtt = ["2ms", "5ms"]
rate = ["5mbit", "20mbit"]
loss = ["0%", "1%"]
[[flow]]
duration = "300ms"
[[flow]]
protocol = "udp"
bitrate = "1mbit"
duration = "300ms"
[run]
repeat = 3
sample = "20ms"
[expect]
goodput = ">= 1kbit"
"#;
const SUMMARY: &str = "summary.jsonl.zst";

fn ran(records: &str, more: &[&str]) -> Folder {
    let folder = Folder::new();
    folder.write("many.toml", SCENARIO);
    let words = ["run", "many.toml", "--on", "sim", "--quiet", "--out", "o", "--records", records];
    folder.pipefill(&[&words[..], more].concat()).assert().success();
    folder
}

fn report(folder: &Folder, directory: &str, format: &str) -> Vec<u8> {
    let got = folder.pipefill(&["report", directory, "--format", format]).assert().success();
    got.get_output().stdout.clone()
}

#[test]
fn a_summary_makes_the_report_that_all_rows_make() {
    let (rows, summary) = (ran("rows", &[]), ran("summary", &[]));
    for format in ["json", "csv", "table", "md"] {
        assert!(report(&rows, "o", format) == report(&summary, "o", format), "{format}");
    }
    assert_eq!(
        names(&summary.path("o")),
        ["experiment.json", "report.html", "runs", "scenario.toml", SUMMARY]
    );
    assert_eq!(names(&summary.path("o/runs")), [""; 0]);
    let lines = zstd::decode_all(fs::File::open(summary.path("o").join(SUMMARY)).unwrap()).unwrap();
    assert_eq!(lines.iter().filter(|&&byte| byte == b'\n').count(), 16);
    summary.pipefill(&["explain", "o"]).assert().success();
    summary.pipefill(&["compare", "o", "o"]).assert().success();
    for words in [vec!["--format", "iperf3", "-o", "f"], vec!["--blindfold", "sender"]] {
        let told = summary.pipefill(&[&["report", "o"][..], &words].concat()).assert().code(2);
        let told = String::from_utf8_lossy(&told.get_output().stderr).into_owned();
        assert!(told.contains("--records summary") && told.contains("help: "), "{told}");
    }
    for more in ["--capture", "--json-stream"] {
        let words = ["run", "many.toml", "--on", "sim", "--out", "p", "--records", "summary", more];
        let told = summary.pipefill(&words).assert().code(2);
        assert!(String::from_utf8_lossy(&told.get_output().stderr).contains("keeps no rows"), "{more}");
    }
}

#[test]
fn shards_of_summaries_make_the_same_report() {
    let whole = ran("summary", &[]);
    let folder = ran("summary", &["--shard", "1/3"]);
    fs::rename(folder.path("o"), folder.path("s1")).unwrap();
    for number in ["2", "3", "2"] {
        let shard = format!("{number}/3");
        let out = format!("s{number}{}", names(folder.root()).len());
        let words = ["run", "many.toml", "--on", "sim", "--quiet", "--records", "summary", "--shard", &shard];
        folder.pipefill(&words).args(["--out", &out]).assert().success();
    }
    let shards = names(folder.root()).into_iter().filter(|name| name.starts_with('s'));
    let words = std::iter::once("merge".to_owned()).chain(shards).chain(["--out", "o"].map(str::to_owned));
    let words: Vec<String> = words.collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    for _ in 0..2 {
        folder.pipefill(&words).assert().success();
        assert!(report(&folder, "o", "json") == report(&whole, "o", "json"), "the reports differ");
    }
}

#[test]
fn what_is_cut_short_is_made_again_and_what_has_changed_is_told() {
    let folder = ran("summary", &[]);
    let file = folder.path("o").join(SUMMARY);
    let before = report(&folder, "o", "json");
    let resume =
        ["run", "many.toml", "--on", "sim", "--quiet", "--resume", "--out", "o", "--records", "summary"];
    let bytes = fs::read(&file).unwrap();
    // Half of a block that a killed process was writing.
    fs::write(&file, [&bytes[..], &bytes[..bytes.len() / 2]].concat()).unwrap();
    assert!(report(&folder, "o", "json") == before);
    folder.pipefill(&resume).assert().success();
    assert!(fs::read(&file).unwrap() == bytes, "what was cut short is cut off");
    fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    folder.pipefill(&resume).assert().success();
    assert!(report(&folder, "o", "json") == before);
    let mut changed = bytes.clone();
    changed[200] ^= 1;
    fs::write(&file, &changed).unwrap();
    let told = folder.pipefill(&["report", "o"]).assert().code(2);
    let told = String::from_utf8_lossy(&told.get_output().stderr).into_owned();
    assert!(
        told.contains("has changed since it was written") && told.contains("--records summary"),
        "{told}"
    );
    let resumed = folder.pipefill(&resume).assert().success();
    assert!(String::from_utf8_lossy(&resumed.get_output().stderr).contains("made anew"));
    assert!(report(&folder, "o", "json") == before);
    assert_eq!(names(&folder.path("o/damaged")), [SUMMARY]);
}

/// Written by one library, read by another one: `tests/readers.rs` has pandas, polars and DuckDB read it too.
#[test]
fn parquet_has_a_row_for_each_run() {
    let folder = ran("summary", &[]);
    folder.pipefill(&["report", "o", "--format", "parquet"]).assert().code(2);
    folder.pipefill(&["report", "o", "--format", "parquet", "-o", "runs.parquet"]).assert().success();
    let bytes = fs::read(folder.path("runs.parquet")).unwrap();
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    let text = String::from_utf8_lossy(&bytes);
    for name in ["path.rtt", "goodput_bps", "limited_by", "pipefill.columns"] {
        assert!(text.contains(name), "{name}");
    }
}
