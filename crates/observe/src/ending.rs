//! How a captured connection ended, what happened to it, and what the capture does not have, for the data of one side.

use pipefill_analysis::findings::connections::{EndedBy, EndingKind, FlowEnding, MissingPart};
use pipefill_capture::rows::{EventKind, Watched};
use pipefill_capture::tcp::{Connection, Side};
use pipefill_core::flow_event::{FlowEvent, FlowEventKind};

/// How it ended; `is_silent` where data was sent again and again without an answer.
pub(crate) fn ended(connection: &Connection, side: Side, is_silent: bool) -> FlowEnding {
    let end = |of: Side| if of == side { EndedBy::Sender } else { EndedBy::Receiver };
    let (how, by) = match connection.closed_by() {
        Some(by) if connection.is_reset() => (EndingKind::Reset, Some(end(by))),
        Some(by) => (EndingKind::Fin, Some(end(by))),
        None if is_silent => (EndingKind::Silence, Some(EndedBy::Receiver)),
        None => (EndingKind::Open, None),
    };
    FlowEnding { how, by }
}

/// What is not there.
pub(crate) fn missing(connection: &Connection, side: Side) -> Vec<MissingPart> {
    let (own, peer) = (connection.half(side), connection.half(side.other()));
    let has_other = peer.packets() > 0;
    let parts = [
        (!connection.has_handshake(), MissingPart::Handshake),
        (!has_other, MissingPart::OtherDirection),
        (has_other && peer.window_scale().is_none(), MissingPart::Scale),
        (own.counts().not_captured_bytes > 0, MissingPart::Packets),
    ];
    parts.into_iter().filter_map(|(is_missing, part)| is_missing.then_some(part)).collect()
}

/// What happened, in order of time.
pub(crate) fn events(watched: &Watched, side: Side, from_ns: u64) -> Vec<FlowEvent> {
    let us = |at_ns: u64| at_ns.saturating_sub(from_ns) / 1_000;
    let mut events: Vec<FlowEvent> = watched
        .events(side)
        .into_iter()
        .map(|event| FlowEvent {
            kind: match event.kind {
                EventKind::Outage => FlowEventKind::Outage,
                EventKind::Idle => FlowEventKind::Idle,
                EventKind::ZeroWindow => FlowEventKind::ZeroWindow,
                EventKind::Timeout => FlowEventKind::Timeout,
                EventKind::CeMarks => FlowEventKind::CeMarks,
                EventKind::Reset => FlowEventKind::Reset,
            },
            from_us: us(event.from_ns),
            to_us: us(event.to_ns),
            count: event.count,
        })
        .collect();
    events.sort_by_key(|event| (event.from_us, event.to_us));
    events
}
