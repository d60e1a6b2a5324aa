//! What has to be true of every report page, whatever it looks like.

use crate::made::{HURT, experiment, mixed, proof};
use pipefill_core::record::Lateness;
use pipefill_report::html::{Page, RunPart, render};
use serde_json::Value;

fn page(scenario: Option<&str>) -> String {
    let (experiment, runs) = experiment(2);
    render(&Page {
        experiment: &experiment,
        runs: &runs,
        captures: &[],
        proofs: &[],
        scenario,
        fix: "pipefill fix DIR",
    })
    .unwrap()
}

#[test]
fn text_is_never_markup() {
    let html = page(Some(HURT));
    assert!(!html.contains("<script>hurt"), "a name became a script");
    let shown = "&lt;/script&gt;&lt;script&gt;hurt()&lt;/script&gt; &amp; &quot;it's&quot;";
    assert_eq!(html.matches(shown).count(), 3, "in the title, the heading and the scenario");
    let markup = html.split("<script").next().unwrap();
    assert!(!markup.contains(" style="), "the policy refuses style attributes");
}

#[test]
fn nothing_is_asked_of_anybody() {
    let html = page(None);
    let markup = html.split("<script").next().unwrap();
    for word in ["http://", "https://", "<img", "<link", "@import", "url(", "src="] {
        assert!(!markup.contains(word), "{word}");
    }
    assert!(markup.contains("default-src 'none'"));
}

#[test]
fn the_data_are_json_with_every_run_and_its_curves() {
    let html = page(None);
    let element = |id: &str| {
        let (_, rest) = html.split_once(&format!("id=\"{id}\">")).unwrap();
        rest.split_once("</script>").unwrap().0
    };
    let data: Value = serde_json::from_str(element("data")).unwrap();
    let runs: Vec<Value> =
        element("curves").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((runs.len(), data["runs"].as_array().unwrap().len()), (4, 4));
    let quantities: Vec<&str> = runs[0]["curves"]
        .as_array()
        .unwrap()
        .iter()
        .map(|curve| curve["quantity"].as_str().unwrap())
        .collect();
    assert_eq!(quantities, ["goodput", "sent", "in_flight", "cwnd", "rwnd", "queued", "sndbuf", "srtt"]);
    let points = data["charts"]["plots"][0]["series"][0]["points"].as_array().unwrap();
    let places: Vec<f64> = points.iter().map(|point| point["x"].as_f64().unwrap()).collect();
    assert_eq!(places, [10.4e6, 100e6], "a round trip of 0 stands at the median that was measured");
    assert_eq!(data["charts"]["repeats"][0]["rows"].as_array().unwrap().len(), 2);
}

#[test]
fn each_number_has_its_exact_value_and_each_cell_its_verdict() {
    let html = page(None);
    assert!(html.contains("data-value=\"80000000\">80.0</td>"));
    for cell in ["cell-0-lab", "cell-1-lab"] {
        assert!(html.contains(&format!("<div id=\"{cell}\">")), "{cell}");
    }
    assert_eq!(
        html.matches("<svg").count(),
        7,
        "goodput, round trip, repetitions, and for each cell a timeline and its round trips"
    );
}

#[test]
fn the_machine_is_told_in_words() {
    let (experiment, mut runs) = experiment(2);
    let lateness = |p99_ns| Lateness {
        count: 10,
        mean_ns: 1,
        p50_ns: 60_000,
        p99_ns,
        p999_ns: 1,
        max_ns: 9_000_000,
        histogram: Vec::new(),
    };
    for (number, part) in runs.iter_mut().enumerate() {
        part.instrument.samples_due = Some(100);
        part.instrument.samples_taken = Some(if number == 1 { 93 } else { 100 });
        part.instrument.timer_lateness = Some(lateness(if number == 2 { 410_000 } else { 90_000 }));
    }
    let page = |runs: &[RunPart]| {
        render(&Page {
            experiment: &experiment,
            runs,
            captures: &[],
            proofs: &[],
            scenario: None,
            fix: "pipefill fix DIR",
        })
        .unwrap()
    };
    let html = page(&runs);
    assert!(html.contains("Of 400 samples that were due 393 were taken"), "{html}");
    assert!(html.contains("7 of 100 (run 000-2)"));
    assert!(html.contains("late by 60.0 µs in the median, 410 µs at the 99th percentile and 9.00 ms at most, in the worst run (run 001-1)"));
    assert!(page(&runs[..1]).contains("Every one of the 100 samples that were due was taken."));
}

#[test]
fn the_script_gets_names_and_colours_of_flows_and_each_directions_rate() {
    let (experiment, runs) = mixed();
    let page = Page {
        experiment: &experiment,
        runs: &runs,
        captures: &[],
        proofs: &[],
        scenario: None,
        fix: "pipefill fix DIR",
    };
    let html = render(&page).unwrap();
    assert!(html.contains("\"quantity\":\"goodput of flow 2\",\"named\":[\"2 tcp ←\",\"c2\"]"));
    assert!(html.contains("\"quantity\":\"goodput forward\",\"named\":[\"all →\",\"c6\"]"));
    assert!(html.contains("\"bands\":[[0,\"0 tcp →\"],[1,\"1 udp →\"],[2,\"2 tcp ←\"]]"));
    assert!(
        html.contains("{\"name\":\"path rate →\",\"bps\":956406869.2"),
        "the other direction has no limit"
    );
}

/// Two runs cover half, three three quarters: in the column's heading where all cells have the same, at each cell in any case.
#[test]
fn an_interval_is_called_what_it_covers() {
    for (repeats, coverage) in [(2, "50 %"), (3, "75 %"), (5, "93.8 %"), (6, "96.9 %")] {
        let (experiment, runs) = experiment(repeats);
        let page = Page {
            experiment: &experiment,
            runs: &runs,
            captures: &[],
            proofs: &[],
            scenario: None,
            fix: "pipefill fix DIR",
        };
        let html = render(&page).unwrap();
        assert!(!html.contains("95 % interval"));
        assert!(html.contains(&format!("<span class=\"unit\">{coverage}</span>")), "{coverage}");
        assert_eq!(
            html.matches(&format!(" Mbit/s ({coverage})</dd>")).count(),
            experiment.cells.len(),
            "{coverage}"
        );
        let points = html.matches("\"coverage\":0.").count();
        assert_eq!(points, experiment.cells.len(), "{coverage}");
    }
}

#[test]
fn a_proof_stands_at_its_cell_and_takes_the_place_of_the_invitation() {
    let (experiment, runs) = experiment(2);
    let proofs = [proof(&experiment)];
    let page = |proofs| {
        let page = Page {
            experiment: &experiment,
            runs: &runs,
            captures: &[],
            proofs,
            scenario: None,
            fix: "pipefill fix DIR",
        };
        render(&page).unwrap()
    };
    let html = page(&proofs);
    assert_eq!(html.matches("What came of it").count(), 1);
    assert!(
        html.contains("before 80.5 Mbit/s")
            && html.contains("predicted 160 Mbit/s")
            && html.contains("after 160 Mbit/s")
    );
    assert!(html.contains("Helped: +98.8 %"), "the proof is told in words");
    let (_, first) = html.split_once("<div id=\"cell-0-lab\">").unwrap();
    let (first, second) = first.split_once("<div id=\"cell-1-lab\">").unwrap();
    assert!(first.contains("What came of it") && !second.contains("What came of it"));
    assert_eq!(page(&[]).matches("What came of it").count(), 0);
}
