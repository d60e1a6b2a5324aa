//! What the lab's BPF programs see of a sender: how long it was in which congestion state, and every retransmission.

use super::sender::Sender;
use pipefill_core::record::{CaStateTimes, Episode, Retransmit, RetransmitKind};
use pipefill_core::tcp_info::CaState;
use pipefill_core::units::Time;

/// All states, in `enum tcp_ca_state`'s order.
const STATES: [CaState; 5] =
    [CaState::Open, CaState::Disorder, CaState::Cwr, CaState::Recovery, CaState::Loss];

/// The times in the congestion states and the retransmits of one sender.
#[derive(Debug, Default)]
pub(crate) struct SenderTrace {
    /// Only what lies between the two counts.
    from: Time,
    until: Time,
    in_state_ns: [u128; STATES.len()],
    since: Time,
    episode: Episode,
    finished: Vec<Retransmit>,
}

impl SenderTrace {
    /// Counts states from `from` until `until`.
    pub(crate) fn watch(&mut self, from: Time, until: Time) {
        (self.from, self.until) = (from, until);
    }

    /// The rows that are known since the last call; their stream is for the caller to fill in.
    pub(crate) fn finished(&mut self) -> std::vec::Drain<'_, Retransmit> {
        self.finished.drain(..)
    }

    /// No recovery will end any more.
    pub(crate) fn end(&mut self) {
        self.finished.extend(self.episode.end(false));
    }

    fn count(&mut self, state: CaState, now: Time) {
        let span = now.min(self.until).since(self.since.max(self.from));
        self.in_state_ns[state as usize] += span.as_nanos();
        self.since = now;
    }
}

impl Sender {
    /// Before the state changes to `state` (`trace_tcp_cong_state_set()`).
    pub(crate) fn trace_state(&mut self, state: CaState) {
        let before = self.conn.ca_state;
        self.trace.count(before, self.now);
        if before >= CaState::Recovery && state < CaState::Recovery {
            let undone = self.undo.marker.is_none();
            self.trace.finished.extend(self.trace.episode.end(undone));
        }
    }

    /// After `segments` from `seq_from` to `seq_to` have left again (`trace_tcp_retransmit_skb()`).
    pub(crate) fn trace_retransmit(&mut self, seq_from: u64, seq_to: u64, segments: u32) {
        let kind = RetransmitKind::in_state(self.conn.ca_state);
        let row = Retransmit {
            t_us: self.now_us(),
            stream: 0,
            seq_from,
            seq_to,
            segments,
            refused_segments: 0,
            kind,
        };
        if self.trace.episode.push(row) {
            self.trace.finished.extend(self.trace.episode.end(false));
        }
    }

    /// Time in each state between the two instants of [`SenderTrace::watch`], as far as `now` has come.
    pub(crate) fn state_times(&self, now: Time) -> CaStateTimes {
        let trace = &self.trace;
        let tail = now.min(trace.until).since(trace.since.max(trace.from)).as_nanos();
        let mut times = CaStateTimes::default();
        for (state, ns) in STATES.into_iter().zip(trace.in_state_ns) {
            let ns = if state == self.conn.ca_state { ns + tail } else { ns };
            times.add(state, u64::try_from(ns / 1_000).unwrap_or(u64::MAX));
        }
        times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn only_what_lies_between_the_two_instants_counts() {
        let mut trace = SenderTrace::default();
        trace.watch(at(100), at(200));
        trace.count(CaState::Loss, at(50));
        trace.count(CaState::Open, at(130));
        trace.count(CaState::Recovery, at(150));
        trace.count(CaState::Cwr, at(250));
        trace.count(CaState::Loss, at(300));
        let ms = trace.in_state_ns.map(|ns| ns / 1_000_000);
        assert_eq!(ms, [30, 0, 50, 20, 0]);
    }
}
