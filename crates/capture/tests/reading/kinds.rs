//! What is sent again is called what its sender's stack and its timing make it.

use crate::connections::{MSS, Script, seq};
use pipefill_capture::tcp::{SegmentKind, Side};
use pipefill_testkit::captures::frame::{ACK, FIN, SYN, Tcp, sack};

/// A client with such a SYN and initial TTL, RTT 10 ms, captured at it; without timestamps, and SACK is in use.
fn open(options: &[u8], ttl: u8, window: u16) -> Script {
    let mut script = Script::default();
    let mut syn = Tcp { options: options.to_vec(), window, ..Tcp::new(100, 0, SYN, 0) }.v4();
    syn[8] = ttl;
    script.packet(1_000_000_000, &syn, 0);
    let answer = Tcp { options: WINDOWS.to_vec(), ..Tcp::new(500, 101, SYN | ACK, 0) }.back();
    script.at(10_000, &answer);
    script.at(10_010, &Tcp::new(101, 501, ACK, 0));
    script
}

/// MSS, NOP, scale 8, NOP, NOP, SACK permitted.
const WINDOWS: [u8; 12] = [2, 4, 5, 0xb4, 1, 3, 3, 8, 1, 1, 4, 2];
/// MSS, NOP, NOP, SACK permitted.
const WINDOWS_XP: [u8; 8] = [2, 4, 5, 0xb4, 1, 1, 4, 2];
/// MSS, NOP, scale 6, SACK permitted, timestamps.
const FREEBSD: [u8; 20] = [2, 4, 5, 0xb4, 1, 3, 3, 6, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0];
/// MSS, SACK permitted, timestamps, NOP, scale 7.
const LINUX: [u8; 20] = [2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7];

fn data(n: usize) -> Tcp {
    Tcp::new(seq(n), 501, ACK, MSS)
}

/// A last segment that comes again 300 ms later.
fn last_again(mut script: Script) -> SegmentKind {
    script.at(20_000, &data(0));
    script.at(320_000, &data(0)).kind
}

#[test]
fn a_stack_without_loss_probes_has_timeouts() {
    for (options, ttl, window, kind) in [
        (&LINUX[..], 64, 64_240, SegmentKind::TlpRetransmit),
        (&WINDOWS[..], 128, 64_240, SegmentKind::TlpRetransmit),
        // Windows 7.
        (&WINDOWS[..], 128, 8_192, SegmentKind::RtoRetransmit),
        (&WINDOWS_XP[..], 128, 65_535, SegmentKind::RtoRetransmit),
        (&FREEBSD[..], 64, 65_535, SegmentKind::RtoRetransmit),
    ] {
        assert_eq!(last_again(open(options, ttl, window)), kind, "{options:?} {window}");
    }
}

/// A probe comes two round trips after the last transmission.
#[test]
fn what_is_sent_again_sooner_than_a_probe_is_none() {
    for (us, kind) in [(32_000, SegmentKind::FastRetransmit), (48_000, SegmentKind::TlpRetransmit)] {
        let mut script = open(&LINUX, 64, 64_240);
        script.at(20_000, &data(0));
        script.at(20_010, &data(1));
        assert_eq!(script.at(us, &data(1)).kind, kind, "{us}");
    }
}

/// RFC 2883: the receiver reports a copy, and nothing was sent again before.
#[test]
fn a_dsack_before_anything_was_sent_again_is_a_copy_of_the_networks() {
    let mut script = open(&LINUX, 64, 64_240);
    for n in 0..4 {
        script.at(20_000 + n as u64 * 10, &data(n));
    }
    let dsack =
        |n: usize| Tcp { options: sack(&[(seq(n), seq(n + 1))]), ..Tcp::new(501, seq(2), ACK, 0) }.back();
    assert!(script.at(30_000, &dsack(0)).is_dsack);
    let counts = script.state().half(Side::A).counts();
    assert_eq!((counts.dsacks, counts.network_duplicates, counts.spurious), (0, 1, 0));
    // Behind it the sender repeats a segment without need.
    script.at(40_000, &data(1));
    assert!(script.at(50_000, &dsack(1)).is_dsack);
    let counts = script.state().half(Side::A).counts();
    assert_eq!((counts.dsacks, counts.network_duplicates, counts.spurious), (1, 1, 1));
}

#[test]
fn syns_and_fins_that_are_sent_again_are_counted_as_such() {
    let mut script = Script::default();
    let syn = Tcp { options: LINUX.to_vec(), ..Tcp::new(100, 0, SYN, 0) };
    script.at(0, &syn);
    script.at(1_000_000, &syn);
    script.at(1_010_000, &Tcp { options: LINUX.to_vec(), ..Tcp::new(500, 101, SYN | ACK, 0) }.back());
    script.at(1_010_010, &data(0));
    script.at(1_020_000, &Tcp::new(501, seq(1), ACK, 0).back());
    let fin = Tcp::new(seq(1), 501, ACK | FIN, 0);
    for us in [1_030_000, 1_330_000, 1_800_000] {
        script.at(us, &fin);
    }
    let half = script.state().half(Side::A);
    let counts = half.counts();
    assert_eq!((half.syns_again(), counts.fins(), half.retransmits()), (1, 2, 3));
    assert_eq!((counts.fast, counts.rto, counts.tlp), (0, 0, 0));
}

/// A FIN that carries payload is data.
#[test]
fn a_fin_with_payload_is_a_segment_that_is_sent_again() {
    let mut script = open(&LINUX, 64, 64_240);
    let last = Tcp { flags: ACK | FIN, ..data(0) };
    for us in [20_000, 320_000] {
        script.at(us, &last);
    }
    let counts = script.state().half(Side::A).counts();
    assert_eq!((counts.fins(), counts.retransmits()), (0, 1));
}
