//! What other programs read: `--json-stream` while an experiment runs, and `iperf3 -J`'s form of its flows.

mod pipefill;

use pipefill::{Folder, names};
use predicates::str::contains;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const SCENARIO: &str = r#"
name = "flows"
[path]
rtt = ["4ms", "20ms"]
rate = "20mbit"
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
    let words = [&["run", "s.toml", "--on", "sim", "--out", "o", option], more].concat();
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
    let rows: Vec<Value> =
        pipefill_core::record::TableReader::<pipefill_core::record::TcpSample, _>::new(file)
            .unwrap()
            .map(|row| serde_json::to_value(row.unwrap()).unwrap())
            .collect();
    let told: Vec<&Value> =
        samples.iter().filter(|one| one["table"] == "tcp").map(|one| &one["row"]).collect();
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

/// Every path of names in `value`; of a list that of its first item.
fn paths(value: &Value, path: &str, all: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(name, member)| paths(member, &format!("{path}/{name}"), all));
        }
        Value::Array(items) => items.iter().take(1).for_each(|item| paths(item, &format!("{path}/0"), all)),
        _ => {
            all.insert(path.to_owned());
        }
    }
}

fn paths_of(text: &[u8]) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    paths(&json(text), "", &mut all);
    all
}

#[test]
fn a_flow_has_every_name_that_iperf3_has() {
    let folder = scene();
    folder.pipefill(&["run", "s.toml", "--on", "sim", "--quiet", "--out", "o"]).assert().success();
    folder.pipefill(&["report", "o", "--format", "iperf3", "-o", "flows"]).assert().success().stdout("");
    let files = names(&folder.path("flows"));
    assert_eq!(files.len(), 2 * 2 * 3, "{files:?}");
    let goldens = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/iperf3");
    for (flow, golden) in [(0, "tcp"), (1, "tcp-reverse"), (2, "udp")] {
        let ours = fs::read(folder.path("flows").join(format!("0000-rtt-4ms-r1-flow{flow}.json"))).unwrap();
        let theirs = fs::read(goldens.join(format!("{golden}.json"))).unwrap();
        let missing: Vec<String> = paths_of(&theirs).difference(&paths_of(&ours)).cloned().collect();
        assert_eq!(missing, [""; 0], "{golden}");
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
        streams.iter().filter(|one| one["flow"] == flow).map(|one| one[name].as_u64().unwrap()).sum()
    };
    for index in 0..3 {
        let end = &flow(index)["end"];
        assert_eq!(end["sum_sent"]["bytes"], total(index, "sent_bytes"), "{index}");
        assert_eq!(end["sum_received"]["bytes"], total(index, "received_bytes"), "{index}");
        assert_eq!(end["sum_sent"]["seconds"], 2.5);
        let rate = total(index, "received_bytes") as f64 * 8.0 / 2.5;
        assert!((end["sum_received"]["bits_per_second"].as_f64().unwrap() - rate).abs() < 1.0);
    }
    let [tcp, reverse, udp] = [0, 1, 2].map(flow);
    assert_eq!(
        (tcp["intervals"].as_array().unwrap().len(), tcp["start"]["test_start"]["num_streams"].as_u64()),
        (3, Some(2))
    );
    let sum: u64 =
        tcp["intervals"].as_array().unwrap().iter().map(|one| one["sum"]["bytes"].as_u64().unwrap()).sum();
    assert!(sum.abs_diff(total(0, "sent_bytes")) <= 6, "{sum}");
    let again: u64 = tcp["end"]["streams"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["sender"]["retransmits"].as_u64().unwrap())
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
        let streams = manifest["streams"].as_array().unwrap().iter().filter(|one| one["flow"] == flow);
        let received: u64 = streams.map(|one| one["received_bytes"].as_u64().unwrap()).sum();
        // What comes when the sender has ended, a queue of it, is in no step.
        let share = bits / 8.0 / received as f64;
        assert!((0.85..=1.001).contains(&share), "{series}: {bits} bits of {received} bytes");
    }
}
