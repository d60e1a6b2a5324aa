//! One run's record, condensed: every figure that a table, a comparison or a verdict starts from.
//!
//! `docs/metrics.md` defines each with formula, unit, source field and pitfall; a change here is a change there. Never: a
//! choice that depends on the backend, or a figure made up for what was not recorded (`None` instead).

mod aqm;
mod capacity;
mod delivery;
mod flow;
mod instrument;
mod latency;
mod ping;
mod retransmits;
mod settings;
mod sums;
mod tcp;
mod udp;

use crate::ground::thresholds::{STANDARD, Thresholds};
use crate::infer::KnownRun;
use crate::judge::{Diagnosing, FlowLedger, Span};
use delivery::Rates;
use pipefill_core::record::{
    AnyRow, BufferLimits, CpuQuota, EndFacts, Invalid, Manifest, Observed, OptionsSet, PathFacts, PingSample,
    Retransmit, RunRecord,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use aqm::AqmMetrics;
pub use capacity::CapacityUse;
pub use delivery::StreamGoodput;
pub use flow::{FlowFigures, FlowMetrics};
pub use instrument::InstrumentMetrics;
pub use ping::{PingMetrics, PingSize};
pub use pipefill_core::record::CaStateTimes;
pub use retransmits::RetransmitCounts;
pub use settings::UnmetSetting;
pub use tcp::TcpMetrics;
pub use udp::UdpMetrics;

/// The figures of one run.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct RunMetrics {
    /// The run's id, `{cell id}-{repeat}`.
    pub id: String,
    /// The cell's id.
    pub cell_id: String,
    /// Position of the cell in the plan that was run.
    pub cell_index: usize,
    /// Which repetition, from 1.
    pub repeat: u32,
    /// The run's seed.
    pub seed: u64,
    /// Name of the run's directory.
    pub directory: String,
    /// `lab` or `sim`.
    pub backend: String,
    /// Why the run must not be believed; empty = valid.
    pub invalid: Vec<Invalid>,
    /// What was asked of the machine and not granted; empty = everything was.
    pub unmet_settings: Vec<UnmetSetting>,
    /// Payload bits/s that the receiving applications read in the measured windows, all streams.
    pub goodput_bps: Option<u64>,
    /// The same without leaving out a warm-up.
    pub goodput_whole_bps: Option<u64>,
    /// Payload bits/s that the sending sockets took in the measured windows, all streams.
    pub sender_bps: Option<u64>,
    /// Goodput of every stream.
    pub streams: Vec<StreamGoodput>,
    /// Jain's index over the streams' goodputs; `None` for a single stream.
    pub fairness_index: Option<f64>,
    /// What TCP's senders saw.
    #[serde(flatten)]
    pub tcp: TcpMetrics,
    /// What UDP's receivers saw.
    #[serde(flatten)]
    pub udp: UdpMetrics,
    /// What pings measured; `None` where there was none.
    #[serde(default)]
    pub ping: Option<PingMetrics>,
    /// What the disciplines of the queues did; none where all are drop-tail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aqm: Vec<AqmMetrics>,
    /// How good the instrument was, and what the path dropped.
    #[serde(flatten)]
    pub instrument: InstrumentMetrics,
    /// Each flow but pings, in the order of the cell.
    #[serde(default)]
    pub flows: Vec<FlowMetrics>,
    /// What is known of the path, where nobody planned it.
    #[serde(default)]
    pub path_facts: Option<PathFacts>,
    /// What `pipefill exec` emulates of it.
    #[serde(default, skip_serializing_if = "PathFacts::is_empty")]
    pub emulated: PathFacts,
    /// What the hosts of observed connections allow sockets to buffer: this one, the peer.
    #[serde(default, skip_serializing_if = "are_unknown")]
    pub limits: [Option<BufferLimits>; 2],
    /// What the programs at the ends of observed connections have set of their sockets: this one, the peer.
    #[serde(default, skip_serializing_if = "are_unknown")]
    pub options: [Option<OptionsSet>; 2],
    /// The CPU quotas of the processes at the ends of observed connections: this one, the peer's.
    #[serde(default, skip_serializing_if = "are_unknown")]
    pub quotas: [Option<CpuQuota>; 2],
}

impl RunMetrics {
    /// What is known of the ends of observed connections: this one, the peer.
    pub(crate) fn ends(&self) -> [EndFacts<'_>; 2] {
        [0, 1].map(|at| EndFacts {
            buffers: self.limits[at],
            quota: self.quotas[at].as_ref(),
            options: self.options[at],
            ..EndFacts::default()
        })
    }
}

fn are_unknown<T>(of_hosts: &[Option<T>; 2]) -> bool {
    of_hosts.iter().all(Option::is_none)
}

/// Condenses a run whose rows pass by once, in order of time: what it holds does not grow with the run's length.
pub struct Condenser<'a> {
    manifest: &'a Manifest,
    flows: FlowCondenser<'a>,
    tcp: tcp::Following<'a>,
    pings: ping::Following<'a>,
}

/// Condenses the flows of a run likewise, without what only a record has.
pub(crate) struct FlowCondenser<'a> {
    run: KnownRun<'a>,
    rates: delivery::Following,
    capacity: capacity::Following<'a>,
    latency: latency::Following,
    diagnosis: Diagnosing<'a>,
}

impl<'a> Condenser<'a> {
    /// Of the run that `manifest` is about; no row was seen yet.
    pub fn new(manifest: &'a Manifest) -> Self {
        let run = KnownRun::of(manifest);
        Self {
            manifest,
            flows: FlowCondenser::new(run, &STANDARD),
            tcp: tcp::Following::of(manifest, &run),
            pings: ping::Following::of(manifest),
        }
    }

    /// Takes the next row of any table; its time is not before that of the last one.
    pub fn push(&mut self, row: &AnyRow) {
        match row {
            AnyRow::Tcp(row) => self.tcp.push(row),
            AnyRow::Packets(row) => self.tcp.take_packets(row),
            AnyRow::Retransmit(row) => self.count(row),
            AnyRow::Ping(row) => self.answer(row),
            AnyRow::Delivery(_)
            | AnyRow::Udp(_)
            | AnyRow::Path(_)
            | AnyRow::Cpu(_)
            | AnyRow::Datagrams(_)
            | AnyRow::Aqm(_) => {}
        }
        self.flows.push(row);
    }

    /// Counts a retransmission; these come in any order.
    pub fn count(&mut self, row: &Retransmit) {
        self.tcp.count(row);
    }

    /// Takes the answer to a ping; these come in any order.
    pub fn answer(&mut self, row: &PingSample) {
        self.pings.push(row);
        self.flows.latency.answer(row);
    }

    /// The figures, after the last row.
    pub fn finish(self) -> RunMetrics {
        let manifest = self.manifest;
        let run = &manifest.run;
        let ends = manifest.subject.observed().map(Observed::ends).unwrap_or_default();
        let (rates, flows, _) = self.flows.finish();
        RunMetrics {
            id: run.id.clone(),
            cell_id: run.cell.id.clone(),
            cell_index: run.cell.index,
            repeat: run.repeat,
            seed: run.seed.get(),
            directory: run.directory.to_string(),
            backend: manifest.backend.clone(),
            invalid: manifest.invalid.clone(),
            unmet_settings: settings::unmet(&manifest.settings),
            goodput_bps: rates.goodput_bps,
            goodput_whole_bps: rates.goodput_whole_bps,
            sender_bps: rates.sender_bps,
            fairness_index: rates.fairness_index,
            streams: rates.streams,
            tcp: self.tcp.metrics(),
            udp: udp::metrics(&manifest.streams),
            ping: self.pings.metrics(),
            aqm: aqm::metrics(manifest),
            instrument: instrument::metrics(manifest),
            flows,
            path_facts: manifest.subject.observed().map(|observed| observed.path.clone()),
            emulated: manifest
                .subject
                .observed()
                .map_or_else(PathFacts::default, |observed| observed.emulated.clone()),
            limits: ends.map(|end| end.buffers),
            options: ends.map(|end| end.options),
            quotas: ends.map(|end| end.quota.cloned()),
        }
    }
}

impl<'a> FlowCondenser<'a> {
    /// Of `run`; no row was seen yet.
    pub(crate) fn new(run: KnownRun<'a>, thresholds: &'a Thresholds) -> Self {
        Self {
            run,
            rates: delivery::Following::of(&run),
            capacity: capacity::Following::of(&run),
            latency: latency::Following::of(&run),
            diagnosis: Diagnosing::of(run, thresholds),
        }
    }

    /// Takes the next row of any table; its time is not before that of the last one.
    pub(crate) fn push(&mut self, row: &AnyRow) {
        if let AnyRow::Delivery(row) = row {
            self.rates.push(row);
            self.capacity.push(row);
        }
        self.latency.push(row);
        self.diagnosis.push(row);
    }

    /// The figures, after the last row, and the finished ledger of each flow of TCP.
    pub(crate) fn finish(self) -> (Rates, Vec<FlowMetrics>, Vec<FlowLedger>) {
        let rates = self.rates.rates();
        let (diagnoses, ledgers) = self.diagnosis.finish_with_flow_ledgers();
        let used = |flow| diagnoses.iter().find(|diagnosis| diagnosis.flow == flow)?.figures.utilisation;
        let capacities = self.capacity.uses(&self.run, used);
        let flows = flow::metrics(&self.run, &rates.streams, self.latency.latencies(), capacities, diagnoses);
        (rates, flows, ledgers)
    }
}

impl RunMetrics {
    /// Condenses a record that is in memory, its rows in any order.
    pub fn of(record: &RunRecord) -> Self {
        let mut condenser = Condenser::new(&record.manifest);
        record.rows().iter().for_each(|row| condenser.push(row));
        record.retransmits.iter().for_each(|row| condenser.count(row));
        record.ping.iter().for_each(|row| condenser.answer(row));
        condenser.finish()
    }

    /// The flow at `index` of the cell; `None` where it has no figures.
    pub fn flow(&self, index: u32) -> Option<&FlowMetrics> {
        self.flows.iter().find(|flow| flow.figures.flow == index)
    }

    /// What limited each stream of every flow when.
    pub fn timeline(&self) -> impl Iterator<Item = &Span> {
        self.flows.iter().filter_map(|flow| flow.diagnosis.as_ref()).flat_map(|diagnosis| &diagnosis.timeline)
    }

    /// Whether the run may be believed.
    pub fn is_valid(&self) -> bool {
        self.invalid.is_empty()
    }
}

/// Counts under a name, in the names' order.
pub type Counts = BTreeMap<String, u64>;
