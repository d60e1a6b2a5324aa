//! Times of a flow that its ledger does not have, and its events: the same members in every document.

use crate::judge::Diagnosis;
use pipefill_core::flow_event::FlowEvent;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// See the module; of several runs those of the run that the sentence is about.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct FlowTimes {
    /// From its first payload to its last, microseconds; of a socket the time in which it was sampled. Null where nothing was judged.
    pub data_us: Option<u64>,
    /// From the SYN to the first payload, microseconds; null where that was not measured: packets alone show it.
    pub setup_us: Option<u64>,
    /// Payload over the active time, bits per second: without the time in which the other side had asked for nothing, and without pauses of an
    /// application that goes on unasked. Null where its rate or its time is not known, or none of it is active.
    pub active_bps: Option<u64>,
    /// What happened, in order of time: timers that ran out and windows of 0, from the first to the last.
    pub events: Vec<FlowEvent>,
}

impl FlowTimes {
    /// Of a flow that carried `goodput_bps`.
    pub(crate) fn of(diagnosis: &Diagnosis, goodput_bps: Option<u64>) -> Self {
        let from_us = diagnosis.timeline.iter().map(|span| span.from_us).min();
        let to_us = diagnosis.timeline.iter().map(|span| span.to_us).max();
        let all_us: u64 = diagnosis.time.iter().map(|held| held.us).sum();
        let active_us = diagnosis.active_us.unwrap_or(0);
        let over_active = |bps: u64| u128::from(bps) * u128::from(all_us) / u128::from(active_us.max(1));
        Self {
            data_us: to_us.zip(from_us).map(|(to, from)| to - from),
            setup_us: None,
            active_bps: goodput_bps
                .filter(|_| active_us > 0)
                .and_then(|bps| u64::try_from(over_active(bps)).ok()),
            events: diagnosis.events.clone(),
        }
    }
}
