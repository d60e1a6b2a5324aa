//! `pcap --page`, parts of a capture, and the captures on the page of an experiment: what a page has, taken apart as its script does it.

use crate::pcap::{LOSSY, captured, pcap_json};
use crate::pipefill::{Folder, names};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use serde_json::Value;
use std::fs;
use std::io;
use std::path::Path;

/// What is between two texts.
fn between<'a>(text: &'a str, begin: &str, end: &str) -> &'a str {
    let from = text.find(begin).unwrap_or_else(|| panic!("no {begin}")) + begin.len();
    &text[from..from + text[from..].find(end).unwrap()]
}

/// What the page has of each connection.
fn segments(page: &str) -> Vec<Value> {
    let lines =
        between(page, "<script type=\"application/octet-stream\" id=\"segments\">", "</script>").lines();
    let read = |line| {
        let bytes = STANDARD.decode(line).unwrap();
        serde_json::from_str(&io::read_to_string(GzDecoder::new(&bytes[..])).unwrap()).unwrap()
    };
    lines.map(read).collect()
}

/// Times and how many marks they stand for, of what `shows` names.
fn marks(layers: &Value, shows: &str) -> Vec<(u64, u64)> {
    let all = layers.as_array().unwrap();
    let Some(layer) = all.iter().find(|layer| layer["shows"] == shows) else { return Vec::new() };
    let numbers = |name: &str| -> Vec<u64> {
        layer[name].as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect()
    };
    let counts = numbers("counts");
    let mut at = 0;
    let mark = |(place, step): (usize, u64)| {
        at += step;
        (at, counts.get(place).copied().unwrap_or(1))
    };
    numbers("times").into_iter().enumerate().map(mark).collect()
}

fn count(layers: &Value, shows: &str) -> u64 {
    marks(layers, shows).iter().map(|(_, count)| count).sum()
}

fn sum(numbers: &Value) -> u64 {
    numbers.as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).sum()
}

fn made(folder: &Folder, words: &[&str]) -> String {
    let output = folder.pipefill(words).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    fs::read_to_string(folder.path(words.last().unwrap())).unwrap()
}

#[test]
fn a_page_has_the_figures_of_the_flow_at_every_level() {
    let (folder, file) = captured(LOSSY, "sender");
    let flow = pcap_json(&folder, &file)["flows"][0].clone();
    let page = made(&folder, &["pcap", file.to_str().unwrap(), "--page", "a.html"]);
    assert!(page.contains(flow["src"].as_str().unwrap()) && page.contains("What can't be known from here"));
    let all = segments(&page);
    assert_eq!(all.len(), 1);
    let of = |kind: &str| count(&all[0]["rare"], kind);
    let again = of("fast_retransmit") + of("rto_retransmit") + of("tlp_retransmit");
    assert_eq!(again, flow["retransmits"].as_u64().unwrap());
    let data = flow["segments"].as_u64().unwrap() - again;
    for level in all[0]["levels"].as_array().unwrap() {
        let super_packets = count(&level["layers"], "data");
        assert!(0 < super_packets && super_packets <= data, "{super_packets} of {data}");
        assert_eq!(super_packets, count(&all[0]["every"], "data"));
    }
    // The run ends while data are in flight, and what was sent again is sent twice.
    let [bytes, in_flight] = ["bytes", "in_flight_bytes"].map(|name| flow[name].as_u64().unwrap());
    let [sent, acked] = ["sent", "acked"].map(|name| sum(&all[0]["payload"][name]));
    assert!(acked <= bytes && bytes - acked <= in_flight, "{acked} of {bytes}");
    assert_eq!(sent - bytes, again * 1448);
}

#[test]
fn a_part_has_what_came_in_its_time_and_nothing_else() {
    let (folder, file) = captured(LOSSY, "sender");
    let name = file.to_str().unwrap();
    let whole = segments(&made(&folder, &["pcap", name, "--page", "a.html"])).remove(0);
    let words = [
        "pcap",
        name,
        "--connection",
        "0",
        "--from",
        "1s",
        "--to",
        "1.5s",
        "--graphs",
        "drawn",
        "--page",
        "b.html",
    ];
    let part = segments(&made(&folder, &words)).remove(0);
    let is_in = |&(at, _): &(u64, u64)| (1_000_000_000..1_500_000_000).contains(&at);
    let inside: Vec<_> = marks(&whole["every"], "data").into_iter().filter(is_in).collect();
    assert!(inside.len() > 50);
    assert_eq!(marks(&part["every"], "data"), inside);
    assert!(marks(&part["every"], "ack").iter().all(is_in));
    assert_eq!(part["every_ns"], serde_json::json!([[1_000_000_000, 1_500_000_001_u64]]));
    let picture = fs::read_to_string(folder.path("drawn/1-time-sequence.svg")).unwrap();
    assert!(picture.contains("time from 1.000000 s after the first packet"));
}

#[test]
fn what_cannot_be_drawn_is_refused_and_leaves_nothing() {
    let (folder, file) = captured(LOSSY, "sender");
    let name = file.to_str().unwrap();
    folder.write("there.html", "mine");
    let before = names(&folder.path("."));
    for (words, says) in [
        (vec!["pcap", name, "--page", "there.html"], "there.html is there already"),
        (vec!["pcap", name, name, "--page", "a.html"], "--page draws one capture"),
        (vec!["pcap", name, "--from", "1s"], "--graphs"),
        (
            vec!["pcap", name, "--page", "a.html", "--from", "2s", "--to", "2s"],
            "nothing is between --from 2s and --to 2s",
        ),
        (vec!["pcap", name, "--page", "a.html", "--from", "1h"], "the last packet is at 5."),
        (vec!["pcap", name, "--page", "a.html", "--from", "1"], "unit"),
        (vec!["pcap", name, "--page", "a.html", "--connection", "7"], "no such connection"),
        (vec!["pcap", name, "--page", "a.html", "--port", "7"], "no such connection"),
    ] {
        folder.pipefill(&words).assert().code(2).stderr(contains(says));
    }
    let mut piped = folder.pipefill(&["pcap", "-", "--page", "a.html"]);
    piped.pipe_stdin(&file).unwrap().assert().code(2).stderr(contains("-"));
    assert_eq!(names(&folder.path(".")), before);
    assert_eq!(fs::read_to_string(folder.path("there.html")).unwrap(), "mine");
}

#[test]
fn a_capture_that_breaks_off_is_drawn_and_says_so() {
    let (folder, file) = captured(LOSSY, "sender");
    let whole = fs::read(&file).unwrap();
    let name = "<img src=x onerror=alert(1)>&.pcapng";
    fs::write(folder.path(name), &whole[..whole.len() / 2 + 3]).unwrap();
    folder
        .pipefill(&["pcap", name, "--page", "a.html"])
        .assert()
        .code(2)
        .stdout(contains("Reading ended early"));
    let page = fs::read_to_string(folder.path("a.html")).unwrap();
    assert!(
        page.contains("The capture could not be read to its end") && page.contains("Reading ended early")
    );
    assert!(page.contains("&lt;img src=x onerror") && !page.contains("<img"), "names are text");
}

#[test]
fn a_captured_study_has_the_graphs_of_its_cells() {
    let folder = Folder::new();
    let words = [
        "study",
        "buffers",
        "--quick",
        "--repeat",
        "1",
        "--capture",
        "--set",
        "flow.duration=2s",
        "--only",
        "variant=setsockopt",
    ];
    let output = folder.pipefill(&words).args(["--on", "sim", "--quiet", "--out", "o"]).output().unwrap();
    assert!(output.status.code().is_some_and(|code| code < 2), "{}", String::from_utf8_lossy(&output.stderr));
    let page = fs::read_to_string(folder.path("o/report.html")).unwrap();
    let all = segments(&page);
    assert_eq!(all.len(), 2);
    assert!(all.iter().all(|graphs| count(&graphs["levels"][0]["layers"], "window") > 0));
    let titles: Vec<&str> =
        page.matches("Time-sequence: ").chain(page.matches("Outstanding and window: ")).collect();
    assert!(titles.len() >= 4, "still pictures of both graphs for both cells");
    let run = names(&folder.path("o/runs")).remove(0);
    let capture = folder.path(&format!("o/runs/{run}/artifacts/sender.pcapng"));
    assert!(Path::new(&capture).is_file());
    // One that can't be read is left out, and that is said.
    fs::write(&capture, "no capture").unwrap();
    folder
        .pipefill(&["report", &format!("o/runs/{run}"), "--format", "html", "-o", "one.html"])
        .assert()
        .success()
        .stderr(contains("note: the page does not show").and(contains("sender.pcapng")));
    assert!(!fs::read_to_string(folder.path("one.html")).unwrap().contains("id=\"segments\""));
}
