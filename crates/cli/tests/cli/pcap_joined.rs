//! `pcap` with two captures: what it says of the path is held against the simulator's own counters, delays and clocks.

use crate::pcap::{captured_run, scenario};
use crate::pipefill::Folder;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use serde_json::Value;
use std::fs;

const LOSSY: &str = "name = \"lossy\"\n[path]\nrtt = \"40ms\"\nrate = \"20mbit\"\nqueue = \"1bdp\"\nloss = \"0.5%\"\n[[flow]]\nduration = \"4s\"\n[run]\nrepeat = 1\n";

/// A run with its captures, as `sender.pcapng` and `receiver.pcapng` of the folder; and its manifest.
fn run(text: &str) -> (Folder, Value) {
    let folder = Folder::new();
    folder.write("one.toml", text);
    let manifest = run_in(&folder, "one.toml");
    (folder, manifest)
}

fn run_in(folder: &Folder, scenario: &str) -> Value {
    let run = captured_run(folder, scenario);
    for name in ["sender.pcapng", "receiver.pcapng"] {
        fs::copy(run.join("artifacts").join(name), folder.path(name)).unwrap();
    }
    serde_json::from_slice(&fs::read(run.join("manifest.json")).unwrap()).unwrap()
}

fn joined(folder: &Folder, first: &str, second: &str) -> Value {
    let output = folder.pipefill(&["pcap", first, second, "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What a counter of the path in `direction` says, by the end of its name.
fn counted(manifest: &Value, direction: &str, is_it: impl Fn(&str) -> bool) -> u64 {
    let place = format!("path {direction}");
    let counters = manifest["counters"].as_array().unwrap().iter();
    let own = counters
        .filter(|counter| counter["place"] == place.as_str() && is_it(counter["name"].as_str().unwrap()));
    own.map(|counter| counter["after"].as_u64().unwrap()).sum()
}

/// Over all connections, `what` of the direction that the simulator calls so.
fn total(found: &Value, direction: &str, what: impl Fn(&Value) -> u64) -> u64 {
    let mut seen = Vec::new();
    let mut sum = 0;
    for flow in found["flows"].as_array().unwrap() {
        let is_forward = flow["src"].as_str().unwrap().starts_with("10.77.0.1:");
        let mut ends = [flow["src"].as_str().unwrap(), flow["dst"].as_str().unwrap()];
        ends.sort_unstable();
        if seen.contains(&ends) {
            continue;
        }
        seen.push(ends);
        let own = if is_forward == (direction == "forward") { "forward" } else { "reverse" };
        sum += what(&flow["joined"][own]);
    }
    sum
}

fn lost(way: &Value) -> u64 {
    way["lost_data_segments"].as_u64().unwrap() + way["lost_pure_acks"].as_u64().unwrap()
}

/// Losses of every kind. What was sent too late to arrive before the capture's end is the path's backlog then, or was dropped in its
/// last moments: the sum is exact.
#[test]
fn what_was_lost_is_what_the_simulator_has_dropped() {
    for (name, at_end) in [
        ("loss-cubic", 0),
        ("loss-bursts", 0),
        ("queue-reno", 0),
        ("policer-reno", 0),
        ("ack-loss-85", 1),
        ("reorder-reno", 0),
        ("path-parallel", 0),
        ("path-without-timestamps", 0),
        ("both-ways-tcp-loss", 0),
        ("hystart-jitter-normal", 0),
    ] {
        let folder = Folder::new();
        let manifest = run_in(&folder, &scenario(name));
        let found = joined(&folder, "sender.pcapng", "receiver.pcapng");
        for direction in ["forward", "reverse"] {
            let count = |name: &str| counted(&manifest, direction, |counter| counter == name);
            let dropped = counted(&manifest, direction, |counter| {
                counter.starts_with("dropped_") && counter.ends_with("_packets")
            });
            let backlog =
                count("offered_packets") + count("duplicated_packets") - count("delivered_packets") - dropped;
            let lost = total(&found, direction, lost);
            let after = total(&found, direction, |way| way["unmatched"]["sent_after"].as_u64().unwrap());
            assert_eq!(lost + after, dropped + backlog, "{name} {direction}");
            assert!(lost <= dropped && lost + at_end >= dropped, "{name} {direction}: {lost} of {dropped}");
            let odd = |way: &Value| {
                ["sent_before", "received_before", "received_after", "received_only", "hurried"]
                    .iter()
                    .map(|name| way["unmatched"][name].as_u64().unwrap())
                    .sum()
            };
            assert_eq!(total(&found, direction, odd), 0, "{name} {direction}");
        }
    }
}

#[test]
fn delays_are_those_of_the_path_and_of_its_queue() {
    let (folder, _) = run(
        "name = \"d\"\n[path]\nforward_delay = \"30ms\"\nreverse_delay = \"10ms\"\nrate = \"20mbit\"\nqueue = \"100KiB\"\n[[flow]]\nduration = \"5s\"\ncongestion_control = \"reno\"\n[run]\nrepeat = 1\n",
    );
    let found = joined(&folder, "sender.pcapng", "receiver.pcapng");
    let flow = &found["flows"][0]["joined"];
    assert_eq!(found["joined"]["same_clock"], true);
    let [forward, reverse] = ["forward", "reverse"].map(|way| &flow[way]["one_way_delay"]);
    assert_eq!(
        (&forward["basis"], &forward["min_us"]),
        (&"same_clock".into(), &30_000.into()),
        "{forward:#}"
    );
    assert_eq!(reverse["min_us"], 10_000, "{reverse:#}");
    // 100 KiB at 20 Mbit/s.
    let full = 102_400.0 * 8.0 / 20.0;
    let most = forward["above_min_us_p99"].as_f64().unwrap();
    assert!((0.9..1.02).contains(&(most / full)), "{most} µs of {full}");
    assert!(forward["above_min_us_before_loss"].as_f64().unwrap() > 0.9 * full, "{forward:#}");
    assert!(reverse["above_min_us_p95"].as_f64().unwrap() < 100.0, "{reverse:#}");
}

#[test]
fn duplicates_and_overtaken_packets_are_counted() {
    let (folder, manifest) = run(
        "name = \"d\"\n[path]\nrtt = \"40ms\"\nduplicate = \"1%\"\n[[flow]]\nduration = \"8s\"\nbitrate = \"8mbit\"\n[run]\nrepeat = 1\n",
    );
    let found = joined(&folder, "sender.pcapng", "receiver.pcapng");
    let twice = total(&found, "forward", |way| way["duplicated"].as_u64().unwrap());
    let truth = counted(&manifest, "forward", |name| name == "duplicated_packets");
    // A copy may be on its way at the end.
    assert!(truth > 20 && twice <= truth && twice + 2 >= truth, "{twice} of {truth}");
    let folder = Folder::new();
    let manifest = run_in(&folder, &scenario("reorder-bbr"));
    let found = joined(&folder, "sender.pcapng", "receiver.pcapng");
    let overtaken = total(&found, "forward", |way| way["reordered"].as_u64().unwrap());
    assert_eq!(overtaken, counted(&manifest, "forward", |name| name == "reordered_packets"));
    // The sender's capture alone takes it for loss.
    assert_eq!(found["flows"][0]["cwnd_cause"], "reordering", "{}", found["flows"][0]["verdict"]);
}

/// The sender's capture alone sees retransmissions; the receiver's, that no data were lost.
#[test]
fn lost_acks_are_not_taken_for_lost_data() {
    let folder = Folder::new();
    run_in(&folder, &scenario("ack-loss-90"));
    let found = joined(&folder, "receiver.pcapng", "sender.pcapng");
    let flow = &found["flows"][0];
    assert_eq!((&flow["limited_by"], &flow["cwnd_cause"]), (&"cwnd".into(), &"ack_path".into()), "{flow:#}");
    let verdict = flow["verdict"].as_str().unwrap();
    assert!(verdict.contains("both captures show that no data were lost"), "{verdict}");
}

#[test]
fn the_order_of_the_files_does_not_matter() {
    let (folder, _) = run(LOSSY);
    let words = |first, second| folder.pipefill(&["pcap", first, second]).output().unwrap().stdout;
    let text = words("sender.pcapng", "receiver.pcapng");
    assert_eq!(text, words("receiver.pcapng", "sender.pcapng"));
    let text = String::from_utf8(text).unwrap();
    for part in [
        "Joined: sender.pcapng of the sender's end, receiver.pcapng",
        "Lost forward: ",
        "wait 50 %",
        "one clock",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// The packets of one of our captures as a pcap, with other times.
fn rewritten(capture: &[u8], time: impl Fn(u64) -> u64) -> Vec<u8> {
    cut(capture, 262_144, time)
}

/// The same with so many bytes of each packet at most.
fn cut(capture: &[u8], snap: u32, time: impl Fn(u64) -> u64) -> Vec<u8> {
    let word = |at: usize| u32::from_le_bytes(capture[at..at + 4].try_into().unwrap());
    let head: [u32; 6] = [0xa1b2_3c4d, 4 << 16 | 2, 0, 0, 262_144, 1];
    let mut pcap: Vec<u8> = head.into_iter().flat_map(u32::to_le_bytes).collect();
    let mut at = 0;
    while at < capture.len() {
        if word(at) == 6 {
            let ns = time(u64::from(word(at + 12)) << 32 | u64::from(word(at + 16)));
            let kept = word(at + 20).min(snap);
            let fields = [(ns / 1_000_000_000) as u32, (ns % 1_000_000_000) as u32, kept, word(at + 24)];
            pcap.extend(fields.into_iter().flat_map(u32::to_le_bytes));
            pcap.extend(&capture[at + 28..at + 28 + kept as usize]);
        }
        at += word(at + 4) as usize;
    }
    pcap
}

#[test]
fn another_clock_is_found_within_the_error_that_is_said() {
    let (folder, _) = run(LOSSY);
    let [sender, receiver] =
        ["sender", "receiver"].map(|end| fs::read(folder.path(&format!("{end}.pcapng"))).unwrap());
    fs::write(folder.path("s.pcap"), rewritten(&sender, |ns| ns)).unwrap();
    let zero = 1_767_225_600_000_000_000_u64;
    for (offset_ns, ppm) in [(1_500_000_000_i64, 0_i64), (0, 50), (-700_000_000, -80)] {
        let moved = |ns: u64| {
            let drift = ns.saturating_sub(zero).cast_signed() * ppm / 1_000_000;
            ns.saturating_add_signed(offset_ns + drift)
        };
        fs::write(folder.path("r.pcap"), rewritten(&receiver, moved)).unwrap();
        let found = joined(&folder, "s.pcap", "r.pcap");
        let clock = &found["joined"]["clock"];
        let (drift, error) =
            (clock["drift_ppm"].as_f64().unwrap(), clock["drift_error_ppm"].as_f64().unwrap());
        assert!((drift - ppm as f64).abs() <= error && error < 2.0, "{ppm}: {clock:#}");
        // In the middle of about four seconds.
        let expected_us = offset_ns / 1_000 + ppm * 2;
        let error_us = clock["offset_error_us"].as_i64().unwrap() + ppm.abs();
        let offset_us = clock["offset_us"].as_i64().unwrap();
        assert!((offset_us - expected_us).abs() <= error_us, "{offset_ns} {ppm}: {clock:#}");
        assert!(clock["offset_bound_us"].as_u64().unwrap().abs_diff(20_000) < 10, "{clock:#}");
        let delay = &found["flows"][0]["joined"]["forward"]["one_way_delay"];
        assert_eq!(delay["basis"], "half_rtt");
        assert!((delay["min_us"].as_i64().unwrap() - 20_000).abs() < 10, "{delay:#}");
    }
    folder.pipefill(&["pcap", "s.pcap", "r.pcap"]).assert().success().stdout(
        contains("The receiver's clock is").and(contains("behind the sender's")).and(contains("is assumed")),
    );
}

/// Without options there are no timestamps; without TCP's header there is nothing.
#[test]
fn a_short_snap_length_loses_nothing_or_is_told() {
    let (folder, manifest) = run(LOSSY);
    let receiver = fs::read(folder.path("receiver.pcapng")).unwrap();
    fs::write(folder.path("54.pcap"), cut(&receiver, 54, |ns| ns)).unwrap();
    fs::write(folder.path("40.pcap"), cut(&receiver, 40, |ns| ns)).unwrap();
    let whole = joined(&folder, "sender.pcapng", "receiver.pcapng");
    let short = joined(&folder, "sender.pcapng", "54.pcap");
    let dropped = counted(&manifest, "forward", |counter| {
        counter.starts_with("dropped_") && counter.ends_with("_packets")
    });
    assert_eq!([&whole, &short].map(|found| total(found, "forward", lost)), [dropped; 2]);
    folder
        .pipefill(&["pcap", "sender.pcapng", "40.pcap"])
        .assert()
        .code(2)
        .stderr(contains("no connection in common").and(contains("In 40.pcap, the snap length has cut")));
}

#[test]
fn what_cannot_be_joined_is_refused_in_words() {
    let (folder, _) = run(LOSSY);
    fs::copy(folder.path("sender.pcapng"), folder.path("first.pcapng")).unwrap();
    let refused = |words: &[&str], what: &str| {
        folder.pipefill(&[&["pcap"], words].concat()).assert().code(2).stderr(contains(what));
    };
    refused(&["sender.pcapng", "receiver.pcapng", "sender.pcapng"], "3 captures were given");
    refused(&["sender.pcapng", "-"], "standard input can be read once");
    refused(&["sender.pcapng", "receiver.pcapng", "--graphs", "g"], "--graphs draws one capture");
    refused(&["sender.pcapng", "nowhere"], "nowhere");
    // Another run between the same addresses and ports.
    folder.write("other.toml", &LOSSY.replace("40ms", "30ms"));
    fs::remove_dir_all(folder.path("o")).unwrap();
    run_in(&folder, "other.toml");
    refused(&["first.pcapng", "receiver.pcapng"], "no connection in common");
}

#[test]
fn of_a_damaged_capture_what_could_be_read_is_joined() {
    let (folder, _) = run(LOSSY);
    let whole = fs::read(folder.path("receiver.pcapng")).unwrap();
    fs::write(folder.path("cut.pcapng"), &whole[..whole.len() / 2 + 5]).unwrap();
    let output = folder.pipefill(&["pcap", "sender.pcapng", "cut.pcapng", "--json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(found["broken"].as_str().is_some_and(|text| text.starts_with("cut.pcapng: byte ")), "{found:#}");
    let forward = &found["flows"][0]["joined"]["forward"];
    assert!(forward["unmatched"]["sent_after"].as_u64() > Some(500), "{forward:#}");
    assert!(lost(forward) > 0 && lost(forward) < 20, "{forward:#}");
}

#[test]
fn lines_fit_a_terminal() {
    let folder = Folder::new();
    run_in(&folder, &scenario("ack-slow-reverse"));
    let output = folder.pipefill(&["pcap", "sender.pcapng", "receiver.pcapng"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let tables = text.lines().filter(|line| line.starts_with("  forward ") || line.starts_with("  reverse "));
    let widths: Vec<usize> = tables.map(|line| line.chars().count()).collect();
    assert!(widths.len() == 4 && widths.iter().all(|&width| width <= 80), "{text}");
}
