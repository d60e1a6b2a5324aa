//! Exact congestion states and every retransmission of the busy senders, from BPF, where the kernel permits it.
//!
//! Elsewhere both come from samples, as finely as these lie. Memory is bounded: [`WATCHED_MAX`] senders, and [`RETRANSMITS_MAX`]
//! retransmissions of each; what is beyond is counted as lost.

use crate::tracker::{Tracked, Tracker};
use pipefill_analysis::findings::connections::Exact;
use pipefill_core::record::Retransmit;
use pipefill_core::tcp_info::CaState;
use pipefill_lab::sender_trace::SenderTrace;
use std::collections::HashSet;
use std::path::Path;

/// Senders that are watched at a time: the map in the kernel has room for 4,096.
const WATCHED_MAX: usize = 4_000;
/// Retransmissions that are kept of one connection.
const RETRANSMITS_MAX: usize = 10_000;

/// The trace of one namespace, and whom it watches.
#[derive(Debug)]
pub(crate) struct ExactStates {
    trace: SenderTrace,
    watched: HashSet<u64>,
    /// Events that the kernel had no room for.
    lost: u64,
}

impl ExactStates {
    /// Of the namespace in `file`, or of the own one; `None` where the kernel does not let us.
    pub(crate) fn start(file: Option<&Path>) -> Option<Self> {
        let trace = SenderTrace::start(file).ok()?;
        Some(Self { trace, watched: HashSet::new(), lost: 0 })
    }

    /// Watches the senders that became busy.
    pub(crate) fn follow(&mut self, tracker: &mut Tracker) {
        let new: Vec<u64> = tracker
            .busy()
            .filter(|(cookie, tracked)| sends(tracked) && !self.watched.contains(cookie))
            .map(|(cookie, _)| cookie)
            .take(WATCHED_MAX.saturating_sub(self.watched.len()))
            .collect();
        for cookie in new {
            let Some(tracked) = tracker.get_mut(cookie) else { continue };
            let Some(last) = tracked.samples.back().map(|sample| sample.info) else { continue };
            if self.trace.watch(cookie, last.ca_state.unwrap_or(CaState::Open), last.retransmits) {
                self.watched.insert(cookie);
                tracked.exact = Some(Exact::default());
            }
        }
    }

    /// Hands the connections what was sent again since the last call.
    pub(crate) fn take_retransmits(&mut self, tracker: &mut Tracker) {
        self.trace.drain(|cookie, row| {
            if let Some(exact) = tracker.get_mut(cookie).and_then(|tracked| tracked.exact.as_mut()) {
                keep(exact, row);
            }
        });
    }

    /// Notes where an event was lost since the last call.
    pub(crate) fn note_lost(&mut self, tracker: &mut Tracker) {
        let lost = self.trace.lost().unwrap_or(0);
        if std::mem::replace(&mut self.lost, lost) == lost {
            return;
        }
        // The lost event may be any watched socket's.
        for &cookie in &self.watched {
            if let Some(exact) = tracker.get_mut(cookie).and_then(|tracked| tracked.exact.as_mut()) {
                exact.lost += 1;
            }
        }
    }

    /// Gives all connections their times in each state up to now.
    pub(crate) fn take_all_state_times(&self, tracker: &mut Tracker) {
        for &cookie in &self.watched {
            if let Some(tracked) = tracker.get_mut(cookie) {
                self.take_state_times(cookie, tracked);
            }
        }
    }

    /// Gives a connection its times in each state up to now, which are read from the kernel.
    pub(crate) fn take_state_times(&self, cookie: u64, tracked: &mut Tracked) {
        if let Some(exact) = &mut tracked.exact {
            exact.ca_state_us = self.trace.state_times(cookie).or(exact.ca_state_us);
        }
    }

    /// Forgets a connection that has closed.
    pub(crate) fn forget(&mut self, cookie: u64) {
        if self.watched.remove(&cookie) {
            self.trace.forget(cookie);
        }
    }
}

fn keep(exact: &mut Exact, row: Retransmit) {
    if exact.retransmits.len() < RETRANSMITS_MAX {
        exact.retransmits.push(row);
    } else {
        exact.lost += u64::from(row.segments);
    }
}

fn sends(tracked: &Tracked) -> bool {
    let (Some(first), Some(last)) = (tracked.samples.front(), tracked.samples.back()) else { return false };
    last.info.unacked_bytes > 0 || last.info.bytes_acked > first.info.bytes_acked
}
