//! When a CPU holds an interval: a thread of an end computes all the time, waits for a CPU, or its cgroup may not run.

use super::super::conditions::{is_cpu_bound, is_unread, is_waiting, runs_out};
use super::super::rule::{Part, Parts, Rule, RuleId};
use pipefill_core::record::{StreamEnd, Waiting};

/// What a quota lets a process write in a period is all there is in it, however fast the path would take it: the burst that fills the path
/// and the silence after it are the same limit.
pub(super) const SENDERS_QUOTA: Rule = Rule {
    id: RuleId::new("cpu.quota.sender"),
    question: "Does the CPU quota of the sending process's cgroup run out in at least half of its periods, and has the sender nothing left to send at times?",
    needs: Parts::of(&[Part::Sender, Part::NoPlan]),
    holds: |evidence, t, trace| {
        evidence
            .sender_quota
            .is_some_and(|quota| runs_out(quota, t, trace) && trace.at_least(t.quota_shown, quota.shown))
    },
};

pub(super) const RECEIVERS_QUOTA: Rule = Rule {
    id: RuleId::new("cpu.quota.receiver"),
    question: "Does the CPU quota of the receiving process's cgroup run out in at least half of its periods, and does the advertised window shrink at times?",
    needs: Parts::of(&[Part::Sender, Part::NoPlan]),
    holds: |evidence, t, trace| {
        evidence
            .receiver_quota
            .is_some_and(|quota| runs_out(quota, t, trace) && trace.at_least(t.quota_shown, quota.shown))
    },
};

pub(super) const READERS_QUOTA: Rule = Rule {
    id: RuleId::new("cpu.quota.reader_alone"),
    question: "Is at least half of the receive buffer unread, by a process whose cgroup's CPU quota runs out in at least half of its periods?",
    needs: Parts::of(&[Part::Arrivals]),
    holds: |evidence, t, trace| {
        evidence.receiver_quota.is_some_and(|quota| runs_out(quota, t, trace))
            && evidence.arrivals.is_some_and(|arrivals| trace.at_least(t.unread, arrivals.unread_share))
    },
};

pub(super) const ANSWERS_QUOTA: Rule = Rule {
    id: RuleId::new("cpu.quota.answering"),
    question: "Is it this side's turn, and does the CPU quota of its process's cgroup run out in at least half of its periods?",
    needs: Parts::of(&[Part::Waiting]),
    holds: |evidence, t, trace| {
        evidence.sender_quota.is_some_and(|quota| {
            let has_word = match evidence.waiting {
                Some(Waiting::Response) => true,
                // A connection that is not used waits for nothing.
                Some(Waiting::Rate) => quota.has_carried,
                _ => false,
            };
            has_word && runs_out(quota, t, trace)
        })
    },
};

pub(super) const ASKERS_QUOTA: Rule = Rule {
    id: RuleId::new("cpu.quota.asking"),
    question: "Is it the other side's turn, and does the CPU quota of its process's cgroup run out in at least half of its periods?",
    needs: Parts::of(&[Part::Waiting]),
    holds: |evidence, t, trace| {
        evidence.waiting == Some(Waiting::Request)
            && evidence.receiver_quota.is_some_and(|quota| runs_out(quota, t, trace))
    },
};

/// A program whose thread others keep from running says nothing, as one that thinks.
pub(super) const ANSWERS_WAITING: Rule = Rule {
    id: RuleId::new("cpu.waiting.answering"),
    question: "Is it this side's turn, and does a thread of its process wait for a CPU for at least half of the time?",
    needs: Parts::of(&[Part::Waiting]),
    holds: |evidence, t, trace| {
        matches!(evidence.waiting, Some(Waiting::Response | Waiting::Rate))
            && evidence.sender_thread.is_some_and(|used| trace.at_least(t.cpu_awaited, used.waited))
    },
};

pub(super) const ASKERS_WAITING: Rule = Rule {
    id: RuleId::new("cpu.waiting.asking"),
    question: "Is it the other side's turn, and does a thread of its process wait for a CPU for at least half of the time?",
    needs: Parts::of(&[Part::Waiting]),
    holds: |evidence, t, trace| {
        evidence.waiting == Some(Waiting::Request)
            && evidence.receiver_thread.is_some_and(|used| trace.at_least(t.cpu_awaited, used.waited))
    },
};

pub(super) const READER_BUSY: Rule = Rule {
    id: RuleId::new("cpu.reader_busy"),
    question: "Does data wait unread while a thread of an end has no CPU time left?",
    needs: Parts::of(&[Part::Sender]),
    holds: |evidence, t, trace| {
        is_unread(evidence, t, trace) && is_cpu_bound(evidence, StreamEnd::Receiver, t, trace)
    },
};

pub(super) const READER_BUSY_ALONE: Rule = Rule {
    id: RuleId::new("cpu.reader_busy_alone"),
    question: "Is at least half of the receive buffer unread, by a thread that has no CPU time left?",
    needs: Parts::of(&[Part::Arrivals]),
    holds: |evidence, t, trace| {
        is_cpu_bound(evidence, StreamEnd::Receiver, t, trace)
            && evidence.arrivals.is_some_and(|arrivals| trace.at_least(t.unread, arrivals.unread_share))
    },
};

/// Without a scenario a busy thread may do other work: it holds the flow only where it lets it run dry.
pub(super) const BUSY: Rule = Rule {
    id: RuleId::new("cpu.no_time_left"),
    question: "Does a thread of an end compute, or wait for a CPU, nearly all the time (without a scenario: with everything sent that was written)?",
    needs: Parts::of(&[Part::Sender]),
    holds: |evidence, t, trace| {
        is_cpu_bound(evidence, StreamEnd::Sender, t, trace)
            && (evidence.plan.is_some() || !is_waiting(evidence, t, trace))
    },
};

pub(super) const LATE: Rule = Rule {
    id: RuleId::new("cpu.late"),
    question: "Is everything sent that was written, by a thread that waited for a CPU?",
    needs: Parts::of(&[Part::Sender, Part::Plan]),
    holds: |evidence, t, trace| {
        evidence.endpoint_thread().is_some_and(|used| trace.at_least(t.cpu_waited, used.waited))
    },
};

pub(super) const PARTLY_BUSY: Rule = Rule {
    id: RuleId::new("cpu.partly_busy"),
    question: "Is everything sent that was written, by a thread that is busy half of the time and should write as fast as it can?",
    needs: Parts::of(&[Part::Sender, Part::Plan]),
    holds: |evidence, t, trace| {
        evidence.endpoint_thread().is_some_and(|used| trace.at_least(t.cpu_partly_busy, used.total()))
    },
};
