//! Two captures of one transfer whose path was made here: what it lost, duplicated and delayed is found.

use pipefill_capture::join::{Joined, Pairing, Placed, Survey, join};
use pipefill_capture::read::Reader;
use pipefill_capture::tcp::Reconstruction;
use pipefill_testkit::captures::container::{ContainerPacket, Order, pcap};
use pipefill_testkit::captures::exchange::{CapturedPacket, Exchange, Setup};
use proptest::prelude::*;

const DELAY_NS: u64 = 10_000_000;
const LITTLE: Order = Order { is_big: false };
/// Places in an Ethernet frame with IPv4 and TCP.
const LENGTH: usize = 16;
const PORT: usize = 34;
const SEQ: usize = 38;
const STAMP: usize = 58;

/// What the path did.
#[derive(Debug, Default, PartialEq, Eq)]
struct Truth {
    lost: [u64; 2],
    twice: u64,
}

/// The packets of a transfer at its sender.
fn sent(segments: u64, lost: u32, seed: u64) -> Vec<CapturedPacket> {
    let setup = Setup {
        segments,
        window: 40,
        rtt_ns: 2 * DELAY_NS,
        gap_ns: 100_000,
        lost_before: 0,
        lost_behind: lost,
        place: 0,
        seed,
        isn: 0xffff_0000,
        stamp: 77,
    };
    let mut seen = Vec::new();
    Exchange::new(setup, &mut |packet| seen.push(packet)).run();
    seen.sort_by_key(|packet| packet.time_ns);
    seen
}

fn is_forward(frame: &[u8]) -> bool {
    frame[PORT..PORT + 2] == 40_000_u16.to_be_bytes()
}

fn number(frame: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]])
}

fn chance(state: &mut u64, of_thousand: u64) -> bool {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 32) % 1000 < of_thousand
}

/// Both captures: of the packets of `sent` the path loses some and makes two of others. What the receiver sent is what has come back,
/// and what was lost on its way. The first and the last hundred packets are left alone: of these nobody could tell a loss from the capture's end.
fn both(sent: &[CapturedPacket], loss: u64, twice: u64, seed: u64) -> ([Vec<ContainerPacket>; 2], Truth) {
    let (mut state, mut truth) = (seed | 1, Truth::default());
    let (mut near, mut far) = (Vec::new(), Vec::new());
    for (at, packet) in sent.iter().enumerate() {
        let is_inside = at >= 100 && at + 100 < sent.len();
        let is_lost = is_inside && chance(&mut state, loss);
        let entry =
            |time_ns| ContainerPacket { time_ns, original: packet.original, bytes: packet.frame.clone() };
        if is_forward(&packet.frame) {
            near.push(entry(packet.time_ns));
            truth.lost[0] += u64::from(is_lost);
            if !is_lost {
                far.push(entry(packet.time_ns + DELAY_NS));
                if is_inside && chance(&mut state, twice) {
                    far.push(entry(packet.time_ns + DELAY_NS + 500));
                    truth.twice += 1;
                }
            }
        } else {
            far.push(entry(packet.time_ns - DELAY_NS));
            truth.lost[1] += u64::from(is_lost);
            if !is_lost {
                near.push(entry(packet.time_ns));
            }
        }
    }
    far.sort_by_key(|entry| entry.time_ns);
    ([near, far], truth)
}

/// Neighbours with consecutive data and the same timestamps as one packet, as GRO hands them over.
fn merged(entries: Vec<ContainerPacket>) -> Vec<ContainerPacket> {
    let mut all: Vec<ContainerPacket> = Vec::new();
    for entry in entries {
        let payload = |of: &ContainerPacket| of.original - of.bytes.len() as u32;
        if let Some(last) = all.last_mut()
            && is_forward(&entry.bytes)
            && is_forward(&last.bytes)
            && payload(last) > 0
            && payload(&entry) > 0
            && payload(last) + payload(&entry) < 60_000
            && number(&last.bytes, SEQ).wrapping_add(payload(last)) == number(&entry.bytes, SEQ)
            && number(&last.bytes, STAMP) == number(&entry.bytes, STAMP)
        {
            last.original += payload(&entry);
            let length = (last.original - 14) as u16;
            last.bytes[LENGTH..LENGTH + 2].copy_from_slice(&length.to_be_bytes());
            last.time_ns = entry.time_ns;
        } else {
            all.push(entry);
        }
    }
    all
}

fn survey(capture: &[u8]) -> Survey {
    let (mut survey, mut all) = (Survey::default(), Reconstruction::default());
    let mut reader = Reader::open(capture).expect("a capture");
    while let Ok(Some(packet)) = reader.next_packet() {
        all.push(&packet, &mut survey);
    }
    all.finish(&mut survey);
    survey
}

fn joined(captures: [&[u8]; 2]) -> Joined {
    let pairing = Pairing::of(&survey(captures[0]), &survey(captures[1]));
    let [mut near, mut far] = captures.map(|capture| Reader::open(capture).expect("a capture"));
    join(&mut near, &mut far, pairing)
}

fn shifted(entries: Vec<ContainerPacket>, by_ms: i64) -> Vec<ContainerPacket> {
    let moved = |entry: ContainerPacket| ContainerPacket {
        time_ns: entry.time_ns.saturating_add_signed(by_ms * 1_000_000),
        ..entry
    };
    entries.into_iter().map(moved).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_random_pattern_of_losses_is_found_exactly(
        loss in 0_u64..200,
        twice in 0_u64..20,
        resent in 0_u32..40_000,
        seed in any::<u64>(),
        is_merged in any::<bool>(),
        is_swapped in any::<bool>(),
        offset_ms in -100_000_i64..100_000,
    ) {
        // Copies would stand between what GRO joins.
        let twice = if is_merged { 0 } else { twice };
        let ([near, far], truth) = both(&sent(1_500, resent, seed), loss, twice, seed);
        let far = if is_merged { merged(far) } else { far };
        let [near, far] = [pcap(LITTLE, true, &near), pcap(LITTLE, true, &shifted(far, offset_ms))];
        let joined = joined(if is_swapped { [&far, &near] } else { [&near, &far] });
        prop_assert_eq!(joined.pairs.len(), 1);
        let pair = &joined.pairs[0];
        prop_assert_eq!((pair.pair.at_a, pair.pair.placed), (usize::from(is_swapped), Placed::Answers));
        let found = pair.ways.each_ref().map(|way| way.counts);
        let lost = found.map(|counts| counts.lost_data + counts.lost_bare);
        prop_assert_eq!(Truth { lost, twice: found[0].duplicated }, truth);
        let odd = found.map(|counts| counts.unmatched_seen.within + counts.hurried);
        prop_assert_eq!(odd, [0, 0]);
        let clock = joined.clock.expect("both directions");
        let offset_ns = if is_swapped { -clock.offset_ns } else { clock.offset_ns };
        prop_assert!(offset_ns.abs_diff(offset_ms * 1_000_000) <= clock.offset_error_ns, "{:?}", clock);
        for way in &pair.ways {
            let delay = way.delay.expect("matched packets");
            prop_assert!(delay.least_ns.abs_diff(DELAY_NS as i64) < 10_000, "{:?}", delay);
        }
    }
}

#[test]
fn a_capture_that_begins_later_and_ends_earlier_has_no_losses_there() {
    let ([near, far], truth) = both(&sent(3_000, 0, 3), 20, 0, 5);
    let part = far[far.len() / 4..far.len() * 3 / 4].to_vec();
    let joined = joined([&pcap(LITTLE, true, &near), &pcap(LITTLE, true, &part)]);
    let forward = joined.pairs[0].ways[0].counts;
    assert!(forward.lost_data > 0 && forward.lost_data < truth.lost[0], "{forward:?}");
    assert!(forward.unmatched_sent.before > 500 && forward.unmatched_sent.after > 500, "{forward:?}");
    let seen = far.iter().filter(|entry| is_forward(&entry.bytes)).count() as u64;
    let seen_in_part = part.iter().filter(|entry| is_forward(&entry.bytes)).count() as u64;
    let elsewhere = forward.unmatched_sent.before + forward.unmatched_sent.after;
    assert_eq!(forward.lost_data + forward.lost_bare + elsewhere, truth.lost[0] + seen - seen_in_part);
}

#[test]
fn where_a_nat_changes_an_address_the_handshake_tells() {
    let ([near, mut far], truth) = both(&sent(1_500, 0, 3), 20, 0, 5);
    for entry in &mut far {
        // The sender's address and port, in whichever place they are.
        let (address, port) = if is_forward(&entry.bytes) { (26, PORT) } else { (30, PORT + 2) };
        entry.bytes[address..address + 4].copy_from_slice(&[203, 0, 113, 9]);
        entry.bytes[port..port + 2].copy_from_slice(&50_001_u16.to_be_bytes());
    }
    let joined = joined([&pcap(LITTLE, true, &near), &pcap(LITTLE, true, &far)]);
    let pair = &joined.pairs[0];
    assert!(pair.pair.is_translated());
    assert_eq!(pair.pair.far_ends[0].to_string(), "203.0.113.9:50001");
    let lost = pair.ways.each_ref().map(|way| way.counts.lost_data + way.counts.lost_bare);
    assert_eq!(lost, truth.lost);
}

#[test]
fn other_connections_between_the_same_ports_are_not_joined() {
    let ([near, _], _) = both(&sent(1_500, 0, 3), 0, 0, 5);
    let mut other = near.clone();
    for entry in &mut other {
        let seq = number(&entry.bytes, SEQ).wrapping_add(123_456_789);
        entry.bytes[SEQ..SEQ + 4].copy_from_slice(&seq.to_be_bytes());
    }
    let surveys = [near, other].map(|entries| survey(&pcap(LITTLE, true, &entries)));
    let pairing = Pairing::of(&surveys[0], &surveys[1]);
    assert_eq!((pairing.pairs.len(), pairing.only), (0, [1, 1]));
}
