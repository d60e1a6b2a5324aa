//! When the evidence does not show who holds an interval.

use super::super::conditions::{datagrams_arrive, is_waiting};
use super::super::rule::{Part, Parts, Rule, RuleId};

/// Of time for which there is no evidence at all: no rule is asked.
pub(in crate::judge) const NOT_SAMPLED: RuleId = RuleId::new("unknown.not_sampled");

/// Its windows and its acknowledgements are encrypted (RFC 9001).
pub(super) const QUIC: Rule = Rule {
    id: RuleId::new("unknown.quic"),
    question: "Is it QUIC below the path's rate, and do nearly all datagrams arrive?",
    needs: Parts::of(&[Part::Datagrams, Part::Plan]),
    holds: |evidence, t, trace| {
        evidence.datagrams.is_some_and(|datagrams| datagrams.is_quic) && datagrams_arrive(evidence, t, trace)
    },
};

/// The kernel counts neither what it sends nor what it takes.
pub(super) const UDP_SOCKET: Rule = Rule {
    id: RuleId::new("unknown.udp_socket"),
    question: "Is it a UDP socket that has dropped nothing?",
    needs: Parts::of(&[Part::UdpSocket]),
    holds: |_, _, _| true,
};

pub(super) const DATAGRAMS: Rule = Rule {
    id: RuleId::new("unknown.datagrams"),
    question: "Do the counters explain neither the losses of datagrams nor a sender that sent less than it was asked for?",
    needs: Parts::of(&[Part::Datagrams]),
    holds: |_, _, _| true,
};

pub(super) const WAITING_UNEXPLAINED: Rule = Rule {
    id: RuleId::new("unknown.waiting_unexplained"),
    question: "Does data wait that no window, no pacing and no application explains?",
    needs: Parts::of(&[Part::Sender, Part::NoPlan]),
    holds: is_waiting,
};

pub(super) const WAITING: Rule = Rule {
    id: RuleId::new("unknown.waiting"),
    question: "Does data wait with room in both windows, in a socket that does not pace?",
    needs: Parts::of(&[Part::Sender, Part::Plan]),
    holds: is_waiting,
};

pub(super) const FEW_ROUNDS: Rule = Rule {
    id: RuleId::new("unknown.few_rounds"),
    question: "Did the receiver see too few round trips?",
    needs: Parts::of(&[Part::Arrivals]),
    holds: |evidence, t, trace| {
        evidence.arrivals.is_some_and(|arrivals| trace.below(t.receiver_rounds, arrivals.whole.rounds as f64))
    },
};

pub(super) const ARRIVALS: Rule = Rule {
    id: RuleId::new("unknown.arrivals"),
    question: "Does the receiver's socket show neither a used window nor a queue?",
    needs: Parts::of(&[Part::Arrivals]),
    holds: |_, _, _| true,
};
