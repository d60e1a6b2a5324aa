//! Experiments and records that anybody may have written, in every form of a report: no panic, and no text that a form takes for its own.

use pipefill_analysis::findings::changes::Changes;
use pipefill_analysis::findings::experiment::Experiment;
use pipefill_analysis::findings::intervals::Following;
use pipefill_analysis::findings::series::Drawing;
use pipefill_core::record::{AnyRow, RunRecord};
use pipefill_report::html::{Page, RunPart};
use pipefill_report::stream::Event;
use pipefill_report::table::Style;
use pipefill_report::{changes, csv, explain, fix, flent, html, iperf3, json, md, pictures, plan, table};
use pipefill_testkit::entries::exports::{count, exports, nth};
use pipefill_testkit::entries::record::RECORD;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use resvg::usvg::roxmltree::{Document, Node};
use serde_json::Value;
use std::sync::LazyLock;

/// Formulas, markup, quotes, ends of lines, controls of terminals and of the direction of text.
const TEXTS: [&str; 24] = [
    "",
    "=1+1",
    "+1+cmd|' /C calc'!A0",
    "-1+1",
    "-inf",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "\u{1b}[2J\u{1b}]0;title\u{7}",
    "\u{202e}x\u{2066}",
    "\u{200e}\u{61c}\u{202a}x\u{2069}\u{200f}",
    " =1",
    ";=1",
    "a;\u{a0}＋1|\"=1\"",
    "\u{3000}＝1+1",
    "\u{200e}＠x",
    "</script><script>hurt()</script>",
    "\"'&<img src=x onerror=hurt()>",
    "a|b\n|c|\r\n## d\\",
    "]]>--><!--",
    "\0\u{85}\u{2028}\u{fffe}",
    "../../x",
    "\\",
];
const INTEGERS: [u64; 6] = [0, 1, 1 << 53, i64::MAX as u64, u64::MAX - 1, u64::MAX];
const FLOATS: [f64; 8] = [0.0, -0.0, 1.0, -1.0, f64::MIN_POSITIVE, f64::EPSILON, 1e300, f64::MAX];
/// Microseconds, eleven days.
const CLAIMED_US: u64 = 1_000_000_000_000;
/// Of all streams of a run (`analysis::intervals`).
const INTERVALS_MAX: usize = 200_000;
const BUCKETS: usize = 24;
const STYLES: [Style; 2] = [Style { width: 100, colour: false }, Style { width: 20, colour: true }];

static MADE: LazyLock<(Experiment, Vec<RunPart>)> = LazyLock::new(|| crate::made::experiment(2));
static AS_JSON: LazyLock<Value> = LazyLock::new(|| serde_json::to_value(&MADE.0).expect("it is JSON"));
/// The places of that JSON whose text may be any: no word of ours.
static FREE: LazyLock<Vec<usize>> = LazyLock::new(|| {
    let is_free = |&place: &usize| {
        let mut changed = AS_JSON.clone();
        let Some(Value::String(text)) = nth(&mut changed, &mut { place }) else { return false };
        *text = TEXTS[9].to_owned();
        serde_json::from_value::<Experiment>(changed).is_ok()
    };
    (0..count(&AS_JSON)).filter(is_free).collect()
});

/// The experiment with `text` wherever any text may stand, the names of axes included.
fn with_text(text: &str) -> Experiment {
    let mut value = AS_JSON.clone();
    for &place in FREE.iter() {
        if let Some(old) = nth(&mut value, &mut { place }) {
            *old = text.into();
        }
    }
    let mut experiment: Experiment = serde_json::from_value(value).expect("any text may stand there");
    for cell in &mut experiment.cells {
        cell.axes = cell.axes.values().map(|value| (text.to_owned(), value.clone())).collect();
    }
    experiment
}

/// The experiment with other figures; what points from one part of it to another stays.
fn with_figures(figures: &[(Index, Index)]) -> Experiment {
    let mut value = AS_JSON.clone();
    let mut experiment = MADE.0.clone();
    for (place, choice) in figures {
        let mut changed = value.clone();
        let place = nth(&mut changed, &mut place.index(count(&value)));
        match place {
            Some(place) if place.is_f64() => *place = FLOATS[choice.index(FLOATS.len())].into(),
            Some(place @ (Value::Number(_) | Value::Null)) => {
                *place = INTEGERS[choice.index(INTEGERS.len())].into();
            }
            _ => continue,
        }
        if let Ok(read) = serde_json::from_value(changed.clone()) {
            (experiment, value) = (read, changed);
        }
    }
    for (cell, made) in experiment.cells.iter_mut().zip(&MADE.0.cells) {
        (cell.index, cell.runs, cell.valid) = (made.index, made.runs, made.valid);
        cell.headline_flow = made.headline_flow;
    }
    for (cell, made) in experiment.plan.cells.iter_mut().zip(&MADE.0.plan.cells) {
        cell.index = made.index;
    }
    experiment
}

/// Renders every form, and looks at what has to be true of each.
fn check(experiment: &Experiment) {
    let proofs = [crate::made::proof(experiment)];
    let changed = Changes::of(("a", &MADE.0), ("b", experiment), 0.05);
    for style in STYLES {
        check_directions(&table::render(experiment, style));
        explain::render(experiment, "pipefill fix DIR", style);
        fix::render(&experiment.experiment, &proofs, style);
        changes::render(&changed, style);
        plan::render(&experiment.plan, None, style);
    }
    json::explanations(experiment).expect("explanations are JSON");
    json::changes(&changed).expect("changes are JSON");
    let again: Experiment = serde_json::from_str(&json::render(experiment).unwrap()).expect("JSON");
    assert_eq!(&again, experiment, "it is read as it was");
    for cell in &experiment.cells {
        let line = Event::CellFinished { cell }.line().unwrap();
        assert_eq!(line.find('\n'), Some(line.len() - 1), "one line: {line}");
    }
    check_csv(&csv::render(experiment).unwrap());
    let text = md::render(experiment, &[]);
    check_directions(&text);
    check_markdown(&text);
    for picture in pictures::files(experiment, &MADE.1) {
        check_directions(&picture.svg);
        check_picture(&picture.svg);
    }
    let (scenario, fix) = (Some(experiment.experiment.as_str()), experiment.experiment.as_str());
    let page = Page { experiment, runs: &MADE.1, captures: &[], proofs: &proofs, scenario, fix };
    let page = html::render(&page).unwrap();
    check_directions(&page);
    check_page(&page);
}

/// Nothing changes the direction of text.
fn check_directions(text: &str) {
    let is_direction = |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    assert_eq!(text.find(is_direction), None, "{text}");
}

/// No field begins a formula, in a file of whatever locale, and all rows have the heading's columns.
fn check_csv(text: &str) {
    check_directions(text);
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let heading = reader.headers().unwrap().clone();
    let rows: Vec<_> = reader.records().collect::<Result<_, _>>().unwrap();
    for field in rows.iter().chain([&heading]).flatten() {
        let is_number = |cell: &str| cell.parse::<f64>().is_ok_and(f64::is_finite);
        assert!(!field.starts_with(['\t', '\r', '\n']), "{field:?}");
        for cell in field.split([';', '\t', '|', '\r', '\n']).filter(|cell| !is_number(cell)) {
            let begin = cell.trim_start_matches(|c: char| c.is_whitespace() || c == '"');
            assert!(!begin.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']), "{field:?}");
        }
    }
}

/// Every row of a table has the columns of the row before it.
fn check_markdown(text: &str) {
    let columns = |line: &str| {
        let bare = line.replace("\\\\", "").replace("\\|", "");
        line.starts_with('|').then(|| bare.matches('|').count())
    };
    let lines: Vec<_> = text.split('\n').map(columns).collect();
    for pair in lines.windows(2) {
        assert!(pair[0].is_none() || pair[1].is_none() || pair[0] == pair[1], "{text}");
    }
}

/// A document of XML with no element but those of a drawing.
fn check_picture(svg: &str) {
    let document = Document::parse(svg).unwrap_or_else(|error| panic!("{error}: {svg}"));
    let names = ["svg", "title", "style", "rect", "text", "tspan", "g", "path", "line", "circle"];
    for element in document.descendants().filter(Node::is_element) {
        let name = element.tag_name().name();
        assert!(names.contains(&name), "{name}: {svg}");
    }
}

/// As many scripts and images as a page of harmless text has.
fn check_page(page: &str) {
    static USUAL: LazyLock<[usize; 3]> = LazyLock::new(|| {
        let (experiment, runs) = (with_text("harmless"), &MADE.1);
        let proofs = [crate::made::proof(&experiment)];
        let scenario = Some("harmless");
        let page =
            Page { experiment: &experiment, runs, captures: &[], proofs: &proofs, scenario, fix: "harmless" };
        marks(&html::render(&page).unwrap())
    });
    assert_eq!(marks(page), *USUAL);
}

fn marks(page: &str) -> [usize; 3] {
    ["<script", "</script", "<img"].map(|mark| page.matches(mark).count())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_text_is_text_in_every_form(before in select(&TEXTS[..]), any in any::<String>(), after in select(&TEXTS[..])) {
        check(&with_text(&format!("{before}{any}{after}")));
    }

    #[test]
    fn any_figure_has_every_form(figures in prop::collection::vec(any::<(Index, Index)>(), 1..40)) {
        check(&with_figures(&figures));
    }

    #[test]
    fn any_record_has_a_report_or_is_refused(changes in prop::collection::vec(any::<[u8; 4]>(), 0..12)) {
        exports(&changes.concat());
    }
}

#[test]
fn every_hostile_text_alone_is_text_in_every_form() {
    assert!(FREE.len() > 10, "{} places", FREE.len());
    for text in TEXTS {
        check(&with_text(text));
    }
}

/// A manifest may say that a run of a second took eleven days: what is exported and drawn does not grow with what it says.
#[test]
fn a_claimed_length_makes_no_more_intervals_and_points_than_their_bounds() {
    let mut value = RECORD.clone();
    for stream in value["manifest"]["streams"].as_array_mut().unwrap() {
        (stream["stop_us"], stream["end_us"]) = (CLAIMED_US.into(), CLAIMED_US.into());
    }
    let record: RunRecord = serde_json::from_value(value).unwrap();
    let mut rows = record.rows();
    rows.sort_by_key(AnyRow::t_us);
    for width_us in [1, flent::STEP_US, iperf3::INTERVAL_US] {
        let mut following = Following::of(&record.manifest, width_us);
        rows.iter().for_each(|row| following.push(row));
        let streams = following.finish();
        let count: usize = streams.iter().map(|stream| stream.intervals.len()).sum();
        assert!(count <= INTERVALS_MAX + streams.len(), "{count} intervals of {width_us} us");
    }
    let mut drawing = Drawing::of(&record.manifest, BUCKETS);
    rows.iter().for_each(|row| drawing.push(row));
    let series = drawing.finish();
    for curve in &series.curves {
        assert!(curve.points.len() <= 2 * (BUCKETS + 2), "{} points", curve.points.len());
    }
}
