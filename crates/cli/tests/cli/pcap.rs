//! `pcap`: verdicts from packets alone, of captures that the simulator wrote, and what is refused.

use crate::pipefill::{Folder, names};
use pipefill_capture::read::Reader;
use pipefill_testkit::arithmetic::wrong_figures;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) const LOSSY: &str = "name = \"lossy\"\n[path]\nrtt = \"40ms\"\nrate = \"20mbit\"\nloss = \"0.5%\"\n[[flow]]\nduration = \"5s\"\n[run]\nrepeat = 1\n";

/// A simulated run with its captures; the folder and the capture at `end`.
pub(crate) fn captured(text: &str, end: &str) -> (Folder, PathBuf) {
    let folder = Folder::new();
    folder.write("one.toml", text);
    let file = capture(&folder, "one.toml", end);
    (folder, file)
}

fn capture(folder: &Folder, scenario: &str, end: &str) -> PathBuf {
    captured_run(folder, scenario).join(format!("artifacts/{end}.pcapng"))
}

/// A scenario of the catalogue.
pub(crate) fn scenario(name: &str) -> String {
    format!("{}/../../scenarios/catalogue/{name}.toml", env!("CARGO_MANIFEST_DIR"))
}

/// The directory of a simulated run with its captures.
pub(crate) fn captured_run(folder: &Folder, scenario: &str) -> PathBuf {
    let words =
        ["run", scenario, "--on", "sim", "--capture", "--out", "o", "--quiet", "--set", "run.repeat=1"];
    // Expectations of the catalogue's scenarios are not the matter here.
    folder.pipefill(&words).output().unwrap();
    let run = names(&folder.path("o/runs")).pop().expect("a run");
    folder.path(&format!("o/runs/{run}"))
}

pub(crate) fn pcap_json(folder: &Folder, file: &Path) -> Value {
    let output = folder.pipefill(&["pcap", file.to_str().unwrap(), "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found = serde_json::from_slice(&output.stdout).unwrap();
    figures_hold(&found);
    found
}

/// In each sentence on a flow.
pub(crate) fn figures_hold(found: &Value) {
    for flow in found["flows"].as_array().unwrap() {
        let sentence = flow["verdict"].as_str().unwrap_or_default();
        assert!(wrong_figures(sentence).is_empty(), "{:?} in {sentence}", wrong_figures(sentence));
    }
}

#[test]
fn a_flow_has_the_contracts_figures_and_the_records_retransmits() {
    let (folder, file) = captured(LOSSY, "sender");
    let found = pcap_json(&folder, &file);
    let report = folder.pipefill(&["report", "o", "--format", "json"]).output().unwrap();
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    let (flow, cell) = (&found["flows"][0], &report["cells"][0]);
    assert_eq!((&found["schema"], &flow["vantage"]), (&1.into(), &"sender".into()), "{flow:#}");
    assert_eq!(
        (&flow["limited_by"], &flow["cwnd_cause"]),
        (&"cwnd".into(), &"random_loss".into()),
        "{flow:#}"
    );
    assert_eq!(flow["retransmits"], cell["retransmits"]);
    assert_eq!(flow["min_rtt_us"], 40_000);
    for name in ["src", "dst"] {
        assert!(flow[name].as_str().is_some_and(|end| end.starts_with("10.77.0.")), "{flow:#}");
    }
    for name in ["packets", "bytes", "goodput_bps", "limited_fraction", "verdict", "advice"] {
        assert!(!flow[name].is_null(), "{name}: {flow:#}");
    }
    let ratio = flow["goodput_bps"].as_f64().unwrap() / cell["goodput_whole_bps"].as_f64().unwrap();
    assert!((0.97..1.03).contains(&ratio), "{ratio}");
}

/// Near the sender packets tell as much as its socket; some of each category of the catalogue.
#[test]
fn the_senders_packets_tell_what_was_planted() {
    for (name, limit) in [
        ("app-bitrate", "app"),
        ("app-bbr", "app"),
        ("loss-reno", "cwnd"),
        ("growth-reno", "cwnd"),
        ("startup-short", "cwnd"),
        ("queue-reno", "cwnd"),
        ("pacing-cubic", "pacing"),
        ("path-cubic", "path"),
        ("path-bbr", "path"),
        ("receiver-slow", "receiver"),
        ("rwnd-maximum", "rwnd"),
        ("rwnd-unscaled", "rwnd"),
        ("sndbuf-maximum", "sndbuf"),
        ("sndbuf-maximum-long", "sndbuf"),
        ("sndbuf-socket-bbr", "sndbuf"),
    ] {
        assert_limit(name, "sender", limit);
    }
}

/// And some of what the receiver's tell, or leave open.
#[test]
fn the_receivers_packets_tell_it_or_say_unknown() {
    for (name, limit) in [
        ("both-startup-path", "path"),
        ("pacing-bbr", "pacing"),
        ("path-bbr", "path"),
        ("path-cubic", "path"),
        ("rwnd-socket", "rwnd"),
        ("sndbuf-maximum", "sndbuf"),
        ("sndbuf-socket-bbr", "sndbuf"),
        ("ack-loss-90", "unknown"),
    ] {
        assert_limit(name, "receiver", limit);
    }
}

/// The capture of the catalogue's scenario `name` at `end` tells that `limit`.
fn assert_limit(name: &str, end: &str, limit: &str) {
    let folder = Folder::new();
    let found = pcap_json(&folder, &capture(&folder, &scenario(name), end));
    let flow = &found["flows"][0];
    assert_eq!(flow["limited_by"], limit, "{name} at the {end}: {}", flow["verdict"]);
}

/// The window of a flow is its receiver's, at whichever end it was captured.
#[test]
fn both_ends_tell_the_same_window() {
    let folder = Folder::new();
    let run = captured_run(&folder, &scenario("rwnd-maximum"));
    let [near, afar] = ["sender", "receiver"]
        .map(|end| pcap_json(&folder, &run.join(format!("artifacts/{end}.pcapng")))["flows"][0].clone());
    assert!(near["rwnd_bytes"].as_u64().is_some_and(|bytes| bytes > 65_536), "{near:#}");
    assert_eq!(near["rwnd_bytes"], afar["rwnd_bytes"]);
}

#[test]
fn near_the_receiver_pushes_tell_an_application() {
    let text = "name = \"app\"\n[path]\nrtt = \"20ms\"\nrate = \"100mbit\"\n[[flow]]\nduration = \"3s\"\nbitrate = \"10mbit\"\n[run]\nrepeat = 1\n";
    let (folder, file) = captured(text, "receiver");
    let flow = pcap_json(&folder, &file)["flows"][0].clone();
    assert_eq!((&flow["vantage"], &flow["limited_by"]), (&"receiver".into(), &"app".into()), "{flow:#}");
}

#[test]
fn a_damaged_capture_tells_what_could_be_read() {
    let (folder, file) = captured(LOSSY, "sender");
    let whole = fs::read(&file).unwrap();
    fs::write(folder.path("cut.pcapng"), &whole[..whole.len() / 2 + 3]).unwrap();
    folder
        .pipefill(&["pcap", "cut.pcapng"])
        .assert()
        .code(2)
        .stdout(contains("Reading ended early: cut.pcapng: byte ").and(contains("10.77.0.1:")));
    folder.write("words.txt", "not a capture");
    folder
        .pipefill(&["pcap", "words.txt"])
        .assert()
        .code(2)
        .stderr(contains("words.txt").and(contains("pcapng")));
    folder.pipefill(&["pcap", "nowhere"]).assert().code(2).stderr(contains("nowhere"));
    folder.write("none.pcap", "");
    folder.pipefill(&["pcap", "none.pcap"]).assert().code(2);
}

#[test]
fn standard_input_and_csv() {
    let (folder, file) = captured(LOSSY, "sender");
    let mut command = folder.pipefill(&["pcap", "-", "--csv"]);
    let output = command.pipe_stdin(&file).unwrap().output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines = text.lines();
    assert!(lines.next().is_some_and(|line| line.starts_with("src,dst,packets,")), "{text}");
    assert!(lines.next().is_some_and(|line| line.starts_with("10.77.0.1:")), "{text}");
    let output = folder.pipefill(&["pcap", "-", "--csv=time"]).pipe_stdin(&file).unwrap().output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("src,dst,limited_by,cause,us,share"));
    let held: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    let found = pcap_json(&folder, &file);
    let sum: u64 = held.iter().map(|fields| fields[4].parse::<u64>().unwrap()).sum();
    assert_eq!(Some(sum), found["flows"][0]["span_us"].as_u64(), "{text}");
    assert!(held.iter().any(|fields| fields[2..4] == ["cwnd", "random_loss"]), "{text}");
}

/// The same packets in a pcap, with their payload: zeros.
fn with_payload(capture: &Path) -> Vec<u8> {
    let mut reader = Reader::open(fs::File::open(capture).unwrap()).unwrap();
    let mut file = vec![0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0];
    while let Some(packet) = reader.next_packet().unwrap() {
        let (time_ns, length) = (packet.time_ns, packet.original_length);
        let (seconds, ns) = (time_ns / 1_000_000_000, time_ns % 1_000_000_000);
        file.extend([seconds as u32, ns as u32, length, length].map(u32::to_le_bytes).concat());
        let end = file.len() + length as usize;
        file.extend(packet.bytes);
        file.resize(end, 0);
    }
    file
}

/// A file with payload is mapped, and a stream is read.
#[test]
fn a_file_tells_what_a_stream_tells() {
    let (folder, capture) = captured(&LOSSY.replace("5s", "20s"), "sender");
    let whole = with_payload(&capture);
    assert!(whole.len() > 4 << 20, "large enough to be mapped: {}", whole.len());
    let file = folder.path("whole.pcap");
    fs::write(&file, &whole).unwrap();
    let mut command = folder.pipefill(&["pcap", "-", "--json"]);
    let output = command.pipe_stdin(&file).unwrap().output().unwrap();
    let stream: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(pcap_json(&folder, &file)["flows"], stream["flows"]);
    assert_eq!(stream["flows"][0]["retransmits"], pcap_json(&folder, &capture)["flows"][0]["retransmits"]);
    // Cut, it tells what a cut stream tells.
    fs::write(&file, &whole[..whole.len() - 700]).unwrap();
    let cut = folder.pipefill(&["pcap", "whole.pcap"]).output().unwrap();
    let text = String::from_utf8_lossy(&cut.stdout);
    assert!(cut.status.code() == Some(2) && text.contains("a packet is cut"), "{text}");
}

#[test]
fn the_scenario_that_it_writes_brings_the_same_goodput() {
    let text = "name = \"full\"\n[path]\nrtt = \"20ms\"\nrate = \"50mbit\"\nqueue = \"1bdp\"\n[[flow]]\nduration = \"4s\"\n[run]\nrepeat = 1\n";
    let (folder, file) = captured(text, "sender");
    let words = ["pcap", file.to_str().unwrap(), "--json", "--scenario", "again.toml"];
    let output = folder.pipefill(&words).output().unwrap();
    let before: Value = serde_json::from_slice(&output.stdout).unwrap();
    let output =
        folder.pipefill(&["run", "again.toml", "--on", "sim", "--json", "--quiet"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let after: Value = serde_json::from_slice(&output.stdout).unwrap();
    let ratio = after["cells"][0]["goodput_bps"].as_f64().unwrap()
        / before["flows"][0]["goodput_bps"].as_f64().unwrap();
    assert!((0.9..1.1).contains(&ratio), "{ratio}");
    folder.pipefill(&words).assert().code(2).stderr(contains("again.toml"));
}

#[test]
fn losses_of_the_scenario_are_fitted_to_the_captured_goodput() {
    let (folder, file) = captured(LOSSY, "sender");
    let file = file.to_str().unwrap();
    let output = folder.pipefill(&["pcap", file, "--json", "--scenario", "fitted.toml"]).output().unwrap();
    let before: Value = serde_json::from_slice(&output.stdout).unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("Runs of the simulator: "), "{said}");
    let output =
        folder.pipefill(&["run", "fitted.toml", "--on", "sim", "--json", "--quiet"]).output().unwrap();
    let after: Value = serde_json::from_slice(&output.stdout).unwrap();
    let [after, before] = [&after["cells"][0]["flows"][0], &before["flows"][0]];
    let ratio = after["goodput_bps"].as_f64().unwrap() / before["goodput_bps"].as_f64().unwrap();
    assert!((0.9..1.1).contains(&ratio), "{ratio}");
    assert_eq!(after["cwnd_cause"], before["cwnd_cause"]);
    let fitted = fs::read_to_string(folder.path("fitted.toml")).unwrap();
    assert!(fitted.contains("# On the simulator its largest flow has"), "{fitted}");
    fs::create_dir(folder.path("twice")).unwrap();
    folder.pipefill(&["pcap", file, "--scenario", "twice/fitted.toml"]).assert().success();
    assert_eq!(fs::read_to_string(folder.path("twice/fitted.toml")).unwrap(), fitted);
}

#[test]
fn a_scenario_is_written_without_runs_where_nobody_wants_them() {
    let (folder, file) = captured(LOSSY, "sender");
    let file = file.to_str().unwrap();
    let words = ["pcap", file, "--no-fit", "--scenario", "told.toml"];
    folder.pipefill(&words).assert().success().stderr(contains("simulator").not());
    let told = fs::read_to_string(folder.path("told.toml")).unwrap();
    assert!(told.contains("loss = ") && !told.contains("simulator"), "{told}");
    folder.pipefill(&["pcap", file, "--no-fit"]).assert().code(2).stderr(contains("--scenario"));
}

/// The causes that are no loss: each keeps its cause, and its goodput.
#[test]
fn reordering_and_slow_acks_are_reproduced_as_such() {
    for name in ["reorder-cubic", "ack-slow-reverse"] {
        let folder = Folder::new();
        let file = capture(&folder, &scenario(name), "sender");
        let before = pcap_json(&folder, &file)["flows"][0].clone();
        let words = ["pcap", file.to_str().unwrap(), "--scenario", "again.toml"];
        folder.pipefill(&words).assert().success();
        let output =
            folder.pipefill(&["run", "again.toml", "--on", "sim", "--json", "--quiet"]).output().unwrap();
        let after: Value = serde_json::from_slice(&output.stdout).unwrap();
        let after = &after["cells"][0]["flows"][0];
        let ratio = after["goodput_bps"].as_f64().unwrap() / before["goodput_bps"].as_f64().unwrap();
        assert!((0.8..1.2).contains(&ratio), "{name}: {ratio}");
        assert_eq!(after["cwnd_cause"], before["cwnd_cause"], "{name}");
    }
}

/// Whatever the file is called; and as on standard input.
#[test]
fn explain_takes_a_capture() {
    let (folder, file) = captured(LOSSY, "sender");
    fs::copy(&file, folder.path("slow.txt")).unwrap();
    let output = folder.pipefill(&["explain", "slow.txt"]).assert().success().get_output().stdout.clone();
    let text = String::from_utf8(output).unwrap();
    for part in [
        "10.77.0.1:",
        "Limited by the congestion window (random loss)",
        "Share of the time",
        "What limited it when\n    stream 0   ",
        "Evidence from packets",
        "Captured near the sender",
        "Advice",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let mut command = folder.pipefill(&["explain", "-", "--json"]);
    let output = command.pipe_stdin(&file).unwrap().output().unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let flow = &found["flows"][0];
    assert_eq!(
        (&flow["cwnd_cause"], &flow["confidence"]),
        (&"random_loss".into(), &"high".into()),
        "{flow:#}"
    );
    assert!(flow["timeline"].as_array().is_some_and(|spans| !spans.is_empty()), "{flow:#}");
    assert!(flow["figures"]["flight_bytes"].as_u64().is_some(), "{flow:#}");
}

#[test]
fn what_explain_cannot_read_is_told() {
    let (folder, file) = captured(LOSSY, "sender");
    folder.write("words.txt", "not a capture");
    folder.pipefill(&["explain", "words.txt"]).assert().code(2).stderr(
        contains("not a pcap or pcapng file").and(contains("the directory that `pipefill run` named")),
    );
    let name = file.to_str().unwrap();
    folder.pipefill(&["explain", name, "--only", "a=b"]).assert().code(2).stderr(contains("--only"));
    let whole = fs::read(&file).unwrap();
    fs::write(folder.path("cut"), &whole[..whole.len() / 2 + 3]).unwrap();
    folder
        .pipefill(&["explain", "cut"])
        .assert()
        .code(2)
        .stdout(contains("Reading ended early: cut: byte ").and(contains("Share of the time")));
}
