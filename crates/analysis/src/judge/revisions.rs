//! Revisions: what only the finished ledger of a flow shows. They change holders after the rules, each by its name.

use super::both_captures::BOTH_CAPTURES;
use super::ledger::Holding;
use super::rule::{Revision, RuleId};
use super::trace::Trace;
use crate::ground::thresholds::Thresholds;
use crate::infer::drops::Drops;
use pipefill_core::cell::FlowSpec;
use pipefill_core::limit::{Cause, CwndCause, LimitedBy};

/// Every revision, in the order in which they are made.
pub static REVISIONS: &[&Revision] =
    &[&RECURRING_LOSSES, &OWN_DROPS, &WRITES_ALL, &OFFERED_AND_CARRIED, &BOTH_CAPTURES];

pub(super) static RECURRING_LOSSES: Revision = Revision {
    id: RuleId::new("revision.recurring_losses"),
    question: "Did the congestion window grow between two losses of one cause?",
    change: "the growth has the cause of the losses",
};

pub(super) static OWN_DROPS: Revision = Revision {
    id: RuleId::new("revision.own_drops"),
    question: "Did the instrument drop more packets than the path that was asked for?",
    change: "what the congestion window holds for losses or growth, and pacing that nobody asked for, is the testbed's",
};

pub(super) static WRITES_ALL: Revision = Revision {
    id: RuleId::new("revision.writes_all"),
    question: "Without a scenario: does the application write as fast as it can, as a test does?",
    change: "it never has nothing to send; what the application holds is the time in which a CPU did not let it write",
};

pub(super) static OFFERED_AND_CARRIED: Revision = Revision {
    id: RuleId::new("revision.offered_and_carried"),
    question: "Without a scenario: did all arrive that the application was to offer?",
    change: "the application holds all of the time, whatever single samples look like",
};

/// [`OWN_DROPS`]: what follows from `drops` of the instrument: a loss-based window after them, however long ago, and a rate that BBR
/// measured through them.
pub(super) fn own_drops(drops: Drops, flow: &FlowSpec) -> impl Fn(Holding) -> Option<Holding> {
    let are_the_testbeds = drops.are_the_testbeds();
    let is_paced = flow.max_pacing_rate.is_some();
    move |holding| {
        let follows = match holding.limited_by {
            LimitedBy::Cwnd => {
                let cause = holding.cause.and_then(Cause::of_cwnd);
                cause.is_some_and(|cause| cause.is_loss() || cause == CwndCause::Growth)
            }
            LimitedBy::Pacing => !is_paced,
            _ => false,
        };
        let testbed = Holding { limited_by: LimitedBy::Testbed, cause: None, rule: OWN_DROPS.id };
        (are_the_testbeds && follows).then_some(testbed)
    }
}

/// [`WRITES_ALL`].
pub(super) fn writes_all(holding: Holding) -> Option<Holding> {
    let cpu = Holding { limited_by: LimitedBy::Cpu, cause: None, rule: WRITES_ALL.id };
    (holding.limited_by == LimitedBy::App).then_some(cpu)
}

/// [`OFFERED_AND_CARRIED`]: whether `carried_bps` is all of `offered_bps`.
pub(super) fn is_carried(offered_bps: u64, carried_bps: u64, t: &Thresholds) -> bool {
    Trace::default().at_least(t.offered_carried, carried_bps as f64 / (offered_bps as f64).max(1.0))
}

/// See [`is_carried`].
pub(super) fn offered_and_carried(_: Holding) -> Option<Holding> {
    Some(Holding { limited_by: LimitedBy::App, cause: None, rule: OFFERED_AND_CARRIED.id })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::synthetic::manifest;

    #[test]
    fn what_follows_from_the_testbeds_drops_is_its_own_and_what_was_asked_for_is_not() {
        let drops = Drops { random: Some(1), queue: Some(1), delay_limit: Some(5), ..Drops::default() };
        let spec = manifest("[[flow]]\n[[flow]]\nmax_pacing_rate = \"1mbit\"\n").run.cell.spec;
        let [free, paced] = &spec.flows[..] else { panic!("two flows") };
        let is_revised = |drops, flow, limited_by, cause: Option<CwndCause>| {
            let holding =
                Holding { limited_by, cause: cause.map(Cause::from), rule: RuleId::new("test.rule") };
            own_drops(drops, flow)(holding).is_some()
        };
        assert!(is_revised(drops, free, LimitedBy::Cwnd, Some(CwndCause::QueueLoss)));
        assert!(is_revised(drops, free, LimitedBy::Cwnd, Some(CwndCause::Growth)));
        assert!(is_revised(drops, free, LimitedBy::Pacing, None));
        assert!(!is_revised(drops, paced, LimitedBy::Pacing, None));
        assert!(!is_revised(drops, free, LimitedBy::Rwnd, None));
        assert!(!is_revised(drops, free, LimitedBy::Cwnd, Some(CwndCause::Startup)));
        let fewer = Drops { queue: Some(9), ..drops };
        assert!(!is_revised(fewer, free, LimitedBy::Cwnd, Some(CwndCause::QueueLoss)));
    }
}
