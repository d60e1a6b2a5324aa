//! How one segment moves a connection on: what it acknowledges for the other side, and what it is itself.

use super::predicted::Predicted;
use super::{Connection, Handshake};
use crate::headers::{Flags, SACKS_MAX, Segment};
use crate::tcp::Observer;
use crate::tcp::data::Data;
use crate::tcp::event::{Event, Sacks, SegmentKind};
use crate::tcp::half::Half;
use crate::tcp::opening::Opening;
use crate::tcp::sender::{Ack, AckOutcome, BELOW, HOLE_LIMIT, Sender};
use crate::tcp::side::Side;

/// A segment in the numbers of its sender.
struct Numbers {
    from: i64,
    to: i64,
    /// SYN and FIN.
    controls: u32,
}

/// What a segment was for the other direction.
#[derive(Default)]
struct Answer {
    is_news: bool,
    is_duplicate: bool,
    /// It showed that something was sent for nothing.
    has_found: bool,
}

impl Connection {
    /// Moves the connection on by `segment`, writes what it was to `event` and tells the observer.
    #[inline]
    pub(in crate::tcp) fn push<O: Observer>(
        &mut self,
        segment: &Segment,
        side: Side,
        event: &mut Event,
        observer: &mut O,
    ) {
        self.last_ns = self.last_ns.max(segment.time_ns);
        if segment.stretch != self.stretch {
            self.clock_was_set(segment.stretch);
            event.begin(segment, side);
            return self.take_any(segment, side, event, observer);
        }
        // Two copies of the short way: in each one the side is known to the compiler.
        match side {
            Side::A => self.step(segment, Side::A, event, observer),
            Side::B => self.step(segment, Side::B, event, observer),
        }
    }

    #[inline(always)]
    fn step<O: Observer>(&mut self, segment: &Segment, side: Side, event: &mut Event, observer: &mut O) {
        event.begin(segment, side);
        let predicted = self.take_predicted(segment, side, event);
        // Written once more, so that the observer's short way knows it too.
        event.side = side;
        match predicted {
            None => self.take_any(segment, side, event, observer),
            Some(Predicted::Data) => observer.predicted_data(self, event),
            Some(Predicted::Ack { has_found }) => {
                observer.predicted_ack(self, event);
                if has_found {
                    self.tell_spurious(observer);
                }
            }
        }
    }

    #[inline(never)]
    pub(super) fn take_any<O: Observer>(
        &mut self,
        segment: &Segment,
        side: Side,
        event: &mut Event,
        observer: &mut O,
    ) {
        let flags = segment.flags;
        let is_known = self.halves[0].is_known && self.halves[1].is_known;
        let begun = if !is_known || flags.0 & (Flags::SYN.0 | Flags::RST.0) != 0 {
            self.begin(segment, side)
        } else {
            None
        };
        let full_rtt_us = self.full_rtt_us();
        let opening = self.openings[side as usize].as_ref();
        let (own, peer) = side.own_and_other(&mut self.halves);
        own.count(segment);
        own.take_stamps(segment, peer);
        if flags.has(Flags::ACK) && peer.unwrap(segment.ack, peer.una) > peer.una as i64 {
            own.watch_right_edge(peer);
        }
        let window_differs = own.advertise(segment);
        let from = own.unwrap(segment.seq, own.next);
        let controls = u32::from(flags.has(Flags::SYN)) + u32::from(flags.has(Flags::FIN));
        let numbers = Numbers { from, to: from + i64::from(segment.payload + controls), controls };
        event.seq_from = numbers.from.max(0).cast_unsigned();
        event.seq_to = numbers.to.max(0).cast_unsigned();
        event.segments = own.segment_size().segments(segment.payload);
        event.window_bytes = own.window_bytes();
        let is_empty = segment.payload + controls == 0;
        let answer = if flags.has(Flags::ACK) && !flags.has(Flags::RST) && peer.is_known {
            let is_bare = is_empty && (!window_differs || segment.options.has_sacks());
            own.acks_apart |= is_empty;
            let spoke_ns = own.last_data_ns();
            take_ack(segment, peer, &mut self.handshake, is_bare, full_rtt_us, spoke_ns, event)
        } else {
            Answer::default()
        };
        event.kind = if flags.has(Flags::RST) {
            SegmentKind::Reset
        } else if is_empty {
            without_data(&numbers, own, peer, &answer, window_differs)
        } else {
            let bytes = Bytes { segment, numbers: &numbers, begun, opening, full_rtt_us };
            take_bytes(&bytes, own, peer, (self.handshake, side), &mut event.fills_hole)
        };
        own.count_kind(event.kind);
        if flags.has(Flags::FIN) {
            self.closed_by.get_or_insert(side);
        }
        observer.segment(self, event);
        if answer.has_found || event.kind.is_retransmit() {
            self.tell_spurious(observer);
        }
    }

    /// What was found to be for nothing, in either direction.
    #[cold]
    pub(super) fn tell_spurious<O: Observer>(&mut self, observer: &mut O) {
        for side in Side::BOTH {
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
    spoke_ns: Option<u64>,
    event: &mut Event,
) -> Answer {
    let to = peer.unwrap(segment.ack, peer.una).max(0).cast_unsigned();
    event.ack = Some(to);
    if segment.options.has_sacks() {
        unwrap_sacks(segment, peer, &mut event.sacks);
    }
    let before = peer.una;
    // Data that brings no news for the other direction.
    if to == before && !is_bare && event.sacks.count == 0 {
        return Answer::default();
    }
    let (blocks, mss) = (event.sacks.blocks(), peer.mss_bytes());
    let ack = Ack { segment, to, blocks, is_bare, mss, full_rtt_us, spoke_ns };
    let outcome = peer.acknowledged(&ack);
    (event.rtt_us, event.is_dsack) = (outcome.rtt_us, outcome.is_dsack);
    event.shows_unseen = outcome.shows_unseen;
    if before == 0
        && to > 0
        && !segment.flags.has(Flags::SYN)
        && let Some(us) = peer.since_syn_us(segment.time_ns)
    {
        peer.answered(us);
        handshake.syn_ack_to_ack_us.get_or_insert(us);
    }
    let AckOutcome { is_duplicate, has_found, .. } = outcome;
    Answer { is_news: to > before, is_duplicate, has_found }
}

#[cold]
#[inline(never)]
fn unwrap_sacks(segment: &Segment, peer: &Half, sacks: &mut Sacks) {
    let number = |seq: u32| peer.unwrap(seq, peer.una).max(0).cast_unsigned();
    for &(left, right) in segment.options.sacks() {
        sacks.blocks[usize::from(sacks.count)] = (number(left), number(right));
        sacks.count += 1;
    }
    debug_assert!(usize::from(sacks.count) <= SACKS_MAX);
}

/// A segment that takes sequence numbers.
struct Bytes<'a> {
    segment: &'a Segment,
    numbers: &'a Numbers,
    /// What its SYN is.
    begun: Option<SegmentKind>,
    opening: Option<&'a Opening>,
    full_rtt_us: Option<u32>,
}

#[inline(always)]
fn take_bytes(
    bytes: &Bytes<'_>,
    own: &mut Half,
    peer: &Half,
    of: (Handshake, Side),
    fills_hole: &mut bool,
) -> SegmentKind {
    let Bytes { segment, numbers, begun, opening, full_rtt_us } = *bytes;
    let has_syn = segment.flags.has(Flags::SYN);
    if has_syn && segment.payload == 0 {
        return begun.unwrap_or(SegmentKind::Stray);
    }
    if numbers.from < 1 && segment.payload > 0 && !own.has_syn {
        let kind = take_below(bytes, own, of);
        if numbers.to <= 1 {
            return kind;
        }
    }
    // Data begins behind the SYN (RFC 7413).
    let from = (numbers.from + i64::from(has_syn)).max(1).cast_unsigned();
    let to = numbers.to.max(0).cast_unsigned();
    if to <= from || from > own.next + HOLE_LIMIT || begun == Some(SegmentKind::Stray) {
        return SegmentKind::Stray;
    }
    if segment.payload == 1 && numbers.controls == 0 {
        if peer.has_zero_window() && from < own.next {
            return SegmentKind::ZeroWindowProbe;
        }
        // Behind a FIN that is not answered the last byte of data is one more before.
        if from + 1 + u64::from(own.has_fin) == own.next && own.una > from {
            return SegmentKind::KeepAlive;
        }
    }
    let (size, has_sack) = (own.segment_size(), own.may_get_sacks);
    let is_first = own.sender.is_none() && !own.has_syn;
    let data = || Data { segment, from, to, size, has_sack, opening, full_rtt_us, is_first };
    let sender = match &mut own.sender {
        Some(sender) => sender,
        none => none.insert(first_data(own.una, own.next, of)),
    };
    own.has_fin |= segment.flags.has(Flags::FIN);
    let is_probe = segment.payload == 1 && peer.has_zero_window();
    let kind = if from == own.next && is_probe {
        sender.take_probe(&data(), &mut own.next);
        SegmentKind::ZeroWindowProbe
    } else if from == own.next {
        sender.take_in_order(&data(), own.una, &mut own.next);
        SegmentKind::New
    } else {
        let taken = sender.take_elsewhere(&data(), own.una, &mut own.next);
        *fills_hole = taken.fills_hole;
        taken.kind
    };
    if segment.flags.has(Flags::FIN) {
        sender.fin_ack = Some(segment.ack);
    }
    if kind == SegmentKind::New && from + u64::from(segment.payload) == own.next {
        own.take_size(segment, peer);
    }
    begun.unwrap_or(kind)
}

/// Payload that begins below the first number that is known, where no SYN was seen: what others overtook, or what is sent again.
#[cold]
#[inline(never)]
fn take_below(bytes: &Bytes<'_>, own: &mut Half, of: (Handshake, Side)) -> SegmentKind {
    let Bytes { segment, numbers, full_rtt_us, .. } = *bytes;
    if segment.payload == 1 && numbers.to == own.una as i64 {
        return SegmentKind::KeepAlive;
    }
    if numbers.from.unsigned_abs() > HOLE_LIMIT {
        return SegmentKind::Stray;
    }
    let place = |number: i64| BELOW.saturating_add_signed(number);
    let to = (numbers.from + i64::from(segment.payload)).min(1);
    let (size, has_sack) = (own.segment_size(), own.may_get_sacks);
    let data = Data {
        segment,
        from: place(numbers.from),
        to: place(to),
        size,
        has_sack,
        opening: None,
        full_rtt_us,
        is_first: false,
    };
    let (una, next) = (own.una, own.next);
    let sender = own.sender.get_or_insert_with(|| first_data(una, next, of));
    if numbers.to > 1 {
        sender.fill_below(&data);
        return SegmentKind::New;
    }
    sender.take_below(&data)
}

/// A sender of data: the kernel's estimate of its RTT begins with the handshake's sample.
#[cold]
#[inline(never)]
fn first_data(una: u64, next: u64, (handshake, side): (Handshake, Side)) -> Box<Sender> {
    let sample_us = match side {
        Side::A => handshake.syn_to_syn_ack_us,
        Side::B => handshake.syn_ack_to_ack_us,
    };
    let mut sender = Box::<Sender>::default();
    if let Some(us) = sample_us {
        sender.rtt.take(us, us, una, next);
    }
    sender
}

/// An ACK alone, or a probe without data: one number before the next (`tcp_xmit_probe_skb()`).
#[inline]
fn without_data(
    numbers: &Numbers,
    own: &Half,
    peer: &Half,
    answer: &Answer,
    window_differs: bool,
) -> SegmentKind {
    let behind = numbers.from + 1;
    if behind == own.next as i64 || (behind == own.una as i64 && numbers.from < own.next as i64) {
        return if peer.has_zero_window() { SegmentKind::ZeroWindowProbe } else { SegmentKind::KeepAlive };
    }
    if answer.is_duplicate {
        SegmentKind::DuplicateAck
    } else if window_differs && !answer.is_news {
        SegmentKind::WindowUpdate
    } else {
        SegmentKind::PureAck
    }
}
