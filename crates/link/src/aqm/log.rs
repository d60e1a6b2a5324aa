//! What a discipline reports: drops, marks, sojourn times, and what it counts of flows.

use crate::counters::{Count, Counters};
use crate::ip_packet::{Ecn, IpPacket};
use crate::packet::Packet;
use hdrhistogram::Histogram;
use pipefill_core::cell::{AqmSpec, Direction};
use pipefill_core::record::{AqmSample, AqmSummary, DropReason, FlowQueues};
use std::time::Duration;

/// The longest sojourn time that is told from longer ones.
const LONGEST_NS: u64 = 600_000_000_000;

/// Parts per billion of certainty.
const PER_BILLION: f64 = 1e9;

/// How a discipline stands.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct AqmState {
    /// The probability with which it drops or marks, where it has one.
    pub(crate) probability: Option<f64>,
    /// CoDel's drops and marks of the cycle that lasts; 0 between cycles.
    pub(crate) drop_count: Option<u64>,
}

/// What is counted of a discipline beside drops and marks, which the direction counts.
#[derive(Debug)]
pub struct AqmCounts {
    /// The discipline's word in a scenario.
    kind: &'static str,
    /// Sojourn times of packets that left, nanoseconds, to three significant figures.
    sojourns: Histogram<u64>,
    /// Their sum, and the one of the packet that left last.
    sojourn_sum: Duration,
    last_sojourn: Option<Duration>,
    flow_queues: Option<FlowQueues>,
}

impl AqmCounts {
    /// Nothing yet, of the discipline of `spec`.
    pub(crate) fn new(spec: &AqmSpec) -> Self {
        let sojourns = Histogram::new_with_bounds(1, LONGEST_NS, 3)
            .unwrap_or_else(|_| unreachable!("the bounds are constants that hdrhistogram accepts"));
        let flow_queues = matches!(spec, AqmSpec::FqCodel(_)).then(FlowQueues::default);
        Self { kind: spec.name(), sojourns, sojourn_sum: Duration::ZERO, last_sojourn: None, flow_queues }
    }

    /// A packet leaves after `sojourn`.
    pub(crate) fn leaves(&mut self, sojourn: Duration) {
        self.sojourn_sum += sojourn;
        self.last_sojourn = Some(sojourn);
        self.sojourns.saturating_record(u64::try_from(sojourn.as_nanos()).unwrap_or(u64::MAX).max(1));
    }

    /// For records: of the discipline in `direction`, which stands as `state` says and whose queue holds `backlog`, at `t_us`; `counters` are
    /// those of the direction.
    pub(crate) fn sample(
        &self,
        t_us: u64,
        direction: Direction,
        backlog: Count,
        state: AqmState,
        counters: &Counters,
    ) -> AqmSample {
        let micros = |span: Duration| u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
        AqmSample {
            t_us,
            direction,
            backlog_packets: Some(backlog.packets),
            backlog_bytes: Some(backlog.bytes),
            packets: self.sojourns.len(),
            sojourn_sum_us: Some(micros(self.sojourn_sum)),
            sojourn_us: self.last_sojourn.map(micros),
            dropped_packets: counters.dropped(DropReason::Aqm).packets,
            overflow_packets: counters.dropped(DropReason::QueueFull).packets,
            marked_packets: counters.marked_aqm.packets,
            probability_ppb: state.probability.map(|probability| (probability * PER_BILLION).round() as u64),
            drop_count: state.drop_count,
        }
    }

    /// For records: of the discipline in `direction`.
    pub fn summary(&self, direction: Direction) -> AqmSummary {
        let micros = |quantile: f64| {
            (!self.sojourns.is_empty()).then(|| self.sojourns.value_at_quantile(quantile) / 1_000)
        };
        AqmSummary {
            direction,
            kind: self.kind.to_owned(),
            packets: self.sojourns.len(),
            counted: None,
            sojourn_us_p50: micros(0.5),
            sojourn_us_p95: micros(0.95),
            sojourn_us_p99: micros(0.99),
            sojourn_us_max: micros(1.0),
            flow_queues: self.flow_queues,
        }
    }
}

/// Where a discipline reports to.
#[derive(Debug)]
pub(crate) struct AqmLog<'a> {
    pub(crate) counters: &'a mut Counters,
    pub(crate) counts: &'a mut AqmCounts,
}

impl AqmLog<'_> {
    /// The discipline drops `packet` for `reason`.
    pub(crate) fn drop_packet<T: IpPacket>(&mut self, reason: DropReason, packet: &Packet<T>) {
        self.counters.drop_packet(reason, packet);
    }

    /// Marks `packet` where it may be marked (`INET_ECN_set_ce()`), or was marked before; says whether it is marked now.
    pub(crate) fn mark<T: IpPacket>(&mut self, packet: &mut Packet<T>) -> bool {
        match packet.payload.ecn() {
            Ecn::NotEct => false,
            Ecn::Ce => true,
            Ecn::Ect0 | Ecn::Ect1 => {
                packet.payload.set_ce();
                self.counters.marked_aqm += Count::packet(packet.bytes);
                true
            }
        }
    }

    /// Counts of flows' queues, where the discipline has such.
    pub(crate) fn flow_queues(&mut self, count: impl FnOnce(&mut FlowQueues)) {
        if let Some(flow_queues) = &mut self.counts.flow_queues {
            count(flow_queues);
        }
    }
}
