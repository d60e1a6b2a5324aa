//! What is known of a run beside its rows, whoever made the record: flows, streams, the path and what it dropped.

use super::drops::Drops;
use super::known_path::KnownPath;
use crate::ground::interval::{TimeInterval, flow_of, micros, warmup};
use crate::ground::thresholds::Thresholds;
use pipefill_core::cell::{CellSpec, Direction, FlowSpec};
use pipefill_core::record::{CountsBefore, EndFacts, Gap, Manifest, Observed, ReadFrom, StreamSummary};
use pipefill_core::units::Rate;
use std::time::Duration;

/// A run.
#[derive(Debug, Clone, Copy)]
pub struct KnownRun<'a> {
    /// What a scenario asked for; absent where none describes the connections.
    pub(crate) plan: Option<&'a CellSpec>,
    pub(crate) flows: &'a [FlowSpec],
    pub(crate) streams: &'a [StreamSummary],
    pub(crate) path: KnownPath,
    /// What is left out at the start of each flow; absent where a rule says it.
    pub(crate) warmup: Option<Duration>,
    /// Packets that the path dropped: forward, reverse.
    pub(crate) drops: [Drops; 2],
    /// What a simulated host sends at most where the path has no rate.
    pub(crate) host_rate: Option<Rate>,
    /// Whether the application of observed connections writes as fast as it can.
    pub(crate) writes_all: bool,
    /// The other program's output that the samples were read from.
    pub(crate) read_from: Option<&'a ReadFrom>,
    /// What is known of the ends of observed connections: this one, the peer.
    pub(crate) ends: [EndFacts<'a>; 2],
    /// What the socket of an observed connection had counted before its first sample.
    pub(crate) before: CountsBefore,
    /// Whether its datagrams are those of QUIC.
    pub(crate) is_quic: bool,
    /// Of the hosts: that of forward data's sender, that of its receiver.
    pub(crate) congestion_controls: [&'a str; 2],
}

impl<'a> KnownRun<'a> {
    /// The run that `manifest` is about.
    pub fn of(manifest: &'a Manifest) -> Self {
        let spec = &manifest.run.cell.spec;
        let observed = manifest.subject.observed();
        Self {
            plan: observed.is_none().then_some(spec),
            flows: &spec.flows,
            streams: &manifest.streams,
            path: observed.map_or_else(
                || KnownPath::asked(&spec.path),
                |observed| KnownPath::observed(spec.path.family, &observed.path, &observed.emulated),
            ),
            warmup: spec.run.warmup,
            drops: Direction::ALL.map(|direction| Drops::of(manifest, direction)),
            host_rate: manifest.environment.host_rate(),
            writes_all: observed.is_some_and(|observed| observed.writes_all),
            read_from: observed.and_then(|observed| observed.read_from.as_ref()),
            ends: observed.map(Observed::ends).unwrap_or_default(),
            before: observed.and_then(|observed| observed.before).unwrap_or_default(),
            is_quic: observed.is_some_and(|observed| observed.quic.is_some()),
            congestion_controls: [&spec.sender, &spec.receiver].map(|host| host.congestion_control.as_str()),
        }
    }

    /// Whether the flight of each sample follows from its rate and its round trip.
    pub(crate) fn is_flight_estimated(&self) -> bool {
        self.read_from.is_some_and(|read_from| read_from.flight_estimated)
    }

    /// Whether each sample is a round of its own.
    fn is_sample_per_round(&self) -> bool {
        self.read_from.is_some_and(|read_from| read_from.sample_per_round)
    }

    /// Whether all samples are one reading: they show an instant, and not what changes.
    pub(crate) fn is_single_reading(&self) -> bool {
        self.read_from.is_some_and(|read_from| read_from.gaps.contains(&Gap::Readings))
    }

    /// Samples that an epoch has at least: one where it is the mean of an interval. A reading shows an instant, and a buffer at any level.
    pub(crate) fn epoch_samples(&self, thresholds: &Thresholds) -> usize {
        if self.is_flight_estimated() { 1 } else { thresholds.epoch_samples.count() }
    }

    /// Samples that a round has at least.
    pub(crate) fn round_samples(&self, thresholds: &Thresholds) -> usize {
        if self.is_sample_per_round() { 1 } else { thresholds.epoch_samples.count() }
    }

    /// Rounds of a plateau that have to agree.
    pub(crate) fn plateau_rounds(&self, thresholds: &Thresholds) -> usize {
        if self.is_sample_per_round() { thresholds.plateau_samples } else { thresholds.plateau_rounds }
            .count()
    }

    /// The end that sends data in `direction`, and the one that receives them.
    pub(crate) const fn by_role(&self, direction: Direction) -> [EndFacts<'a>; 2] {
        let [local, remote] = self.ends;
        match direction {
            Direction::Forward => [local, remote],
            Direction::Reverse => [remote, local],
        }
    }

    /// The congestion control of the sender of `flow`.
    pub(crate) fn congestion_control(&self, flow: &'a FlowSpec) -> &'a str {
        let of_host = self.congestion_controls[flow.direction.index()];
        flow.congestion_control.as_deref().unwrap_or(of_host)
    }

    /// The flow of `stream`; `None` where the record names one that the cell does not have.
    pub(crate) fn flow_of(&self, stream: &StreamSummary) -> Option<&'a FlowSpec> {
        flow_of(self.flows, stream)
    }

    /// The streams of the flow at `index`.
    pub(crate) fn streams_of(&self, index: u32) -> impl Iterator<Item = &'a StreamSummary> + Clone + use<'a> {
        self.streams.iter().filter(move |stream| stream.flow == index)
    }

    /// The measured window of `stream` at its sender: `[start + warm-up, stop)`. Empty where the stream was shorter than its
    /// warm-up, or its flow is not in the cell.
    pub(crate) fn measured(&self, stream: &StreamSummary) -> TimeInterval {
        let left_out = self
            .flow_of(stream)
            .map_or(Duration::MAX, |flow| warmup(self.warmup, flow, self.path.base_rtt()));
        let from_us = stream.start_us.saturating_add(micros(left_out));
        TimeInterval { from_us, to_us: stream.stop_us.max(from_us) }
    }

    /// From the first measured microsecond of any stream of the flow at `index` to the last; `None` without streams.
    pub(crate) fn measured_of_flow(&self, index: u32) -> Option<TimeInterval> {
        self.streams_of(index).map(|stream| self.measured(stream)).reduce(TimeInterval::around)
    }

    /// How much later than the sender's the receiver's window lies: for UDP the smallest one-way delay that was measured, for
    /// TCP (and where UDP measured none) the path's delay in the direction of the data.
    pub(crate) fn receiver_shift_us(&self, stream: &StreamSummary) -> u64 {
        if let Some(nanos) = stream.udp.and_then(|udp| udp.one_way_delay_min_ns) {
            return u64::try_from(nanos).unwrap_or(0) / 1_000;
        }
        let direction = self.flow_of(stream).map_or(Direction::Forward, |flow| flow.direction);
        self.path.way(direction).delay.map_or(0, |delay| micros(delay.value))
    }
}
