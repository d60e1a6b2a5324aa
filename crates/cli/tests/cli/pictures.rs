//! What a run leaves to look at, from outside: pictures in files, Markdown that shows them, a page that shows proofs.

use crate::pipefill::Folder;
use predicates::prelude::*;
use predicates::str::contains;
use std::fs;

const SCENARIO: &str = r#"
name = "seen"
[path]
rate = "50mbit"
rtt = ["5ms", "40ms"]
[receiver]
tcp_rmem = "4096 65536 65536"
[[flow]]
duration = "500ms"
[run]
repeat = 1
"#;

/// Runs [`SCENARIO`] into `ran`.
fn ran() -> Folder {
    let folder = Folder::new();
    folder.write("seen.toml", SCENARIO);
    folder.pipefill(&["run", "seen.toml", "--on", "sim", "--quiet", "--out", "ran"]).assert().success();
    folder
}

#[test]
fn each_chart_is_a_file_and_markdown_shows_those_beside_it() {
    let folder = ran();
    let files = folder.pipefill(&["report", "ran", "--format", "svg"]).assert().success();
    let names = String::from_utf8(files.get_output().stdout.clone()).unwrap();
    assert_eq!(
        names.lines().collect::<Vec<_>>(),
        [
            "ran/pictures/01-goodput-against-the-round-trip.svg",
            "ran/pictures/02-round-trip-under-load-by-rtt.svg",
            "ran/pictures/03-over-time-rtt-5ms.svg",
            "ran/pictures/04-over-time-rtt-40ms.svg",
            "ran/pictures/05-round-trips-rtt-5ms.svg",
            "ran/pictures/06-round-trips-rtt-40ms.svg"
        ]
    );
    for name in names.lines() {
        assert!(fs::read_to_string(folder.path(name)).unwrap().starts_with("<svg xmlns="), "{name}");
    }
    let report = |to: &str| {
        folder.pipefill(&["report", "ran", "--format", "markdown", "-o", to]).assert().success();
        fs::read_to_string(folder.path(to)).unwrap()
    };
    assert!(
        report("ran/report.md")
            .contains("![Goodput against the round trip](pictures/01-goodput-against-the-round-trip.svg)")
    );
    assert!(!report("elsewhere.md").contains("!["), "no picture is beside it");
    folder.pipefill(&["report", "ran", "--format", "md"]).assert().success().stdout(contains("![").not());
}

#[test]
fn a_png_is_1600_pixels_wide() {
    let folder = ran();
    folder.pipefill(&["report", "ran", "--format", "png", "-o", "here"]).assert().success();
    let png = fs::read(folder.path("here/01-goodput-against-the-round-trip.png")).unwrap();
    assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
    assert_eq!(u32::from_be_bytes([png[16], png[17], png[18], png[19]]), 1600);
}

#[test]
fn a_proof_is_left_beside_the_records_and_shown() {
    let folder = ran();
    let page = || fs::read_to_string(folder.path("ran/report.html")).unwrap();
    assert!(!page().contains("What came of it") && page().contains("Predicted, not proven"));
    let fix = |rtt: &str| {
        let only = format!("path.rtt={rtt}");
        folder.pipefill(&["fix", "ran", "--only", &only, "--repeat", "2", "--quiet"]).assert().success();
    };
    fix("40ms");
    assert_eq!(page().matches("What came of it").count(), 1);
    fix("5ms");
    assert_eq!(page().matches("What came of it").count(), 2, "the other cell's proof stays");
    fix("5ms");
    assert_eq!(page().matches("What came of it").count(), 2, "a proof takes the place of an earlier one");
}
