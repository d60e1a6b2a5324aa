//! A letter, a colour and a few words for every cause: the same in `explain` and while a run goes on.

use pipefill_core::limit::{CwndCause, LimitedBy};

/// What limits, and where that is the congestion window, why.
pub type Cause = (LimitedBy, Option<CwndCause>);

/// The ANSI colour of a cause (SGR 30 to 37, and 90).
pub const fn colour(limited_by: LimitedBy) -> u8 {
    match limited_by {
        LimitedBy::Path => 32,
        LimitedBy::Rwnd => 34,
        LimitedBy::Sndbuf => 36,
        LimitedBy::Cwnd => 33,
        LimitedBy::Pacing => 35,
        LimitedBy::App | LimitedBy::Receiver => 37,
        LimitedBy::Cpu | LimitedBy::Testbed => 31,
        LimitedBy::Unknown => 90,
    }
}

/// The letter of a cause.
pub const fn letter((limited_by, cwnd_cause): Cause) -> char {
    match (limited_by, cwnd_cause) {
        (LimitedBy::App, _) => 'A',
        (LimitedBy::Sndbuf, _) => 'B',
        (LimitedBy::Rwnd, _) => 'W',
        (LimitedBy::Cwnd, Some(CwndCause::Startup)) => 's',
        (LimitedBy::Cwnd, Some(CwndCause::HystartExit)) => 'h',
        (LimitedBy::Cwnd, Some(CwndCause::RandomLoss)) => 'l',
        (LimitedBy::Cwnd, Some(CwndCause::QueueLoss)) => 'q',
        (LimitedBy::Cwnd, Some(CwndCause::Growth)) => 'g',
        (LimitedBy::Cwnd, Some(CwndCause::Policer)) => 'p',
        (LimitedBy::Cwnd, Some(CwndCause::Reordering)) => 'o',
        (LimitedBy::Cwnd, Some(CwndCause::AckPath)) => 'a',
        (LimitedBy::Cwnd, _) => 'c',
        (LimitedBy::Pacing, _) => 'P',
        (LimitedBy::Path, _) => '#',
        (LimitedBy::Receiver, _) => 'R',
        (LimitedBy::Cpu, _) => 'C',
        (LimitedBy::Testbed, _) => 'T',
        (LimitedBy::Unknown, _) => '?',
    }
}

/// A cause in a few words, its own first.
pub const fn meaning((limited_by, cwnd_cause): Cause) -> &'static str {
    match (limited_by, cwnd_cause) {
        (LimitedBy::App, _) => "app: the sending application offers no more",
        (LimitedBy::Sndbuf, _) => "sndbuf: the send buffer is full",
        (LimitedBy::Rwnd, _) => "rwnd: the receiver's window is used up",
        (LimitedBy::Cwnd, Some(CwndCause::Startup)) => "cwnd: slow start, not there yet",
        (LimitedBy::Cwnd, Some(CwndCause::HystartExit)) => "cwnd: slow start ended early, it grows slowly",
        (LimitedBy::Cwnd, Some(CwndCause::RandomLoss)) => "cwnd: cut by losses that no queue made",
        (LimitedBy::Cwnd, Some(CwndCause::QueueLoss)) => "cwnd: cut by drops of a full queue",
        (LimitedBy::Cwnd, Some(CwndCause::Growth)) => "cwnd: still growing after a loss long ago",
        (LimitedBy::Cwnd, Some(CwndCause::Policer)) => {
            "cwnd: cut by losses at a constant rate, without a queue"
        }
        (LimitedBy::Cwnd, Some(CwndCause::Reordering)) => "cwnd: cut because segments arrived out of order",
        (LimitedBy::Cwnd, Some(CwndCause::AckPath)) => "cwnd: held back by ACKs that are lost or late",
        (LimitedBy::Cwnd, _) => "cwnd: the congestion window is used up",
        (LimitedBy::Pacing, _) => "pacing: sent no faster than paced",
        (LimitedBy::Path, _) => "path: the bottleneck is busy, the pipe is full",
        (LimitedBy::Receiver, _) => "receiver: the receiving application does not read",
        (LimitedBy::Cpu, _) => "cpu: an endpoint is CPU-bound",
        (LimitedBy::Unknown, _) => "unknown: what was recorded does not tell",
        (LimitedBy::Testbed, _) => "testbed: the instrument itself is the limit",
    }
}
