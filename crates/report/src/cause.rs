//! A letter, a colour and a few words for every cause: the same in `explain` and while a run goes on.

use pipefill_analysis::findings::verdict::Verdict;
use pipefill_core::limit::{Cause as Refinement, LimitedBy};

/// What limits, and what refines it.
pub type Cause = (LimitedBy, Option<Refinement>);

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
pub const fn letter((limited_by, refinement): Cause) -> char {
    match (limited_by, refinement) {
        (LimitedBy::App, Some(Refinement::Request)) => 'u',
        (LimitedBy::App, Some(Refinement::Response)) => 'w',
        (LimitedBy::App, Some(Refinement::Turns)) => 't',
        (LimitedBy::App, Some(Refinement::Window)) => 'v',
        (LimitedBy::App, Some(Refinement::Nagle)) => 'n',
        (LimitedBy::App, Some(Refinement::DelayedAck)) => 'd',
        (LimitedBy::App, Some(Refinement::Rate)) => 'r',
        (LimitedBy::App, _) => 'A',
        (LimitedBy::Sndbuf, Some(Refinement::Program)) => 'b',
        (LimitedBy::Sndbuf, _) => 'B',
        (LimitedBy::Rwnd, Some(Refinement::Unscaled)) => 'U',
        (LimitedBy::Rwnd, Some(Refinement::Program)) => 'S',
        (LimitedBy::Rwnd, Some(Refinement::RmemMax)) => 'M',
        (LimitedBy::Rwnd, Some(Refinement::Clamped)) => 'L',
        (LimitedBy::Rwnd, Some(Refinement::Autotuning)) => 'G',
        (LimitedBy::Rwnd, _) => 'W',
        (LimitedBy::Cwnd, Some(Refinement::Startup)) => 's',
        (LimitedBy::Cwnd, Some(Refinement::HystartExit)) => 'h',
        (LimitedBy::Cwnd, Some(Refinement::RandomLoss)) => 'l',
        (LimitedBy::Cwnd, Some(Refinement::QueueLoss)) => 'q',
        (LimitedBy::Cwnd, Some(Refinement::Growth)) => 'g',
        (LimitedBy::Cwnd, Some(Refinement::Policer)) => 'p',
        (LimitedBy::Cwnd, Some(Refinement::Reordering)) => 'o',
        (LimitedBy::Cwnd, Some(Refinement::AckPath)) => 'a',
        (LimitedBy::Cwnd, Some(Refinement::IdleRestart)) => 'i',
        (LimitedBy::Cwnd, Some(Refinement::Ecn)) => 'e',
        (LimitedBy::Cwnd, Some(Refinement::Timeout)) => 'z',
        (LimitedBy::Cwnd, _) => 'c',
        (LimitedBy::Pacing, _) => 'P',
        (LimitedBy::Path, Some(Refinement::Silence)) => '~',
        (LimitedBy::Path, Some(Refinement::Mtu)) => 'm',
        (LimitedBy::Path, Some(Refinement::Shared)) => '%',
        (LimitedBy::Path, Some(Refinement::Bursts)) => 'x',
        (LimitedBy::Path, _) => '#',
        (LimitedBy::Receiver, _) => 'R',
        (LimitedBy::Cpu, Some(Refinement::Quota)) => 'k',
        (LimitedBy::Cpu, Some(Refinement::Waiting)) => 'y',
        (LimitedBy::Cpu, _) => 'C',
        (LimitedBy::Testbed, _) => 'T',
        (LimitedBy::Unknown, _) => '?',
    }
}

/// The limit with its cause where whom to ask depends on it: of an application, and of bursts. `None` where there is no limit.
pub(crate) fn limit_to_ask_for(verdict: &Verdict) -> Option<String> {
    let limit = verdict.limited_by?;
    let cause = verdict.cause.filter(|&cause| limit == LimitedBy::App || cause == Refinement::Bursts);
    Some(
        cause.map_or_else(
            || limit.as_str().to_owned(),
            |cause| format!("{} {}", limit.as_str(), cause.as_str()),
        ),
    )
}

/// A cause in a few words, its own first.
pub const fn meaning((limited_by, refinement): Cause) -> &'static str {
    match (limited_by, refinement) {
        (LimitedBy::App, Some(Refinement::Request)) => "app request: not asked for anything",
        (LimitedBy::App, Some(Refinement::Response)) => "app response: asked, and not answering yet",
        (LimitedBy::App, Some(Refinement::Turns)) => "app turns: a round trip for each request",
        (LimitedBy::App, Some(Refinement::Window)) => "app window: a window of the application is used up",
        (LimitedBy::App, Some(Refinement::Nagle)) => "app nagle: less than a segment waits for an ACK",
        (LimitedBy::App, Some(Refinement::DelayedAck)) => "app delayed_ack: the other end delays an ACK",
        (LimitedBy::App, Some(Refinement::Rate)) => "app rate: it sends at its own pace",
        (LimitedBy::App, _) => "app: the sending application offers no more",
        (LimitedBy::Sndbuf, Some(Refinement::Program)) => {
            "sndbuf program: the send buffer that the program set"
        }
        (LimitedBy::Sndbuf, Some(Refinement::Maximum)) => {
            "sndbuf maximum: the send buffer is as large as it may be"
        }
        (LimitedBy::Sndbuf, _) => "sndbuf: the send buffer is full",
        (LimitedBy::Rwnd, Some(Refinement::Unscaled)) => "rwnd unscaled: windows are not scaled",
        (LimitedBy::Rwnd, Some(Refinement::Program)) => {
            "rwnd program: the receive buffer that the program set"
        }
        (LimitedBy::Rwnd, Some(Refinement::Clamped)) => "rwnd clamped: TCP_WINDOW_CLAMP of the program",
        (LimitedBy::Rwnd, Some(Refinement::RmemMax)) => "rwnd rmem_max: less than the program asked for",
        (LimitedBy::Rwnd, Some(Refinement::Maximum)) => {
            "rwnd maximum: the receive buffer is as large as it may be"
        }
        (LimitedBy::Rwnd, Some(Refinement::Autotuning)) => "rwnd autotuning: the receive buffer still grows",
        (LimitedBy::Rwnd, _) => "rwnd: the receiver's window is used up",
        (LimitedBy::Cwnd, Some(Refinement::Startup)) => "cwnd: slow start, not there yet",
        (LimitedBy::Cwnd, Some(Refinement::HystartExit)) => "cwnd: slow start ended early, it grows slowly",
        (LimitedBy::Cwnd, Some(Refinement::RandomLoss)) => "cwnd: cut by losses that no queue made",
        (LimitedBy::Cwnd, Some(Refinement::QueueLoss)) => "cwnd: cut by drops of a full queue",
        (LimitedBy::Cwnd, Some(Refinement::Growth)) => "cwnd: still growing after a loss long ago",
        (LimitedBy::Cwnd, Some(Refinement::Policer)) => {
            "cwnd: cut by losses at a constant rate, without a queue"
        }
        (LimitedBy::Cwnd, Some(Refinement::Reordering)) => "cwnd: cut because segments arrived out of order",
        (LimitedBy::Cwnd, Some(Refinement::AckPath)) => "cwnd: held back by ACKs that are lost or late",
        (LimitedBy::Cwnd, Some(Refinement::IdleRestart)) => {
            "cwnd idle_restart: slow start again after an idle time"
        }
        (LimitedBy::Cwnd, Some(Refinement::Timeout)) => "cwnd timeout: it waits for the retransmission timer",
        (LimitedBy::Cwnd, Some(Refinement::Ecn)) => "cwnd ecn: cut by CE marks",
        (LimitedBy::Cwnd, _) => "cwnd: the congestion window is used up",
        (LimitedBy::Pacing, Some(Refinement::Program)) => "pacing program: the rate that the program set",
        (LimitedBy::Pacing, Some(Refinement::Bbr)) => "pacing bbr: BBR's estimate of the rate",
        (LimitedBy::Pacing, _) => "pacing: sent no faster than paced",
        (LimitedBy::Path, Some(Refinement::Silence)) => "path silence: nothing comes back",
        (LimitedBy::Path, Some(Refinement::Mtu)) => "path mtu: full-size segments never arrive",
        (LimitedBy::Path, Some(Refinement::Shared)) => "path shared: other flows share the full bottleneck",
        (LimitedBy::Path, Some(Refinement::Bursts)) => "path bursts: bursts of datagrams overflow its queue",
        (LimitedBy::Path, _) => "path: the bottleneck is busy, the pipe is full",
        (LimitedBy::Receiver, _) => "receiver: the receiving application does not read",
        (LimitedBy::Cpu, Some(Refinement::Quota)) => "cpu quota: the CPU quota of a cgroup ran out",
        (LimitedBy::Cpu, Some(Refinement::Waiting)) => "cpu waiting: an endpoint waits for a CPU",
        (LimitedBy::Cpu, _) => "cpu: an endpoint is CPU-bound",
        (LimitedBy::Unknown, _) => "unknown: the recorded data do not show the limit",
        (LimitedBy::Testbed, _) => "testbed: the instrument itself is the limit",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_letter_is_that_of_one_holder() {
        let mut holders: BTreeMap<char, LimitedBy> = BTreeMap::new();
        for &limited_by in LimitedBy::ALL {
            let refinements = Refinement::ALL.iter().copied().map(Some).chain([None]);
            for cause in refinements.map(|refinement| (limited_by, refinement)) {
                let before = holders.insert(letter(cause), limited_by);
                assert!(before.is_none_or(|before| before == limited_by), "{cause:?}");
                assert!(meaning(cause).starts_with(limited_by.as_str()), "{cause:?}");
            }
        }
    }
}
