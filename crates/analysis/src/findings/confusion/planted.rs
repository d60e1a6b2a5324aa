//! What a scenario plants in a cell or a flow, and how far a verdict names it.

use crate::findings::verdict::Verdict;
use pipefill_core::cell::{CellSpec, ExpectMetric, FlowSpec, Protocol};
use pipefill_core::limit::{Cause, LimitedBy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Planted → found → number of scenarios or flows.
pub type Confusion = BTreeMap<String, BTreeMap<String, usize>>;

/// A part of the catalogue, whose figures are counted apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CatalogueSet {
    /// Transfers, a file each.
    Limits,
    /// What set a buffer, a window or a rate: the cells of `scenarios/causes.toml`.
    Causes,
    /// Conversations: the cells of `scenarios/applications.toml`.
    Applications,
    /// Transfers behind disciplines of the queue: the cells of `scenarios/aqm.toml`.
    Aqm,
}

impl CatalogueSet {
    /// Every set.
    pub const ALL: [Self; 4] = [Self::Limits, Self::Causes, Self::Applications, Self::Aqm];

    /// The word in JSON, tables and arguments.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Limits => "limits",
            Self::Causes => "causes",
            Self::Applications => "applications",
            Self::Aqm => "aqm",
        }
    }
}

/// How far a verdict names what was planted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// The limit, and its cause where one is planted.
    Right,
    /// The limit; another cause than the planted one, or none.
    HolderOnly,
    /// No limit is named.
    Unknown,
    /// Another limit.
    Wrong,
}

impl Grade {
    /// In a table.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::HolderOnly => "holder only",
            Self::Unknown => "unknown",
            Self::Wrong => "WRONG",
        }
    }
}

/// Verdicts by their grades.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Grades {
    /// All of them.
    pub judged: usize,
    /// [`Grade::Right`].
    pub right: usize,
    /// [`Grade::HolderOnly`].
    pub holder_only: usize,
    /// [`Grade::Unknown`].
    pub unknown: usize,
    /// [`Grade::Wrong`].
    pub wrong: usize,
    /// Of all, those with a planted cause.
    pub causes_judged: usize,
    /// Of those, the right ones.
    pub causes_right: usize,
}

impl Grades {
    pub(super) fn add(&mut self, planted: &Planted, grade: Grade) {
        self.judged += 1;
        *match grade {
            Grade::Right => &mut self.right,
            Grade::HolderOnly => &mut self.holder_only,
            Grade::Unknown => &mut self.unknown,
            Grade::Wrong => &mut self.wrong,
        } += 1;
        if planted.has_cause() {
            self.causes_judged += 1;
            self.causes_right += usize::from(grade == Grade::Right);
        }
    }
}

/// The limit of a cell or a flow by construction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Planted {
    /// Any of them.
    limits: Vec<LimitedBy>,
    /// Any of those that the found limit has; of a limit with none of them any cause is right.
    causes: Vec<Cause>,
}

impl Planted {
    /// What `[expect] limited_by` says, with `cause`, or else `cwnd_cause`; `None` where it says nothing.
    pub(super) fn in_cell(spec: &CellSpec) -> Option<Self> {
        let word = |metric| spec.expected_word(metric);
        let cause = word(ExpectMetric::Cause).or_else(|| word(ExpectMetric::CwndCause));
        Self::parse(word(ExpectMetric::LimitedBy)?, cause.unwrap_or_default())
    }

    /// Each flow's expected limit: of `[expect] flows`, or of the cell where it has one flow.
    pub(super) fn in_flows(spec: &CellSpec) -> Vec<(u32, Self)> {
        let carries = |(_, flow): &(u32, &FlowSpec)| flow.protocol != Protocol::Ping;
        let indexes: Vec<u32> = (0..).zip(&spec.flows).filter(carries).map(|(index, _)| index).collect();
        let each = match spec.expected_word(ExpectMetric::Flows) {
            Some(text) => text.split(',').map(Self::of_flow).collect(),
            None if indexes.len() == 1 => vec![Self::in_cell(spec)],
            None => Vec::new(),
        };
        indexes.into_iter().zip(each).filter_map(|(index, planted)| Some((index, planted?))).collect()
    }

    /// `cwnd random_loss|path`.
    fn of_flow(text: &str) -> Option<Self> {
        let (limits, causes): (Vec<&str>, Vec<&str>) =
            text.split('|').map(|limit| limit.trim().split_once(' ').unwrap_or((limit.trim(), ""))).unzip();
        Self::parse(&limits.join("|"), &causes.join("|"))
    }

    fn parse(limits: &str, causes: &str) -> Option<Self> {
        let limits: Option<Vec<LimitedBy>> =
            limits.split('|').map(|limit| LimitedBy::from_word(limit.trim())).collect();
        let causes = causes.split('|').filter_map(|cause| Cause::from_word(cause.trim())).collect();
        Some(Self { limits: limits?, causes })
    }

    pub(super) fn has_cause(&self) -> bool {
        !self.causes.is_empty()
    }

    pub(super) fn is_testbed(&self) -> bool {
        self.limits == [LimitedBy::Testbed]
    }

    /// How far `verdict` names it.
    pub(super) fn grade(&self, verdict: &Verdict) -> Grade {
        let Some(found) = verdict.limited_by.filter(|found| *found != LimitedBy::Unknown) else {
            return Grade::Unknown;
        };
        if !self.limits.contains(&found) {
            return Grade::Wrong;
        }
        let mut causes = self.causes_of(found).peekable();
        let is_found = |cause: Cause| verdict.cause == Some(cause) || is_of_cwnd(verdict, cause);
        if causes.peek().is_none() || causes.any(is_found) { Grade::Right } else { Grade::HolderOnly }
    }

    /// `cwnd startup`, `app/rwnd window/program`.
    pub(super) fn name(&self) -> String {
        let words: Vec<&str> = self.causes.iter().map(|cause| cause.as_str()).collect();
        named(&self.limit_name(), Some(words.join("/")).filter(|words| !words.is_empty()))
    }

    pub(super) fn limit_name(&self) -> String {
        self.limits.iter().map(|limit| limit.as_str()).collect::<Vec<_>>().join("/")
    }

    pub(super) fn cause_name(&self) -> String {
        self.causes.iter().map(|cause| cause.as_str()).collect::<Vec<_>>().join("/")
    }

    /// The limit that `verdict` names, with its cause where the planted limit has one.
    pub(super) fn found(&self, verdict: &Verdict) -> String {
        let Some(limit) = verdict.limited_by else { return NOTHING.to_owned() };
        let cause = self.found_cause(verdict).map(|cause| cause.as_str().to_owned());
        named(limit.as_str(), cause.filter(|_| self.has_cause()))
    }

    /// The cause of `verdict`, in the word that was planted where it has two.
    pub(super) fn found_cause(&self, verdict: &Verdict) -> Option<Cause> {
        self.causes.iter().copied().find(|&cause| is_of_cwnd(verdict, cause)).or(verdict.cause)
    }

    fn causes_of(&self, limit: LimitedBy) -> impl Iterator<Item = Cause> {
        self.causes.iter().copied().filter(move |cause| limit.causes().contains(cause))
    }
}

/// Of a run that is valid and too short to judge.
pub(super) const NOTHING: &str = "none";

/// Whether `cwnd_cause` has the word, which has fewer of them.
fn is_of_cwnd(verdict: &Verdict, cause: Cause) -> bool {
    verdict.cwnd_cause.is_some_and(|found| Cause::from(found) == cause)
}

fn named(limit: &str, cause: Option<String>) -> String {
    cause.map_or_else(|| limit.to_owned(), |cause| format!("{limit} {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::limit::CwndCause;

    fn verdict(limited_by: LimitedBy, cause: Option<Cause>) -> Verdict {
        Verdict { limited_by: Some(limited_by), cause, ..Verdict::default() }
    }

    #[test]
    fn a_null_or_another_cause_is_not_right() {
        let planted = Planted::parse("app", "turns").unwrap();
        let of = |limited_by, cause| planted.grade(&verdict(limited_by, cause));
        assert_eq!(of(LimitedBy::App, Some(Cause::Turns)), Grade::Right);
        assert_eq!(of(LimitedBy::App, Some(Cause::Request)), Grade::HolderOnly);
        assert_eq!(of(LimitedBy::App, None), Grade::HolderOnly);
        assert_eq!(of(LimitedBy::Cwnd, None), Grade::Wrong);
        assert_eq!(of(LimitedBy::Unknown, None), Grade::Unknown);
        assert_eq!(planted.grade(&Verdict::default()), Grade::Unknown);
        assert_eq!(planted.found(&Verdict::default()), "none");
        assert_eq!(planted.found(&verdict(LimitedBy::App, None)), "app");
    }

    #[test]
    fn of_several_limits_each_has_its_own_causes() {
        for planted in [
            Planted::parse("app|rwnd", "window|program").unwrap(),
            Planted::of_flow(" app window|rwnd program").unwrap(),
        ] {
            let of = |limited_by, cause| planted.grade(&verdict(limited_by, Some(cause)));
            assert_eq!(of(LimitedBy::App, Cause::Window), Grade::Right);
            assert_eq!(of(LimitedBy::Rwnd, Cause::Program), Grade::Right);
            assert_eq!(of(LimitedBy::Rwnd, Cause::Maximum), Grade::HolderOnly);
            assert_eq!(planted.name(), "app/rwnd window/program");
        }
        let any = Planted::of_flow("cwnd random_loss|path").unwrap();
        assert_eq!(any.grade(&verdict(LimitedBy::Path, Some(Cause::Full))), Grade::Right);
        assert_eq!(any.grade(&verdict(LimitedBy::Cwnd, Some(Cause::Startup))), Grade::HolderOnly);
    }

    #[test]
    fn words_of_cwnd_cause_stand_for_finer_ones() {
        let restart = Verdict {
            cwnd_cause: Some(CwndCause::HystartExit),
            ..verdict(LimitedBy::Cwnd, Some(Cause::IdleRestart))
        };
        for cause in ["hystart_exit", "idle_restart"] {
            let planted = Planted::parse("cwnd", cause).unwrap();
            assert_eq!(planted.grade(&restart), Grade::Right);
            assert_eq!(planted.found(&restart), format!("cwnd {cause}"));
        }
        assert_eq!(Planted::parse("cwnd", "startup").unwrap().grade(&restart), Grade::HolderOnly);
    }

    #[test]
    fn grades_add_up_and_causes_are_counted_where_one_is_planted() {
        let mut grades = Grades::default();
        let (with, without) = (Planted::parse("app", "turns").unwrap(), Planted::parse("app", "").unwrap());
        for (planted, grade) in [
            (&with, Grade::Right),
            (&with, Grade::HolderOnly),
            (&with, Grade::Unknown),
            (&without, Grade::Right),
            (&without, Grade::Wrong),
        ] {
            grades.add(planted, grade);
        }
        assert_eq!(grades.judged, grades.right + grades.holder_only + grades.unknown + grades.wrong);
        assert_eq!((grades.judged, grades.right, grades.causes_judged, grades.causes_right), (5, 2, 3, 1));
    }
}
