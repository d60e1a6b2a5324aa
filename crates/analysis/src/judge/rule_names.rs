//! All names of rules and revisions: what they ask, and how they are read back.

use super::revisions::REVISIONS;
use super::rule::{OTHER, RuleId};
use super::rules::RULES;
use super::rules::app::IDLE;
use super::rules::unknown::NOT_SAMPLED;
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;

/// Every name of a rule or a revision.
fn rule_ids() -> impl Iterator<Item = RuleId> {
    let rules = RULES.iter().map(|rule| rule.id);
    rules.chain([NOT_SAMPLED, IDLE, RuleId::TOO_SHORT]).chain(REVISIONS.iter().map(|revision| revision.id))
}

impl RuleId {
    /// What holds a connection that carried nothing and has nothing to send.
    pub const IDLE: Self = IDLE;

    /// What was seen of it is too short to judge: nothing is said to hold it.
    pub const TOO_SHORT: Self = Self::new("too_short");

    /// What the rule or the revision of that name asks; `None` for time without evidence, and for a rule of another version.
    pub fn question(self) -> Option<&'static str> {
        let rule = RULES.iter().find(|rule| rule.id == self).map(|rule| rule.question);
        let revision = || REVISIONS.iter().find(|revision| revision.id == self);
        rule.or_else(|| revision().map(|revision| revision.question))
    }
}

impl<'de> Deserialize<'de> for RuleId {
    /// The rule of that name; `other` for one that this version does not have.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Cow::<'de, str>::deserialize(deserializer)?;
        Ok(rule_ids().find(|id| id.as_str() == name).unwrap_or(OTHER))
    }
}
