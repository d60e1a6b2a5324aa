//! Segments that two ends may have exchanged, for tests: what most are, and what hardly any is.

use crate::headers::{self, Segment};
use crate::read::{LinkType, Packet};
use crate::write::{End, Headers, MOST_SACKS, Tcp};
use core::net::{IpAddr, Ipv4Addr};
use proptest::prelude::*;

/// Payload of a full segment.
const MSS: u32 = 1448;
/// Bytes of every segment (RFC 7323, appendix A).
const TIMESTAMPS: u16 = 12;
const WINDOW: u16 = 50_000;
const SYN: u8 = 0x02;
const ACK: u8 = 0x10;

/// How a segment differs from the previous one of its side.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Next {
    pub(crate) from_a: bool,
    pub(crate) after_ns: i64,
    pub(crate) flags: u8,
    pub(crate) payload: u32,
    pub(crate) window: u16,
    /// From where its side's data ended, and from where its last ACK was.
    pub(crate) seq_jump: i32,
    pub(crate) ack_jump: i32,
    pub(crate) sacks: usize,
}

/// What each side has sent and acknowledged up to now, and the time.
#[derive(Default)]
pub(crate) struct Exchange {
    next: [u32; 2],
    acked: [u32; 2],
    time_ns: u64,
}

impl Exchange {
    pub(crate) fn segment(&mut self, next: &Next) -> Segment {
        let side = usize::from(!next.from_a);
        let seq = self.next[side].wrapping_add_signed(next.seq_jump);
        let ack = self.acked[side].wrapping_add_signed(next.ack_jump);
        let syn = u32::from(next.flags & SYN != 0);
        (self.next[side], self.acked[side]) = (seq.wrapping_add(next.payload + syn), ack);
        self.time_ns = self.time_ns.saturating_add_signed(next.after_ns);
        let block = (ack.wrapping_add(MSS), ack.wrapping_add(2 * MSS));
        let stamp = (self.time_ns / 1_000_000) as u32;
        let tcp = Tcp {
            seq,
            ack,
            flags: next.flags,
            window: next.window,
            mss: (syn > 0).then_some(MSS as u16 + TIMESTAMPS),
            timestamps: Some((stamp, stamp.wrapping_sub(1))),
            sacks: [block; MOST_SACKS],
            sack_count: next.sacks,
            ..Tcp::default()
        };
        let end = |last| End { mac: [0; 6], address: IpAddr::V4(Ipv4Addr::new(192, 0, 2, last)), port: 80 };
        let (a, b) = (end(1), end(2));
        let ends = if next.from_a { [&a, &b] } else { [&b, &a] };
        let made = Headers::tcp(ends, 7, &tcp, next.payload);
        let packet = Packet::new(self.time_ns, LinkType(1), made.length(), made.bytes());
        headers::segment(&packet).expect("a segment")
    }
}

/// A SYN of A, or the SYN-ACK.
pub(crate) fn syn(from_a: bool) -> Next {
    let flags = if from_a { SYN } else { SYN | ACK };
    let (seq_jump, ack_jump) = (0, i32::from(!from_a));
    Next { from_a, after_ns: 1_000_000, flags, payload: 0, window: WINDOW, seq_jump, ack_jump, sacks: 0 }
}

/// Any segment, most of them data or ACKs in order.
pub(crate) fn any_next() -> impl Strategy<Value = Next> {
    let flags = prop_oneof![12 => Just(ACK), 6 => Just(0x18), 1 => Just(0x11), 1 => Just(0x50), 1 => Just(0x14), 1 => Just(SYN)];
    let payload = prop_oneof![4 => Just(0), 6 => Just(MSS), 1 => Just(1), 1 => Just(4 * MSS), 1 => Just(700)];
    let window = prop_oneof![8 => Just(WINDOW), 1 => Just(0), 1 => Just(1_000), 1 => Just(WINDOW + 1)];
    let seq = prop_oneof![12 => Just(0), 1 => Just(-(MSS as i32)), 1 => Just(MSS as i32), 1 => Just(-1)];
    let ack =
        prop_oneof![6 => Just(0), 6 => Just(MSS as i32), 2 => Just(3 * MSS as i32), 1 => Just(-(MSS as i32))];
    let sacks = prop_oneof![12 => Just(0), 1 => Just(1), 1 => Just(2)];
    let after = prop_oneof![9 => 0..3_000_000_i64, 1 => Just(300_000_000), 1 => Just(-50_000)];
    (any::<bool>(), after, flags, payload, window, seq, ack, sacks).prop_map(
        |(from_a, after_ns, flags, payload, window, seq_jump, ack_jump, sacks)| Next {
            from_a,
            after_ns,
            flags,
            payload,
            window,
            seq_jump,
            ack_jump,
            sacks,
        },
    )
}

/// This number of times two full segments of a side and their ACK, each so long after the one before.
pub(crate) fn bulk(from_a: bool, times: usize, after_ns: i64) -> Vec<Next> {
    let data = Next { from_a, after_ns, flags: ACK, payload: MSS, ack_jump: 0, ..syn(true) };
    let ack = Next { from_a: !from_a, payload: 0, ack_jump: 2 * MSS as i32, ..data };
    [data, data, ack].repeat(times)
}

/// The ACK of the SYN-ACK.
pub(crate) fn handshake_end() -> Next {
    Next { flags: ACK, ack_jump: 1, ..syn(true) }
}
