//! One connection that was there: its samples as a record, and what they say.
//!
//! A socket sends and receives: what it sends is the first flow, seen from its sender, and what it receives the second one, seen from its
//! receiver. Only the directions that carried data are flows.

use super::{Inference, delivery, with_facts};
use crate::experiment::{FlowResult, flow_results};
use crate::metrics::{Condenser, RunMetrics};
use pipefill_core::cell::{CellSpec, Direction, FlowSpec, HostSpec, PathSpec, Protocol, RunSpec};
use pipefill_core::file_name::FileName;
use pipefill_core::plan::{Cell, Run};
use pipefill_core::record::{AnyRow, Manifest, Observed, StreamEnd, StreamSummary, Subject, TcpSample};
use pipefill_core::units::{Bytes, Seed};
use std::collections::BTreeMap;
use std::time::Duration;

/// What is recorded of observed sockets, beside `lab` and `sim`.
pub const BACKEND: &str = "sockets";

/// A connection and its samples, in order of time. [`TcpSample::stream`] and [`TcpSample::end`] of them do not matter.
#[derive(Debug, Clone)]
pub struct Connection<'a> {
    /// Who it is.
    pub observed: Observed,
    /// Name of its congestion control.
    pub congestion_control: String,
    /// How often it was looked at.
    pub every: Duration,
    /// What was seen.
    pub samples: &'a [TcpSample],
}

/// Which way a connection carried data between two samples, in bytes of payload: sent and acknowledged, received.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Carried {
    /// Acknowledged by the peer.
    pub sent: u64,
    /// Received from it.
    pub received: u64,
}

impl Connection<'_> {
    /// What it carried from the first sample to the last. Counters that go back are another socket's: nothing then.
    pub fn carried(&self) -> Carried {
        let (Some(first), Some(last)) = (self.samples.first(), self.samples.last()) else {
            return Carried::default();
        };
        Carried {
            sent: last.info.bytes_acked.saturating_sub(first.info.bytes_acked),
            received: last.info.bytes_received.saturating_sub(first.info.bytes_received),
        }
    }

    /// The flows, and the end that each is seen from: the sender's where it sent or tries to, the receiver's where it received.
    fn streams(&self) -> impl Iterator<Item = (u32, StreamEnd)> + Clone + use<> {
        let Carried { sent, received } = self.carried();
        let tries = self.samples.iter().any(|sample| sample.info.unacked_bytes > 0);
        let sender = (sent > 0 || (tries && received == 0)).then_some(StreamEnd::Sender);
        let receiver = (received > 0).then_some(StreamEnd::Receiver);
        (0..).zip([sender, receiver].into_iter().flatten())
    }

    /// The record's rows: each sample once for each flow.
    pub fn rows(&self) -> impl Iterator<Item = TcpSample> + '_ {
        let streams = self.streams();
        self.samples.iter().flat_map(move |sample| {
            streams.clone().map(|(stream, end)| TcpSample { stream, end, ..sample.clone() })
        })
    }

    /// Cell `index` of a plan of connections, called `name`. Its path is empty because it is unknown.
    pub fn cell(&self, index: usize, name: &str) -> Cell {
        let axes = vec![("connection".to_owned(), name.to_owned())];
        Cell { index, id: format!("{index:012x}"), axes, spec: self.spec() }
    }

    /// Its manifest, as the only run of its cell.
    pub fn manifest(&self, run: &Run) -> Manifest {
        let mut manifest = Manifest::expected(run, 0);
        BACKEND.clone_into(&mut manifest.backend);
        manifest.subject = Subject::Observed(self.observed.clone());
        manifest.streams = self.streams().map(|(stream, end)| self.summary(stream, end)).collect();
        manifest
    }

    /// What was asked of such a cell: nothing.
    pub fn spec(&self) -> CellSpec {
        let host =
            || HostSpec { congestion_control: self.congestion_control.clone(), sysctl: BTreeMap::new() };
        let (from_us, to_us) = self.ends_us();
        let direction = |end| if end == StreamEnd::Sender { Direction::Forward } else { Direction::Reverse };
        let flow = |end| FlowSpec {
            protocol: Protocol::Tcp,
            direction: direction(end),
            start: Duration::from_micros(from_us),
            duration: Duration::from_micros(to_us - from_us),
            parallel: 1,
            bitrate: None,
            length: Bytes::new(0),
            read_rate: None,
            sndbuf: None,
            rcvbuf: None,
            max_pacing_rate: None,
            congestion_control: None,
            table: None,
            ping: None,
        };
        CellSpec {
            path: PathSpec::EMPTY,
            sender: host(),
            receiver: host(),
            flows: self.streams().map(|(_, end)| flow(end)).collect(),
            run: RunSpec {
                repeat: 1,
                seed: 0,
                sample: self.every,
                warmup: Some(Duration::ZERO),
                capture: false,
            },
            expect: Vec::new(),
        }
    }

    /// From the first sample to the last.
    pub fn span_us(&self) -> u64 {
        let (from_us, to_us) = self.ends_us();
        to_us - from_us
    }

    fn ends_us(&self) -> (u64, u64) {
        let at = |sample: Option<&TcpSample>| sample.map_or(0, |sample| sample.t_us);
        (at(self.samples.first()), at(self.samples.last()))
    }

    fn summary(&self, stream: u32, end: StreamEnd) -> StreamSummary {
        let (from_us, to_us) = self.ends_us();
        let last = self.samples.last();
        let count = last.map_or(0, |sample| match end {
            StreamEnd::Sender => sample.info.bytes_acked,
            StreamEnd::Receiver => sample.info.bytes_received,
        });
        StreamSummary {
            stream,
            flow: stream,
            start_us: from_us,
            stop_us: to_us,
            end_us: to_us,
            sent_bytes: count,
            received_bytes: count,
            tcp: last.filter(|_| end == StreamEnd::Sender).map(|sample| sample.info),
            udp: None,
            ca_state_us: None,
            ca_state_source: None,
        }
    }

    /// What limits each direction that carried data: the sent one first.
    pub fn judge(&self) -> Vec<FlowResult> {
        let name = FileName::cleaned("connection");
        let cell = self.cell(0, "");
        let manifest = self.manifest(&Run {
            experiment: name.clone(),
            cell,
            repeat: 1,
            id: String::new(),
            seed: Seed::new(0),
            directory: name,
        });
        let metrics = condense(&manifest, || self.rows().map(AnyRow::Tcp));
        flow_results(&manifest.run.cell.spec, &[&metrics])
    }
}

/// The figures of the sockets that `manifest` is about: what they tell of the path first, and then the rest with that.
pub fn condense<R: Iterator<Item = AnyRow>>(manifest: &Manifest, rows: impl Fn() -> R) -> RunMetrics {
    let mut inference = Inference::new(manifest);
    rows().for_each(|row| inference.take(&row));
    let manifest = with_facts(manifest, inference.facts());
    let mut condenser = Condenser::new(&manifest);
    for row in rows() {
        condenser.take(&row);
        if let AnyRow::Tcp(sample) = &row {
            condenser.take(&AnyRow::Delivery(delivery(sample)));
        }
    }
    condenser.finish()
}
