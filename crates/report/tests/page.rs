//! What has to be true of every report page, whatever it looks like.

#[path = "../../analysis/tests/builder/mod.rs"]
mod builder;

use builder::{Steady, cell, plan, record, run, spec};
use pipefill_analysis::experiment::{Experiment, ExperimentBuilder};
use pipefill_analysis::series::Drawing;
use pipefill_core::cell::Protocol;
use pipefill_report::html::{Page, RunPart, render};
use serde_json::Value;

const HURT: &str = "</script><script>hurt()</script> & \"it's\"";

/// Two round trips, two runs each, under a title that would be markup.
fn experiment() -> (Experiment, Vec<RunPart>) {
    let cells = [("0ms", 0), ("100ms", 100)];
    let cells: Vec<_> = cells
        .iter()
        .enumerate()
        .map(|(index, &(rtt, ms))| cell(index, &[("path.rtt", rtt)], spec(Protocol::Tcp, ms)))
        .collect();
    let mut plan = plan(cells.clone());
    plan.title = Some(HURT.to_owned());
    let mut builder = ExperimentBuilder::new(plan);
    let mut parts = Vec::new();
    for cell in &cells {
        for repeat in 1..=2 {
            let record = record(run(cell, repeat), &[Steady::default()]);
            let mut drawing = Drawing::of(&record.manifest, 100);
            record.rows().iter().for_each(|row| drawing.take(row));
            let manifest = &record.manifest;
            let (settings, instrument) = (manifest.settings.clone(), manifest.instrument.clone());
            parts.push(RunPart { series: drawing.finish(), settings, instrument });
            builder.add(&record).unwrap();
        }
    }
    (builder.finish("pipefill run synthetic.toml"), parts)
}

fn page(scenario: Option<&str>) -> String {
    let (experiment, runs) = experiment();
    render(&Page { experiment: &experiment, runs: &runs, scenario, fix: "pipefill fix DIR" }).unwrap()
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
    let start = html.find("id=\"data\">").unwrap() + "id=\"data\">".len();
    let end = start + html[start..].find("</script>").unwrap();
    let data: Value = serde_json::from_str(&html[start..end]).unwrap();
    let runs = data["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 4);
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
    assert_eq!(html.matches("<svg").count(), 4, "a plot, a chart of repetitions, a timeline for each cell");
}
