//! From what a run left in memory to its manifest.

use pipefill_core::plan::Run;
use pipefill_core::record::{
    AqmSummary, Counter, Environment, Instrument, Invalid, Manifest, RECORD_VERSION, Setting, StreamSummary,
    Subject,
};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Everything that a run left in memory.
pub(super) struct Outcome {
    pub(super) settings: Vec<Setting>,
    pub(super) streams: Vec<StreamSummary>,
    pub(super) counters: Vec<Counter>,
    pub(super) aqm: Vec<AqmSummary>,
    pub(super) instrument: Instrument,
    pub(super) invalid: Vec<Invalid>,
    pub(super) data_path: Option<&'static str>,
    pub(super) real_time: Option<bool>,
    pub(super) tracing: String,
}

impl Outcome {
    /// The manifest of `run`.
    pub(super) fn into_manifest(
        self,
        run: &Run,
        environment: Environment,
        began: SystemTime,
        wall: Duration,
    ) -> Manifest {
        let started = began.duration_since(UNIX_EPOCH).unwrap_or_default();
        let scheduling = self.real_time.map(|granted| if granted { "SCHED_FIFO" } else { "SCHED_OTHER" });
        let mut environment = Environment { data_path: self.data_path.map(str::to_owned), ..environment };
        environment.facts.extend(scheduling.map(|word| ("path scheduling".to_owned(), word.to_owned())));
        environment.facts.insert("congestion states".to_owned(), self.tracing);
        Manifest {
            version: RECORD_VERSION,
            pipefill: env!("CARGO_PKG_VERSION").to_owned(),
            backend: "lab".to_owned(),
            run: run.clone(),
            subject: Subject::Planned,
            started_unix_ms: u64::try_from(started.as_millis()).ok(),
            wall_ms: u64::try_from(wall.as_millis()).ok(),
            environment,
            settings: self.settings,
            streams: self.streams,
            counters: self.counters,
            aqm: self.aqm,
            instrument: self.instrument,
            invalid: self.invalid,
            tables: None,
            artifacts: Vec::new(),
        }
    }
}
