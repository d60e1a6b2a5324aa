//! What happened to a connection and when: zero windows, timeouts, marks, outages, idle times. Nothing is held where nothing happened.

use super::samples::Clocking;
use crate::headers::Flags;
use crate::tcp::{Connection, Event, SegmentKind, Side};

/// Quiet times that are kept, the longest.
const QUIET_MAX: usize = 16;
/// With data outstanding, an outage lasts longer than so many timers.
const OUTAGE_TIMERS: u64 = 3;
/// The first timer (RFC 6298, 2.1), microseconds.
const FIRST_TIMER_US: u32 = 1_000_000;
/// A shorter pause is no idle time: slow start after an idle time begins at a timer, which is at least 200 ms (`TCP_RTO_MIN`).
const IDLE_NS: u64 = 200_000_000;

/// What an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventKind {
    /// Data was outstanding, and nothing passed in either direction for more than three timers.
    Outage,
    /// Nothing was outstanding, and nothing passed for at least 200 ms.
    Idle,
    /// The receiver's window was 0.
    ZeroWindow,
    /// The retransmission timer ran out.
    Timeout,
    /// The path marked packets (RFC 3168).
    CeMarks,
    /// A reset passed.
    Reset,
}

/// An event of the data of one side, or several of a kind from the first to the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowEvent {
    /// What it is.
    pub kind: EventKind,
    /// When it began, nanoseconds since 1970.
    pub from_ns: u64,
    /// When the last one ended.
    pub to_ns: u64,
    /// How many packets showed it; 1 for a quiet time.
    pub count: u64,
}

/// Events of each side's data. Boxed: most connections have none.
pub(super) type Happened = Option<Box<[Vec<FlowEvent>; 2]>>;

/// The events of both directions so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Events {
    last_ns: u64,
    happened: Happened,
}

impl Events {
    /// A segment passed; `connection` is in the state after it, and `clocking` before it.
    pub(super) fn observe(&mut self, connection: &Connection, event: &Event, clocking: &[Clocking; 2]) {
        let now = event.time_ns;
        if self.ends_quiet(now) {
            self.ended_quiet(connection, now, [clocking[0].out > 0, clocking[1].out > 0]);
        }
        self.last_ns = now;
        let is_reset = event.flags.has(Flags::RST);
        let is_timeout = event.kind == SegmentKind::RtoRetransmit;
        if event.is_ce || is_timeout || is_reset || event.window_bytes == Some(0) {
            self.take_event(event, is_reset);
        }
    }

    #[cold]
    #[inline(never)]
    fn take_event(&mut self, event: &Event, is_reset: bool) {
        let (now, side) = (event.time_ns, event.side);
        if event.is_ce {
            self.happened(side, EventKind::CeMarks, now);
        }
        if event.kind == SegmentKind::RtoRetransmit {
            self.happened(side, EventKind::Timeout, now);
        }
        if event.window_bytes == Some(0) && !is_reset {
            self.happened(side.other(), EventKind::ZeroWindow, now);
        }
        if is_reset {
            Side::BOTH.iter().for_each(|&side| self.happened(side, EventKind::Reset, now));
        }
    }

    /// Whether a segment that passes now ends a quiet time.
    const fn ends_quiet(&self, now: u64) -> bool {
        now.saturating_sub(self.last_ns) >= IDLE_NS && self.last_ns > 0
    }

    /// Whether a segment that passes now comes after another one and ends no quiet time.
    #[inline(always)]
    pub(super) const fn follows_soon(&self, now: u64) -> bool {
        now.wrapping_sub(self.last_ns) < IDLE_NS
    }

    /// A segment passed which ends no quiet time and shows no event.
    #[inline(always)]
    pub(super) const fn pass(&mut self, now: u64) {
        self.last_ns = now;
    }

    /// When the last segment passed.
    pub(super) const fn last_ns(&self) -> u64 {
        self.last_ns
    }

    /// The capture's clock was set back: no quiet time is known across that.
    pub(super) const fn clock_was_set(&mut self) {
        self.last_ns = 0;
    }

    /// All of them.
    pub(super) fn into_happened(self) -> Happened {
        self.happened
    }

    #[cold]
    fn ended_quiet(&mut self, connection: &Connection, now: u64, was_out: [bool; 2]) {
        let quiet_us = now.saturating_sub(self.last_ns) / 1_000;
        for side in Side::BOTH {
            let rto_us = connection.half(side).rto_us().unwrap_or(FIRST_TIMER_US);
            let kind = match was_out[side as usize] {
                true if quiet_us > OUTAGE_TIMERS * u64::from(rto_us) => EventKind::Outage,
                true => continue,
                false if was_out[side.other() as usize] => continue,
                false => EventKind::Idle,
            };
            let quiet = FlowEvent { kind, from_ns: self.last_ns, to_ns: now, count: 1 };
            let own = &mut self.happened.get_or_insert_default()[side as usize];
            own.push(quiet);
            let is_quiet = |event: &FlowEvent| matches!(event.kind, EventKind::Outage | EventKind::Idle);
            if own.iter().filter(|event| is_quiet(event)).count() > QUIET_MAX {
                let shortest = own.iter().enumerate().filter(|(_, event)| is_quiet(event));
                let shortest =
                    shortest.min_by_key(|(_, event)| event.to_ns - event.from_ns).map(|(at, _)| at);
                if let Some(at) = shortest {
                    own.remove(at);
                }
            }
        }
    }

    #[cold]
    fn happened(&mut self, side: Side, kind: EventKind, now: u64) {
        let own = &mut self.happened.get_or_insert_default()[side as usize];
        match own.iter_mut().find(|event| event.kind == kind) {
            Some(event) => (event.to_ns, event.count) = (now, event.count + 1),
            None => own.push(FlowEvent { kind, from_ns: now, to_ns: now, count: 1 }),
        }
    }
}
