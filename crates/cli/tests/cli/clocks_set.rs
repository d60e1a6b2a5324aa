//! Captures whose clock was set while they were made.

use crate::pipefill::Folder;
use pipefill_testkit::captures::container::{ContainerPacket, Order, pcap};
use pipefill_testkit::captures::exchange::{CapturedPacket, Exchange, Setup};
use serde_json::Value;
use std::fs;

const MS: u64 = 1_000_000;

/// A transfer of 2 s at its sender; from its middle on the clock is behind by `back_ms`.
fn captured(folder: &Folder, name: &str, back_ms: u64) {
    let setup = Setup {
        segments: 4_000,
        window: 40,
        rtt_ns: 20 * MS,
        gap_ns: 400_000,
        lost_before: 0,
        lost_behind: 1_000,
        place: 0,
        seed: 7,
        isn: 5,
        stamp: 77,
    };
    let mut seen: Vec<CapturedPacket> = Vec::new();
    Exchange::new(setup, &mut |packet| seen.push(packet)).run();
    seen.sort_by_key(|packet| packet.time_ns);
    let middle = seen.len() / 2;
    let entry = |(at, packet): (usize, CapturedPacket)| ContainerPacket {
        time_ns: packet.time_ns - if at < middle { 0 } else { back_ms * MS },
        original: packet.original,
        bytes: packet.frame,
    };
    let entries: Vec<ContainerPacket> = seen.into_iter().enumerate().map(entry).collect();
    fs::write(folder.path(name), pcap(Order { is_big: false }, false, &entries)).unwrap();
}

fn text(folder: &Folder, arguments: &[&str]) -> String {
    let output = folder.pipefill(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// 2^64 nanoseconds are 584 years, as seconds, microseconds or nanoseconds.
fn has_wrapped(text: &str) -> bool {
    text.contains("1844674407") || text.contains("in 584 ")
}

#[test]
fn a_capture_whose_clock_was_set_back_says_so_and_leaves_out_what_needs_it() {
    let folder = Folder::new();
    for back_ms in [100, 1_000, 3_600_000] {
        let name = format!("back-{back_ms}.pcap");
        captured(&folder, &name, back_ms);
        let page = format!("back-{back_ms}.html");
        let shown = text(&folder, &["pcap", &name, "--page", &page, "--graphs", &format!("drawn-{back_ms}")]);
        let explained = text(&folder, &["explain", &name]);
        let csv = text(&folder, &["pcap", &name, "--csv"]);
        let json = text(&folder, &["pcap", &name, "--json"]);
        let page = fs::read_to_string(folder.path(&page)).unwrap();
        let drawn = fs::read_dir(folder.path(&format!("drawn-{back_ms}"))).unwrap();
        let drawn = drawn.map(|file| fs::read_to_string(file.unwrap().path()).unwrap());
        for text in [&shown, &explained, &csv, &json, &page].into_iter().cloned().chain(drawn) {
            assert!(!has_wrapped(&text), "{text}");
        }
        for text in [&shown, &explained, &page] {
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.contains("clock was set back once, by at least"), "{text}");
            assert!(words.contains("in an unknown time (the clock was set back or is wrong)"), "{text}");
        }
        let found: Value = serde_json::from_str(&json).unwrap();
        let flow = &found["flows"][0];
        assert!(flow["span_us"].is_null() && flow["goodput_bps"].is_null(), "{flow}");
        let backward = &found["backward_times"];
        assert_eq!((&backward["set_back"], &backward["late_packets"]), (&Value::from(1), &Value::from(0)));
        let by_us = backward["set_back_us"].as_u64().unwrap();
        assert!(by_us.abs_diff(back_ms * 1_000) < 1_000, "{by_us}");
        let plain = format!("plain-{back_ms}.pcap");
        captured(&folder, &plain, 0);
        let plain: Value = serde_json::from_str(&text(&folder, &["pcap", &plain, "--json"])).unwrap();
        // The verdict is of the half in which it carried more.
        assert!(flow["limited_by"].is_string() && plain["flows"][0]["limited_by"].is_string());
        assert_eq!(flow["min_rtt_us"], plain["flows"][0]["min_rtt_us"]);
        assert!(plain["backward_times"].is_null() && plain["flows"][0]["span_us"].is_u64());
    }
}

#[test]
fn two_captures_of_which_one_was_set_back_have_no_delays() {
    let folder = Folder::new();
    captured(&folder, "sender.pcap", 0);
    captured(&folder, "receiver.pcap", 1_000);
    let shown = text(&folder, &["pcap", "sender.pcap", "receiver.pcap"]);
    assert!(!has_wrapped(&shown), "{shown}");
    assert!(shown.contains("Delays are not known: a clock was set meanwhile."), "{shown}");
    let found = text(&folder, &["pcap", "sender.pcap", "receiver.pcap", "--json"]);
    let found: Value = serde_json::from_str(&found).unwrap();
    let joined = &found["joined"];
    let times =
        [&joined["backward_times_at_sender"]["set_back"], &joined["backward_times_at_receiver"]["set_back"]];
    assert!(times.contains(&&Value::from(1)) && joined["clock"].is_null(), "{joined}");
    assert!(found["flows"][0]["joined"]["forward"]["one_way_delay"].is_null());
}
