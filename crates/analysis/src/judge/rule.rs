//! What a rule is: one question to the evidence, and the holder of the interval where its answer is yes.

use super::trace::Trace;
use crate::ground::thresholds::Thresholds;
use pipefill_core::evidence::Evidence;
use pipefill_core::limit::{Cause, LimitedBy};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;

/// The name of a rule, e.g. `rwnd.used_up`: its holder, and what it asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize)]
#[serde(transparent)]
pub struct RuleId(#[schemars(with = "String")] &'static str);

/// A part of the evidence that a rule needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// A scenario that describes the flow and its path.
    Plan,
    /// The absence of such a scenario: the rule stands in for what the scenario says.
    NoPlan,
    /// The rate that the application was to offer.
    Offer,
    /// The sender's socket, or its packets.
    Sender,
    /// The receiver's socket beside the sender's.
    Receiver,
    /// The receiver's socket alone.
    Arrivals,
    /// What both ends counted of datagrams.
    Datagrams,
    /// A UDP socket by itself.
    UdpSocket,
    /// A wait that packets show.
    Waiting,
}

/// Some parts of the evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts(u16);

/// A rule.
pub struct Rule {
    /// Its name, which begins with who holds the interval where it holds.
    pub id: RuleId,
    /// What it asks.
    pub question: &'static str,
    /// Without these parts of the evidence it does not apply.
    pub needs: Parts,
    /// Whether it holds.
    pub(super) holds: fn(&Evidence, &Thresholds, &mut Trace) -> bool,
}

/// A revision as the guide lists it.
pub struct Revision {
    /// Its name.
    pub id: RuleId,
    /// What it asks.
    pub question: &'static str,
    /// What it changes.
    pub change: &'static str,
}

impl RuleId {
    pub(super) const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// The name.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// A rule of another version.
pub(super) const OTHER: RuleId = RuleId::new("other");

impl Part {
    /// In the order of the guide.
    const ALL: [Self; 9] = [
        Self::Datagrams,
        Self::UdpSocket,
        Self::Waiting,
        Self::Offer,
        Self::Sender,
        Self::Receiver,
        Self::Arrivals,
        Self::Plan,
        Self::NoPlan,
    ];

    const fn is_in(self, evidence: &Evidence) -> bool {
        match self {
            Self::Plan => evidence.plan.is_some(),
            Self::NoPlan => evidence.plan.is_none(),
            Self::Offer => evidence.offer.is_some(),
            Self::Sender => evidence.sender.is_some(),
            Self::Receiver => evidence.receiver.is_some(),
            Self::Arrivals => evidence.arrivals.is_some(),
            Self::Datagrams => evidence.datagrams.is_some(),
            Self::UdpSocket => evidence.udp_socket.is_some(),
            Self::Waiting => evidence.waiting.is_some(),
        }
    }

    const fn bit(self) -> u16 {
        assert!((self as usize) < Self::ALL.len(), "a part is missing in ALL");
        1 << self as u16
    }

    /// In the words of the guide.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "scenario",
            Self::NoPlan => "no scenario",
            Self::Offer => "offered rate",
            Self::Sender => "sender",
            Self::Receiver => "receiver's socket",
            Self::Arrivals => "receiver alone",
            Self::Datagrams => "datagrams",
            Self::UdpSocket => "UDP socket",
            Self::Waiting => "wait",
        }
    }
}

impl Parts {
    /// How many sets of parts there are.
    pub(super) const COUNT: usize = 1 << Part::ALL.len();

    pub(super) const fn of(parts: &[Part]) -> Self {
        let (mut bits, mut index) = (0, 0);
        while index < parts.len() {
            bits |= parts[index].bit();
            index += 1;
        }
        Self(bits)
    }

    /// Those that `evidence` has.
    pub fn in_evidence(evidence: &Evidence) -> Self {
        let present = Part::ALL.iter().filter(|part| part.is_in(evidence));
        Self(present.fold(0, |bits, part| bits | part.bit()))
    }

    /// Its number, below [`Parts::COUNT`].
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }

    /// Whether these are among `others`.
    pub const fn are_in(self, others: Self) -> bool {
        self.0 & !others.0 == 0
    }

    /// Each of them.
    pub fn iter(self) -> impl Iterator<Item = Part> {
        Part::ALL.into_iter().filter(move |part| self.0 & part.bit() != 0)
    }
}

impl Rule {
    /// Who holds the interval where it holds.
    pub fn limited_by(&self) -> LimitedBy {
        let holder = self.id.0.split('.').next();
        holder.and_then(LimitedBy::from_word).unwrap_or(LimitedBy::Unknown)
    }

    /// What refines that: a rule that is named after a cause names it.
    pub fn cause(&self) -> Option<Cause> {
        self.id.0.split('.').nth(1).and_then(Cause::from_word)
    }
}
