//! What happened to a stream by the samples of its sending socket: timers that ran out, CE marks, windows of 0.

use pipefill_core::flow_event::{FlowEvent, FlowEventKind};
use pipefill_core::record::TcpSample;

/// Follows the samples of one sender.
#[derive(Debug, Default)]
pub(crate) struct SocketEvents {
    timeouts_before: Option<u16>,
    marked_before: Option<u32>,
    /// The receiver's window is 0.
    is_closed: bool,
    timeouts: Option<FlowEvent>,
    ce_marks: Option<FlowEvent>,
    zero_windows: Option<FlowEvent>,
}

impl SocketEvents {
    /// Takes the next sample, in order of time.
    pub(crate) fn observe(&mut self, row: &TcpSample) {
        let info = &row.info;
        let ran_out = match (self.timeouts_before, info.rto_count) {
            (Some(before), Some(now)) => now.wrapping_sub(before),
            _ => 0,
        };
        self.timeouts_before = info.rto_count;
        extend(&mut self.timeouts, FlowEventKind::Timeout, row.t_us, row.t_us, ran_out.into());
        let marked = match (self.marked_before, info.delivered_ce_segments) {
            (Some(before), Some(now)) => now.saturating_sub(before),
            _ => 0,
        };
        self.marked_before = info.delivered_ce_segments;
        extend(&mut self.ce_marks, FlowEventKind::CeMarks, row.t_us, row.t_us, marked.into());
        let was_closed = std::mem::replace(&mut self.is_closed, info.rwnd_bytes == Some(0));
        if self.is_closed {
            let closings = u64::from(!was_closed);
            extend(&mut self.zero_windows, FlowEventKind::ZeroWindow, row.t_us, row.t_us, closings);
        } else if let Some(event) = self.zero_windows.as_mut().filter(|_| was_closed) {
            event.to_us = row.t_us;
        }
    }

    /// What happened, in order of time.
    pub(crate) fn all(&self) -> Vec<FlowEvent> {
        let mut all: Vec<FlowEvent> =
            [self.timeouts, self.ce_marks, self.zero_windows].into_iter().flatten().collect();
        all.sort_by_key(|event| (event.from_us, event.to_us));
        all
    }
}

/// Of several streams: each kind once, from the first to the last.
pub(crate) fn together(events: impl Iterator<Item = FlowEvent>) -> Vec<FlowEvent> {
    let mut kinds = std::collections::BTreeMap::new();
    for event in events {
        extend(kinds.entry(event.kind).or_default(), event.kind, event.from_us, event.to_us, event.count);
    }
    kinds.into_values().flatten().collect()
}

fn extend(event: &mut Option<FlowEvent>, kind: FlowEventKind, from_us: u64, to_us: u64, count: u64) {
    if count == 0 {
        return;
    }
    *event = Some(match *event {
        Some(before) => FlowEvent {
            from_us: before.from_us.min(from_us),
            to_us: before.to_us.max(to_us),
            count: before.count + count,
            kind,
        },
        None => FlowEvent { kind, from_us, to_us, count },
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::synthetic::of_sender;
    use pipefill_core::tcp_info::TcpInfo;

    #[test]
    fn timers_and_windows_of_0_are_counted_with_their_times() {
        let mut events = SocketEvents::default();
        for (t_us, rto_count, window) in
            [(10, 0, 9), (20, 1, 0), (30, 1, 0), (40, 3, 9), (50, 3, 0), (60, 3, 9)]
        {
            let info = TcpInfo { rto_count: Some(rto_count), rwnd_bytes: Some(window), ..TcpInfo::default() };
            events.observe(&of_sender(t_us, info));
        }
        let of = |kind, from_us, to_us, count| FlowEvent { kind, from_us, to_us, count };
        let timeouts = of(FlowEventKind::Timeout, 20, 40, 3);
        let zero_windows = of(FlowEventKind::ZeroWindow, 20, 60, 2);
        assert_eq!(events.all(), [timeouts, zero_windows]);
        let both = together([events.all(), vec![of(FlowEventKind::Timeout, 5, 6, 1)]].into_iter().flatten());
        assert_eq!(both, [zero_windows, of(FlowEventKind::Timeout, 5, 40, 4)]);
    }
}
