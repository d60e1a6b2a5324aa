//! Logs when packets with data passed and what was acknowledged, in both directions of a connection, for [`super::bucket`].
//!
//! Memory: before the first loss a log keeps the last packets, after it the first [`LOGGED_MAX`]. A connection with few packets has no log.

use super::bucket::{self, LoggedAck, LoggedKind, LoggedPacket};
use super::repetition;
use crate::tcp::{Connection, Event, SegmentKind, Side};
use pipefill_core::record::{BucketFit, Repetition};

/// A log begins at this packet with data.
const FIRST_LOGGED: u8 = 16;
/// Packets of a direction in the log before its first loss: the last ones.
const BEFORE_LOSS_MAX: usize = 1 << 9;
/// Packets of a direction in the log, and ACKs.
const LOGGED_MAX: usize = 1 << 13;
/// A log ends so long after the first loss: its times have 32 bits.
const SPAN_NS: u64 = 500 << 32;

/// The logs of both directions.
#[derive(Debug, Default)]
pub(super) struct PacketLogs(Option<Box<[DirectionLog; 2]>>);

/// The log of one direction.
#[derive(Debug, Default)]
struct DirectionLog {
    has_lost: bool,
    /// Whether it takes nothing more.
    is_over: bool,
    /// Time of the first loss, nanoseconds since 1970.
    lost_ns: u64,
    /// In order of time; before the first loss a ring of [`BEFORE_LOSS_MAX`].
    packets: Vec<LoggedPacket>,
    /// The place of the next one: that of the oldest of a full ring.
    next: usize,
    acks: Vec<LoggedAck>,
}

impl PacketLogs {
    /// Logs a segment. Returns whether the log begins with it: a packet with data after `unlogged` others, if it `may_begin`.
    pub(super) fn observe(&mut self, event: &Event, unlogged: &mut u8, may_begin: bool) -> bool {
        if let Some(logs) = &mut self.0 {
            if event.payload > 0 {
                logs[event.side as usize].push_packet(event);
            }
            let of_peer = &mut logs[event.side.other() as usize];
            if event.kind == SegmentKind::DuplicateAck {
                of_peer.push_ack(event);
            } else {
                of_peer.push_ack_after_loss(event);
            }
            return false;
        }
        *unlogged = unlogged.saturating_add(u8::from(event.payload > 0));
        let begins = may_begin && *unlogged >= FIRST_LOGGED;
        if begins {
            self.0 = Some(Box::default());
        }
        begins
    }

    /// Whether [`Self::observe`] only logs what passes next: neither does a log begin with it, nor is it counted for one.
    #[inline(always)]
    pub(super) const fn only_logs(&self, unlogged: u8, may_begin: bool) -> bool {
        self.has_begun() || unlogged >= FIRST_LOGGED && !may_begin
    }

    /// What [`Self::observe`] logs of new data in order.
    #[inline(always)]
    pub(super) fn log_data(&mut self, event: &Event) {
        let Some(logs) = &mut self.0 else { return };
        logs[event.side as usize].push_packet(event);
        logs[event.side.other() as usize].push_ack_after_loss(event);
    }

    /// What [`Self::observe`] logs of an ACK of something new.
    #[inline(always)]
    pub(super) fn log_ack(&mut self, event: &Event) {
        let Some(logs) = &mut self.0 else { return };
        logs[event.side.other() as usize].push_ack_after_loss(event);
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

    /// How the bursts of the data of `side` repeat; `None` where there are few, or no round trip is known.
    pub(super) fn repetition(&self, connection: &Connection, side: Side) -> Option<Repetition> {
        let log = &self.0.as_ref()?[side as usize];
        let first = if log.has_lost { 0 } else { log.next };
        repetition::find(&log.packets, first, connection.full_rtt_us()?)
    }
}

impl DirectionLog {
    /// Logs a packet with data.
    #[inline(always)]
    fn push_packet(&mut self, event: &Event) {
        if self.has_lost || event.kind != SegmentKind::New {
            return self.push_after_loss(event);
        }
        let packet = logged(event, LoggedKind::New);
        match self.packets.get_mut(self.next) {
            Some(oldest) => *oldest = packet,
            None => self.packets.push(packet),
        }
        self.next = (self.next + 1) % BEFORE_LOSS_MAX;
    }

    #[inline(always)]
    fn push_after_loss(&mut self, event: &Event) {
        if !self.is_over {
            self.push_any(event);
        }
    }

    #[cold]
    #[inline(never)]
    fn push_any(&mut self, event: &Event) {
        let kind = match event.kind {
            SegmentKind::New => LoggedKind::New,
            SegmentKind::FastRetransmit | SegmentKind::RtoRetransmit => LoggedKind::Again,
            SegmentKind::OutOfOrder | SegmentKind::TlpRetransmit => LoggedKind::Late,
            _ => return,
        };
        self.lose(event);
        if self.packets.len() < LOGGED_MAX && !self.is_over {
            self.packets.push(logged(event, kind));
        }
    }

    #[inline(always)]
    fn push_ack_after_loss(&mut self, event: &Event) {
        if self.has_lost && !self.is_over {
            self.push_ack(event);
        }
    }

    /// An ACK: up to where all data arrived, or the newest SACK block.
    #[cold]
    #[inline(never)]
    fn push_ack(&mut self, event: &Event) {
        self.lose(event);
        let Some(ack) = event.ack.filter(|_| self.acks.len() < LOGGED_MAX && !self.is_over) else { return };
        let newest = event.sacks.blocks().first().filter(|_| !event.is_dsack);
        let (from, to) = newest.map_or((None, ack), |&(from, to)| (Some(from as u32), to));
        self.acks.push(LoggedAck { at_us: micros(event), from, to: to as u32 });
    }

    /// From the first loss on all packets are kept, until there is no room for more.
    fn lose(&mut self, event: &Event) {
        if !self.has_lost {
            (self.has_lost, self.lost_ns) = (true, event.time_ns);
            self.packets.rotate_left(self.next);
        }
        let is_full = self.packets.len() >= LOGGED_MAX && self.acks.len() >= LOGGED_MAX;
        self.is_over |= is_full || event.time_ns.saturating_sub(self.lost_ns) >= SPAN_NS;
    }
}

fn logged(event: &Event, kind: LoggedKind) -> LoggedPacket {
    LoggedPacket { at_us: micros(event), from: event.seq_from as u32, bytes: event.payload, kind }
}

/// The last 32 bits of the time in microseconds.
const fn micros(event: &Event) -> u32 {
    (event.time_ns / 1_000) as u32
}
