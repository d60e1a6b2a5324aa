//! `pcap` on captures whose clock is coarse: what it says of that, and what it leaves out.

use crate::pcap::pcap_json;
use crate::pipefill::Folder;
use pipefill_testkit::captures::container::{ContainerPacket, Order, pcap};
use pipefill_testkit::captures::exchange::{Exchange, Setup};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use std::fs;
use std::path::PathBuf;

const MS: u64 = 1_000_000;

/// A transfer over 4 ms, 1.2 ms for each segment, captured at its sender by a clock with ticks of `tick_ns`; and pings that show the clock.
fn by_clock(folder: &Folder, segments: u64, tick_ns: u64) -> PathBuf {
    let setup = Setup {
        segments,
        window: 40,
        rtt_ns: 4 * MS,
        gap_ns: 1_200_000,
        lost_before: 0,
        lost_behind: 0,
        place: 0,
        seed: 11,
        isn: 5,
        stamp: 77,
    };
    let mut entries = Vec::new();
    Exchange::new(setup, &mut |packet| {
        let (time_ns, original) = (packet.time_ns / tick_ns * tick_ns, packet.original);
        entries.push(ContainerPacket { time_ns, original, bytes: packet.frame });
    })
    .run();
    let begin_ns = entries[0].time_ns;
    let ping = [&[2; 12][..], &[8, 0, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, 1], &[0; 18]].concat();
    entries.extend((0..20).map(|at| ContainerPacket {
        time_ns: begin_ns + at * tick_ns,
        original: 42,
        bytes: ping.clone(),
    }));
    entries.sort_by_key(|entry| entry.time_ns);
    let file = folder.path("one.pcap");
    fs::write(&file, pcap(Order { is_big: false }, false, &entries)).unwrap();
    file
}

#[test]
fn the_resolution_is_told_and_no_round_trip_is_zero() {
    let folder = Folder::new();
    let file = by_clock(&folder, 6_000, 1_000);
    let fine = pcap_json(&folder, &file);
    assert!(fine["clock_resolution_us"].is_null(), "{fine:#}");
    folder.pipefill(&["pcap", "one.pcap"]).assert().success().stdout(contains("resolution").not());
    for (tick_ns, in_words) in [(10 * MS, "10 ms"), (500 * MS, "500 ms"), (1_000 * MS, "1 s")] {
        let file = by_clock(&folder, 6_000, tick_ns);
        let found = pcap_json(&folder, &file);
        let flow = &found["flows"][0];
        assert_eq!(found["clock_resolution_us"], tick_ns / 1_000);
        assert_eq!(
            (&flow["min_rtt_us"], &flow["bytes"]),
            (&serde_json::Value::Null, &fine["flows"][0]["bytes"])
        );
        let rate = |flow: &serde_json::Value| flow["goodput_bps"].as_f64().unwrap();
        assert!((rate(flow) / rate(&fine["flows"][0]) - 1.0).abs() < 0.15, "{in_words}: {flow:#}");
        let sentence = format!("The capture's clock has a resolution of {in_words}");
        let is_told = || contains(sentence.clone()).and(contains("0 ns").not());
        folder.pipefill(&["pcap", "one.pcap"]).assert().success().stdout(is_told());
        folder.pipefill(&["explain", "one.pcap"]).assert().success().stdout(is_told());
    }
}

/// Beside other traffic that shows the clock: 0.24 s are less than five ticks of 100 ms.
#[test]
fn a_rate_needs_five_ticks() {
    let folder = Folder::new();
    for (segments, ticks) in [(200, 2), (600, 7)] {
        let file = by_clock(&folder, segments, 100 * MS);
        let found = pcap_json(&folder, &file);
        let flow = &found["flows"][0];
        assert_eq!(flow["goodput_bps"].is_null(), ticks < 5, "{flow:#}");
        if ticks < 5 {
            assert_eq!(
                (&flow["limited_by"], &flow["rule"]),
                (&"unknown".into(), &"unknown.coarse_clock".into())
            );
            folder
                .pipefill(&["pcap", "one.pcap"])
                .assert()
                .success()
                .stdout(contains("less than five ticks"));
        }
    }
}
