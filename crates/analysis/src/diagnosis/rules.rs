//! From an epoch to its cause: the rules, in order; the first that holds decides.
//!
//! Never: a threshold outside of this file, or one without its reason.

use super::epochs::Epoch;
use super::facts::{Busy, Facts};
use crate::metrics::window::Window;
use pipefill_core::cell::FlowSpec;
use pipefill_core::limit::LimitedBy;
use pipefill_core::record::{StreamSummary, ThreadRole};

/// From this share of a window on it counts as used up: a sender waits for room for a whole packet (RFC 9293, 3.8.6.2.1; TSO
/// sends up to 64 KB at once).
const USED_UP: f64 = 0.90;
/// A writer is woken when two thirds of the send buffer are in use (`sk_stream_min_wspace()`), so that a buffer which
/// limits never looks fuller than that for long.
const SNDBUF_USED: f64 = 0.60;
/// Half of the receive buffer unread: the application does not keep up.
const UNREAD: f64 = 0.50;
/// A thread that computes 85 % of the time has no more to give on a machine where others run too.
const CPU_BUSY: f64 = 0.85;
/// Written data that was not sent waits at half of the looks and more: only then can a window be what holds it. Where all that
/// is written is sent, the writer is the limit, or the buffer that it writes to.
const WAITING: f64 = 0.50;

/// An application that has written 98 % of what it wanted to by now keeps its pace: the start, a round trip long, is late.
const ON_TIME: f64 = 0.98;

/// A stream and what was asked of it.
#[derive(Clone, Copy)]
pub(super) struct Stream<'a> {
    pub(super) flow: &'a FlowSpec,
    pub(super) summary: &'a StreamSummary,
}

/// What limited `epoch`.
pub(super) fn limiter(epoch: &Epoch, stream: &Stream<'_>, facts: &Facts<'_>, busy: &Busy<'_>) -> LimitedBy {
    let window = Window { from_us: epoch.from_us, to_us: epoch.to_us };
    if busy.over(window) {
        return if busy.is_the_hosts() { LimitedBy::Testbed } else { LimitedBy::Path };
    }
    if is_on_time(epoch, stream, facts) {
        return LimitedBy::App;
    }
    if epoch.repair_share >= 0.5 {
        return LimitedBy::Cwnd;
    }
    let is_waiting = epoch.unsent_share >= WAITING;
    if let Some(limit) = window_limit(epoch).filter(|_| is_waiting) {
        return limit;
    }
    if let Some(end) = cpu_limit(facts, window) {
        return end;
    }
    if is_waiting {
        return LimitedBy::Pacing;
    }
    if epoch.sndbuf_used.is_some_and(|used| used >= SNDBUF_USED) {
        return LimitedBy::Sndbuf;
    }
    LimitedBy::App
}

/// Whether the application's schedule is kept, but for the write that is under way: then nothing behind it holds it back,
/// even where a large write waits for its turn.
fn is_on_time(epoch: &Epoch, stream: &Stream<'_>, facts: &Facts<'_>) -> bool {
    let Some(bitrate) = stream.flow.bitrate else { return false };
    let since_us = epoch.to_us.saturating_sub(stream.summary.start_us);
    let wanted = bitrate.bps() as f64 / 8e6 * since_us as f64;
    let under_way = epoch.unacked_peak.max(stream.flow.length.get()) as f64;
    facts.history.acked_bytes(stream.summary.stream, epoch.to_us) + under_way >= ON_TIME * wanted
}

/// The window that is used up; of two the smaller one.
fn window_limit(epoch: &Epoch) -> Option<LimitedBy> {
    let by_rwnd = epoch.rwnd_used.is_some_and(|used| used >= USED_UP);
    let by_cwnd = epoch.cwnd_used >= USED_UP;
    let is_smaller = epoch.rwnd.is_some_and(|rwnd| rwnd < epoch.cwnd);
    if by_rwnd && (is_smaller || !by_cwnd) {
        let is_unread = epoch.unread_share.is_some_and(|share| share >= UNREAD);
        return Some(if is_unread { LimitedBy::Receiver } else { LimitedBy::Rwnd });
    }
    by_cwnd.then_some(LimitedBy::Cwnd)
}

/// The data path's threads are the instrument; all others belong to the ends.
fn cpu_limit(facts: &Facts<'_>, window: Window) -> Option<LimitedBy> {
    let is_busy = |is_it: fn(&ThreadRole) -> bool| {
        facts.history.cpu_share(is_it, window).is_some_and(|share| share >= CPU_BUSY)
    };
    if is_busy(|role| matches!(role, ThreadRole::Path(_))) {
        return Some(LimitedBy::Testbed);
    }
    is_busy(|role| role.flow().is_some()).then_some(LimitedBy::Cpu)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epoch(cwnd_used: f64, cwnd: u64, rwnd_used: f64, rwnd: u64) -> Epoch {
        Epoch { cwnd_used, cwnd, rwnd_used: Some(rwnd_used), rwnd: Some(rwnd), ..Epoch::default() }
    }

    #[test]
    fn of_two_windows_that_are_used_up_the_smaller_one_limits() {
        assert_eq!(window_limit(&epoch(0.95, 100_000, 0.95, 90_000)), Some(LimitedBy::Rwnd));
        assert_eq!(window_limit(&epoch(0.95, 90_000, 0.95, 100_000)), Some(LimitedBy::Cwnd));
        assert_eq!(window_limit(&epoch(0.50, 200_000, 0.95, 300_000)), Some(LimitedBy::Rwnd));
        assert_eq!(window_limit(&epoch(0.50, 200_000, 0.50, 200_000)), None);
    }

    #[test]
    fn a_window_in_front_of_unread_data_is_the_readers() {
        let unread = Epoch { unread_share: Some(0.8), ..epoch(0.3, 300_000, 1.0, 60_000) };
        assert_eq!(window_limit(&unread), Some(LimitedBy::Receiver));
        let read = Epoch { unread_share: Some(0.1), ..unread };
        assert_eq!(window_limit(&read), Some(LimitedBy::Rwnd));
    }
}
