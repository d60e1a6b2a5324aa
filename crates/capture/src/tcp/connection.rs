//! One connection: both directions, the handshake, and how a segment moves them on.

mod predicted;
mod step;
mod vantage;

pub use vantage::Vantage;

use super::event::SegmentKind;
use super::half::Half;
use super::key::Key;
use super::opening::{EcnMode, Opening, ecn_mode};
use super::side::Side;
use crate::headers::{Endpoint, Flags, Mptcp, Segment};

/// A closed connection stays for this long: late packets belong to it (TIME-WAIT, RFC 9293 3.3.2).
const CLOSED_NS: u64 = 10_000_000_000;

/// The times of a handshake, where it was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Handshake {
    /// From the last SYN to the SYN-ACK, µs: from the capture point to B and back.
    pub syn_to_syn_ack_us: Option<u32>,
    /// From the last SYN-ACK to its ACK, µs: from the capture point to A and back.
    pub syn_ack_to_ack_us: Option<u32>,
}

impl Handshake {
    /// From the capture point to both ends and back, µs.
    #[inline]
    fn full_rtt_us(self) -> Option<u32> {
        Some(self.syn_to_syn_ack_us?.saturating_add(self.syn_ack_to_ack_us?))
    }
}

/// A connection as its packets show it.
#[derive(Debug, Clone)]
pub struct Connection {
    pub(super) key: Key,
    id: u64,
    /// A has the higher endpoint of the key.
    a_is_high: bool,
    is_v6: bool,
    is_reset: bool,
    /// Who sent the first FIN, or a reset before both had.
    closed_by: Option<Side>,
    /// [`Segment::stretch`] of the last segment.
    stretch: u32,
    first_ns: u64,
    last_ns: u64,
    handshake: Handshake,
    openings: [Option<Opening>; 2],
    /// Of each side's last segment that had it; few connections have it.
    mptcp: Option<Box<[Option<Mptcp>; 2]>>,
    halves: [Half; 2],
}

impl Connection {
    pub(super) fn new(id: u64, key: Key, segment: &Segment, from_high: bool) -> Self {
        let a_sent_it = !(segment.flags.has(Flags::SYN) && segment.flags.has(Flags::ACK));
        let mut halves = [Half::default(), Half::default()];
        let [a, b] = &mut halves;
        a.set_mss(b, segment.is_v6);
        b.set_mss(a, segment.is_v6);
        Self {
            key,
            id,
            a_is_high: from_high == a_sent_it,
            is_v6: segment.is_v6,
            is_reset: false,
            closed_by: None,
            stretch: segment.stretch,
            first_ns: segment.time_ns,
            last_ns: segment.time_ns,
            handshake: Handshake::default(),
            openings: [None; 2],
            mptcp: None,
            halves,
        }
    }

    /// Who sent what comes from the higher endpoint of the key, or from the lower.
    #[inline]
    pub(super) fn side(&self, from_high: bool) -> Side {
        if from_high == self.a_is_high { Side::A } else { Side::B }
    }

    /// Whether `segment`, a SYN, opens another connection between the same ends: it begins with another number, or comes again after one that was open
    /// has ended (what was refused is asked for again).
    pub(super) fn is_replaced_by(&self, segment: &Segment, side: Side) -> bool {
        let half = self.half(side);
        let is_request = !segment.flags.has(Flags::ACK);
        if half.isn == segment.seq {
            let is_over = half.was_open_before(segment.time_ns) || self.is_over(segment.time_ns);
            return is_request && self.is_closed() && is_over;
        }
        half.is_known && (is_request || self.is_closed())
    }

    /// Whether it ended long before `now_ns`: nothing of it comes any more, and it may be forgotten.
    pub(super) fn is_over(&self, now_ns: u64) -> bool {
        self.is_closed() && self.last_ns.saturating_add(CLOSED_NS) < now_ns
    }

    /// The first segment of a side, a SYN, a reset. Returns what a SYN is.
    #[cold]
    #[inline(never)]
    fn begin(&mut self, segment: &Segment, side: Side) -> Option<SegmentKind> {
        let (flags, is_v6) = (segment.flags, self.is_v6);
        if flags.has(Flags::RST) && !self.is_closed() {
            self.closed_by = Some(side);
        }
        self.is_reset |= flags.has(Flags::RST);
        let (own, peer) = side.own_and_other(&mut self.halves);
        let mut kind = None;
        // Several machines answer for one address, or one that has forgotten its first answer: the other end acknowledges one of them.
        let answers_anew =
            own.has_syn && own.isn != segment.seq && side == Side::B && (own.una, own.next) == (0, 1);
        if flags.has(Flags::SYN) && own.has_syn && !answers_anew {
            if own.isn != segment.seq {
                return Some(SegmentKind::Stray);
            }
            let kind = own.take_syn_again(segment, peer);
            if kind == SegmentKind::RtoRetransmit && side == Side::B && own.una > 0 {
                own.syns_after_ack = own.syns_after_ack.saturating_add(1);
                own.has_data_again |= peer.counts().retransmits() > 0;
            }
            return Some(kind);
        }
        if flags.has(Flags::SYN) {
            if !own.is_known || answers_anew {
                own.begin(segment.seq, 0);
            }
            own.next = own.next.max(1);
            own.take_syn(segment);
            kind = Some(SegmentKind::Syn);
        } else if !own.is_known {
            own.has_timestamps = segment.options.timestamps.is_some();
            own.begin(segment.seq, 1);
        }
        if flags.has(Flags::ACK) && !peer.is_known {
            peer.begin(segment.ack, 1);
        }
        own.agree(peer, side == Side::B, is_v6);
        peer.agree(own, side == Side::A, is_v6);
        if flags.has(Flags::SYN)
            && flags.has(Flags::ACK)
            && !answers_anew
            && let Some(us) = peer.since_syn_us(segment.time_ns)
        {
            peer.answered(us);
            self.handshake.syn_to_syn_ack_us = Some(us);
        }
        kind
    }

    /// Notes what the handshake agreed on. Of retransmitted SYNs the last one counts, since it may offer less.
    #[cold]
    #[inline(never)]
    pub(super) fn take_opening(&mut self, segment: &Segment, side: Side) {
        if segment.flags.has(Flags::SYN) {
            let own = &mut self.openings[side as usize];
            *own = Some(Opening::of(segment, *own, segment.time_ns.saturating_sub(self.last_ns)));
        }
        if let Some(mptcp) = segment.options.mptcp {
            self.mptcp.get_or_insert_default()[side as usize] = Some(mptcp);
        }
    }

    /// The capture's clock was set back before this segment: no time from before it to a later one is known.
    #[cold]
    #[inline(never)]
    fn clock_was_set(&mut self, stretch: u32) {
        self.stretch = stretch;
        self.halves.iter_mut().for_each(Half::clock_was_set);
    }
}

/// What there is to know of a connection.
impl Connection {
    /// Its number, by the order of first packets, from 0.
    pub const fn id(&self) -> u64 {
        self.id
    }

    /// The address and port of a side.
    pub const fn endpoint(&self, side: Side) -> Endpoint {
        let is_high = matches!(side, Side::A) == self.a_is_high;
        if is_high { self.key.high } else { self.key.low }
    }

    /// The data that `side` sent, and their fate.
    #[inline]
    pub const fn half(&self, side: Side) -> &Half {
        &self.halves[side as usize]
    }

    /// Whether it runs over IPv6.
    pub const fn is_v6(&self) -> bool {
        self.is_v6
    }

    /// When its first packet passed, nanoseconds since 1970.
    pub const fn first_ns(&self) -> u64 {
        self.first_ns
    }

    /// How often the capture's clock had been set back at its last packet.
    pub const fn stretch(&self) -> u32 {
        self.stretch
    }

    /// When its last packet passed.
    pub const fn last_ns(&self) -> u64 {
        self.last_ns
    }

    /// Whether a side has reset it.
    pub const fn is_reset(&self) -> bool {
        self.is_reset
    }

    /// Who sent the first FIN, or reset it before both had; `None` while it is open.
    pub const fn closed_by(&self) -> Option<Side> {
        self.closed_by
    }

    /// Whether it ended: by a reset, or with the FINs of both sides.
    pub const fn is_closed(&self) -> bool {
        self.is_reset || (self.halves[0].has_fin && self.halves[1].has_fin)
    }

    /// Whether the SYN or the SYN-ACK was seen: A is who opened it.
    pub const fn has_handshake(&self) -> bool {
        self.halves[0].has_syn || self.halves[1].has_syn
    }

    /// The times of its handshake.
    pub const fn handshake(&self) -> Handshake {
        self.handshake
    }

    /// From the capture point to both ends and back: the path's RTT. From the handshake, else the least of what was seen since.
    #[inline]
    pub fn full_rtt_us(&self) -> Option<u32> {
        self.handshake.full_rtt_us().or_else(|| answers_us(&self.halves[0], &self.halves[1]))
    }

    /// SYN-ACKs that were sent again although their ACK had passed the capture point, and whether data of the client had been sent again by then: what
    /// Linux does where its accept queue is full (`tcp_v4_syn_recv_sock()`: the ACK and the data behind it are dropped).
    pub const fn unaccepted(&self) -> (u8, bool) {
        let server = &self.halves[1];
        (server.syns_after_ack, server.has_data_again)
    }

    /// What the SYN of `side` said; `None` where it was not seen.
    pub const fn opening(&self, side: Side) -> Option<&Opening> {
        self.openings[side as usize].as_ref()
    }

    /// The last option of `side` that began Multipath TCP, or a subflow of it.
    pub fn mptcp(&self, side: Side) -> Option<Mptcp> {
        self.mptcp.as_deref()?[side as usize]
    }

    /// What both ends agreed on about ECN; `None` where a SYN was not seen.
    pub fn ecn_mode(&self) -> Option<EcnMode> {
        let (syn, answer) = (self.opening(Side::A)?, self.opening(Side::B)?);
        Some(ecn_mode(syn, answer))
    }

    /// Bytes of memory that it holds.
    pub(super) fn memory(&self) -> usize {
        let of_mptcp = if self.mptcp.is_some() { size_of::<[Option<Mptcp>; 2]>() } else { 0 };
        size_of::<Self>() + of_mptcp + self.halves[0].memory() + self.halves[1].memory()
    }
}

/// The least round trips from the capture point to both ends, µs.
#[inline]
fn answers_us(own: &Half, peer: &Half) -> Option<u32> {
    Some(own.answer_us()?.saturating_add(peer.answer_us()?))
}
