//! When the advertised window holds an interval.

use super::super::conditions::{cwnd_used, is_below_fair_share, is_path_full, is_waiting, used_window};
use super::super::rule::{Part, Parts, Rule, RuleId};
use pipefill_core::limit::LimitedBy;

pub(super) const BELOW_FAIR_SHARE: Rule = Rule {
    id: RuleId::new("rwnd.below_fair_share"),
    question: "Is the receive window used up, and would it not let through the fair share of an empty path, although the path is full?",
    needs: Parts::of(&[Part::Sender]),
    holds: |evidence, t, trace| {
        let Some(sender) = &evidence.sender else { return false };
        is_path_full(evidence, t, trace)
            && used_window(evidence, t, trace) == Some(LimitedBy::Rwnd)
            && sender.rwnd.is_some_and(|window| is_below_fair_share(evidence, window))
    },
};

pub(super) const USED_UP: Rule = Rule {
    id: RuleId::new("rwnd.used_up"),
    question: "Does data wait while the receive window is used up, and is it smaller than a congestion window that is used up?",
    needs: Parts::of(&[Part::Sender]),
    holds: |evidence, t, trace| {
        is_waiting(evidence, t, trace) && used_window(evidence, t, trace) == Some(LimitedBy::Rwnd)
    },
};

pub(super) const NEARLY_USED_UP: Rule = Rule {
    id: RuleId::new("rwnd.nearly_used_up"),
    question: "Does data wait, unexplained, while most of the receive window is out, and no smaller part than of the congestion window?",
    needs: Parts::of(&[Part::Sender]),
    holds: |evidence, t, trace| {
        let Some(sender) = &evidence.sender else { return false };
        let cwnd = cwnd_used(evidence, t, trace).unwrap_or(0.0);
        is_waiting(evidence, t, trace)
            && sender.rwnd_used.is_some_and(|used| used >= cwnd && trace.at_least(t.window_nearly_used, used))
    },
};

/// Its clock runs where what was written has no room in the window (`tcp_write_xmit()`), and counts nothing else.
pub(super) const COUNTED: Rule = Rule {
    id: RuleId::new("rwnd.counted"),
    question: "Does data wait, while the kernel counts that the receive window kept it back for most of the time with data outstanding?",
    needs: Parts::of(&[Part::Sender, Part::NoPlan]),
    holds: |evidence, t, trace| {
        let share = evidence.sender.as_ref().and_then(|sender| sender.rwnd_limited_share);
        is_waiting(evidence, t, trace) && share.is_some_and(|share| trace.at_least(t.counter_names, share))
    },
};

pub(super) const ARRIVES_WHOLE: Rule = Rule {
    id: RuleId::new("rwnd.arrives_whole"),
    question: "Does nearly the whole advertised window arrive in a round trip?",
    needs: Parts::of(&[Part::Arrivals]),
    holds: |evidence, t, trace| {
        let used = evidence.arrivals.and_then(|arrivals| arrivals.window_used);
        used.is_some_and(|used| trace.at_least(t.receiver_window_used, used))
    },
};
