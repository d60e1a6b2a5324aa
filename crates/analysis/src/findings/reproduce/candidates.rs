//! Which figures of a draft may be fitted, by the cause of the limit, and where the search begins.

use super::knob::Knob;
use super::{Draft, path};
use crate::findings::connections::CapturedFlow;
use pipefill_core::cell::Direction;
use pipefill_core::limit::{CwndCause, LimitedBy};

impl Draft<'_> {
    /// What may be fitted, the likeliest first.
    pub(super) fn knobs(&self) -> Vec<Knob> {
        let main = self.main;
        match main.verdict.limited_by {
            Some(LimitedBy::Cwnd) => self.knobs_of_cwnd(),
            Some(LimitedBy::Path) if main.path_rate_bps.is_none() => vec![Knob::Rate],
            Some(LimitedBy::Rwnd) => vec![Knob::Window],
            Some(LimitedBy::Sndbuf) => vec![Knob::Sndbuf],
            _ => Vec::new(),
        }
    }

    fn knobs_of_cwnd(&self) -> Vec<Knob> {
        let main = self.main;
        let lost = main.retransmits > spurious(main);
        let has_rate = path::rate(&self.of_way(Direction::Forward)).is_some();
        let lossy = || lost.then_some(Knob::Loss);
        match main.verdict.cwnd_cause {
            Some(CwndCause::RandomLoss | CwndCause::Policer) => vec![Knob::Loss],
            Some(CwndCause::AckPath) => self.knob_of_acks().into_iter().collect(),
            Some(CwndCause::Reordering) => vec![Knob::Reorder],
            Some(CwndCause::HystartExit) => vec![Knob::Jitter],
            Some(CwndCause::QueueLoss) => {
                has_rate.then_some(Knob::Queue).into_iter().chain(lossy()).collect()
            }
            _ => lossy().into_iter().collect(),
        }
    }

    /// Where data go the other way too, the path of the ACKs is known by these, or not at all.
    fn knob_of_acks(&self) -> Option<Knob> {
        if path::is_slow_for_acks(self.main) {
            return path::path_of_acks(self).map(|_| Knob::AckRate);
        }
        path::loss(&self.of_way(Direction::Reverse)).is_none().then_some(Knob::AcksThatArrive)
    }

    /// What the scenario has of `knob` where nothing is set; `None` where that is nothing.
    pub(super) fn unset(&self, knob: Knob) -> Option<f64> {
        match knob {
            Knob::Loss => path::loss(&self.of_way(Direction::Forward)).map(|(_, percent)| percent),
            Knob::AckRate | Knob::Rate | Knob::Window | Knob::Sndbuf => Some(1.0),
            Knob::Reorder => self.reordered(),
            Knob::Jitter | Knob::AcksThatArrive | Knob::Queue => None,
        }
    }

    /// The first value that is tried where nothing is known.
    pub(super) fn guess(&self, knob: Knob) -> f64 {
        let main = self.main;
        let percent = |count: u64| 100.0 * count as f64 / main.segments.max(1) as f64;
        match knob {
            Knob::Loss => percent(main.retransmits),
            Knob::Jitter => main.min_rtt_us.unwrap_or(0) as f64 / 20.0,
            // A receiver answers each second segment.
            Knob::AcksThatArrive => 200.0 * main.acks as f64 / main.segments.max(1) as f64,
            Knob::Queue => main.in_flight_bytes.unwrap_or(0) as f64 / 4.0,
            Knob::Reorder | Knob::AckRate | Knob::Rate | Knob::Window | Knob::Sndbuf => 1.0,
        }
    }

    /// Percentage of packets that overtake others, where that is the cause: the share of needless retransmissions.
    fn reordered(&self) -> Option<f64> {
        let share = spurious(self.main) as f64 / self.main.segments.max(1) as f64;
        let is_the_cause = self.main.verdict.cwnd_cause == Some(CwndCause::Reordering) && share > 0.0;
        is_the_cause.then(|| (1e4 * share).round() / 1e2)
    }
}

/// Segments that were sent again for nothing.
fn spurious(flow: &CapturedFlow) -> u64 {
    flow.retransmits_by_kind.get("spurious").copied().unwrap_or(0)
}
