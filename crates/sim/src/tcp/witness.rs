//! What the lab's BPF programs see of a sender: how long it was in which congestion state, and every retransmission.
//!
//! Never: a say in what the sender does.

use super::sender::Sender;
use pipefill_core::record::{CaStateTimes, Episode, Retransmit, RetransmitKind};
use pipefill_core::tcp_info::CaState;
use pipefill_core::units::Time;

/// All states, in `enum tcp_ca_state`'s order.
const STATES: [CaState; 5] =
    [CaState::Open, CaState::Disorder, CaState::Cwr, CaState::Recovery, CaState::Loss];

/// The witness of one sender.
#[derive(Debug, Default)]
pub(crate) struct Witness {
    /// Only what lies between the two counts.
    from: Time,
    until: Time,
    in_state_ns: [u128; STATES.len()],
    since: Time,
    episode: Episode,
    told: Vec<Retransmit>,
}

impl Witness {
    /// Counts states from `from` until `until`.
    pub(crate) fn watch(&mut self, from: Time, until: Time) {
        (self.from, self.until) = (from, until);
    }

    /// The rows that are known since the last call; their stream is for the caller to fill in.
    pub(crate) fn told(&mut self) -> std::vec::Drain<'_, Retransmit> {
        self.told.drain(..)
    }

    /// No recovery will end any more.
    pub(crate) fn end(&mut self) {
        self.told.extend(self.episode.end(false));
    }

    fn count(&mut self, state: CaState, now: Time) {
        let span = now.min(self.until).since(self.since.max(self.from));
        self.in_state_ns[state as usize] += span.as_nanos();
        self.since = now;
    }
}

impl Sender {
    /// Before the state changes to `state` (`trace_tcp_cong_state_set()`).
    pub(crate) fn witness_state(&mut self, state: CaState) {
        let before = self.conn.ca_state;
        self.witness.count(before, self.now);
        if before >= CaState::Recovery && state < CaState::Recovery {
            let undone = self.undo.marker.is_none();
            self.witness.told.extend(self.witness.episode.end(undone));
        }
    }

    /// After `segments` from `seq_from` to `seq_to` have left again (`trace_tcp_retransmit_skb()`).
    pub(crate) fn witness_retransmit(&mut self, seq_from: u64, seq_to: u64, segments: u32) {
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
        if self.witness.episode.take(row) {
            self.witness.told.extend(self.witness.episode.end(false));
        }
    }

    /// Time in each state between the two instants of [`Witness::watch`], as far as `now` has come.
    pub(crate) fn state_times(&self, now: Time) -> CaStateTimes {
        let witness = &self.witness;
        let tail = now.min(witness.until).since(witness.since.max(witness.from)).as_nanos();
        let mut times = CaStateTimes::default();
        for (state, ns) in STATES.into_iter().zip(witness.in_state_ns) {
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
        let mut witness = Witness::default();
        witness.watch(at(100), at(200));
        witness.count(CaState::Loss, at(50));
        witness.count(CaState::Open, at(130));
        witness.count(CaState::Recovery, at(150));
        witness.count(CaState::Cwr, at(250));
        witness.count(CaState::Loss, at(300));
        let ms = witness.in_state_ns.map(|ns| ns / 1_000_000);
        assert_eq!(ms, [30, 0, 50, 20, 0]);
    }
}
