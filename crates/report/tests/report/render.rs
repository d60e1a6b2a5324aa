//! What the renderings look like (snapshots), and what has to be true of them whatever they look like.

use pipefill_analysis::findings::experiment::{Experiment, ExperimentBuilder};
use pipefill_core::cell::{Bound, Comparison, ExpectMetric, Expectation, Protocol};
use pipefill_core::plan::{Cell, Published, PublishedStates};
use pipefill_core::record::{CaStateSource, CaStateTimes, Invalid};
use pipefill_report::table::Style;
use pipefill_report::words::complete_experiment;
use pipefill_report::{csv, json, md, table};
use pipefill_testkit::builder::{Steady, capped, cell, plan, record, run, spec};
use serde_json::Value;

/// Study 5's shape: two axes, published goodput and retransmits, three runs a cell.
fn tcp_matrix() -> Experiment {
    matrix([900, 230, 25, 11])
}

/// Two axes of two values, with these rates in Mbit/s.
fn matrix(rates: [u64; 4]) -> Experiment {
    let mut cells = Vec::new();
    for (rtt, rtt_ms) in [("1ms", 1), ("100ms", 100)] {
        for loss in ["0%", "1%"] {
            let axes = [("path.rtt", rtt), ("path.loss", loss)];
            cells.push(cell(cells.len(), &axes, spec(Protocol::Tcp, rtt_ms)));
        }
    }
    let mut plan = plan(cells.clone());
    plan.published_source = Some("a field note, 2020".to_owned());
    for (index, goodput) in [(0, 8.59e8), (1, 2.36e8), (2, 2.8e7)] {
        plan.published.push(Published {
            cell: index,
            goodput_bps: Some(goodput),
            lost_percent: None,
            retransmits: Some(1_420.0),
            ca_state_us: None,
        });
    }
    let mut builder = ExperimentBuilder::new(plan);
    for (cell, mbit) in cells.iter().zip(rates) {
        for repeat in 1..=3 {
            builder.add(&record(run(cell, repeat), &[tcp_stream(mbit, u64::from(repeat))])).unwrap();
        }
    }
    complete_experiment(builder.finish(), "pipefill run loss.toml")
}

fn tcp_stream(mbit: u64, repeat: u64) -> Steady {
    Steady {
        rate_bps: (mbit * 100 + mbit * repeat) * 10_000,
        cwnd_bytes: mbit * 5_000,
        rwnd_bytes: 3_145_728,
        in_flight_bytes: mbit * 4_000,
        retransmits: 1_000 + u32::try_from(mbit).unwrap(),
        ..Steady::default()
    }
}

/// Study 1's shape: a TCP and a UDP variant with their own axes; a bad run, a missing run, a failed expectation.
fn variants() -> Experiment {
    let tcp = cell(0, &[("variant", "tcp"), ("path.rtt", "10ms")], spec(Protocol::Tcp, 10));
    let udp_axes = [("variant", "udp"), ("flow.bitrate", "100mbit"), ("path.rtt", "1s")];
    let mut udp = cell(1, &udp_axes, spec(Protocol::Udp, 1_000));
    udp.spec.expect.push(Expectation {
        metric: ExpectMetric::Lost,
        comparison: Comparison::AtMost,
        bound: Bound::Value(1.0),
        text: "lost <= 1%".to_owned(),
    });
    let mut plan = plan(vec![tcp.clone(), udp.clone()]);
    plan.published.push(Published {
        cell: 1,
        goodput_bps: Some(8.72e6),
        lost_percent: Some(87.0),
        retransmits: None,
        ca_state_us: None,
    });
    let mut builder = ExperimentBuilder::new(plan);
    add_tcp(&mut builder, &tcp);
    for repeat in 1..=3 {
        let lossy =
            Steady { rate_bps: 100_000_000, one_way_us: 500_000, lost_permille: 880, ..Steady::default() };
        builder.add(&record(run(&udp, repeat), &[lossy])).unwrap();
    }
    complete_experiment(builder.finish(), "pipefill study rtt")
}

fn add_tcp(builder: &mut ExperimentBuilder, cell: &Cell) {
    builder.add(&record(run(cell, 1), &[Steady::default()])).unwrap();
    let mut bad = record(run(cell, 2), &[Steady::default()]);
    bad.manifest
        .invalid
        .push(Invalid { reason: "late_releases".to_owned(), detail: "p99 3.1 ms, bound 1 ms".to_owned() });
    builder.add(&bad).unwrap();
}

fn all() -> Vec<Experiment> {
    let never_run = ExperimentBuilder::new(plan(vec![cell(0, &[], spec(Protocol::Tcp, 1))]));
    vec![
        tcp_matrix(),
        matrix([65_600, 21_900, 224, 5]),
        variants(),
        complete_experiment(never_run.finish(), "pipefill run none.toml"),
    ]
}

#[test]
fn figures_of_invalid_runs_are_shown_in_brackets_and_concluded_from_by_nobody() {
    let cell = cell(0, &[], spec(Protocol::Tcp, 1));
    let mut builder = ExperimentBuilder::new(plan(vec![cell.clone()]));
    let mut bad = record(run(&cell, 1), &[Steady::default()]);
    let why = Invalid { reason: "starved_cpu".to_owned(), detail: "it waited".to_owned() };
    bad.manifest.invalid.push(why);
    builder.add(&bad).unwrap();
    let experiment = complete_experiment(builder.finish(), "pipefill run x.toml");
    let [result] = experiment.cells.as_slice() else { panic!("one cell") };
    assert_eq!((result.goodput_bps, result.verdict.limited_by), (None, None));
    let text = table::render(&experiment, Style::default());
    let goodput = result.run_values[0].goodput_bps.unwrap() as f64;
    assert!(text.contains('(') && text.contains("figures in brackets are of invalid runs"), "{text}");
    assert!(
        text.contains(&format!("({:.1})", goodput / 1e6))
            || text.contains(&format!("({:.0})", goodput / 1e6)),
        "{text}"
    );
}

#[test]
fn the_table_of_a_matrix() {
    insta::assert_snapshot!(table::render(&tcp_matrix(), Style::default()));
}

/// Study 5's two cells with what its authors published, the second run without BPF where `is_watched` is false.
fn states(is_watched: bool) -> Experiment {
    let cells = ["0%", "15%"].map(|loss| {
        let axes = [("path.loss", loss), ("path.loss_unit", "super-packet")];
        cell(usize::from(loss == "15%"), &axes, spec(Protocol::Tcp, 10))
    });
    let mut plan = plan(cells.to_vec());
    plan.published.push(Published {
        cell: 1,
        goodput_bps: None,
        lost_percent: None,
        retransmits: None,
        ca_state_us: Some(PublishedStates {
            open: Some(3_774_000),
            recovery: Some(8_803_000),
            loss: Some(3_048_000),
            ..PublishedStates::default()
        }),
    });
    let mut builder = ExperimentBuilder::new(plan);
    for cell in &cells {
        let mut record = record(run(cell, 1), &[Steady::default()]);
        if is_watched || cell.index == 0 {
            let stream = &mut record.manifest.streams[0];
            let (open, recovery) = (12_736_412, 1_303);
            stream.ca_state_us = Some(CaStateTimes { open, recovery, ..CaStateTimes::default() });
            stream.ca_state_source = Some(CaStateSource::Bpf);
        }
        builder.add(&record).unwrap();
    }
    complete_experiment(builder.finish(), "pipefill study loss")
}

#[test]
fn published_congestion_states_have_a_table_beside_ours() {
    let second = |experiment: &Experiment| {
        let text = table::render(experiment, Style::default());
        let from = text.find("time in the congestion states").unwrap();
        text[from..].split("\n\n").next().unwrap().to_owned()
    };
    insta::assert_snapshot!(second(&states(true)));
    let title = second(&states(false)).lines().next().unwrap().to_owned();
    assert_eq!(title, "time in the congestion states, ms, sampled every 100 ms");
    assert!(!table::render(&tcp_matrix(), Style::default()).contains("congestion"), "nobody published them");
}

#[test]
fn a_table_for_each_variant() {
    insta::assert_snapshot!(table::render(&variants(), Style::default()));
}

#[test]
fn variants_of_one_cell_each_are_rows_of_one_table() {
    let named = |index, name, rtt_ms: u64| {
        let rtt = format!("{rtt_ms}ms");
        cell(index, &[("variant", name), ("path.rtt", &*rtt)], spec(Protocol::Tcp, rtt_ms))
    };
    let cells = vec![named(0, "near", 10), named(1, "far", 100)];
    let mut builder = ExperimentBuilder::new(plan(cells.clone()));
    for cell in &cells {
        builder.add(&record(run(cell, 1), &[Steady::default()])).unwrap();
    }
    let text = table::render(&complete_experiment(builder.finish(), "pipefill study rtt"), Style::default());
    let lines = |name: &str| text.lines().filter(|line| line.starts_with(name)).count();
    assert_eq!([lines("variant "), lines("near "), lines("far ")], [1, 1, 1], "{text}");
    assert_eq!(text.matches("goodput").count(), 1, "{text}");
}

#[test]
fn markdown() {
    insta::assert_snapshot!(md::render(&variants(), &[]));
}

#[test]
fn comma_separated() {
    insta::assert_snapshot!(csv::render(&variants()).unwrap());
}

#[test]
fn a_refused_setting_is_noted_below_the_table_and_nowhere_in_the_csv() {
    let cell = cell(0, &[("path.rtt", "10ms")], spec(Protocol::Tcp, 10));
    let shown = |settings: &[&str]| {
        let mut builder = ExperimentBuilder::new(plan(vec![cell.clone()]));
        for repeat in 1..=3 {
            let mut record = record(run(&cell, repeat), &[Steady::default()]);
            record.manifest.settings = settings.iter().map(|place| capped(place)).collect();
            builder.add(&record).unwrap();
        }
        let experiment = complete_experiment(builder.finish(), "pipefill run rtt.toml");
        (
            table::render(&experiment, Style::default()),
            md::render(&experiment, &[]),
            csv::render(&experiment).unwrap(),
        )
    };
    let granted = shown(&[]);
    let (table, markdown, csv) = shown(&["stream 0 receiver"]);
    let note = "rtt 10ms: stream 0 receiver SO_RCVBUF asked 4194304, got 425984: capped by net.core.rmem_max";
    let unwrapped = |table: &str| table.replace("\n  ", " ");
    let is_note = |line: &&str| *line == format!("! {note}");
    assert_eq!(unwrapped(&table).lines().filter(is_note).count(), 1, "{table}");
    let escaped = note.replace('_', "\\_");
    assert_eq!(markdown.lines().filter(|line| *line == format!("- ! {escaped}")).count(), 1, "{markdown}");
    assert_eq!(csv, granted.2);
    assert!(!granted.0.contains('!'), "{}", granted.0);
    let (table, ..) = shown(&["stream 0 receiver", "stream 1 receiver", "stream 2 receiver"]);
    assert_eq!(table.lines().filter(|line| line.starts_with('!')).count(), 1, "{table}");
    assert!(unwrapped(&table).contains("stream 0 receiver (and 2 more) SO_RCVBUF asked"), "{table}");
}

#[test]
fn tables_fit_eighty_columns() {
    for experiment in all() {
        let text = table::render(&experiment, Style::default());
        let grid = text.lines().filter(|line| !is_prose(line));
        for line in grid {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}

/// Notes and foot lines are prose; a terminal wraps them.
fn is_prose(line: &str) -> bool {
    ["!", "FAILED", "published:", "lab ·"].iter().any(|start| line.starts_with(start))
}

#[test]
fn colour_only_where_asked() {
    let experiment = variants();
    assert!(!table::render(&experiment, Style::default()).contains('\u{1b}'));
    let coloured = Style { colour: true, ..Style::default() };
    assert!(table::render(&experiment, coloured).contains('\u{1b}'));
}

/// Each goodput, published figure and ratio in the table is the JSON's, to three digits.
#[test]
fn the_tables_numbers_are_the_jsons() {
    let experiment = tcp_matrix();
    let text = table::render(&experiment, Style::default());
    let parsed: Value = serde_json::from_str(&json::render(&experiment).unwrap()).unwrap();
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| line.starts_with("1ms") || line.starts_with("100ms"))
        .map(|line| line.split_whitespace().collect())
        .collect();
    let cells = parsed["cells"].as_array().unwrap();
    assert_eq!(rows.len(), cells.len());
    for (row, cell) in rows.iter().zip(cells) {
        assert_eq!(row[0], cell["axes"]["path.rtt"]);
        assert_eq!(row[1], cell["axes"]["path.loss"]);
        close(row[2], cell["goodput_bps"].as_f64(), 1e6);
        let median = cell["goodput_bps"].as_f64().unwrap();
        let half = (cell["goodput_bps_high"].as_f64().unwrap() - median)
            .max(median - cell["goodput_bps_low"].as_f64().unwrap());
        close(row[3], Some(100.0 * half / median), 1.0);
        let published = cell["published"]["goodput_bps"].as_f64();
        close(row[4], published, 1e6);
        close(row[5], published.map(|p| median / p), 1.0);
        close(row[6], cell["retransmits"].as_f64(), 1.0);
    }
}

#[test]
fn every_form_says_what_an_interval_covers() {
    let experiment = tcp_matrix();
    let line = "±%: an interval of the median that covers 75 % with 3 runs";
    assert!(table::render(&experiment, Style::default()).contains(line));
    assert!(md::render(&experiment, &[]).contains(line));
    let json: Value = serde_json::from_str(&json::render(&experiment).unwrap()).unwrap();
    assert!(json["cells"].as_array().unwrap().iter().all(|cell| cell["goodput_coverage"] == 0.75));
    let csv = csv::render(&experiment).unwrap();
    let place = csv.lines().next().unwrap().split(',').position(|name| name == "goodput_coverage").unwrap();
    assert!(csv.lines().skip(1).all(|row| row.split(',').nth(place) == Some("0.75")), "{csv}");
}

fn close(shown: &str, exact: Option<f64>, unit: f64) {
    match exact {
        None => assert_eq!(shown, "–"),
        Some(exact) => {
            let shown: f64 = shown.parse().unwrap();
            assert!((shown * unit / exact - 1.0).abs() <= 0.005, "{shown} against {exact}");
        }
    }
}

/// Whatever the cell, a CSV field under a name of the JSON holds the JSON's value; null is empty.
#[test]
fn the_csvs_fields_are_the_jsons() {
    for experiment in all() {
        let parsed: Value = serde_json::from_str(&json::render(&experiment).unwrap()).unwrap();
        let text = csv::render(&experiment).unwrap();
        let mut reader = ::csv::Reader::from_reader(text.as_bytes());
        let names = reader.headers().unwrap().clone();
        let rows: Vec<::csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        assert_eq!(rows.len(), experiment.cells.len());
        for (row, cell) in rows.iter().zip(parsed["cells"].as_array().unwrap()) {
            for (name, field) in names.iter().zip(row) {
                // What is not the cell's own is its only flow's, but for that one's number.
                let of_flow = match cell["flows"].as_array().map_or(&[][..], Vec::as_slice) {
                    [only] if name != "flow" => only.get(name),
                    _ => None,
                };
                let axis = || cell["axes"].get(name).or_else(|| cell["axis_numbers"].get(name));
                let value = match axis().or_else(|| of_flow.filter(|_| cell.get(name).is_none())) {
                    Some(axis) => axis,
                    None => cell.pointer(&format!("/{}", name.replace('.', "/"))).unwrap_or(&Value::Null),
                };
                let want = match value {
                    Value::Null => String::new(),
                    Value::String(text) => text.clone(),
                    // A whole number has no fraction in a spreadsheet.
                    other if cell["axis_numbers"].get(name).is_some() => other.as_f64().unwrap().to_string(),
                    other => other.to_string(),
                };
                assert_eq!(field, want, "{name}");
            }
        }
    }
}

/// A scalar of the JSON that the CSV forgot would be lost to every spreadsheet.
#[test]
fn every_scalar_of_the_json_is_in_the_csv() {
    let experiment = variants();
    let text = csv::render(&experiment).unwrap();
    let header = text.lines().next().unwrap();
    let names: Vec<&str> = header.split(',').collect();
    let cell = serde_json::to_value(&experiment.cells[1]).unwrap();
    for (name, value) in cell.as_object().unwrap() {
        let nested = [
            "axes",
            "axis_numbers",
            "published",
            "run_values",
            "expectations",
            "invalid",
            "unmet_settings",
            "ping",
            "advice",
            "ca_state_us",
            "retransmits_by_kind",
            "limited_fraction",
            "time",
            "events",
            "flows",
        ];
        if !nested.contains(&name.as_str()) && name != "index" {
            assert!(names.contains(&name.as_str()), "{name} = {value} is missing");
        }
    }
}

#[test]
fn the_json_keeps_the_order_of_the_axes() {
    let text = json::render(&variants()).unwrap();
    let bitrate = text.find("\"flow.bitrate\"").unwrap();
    let rtt = text[bitrate..].find("\"path.rtt\"");
    assert!(rtt.is_some_and(|distance| distance < 60), "{text}");
    assert!(text.starts_with("{\n  \"schema\": 1,\n  \"experiment\": \"synthetic\","));
}

#[test]
fn markdown_cannot_be_broken_by_a_value() {
    let odd = cell(0, &[("host.tcp_rmem", "a|b\n| c")], spec(Protocol::Tcp, 10));
    let mut builder = ExperimentBuilder::new(plan(vec![odd.clone()]));
    builder.add(&record(run(&odd, 1), &[Steady::default()])).unwrap();
    let text = md::render(&complete_experiment(builder.finish(), "pipefill run odd.toml"), &[]);
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
    // A buffer is an axis: two tables of a heading, a rule and a row.
    assert_eq!(rows.len(), 6, "{text}");
    let bars = |line: &str| line.replace("\\|", "").matches('|').count();
    for table in rows.chunks(3) {
        assert!(table.iter().all(|row| bars(row) == bars(table[0])), "{text}");
    }
}
