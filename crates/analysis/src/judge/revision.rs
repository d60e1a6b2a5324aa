//! What a revision is: a rule over the finished ledger of a flow.

use super::rule::RuleId;

/// A revision as the guide lists it.
pub struct Revision {
    /// Its name.
    pub id: RuleId,
    /// What it asks.
    pub question: &'static str,
    /// What it changes.
    pub change: &'static str,
}
