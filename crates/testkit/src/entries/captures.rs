//! Captures that anybody may have made: fed to the reader and to the joiner, by the fuzz target and by an ordinary test (`crates/capture/tests/hostile.rs`).
//! What can be read is, an error has its place, and what is told of a connection can be; never a panic.

use crate::captures::datagram::udp;
use pipefill_capture::graphs::{Collector, Graphs, Series, Wanted, choose, levels};
use pipefill_capture::join::{Pairing, Survey, join};
use pipefill_capture::read::{LinkType, Mapped, Packet, Reader};
use pipefill_capture::rows::Sampling;
use pipefill_capture::tcp::{Connection, Ended, Event, Limits, Observer, Reconstruction, Side, Spurious};
use pipefill_capture::udp::UdpFlows;
use std::io;

/// Looks at what must always hold.
struct Judge;

impl Observer for Judge {
    fn segment(&mut self, connection: &Connection, event: &Event) {
        for side in [Side::A, Side::B] {
            let half = connection.half(side);
            assert!(half.acked_to() <= half.sent_to(), "{half:?}");
            assert!(half.sacked_segments() + half.lost_segments() <= half.unacked_segments(), "{half:?}");
            assert!(half.retrans_segments() <= half.unacked_segments(), "{half:?}");
        }
        assert!(event.segments >= 1 && connection.last_ns() >= connection.first_ns());
    }

    fn spurious(&mut self, connection: &Connection, side: Side, spurious: &Spurious) {
        assert!(spurious.segments <= connection.half(side).counts().spurious);
    }

    fn ended(&mut self, connection: &Connection, _: Ended) {
        connection.vantage();
    }
}

/// A file in memory.
struct InMemory<'a>(&'a [u8]);

impl Mapped for InMemory<'_> {
    fn bytes(&self) -> &[u8] {
        self.0
    }

    fn fetch(&self, _offset: usize, _stride: usize) {}

    fn pass(&self, _offset: usize) {}

    fn failure(&self) -> Option<io::Error> {
        None
    }
}

/// What is read of a file in memory that is not packed: as many packets.
fn of_mapped(bytes: &[u8]) -> u64 {
    let file = InMemory(bytes);
    let Ok(mut reader) = Reader::of_mapped(&file, io::empty()) else { return 0 };
    while let Ok(Some(_)) = reader.next_packet() {}
    reader.packets()
}

/// A file. Returns how many packets were read.
pub fn file(bytes: &[u8]) -> u64 {
    let (mut all, mut sampling) = (Reconstruction::new(Limits { connections: 64 }), Sampling::default());
    let Ok(mut reader) = Reader::open(bytes) else { return 0 };
    loop {
        match reader.next_packet() {
            Ok(Some(packet)) => {
                packet.comments().count();
                all.push(&packet, &mut (&mut Judge, &mut sampling));
            }
            Ok(None) => break,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                break;
            }
        }
    }
    if reader.compression().is_none() {
        assert_eq!(reader.packets(), of_mapped(bytes));
    }
    all.memory();
    let counts = all.finish(&mut (&mut Judge, &mut sampling));
    samples(sampling);
    counts.packets
}

/// The samples of both directions of every connection.
fn samples(sampling: Sampling) {
    for watched in sampling.finish().0 {
        for sender in [watched.near(), watched.near().other()] {
            let samples = watched.samples(sender, watched.connection.first_ns());
            assert!(samples.is_sorted_by_key(|sample| sample.t_us), "{samples:?}");
        }
    }
}

/// Two files as the captures of one transfer. Returns how many connections both have.
pub fn two_files(first_file: &[u8], second_file: &[u8]) -> usize {
    let surveys = [first_file, second_file].map(survey);
    let (Some(first), Some(second)) = (&surveys[0], &surveys[1]) else { return 0 };
    let (Ok(mut first_reader), Ok(mut second_reader)) = (Reader::open(first_file), Reader::open(second_file))
    else {
        return 0;
    };
    let joined = join(&mut first_reader, &mut second_reader, Pairing::of(first, second));
    for way in joined.pairs.iter().flat_map(|pair| &pair.ways) {
        let counts = &way.counts;
        let gone = counts.unmatched_sent.before + counts.unmatched_sent.after;
        assert!(counts.lost_data + counts.lost_bare + gone <= counts.data + counts.bare, "{counts:?}");
        assert!(
            way.delay.is_none_or(|delay| delay.above_ns.is_sorted() && delay.above_ns[0] >= 0),
            "{way:?}"
        );
    }
    joined.pairs.len()
}

fn survey(bytes: &[u8]) -> Option<Survey> {
    let mut reader = Reader::open(bytes).ok()?;
    let (mut survey, mut all) = (Survey::default(), Reconstruction::new(Limits { connections: 64 }));
    while let Ok(Some(packet)) = reader.next_packet() {
        all.push(&packet, &mut survey);
    }
    all.finish(&mut survey);
    Some(survey)
}

/// Segments of one connection as two captures: the first three bits of each say which of them have it. Returns how many connections both have.
pub fn two_ends(bytes: &[u8]) -> usize {
    let head = [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 101, 0, 0, 0];
    let (mut files, mut now) = ([Vec::from(head), Vec::from(head)], 1_000_000_u32);
    for &[which, control, seq, ack, size, pause] in bytes.as_chunks::<6>().0 {
        now = now.wrapping_add(u32::from(pause) << (pause % 16));
        let packet = segment(control, [seq, ack, ack, seq], size);
        for (at, file) in files.iter_mut().enumerate() {
            if which & 1 << at != 0 {
                let length = packet.len() as u32;
                let ticks = now.wrapping_add(u32::from(which) * at as u32);
                for field in [ticks / 1_000_000, ticks % 1_000_000, length, length + 1_000] {
                    file.extend(field.to_le_bytes());
                }
                file.extend(&packet);
            }
        }
    }
    two_files(&files[0], &files[1])
}

/// Packets without a container: link type and length before each, the time a little later each, or the last that there is.
pub fn packets(mut bytes: &[u8]) -> u64 {
    const LINKS: [u16; 16] = [101, 1, 0, 113, 276, 108, 228, 229, 9, 10, 50, 51, 104, 105, 127, 204];
    let (mut all, mut sampling) = (Reconstruction::new(Limits { connections: 4 }), Sampling::default());
    let (mut now, mut datagrams) = (0_u64, UdpFlows::new(4));
    while let [link, length, pause, rest @ ..] = bytes {
        let (packet, rest) = rest.split_at(rest.len().min(usize::from(*length)));
        now =
            if *pause == u8::MAX { u64::MAX } else { now.saturating_add(u64::from(*pause) << (pause % 24)) };
        let link = LinkType(LINKS[usize::from(link % 16)]);
        let packet = Packet::new(now, link, packet.len() as u32 + u32::from(*pause) * 8, packet);
        all.push(&packet, &mut (&mut (&mut Judge, &mut sampling), &mut datagrams));
        bytes = rest;
    }
    let counts = all.finish(&mut (&mut Judge, &mut sampling));
    assert_eq!(counts.tcp + counts.udp + counts.not_understood(), counts.packets);
    samples(sampling);
    udp_flows(datagrams);
    counts.packets
}

/// Datagrams between a few ports, so that headers of RTP and QUIC follow each other: the first byte says who sends, the second one when, the third one how
/// many bytes of payload follow. Returns how many there were.
pub fn datagrams(mut bytes: &[u8]) -> u64 {
    let (mut all, mut flows, mut now) = (Reconstruction::default(), UdpFlows::new(4), 0_u64);
    while let [ports, pause, length, rest @ ..] = bytes {
        let (payload, rest) = rest.split_at(rest.len().min(usize::from(length % 48)));
        now = now.saturating_add(u64::from(*pause) << (pause % 40));
        let port = |bits: u8| [443, 5_004, 6_004, 7][usize::from(bits & 3)];
        let packet = udp((port(*ports), port(ports >> 2)), payload, u16::from(*length) * 6);
        all.push(&Packet::new(now, LinkType(101), 2_000, &packet), &mut flows);
        bytes = rest;
    }
    udp_flows(flows);
    all.counts().packets
}

/// Every figure of every flow.
fn udp_flows(flows: UdpFlows) {
    for flow in flows.finish().0 {
        assert!(flow.datagrams > 0 && flow.longest_gap_ns <= flow.span_ns(), "{flow:?}");
        for stream in flow.rtp() {
            assert!(stream.lost() <= stream.expected(), "{stream:?}");
            stream.jitter_ns();
        }
        if let Some(quic) = flow.quic() {
            assert!(quic.version().is_none_or(|version| !version.name().is_empty()));
            quic.spin_rtt_ns(None);
        }
    }
}

/// Segments of one connection whose numbers are close to each other, so that they mean something: six bytes each.
pub fn segments(bytes: &[u8]) -> u64 {
    let mut now = 0_u64;
    let timed = bytes.as_chunks::<6>().0.iter().map(|&[control, seq, ack, size, left, right]| {
        now = if control & 0x30 == 0x30 && size == u8::MAX {
            u64::MAX
        } else {
            now.saturating_add(1 << (size % 28))
        };
        (now, segment(control, [seq, ack, left, right], size))
    });
    let timed: Vec<(u64, Vec<u8>)> = timed.collect();
    graphs(&timed);
    let mut sampling = Sampling::default();
    let packets = observed(&timed, &mut (&mut Judge, &mut sampling));
    samples(sampling);
    packets
}

fn observed(timed: &[(u64, Vec<u8>)], observer: &mut impl Observer) -> u64 {
    let mut all = Reconstruction::new(Limits { connections: 2 });
    for (now, packet) in timed {
        all.push(&Packet::new(*now, LinkType(101), 0, packet), observer);
    }
    all.finish(observer).packets
}

/// Values of single segments that are kept.
const SINGLE: u64 = 50;

/// The first connection as a page has it: levels, and every segment of some parts.
fn graphs(timed: &[(u64, Vec<u8>)]) {
    let collected = |wanted: &[Wanted]| -> Vec<Graphs> {
        let mut collector = Collector::new(wanted);
        observed(timed, &mut collector);
        collector.into_graphs()
    };
    let whole = collected(&[Side::A, Side::B].map(|side| Wanted::whole(0, side)));
    for exact in whole {
        let wanted = Wanted {
            cell_ns: exact.length_ns() / 16 + 1,
            common_max: 32,
            rare_max: 4,
            ..Wanted::whole(0, exact.side())
        };
        let Some(graphs) = collected(std::slice::from_ref(&wanted)).pop() else { continue };
        for (series, spans) in levels(&graphs).iter().flat_map(|level| &level.series) {
            let counted = spans.as_slice().iter().map(|span| span.count).sum::<u64>();
            assert_eq!(counted, exact.of(*series).as_slice().iter().map(|span| span.count).sum::<u64>());
        }
        let ranges = choose(&graphs, SINGLE);
        assert!(ranges.windows(2).all(|pair| pair[0][1] < pair[1][0]));
        if !ranges.is_empty() {
            let single = collected(&[Wanted { ranges, cell_ns: 0, common_max: usize::MAX, ..wanted }]);
            let common = Series::ALL.into_iter().filter(|series| !series.is_rare());
            let kept: usize = common.map(|series| single[0].of(series).as_slice().len()).sum();
            assert!(kept as u64 <= SINGLE, "{kept}");
        }
    }
}

/// IPv4 and TCP with timestamps and a SACK block.
fn segment(control: u8, [seq, ack, left, right]: [u8; 4], size: u8) -> Vec<u8> {
    const HEADERS: u16 = 20 + 44;
    let number = |value: u8| (u32::from(value) * 500).wrapping_sub(20_000).to_be_bytes();
    let length = (HEADERS + u16::from(size / 28) * 500).to_be_bytes();
    let (source, destination) = if control & 0x80 == 0 { (1, 2) } else { (2, 1) };
    let flags = control & 0x07 | if control & 0x08 == 0 { 0x10 } else { 0 };
    let mut packet = vec![0x45, 0, length[0], length[1], 0, control & 0x10, 0, 0, 64, 6, 0, 0];
    packet.extend([10, 0, 0, source, 10, 0, 0, destination, 0, source, 0, destination]);
    packet.extend(number(seq));
    packet.extend(number(ack));
    packet.extend([
        0xb0,
        flags,
        0,
        control & 0x60,
        0,
        0,
        0,
        0,
        1,
        1,
        8,
        10,
        0,
        0,
        0,
        seq,
        0,
        0,
        0,
        ack,
        1,
        1,
        5,
        10,
    ]);
    packet.extend(number(left));
    packet.extend(number(right));
    packet
}
