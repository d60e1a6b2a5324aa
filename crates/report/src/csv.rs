//! CSV: one row for each cell, for spreadsheets and data frames; below a cell with several flows one for each of these, with its number in
//! the column `flow`. The ledger of each flow has a table of its own, with a row for each holder.
//!
//! The columns are the axes (their texts, then their numbers) and then the scalar fields of the JSON under the JSON's own names (a dot where it nests). A
//! missing value is an empty field, never 0. Text that a spreadsheet would take for a formula, in a file of whatever locale, has an apostrophe
//! before it, as OWASP's page on CSV injection advises: names and texts of a scenario are anybody's.

use crate::axis_columns::AxisColumns;
use crate::visible::{is_hidden, visible};
use pipefill_analysis::findings::connections::Captured;
use pipefill_analysis::findings::experiment::{CellResult, Experiment};
use pipefill_analysis::judge::HeldTime;
use pipefill_core::record::AqmSample;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// JSON pointers of the scalar fields, in the order of the columns.
const FIELDS: [&str; 87] = [
    "/backend",
    "/runs",
    "/valid",
    "/deterministic",
    "/goodput_bps",
    "/goodput_bps_low",
    "/goodput_bps_high",
    "/goodput_coverage",
    "/goodput_whole_bps",
    "/sender_bps",
    "/offered_bps",
    "/fairness_index",
    "/retransmits",
    "/retransmits_by_kind/fast",
    "/retransmits_by_kind/rto",
    "/retransmits_by_kind/tlp",
    "/retransmits_by_kind/spurious",
    "/min_rtt_us",
    "/srtt_us_p50",
    "/srtt_us_p95",
    "/cwnd_bytes_p50",
    "/rwnd_bytes_p50",
    "/in_flight_bytes_p50",
    "/wmem_queued_bytes_p50",
    "/sndbuf_bytes_p50",
    "/headline_flow",
    "/limited_by",
    "/cause",
    "/cwnd_cause",
    "/active_limited_by",
    "/active_cause",
    "/active_bps",
    "/setup_us",
    "/data_us",
    "/span_us",
    "/rule",
    "/margin",
    "/limited_fraction/app",
    "/limited_fraction/sndbuf",
    "/limited_fraction/rwnd",
    "/limited_fraction/cwnd",
    "/limited_fraction/pacing",
    "/limited_fraction/path",
    "/limited_fraction/receiver",
    "/limited_fraction/cpu",
    "/limited_fraction/testbed",
    "/limited_fraction/unknown",
    "/ca_state_us/open",
    "/ca_state_us/disorder",
    "/ca_state_us/cwr",
    "/ca_state_us/recovery",
    "/ca_state_us/loss",
    "/ca_state_source",
    "/tcp_samples",
    "/sample_interval_us_p50",
    "/sample_interval_us_max",
    "/lost_percent",
    "/datagrams_sent",
    "/datagrams_received",
    "/socket_drops",
    "/duplicates",
    "/reordered",
    "/jitter_ns",
    "/one_way_delay_min_ns",
    "/one_way_delay_p50_ns",
    "/one_way_delay_p99_ns",
    "/ping/base_rtt_us",
    "/ping/base_rtt_us_error",
    "/ping/forward_bps",
    "/ping/reverse_bps",
    "/ping/naive_bps",
    "/ping/doubled_bps",
    "/ping/law_bps",
    "/path_lateness_p99_ns",
    "/predicted_bps",
    "/verdict",
    "/verdict_repeat",
    "/published/goodput_bps",
    "/published/lost_percent",
    "/published/retransmits",
    "/published/ca_state_us/open",
    "/published/ca_state_us/disorder",
    "/published/ca_state_us/cwr",
    "/published/ca_state_us/recovery",
    "/published/ca_state_us/loss",
    "/repeat_command",
    "/id",
];

/// The same of a flow: in a row of its own, or in that of a cell with a single one.
const FLOW_FIELDS: [&str; 9] = [
    "/flow",
    "/protocol",
    "/direction",
    "/streams",
    "/idle_rtt_us",
    "/loaded_rtt_us_p50",
    "/loaded_rtt_us_p95",
    "/loaded_rtt_us_p99",
    "/loaded_rtt_source",
];

/// Why no CSV was made.
#[derive(Debug, thiserror::Error)]
pub enum CsvError {
    /// A cell could not be turned into JSON first.
    #[error("a cell has no JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A row could not be written.
    #[error("a row could not be written: {0}")]
    Csv(#[from] ::csv::Error),
    /// The writer's buffer could not be taken back.
    #[error("the rows could not be collected: {0}")]
    Buffer(String),
}

/// `experiment` as CSV (RFC 4180, with a heading, lines end with LF).
///
/// # Errors
/// [`CsvError`]; none for a value that came from records.
pub fn render(experiment: &Experiment) -> Result<String, CsvError> {
    let axes = AxisColumns::of(experiment);
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    let names = FIELDS.iter().map(|field| field[1..].replace('/', "."));
    let of_flow = FLOW_FIELDS.iter().map(|field| field[1..].to_owned());
    writer.write_record(axis_names(&axes).chain(names).chain(of_flow))?;
    for cell in &experiment.cells {
        let json = serde_json::to_value(cell)?;
        let coordinates: Vec<String> = axis_values(&axes, cell).collect();
        let mut row = |json: &Value, own: &Value| {
            let figures = FIELDS.iter().map(|field| text(json.pointer(field)));
            let of_flow = FLOW_FIELDS.iter().map(|field| text(own.pointer(field)));
            writer.write_record(coordinates.iter().cloned().chain(figures).chain(of_flow))
        };
        let flows = json["flows"].as_array().map_or(&[][..], Vec::as_slice);
        match flows {
            // An only flow has no row of its own.
            [only] => {
                let mut unnumbered = only.clone();
                unnumbered["flow"] = Value::Null;
                row(&json, &unnumbered)?;
            }
            several => {
                row(&json, &Value::Null)?;
                several.iter().try_for_each(|flow| row(flow, flow))?;
            }
        }
    }
    finished(writer)
}

/// The columns of a holder's time, after those that name the flow.
const TIME_FIELDS: [&str; 4] = ["limited_by", "cause", "us", "share"];

/// One row for each holder of each flow's time, the longest first: the cell's axes, flow, direction, `limited_by`, cause, microseconds and share.
/// The microseconds of a flow add up to its `span_us`. A flow that was not judged has none.
///
/// # Errors
/// [`CsvError`], which text and numbers do not give.
pub fn time(experiment: &Experiment) -> Result<String, CsvError> {
    let axes = AxisColumns::of(experiment);
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    let names = ["flow", "direction"].into_iter().chain(TIME_FIELDS).map(str::to_owned);
    writer.write_record(axis_names(&axes).chain(names))?;
    for cell in &experiment.cells {
        for flow in &cell.flows {
            let name = [flow.figures.flow.to_string(), flow.figures.direction.as_str().to_owned()];
            let of_flow: Vec<String> = axis_values(&axes, cell).chain(name).collect();
            write_time(&mut writer, &of_flow, flow.verdict.time.as_deref())?;
        }
    }
    finished(writer)
}

fn write_time(
    writer: &mut ::csv::Writer<Vec<u8>>,
    of_flow: &[String],
    time: Option<&[HeldTime]>,
) -> Result<(), CsvError> {
    for held in time.unwrap_or_default() {
        let json = serde_json::to_value(held)?;
        let fields = TIME_FIELDS.iter().map(|field| text(json.get(field)));
        writer.write_record(of_flow.iter().cloned().chain(fields))?;
    }
    Ok(())
}

/// What a discipline did, of [`AqmMetrics`](pipefill_analysis::findings::metrics::AqmMetrics).
const DISCIPLINE_FIELDS: [&str; 14] = [
    "/direction",
    "/kind",
    "/target_us",
    "/packets",
    "/dropped_packets",
    "/overflow_packets",
    "/marked_packets",
    "/sojourn_us_p50",
    "/sojourn_us_p95",
    "/sojourn_us_p99",
    "/sojourn_us_max",
    "/flow_queues/new_flows",
    "/flow_queues/became_old",
    "/flow_queues/collisions",
];

/// One row for each discipline of a queue of each cell, with the medians of its runs.
///
/// # Errors
/// [`CsvError`], which text and numbers do not give.
pub fn disciplines(experiment: &Experiment) -> Result<String, CsvError> {
    let axes = AxisColumns::of(experiment);
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    let names = DISCIPLINE_FIELDS.iter().map(|field| field[1..].replace('/', "."));
    writer.write_record(axis_names(&axes).chain(names))?;
    for cell in &experiment.cells {
        for discipline in &cell.aqm {
            let json = serde_json::to_value(discipline)?;
            let fields = DISCIPLINE_FIELDS.iter().map(|field| text(json.pointer(field)));
            writer.write_record(axis_values(&axes, cell).chain(fields))?;
        }
    }
    finished(writer)
}

/// What names the run of a sample, before the columns of the records' table.
const RUN_FIELDS: [&str; 4] = ["cell", "repeat", "directory", "valid"];
/// The columns of the table `aqm` of the records.
const SAMPLE_FIELDS: [&str; 12] = [
    "t_us",
    "direction",
    "backlog_packets",
    "backlog_bytes",
    "packets",
    "sojourn_sum_us",
    "sojourn_us",
    "dropped_packets",
    "overflow_packets",
    "marked_packets",
    "probability_ppb",
    "drop_count",
];

/// One row for each sample of each discipline of each run, in order of time; `samples` are those of a run, by its directory.
///
/// # Errors
/// [`CsvError`], which text and numbers do not give.
pub fn discipline_samples(
    experiment: &Experiment,
    samples: &BTreeMap<String, Vec<AqmSample>>,
) -> Result<String, CsvError> {
    let axes = AxisColumns::of(experiment);
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    let names = RUN_FIELDS.into_iter().chain(SAMPLE_FIELDS).map(str::to_owned);
    writer.write_record(axis_names(&axes).chain(names))?;
    for cell in &experiment.cells {
        for run in &cell.run_values {
            let name = [
                cell.index.to_string(),
                run.repeat.to_string(),
                harmless(&run.directory),
                run.is_valid().to_string(),
            ];
            let of_run: Vec<String> = axis_values(&axes, cell).chain(name).collect();
            for sample in samples.get(&run.directory).into_iter().flatten() {
                let json = serde_json::to_value(sample)?;
                let fields = SAMPLE_FIELDS.iter().map(|field| text(json.get(field)));
                writer.write_record(of_run.iter().cloned().chain(fields))?;
            }
        }
    }
    finished(writer)
}

fn finished(writer: ::csv::Writer<Vec<u8>>) -> Result<String, CsvError> {
    let bytes = writer.into_inner().map_err(|error| CsvError::Buffer(error.to_string()))?;
    String::from_utf8(bytes).map_err(|error| CsvError::Buffer(error.to_string()))
}

/// The scalar fields of a flow of a capture, in the order of the columns.
const CAPTURED_FIELDS: [&str; 31] = [
    "/src",
    "/dst",
    "/packets",
    "/bytes",
    "/goodput_bps",
    "/span_us",
    "/data_us",
    "/retransmits",
    "/retransmits_by_kind/fast",
    "/retransmits_by_kind/rto",
    "/retransmits_by_kind/tlp",
    "/retransmits_by_kind/spurious",
    "/min_rtt_us",
    "/rwnd_bytes",
    "/in_flight_bytes",
    "/limited_by",
    "/cause",
    "/cwnd_cause",
    "/active_limited_by",
    "/active_cause",
    "/active_bps",
    "/setup_us",
    "/rule",
    "/margin",
    "/vantage",
    "/joined/forward/lost_data_segments",
    "/joined/reverse/lost_pure_acks",
    "/joined/forward/reordered",
    "/joined/forward/duplicated",
    "/joined/forward/one_way_delay/above_min_us_p95",
    "/joined/reverse/one_way_delay/above_min_us_p95",
];

/// One row for each flow of a capture.
///
/// # Errors
/// [`CsvError`], which text and numbers do not give.
pub fn captured(found: &Captured) -> Result<String, CsvError> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record(CAPTURED_FIELDS.iter().map(|field| field[1..].replace('/', ".")))?;
    for flow in &found.flows {
        let json = serde_json::to_value(flow)?;
        writer.write_record(CAPTURED_FIELDS.iter().map(|field| text(json.pointer(field))))?;
    }
    finished(writer)
}

/// One row for each holder of the time of each flow of a capture, as [`time`] has them of an experiment.
///
/// # Errors
/// [`CsvError`], which text and numbers do not give.
pub fn captured_time(found: &Captured) -> Result<String, CsvError> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record(["src", "dst"].into_iter().chain(TIME_FIELDS))?;
    for flow in &found.flows {
        let name = [harmless(&flow.src), harmless(&flow.dst)];
        write_time(&mut writer, &name, flow.verdict.time.as_deref())?;
    }
    finished(writer)
}

fn axis_names(axes: &AxisColumns<'_>) -> impl Iterator<Item = String> {
    axes.texts.iter().chain(&axes.numbers).map(|&name| harmless(name))
}

/// What `cell` has in the columns of [`axis_names`].
fn axis_values(axes: &AxisColumns<'_>, cell: &CellResult) -> impl Iterator<Item = String> {
    let texts = axes.texts.iter().map(|&axis| harmless(cell.axes.get(axis).map_or("", String::as_str)));
    let number = |&name: &&str| cell.axis_numbers.get(name).map_or_else(String::new, f64::to_string);
    texts.chain(axes.numbers.iter().map(number))
}

fn text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => harmless(text),
        Some(other) => other.to_string(),
    }
}

/// What begins a formula: Excel, LibreOffice and Google Sheets take the wide and small forms (U+FF1D, U+FE66 and the like) for it too.
const FORMULA: [char; 13] = ['=', '+', '-', '@', '＝', '＋', '－', '＠', '﹦', '﹢', '﹣', '﹫', '−'];
/// What separates cells in files of other locales; a comma is quoted.
const SEPARATORS: [char; 5] = [';', '\t', '|', '\n', '\r'];

/// `text` as a spreadsheet shows it; a number stays a number.
fn harmless(text: &str) -> String {
    let marked: String = text.split_inclusive(SEPARATORS).map(marked).collect();
    let mark = if text.starts_with(['\t', '\n', '\r']) { "'" } else { "" };
    visible(&format!("{mark}{marked}"), false).into_owned()
}

/// With an apostrophe where a spreadsheet would take the cell for a formula: it skips spaces, marks without a width, and quotes.
fn marked(cell: &str) -> Cow<'_, str> {
    let is_skipped =
        |c: char| c.is_whitespace() || matches!(c, '"' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}');
    let begins = cell.trim_start_matches(|c: char| is_skipped(c) || is_hidden(c)).starts_with(FORMULA);
    let is_number = || cell.trim_end_matches(SEPARATORS).parse::<f64>().is_ok_and(f64::is_finite);
    if begins && !is_number() { Cow::Owned(format!("'{cell}")) } else { Cow::Borrowed(cell) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_no_formula_and_a_number_is_a_number() {
        let of = harmless;
        for text in [
            "=1+1",
            "@SUM(A1)",
            "-2+3+cmd|' /C calc'!A0",
            "+x",
            "-inf",
            " =1",
            "\u{a0}=1",
            "\u{3000}＝1",
            "＝1+1",
            "＋1+x",
            "－x",
            "＠x",
        ] {
            assert_eq!(of(text), format!("'{text}"));
        }
        for text in ["-5", "+1.5", "-1e9", "", "10ms", "a=b", "a; b", "5;-5", "x, -y"] {
            assert_eq!(of(text), text);
        }
        for (text, marked) in [
            (";=1", ";'=1"),
            ("a; =1;b", "a;' =1;b"),
            ("a|\"=1\"", "a|'\"=1\""),
            ("a\t=1", "a\t'=1"),
            ("\t=1", "'\t'=1"),
            ("\r=1", "'\\u{d}'=1"),
            ("\u{202e}=1", "'\\u{202e}=1"),
        ] {
            assert_eq!(of(text), marked);
        }
    }
}
