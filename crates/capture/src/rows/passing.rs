//! When the segments of a direction passed and what was acknowledged, packet by packet, for [`super::bucket`]: the last ones, and from the first loss on all
//! that fit. Of small connections nothing is held.

use super::bucket::{self, Answer, Passage, PassageKind};
use crate::tcp::{Connection, Event, SegmentKind, Side};
use pipefill_core::record::BucketFit;

/// Packets with data of a connection that is small.
const SMALL: u8 = 16;
/// Packets of a direction that are held before the first loss: half of them at least.
const BEFORE_MAX: usize = 1 << 10;
/// And in all, and as many ACKs.
const HELD_MAX: usize = 1 << 13;
/// Times are of 32 bits.
const SPAN_NS: u64 = 1_000 << 32;

/// Both directions of a connection.
#[derive(Debug, Default)]
pub(super) struct Passing {
    logs: Option<Box<[Log; 2]>>,
    /// Packets with data before there was a log.
    packets: u8,
}

/// One direction.
#[derive(Debug, Default)]
struct Log {
    /// When it began, nanoseconds since 1970.
    began_ns: u64,
    has_lost: bool,
    passages: Vec<Passage>,
    answers: Vec<Answer>,
}

impl Passing {
    /// A segment passed; `connection` is in the state after it.
    #[inline(always)]
    pub(super) fn observe(&mut self, event: &Event) {
        match &mut self.logs {
            Some(logs) => logs.iter_mut().zip(Side::BOTH).for_each(|(log, side)| log.observe(event, side)),
            None if event.payload > 0 => self.count(),
            None => (),
        }
    }

    fn count(&mut self) {
        self.packets += 1;
        if self.packets >= SMALL {
            self.logs = Some(Box::default());
        }
    }

    /// The capture's clock was set back: no time since an earlier packet is known.
    pub(super) fn clock_was_set(&mut self) {
        *self = Self::default();
    }

    /// The bucket that explains the losses of the data of `side`; `None` where they are few.
    pub(super) fn bucket(&self, connection: &Connection, side: Side) -> Option<BucketFit> {
        let log = &self.logs.as_ref()?[side as usize];
        bucket::fit(&log.passages, &log.answers, connection.half(side).mss_bytes())
    }
}

impl Log {
    /// Of the data of `side`.
    #[inline(always)]
    fn observe(&mut self, event: &Event, side: Side) {
        if event.side != side {
            self.has_lost |= event.kind == SegmentKind::DuplicateAck;
            if self.has_lost {
                self.answered(event);
            }
        } else if event.payload > 0 {
            self.has_lost |= event.kind.is_retransmit();
            self.passed(event);
        }
    }

    fn passed(&mut self, event: &Event) {
        let kind = match event.kind {
            SegmentKind::New => PassageKind::New,
            SegmentKind::FastRetransmit | SegmentKind::RtoRetransmit => PassageKind::Again,
            SegmentKind::OutOfOrder | SegmentKind::TlpRetransmit => PassageKind::Late,
            _ => return,
        };
        if self.passages.is_empty() {
            self.began_ns = event.time_ns;
        }
        if self.is_over(event) {
            return;
        }
        let most = if self.has_lost { HELD_MAX } else { BEFORE_MAX };
        if self.passages.len() >= most {
            if self.has_lost {
                return;
            }
            self.passages.drain(..BEFORE_MAX / 2);
            self.began_ns = event.time_ns;
        }
        let (at_us, from) = (micros(event), event.seq_from as u32);
        self.passages.push(Passage { at_us, from, bytes: event.payload, kind });
    }

    /// What an ACK says of this direction: up to where all arrived, or what lies above a hole.
    #[cold]
    fn answered(&mut self, event: &Event) {
        let Some(ack) = event.ack.filter(|_| self.answers.len() < HELD_MAX && !self.is_over(event)) else {
            return;
        };
        let newest = event.sacks.blocks().first().filter(|_| !event.is_dsack);
        let (from, to) = newest.map_or((None, ack), |&(from, to)| (Some(from as u32), to));
        self.answers.push(Answer { at_us: micros(event), from, to: to as u32 });
    }

    /// Whether times are no longer those since the beginning.
    const fn is_over(&self, event: &Event) -> bool {
        event.time_ns.saturating_sub(self.began_ns) >= SPAN_NS / 2
    }
}

/// Of all times the last 32 bits.
const fn micros(event: &Event) -> u32 {
    (event.time_ns / 1_000) as u32
}
