//! What is said of the connections of a host: one entry each, for people and programs.

use super::connection::{Connection, Exact, Judged, judge_together};
use super::datagram_report::DatagramReport;
use crate::findings::experiment::SCHEMA;
use crate::findings::metrics::RetransmitCounts;
use crate::findings::proposal::Proposal;
use crate::findings::times::FlowTimes;
use crate::findings::udp_socket_report::UdpSocketReport;
use crate::findings::verdict::{Verdict, VerdictReason};
use crate::ground::thresholds::STANDARD;
use crate::judge::{Diagnosis, FlowLedger, RuleId, Span};
use pipefill_core::cell::{Direction, Protocol};
use pipefill_core::limit::LimitedBy;
use pipefill_core::record::{CaStateTimes, Invalid};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// With fewer samples the rate is known and the limit is not.
const FEWEST_SAMPLES: usize = 2;

/// The connections of a host.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Connections {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Looks at all sockets.
    pub looks: u64,
    /// From the first look to the last, microseconds.
    pub span_us: u64,
    /// By how much a look was late at most, microseconds.
    pub late_us: u64,
    /// Looks in which sockets came and went while the kernel told of them: one may be missing.
    pub interrupted: u64,
    /// Connections that were too short to judge: seen in one look only.
    pub too_short: u64,
    /// Connections that closed between the looks, and were judged.
    pub closed: u64,
    /// Connections beyond those that are followed.
    pub not_followed: u64,
    /// Connections that opened and closed between two looks, as the kernel counts them, at least; on loopback each end is one. Null where that
    /// is unknown: a filter or a process was named, the counters can't be read, or there are more than are followed.
    #[serde(default)]
    pub unseen: Option<u64>,
    /// Connections that carried nothing.
    pub idle: u64,
    /// Why nothing is said of what limits them: this program emulates their path, and was stopped or too late.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invalid: Vec<Invalid>,
    /// Datagrams that were not counted by flow: of flows beyond those that are, or on a path that asks for nothing.
    #[serde(default, skip_serializing_if = "is_none_left_out")]
    pub other_datagrams: u64,
    /// UDP sockets with neither a queue nor drops, of which the kernel shows nothing else.
    #[serde(default, skip_serializing_if = "is_none_left_out")]
    pub quiet_udp_sockets: u64,
    /// One entry each, the fastest first.
    pub connections: Vec<ConnectionFinding>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_none_left_out(count: &u64) -> bool {
    *count == 0
}

impl Connections {
    /// None yet.
    pub fn new() -> Self {
        Self { schema: SCHEMA, ..Self::default() }
    }

    /// Adds flows of datagrams; the fastest first.
    pub fn add_datagrams(&mut self, flows: impl IntoIterator<Item = ConnectionFinding>) {
        self.connections.extend(flows);
        self.connections.sort_by_key(|finding| std::cmp::Reverse(finding.rate_bps));
    }

    /// The figures alone where there is an `invalid`.
    #[must_use]
    pub fn invalidated(self, invalid: Vec<Invalid>) -> Self {
        if invalid.is_empty() {
            return self;
        }
        let connections = self.connections.into_iter().map(ConnectionFinding::without_verdict).collect();
        Self { connections, invalid, ..self }
    }

    /// Takes the verdicts on receiving connections from the sockets of the other end: a sender's socket shows more than a receiver's. Of a connection
    /// that carried less here than the other end sends in vain, or is not here, the other end is asked too.
    pub fn ask_senders(&mut self, peer: &Self) {
        for sender in peer.connections.iter().filter(|other| other.direction == Some(Direction::Forward)) {
            let is_its = |finding: &ConnectionFinding| {
                (&finding.local, &finding.remote) == (&sender.remote, &sender.local)
            };
            let own = self.connections.iter().position(is_its);
            let receives = |finding: &ConnectionFinding| {
                is_its(finding) && finding.direction == Some(Direction::Reverse)
            };
            if let Some(finding) = self.connections.iter_mut().find(|finding| receives(finding)) {
                finding.take_from_sender(sender.clone());
                continue;
            }
            let has_less = own.is_none_or(|own| {
                let own = self.connections[own].payload;
                own == 0 || own < sender.payload
            });
            if has_less && sender.verdict.limited_by.is_some() {
                let own = own.unwrap_or_else(|| {
                    let (local, remote) = (sender.remote.clone(), sender.local.clone());
                    self.connections.push(ConnectionFinding { local, remote, ..Default::default() });
                    self.connections.len() - 1
                });
                let finding = &mut self.connections[own];
                finding.direction = Some(Direction::Reverse);
                finding.take_from_sender(sender.clone());
            }
        }
    }
}

/// One connection.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ConnectionFinding {
    /// Its transport. A flow of datagrams has an entry for each direction.
    #[serde(default)]
    pub protocol: Protocol,
    /// Address and port of this host.
    pub local: String,
    /// Address and port of the peer.
    pub remote: String,
    /// Name of the process that has the socket; null where that is not ours to know.
    pub process: Option<String>,
    /// Its number.
    pub pid: Option<u32>,
    /// Whether this host sends most of the data (`forward`) or receives it (`reverse`); null where nothing was carried.
    pub direction: Option<Direction>,
    /// Payload in that direction over the time it was looked at, bits per second; null after one look.
    pub rate_bps: Option<u64>,
    /// Smoothed round trip now; null before the first one was measured.
    pub rtt_us: Option<u64>,
    /// The least one.
    pub min_rtt_us: Option<u64>,
    /// Segments sent again over the connection's life.
    pub retransmits: Option<u64>,
    /// The same by why they were, since BPF watches it; null where it does not, and where some are missing.
    pub retransmits_by_kind: Option<RetransmitCounts>,
    /// Time in each congestion state since then, microseconds.
    pub ca_state_us: Option<CaStateTimes>,
    /// Samples that the verdict rests on.
    pub samples: usize,
    /// UDP: `100 × (sent − received) / sent`, by what the path and the receiving socket counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_percent: Option<f64>,
    /// UDP: what became of its datagrams, where a path that this program emulates counted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<DatagramReport>,
    /// UDP: what a socket of this host shows, where no emulated path counts its datagrams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub udp_socket: Option<UdpSocketReport>,
    /// What limits it, and what to change.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// Its times, and what happened to it.
    #[serde(flatten)]
    pub times: FlowTimes,
    /// Payload that it carried in its direction, or has out in vain, bytes.
    #[serde(skip)]
    #[schemars(skip)]
    pub payload: u64,
    /// Who held it when.
    #[serde(skip)]
    #[schemars(skip)]
    pub timeline: Vec<Span>,
}

impl ConnectionFinding {
    /// What the samples of `connection` say.
    pub fn of(connection: &Connection<'_>) -> Self {
        Self::judged(connection, || connection.judge()).0
    }

    /// The same of connections between the same two hosts, each with what its verdict rests on, where it has one.
    pub fn with_diagnoses(connections: &[Connection<'_>]) -> Vec<(Self, Option<Diagnosis>)> {
        let flows = judge_together(connections).0;
        let judged =
            connections.iter().zip(flows).map(|(connection, flows)| Self::judged(connection, || flows));
        judged
            .map(|(finding, ledger)| (finding, ledger.and_then(|ledger| ledger.diagnosis(&STANDARD))))
            .collect()
    }

    /// The same of a single reading, which may be too short to judge.
    pub fn of_reading(connection: &Connection<'_>) -> Self {
        let finding = Self::of(connection);
        let has_limit = finding.direction.is_some();
        match connection.too_short(&STANDARD).filter(|_| has_limit) {
            Some(short) => {
                Self { verdict: Verdict::too_short(VerdictReason::ShortReading(short)), ..finding }
            }
            None => finding,
        }
    }

    /// The figures alone.
    pub(super) fn without_verdict(self) -> Self {
        Self { verdict: Verdict::default(), ..self }
    }

    /// The same of connections between the same two hosts: what each tells of the path counts for all.
    pub fn of_all(connections: &[Connection<'_>]) -> Vec<Self> {
        let flows = judge_together(connections).0;
        connections
            .iter()
            .zip(flows)
            .map(|(connection, flows)| Self::judged(connection, || flows).0)
            .collect()
    }

    /// With the ledger of the direction that it is about.
    fn judged(
        connection: &Connection<'_>,
        judge: impl FnOnce() -> Vec<Judged>,
    ) -> (Self, Option<FlowLedger>) {
        let observed = &connection.observed;
        let last = connection.samples.last().map(|sample| sample.info);
        let mut finding = Self {
            local: observed.local.clone(),
            remote: observed.remote.clone(),
            process: observed.process.as_ref().map(|process| process.name.clone()),
            pid: observed.process.as_ref().map(|process| process.pid),
            rtt_us: last.and_then(|info| info.srtt_us).map(u64::from),
            min_rtt_us: last.and_then(|info| info.min_rtt_us).map(u64::from),
            retransmits: last.map(|info| u64::from(info.retransmits)),
            retransmits_by_kind: connection.exact.and_then(Exact::retransmits_by_kind),
            ca_state_us: connection.exact.and_then(|exact| exact.ca_state_us),
            samples: connection.samples.len(),
            ..Self::default()
        };
        if connection.samples.len() < FEWEST_SAMPLES {
            finding.verdict = Verdict::too_short(VerdictReason::SeenOnce);
            return (finding, None);
        }
        let carried = connection.carried();
        let span_us = connection.span_us().max(1);
        finding.rate_bps = Some(carried.sent.max(carried.received).saturating_mul(8_000_000) / span_us);
        finding.payload = carried.most();
        let flows = judge();
        let main = carried.direction();
        match flows.into_iter().find(|judged| judged.flow.figures.direction == main) {
            Some(Judged { flow, ledger }) => {
                finding.direction = Some(main);
                finding.timeline =
                    ledger.as_ref().map(|ledger| ledger.timeline().to_vec()).unwrap_or_default();
                finding.verdict = flow.verdict;
                finding.times = flow.times;
                (finding, ledger)
            }
            None => {
                finding.set_idle();
                (finding, None)
            }
        }
    }

    /// Makes it one that carried nothing while it was looked at.
    pub fn set_idle(&mut self) {
        self.rate_bps = Some(0);
        self.verdict.limited_by = Some(LimitedBy::App);
        self.verdict.rule = Some(RuleId::IDLE);
        self.verdict.reason = Some(VerdictReason::Idle);
    }

    /// Takes the verdict and the figures of the sending end.
    fn take_from_sender(&mut self, sender: Self) {
        let (local, remote) = (std::mem::take(&mut self.local), std::mem::take(&mut self.remote));
        let mut verdict = sender.verdict;
        for advice in verdict.advice.iter_mut().flatten() {
            advice.proposal = advice.proposal.take().map(Proposal::at_the_peer);
        }
        let (process, pid, direction) = (self.process.take(), self.pid, self.direction);
        *self = Self { local, remote, process, pid, direction, verdict, ..sender };
    }
}
