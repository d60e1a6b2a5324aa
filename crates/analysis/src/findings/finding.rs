//! What is said of a flow beside its figures: what to change, and how long a round trip is under load.

use super::proposal::{Change, Proposal, Target};
pub use crate::ground::distribution::{Distribution, PERCENTS};
use pipefill_core::cell::Direction;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a change is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Goal {
    /// More goodput.
    #[default]
    Throughput,
    /// A shorter round trip under load.
    Latency,
    /// Fewer segments that are sent again.
    Losses,
}

/// One change, why, and what it should bring.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Advice {
    /// Where the first of its settings is; null where nothing is to be changed.
    #[serde(default)]
    pub target: Option<Target>,
    /// What is set there: a sysctl, a socket option, or the key of a scenario.
    #[serde(default)]
    pub setting: Option<String>,
    /// To what.
    #[serde(default)]
    pub value: Option<String>,
    /// The change in one line: its assignments, or `nothing`.
    pub change: String,
    /// Scenario assignments, as `--set` takes them; empty where nothing in the scenario helps.
    pub set: Vec<String>,
    /// The first of `commands`; null where there is none.
    #[serde(default)]
    pub command: Option<String>,
    /// The same for a real machine: lines to paste.
    pub commands: Vec<String>,
    /// Why.
    pub why: String,
    /// Goodput of the flow with it, of one that lasts as long.
    pub predicted_bps: Option<u64>,
    /// Time that what the flow carried would take with it, slow start included.
    #[serde(default)]
    pub predicted_us: Option<u64>,
    /// Payload over the active time with it, of an application that sends at its own pace: its pauses become longer, and its goodput stays. Null
    /// elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted_active_bps: Option<u64>,
    /// What it is for.
    #[serde(default)]
    pub goal: Goal,
    /// Median round trip under load with it; null where that is not what it is for.
    #[serde(default)]
    pub predicted_rtt_us: Option<u64>,
    /// What its words are composed from; none once they are.
    #[serde(skip)]
    #[schemars(skip)]
    pub proposal: Option<Proposal>,
}

impl Advice {
    /// Of a change that can be assigned in a scenario.
    pub(crate) fn of(proposal: Proposal, predicted_bps: Option<u64>) -> Self {
        let assigned = |change: &Change| Some(format!("{}={}", change.key, change.setting.value()?));
        let advice = Self {
            set: proposal.changes.iter().filter_map(assigned).collect(),
            predicted_bps,
            ..Self::default()
        };
        advice.with(proposal)
    }

    /// With `proposal`, whose first change is what it names.
    pub(crate) fn with(self, proposal: Proposal) -> Self {
        let first = proposal.changes.first();
        Self {
            target: first.map(|change| change.target),
            setting: first.map(|change| change.setting.name().to_owned()),
            value: first.and_then(|change| change.setting.value()),
            proposal: Some(proposal),
            ..self
        }
    }
}

/// The round trip of one flow, without load and under it.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Latency {
    /// Without load: the path's fixed delay, or the least round trip where that is longer and no queue explains it.
    pub idle_rtt_us: Option<u64>,
    /// Median under load, over the measured time.
    pub loaded_rtt_us_p50: Option<u64>,
    /// What 95 % of the measured time did not exceed.
    pub loaded_rtt_us_p95: Option<u64>,
    /// What 99 % of the measured time did not exceed.
    pub loaded_rtt_us_p99: Option<u64>,
    /// What the round trips were measured with.
    pub loaded_rtt_source: Option<RttSource>,
    /// The queue that makes it longer; null where none adds a standing delay.
    pub bufferbloat: Option<Bufferbloat>,
    /// The flow's own smoothed round trip, by time; null where it is not TCP.
    #[serde(default)]
    pub srtt_distribution: Option<Distribution>,
    /// Pings of the smallest size that were sent in the measured time; null without any.
    #[serde(default)]
    pub ping_distribution: Option<Distribution>,
    /// Pings of that size while no flow had data under way, the same for all flows; null without any.
    #[serde(default)]
    pub idle_ping_distribution: Option<Distribution>,
}

/// What measured a round trip under load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RttSource {
    /// Requests and replies beside the flow: single round trips.
    Ping,
    /// The flow's own smoothed round trip (`tcpi_rtt`), over time.
    Srtt,
}

/// A queue that is never empty for long.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Bufferbloat {
    /// Whose queue: that of the path in this direction.
    pub direction: Direction,
    /// What it holds, median over the measured time; null where nobody looked into it.
    pub standing_bytes: Option<u64>,
    /// The same in bandwidth-delay products of the idle round trip.
    pub standing_bdp: Option<f64>,
    /// What it adds to the median round trip.
    pub added_us: u64,
}
