//! Many connections at once: how much memory they take, and what goes where fewer are allowed.

use pipefill_capture::headers::{Segment, segment};
use pipefill_capture::read::{LinkType, Packet};
use pipefill_capture::tcp::{Connection, Ended, Limits, Observer, Reconstruction};
use pipefill_testkit::captures::frame::{ACK, SYN, Tcp, syn_options};

/// What ended, and why.
#[derive(Default)]
struct Ends {
    evicted: Vec<u64>,
    replaced: usize,
    closed: usize,
    at_the_end: usize,
}

impl Observer for Ends {
    fn ended(&mut self, connection: &Connection, why: Ended) {
        match why {
            Ended::Evicted => self.evicted.push(connection.id()),
            Ended::Replaced => self.replaced += 1,
            Ended::Closed => self.closed += 1,
            Ended::EndOfCapture => self.at_the_end += 1,
        }
    }
}

fn made(tcp: &Tcp) -> Segment {
    let bytes = tcp.v4();
    let original = (bytes.len() + tcp.payload) as u32;
    segment(&Packet::new(0, LinkType(101), original, &bytes)).expect("TCP")
}

/// The `n`-th connection's SYN, SYN-ACK, ACK, request and answer.
fn small_flow(n: u32) -> Vec<Segment> {
    let options = syn_options(1460, 7, 1, 1);
    let parts = [
        Tcp { options: options.clone(), ..Tcp::new(100, 0, SYN, 0) },
        Tcp { options, ..Tcp::new(500, 101, SYN | ACK, 0) }.back(),
        Tcp::new(101, 501, ACK, 0),
        Tcp::new(101, 501, ACK, 300),
        Tcp::new(501, 401, ACK, 1400).back(),
        Tcp::new(401, 1901, ACK, 0),
    ];
    let place = |mut segment: Segment| {
        // Another address of the client for every 10 000 connections.
        for end in [&mut segment.source, &mut segment.destination] {
            if end.port == 40_000 {
                end.address = pipefill_capture::headers::Address::v4(0x0a00_0000 + n / 10_000);
                end.port = 10_000 + (n % 10_000) as u16;
            }
        }
        segment.time_ns = u64::from(n) * 1000;
        segment
    };
    parts.iter().map(made).map(place).collect()
}

#[test]
fn a_connection_without_data_takes_half_a_kilobyte_and_one_with_data_both_ways_less_than_two() {
    let mut all = Reconstruction::default();
    for n in 0..10_000 {
        for segment in &small_flow(n)[..3] {
            all.take_segment(segment, &mut ());
        }
    }
    let without = all.memory() / 10_000;
    for n in 0..10_000 {
        for segment in &small_flow(n)[3..] {
            all.take_segment(segment, &mut ());
        }
    }
    let with = all.memory() / 10_000;
    assert_eq!(all.counts().connections, 10_000);
    assert!(without <= 500, "{without} bytes");
    assert!(with <= 1_900, "{with} bytes");
}

#[test]
fn where_fewer_are_allowed_old_ones_go_and_are_counted() {
    let mut all = Reconstruction::new(Limits { connections: 1000 });
    let mut ends = Ends::default();
    for n in 0..50_000 {
        for segment in small_flow(n) {
            all.take_segment(&segment, &mut ends);
        }
    }
    assert_eq!(all.connections().count(), 1000);
    let counts = all.finish(&mut ends);
    assert_eq!((counts.connections, counts.evicted), (50_000, 49_000));
    assert_eq!((ends.evicted.len(), ends.at_the_end, ends.replaced, ends.closed), (49_000, 1000, 0, 0));
    // Roughly the oldest first.
    let late = ends.evicted.iter().zip(0u64..).filter(|&(&id, at)| id > at + 1500).count();
    assert_eq!(late, 0);
}

#[test]
fn a_busy_connection_stays() {
    let mut all = Reconstruction::new(Limits { connections: 100 });
    let mut ends = Ends::default();
    let busy = small_flow(0);
    for segment in &busy {
        all.take_segment(segment, &mut ends);
    }
    for n in 1..5000 {
        for segment in small_flow(n) {
            all.take_segment(&segment, &mut ends);
            let again = Segment { time_ns: segment.time_ns, ..busy[5] };
            all.take_segment(&again, &mut ends);
        }
    }
    assert!(!ends.evicted.contains(&0));
}
