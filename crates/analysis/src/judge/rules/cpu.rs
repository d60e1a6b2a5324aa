//! When a CPU holds an interval: a thread of an end computes all the time, or waits for a CPU.

use super::super::conditions::{is_cpu_bound, is_unread};
use super::super::rule::{Part, Rule, RuleId};

pub(super) const READER_BUSY: Rule = Rule {
    id: RuleId::new("cpu.reader_busy"),
    question: "Does data wait unread while a thread of an end has no CPU time left?",
    needs: &[Part::Sender],
    holds: |evidence, t, trace| is_unread(evidence, t, trace) && is_cpu_bound(evidence, t, trace),
};

pub(super) const BUSY: Rule = Rule {
    id: RuleId::new("cpu.busy"),
    question: "Does a thread of an end compute, or wait for a CPU, nearly all the time?",
    needs: &[Part::Sender],
    holds: is_cpu_bound,
};

pub(super) const LATE: Rule = Rule {
    id: RuleId::new("cpu.late"),
    question: "Is everything sent that was written, by a thread that waited for a CPU?",
    needs: &[Part::Sender],
    holds: |evidence, t, trace| {
        evidence.endpoint_thread.is_some_and(|used| trace.at_least(t.cpu_waited, used.waited))
    },
};

pub(super) const PARTLY_BUSY: Rule = Rule {
    id: RuleId::new("cpu.partly_busy"),
    question: "Is everything sent that was written, by a thread that is busy half of the time and should write as fast as it can?",
    needs: &[Part::Sender],
    holds: |evidence, t, trace| {
        evidence.endpoint_thread.is_some_and(|used| trace.at_least(t.cpu_partly_busy, used.total()))
    },
};
