//! What another program's output shows: a verdict for each connection, with what it rests on and what the output does not show.

use super::connection::Connection;
use super::context::ContextRemark;
use super::datagram_flow::DatagramFlow;
use super::finding::ConnectionFinding;
use super::host_test::{Datagrams, blame_window};
use crate::findings::proposal::{EndStacks, HostStack, Proposal};
use crate::findings::verdict::{Verdict, VerdictReason};
use crate::ground::thresholds::STANDARD;
use crate::judge::Diagnosis;
use pipefill_core::cell::{Direction, Protocol};
use pipefill_core::record::{HostContext, Observed, ReadFrom};
use pipefill_core::units::Rate;

/// The output of a program, judged.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PastedOutput {
    /// The program, and what its output does not show of any of the connections.
    pub read_from: ReadFrom,
    /// The fastest first.
    pub connections: Vec<PastedConnection>,
    /// Connections that were too many to judge.
    pub left_out: usize,
    /// What was given of the host that printed it; empty where nothing was.
    pub context: HostContext,
}

impl PastedOutput {
    /// The same with what `context` says about each connection.
    #[must_use]
    pub fn beside(mut self, context: HostContext) -> Self {
        let sent = self
            .connections
            .iter()
            .filter(|connection| connection.finding.direction == Some(Direction::Forward));
        let sent_bps = sent.filter_map(|connection| connection.finding.rate_bps).fold(0, u64::saturating_add);
        for connection in &mut self.connections {
            connection.context = ContextRemark::of(&context, &connection.finding, sent_bps, &STANDARD);
        }
        self.context = context;
        self
    }
}

/// A connection, or a flow of datagrams.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PastedConnection {
    /// What is said of it.
    pub finding: ConnectionFinding,
    /// What that rests on; absent where nothing was judged.
    pub diagnosis: Option<Diagnosis>,
    /// What the host counts beside it.
    pub context: Vec<ContextRemark>,
}

impl PastedConnection {
    /// Of connections between the same two hosts, which share a path. `buffers` is what the test set both socket buffers to.
    pub fn of_all(connections: &[Connection<'_>], buffers: Option<u64>) -> Vec<Self> {
        let is_quic = connections.iter().any(|connection| connection.observed.quic.is_some());
        let found = ConnectionFinding::with_diagnoses(connections).into_iter();
        found
            .map(|(mut finding, mut diagnosis)| {
                if let Some(bytes) = buffers {
                    blame_window(&mut finding, bytes);
                }
                if is_quic {
                    advise_quic(&mut finding);
                    // No kernel counts for it.
                    diagnosis.iter_mut().for_each(|diagnosis| diagnosis.witnesses.clear());
                }
                Self { finding, diagnosis, ..Self::default() }
            })
            .collect()
    }

    /// Of datagrams, by what both ends counted.
    pub fn of_datagrams(flow: &DatagramFlow) -> Self {
        let Observed { local, remote, .. } = &flow.observed;
        let span_us = flow.span_us.max(1);
        let bps = |bytes: u64| bytes.saturating_mul(8_000_000) / span_us;
        let (sent, lost) = (flow.totals.sent, flow.totals.sent.saturating_sub(flow.totals.received));
        let asked_bps = flow.asked.map(Rate::bps);
        let evidence = Datagrams { asked_bps, sent_bps: bps(flow.sent_bytes), sent, lost }.judge();
        let verdict = Verdict {
            limited_by: Some(evidence.limited_by),
            reason: Some(VerdictReason::Datagrams(evidence)),
            ..Verdict::default()
        };
        let finding = ConnectionFinding {
            protocol: Protocol::Udp,
            local: local.clone(),
            remote: remote.clone(),
            direction: Some(if flow.sends { Direction::Forward } else { Direction::Reverse }),
            rate_bps: Some(bps(flow.received_bytes)),
            lost_percent: (sent > 0).then_some(100.0 * evidence.lost_share),
            verdict,
            ..ConnectionFinding::default()
        };
        Self { finding, ..Self::default() }
    }
}

/// The settings of QUIC's ends are a library's; those that only TCP has are left out.
fn advise_quic(finding: &mut ConnectionFinding) {
    let Some(advice) = &mut finding.verdict.advice else { return };
    advice.retain(|advice| advice.proposal.as_ref().is_none_or(Proposal::is_of_quic));
    for proposal in advice.iter_mut().filter_map(|advice| advice.proposal.as_mut()) {
        proposal.stacks = EndStacks { sender: HostStack::Quic, receiver: HostStack::Quic };
    }
}
