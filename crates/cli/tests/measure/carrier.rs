//! Packets that the kernel holds (nfqueue) beside packets that this process copies (af_packet): the same path.

use crate::measuring::namespace::folder_with;
use crate::measuring::{self, Folder, Outcome, Skip, Test, if_quiet, in_time, slow_test, test};
use serde_json::Value;
use std::fs;
use std::process::Output;

const HELD: &str = "nfqueue";
const COPIED: &str = "af_packet";
/// Without a rate both carry what the hosts can; with one, segments of a super-packet leave one by one, which the kernel's queue can't do.
const SCENARIO: &str = r#"
name = "carrier"
[path]
rtt = "20ms"
family = ["ipv4", "ipv6"]
loss = "0.5%"
[[flow]]
duration = "5s"
[run]
repeat = 1
"#;
/// Share of the segments that may be lost where 0.5 % is asked for, of some thousands.
const LOST: std::ops::Range<f64> = 0.002..0.01;

pub(crate) fn tests() -> Vec<Test> {
    vec![
        slow_test("both_lose_what_the_path_loses", both_lose_what_the_path_loses),
        test("super_packets_leave_as_they_came", super_packets_leave_as_they_came),
        slow_test("a_path_with_a_rate_copies", a_path_with_a_rate_copies),
        slow_test("payload_arrives_as_it_was_sent", payload_arrives_as_it_was_sent),
        slow_test("what_no_host_cuts_or_joins_is_copied", what_no_host_cuts_or_joins_is_copied),
    ]
}

/// Where this kernel can hold packets; else the typed reason why it can't.
fn holding() -> Result<Folder, Skip> {
    let folder = measuring::lab()?;
    let doctor = folder.pipefill(&["doctor", "--json"]).output().unwrap();
    let checks: Value = serde_json::from_slice(&doctor.stdout).unwrap();
    let checks = checks["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["name"] == "packets held by the kernel").unwrap();
    match check["state"].as_str() {
        Some("ok") => Ok(folder),
        _ => Err(Skip::LabUnavailable(check["detail"].to_string())),
    }
}

/// Runs the scenario with packets held, or copied.
fn run(folder: &Folder, kind: &str, words: &[&str]) -> Output {
    let allowed = if kind == HELD { "1" } else { "0" };
    let words = [&["run", "carrier.toml", "--json", "--out", kind], words].concat();
    folder.pipefill(&words).env("PIPEFILL_NFQUEUE", allowed).output().unwrap()
}

/// The manifests of its runs.
fn manifests(folder: &Folder, kind: &str) -> Vec<Value> {
    let runs = folder.path(&format!("{kind}/runs"));
    let folders = measuring::names(&runs).into_iter();
    folders
        .map(|run| serde_json::from_slice(&fs::read(runs.join(run).join("manifest.json")).unwrap()).unwrap())
        .collect()
}

/// By how much it rose; 0 where it is not recorded, as counters of the kernel are that never rose.
fn counted(manifest: &Value, place: &str, name: &str) -> f64 {
    let counters = manifest["counters"].as_array().unwrap();
    let found = counters.iter().find(|counter| counter["place"] == place && counter["name"] == name);
    found.map_or(0.0, |found| found["after"].as_f64().unwrap() - found["before"].as_f64().unwrap())
}

fn both_lose_what_the_path_loses() -> Outcome {
    let folder = holding()?;
    folder.write("carrier.toml", SCENARIO);
    for kind in [HELD, COPIED] {
        in_time(|| [run(&folder, kind, &[])])?;
        let manifests = manifests(&folder, kind);
        assert_eq!(manifests.len(), 2);
        for manifest in manifests {
            assert_eq!(manifest["environment"]["data_path"], kind);
            let of_path = |name| counted(&manifest, "path forward", name);
            let (offered, lost) = (of_path("offered_packets"), of_path("dropped_random_loss_packets"));
            let sent_again = counted(&manifest, "sender nstat", "TcpRetransSegs");
            println!("{kind}: {offered} segments, {lost} lost, {sent_again} sent again");
            let received = manifest["streams"][0]["received_bytes"].as_f64().unwrap();
            assert!(offered - lost >= received / 1448.0, "{offered} segments for {received} bytes");
            assert!(LOST.contains(&(lost / offered)), "{lost} of {offered}");
            // But what was lost in the end, and what a timer sends again before it is known to have arrived.
            assert!((sent_again - lost).abs() <= 10.0, "{sent_again} of {lost}");
            let arrived = counted(&manifest, "receiver interface", "path0 rx_packets");
            assert!(arrived < offered - lost, "{arrived}: super-packets arrive, not {offered} segments");
            // Delays count from the kernel's timestamps, and not from when the path's thread woke.
            let srtt_us = manifest["streams"][0]["tcp"]["srtt_us"].as_f64().unwrap();
            assert!((20_000.0..if_quiet(20_500.0, f64::MAX)).contains(&srtt_us), "{srtt_us} µs");
            let drops = [&manifest["instrument"]["ring_drops"], &manifest["instrument"]["transmit_drops"]];
            assert_eq!(drops, [&Value::from(0), &Value::from(0)]);
        }
    }
    Ok(())
}

/// Where nothing is lost nothing is cut, whenever the path's thread wakes.
fn super_packets_leave_as_they_came() -> Outcome {
    let folder = holding()?;
    folder.write("carrier.toml", SCENARIO);
    let fast =
        ["--set", "path.loss=0%", "--set", "host.tcp_wmem=4096 16384 8388608", "--set", "flow.duration=3s"];
    in_time(|| [run(&folder, HELD, &fast)])?;
    for manifest in manifests(&folder, HELD) {
        let offered = counted(&manifest, "path forward", "offered_packets");
        let arrived = counted(&manifest, "receiver interface", "path0 rx_packets");
        println!("{offered} segments in {arrived} packets");
        assert_eq!(manifest["environment"]["data_path"], HELD);
        assert_eq!(counted(&manifest, "sender nstat", "TcpRetransSegs"), 0.0);
        assert_eq!(manifest["instrument"]["transmit_drops"], 0);
        assert!(arrived < offered / 8.0, "{offered} segments in {arrived} packets");
    }
    Ok(())
}

fn a_path_with_a_rate_copies() -> Outcome {
    let folder = holding()?;
    folder.write("carrier.toml", SCENARIO);
    run(&folder, HELD, &["--set", "path.rate=50mbit", "--set", "path.family=ipv4"]);
    let manifest = manifests(&folder, HELD).remove(0);
    assert_eq!(manifest["environment"]["data_path"], COPIED);
    Ok(())
}

fn what_no_host_cuts_or_joins_is_copied() -> Outcome {
    let folder = holding()?;
    for (number, key) in ["sender.gso", "sender.tso", "receiver.gro"].into_iter().enumerate() {
        let folder_of = format!("{HELD}{number}");
        folder.write("carrier.toml", SCENARIO);
        let set = format!("{key}=false");
        let short = ["--set", "path.family=ipv4", "--set", "flow.duration=1s"];
        let words = [&["run", "carrier.toml", "--out", &folder_of, "--set", &set], &short[..]].concat();
        folder.pipefill(&words).output().unwrap();
        let manifest = manifests(&folder, &folder_of).remove(0);
        assert_eq!(manifest["environment"]["data_path"], COPIED, "{key}");
    }
    Ok(())
}

/// Where segments of a super-packet are lost, the rest of it leaves with its own bytes.
fn payload_arrives_as_it_was_sent() -> Outcome {
    let folder = folder_with(&["python3", "curl"])?;
    drop(holding()?);
    let bytes: Vec<u8> = (0..6_000_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    fs::write(folder.path("file"), &bytes).unwrap();
    for server in ["{server}", "[fd77::2]"] {
        let url = format!("http://{server}:8000/file");
        let words = [
            "exec",
            "--rtt",
            "10ms",
            "--loss",
            "1%",
            "--server",
            "python3 -m http.server --bind :: 8000",
            "--",
            "curl",
            "-sS",
            "--retry",
            "20",
            "--retry-connrefused",
            "--retry-delay",
            "1",
            "-o",
            "got",
            &url,
        ];
        let output = folder.pipefill(&words).output().unwrap();
        let printed = String::from_utf8_lossy(&output.stderr);
        println!("{printed}");
        assert_eq!(output.status.code(), Some(0));
        assert!(printed.contains("path (nfqueue): forward"));
        assert!(!printed.contains(" 0 lost at random"), "{printed}");
        assert!(fs::read(folder.path("got")).unwrap() == bytes, "the file that arrived is another one");
        fs::remove_file(folder.path("got")).unwrap();
    }
    Ok(())
}
