//! When the testbed holds an interval: what limits is the instrument's, not the path's or TCP's.

use super::super::conditions::is_path_full;
use super::super::rule::{Part, Parts, Rule, RuleId};
use super::path::most_dropped;
use pipefill_core::limit::LimitedBy;

pub(super) const DATAGRAMS_DROPPED: Rule = Rule {
    id: RuleId::new("testbed.datagrams_dropped"),
    question: "Do counted drops explain the losses, most of them the instrument's?",
    needs: Parts::of(&[Part::Datagrams, Part::Plan]),
    holds: |evidence, t, trace| most_dropped(evidence, t, trace) == Some(LimitedBy::Testbed),
};

pub(super) const HOST_RATE: Rule = Rule {
    id: RuleId::new("testbed.host_rate"),
    question: "Does a simulated host send as fast as it can over a path without a rate?",
    needs: Parts::of(&[Part::Sender]),
    holds: |evidence, t, trace| evidence.path.is_the_hosts && is_path_full(evidence, t, trace),
};

pub(super) const DATA_PATH_BUSY: Rule = Rule {
    id: RuleId::new("testbed.data_path_busy"),
    question: "Has a thread that carries packets no CPU time left?",
    needs: Parts::of(&[Part::Sender]),
    holds: |evidence, t, trace| {
        evidence.path_thread.is_some_and(|used| trace.at_least(t.cpu_busy, used.total()))
    },
};
