//! What is said of the connections of a capture: one entry for each connection and direction that carried data.

use super::captured_udp::{MptcpGroup, NatGroup, UdpFlow};
use super::connection::Judged;
use super::ending::{FlowEnding, MissingPart};
use super::handshake::{FlowCounts, FlowOptions};
use super::joined::{BackwardTimes, JoinedCaptures, JoinedFlow};
use crate::findings::experiment::SCHEMA;
use crate::findings::proposal::{EndStacks, HostStack};
use crate::findings::verdict::{Verdict, VerdictReason};
use crate::ground::thresholds::STANDARD;
use crate::judge::{
    COARSE_CLOCK, Diagnosis, FlowLedger, FlowLength, OTHER_DIRECTION, RuleId, TOO_SHORT, ZERO_WINDOW,
};
use pipefill_core::cell::Direction;
use pipefill_core::flow_event::FlowEvent;
use pipefill_core::limit::{Cause, LimitedBy};
use pipefill_core::record::{CapturePoint, LossKind, PathFacts};
use pipefill_core::stacks::{Stack, StackConfidence};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The flows of a capture.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Captured {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Packets that were read, of both captures where there are two.
    pub packets: u64,
    /// Packets that are neither TCP nor UDP, or could not be understood, by what they are.
    pub not_understood: BTreeMap<String, u64>,
    /// Packets that the capturing program or kernel dropped; null where the capture has no count.
    pub dropped: Option<u64>,
    /// Connections that had to be forgotten before their end, for want of memory.
    pub forgotten: u64,
    /// Connections that carried little, of more than are kept: they have no entry.
    pub left_out: u64,
    /// How often and how far the capture's times ran backwards; null where they did not, and where two captures were read (see `joined`).
    pub backward_times: Option<BackwardTimes>,
    /// The resolution of the capture's clock, microseconds, where all times fit one of 1 ms or coarser; null where they do not, and where they are too
    /// few to tell. Of two captures the coarser one. Shorter times are not known: a round trip is null, as is a rate over less than five times it.
    pub clock_resolution_us: Option<u64>,
    /// Where and why reading ended before the end of the capture; null where it did not.
    pub broken: Option<String>,
    /// The two captures that were joined; null where one was read.
    pub joined: Option<JoinedCaptures>,
    /// One entry for each connection and direction that carried data, the largest first.
    pub flows: Vec<CapturedFlow>,
    /// One entry for each UDP flow in one direction, the largest first. Of two captures those of the first, and those that only the second has.
    pub udp_flows: Vec<UdpFlow>,
    /// UDP flows that carried little, of more than are kept: they have no entry.
    pub udp_left_out: u64,
    /// Which connections are subflows of one of Multipath TCP.
    pub mptcp: Vec<MptcpGroup>,
    /// Which connections are one that the capture has on both sides of a NAT: each side has its own entries in `flows`.
    pub nat: Vec<NatGroup>,
}

/// One connection in one direction.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CapturedFlow {
    /// Address and port of the sender.
    pub src: String,
    /// Address and port of the receiver.
    pub dst: String,
    /// Packets of the sender.
    pub packets: u64,
    /// Segments with data, those that were sent again included.
    pub segments: u64,
    /// Payload that was carried, bytes, each counted once.
    pub bytes: u64,
    /// The same from first to last data, bits per second; null for a single packet, where `data_us` is, and where that is less than five times
    /// `clock_resolution_us`.
    pub goodput_bps: Option<u64>,
    /// From the first data between these two hosts to its own, microseconds, without the time in which the capture's clock was set back.
    pub start_us: u64,
    /// From its first to its last data, microseconds; null where the capture's clock was set back in between, or shows a time after the year 2554.
    /// Where it was set back, the verdict is of the part between two settings in which it carried most.
    pub data_us: Option<u64>,
    /// From the connection's first SYN to its first payload in either direction, microseconds, with SYNs that were lost; null where the SYN is not in
    /// the capture, or its clock was set back.
    pub setup_us: Option<u64>,
    /// Payload over the active time, bits per second: without the time in which the other side had asked for nothing, and without pauses of an
    /// application that goes on unasked. Null where its time is.
    pub active_bps: Option<u64>,
    /// Segments sent again.
    pub retransmits: u64,
    /// By why they were: in fast recovery (`fast`), after a timeout (`rto`), as loss probes (`tlp`), SYNs (`syn`), FINs without payload (`fin`); and of all
    /// these those for nothing (`spurious`).
    pub retransmits_by_kind: BTreeMap<String, u64>,
    /// The least round trip of the path; null where none was seen, and where the clock does not show that it is longer than its resolution.
    pub min_rtt_us: Option<u64>,
    /// The largest window that the receiver advertised, bytes; null where its scale is not known.
    pub rwnd_bytes: Option<u64>,
    /// The most that was in flight, bytes.
    pub in_flight_bytes: Option<u64>,
    /// The bottleneck's rate, bits per second of frames; null where no flow has tried it.
    pub path_rate_bps: Option<u64>,
    /// The largest rate of payload over some round trips, bits per second.
    pub fastest_bps: Option<u64>,
    /// The longest wait in its queue that was seen, microseconds.
    pub queue_us: Option<u64>,
    /// Whether its losses come at any time, and not because a queue is full.
    pub loss_is_chance: bool,
    /// What limits it, and what to change.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// What the handshake agreed on.
    pub options: FlowOptions,
    /// The TCP implementation of the sender, by the form of its SYN; null where that tells none.
    pub stack: Option<Stack>,
    /// How sure that is.
    pub stack_confidence: StackConfidence,
    /// What was counted beside segments and retransmissions.
    pub counts: FlowCounts,
    /// How the connection ended.
    pub ended: FlowEnding,
    /// What of it the capture does not have: nothing is concluded from that.
    pub missing: Vec<MissingPart>,
    /// What happened, in order of time: outages and idle times one by one, the longest; others from the first to the last.
    pub events: Vec<FlowEvent>,
    /// Where it was captured.
    pub vantage: CapturePoint,
    /// What a capture at the other end adds; null where there is none, or where it does not have this flow.
    pub joined: Option<JoinedFlow>,
    /// How often the SYN and the SYN-ACK were sent, by timers; 0 where none is in the capture.
    #[serde(skip)]
    #[schemars(skip)]
    pub syns: [u8; 2],
    /// Why the server did not take the connection at once, where packets show it.
    #[serde(skip)]
    #[schemars(skip)]
    pub unaccepted: Option<Unaccepted>,
    /// How fast the sender answers.
    #[serde(skip)]
    #[schemars(skip)]
    pub answers: AnswerTimes,
    /// Packets without data that came back: ACKs.
    #[serde(skip)]
    #[schemars(skip)]
    pub acks: u64,
    /// The smoothed round trip, its median over the samples, microseconds; null where none was seen.
    #[serde(skip)]
    #[schemars(skip)]
    pub srtt_us: Option<u64>,
    /// The least time over which the capture's clock gives a rate, microseconds; 0 where it is not coarse.
    #[serde(skip)]
    #[schemars(skip)]
    pub least_timed_us: u64,
    /// Whether the receiver's window was 0 at the end.
    #[serde(skip)]
    #[schemars(skip)]
    pub is_window_closed: bool,
    /// Its time by who held it.
    #[serde(skip)]
    #[schemars(skip)]
    pub ledger: Option<FlowLedger>,
}

/// SYN-ACKs that were sent again after the handshake's ACK: the server dropped the ACK, since its accept queue was full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unaccepted {
    /// How many.
    pub syn_acks: u8,
    /// The ACK passed near the server; elsewhere it may have been lost behind the capture point.
    pub is_near: bool,
}

impl Unaccepted {
    /// Of a server that sent this many SYN-ACKs again after their ACK. Far from it one of them may answer an ACK that was lost; `None` then, unless the
    /// client's data was lost too (`has_data_again`).
    pub fn of(syn_acks: u8, has_data_again: bool, is_near: bool) -> Option<Self> {
        let is_shown = syn_acks > 0 && (is_near || has_data_again || syn_acks >= UNACCEPTED);
        is_shown.then_some(Self { syn_acks, is_near })
    }
}

/// Far from the server: SYN-ACKs after their ACK that no single loss explains.
const UNACCEPTED: u8 = 2;
/// Turns from which on the least answer is compared with the least ACK.
const ANSWERS_FEWEST: u32 = 5;
/// An ACK that comes in less than this part of the least answer is not the answering program's.
const ACK_PART: u32 = 2;
/// Of the time that goes to answers at least this part is worth a sentence.
const ANSWERS_SHARE: f64 = 0.1;

/// How fast an end answers requests, and how fast it acknowledges.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AnswerTimes {
    /// Requests that were answered.
    pub answers: u32,
    /// The least time from a request to its answer, at the capture point, microseconds.
    pub least_us: u32,
    /// The least round trip from there to that end by its ACKs, microseconds; 0 where none was seen.
    pub ack_us: u32,
}

impl Captured {
    /// Of nothing yet.
    pub fn new() -> Self {
        Self { schema: SCHEMA, ..Self::default() }
    }

    /// Whether the same bytes have another entry, of the side of a NAT that was seen first.
    pub fn is_behind_nat(&self, flow: &CapturedFlow) -> bool {
        let is_its = |ends: &[String; 2]| ends.contains(&flow.src) && ends.contains(&flow.dst);
        self.nat.iter().any(|group| group.connections.iter().skip(1).any(is_its))
    }
}

impl CapturedFlow {
    /// Adds the verdict on this flow's `direction` from those of its connection; there is none where the flow was too short.
    pub fn judge(&mut self, found: &[Judged], direction: Direction) {
        match found.iter().find(|judged| judged.flow.figures.direction == direction) {
            Some(own) => {
                self.verdict = own.flow.verdict.clone();
                // One rate for table, sentence and document.
                if let (Some(VerdictReason::Judged(judged)), Some(bps)) =
                    (&mut self.verdict.reason, self.goodput_bps)
                {
                    judged.goodput_bps = bps;
                }
                self.ledger.clone_from(&own.ledger);
            }
            None => self.verdict = Verdict::too_short(VerdictReason::TooShort),
        }
        let active_us = self.ledger.as_ref().map_or(0, FlowLedger::active_us);
        self.active_bps = (active_us > 0).then(|| self.bytes.saturating_mul(8_000_000) / active_us);
        if self.data_us.is_none() {
            self.active_bps = None;
            // The verdict covers a part of the flow, so its times are not the flow's.
            (self.verdict.span_us, self.verdict.time) = (None, None);
        }
        let is_silent = matches!(self.verdict.cause, Some(Cause::Silence | Cause::Mtu));
        if self.missing.contains(&MissingPart::OtherDirection) && !is_silent {
            self.verdict = self.unknown_limit(OTHER_DIRECTION, VerdictReason::OneDirection);
            (self.in_flight_bytes, self.ledger) = (None, None);
        } else if self.length().is_too_short(&STANDARD) {
            let is_closed = self.counts.zero_windows > 0 && self.is_window_closed;
            let (limited_by, rule, reason) = match is_closed {
                true => (Some(LimitedBy::Receiver), ZERO_WINDOW, VerdictReason::WindowStaysClosed),
                false => (None, TOO_SHORT, VerdictReason::TooShort),
            };
            let (span_us, reason) = (self.verdict.span_us, Some(reason));
            self.verdict = Verdict { limited_by, rule: Some(rule), span_us, reason, ..Verdict::default() };
            self.ledger = None;
        } else if self.verdict.span_us.is_some_and(|us| us < self.least_timed_us) {
            self.verdict = self.unknown_limit(COARSE_CLOCK, VerdictReason::CoarseClock);
            self.ledger = None;
        }
    }

    /// The verdict where evidence is missing.
    fn unknown_limit(&self, rule: RuleId, reason: VerdictReason) -> Verdict {
        Verdict {
            limited_by: Some(LimitedBy::Unknown),
            rule: Some(rule),
            span_us: self.verdict.span_us,
            advice: Some(Vec::new()),
            reason: Some(reason),
            ..Verdict::default()
        }
    }

    /// The flow's answer times, where its answers take much longer than its ACKs: the server is slow, or stands behind a proxy.
    pub fn slow_answers(&self) -> Option<AnswerTimes> {
        let AnswerTimes { answers, least_us, ack_us } = self.answers;
        let time = self.verdict.time.iter().flatten();
        let waits =
            time.filter(|held| (held.limited_by, held.cause) == (LimitedBy::App, Some(Cause::Response)));
        let share: f64 = waits.map(|held| held.share).sum();
        let is_slow = answers >= ANSWERS_FEWEST && ack_us > 0 && ack_us.saturating_mul(ACK_PART) < least_us;
        (is_slow && share >= ANSWERS_SHARE).then_some(self.answers)
    }

    /// How much of the flow there is to judge.
    fn length(&self) -> FlowLength<'_> {
        FlowLength {
            span_us: self.verdict.span_us,
            min_rtt_us: self.min_rtt_us,
            segments: self.segments,
            time: self.verdict.time.as_deref().unwrap_or_default(),
        }
    }

    /// What the verdict rests on, and what limited when.
    pub fn diagnosis(&self) -> Option<Diagnosis> {
        self.ledger.as_ref()?.diagnosis(&STANDARD)
    }

    /// Advice is for the stacks that are there: `receiver` is the other end's.
    pub fn know_stacks(&mut self, receiver: Option<Stack>) {
        let of_stack = |stack: Option<Stack>| match stack {
            Some(Stack::Linux) => HostStack::Linux,
            Some(_) => HostStack::Other,
            None => HostStack::Unknown,
        };
        let stacks = EndStacks { sender: of_stack(self.stack), receiver: of_stack(receiver) };
        let proposals =
            self.verdict.advice.iter_mut().flatten().filter_map(|advice| advice.proposal.as_mut());
        proposals.for_each(|proposal| proposal.stacks = stacks);
    }

    /// The capture's clock was set while it sent: how long that took, and what limited it when, is not known.
    pub fn forget_times(&mut self) {
        (self.data_us, self.goodput_bps, self.fastest_bps, self.path_rate_bps) = (None, None, None, None);
        (self.verdict, self.ledger) = (Verdict::default(), None);
    }

    /// Adds what is known of the path in `direction`.
    pub fn add_path_facts(&mut self, facts: &PathFacts, direction: Direction) {
        let way = facts.way(direction);
        self.path_rate_bps = way.rate_bps.map(|rate| rate.value);
        self.queue_us = way.queue_us.map(|wait| wait.value);
        self.loss_is_chance = way.loss.is_some_and(|loss| loss.value == LossKind::Chance);
    }
}
