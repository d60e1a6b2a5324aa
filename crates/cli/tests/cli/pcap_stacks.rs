//! `pcap` on transfers in the manner of stacks that cannot be run here.
//!
//! What they rest on: options in their order as `core::stacks` has them; the delayed ACK of 200 ms of Windows (Microsoft's KB 328890, `TcpAckFrequency`),
//! of 100 ms of FreeBSD (`net.inet.tcp.delacktime`, before 14), of 250 ms of lwIP (`TCP_TMR_INTERVAL`), all below the 500 ms of RFC 1122 4.2.3.2; windows
//! without scaling of Windows XP (44 segments of 1460 bytes) and of lwIP (`TCP_WND`, four segments); 536 bytes without the MSS option (RFC 9293 3.7.1).

use crate::pcap::pcap_json;
use crate::pipefill::Folder;
use pipefill_testkit::captures::container::{ContainerPacket, Order, pcap};
use pipefill_testkit::captures::exchange::CapturedPacket;
use pipefill_testkit::captures::manner::{CapturedPath, Manner, bulk, conversation, one_at_a_time};
use serde_json::Value;
use std::fs;

const MS: u64 = 1_000_000;

/// MSS 1460, NOP, NOP, SACK permitted; no timestamps, no scale.
fn windows_xp() -> Manner {
    let syn = vec![2, 4, 5, 0xb4, 1, 1, 4, 2];
    Manner {
        syn,
        ttl: 128,
        dont_fragment: true,
        window: 64_240,
        window_bytes: 64_240,
        delayed_ack_ns: 200 * MS,
    }
}

/// MSS 1460, NOP, scale 8, NOP, NOP, SACK permitted; no timestamps.
fn windows_10() -> Manner {
    let syn = vec![2, 4, 5, 0xb4, 1, 3, 3, 8, 1, 1, 4, 2];
    Manner {
        syn,
        ttl: 128,
        dont_fragment: true,
        window: 8_192,
        window_bytes: 8_192 << 8,
        delayed_ack_ns: 200 * MS,
    }
}

/// MSS 1460, NOP, scale 6, SACK permitted, timestamps.
fn freebsd() -> Manner {
    let syn = vec![2, 4, 5, 0xb4, 1, 3, 3, 6, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0];
    Manner {
        syn,
        ttl: 64,
        dont_fragment: true,
        window: 32_768,
        window_bytes: 32_768 << 6,
        delayed_ack_ns: 100 * MS,
    }
}

/// MSS 536 alone.
fn lwip() -> Manner {
    Manner {
        syn: vec![2, 4, 2, 0x18],
        ttl: 255,
        dont_fragment: false,
        window: 2_144,
        window_bytes: 2_144,
        delayed_ack_ns: 250 * MS,
    }
}

/// The flow with the most bytes, captured at the client and at the server.
fn judged(made: impl Fn(bool) -> Vec<CapturedPacket>) -> [Value; 2] {
    let folder = Folder::new();
    [false, true].map(|is_at_receiver| {
        let entry = |packet: CapturedPacket| ContainerPacket {
            time_ns: packet.time_ns,
            original: packet.original,
            bytes: packet.frame,
        };
        let entries: Vec<ContainerPacket> = made(is_at_receiver).into_iter().map(entry).collect();
        let file = folder.path("one.pcap");
        fs::write(&file, pcap(Order { is_big: false }, false, &entries)).unwrap();
        let found = pcap_json(&folder, &file);
        let flow = found["flows"][0].clone();
        let is_at_its_sender = is_at_receiver == flow["src"].as_str().unwrap().ends_with(":80");
        assert_eq!(flow["vantage"], if is_at_its_sender { "sender" } else { "receiver" }, "{flow:#}");
        flow
    })
}

fn path_of(rtt_ms: u64, gap_us: u64) -> impl Fn(bool) -> CapturedPath {
    move |is_at_receiver| CapturedPath { rtt_ns: rtt_ms * MS, gap_ns: gap_us * 1_000, is_at_receiver }
}

fn limits(flows: &[Value; 2]) -> [[&str; 2]; 2] {
    flows.each_ref().map(|flow| ["limited_by", "cause"].map(|name| flow[name].as_str().unwrap_or("")))
}

#[test]
fn a_window_of_64_kb_without_scaling_limits() {
    let (xp, way) = (windows_xp(), path_of(100, 120));
    let flows = judged(|is_at_receiver| bulk([&xp, &xp], way(is_at_receiver), 1_460, 3_000));
    for flow in &flows {
        assert_eq!((&flow["stack"], &flow["options"]["window_scale"]), (&"windows".into(), &0.into()));
        assert_eq!((&flow["bytes"], &flow["retransmits"]), (&4_380_000.into(), &0.into()));
    }
    assert_eq!(limits(&flows).map(|[limit, _]| limit), ["rwnd"; 2], "{:#}", flows[1]);
}

#[test]
fn four_segments_of_536_bytes_limit() {
    let (lwip, way) = (lwip(), path_of(30, 100));
    let flows = judged(|is_at_receiver| bulk([&lwip, &lwip], way(is_at_receiver), 536, 2_000));
    for flow in &flows {
        assert_eq!((&flow["stack"], &flow["options"]["mss_bytes"]), (&"embedded".into(), &536.into()));
        assert_eq!((&flow["segments"], &flow["bytes"]), (&2_000.into(), &1_072_000.into()));
    }
    assert_eq!(limits(&flows).map(|[limit, _]| limit), ["rwnd"; 2], "{:#}", flows[1]);
}

#[test]
fn a_path_is_full_whatever_the_stack() {
    let way = path_of(20, 1_200);
    for (manner, stack) in [(freebsd(), "bsd"), (windows_10(), "windows")] {
        let flows = judged(|is_at_receiver| bulk([&manner, &manner], way(is_at_receiver), 1_448, 6_000));
        for flow in &flows {
            assert_eq!((&flow["stack"], &flow["segments"]), (&stack.into(), &6_000.into()));
        }
        let [near_sender, near_receiver] = limits(&flows).map(|[limit, _]| limit);
        assert_eq!(near_sender, "path", "{:#}", flows[0]);
        // At the receiver no packet shows the queue: timestamps of one direction alone measure no round trip there.
        assert!(["path", "unknown"].contains(&near_receiver), "{:#}", flows[1]);
    }
}

#[test]
fn an_ack_that_is_delayed_by_200_ms_limits() {
    let (windows, way) = (windows_10(), path_of(10, 120));
    let flows = judged(|is_at_receiver| one_at_a_time([&windows, &windows], way(is_at_receiver), 1_460, 40));
    assert_eq!(limits(&flows), [["app", "delayed_ack"]; 2], "{:#}", flows[0]);
}

#[test]
fn a_conversation_waits_for_its_server_or_for_its_path() {
    for (manner, mss) in [(lwip(), 536), (windows_xp(), 1_460), (freebsd(), 1_448)] {
        for (think_ms, rtt_ms, cause) in [(50, 5, "response"), (0, 40, "turns")] {
            let way = path_of(rtt_ms, 100);
            let flows = judged(|is_at_receiver| {
                conversation([&manner, &manner], way(is_at_receiver), (mss, think_ms * MS), 50)
            });
            assert_eq!(limits(&flows).map(|[_, found]| found), [cause; 2], "{:#}", flows[0]);
        }
    }
}
