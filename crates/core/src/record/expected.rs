//! What is known of a run before it ends, in the form of its manifest: for whoever looks on.

use super::{Environment, Instrument, Manifest, RECORD_VERSION, StreamSummary, Subject};
use crate::cell::FlowSpec;
use crate::plan::Run;
use std::time::Duration;

impl Manifest {
    /// Of `run`, whose traffic began at `start_us`: every stream of its flows, without what only the end tells.
    pub fn expected(run: &Run, start_us: u64) -> Self {
        let streams = run.cell.spec.flows.iter().enumerate().flat_map(|(index, flow)| {
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            (0..flow.parallel).map(move |_| (index, flow))
        });
        Self {
            version: RECORD_VERSION,
            pipefill: env!("CARGO_PKG_VERSION").to_owned(),
            backend: String::new(),
            run: run.clone(),
            subject: Subject::Planned,
            started_unix_ms: None,
            wall_ms: None,
            environment: Environment::default(),
            settings: Vec::new(),
            aqm: Vec::new(),
            streams: (0..)
                .zip(streams)
                .map(|(stream, (index, flow))| expected(stream, index, flow, start_us))
                .collect(),
            counters: Vec::new(),
            instrument: Instrument::default(),
            invalid: Vec::new(),
            tables: None,
            artifacts: Vec::new(),
        }
    }
}

fn expected(stream: u32, index: u32, flow: &FlowSpec, start_us: u64) -> StreamSummary {
    let begins_us = start_us.saturating_add(micros(flow.start));
    let stop_us = begins_us.saturating_add(micros(flow.duration));
    StreamSummary {
        stream,
        flow: index,
        start_us: begins_us,
        stop_us,
        end_us: stop_us,
        ..StreamSummary::default()
    }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}
