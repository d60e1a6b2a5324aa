//! What other programs read: `--json-stream` while an experiment runs, and `iperf3 -J`'s form of its flows.

use crate::pipefill::{Folder, names};
use predicates::str::contains;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

const SCENARIO: &str = r#"
name = "flows"
[path]
rtt = ["4ms", "20ms"]
rate = "20mbit"
loss = "0.01%"
[[flow]]
parallel = 2
duration = "2500ms"
[[flow]]
direction = "reverse"
duration = "2500ms"
[[flow]]
protocol = "udp"
bitrate = "1mbit"
duration = "2500ms"
[run]
repeat = 2
"#;

fn scene() -> Folder {
    let folder = Folder::new();
    folder.write("s.toml", SCENARIO);
    folder
}

fn json(text: &[u8]) -> Value {
    serde_json::from_slice(text).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(text)))
}

fn events(folder: &Folder, option: &str, more: &[&str], code: i32) -> Vec<Value> {
    let words = [&["run", "s.toml", "--on", "sim", "--jobs", "1", "--out", "o", option], more].concat();
    let output = folder.pipefill(&words).assert().code(code).get_output().stdout.clone();
    output.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).map(json).collect()
}

fn named<'a>(events: &'a [Value], name: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["event"] == name).collect()
}

#[test]
fn a_stream_tells_of_runs_and_cells_as_they_end_and_of_nothing_else() {
    let folder = scene();
    let events = events(&folder, "--json-stream", &[], 0);
    let order: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    let run = ["run_started", "run_finished"];
    let cell = [run, run].concat();
    let cell = [&cell[..], &["cell_finished"]].concat();
    assert_eq!(order, [&["started"], &cell[..], &cell[..], &["finished"]].concat());
    let [first, last] = [&events[0], &events[events.len() - 1]];
    assert_eq!(
        (&first["schema"], &first["pending"], &first["backend"]),
        (&1.into(), &4.into(), &"sim".into())
    );
    assert_eq!((&last["exit_code"], &last["directory"]), (&0.into(), &"o".into()));
    let report = folder.pipefill(&["report", "o", "--json"]).assert().success();
    let report = json(&report.get_output().stdout);
    for (told, cell) in named(&events, "cell_finished").iter().zip(report["cells"].as_array().unwrap()) {
        for name in ["axes", "goodput_bps", "limited_by", "verdict", "repeat_command", "run_values"] {
            assert_eq!(told["cell"][name], cell[name], "{name}");
        }
    }
}

#[test]
fn samples_are_the_rows_of_the_records() {
    let folder = scene();
    let events =
        events(&folder, "--json-stream=samples", &["--set", "run.repeat=1", "--set", "path.rtt=4ms"], 0);
    let samples = named(&events, "sample");
    let tables: BTreeSet<&str> = samples.iter().map(|sample| sample["table"].as_str().unwrap()).collect();
    assert!(["tcp", "delivery", "udp", "path"].iter().all(|table| tables.contains(table)), "{tables:?}");
    let run = folder.path("o/runs").join(&names(&folder.path("o/runs"))[0]);
    let file = fs::File::open(run.join("tcp.jsonl.zst")).unwrap();
    let rows: Vec<Value> = pipefill_store::TableReader::<pipefill_core::record::TcpSample, _>::new(file)
        .unwrap()
        .map(|row| serde_json::to_value(row.unwrap()).unwrap())
        .collect();
    let told: Vec<&Value> =
        samples.iter().filter(|sample| sample["table"] == "tcp").map(|sample| &sample["row"]).collect();
    assert!(!rows.is_empty() && rows.iter().eq(told));
}

#[test]
fn a_stream_says_that_it_failed_and_that_an_expectation_did() {
    let folder = scene();
    let failed = events(&folder, "--json-stream", &["--set", "expect.goodput=>= 1gbit"], 1);
    assert_eq!(failed.last().unwrap()["exit_code"], 1);
    let words = ["run", "s.toml", "--on", "sim", "--json-stream", "--json"];
    folder.pipefill(&words).assert().code(2).stderr(contains("cannot be used with"));
}

/// Names whose values iperf3 has as floating-point numbers; it prints a whole one without a point.
const FLOATS: [&str; 14] = [
    "start",
    "end",
    "seconds",
    "bits_per_second",
    "jitter_ms",
    "lost_percent",
    "duration",
    "host_total",
    "host_user",
    "host_system",
    "remote_total",
    "remote_user",
    "remote_system",
    "intervals",
];
/// Names that may be null: virtual time has no date, and no CPU was measured in it.
const NULLS: [&str; 9] = [
    "system_info",
    "time",
    "timesecs",
    "host_total",
    "host_user",
    "host_system",
    "remote_total",
    "remote_user",
    "remote_system",
];

/// Every path of names in `value` with the value's type; of a list that of its first item.
fn paths(value: &Value, path: &str, all: &mut BTreeMap<String, &'static str>) {
    let name = path.rsplit('/').next().unwrap_or(path);
    let kind = match value {
        Value::Object(members) => {
            return members.iter().for_each(|(name, member)| paths(member, &format!("{path}/{name}"), all));
        }
        Value::Array(items) => {
            return items.iter().take(1).for_each(|item| paths(item, &format!("{path}/0"), all));
        }
        Value::Null if NULLS.contains(&name) => "any",
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::String(_) => "text",
        Value::Number(_) if FLOATS.contains(&name) => "float",
        Value::Number(number) if number.is_u64() => "integer",
        Value::Number(_) => "float",
    };
    all.insert(path.to_owned(), kind);
}

fn paths_of(document: &Value) -> BTreeMap<String, &'static str> {
    let mut all = BTreeMap::new();
    paths(document, "", &mut all);
    all
}

const BOTH_WAYS: &str = r#"
name = "ways"
[path]
rtt = "20ms"
rate = "20mbit"
queue = "20p"
reverse_rate = "20mbit"
reverse_queue = "20p"
[[flow]]
parallel = 2
duration = "2500ms"
[[flow]]
direction = "reverse"
parallel = 2
duration = "2500ms"
[[flow]]
protocol = "udp"
bitrate = "12mbit"
parallel = 2
duration = "2500ms"
[[flow]]
protocol = "udp"
direction = "reverse"
bitrate = "12mbit"
parallel = 2
duration = "2500ms"
[run]
repeat = 1
"#;

/// The documents of the flows of [`BOTH_WAYS`]: TCP forward and reverse, UDP forward and reverse, all with losses.
fn both_ways() -> [Value; 4] {
    let folder = Folder::new();
    folder.write("s.toml", BOTH_WAYS);
    folder.pipefill(&["run", "s.toml", "--on", "sim", "--quiet", "--out", "o"]).assert().success();
    folder.pipefill(&["report", "o", "--format", "iperf3", "-o", "flows"]).assert().success().stdout("");
    let files = names(&folder.path("flows"));
    assert_eq!(files.len(), 4, "{files:?}");
    [0, 1, 2, 3].map(|flow| json(&fs::read(folder.path("flows").join(&files[flow])).unwrap()))
}

#[test]
fn a_flow_has_every_name_and_type_that_iperf3_has() {
    let goldens = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/iperf3");
    for (ours, golden) in both_ways().iter().zip(["tcp", "tcp-reverse", "udp", "udp-reverse"]) {
        let theirs = json(&fs::read(goldens.join(format!("{golden}.json"))).unwrap());
        let ours = paths_of(ours);
        let wrong: Vec<String> = paths_of(&theirs)
            .iter()
            .filter(|(path, kind)| !ours.get(*path).is_some_and(|own| own == *kind || *own == "any"))
            .map(|(path, kind)| format!("{path} is {kind}, and here {:?}", ours.get(path)))
            .collect();
        assert_eq!(wrong, [""; 0], "{golden}");
    }
}

#[test]
fn intervals_add_up_to_the_sums() {
    for (number, document) in both_ways().iter().enumerate() {
        let end = &document["end"];
        let total = |of: &str, name: &str| -> u64 {
            let intervals = document["intervals"].as_array().unwrap();
            intervals.iter().map(|interval| interval[of][name].as_u64().unwrap_or(0)).sum()
        };
        let is_reverse = number % 2 == 1;
        let side = &end[if is_reverse { "sum_received" } else { "sum_sent" }];
        assert_eq!(side["bytes"], total("sum", "bytes"), "flow {number}");
        if number < 2 {
            assert!(is_reverse || side["retransmits"] == total("sum", "retransmits"), "flow {number}");
            assert!(end["sum_sent"]["retransmits"].as_u64().unwrap() > 0, "a queue of 20 packets drops");
        } else {
            let [packets, lost] = ["packets", "lost_packets"].map(|name| end["sum"][name].as_u64().unwrap());
            assert!(lost > 0 && packets > lost, "12 + 12 of 20 Mbit/s");
            assert_eq!(total("sum", "packets"), packets, "flow {number}");
            assert_eq!(total("sum", "lost_packets"), if is_reverse { lost } else { 0 }, "flow {number}");
        }
        let seconds = side["seconds"].as_f64().unwrap();
        let last = document["intervals"].as_array().unwrap().last().unwrap()["sum"]["end"].as_f64().unwrap();
        assert!((seconds - last).abs() < 0.1, "flow {number}: {seconds} and {last}");
    }
}

#[test]
fn a_sender_of_datagrams_knows_of_no_loss() {
    let [_, _, forward, reverse] = both_ways();
    for (document, is_client) in [(forward, true), (reverse, false)] {
        let end = &document["end"];
        assert_eq!(end["sum_sent"]["sender"], true);
        assert_eq!(end["sum_received"]["sender"], false);
        assert_eq!(end["sum"]["sender"], is_client);
        for name in ["lost_packets", "lost_percent", "jitter_ms"] {
            assert_eq!(end["sum_sent"][name].as_f64(), Some(0.0), "{name}");
            assert!(end["sum_received"][name].as_f64().unwrap() > 0.0, "{name}");
        }
    }
}

/// One of two runs is marked as a run that was too late.
fn with_an_invalid_run() -> Folder {
    let folder = Folder::new();
    let text = "name = \"late\"\n[[flow]]\nduration = \"1s\"\n[path]\nrate = \"10mbit\"\nrtt = [\"4ms\", \"8ms\"]\n[run]\nrepeat = 1\n";
    folder.write("s.toml", text);
    folder.pipefill(&["run", "s.toml", "--on", "sim", "--quiet", "--out", "o"]).assert().success();
    let run = &names(&folder.path("o/runs"))[0];
    let path = folder.path("o/runs").join(run).join("manifest.json");
    let mut manifest = json(&fs::read(&path).unwrap());
    manifest["invalid"] = serde_json::json!([{"reason": "late_releases", "detail": "p99 was 9 ms"}]);
    fs::write(&path, serde_json::to_vec(&manifest).unwrap()).unwrap();
    folder
}

#[test]
fn an_invalid_run_is_one_in_every_form() {
    let folder = with_an_invalid_run();
    let report = |form: &str, more: &[&str]| {
        let words = [&["report", "o", "--format", form], more].concat();
        let output = folder.pipefill(&words).assert().success();
        String::from_utf8(output.get_output().stdout.clone()).unwrap()
    };
    let why = "late_releases";
    for form in ["table", "json", "csv", "md", "html"] {
        let text = report(form, &[]);
        assert!(
            text.replace("\\_", "_").contains(why) || (form == "csv" && text.contains(",1,0,")),
            "{form}: {text}"
        );
    }
    report("iperf3", &["-o", "iperf3"]);
    let errors: Vec<bool> = names(&folder.path("iperf3"))
        .iter()
        .map(|name| json(&fs::read(folder.path("iperf3").join(name)).unwrap()))
        .map(|document| document["error"].as_str().is_some_and(|text| text.contains(why)))
        .collect();
    assert_eq!(errors, [true, false]);
    report("flent", &["-o", "flent"]);
    let told: Vec<bool> = names(&folder.path("flent"))
        .iter()
        .map(|name| fs::File::open(folder.path("flent").join(name)).unwrap())
        .map(|file| -> Value { serde_json::from_reader(flate2::read::GzDecoder::new(file)).unwrap() })
        .map(|data| {
            let [title, note] =
                ["TITLE", "NOTE"].map(|name| data["metadata"][name].as_str().unwrap().to_owned());
            title.contains("INVALID") && note.contains(why)
        })
        .collect();
    assert_eq!(told, [true, false]);
    for name in report("svg", &["-o", "o/pictures"]).lines() {
        let svg = fs::read_to_string(folder.path(name)).unwrap();
        let is_its = name.contains("over-time-rtt-4ms");
        assert_eq!(svg.contains(why), is_its, "{name}");
        let is_valid = name.contains("over-time-rtt-8ms");
        assert_eq!(svg.contains("class=\"warning\""), !is_valid, "{name}");
    }
    report("md", &["-o", "o/report.md"]);
    let text = fs::read_to_string(folder.path("o/report.md")).unwrap();
    assert!(text.contains("![Over time: rtt 4ms (invalid run)]"), "{text}");
}

#[test]
fn a_date_beyond_all_calendars_is_none() {
    let folder = with_an_invalid_run();
    let path = folder.path("o/runs").join(&names(&folder.path("o/runs"))[1]).join("manifest.json");
    let mut manifest = json(&fs::read(&path).unwrap());
    manifest["started_unix_ms"] = u64::MAX.into();
    fs::write(&path, serde_json::to_vec(&manifest).unwrap()).unwrap();
    for form in ["iperf3", "flent"] {
        let words = ["report", "o", "--format", form, "-o", form];
        let code = folder.pipefill(&words).output().unwrap().status.code();
        assert!(matches!(code, Some(0 | 2)), "{form}: {code:?}");
    }
}

#[test]
fn its_figures_are_those_of_the_record() {
    let folder = scene();
    let words = ["run", "s.toml", "--on", "sim", "--quiet", "--out", "o", "--set", "path.rtt=4ms", "--json"];
    let report = json(&folder.pipefill(&words).assert().success().get_output().stdout);
    folder.pipefill(&["report", "o", "--format", "iperf3", "-o", "flows"]).assert().success();
    let flow = |index: u32| json(&fs::read(folder.path(&format!("flows/0000-r1-flow{index}.json"))).unwrap());
    let manifest = json(&fs::read(folder.path("o/runs/0000-r1/manifest.json")).unwrap());
    let streams = manifest["streams"].as_array().unwrap();
    let total = |flow: u32, name: &str| -> u64 {
        streams
            .iter()
            .filter(|stream| stream["flow"] == flow)
            .map(|stream| stream[name].as_u64().unwrap())
            .sum()
    };
    for index in 0..3 {
        let end = &flow(index)["end"];
        assert_eq!(end["sum_sent"]["bytes"], total(index, "sent_bytes"), "{index}");
        assert_eq!(end["sum_received"]["bytes"], total(index, "received_bytes"), "{index}");
        assert_eq!(end["sum_sent"]["seconds"], 2.5);
        let seconds = end["sum_received"]["seconds"].as_f64().unwrap();
        assert!((2.5..4.0).contains(&seconds), "until the last byte was there: {seconds}");
        let rate = total(index, "received_bytes") as f64 * 8.0 / seconds;
        assert!((end["sum_received"]["bits_per_second"].as_f64().unwrap() - rate).abs() < 1.0);
    }
    let [tcp, reverse, udp] = [0, 1, 2].map(flow);
    assert_eq!(
        (tcp["intervals"].as_array().unwrap().len(), tcp["start"]["test_start"]["num_streams"].as_u64()),
        (3, Some(2))
    );
    let sum: u64 = tcp["intervals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|interval| interval["sum"]["bytes"].as_u64().unwrap())
        .sum();
    assert_eq!(sum, total(0, "sent_bytes"));
    let again: u64 = tcp["end"]["streams"]
        .as_array()
        .unwrap()
        .iter()
        .map(|stream| stream["sender"]["retransmits"].as_u64().unwrap())
        .sum();
    assert_eq!(tcp["end"]["sum_sent"]["retransmits"], again);
    assert_eq!(
        (&reverse["start"]["test_start"]["reverse"], &reverse["end"]["sum_sent"]["sender"]),
        (&1.into(), &false.into())
    );
    assert_eq!(
        udp["end"]["sum"]["lost_percent"].as_f64(),
        report["cells"][0]["run_values"][0]["lost_percent"].as_f64()
    );
    assert_eq!(udp["start"]["timestamp"]["timesecs"], Value::Null);
}

#[test]
fn several_flows_need_a_folder_and_one_does_not() {
    let folder = scene();
    folder.pipefill(&["run", "s.toml", "--on", "sim", "--quiet", "--quick", "--out", "o"]).assert().success();
    let several = folder.pipefill(&["report", "o", "--format", "iperf3"]).assert().code(2);
    several.stdout("").stderr(contains("-o FOLDER"));
    folder.write("one.toml", "name = \"one\"\n[[flow]]\nduration = \"1s\"\n[path]\nrate = \"10mbit\"\nrtt = \"4ms\"\n[run]\nrepeat = 1\n");
    folder.pipefill(&["run", "one.toml", "--on", "sim", "--quiet", "--out", "one"]).assert().success();
    let text = folder.pipefill(&["report", "one", "--format", "iperf3"]).assert().success();
    assert_eq!(json(&text.get_output().stdout)["start"]["test_start"]["protocol"], "TCP");
    folder.pipefill(&["report", "one", "--format", "iperf3", "-o", "one.json"]).assert().success();
    assert!(folder.path("one.json").is_file());
}

#[test]
fn flent_gets_each_flow_as_its_own_test_would_have_written_it() {
    let folder = scene();
    let words = ["run", "s.toml", "--on", "sim", "--quiet", "--out", "o", "--set", "path.rtt=4ms"];
    folder.pipefill(&words).assert().success();
    folder.pipefill(&["report", "o", "--format", "flent"]).assert().code(2).stderr(contains("-o FOLDER"));
    folder.pipefill(&["report", "o", "--format", "flent", "-o", "flows"]).assert().success().stdout("");
    let manifest = json(&fs::read(folder.path("o/runs/0000-r1/manifest.json")).unwrap());
    for (flow, test, series) in [
        (0, "tcp_nup", "TCP upload sum"),
        (1, "tcp_ndown", "TCP download sum"),
        (2, "udp_flood", "UDP upload"),
    ] {
        let file = fs::File::open(folder.path(&format!("flows/0000-r1-flow{flow}.flent.gz"))).unwrap();
        let data: Value = serde_json::from_reader(flate2::read::GzDecoder::new(file)).unwrap();
        assert_eq!((&data["version"], &data["metadata"]["NAME"]), (&3.into(), &test.into()));
        assert_eq!(data["metadata"]["TIME"], "1970-01-01T00:00:00.000Z", "virtual time has no date");
        let steps = data["x_values"].as_array().unwrap().len();
        assert_eq!(steps, 13, "2.5 s in steps of 0.2 s");
        for (name, values) in data["results"].as_object().unwrap() {
            assert_eq!(values.as_array().unwrap().len(), steps, "{name}");
        }
        let times = data["x_values"].as_array().unwrap().iter().map(|time| time.as_f64().unwrap());
        let rates = data["results"][series].as_array().unwrap().iter().map(|rate| rate.as_f64().unwrap());
        let mut before = 0.0;
        let bits: f64 = times
            .zip(rates)
            .map(|(time, rate)| rate * 1e6 * (time - std::mem::replace(&mut before, time)))
            .sum();
        let streams = manifest["streams"].as_array().unwrap().iter().filter(|stream| stream["flow"] == flow);
        let received: u64 = streams.map(|stream| stream["received_bytes"].as_u64().unwrap()).sum();
        // What comes when the sender has ended, a queue of it, is in no step.
        let share = bits / 8.0 / received as f64;
        assert!((0.85..=1.001).contains(&share), "{series}: {bits} bits of {received} bytes");
    }
}

/// Each flow's microseconds add up to the time that was judged, and the rows are those of the JSON.
#[test]
fn where_the_time_went_has_a_row_for_each_holder_of_each_flow() {
    let folder = scene();
    folder.pipefill(&["run", "s.toml", "--on", "sim", "--quiet", "--out", "o"]).assert().success();
    let report = |form: &str| {
        let output = folder.pipefill(&["report", "o", "--format", form]).assert().success();
        String::from_utf8(output.get_output().stdout.clone()).unwrap()
    };
    let mut expected = vec!["path.rtt,path_rtt_s,flow,direction,limited_by,cause,us,share".to_owned()];
    for cell in json(report("json").as_bytes())["cells"].as_array().unwrap() {
        for flow in cell["flows"].as_array().unwrap() {
            let held = flow["time"].as_array().unwrap();
            let sum: u64 = held.iter().map(|part| part["us"].as_u64().unwrap()).sum();
            assert_eq!(Some(sum), flow["span_us"].as_u64(), "{flow}");
            let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            expected.extend(held.iter().map(|part| {
                let [rtt, direction] = [&cell["axes"]["path.rtt"], &flow["direction"]].map(word);
                let [limit, cause] = [&part["limited_by"], &part["cause"]].map(word);
                let rtt_s = cell["axis_numbers"]["path_rtt_s"].as_f64().unwrap();
                let held = format!("{limit},{cause},{},{}", part["us"], part["share"]);
                format!("{rtt},{rtt_s},{},{direction},{held}", flow["flow"])
            }));
        }
    }
    let text = report("csv-time");
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    assert!(expected.len() > 6, "a row at least for each flow of two cells: {text}");
}

/// What the disciplines did, and how they stood, are those of the JSON and of the records.
#[test]
fn disciplines_of_queues_have_rows_and_columns_of_their_own() {
    let folder = Folder::new();
    folder.write(
        "s.toml",
        "name = \"aqm\"\n[path]\nrate = \"10mbit\"\nrtt = \"20ms\"\naqm = [\"droptail\", \"fq_codel\"]\n[[flow]]\nduration = \"2s\"\n[run]\nrepeat = 1\n",
    );
    folder.pipefill(&["run", "s.toml", "--on", "sim", "--quiet", "--out", "o"]).assert().success();
    let report = |form: &str| {
        let output = folder.pipefill(&["report", "o", "--format", form]).assert().success();
        String::from_utf8(output.get_output().stdout.clone()).unwrap()
    };
    let told = json(report("json").as_bytes());
    let cells = told["cells"].as_array().unwrap();
    assert!(cells[0].get("aqm").is_none(), "drop-tail has no discipline");
    let did = &cells[1]["aqm"][0];
    let counts = ["packets", "dropped_packets", "overflow_packets", "marked_packets"];
    let counts = counts.map(|name| did[name].to_string()).join(",");
    let text = report("csv-aqm");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[0].starts_with("path.aqm,direction,kind,target_us,packets,dropped_packets,"), "{text}");
    assert!(lines[1].starts_with(&format!("fq_codel,forward,fq_codel,5000,{counts},")), "{text}");

    let text = report("csv-aqm-samples");
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let place = |name: &str| names.iter().position(|column| *column == name).unwrap();
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    let directory = cells[1]["run_values"][0]["directory"].as_str().unwrap();
    assert!(rows.len() > 100, "a row each 10 ms: {}", rows.len());
    assert!(rows.iter().all(|row| row[place("directory")] == directory && row[place("cell")] == "1"));
    let last = rows.last().unwrap();
    assert_eq!(last[place("dropped_packets")], did["dropped_packets"].to_string(), "{last:?}");
    assert_eq!(last[place("probability_ppb")], "", "CoDel has none: {last:?}");

    folder.pipefill(&["report", "o", "--format", "parquet", "-o", "runs.parquet"]).assert().success();
    let bytes = fs::read(folder.path("runs.parquet")).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    for name in ["aqm_forward", "aqm_forward_dropped_packets", "aqm_reverse_sojourn_us_p99"] {
        assert!(text.contains(name), "{name}");
    }

    let words = ["run", "s.toml", "--on", "sim", "--quiet", "--records", "summary", "--out", "short"];
    folder.pipefill(&words).assert().success();
    let short = folder.pipefill(&["report", "short", "--format", "csv-aqm-samples"]).assert().code(2);
    short.stderr(contains("without --records summary"));
}

#[test]
fn a_cell_with_several_flows_has_a_row_for_each() {
    let folder = Folder::new();
    folder.write("s.toml", BOTH_WAYS);
    folder.pipefill(&["run", "s.toml", "--on", "sim", "--quiet", "--out", "o"]).assert().success();
    let report = |form: &str| {
        let output = folder.pipefill(&["report", "o", "--format", form]).assert().success();
        String::from_utf8(output.get_output().stdout.clone()).unwrap()
    };
    let cells = json(report("json").as_bytes())["cells"].clone();
    let flows = cells[0]["flows"].as_array().unwrap().clone();
    assert_eq!(flows.len(), 4);
    let text = report("csv");
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let place = |name: &str| names.iter().position(|column| *column == name).unwrap();
    assert_eq!(lines.count(), 5, "the cell, and four flows");
    let table = report("table");
    let of_flows = table.split("each flow (medians)").nth(1).unwrap();
    for (flow, way) in flows.iter().zip(["0 tcp ×2 →", "1 tcp ×2 ←", "2 udp ×2 →", "3 udp ×2 ←"])
    {
        assert!(of_flows.contains(way), "{way}: {of_flows}");
        let own = format!("{},", flow["goodput_bps"]);
        assert!(text.contains(&own), "{own}");
    }
    assert!(table.lines().any(|line| line.contains(" sum ")), "TCP and UDP, both ways: {table}");
    assert!(of_flows.lines().take(7).all(|line| line.chars().count() <= 80), "{of_flows}");
    assert!(place("flow") > place("repeat_command") && place("idle_rtt_us") > place("flow"));
    assert!(report("md").contains("### each flow"));
    assert!(report("html").contains("each flow (medians)"));
}
