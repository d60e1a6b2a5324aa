//! How one segment moves a connection on: what it acknowledges for the other side, and what it is itself.

use super::{Connection, Handshake, Side, micros, pair};
use crate::headers::{Flags, SACKS_MAX, Segment};
use crate::tcp::Observer;
use crate::tcp::event::{Event, Kind, Sacks};
use crate::tcp::half::Half;
use crate::tcp::sender::{Ack, AckOutcome, Data, HOLE_LIMIT, Sender, segments};

/// A segment in the numbers of its sender.
struct Numbers {
    from: i64,
    to: i64,
    /// SYN and FIN.
    controls: u32,
}

/// What a segment said of the other direction.
#[derive(Default)]
struct Answer {
    ack: Option<u64>,
    is_news: bool,
    outcome: AckOutcome,
    sacks: Sacks,
}

impl Connection {
    /// Moves the connection on by `segment`, and tells the observer.
    #[inline]
    pub(in crate::tcp) fn take<O: Observer>(&mut self, segment: &Segment, side: Side, observer: &mut O) {
        let now = segment.time_ns;
        self.last_ns = self.last_ns.max(now);
        let flags = segment.flags;
        let is_known = self.halves[0].is_known && self.halves[1].is_known;
        let begun = if !is_known || flags.0 & (Flags::SYN.0 | Flags::RST.0) != 0 {
            self.begin(segment, side)
        } else {
            None
        };
        let full_rtt_us = self.full_rtt_us();
        let (own, peer) = pair(&mut self.halves, side);
        own.count(segment);
        if let Some((tsval, tsecr)) = segment.options.timestamps {
            own.stamp(now, tsval);
            if flags.has(Flags::ACK) {
                peer.echoed(now, tsecr);
            }
        }
        let window_differs = own.advertise(segment);
        let from = own.unwrap(segment.seq, own.next);
        let controls = u32::from(flags.has(Flags::SYN)) + u32::from(flags.has(Flags::FIN));
        let numbers = Numbers { from, to: from + i64::from(segment.payload + controls), controls };
        let answer = if flags.has(Flags::ACK) && !flags.has(Flags::RST) && peer.is_known {
            let is_bare =
                numbers.from == numbers.to && (!window_differs || !segment.options.sacks().is_empty());
            take_ack(segment, peer, &mut self.handshake, is_bare, full_rtt_us)
        } else {
            Answer::default()
        };
        let (kind, fills_hole) = if flags.has(Flags::RST) {
            (Kind::Reset, false)
        } else if numbers.to > numbers.from {
            let sample_us = match side {
                Side::A => self.handshake.syn_to_syn_ack_us,
                Side::B => self.handshake.syn_ack_to_ack_us,
            };
            let (own, peer) = pair(&mut self.halves, side);
            let bytes = Bytes { segment, numbers: &numbers, begun, full_rtt_us, sample_us };
            take_bytes(&bytes, own, peer)
        } else {
            (without_data(&numbers, own, peer, &answer, window_differs), false)
        };
        let own = self.half(side);
        let event = Event {
            number: segment.number,
            time_ns: now,
            side,
            kind,
            seq_from: numbers.from.max(0).cast_unsigned(),
            seq_to: numbers.to.max(0).cast_unsigned(),
            payload: segment.payload,
            segments: segments(segment.payload, own.mss_bytes()),
            ack: answer.ack,
            window_bytes: own.window_bytes(),
            sacks: answer.sacks,
            is_dsack: answer.outcome.is_dsack,
            flags,
            is_ce: segment.ecn == 3,
            fills_hole,
            rtt_us: answer.outcome.rtt_us,
        };
        observer.segment(self, &event);
        if answer.outcome.has_found || kind.is_retransmit() {
            self.tell_spurious(observer);
        }
    }

    /// What was found to be for nothing, in either direction.
    #[cold]
    fn tell_spurious<O: Observer>(&mut self, observer: &mut O) {
        for side in [Side::A, Side::B] {
            let has_found = |sender: &&mut Box<Sender>| !sender.found.is_empty();
            let Some(sender) = self.halves[side as usize].sender.as_mut().filter(has_found) else { continue };
            for spurious in std::mem::take(&mut sender.found) {
                observer.spurious(self, side, &spurious);
            }
        }
    }
}

#[inline(always)]
fn take_ack(
    segment: &Segment,
    peer: &mut Half,
    handshake: &mut Handshake,
    is_bare: bool,
    full_rtt_us: Option<u32>,
) -> Answer {
    let number = |seq: u32| peer.unwrap(seq, peer.una).max(0).cast_unsigned();
    let mut sacks = Sacks::default();
    for &(left, right) in segment.options.sacks() {
        sacks.blocks[usize::from(sacks.count)] = (number(left), number(right));
        sacks.count += 1;
    }
    debug_assert!(usize::from(sacks.count) <= SACKS_MAX);
    let to = number(segment.ack);
    let before = peer.una;
    // Data that brings no news for the other direction.
    if to == before && sacks.count == 0 && !is_bare {
        return Answer { ack: Some(to), ..Answer::default() };
    }
    let ack = Ack {
        now: segment.time_ns,
        to,
        blocks: sacks.blocks(),
        echo: segment.options.timestamps.map(|(_, echo)| echo),
        is_bare,
        mss: peer.mss_bytes(),
        full_rtt_us,
    };
    let outcome = peer.acknowledged(&ack);
    if before == 0 && to > 0 && peer.has_syn && peer.syns_again == 0 && !segment.flags.has(Flags::SYN) {
        let us = micros(segment.time_ns, peer.syn_ns);
        peer.answered(us);
        handshake.syn_ack_to_ack_us.get_or_insert(us);
    }
    Answer { ack: Some(to), is_news: to > before, outcome, sacks }
}

/// A segment that takes sequence numbers.
struct Bytes<'a> {
    segment: &'a Segment,
    numbers: &'a Numbers,
    /// What its SYN is.
    begun: Option<Kind>,
    full_rtt_us: Option<u32>,
    /// The handshake's sample, with which the kernel's estimate begins.
    sample_us: Option<u32>,
}

#[inline(always)]
fn take_bytes(bytes: &Bytes<'_>, own: &mut Half, peer: &Half) -> (Kind, bool) {
    let Bytes { segment, numbers, begun, .. } = *bytes;
    let has_syn = segment.flags.has(Flags::SYN);
    if has_syn && segment.payload == 0 {
        return (begun.unwrap_or(Kind::Stray), false);
    }
    // Data begins behind the SYN (RFC 7413).
    let from = (numbers.from + i64::from(has_syn)).max(1).cast_unsigned();
    let to = numbers.to.max(0).cast_unsigned();
    if to <= from || from > own.next + HOLE_LIMIT || begun == Some(Kind::Stray) {
        return (Kind::Stray, false);
    }
    if segment.payload == 1 && numbers.controls == 0 {
        if peer.has_zero_window() && from < own.next {
            return (Kind::ZeroWindowProbe, false);
        }
        if from + 1 == own.next && own.una == own.next {
            return (Kind::KeepAlive, false);
        }
    }
    let data = Data {
        now: segment.time_ns,
        from,
        to,
        payload: segment.payload,
        tsval: segment.options.timestamps.map(|(tsval, _)| tsval),
        ip_id: segment.ip_id,
        mss: own.mss_bytes(),
        has_sack: own.may_get_sacks,
        full_rtt_us: bytes.full_rtt_us,
        is_first: own.sender.is_none() && !own.has_syn,
    };
    let sender = own.sender.get_or_insert_with(|| {
        let mut sender = Box::<Sender>::default();
        if let Some(us) = bytes.sample_us {
            sender.rtt.take(us, us, own.una, own.next);
        }
        sender
    });
    own.has_fin |= segment.flags.has(Flags::FIN);
    let is_probe = segment.payload == 1 && peer.has_zero_window();
    let taken = sender.take_data(&data, own.una, &mut own.next);
    let kind = if is_probe && taken.kind == Kind::New { Kind::ZeroWindowProbe } else { taken.kind };
    (begun.unwrap_or(kind), taken.fills_hole)
}

/// An ACK alone, or a probe without data: one number before the next (`tcp_xmit_probe_skb()`).
#[inline]
fn without_data(numbers: &Numbers, own: &Half, peer: &Half, answer: &Answer, window_differs: bool) -> Kind {
    let behind = numbers.from + 1;
    if behind == own.next as i64 || (behind == own.una as i64 && numbers.from < own.next as i64) {
        return if peer.has_zero_window() { Kind::ZeroWindowProbe } else { Kind::KeepAlive };
    }
    if answer.outcome.is_duplicate {
        Kind::DuplicateAck
    } else if window_differs && !answer.is_news {
        Kind::WindowUpdate
    } else {
        Kind::PureAck
    }
}
