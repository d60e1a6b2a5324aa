//! Captures whose clock is coarse: counts are those of a fine clock, and what is shorter than a tick is not known.

use crate::exchanges::exchange;
use pipefill_capture::read::Reader;
use pipefill_capture::rows::Watched;
use pipefill_capture::tcp::Side;
use pipefill_capture::whole::{Connections, Source, connections};
use pipefill_core::record::CapturePoint;
use pipefill_testkit::captures::container::{ContainerPacket, Order, pcap};
use pipefill_testkit::captures::exchange::{CapturedPacket, Setup};
use std::io::Cursor;

const MS: u64 = 1_000_000;
/// A phase, since ticks of a clock need not be multiples since 1970.
const PHASE_NS: u64 = 4_500_000;

/// Some seconds of a transfer, captured at its sender.
fn sent(rtt_ns: u64, lost_behind: u32) -> Vec<CapturedPacket> {
    let setup = Setup {
        segments: 6_000,
        window: 40,
        rtt_ns,
        gap_ns: 1_200_000,
        lost_before: 0,
        lost_behind,
        place: 0,
        seed: 11,
        isn: 5,
        stamp: 77,
    };
    exchange(setup).0
}

/// As a clock with ticks of `tick_ns` has it.
fn read(seen: &[CapturedPacket], tick_ns: u64) -> Connections {
    let time_ns = |time_ns: u64| (time_ns - PHASE_NS) / tick_ns * tick_ns + PHASE_NS;
    let entries: Vec<ContainerPacket> = seen
        .iter()
        .map(|packet| ContainerPacket {
            time_ns: time_ns(packet.time_ns),
            original: packet.original,
            bytes: packet.frame.clone(),
        })
        .collect();
    let source: Source = Box::new(Cursor::new(pcap(Order { is_big: false }, true, &entries)));
    connections(&mut Reader::open(source).expect("a capture"), None)
}

fn only(found: &Connections) -> &Watched {
    assert_eq!(found.watched.len(), 1);
    &found.watched[0]
}

#[test]
fn bytes_and_retransmits_are_those_of_a_fine_clock() {
    let seen = sent(30 * MS, 4_000);
    let fine = read(&seen, 1_000);
    assert_eq!(fine.whole.clock_resolution_ns, None);
    let expected = only(&fine).connection.half(Side::A).counts();
    assert!(expected.retransmits() > 10, "{expected:?}");
    for tick_ns in [MS, 10 * MS, 500 * MS, 1_000 * MS] {
        let coarse = read(&seen, tick_ns);
        assert_eq!(coarse.whole.clock_resolution_ns, Some(tick_ns));
        let counts = only(&coarse).connection.half(Side::A).counts();
        let figures = |counts: pipefill_capture::tcp::SenderCounts| {
            (counts.new_bytes, counts.segments, counts.retransmits())
        };
        assert_eq!(figures(counts), figures(expected), "{tick_ns}");
    }
}

#[test]
fn a_round_trip_is_known_where_the_clock_shows_it() {
    let seen = sent(30 * MS, 0);
    for (tick_ns, is_known) in [(MS, true), (10 * MS, true), (500 * MS, false), (1_000 * MS, false)] {
        let found = read(&seen, tick_ns);
        let watched = only(&found);
        let rtt_us = watched.path_rtt_us();
        // Each end of it is a tick off at most.
        let is_near = |us: u32| u64::from(us).abs_diff(30_000) <= 2 * tick_ns / 1_000;
        assert_eq!(rtt_us.is_some(), is_known, "{tick_ns}: {rtt_us:?}");
        assert!(rtt_us.is_none_or(is_near), "{tick_ns}: {rtt_us:?}");
        let samples = watched.samples(Side::A, watched.connection.first_ns());
        let of_samples = || {
            samples.iter().flat_map(|sample| [sample.min_rtt_us.map(u32::from), sample.path_rtt_us]).flatten()
        };
        assert!(of_samples().all(|us| u64::from(us) * 1_000 > tick_ns), "{tick_ns}");
        assert_eq!(watched.bottleneck_bps(Side::A).is_some(), is_known, "{tick_ns}");
    }
}

/// An ACK within the same microsecond: no round trip is 0.
#[test]
fn a_round_trip_below_a_microsecond_is_not_known() {
    let found = read(&sent(600, 0), 1_000);
    assert_eq!(only(&found).path_rtt_us(), None);
}

/// Of three ticks nothing shows which part is on which side.
#[test]
fn the_place_needs_ten_ticks() {
    let seen = sent(30 * MS, 0);
    let place = |tick_ns: u64| only(&read(&seen, tick_ns)).capture_point(Side::A);
    assert_eq!(place(1_000), CapturePoint::Sender);
    assert_eq!(place(MS), CapturePoint::Sender);
    assert_eq!(place(10 * MS), CapturePoint::Unknown);
}
