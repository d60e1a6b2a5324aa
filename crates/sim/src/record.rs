//! From what a run left in memory to its manifest.
//!
//! Never: the machine's clock or name; the same run gives the same bytes anywhere.

use crate::engine::Engine;
use crate::network::HOST_RATE;
use crate::stream::{SENDER, SimStream, Transport};
use pipefill_core::plan::Run;
use pipefill_core::record::{
    CaStateSource, Environment, Instrument, Invalid, Manifest, RECORD_VERSION, Setting, StreamSummary,
    Subject,
};
use pipefill_core::units::Time;
use std::collections::BTreeMap;

/// How a run went.
pub(crate) struct Outcome {
    /// When the traffic's clock began: all connections stand.
    pub(crate) zero: Time,
    /// Why it must not be believed.
    pub(crate) invalid: Vec<Invalid>,
}

/// The manifest of `run`.
pub(crate) fn manifest(run: &Run, engine: &Engine, settings: Vec<Setting>, outcome: Outcome) -> Manifest {
    let now = engine.now;
    let streams = engine.streams.iter().map(|stream| summary(run, stream, outcome.zero, now)).collect();
    Manifest {
        version: RECORD_VERSION,
        pipefill: env!("CARGO_PKG_VERSION").to_owned(),
        backend: "sim".to_owned(),
        run: run.clone(),
        subject: Subject::Planned,
        started_unix_ms: None,
        wall_ms: None,
        environment: environment(),
        settings,
        streams,
        counters: engine.network.counters(),
        aqm: engine.network.aqm(),
        instrument: Instrument::default(),
        invalid: outcome.invalid,
        tables: None,
        artifacts: Vec::new(),
    }
}

fn environment() -> Environment {
    Environment {
        data_path: Some("link".to_owned()),
        host_rate_bps: Some(HOST_RATE.bps()),
        facts: BTreeMap::from([("modelled kernel".to_owned(), "6.12".to_owned())]),
        ..Environment::default()
    }
}

fn summary(run: &Run, stream: &SimStream, zero: Time, now: Time) -> StreamSummary {
    let flow = &run.cell.spec.flows[stream.flow as usize];
    let start = zero.after(flow.start);
    let (sent_bytes, received_bytes) = stream.bytes();
    let end_us = stream.last_received().map_or(0, Time::micros);
    let (tcp, udp) = match &stream.transport {
        Transport::Tcp(tcp) => (Some(tcp.info(SENDER, now)), None),
        Transport::Udp(udp) => (None, Some(udp.totals())),
        Transport::Ping(_) => (None, None),
    };
    let ca_state_us = match &stream.transport {
        Transport::Tcp(tcp) => Some(tcp.ends[SENDER].sender.state_times(now)),
        Transport::Udp(_) | Transport::Ping(_) => None,
    };
    StreamSummary {
        stream: stream.number,
        flow: stream.flow,
        start_us: start.micros(),
        stop_us: start.after(flow.duration).micros(),
        end_us,
        sent_bytes,
        received_bytes,
        tcp,
        udp,
        packets: None,
        bucket: None,
        repetition: None,
        datagrams: None,
        ca_state_us,
        ca_state_source: ca_state_us.map(|_| CaStateSource::Exact),
    }
}
