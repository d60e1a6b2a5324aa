//! Captures that have both sides of a NAT.

use pipefill_capture::read::Reader;
use pipefill_capture::tcp::Connection;
use pipefill_capture::translated::translated_connections;
use pipefill_capture::whole::{Source, connections};
use pipefill_testkit::captures::container::{ContainerPacket, Order, pcap};
use pipefill_testkit::captures::exchange::{CapturedPacket, Exchange, Setup};
use pipefill_testkit::captures::frame::{behind_nat, is_of_client};
use std::io::Cursor;

const MS: u64 = 1_000_000;
/// From one interface of the router to the other.
const ROUTER_NS: u64 = 300_000;

/// A transfer with losses behind the router.
fn inside(isn: u32) -> Vec<CapturedPacket> {
    let setup = Setup {
        segments: 300,
        window: 20,
        rtt_ns: 30 * MS,
        gap_ns: 200_000,
        lost_before: 0,
        lost_behind: 10_000,
        place: 0,
        seed: 5,
        isn,
        stamp: 77,
    };
    let mut seen = Vec::new();
    Exchange::new(setup, &mut |packet| seen.push(packet)).run();
    seen.sort_by_key(|packet| packet.time_ns);
    seen
}

/// The same packets on both sides of the NAT; what comes back passes its outside first.
fn both_sides(inside: &[CapturedPacket]) -> Vec<ContainerPacket> {
    let mut entries = Vec::new();
    for packet in inside {
        let original = packet.original;
        let is_outbound = is_of_client(&packet.frame);
        let outside_ns = if is_outbound { packet.time_ns + ROUTER_NS } else { packet.time_ns - ROUTER_NS };
        entries.push(ContainerPacket { time_ns: packet.time_ns, original, bytes: packet.frame.clone() });
        let bytes = behind_nat(&packet.frame, ([203, 0, 113, 9], 61_000));
        entries.push(ContainerPacket { time_ns: outside_ns, original, bytes });
    }
    entries.sort_by_key(|entry| entry.time_ns);
    entries
}

/// The groups of the connections in `entries`, by the ports of their A sides.
fn groups(entries: &[ContainerPacket]) -> Vec<Vec<u16>> {
    let source: Source = Box::new(Cursor::new(pcap(Order { is_big: false }, true, entries)));
    let mut watched = connections(&mut Reader::open(source).expect("a capture"), None).watched;
    watched.sort_by_key(|seen| seen.connection.id());
    let all: Vec<&Connection> = watched.iter().map(|seen| &seen.connection).collect();
    let ports = |at: usize| {
        let ends = pipefill_capture::tcp::Side::BOTH.map(|side| all[at].endpoint(side).port);
        ends[0].max(ends[1])
    };
    let groups = translated_connections(&all);
    groups.into_iter().map(|group| group.into_iter().map(ports).collect()).collect()
}

#[test]
fn both_sides_of_a_nat_are_one_connection() {
    assert_eq!(groups(&both_sides(&inside(5))), [[40_000, 61_000]]);
}

#[test]
fn also_without_the_handshake_and_where_the_capture_ends_between_the_sides() {
    let entries = both_sides(&inside(5));
    // Three packets of the handshake, each on both sides.
    assert_eq!(groups(&entries[6..]), [[40_000, 61_000]]);
    let last_data = entries.iter().rposition(|entry| entry.original > 1_000).expect("data");
    assert_eq!(groups(&entries[..last_data]), [[40_000, 61_000]]);
}

/// Two connections at the same time, made by one program: each has its own numbers.
#[test]
fn connections_of_one_host_are_several() {
    let entries = |isn: u32, late_ns: u64, port: u16| {
        inside(isn).into_iter().map(move |packet| ContainerPacket {
            time_ns: packet.time_ns + late_ns,
            original: packet.original,
            bytes: behind_nat(&packet.frame, ([192, 0, 2, 1], port)),
        })
    };
    let mut both: Vec<ContainerPacket> = entries(5, 0, 40_000).chain(entries(6, 1_000, 40_001)).collect();
    both.sort_by_key(|entry| entry.time_ns);
    assert!(groups(&both).is_empty(), "{:?}", groups(&both));
}
