//! `explain` of what other programs print: the arithmetic, what is missing, exit codes, records, hostile input.

use crate::pipefill::Folder;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// A test of four seconds on a path of 1 Gbit/s and 50 ms, behind a window of 262,140 bytes.
fn behind_a_window() -> Value {
    let interval = |at: usize, bytes: u64, rtt: u64| {
        json!({"streams": [{
            "socket": 5, "start": at, "end": at + 1, "seconds": 1, "bytes": bytes, "retransmits": 0, "snd_cwnd": 807_984,
            "snd_wnd": 262_140, "rtt": rtt, "rttvar": 38, "pmtu": 1500, "omitted": false, "sender": true
        }]})
    };
    json!({
        "start": {
            "connected": [{
                "socket": 5, "local_host": "192.0.2.1", "local_port": 41_014, "remote_host": "192.0.2.2", "remote_port": 5201
            }],
            "version": "iperf 3.12",
            "tcp_mss_default": 1448,
            "sock_bufsize": 0,
            "sndbuf_actual": 16_384,
            "test_start": {"protocol": "TCP", "num_streams": 1, "reverse": 0, "target_bitrate": 0}
        },
        "intervals": [
            interval(0, 4_333_144, 50_090),
            interval(1, 5_251_488, 50_115),
            interval(2, 5_224_384, 50_084),
            interval(3, 5_211_000, 50_070)
        ],
        "end": {"sender_tcp_congestion": "cubic"}
    })
}

fn explained(folder: &Folder, words: &[&str]) -> Value {
    let output = folder
        .pipefill(&[&["explain", "--json"], words].concat())
        .assert()
        .code(0)
        .get_output()
        .stdout
        .clone();
    serde_json::from_slice(&output).unwrap()
}

/// A send buffer of 141 kB on a path of 100 Mbit/s: the round trip is some milliseconds longer where the machine is busy, and the rate follows it.
fn behind_a_buffer(round_trips_us: [u64; 4]) -> Value {
    let mut output = behind_a_window();
    for (at, rtt_us) in round_trips_us.into_iter().enumerate() {
        let stream = &mut output["intervals"][at]["streams"][0];
        stream["bytes"] = (141_000 * 1_000_000 / rtt_us).into();
        stream["rtt"] = rtt_us.into();
        stream["snd_cwnd"] = 331_592.into();
        stream["snd_wnd"] = 749_000.into();
    }
    output
}

#[test]
fn smoothed_round_trips_that_differ_a_little_are_no_queue() {
    let folder = Folder::new();
    for round_trips_us in
        [[40_000, 42_000, 42_000, 42_000], [40_000, 46_000, 46_000, 46_000], [41_000, 43_000, 45_000, 46_000]]
    {
        folder.write("iperf3.json", &behind_a_buffer(round_trips_us).to_string());
        let found = explained(&folder, &["iperf3.json"]);
        assert_eq!(found["connections"][0]["limited_by"], "unknown", "{round_trips_us:?}");
    }
}

/// On a machine that is busy for a moment: the mean deviation is as large as what the round trip is above its least.
#[test]
fn a_smoothed_round_trip_that_a_single_long_one_makes_long_is_no_queue() {
    let folder = Folder::new();
    let mut output = behind_a_buffer([42_899, 40_577, 42_982, 73_323]);
    let readings = [(2_802_797, 4_701), (2_764_800, 801), (2_992_640, 4_755), (2_433_024, 41_646)];
    for (at, (bytes, rttvar_us)) in readings.into_iter().enumerate() {
        let stream = &mut output["intervals"][at]["streams"][0];
        (stream["bytes"], stream["rttvar"]) = (bytes.into(), rttvar_us.into());
    }
    folder.write("iperf3.json", &output.to_string());
    let found = explained(&folder, &["iperf3.json"]);
    assert_ne!(found["connections"][0]["limited_by"], "path", "{found:#}");
}

#[test]
fn iperf3_json_behind_a_receive_window_is_limited_by_it_with_the_arithmetic_and_the_remedy() {
    let folder = Folder::new();
    folder.write("iperf3.json", &behind_a_window().to_string());
    let found = explained(&folder, &["iperf3.json"]);
    let connection = &found["connections"][0];
    assert_eq!(
        (found["schema"].as_u64(), connection["limited_by"].as_str()),
        (Some(1), Some("rwnd")),
        "{connection:#}"
    );
    let sentence = connection["verdict"].as_str().unwrap();
    assert!(sentence.contains("262 kB") && sentence.contains("41.9 Mbit/s"), "{sentence}");
    assert!(pipefill_testkit::arithmetic::wrong_figures(sentence).is_empty(), "{sentence}");
    let advice = &connection["advice"][0];
    let said = [&advice["target"], &advice["setting"], &advice["value"]].map(|value| value.as_str().unwrap());
    assert_eq!(said, ["receiver", "receive buffer", "692037B"], "{advice:#}");
    assert!(advice["why"].as_str().unwrap().contains("tcp_rmem"), "{advice:#}");
    assert_eq!(found["read_from"]["program"], "iperf3 -J");
    assert_eq!(found["read_from"]["gaps"], json!(["send_buffer", "least_round_trip"]));
    insta::assert_snapshot!(printed(&folder, &["explain", "iperf3.json"]));
}

/// What real programs printed: `testdata/pasted/README.md` says how each was made.
#[test]
fn what_real_programs_printed_names_the_planted_holder_or_none() {
    let folder = Folder::new();
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/explain-output.json");
    let schema: Value = serde_json::from_slice(&fs::read(schema).unwrap()).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    for (name, holder) in [
        ("iperf3-rwnd.json", "rwnd"),
        ("iperf3-path.json", "path"),
        ("iperf3-loss.json", "cwnd"),
        ("iperf3-app.json", "app"),
        ("iperf3-udp.json", "path"),
        ("iperf3.txt", "unknown"),
        ("iperf2.txt", "unknown"),
        ("ss-sndbuf.txt", "sndbuf"),
        ("ss-sndbuf-waiting.txt", "sndbuf"),
        ("ss-pacing.txt", "pacing"),
        ("ss-one-rwnd.txt", "rwnd"),
        ("ss-one-burst.txt", "app"),
        ("qlog-loss.json", "cwnd"),
        ("qlog-window.json", "rwnd"),
        ("qlog-app.json", "app"),
    ] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/pasted").join(name);
        let found = explained(&folder, &[file.to_str().unwrap()]);
        let problems: Vec<String> = schema.iter_errors(&found).map(|problem| problem.to_string()).collect();
        assert!(problems.is_empty(), "{name}: {problems:#?}");
        let connection = &found["connections"][0];
        assert_eq!(connection["limited_by"], holder, "{name}: {}", connection["verdict"]);
        let sentence = connection["verdict"].as_str().unwrap();
        assert!(pipefill_testkit::arithmetic::wrong_figures(sentence).is_empty(), "{name}: {sentence}");
        assert_eq!(
            found["missing"].as_array().unwrap().len(),
            found["read_from"]["gaps"].as_array().unwrap().len(),
            "{name}"
        );
    }
}

/// Whether data waits at that instant is chance: the kernel's clocks tell of the time before.
#[test]
fn each_reading_alone_names_the_planted_holder_or_none() {
    let folder = Folder::new();
    let (mut named, mut all) = (0, 0);
    for (name, holder) in
        [("ss-sndbuf.txt", "sndbuf"), ("ss-sndbuf-waiting.txt", "sndbuf"), ("ss-one-rwnd.txt", "rwnd")]
    {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/pasted").join(name);
        let text = fs::read_to_string(file).unwrap();
        for reading in text.split("State ").skip(1) {
            let is_memory = |word: &&str| word.starts_with("skmem:");
            let without_memory: String = reading
                .lines()
                .map(|line| match line.split_whitespace().find(is_memory) {
                    Some(memory) => line.replace(memory, "") + "\n",
                    None => format!("{line}\n"),
                })
                .collect();
            for text in [reading, &without_memory] {
                folder.write("one.ss", text);
                let found = explained(&folder, &["one.ss"]);
                let says = found["connections"][0]["limited_by"].as_str().unwrap().to_owned();
                assert!(says == holder || says == "unknown", "{name}: {says}\n{text}");
                all += 1;
                named += usize::from(says == holder);
            }
        }
    }
    assert!(all >= 60 && 10 * named >= 9 * all, "{named} of {all}");
}

fn printed(folder: &Folder, words: &[&str]) -> String {
    String::from_utf8(folder.pipefill(words).assert().code(0).get_output().stdout.clone()).unwrap()
}

/// By the same text from standard input, whatever its name.
#[test]
fn standard_input_is_read_and_records_give_the_same_verdict() {
    let folder = Folder::new();
    let text = behind_a_window().to_string();
    let output =
        folder.pipefill(&["explain", "-", "--out", "kept", "--json"]).write_stdin(text).assert().code(0);
    let found: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    let kept = explained(&folder, &["kept"]);
    for member in ["limited_by", "rule", "verdict"] {
        assert_eq!(found["connections"][0][member], kept["cells"][0][member], "{member}");
    }
}

#[test]
fn what_is_no_output_is_an_error_with_what_to_give_instead() {
    let folder = Folder::new();
    for (text, what) in [
        ("a list of things to buy\n", "not the output of a known program"),
        ("{\"a\": [1, 2", "not the output of a known program"),
        ("{\"a\": nan}", "begins like JSON and is none"),
        (
            r#"{"start": {}, "intervals": [], "end": {}, "error": "Connection refused"}"#,
            "iperf3 failed: Connection refused",
        ),
    ] {
        folder.write("text", text);
        folder.pipefill(&["explain", "text"]).assert().code(2).stderr(contains(what).and(contains("text")));
    }
    folder.write("iperf3.json", &behind_a_window().to_string());
    let only = folder.pipefill(&["explain", "iperf3.json", "--only", "path.rtt=1ms"]).assert().code(2);
    only.stderr(contains("--only and --blindfold are for records"));
}

const QDISCS: &str = "\
qdisc tbf 1: dev eth0 root refcnt 2 rate 42Mbit burst 32Kb lat 25.0ms
 Sent 195450545 bytes 2252952 pkt (dropped 213, overlimits 65672 requeues 0)
 backlog 12Kb 8p requeues 0
";
const COUNTERS: &str = "\
#kernel
TcpExtTCPTimeouts               3                  0.0
TcpExtTCPMemoryPressures        1                  0.0
TcpExtListenDrops               0                  0.0
";

/// The shaper passes 42 Mbit/s, and 40.0 were measured: a window that happens to allow as much may not be what limits.
#[test]
fn queues_and_counters_of_the_host_support_a_verdict_or_contradict_it() {
    let folder = Folder::new();
    folder.write("iperf3.json", &behind_a_window().to_string());
    folder.write("qdiscs", QDISCS);
    folder.write("counters", COUNTERS);
    let words = ["iperf3.json", "--context", "qdiscs", "--context", "counters"];
    let found = explained(&folder, &words);
    let connection = &found["connections"][0];
    assert_eq!(connection["limited_by"], "rwnd", "the verdict stays");
    let said: Vec<(&str, &str)> = connection["context"]
        .as_array()
        .unwrap()
        .iter()
        .map(|remark| (remark["bearing"].as_str().unwrap(), remark["origin"].as_str().unwrap()))
        .collect();
    let tbf = "tc -s qdisc: tbf 1: dev eth0";
    let wanted = [
        ("contradicts", tbf),
        ("contradicts", "nstat: TcpExtTCPMemoryPressures"),
        ("adds", tbf),
        ("adds", tbf),
        ("adds", "nstat: TcpExtTCPTimeouts"),
    ];
    assert_eq!(said, wanted, "{connection:#}");
    assert_eq!(found["context"]["qdiscs"][0]["dropped_packets"], 213);
    insta::assert_snapshot!(printed(&folder, &[&["explain"], &words[..]].concat()));
    let alone = printed(&folder, &["explain", "iperf3.json"]);
    assert!(!alone.contains("What the host counts"), "{alone}");
}

#[test]
fn a_context_is_for_an_output_and_has_to_be_one() {
    let folder = Folder::new();
    folder.write("iperf3.json", &behind_a_window().to_string());
    folder.write("qdiscs", QDISCS);
    folder.write("shopping", "bread\n");
    let refused = |words: &[&str], what: &str| {
        folder.pipefill(&[&["explain"], words].concat()).assert().code(2).stderr(contains(what));
    };
    refused(&["iperf3.json", "--context", "shopping"], "shows neither a queueing discipline nor a counter");
    refused(&["iperf3.json", "--context", "absent"], "absent");
    folder.pipefill(&["explain", "iperf3.json", "--out", "kept"]).assert().code(0);
    refused(&["kept", "--context", "qdiscs"], "--context is for one");
}

/// The window's size is in the sentence, its remedy in QUIC's words, and no sysctl anywhere.
#[test]
fn advice_for_quic_names_the_library_s_settings() {
    let folder = Folder::new();
    let file = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/pasted").join(name);
    let found = explained(&folder, &[file("qlog-window.json").to_str().unwrap()]);
    let connection = &found["connections"][0];
    let advice = connection["advice"].to_string();
    assert!(advice.contains("initial_max_data"), "{connection:#}");
    assert_eq!(found["read_from"]["gaps"], json!(["unsent"]));
    for name in ["qlog-window.json", "qlog-loss.json", "qlog-app.json"] {
        let shown = printed(&folder, &["explain", file(name).to_str().unwrap()]);
        for word in ["sysctl", "tcp_rmem", "SO_RCVBUF", "TCP_NODELAY"] {
            assert!(!shown.contains(word), "{name}: {word}: {shown}");
        }
    }
}

/// 100 MB of JSON, a million nested lists, and a million bytes that are none.
#[test]
fn hostile_text_is_an_error_of_one_sentence() {
    let folder = Folder::new();
    let large = format!("{{\"start\": {{}}, \"intervals\": [{}", "{\"streams\": []},".repeat(6_500_000));
    for (text, what) in [
        (large, "at most 64 MiB"),
        ("{\"start\":".repeat(200_000), "begins like JSON"),
        ("ESTAB 1 ".repeat(125_000), "known program"),
    ] {
        folder.write("text", &text);
        folder.pipefill(&["explain", "text"]).assert().code(2).stderr(contains(what));
    }
}
