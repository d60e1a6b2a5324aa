//! A scenario of two cells and a record of its first run: for tests only.

use crate::{Partial, Records, Request};
use pipefill_core::plan::Plan;
use pipefill_core::record::{RunRecord, Sink};
use pipefill_core::scenario::Scenario;
use pipefill_testkit::builder::{self, Steady, TINY};

/// What is asked for, as its owner.
pub(crate) struct Asked {
    set: Vec<String>,
    plan: Plan,
}

impl Asked {
    /// The scenario under `set`.
    pub(crate) fn tiny(set: &[&str]) -> Self {
        let mut scenario = Scenario::parse(TINY, "tiny.toml").unwrap_or_else(|error| panic!("{error}"));
        set.iter().for_each(|set| scenario.set(set).unwrap_or_else(|error| panic!("{error}")));
        Self { set: set.iter().map(|&set| set.to_owned()).collect(), plan: scenario.plan().clone() }
    }

    /// On `backend`.
    pub(crate) fn on<'a>(&'a self, backend: &'a str) -> Request<'a> {
        let Self { set, plan } = self;
        Request {
            backend,
            study: None,
            scenario: TINY,
            set,
            only: &[],
            quick: false,
            plan,
            part_of: None,
            records: Records::Rows,
        }
    }
}

/// A steady TCP run of the scenario.
pub(crate) fn record() -> RunRecord {
    builder::record(Asked::tiny(&[]).plan.runs().remove(0), &[Steady::default()])
}

/// Hands every row of `record` to `sink`.
pub(crate) fn replay(record: &RunRecord, sink: &mut dyn Sink) {
    record.rows().into_iter().for_each(|row| sink.push(row).unwrap());
}

/// Writes `record` as a backend and its runner do.
pub(crate) fn write(mut partial: Partial, record: &RunRecord) {
    replay(record, &mut partial);
    partial.complete(&record.manifest).unwrap();
}
