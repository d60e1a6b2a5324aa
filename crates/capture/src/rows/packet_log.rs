//! Logs when packets with data passed and what was acknowledged, in both directions of a connection, for [`super::bucket`].
//!
//! Memory: before the first loss a log keeps the last packets, after it the first [`LOGGED_MAX`]. A connection with few packets has no log.

use super::bucket::{self, LoggedAck, LoggedKind, LoggedPacket};
use crate::tcp::{Connection, Event, SegmentKind, Side};
use pipefill_core::record::BucketFit;

/// A log begins at this packet with data.
const FIRST_LOGGED: u8 = 16;
/// Packets of a direction in the log before its first loss; at least half of them are there once it is lost.
const BEFORE_LOSS_MAX: usize = 1 << 9;
/// Packets of a direction in the log, and ACKs.
const LOGGED_MAX: usize = 1 << 13;
/// A log covers at most this time: its times have 32 bits.
const SPAN_NS: u64 = 500 << 32;

/// The logs of both directions.
#[derive(Debug, Default)]
pub(super) struct PacketLogs(Option<Box<[DirectionLog; 2]>>);

/// The log of one direction.
#[derive(Debug, Default)]
struct DirectionLog {
    /// Time of the first packet, nanoseconds since 1970.
    began_ns: u64,
    has_lost: bool,
    packets: Vec<LoggedPacket>,
    acks: Vec<LoggedAck>,
}

impl PacketLogs {
    /// Logs a segment. Returns whether the log begins with it: a packet with data after `unlogged` others, if it `may_begin`.
    #[inline(always)]
    pub(super) fn observe(&mut self, event: &Event, unlogged: &mut u8, may_begin: bool) -> bool {
        if let Some(logs) = &mut self.0 {
            logs.iter_mut().zip(Side::BOTH).for_each(|(log, side)| log.observe(event, side));
            return false;
        }
        *unlogged = unlogged.saturating_add(u8::from(event.payload > 0));
        let begins = may_begin && *unlogged >= FIRST_LOGGED;
        if begins {
            self.0 = Some(Box::default());
        }
        begins
    }

    /// Whether there is a log.
    pub(super) const fn has_begun(&self) -> bool {
        self.0.is_some()
    }

    /// Begins anew: the capture's clock was set back.
    pub(super) fn clock_was_set(&mut self) {
        if let Some(logs) = &mut self.0 {
            **logs = Default::default();
        }
    }

    /// The bucket that explains the losses of the data of `side`; `None` where there are few losses.
    pub(super) fn bucket(&self, connection: &Connection, side: Side) -> Option<BucketFit> {
        let log = &self.0.as_ref()?[side as usize];
        bucket::fit(&log.packets, &log.acks, connection.half(side).mss_bytes())
    }
}

impl DirectionLog {
    /// Logs a segment of either side in the log of the data of `side`.
    #[inline(always)]
    fn observe(&mut self, event: &Event, side: Side) {
        if event.side != side {
            self.has_lost |= event.kind == SegmentKind::DuplicateAck;
            if self.has_lost {
                self.push_ack(event);
            }
        } else if event.payload > 0 {
            self.has_lost |= event.kind.is_retransmit();
            self.push_packet(event);
        }
    }

    fn push_packet(&mut self, event: &Event) {
        let kind = match event.kind {
            SegmentKind::New => LoggedKind::New,
            SegmentKind::FastRetransmit | SegmentKind::RtoRetransmit => LoggedKind::Again,
            SegmentKind::OutOfOrder | SegmentKind::TlpRetransmit => LoggedKind::Late,
            _ => return,
        };
        if !self.has_lost {
            self.forget_old(event);
        }
        if self.packets.is_empty() {
            self.began_ns = event.time_ns;
        }
        if self.packets.len() < LOGGED_MAX && !self.is_over(event) {
            let (at_us, from) = (micros(event), event.seq_from as u32);
            self.packets.push(LoggedPacket { at_us, from, bytes: event.payload, kind });
        }
    }

    /// Before the first loss only the last packets matter.
    fn forget_old(&mut self, event: &Event) {
        if self.is_over(event) {
            self.packets.clear();
        } else if self.packets.len() >= BEFORE_LOSS_MAX {
            self.packets.drain(..BEFORE_LOSS_MAX / 2);
            self.began_ns = event.time_ns;
        }
    }

    /// An ACK: up to where all data arrived, or the newest SACK block.
    #[cold]
    fn push_ack(&mut self, event: &Event) {
        let Some(ack) = event.ack.filter(|_| self.acks.len() < LOGGED_MAX && !self.is_over(event)) else {
            return;
        };
        let newest = event.sacks.blocks().first().filter(|_| !event.is_dsack);
        let (from, to) = newest.map_or((None, ack), |&(from, to)| (Some(from as u32), to));
        self.acks.push(LoggedAck { at_us: micros(event), from, to: to as u32 });
    }

    const fn is_over(&self, event: &Event) -> bool {
        event.time_ns.saturating_sub(self.began_ns) >= SPAN_NS
    }
}

/// The last 32 bits of the time in microseconds.
const fn micros(event: &Event) -> u32 {
    (event.time_ns / 1_000) as u32
}
