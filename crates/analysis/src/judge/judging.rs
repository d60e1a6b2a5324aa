//! From the rows of a run to the diagnosis of each of its flows, row by row: what is held does not grow with the run.

use super::buffer_causes;
use super::confidence::Grounds;
use super::cwnd_causes::{Around, Losses, Refiner};
use super::datagram_figures::DatagramFigures;
use super::decision::decide;
use super::figures::HolderFigures;
use super::flow_ledger::{FlowLedger, span};
use super::ledger::{FinishedLedger, Holding, JudgedSpan, Ledger, LedgerSums};
use super::packets::arriving;
use super::revisions::{is_carried, offered_and_carried, own_drops, writes_all};
use super::rule::RuleId;
use super::rules::unknown::NOT_SAMPLED;
use super::witness::{self, AppLimited};
use super::{Confidence, Diagnosis, Figures, HeldTime, Span, UnlimitedStart, testbed};
use crate::ground::interval::{self, TimeInterval, carrying};
use crate::ground::statistics::rounded;
use crate::ground::thresholds::{PATIENCE_US, STANDARD, Thresholds};
use crate::infer::KnownRun;
use crate::infer::arrivals::Receiving;
use crate::infer::buffer_track::BufferTrack;
use crate::infer::datagrams::{DatagramCounts, UnreadTrack};
use crate::infer::epochs::{Cutter, Epoch};
use crate::infer::packets::{LineRate, PacketTrack, StreamPackets, line_rate};
use crate::infer::run::{AskedStream, RunFacts};
use crate::infer::slow_start::{SlowStart, slow_starts};
use crate::infer::socket_events::{SocketEvents, together};
use crate::infer::turns::SocketTurns;
use crate::infer::utilisation::Utilisation;
use crate::infer::waits::{Wait, waits};
use pipefill_core::cell::{CellSpec, FlowSpec, Protocol};
use pipefill_core::evidence::{Arrivals, Datagrams, Evidence, PathEvidence, UdpSocketEvidence};
use pipefill_core::limit::LimitedBy;
use pipefill_core::record::{AnyRow, CapturePoint, EndFacts, Manifest, StreamEnd, StreamSummary, Waits};
use std::collections::VecDeque;

/// Finds the diagnosis of each flow of a run whose rows pass by once, in order of time.
pub struct Diagnosing<'a> {
    thresholds: &'a Thresholds,
    facts: RunFacts<'a>,
    flows: Vec<JudgedFlow<'a>>,
    streams: Vec<JudgedStream<'a>>,
    /// When to judge next.
    next_us: u64,
}

/// One flow: what its streams add up to.
struct JudgedFlow<'a> {
    index: u32,
    flow: &'a FlowSpec,
    app_limited: AppLimited,
    /// Of the measured time.
    figures: HolderFigures,
    /// Of the streams' whole lives: for a flow that was shorter than its warm-up.
    whole: HolderFigures,
    utilisation: Option<Utilisation>,
    /// Until when no more had passed than the bottleneck's bucket holds.
    within_burst_to_us: u64,
    /// What the receiving socket shows of datagrams.
    unread: UnreadTrack,
}

/// One TCP stream on the way from samples to its ledger.
struct JudgedStream<'a> {
    stream: AskedStream<'a>,
    /// The scenario that describes it; `None` where none does.
    plan: Option<&'a CellSpec>,
    /// Position of its flow in [`Diagnosing::flows`].
    place: usize,
    measured: TimeInterval,
    cutter: Cutter,
    /// Epochs that have ended and are not judged.
    ended: VecDeque<Epoch>,
    refiner: Refiner<'a>,
    ledger: Ledger,
    /// What the receiving socket shows, where no scenario describes the connection.
    receiving: Receiving<'a>,
    /// Whether its sending socket was sampled, or its packets were captured near it.
    is_sender_seen: bool,
    /// When it was last sampled, at either end.
    sampled_to_us: u64,
    packets: PacketTrack,
    /// What its packets show that it waited for, and is not in the ledger yet.
    waits: VecDeque<Wait>,
    /// Where the last one in the ledger ends.
    waited_to_us: u64,
    /// Whose turn it was by the samples of each end; `None` where a scenario says that the application always writes.
    turns: Option<[SocketTurns<'a>; 2]>,
    /// What happened to it, by its sending socket.
    events: SocketEvents,
    /// What bounds its windows and buffers.
    buffers: BufferTrack,
    /// What is known of its sender's end and of its receiver's.
    ends: [EndFacts<'a>; 2],
    /// Name of its sender's congestion control.
    congestion_control: &'a str,
    /// Where its packets were captured.
    capture_point: CapturePoint,
    line_rate: Option<LineRate>,
}

/// What limits datagrams of which only both ends' counts are known.
pub fn datagrams_limited_by(datagrams: Datagrams) -> LimitedBy {
    let evidence = Evidence { datagrams: Some(datagrams), ..Evidence::default() };
    decide(&evidence, &STANDARD).map_or(LimitedBy::Unknown, |decision| decision.rule.limited_by())
}

/// What a UDP socket by itself shows: who holds what it receives, and the rule.
pub(crate) fn udp_socket_limited_by(socket: UdpSocketEvidence) -> (LimitedBy, RuleId) {
    let evidence = Evidence { udp_socket: Some(socket), ..Evidence::default() };
    let decision = decide(&evidence, &STANDARD);
    decision
        .map_or((LimitedBy::Unknown, NOT_SAMPLED), |decision| (decision.rule.limited_by(), decision.rule.id))
}

impl<'a> Diagnosing<'a> {
    /// Of the run that `manifest` is about.
    pub fn new(manifest: &'a Manifest, thresholds: &'a Thresholds) -> Self {
        Self::of(KnownRun::of(manifest), thresholds)
    }

    /// Of `run`.
    pub fn of(run: KnownRun<'a>, thresholds: &'a Thresholds) -> Self {
        let facts = RunFacts::of(run, thresholds);
        let flows: Vec<JudgedFlow<'_>> =
            carrying(run.flows).map(|(index, flow)| JudgedFlow::new(&facts, index, flow)).collect();
        let streams = run.streams.iter().filter_map(|summary| {
            let place = flows.iter().position(|flow| flow.index == summary.flow)?;
            let flow = flows[place].flow;
            (flow.protocol == Protocol::Tcp).then(|| {
                let (life, measured) = (interval::life(summary), run.measured(summary));
                let [sends, receives] = run.by_role(flow.direction);
                let turns =
                    |end, facts: EndFacts<'_>| SocketTurns::new(end, thresholds).knowing(facts.options);
                JudgedStream {
                    stream: AskedStream { flow_index: summary.flow, flow, summary },
                    plan: run.plan,
                    place,
                    measured,
                    cutter: Cutter::new(life, run.epoch_samples(thresholds), thresholds),
                    ended: VecDeque::new(),
                    refiner: Refiner::new(
                        losses(&facts, flow, summary),
                        run.congestion_control(flow),
                        thresholds,
                    ),
                    ledger: Ledger::new(life, measured),
                    receiving: Receiving::new(thresholds),
                    is_sender_seen: false,
                    sampled_to_us: 0,
                    packets: PacketTrack::default(),
                    waits: VecDeque::new(),
                    waited_to_us: 0,
                    turns: (run.plan.is_none() || !flow.app.is_bulk())
                        .then(|| [turns(StreamEnd::Sender, sends), turns(StreamEnd::Receiver, receives)]),
                    events: SocketEvents::default(),
                    buffers: BufferTrack::new(thresholds),
                    ends: [sends, receives],
                    congestion_control: run.congestion_control(flow),
                    capture_point: CapturePoint::Unknown,
                    line_rate: None,
                }
            })
        });
        let streams = streams.collect();
        Self { thresholds, facts, flows, streams, next_us: 0 }
    }

    /// Takes the next row of any table; its time is not before that of the last one.
    pub fn push(&mut self, row: &AnyRow) {
        self.facts.push(row);
        self.flows.iter_mut().filter_map(|flow| flow.utilisation.as_mut()).for_each(|used| used.observe(row));
        if let AnyRow::Datagrams(row) = row
            && let Some(summary) = self.facts.run.streams.iter().find(|stream| stream.stream == row.stream)
            && let Some(flow) = self.flows.iter_mut().find(|flow| flow.index == summary.flow)
        {
            flow.unread.observe(row);
        }
        let number = match row {
            AnyRow::Tcp(row) => Some(row.stream),
            AnyRow::Packets(row) => Some(row.stream),
            _ => None,
        };
        let is_its = |stream: &&mut JudgedStream<'_>| Some(stream.stream.summary.stream) == number;
        if let Some(stream) = self.streams.iter_mut().find(is_its) {
            self.flows[stream.place].app_limited.observe(row);
            stream.observe(row, self.facts.run.plan.is_none());
            stream.sampled_to_us = row.t_us();
        }
        if row.t_us() >= self.next_us {
            self.judge_and_forget(row.t_us());
        }
    }

    /// What limited each stream when, as far as it is judged: up to about a second before the last row.
    pub fn so_far(&self) -> Vec<Span> {
        let spans = |stream: &JudgedStream<'_>| {
            let index = stream.stream.summary.stream;
            stream.ledger.spans_so_far().into_iter().map(move |step| span(index, step)).collect::<Vec<_>>()
        };
        self.streams.iter().flat_map(spans).collect()
    }

    /// The diagnosis of each flow but pings, after the last row, in the order of the cell. A flow of which nothing was sampled has none.
    pub fn finish(self) -> Vec<Diagnosis> {
        self.finish_with_flow_ledgers().0
    }

    /// The same, with the finished ledger of each flow of TCP.
    pub(crate) fn finish_with_flow_ledgers(mut self) -> (Vec<Diagnosis>, Vec<FlowLedger>) {
        self.judge_to_the_end();
        self.diagnoses()
    }

    /// The same, with the ledger of each TCP stream as the rules left it: before revisions.
    pub(crate) fn finish_with_ledgers(mut self) -> (Vec<Diagnosis>, Vec<FinishedLedger>) {
        self.judge_to_the_end();
        let ledgers = self.streams.iter().map(|stream| stream.ledger.clone().finish()).collect();
        (self.diagnoses().0, ledgers)
    }

    fn judge_to_the_end(&mut self) {
        for stream in &mut self.streams {
            stream.waits.extend(waits(stream.packets.as_slice(), self.thresholds));
            if let Some(turns) = stream.turns_of(StreamEnd::Sender) {
                let found = turns.finish();
                stream.waits.extend(found);
            }
        }
        if self.facts.run.plan.is_none() {
            for stream in &mut self.streams {
                stream.line_rate = line_rate(stream.packets.as_slice(), self.thresholds);
                stream.look_behind_a_queue(self.thresholds);
            }
        }
        for stream in self.streams.iter_mut().filter(|stream| stream.is_sender_seen) {
            let packets = StreamPackets::of(stream.packets.as_slice(), self.thresholds);
            stream.ended.extend(stream.cutter.cut(&packets));
        }
        self.judge(u64::MAX);
        self.judge_what_is_left();
    }

    fn diagnoses(self) -> (Vec<Diagnosis>, Vec<FlowLedger>) {
        let Self { thresholds, facts, flows, mut streams, .. } = self;
        let (mut diagnoses, mut ledgers) = (Vec::new(), Vec::new());
        for (place, flow) in flows.into_iter().enumerate() {
            if flow.flow.protocol == Protocol::Udp {
                diagnoses.extend(flow.diagnosis_of_datagrams(&facts, thresholds));
                continue;
            }
            let its = streams.extract_if(.., |stream| stream.place == place).collect();
            if let Some(ledger) = flow.ledger(&facts, its, thresholds)
                && let Some(diagnosis) = ledger.diagnosis(thresholds)
            {
                diagnoses.push(diagnosis);
                ledgers.push(ledger);
            }
        }
        (diagnoses, ledgers)
    }

    /// Judges what has ended a while ago, and forgets what no later epoch asks for.
    fn judge_and_forget(&mut self, now_us: u64) {
        self.judge(now_us.saturating_sub(PATIENCE_US));
        let needed = self.streams.iter().filter_map(|stream| stream.needs_us(now_us)).min();
        self.facts.history.forget(needed.unwrap_or(now_us));
        self.next_us = now_us.saturating_add(PATIENCE_US);
    }

    /// Judges every epoch that has ended by `until_us`.
    fn judge(&mut self, until_us: u64) {
        for stream in &mut self.streams {
            while let Some(epoch) = stream.ended.pop_front_if(|epoch| epoch.interval.to_us <= until_us) {
                stream.judge(&epoch, &self.facts, &mut self.flows[stream.place]);
            }
        }
    }

    /// Streams that ended before their first epoch did have at least their last samples; of streams whose sending socket was not seen the
    /// receiving one is asked.
    fn judge_what_is_left(&mut self) {
        for stream in &mut self.streams {
            let flow = &mut self.flows[stream.place];
            if flow.whole.is_empty()
                && let Some(epoch) = stream.cutter.rest()
            {
                stream.judge(&epoch, &self.facts, flow);
            }
        }
        for place in 0..self.streams.len() {
            if self.facts.run.plan.is_none() && !self.streams[place].is_sender_seen {
                self.judge_by_the_receiver(place);
            }
        }
        for stream in &mut self.streams {
            stream.judge_waits_until(u64::MAX, &self.facts, &mut self.flows[stream.place]);
            stream.ledger.extend_last_to(stream.sampled_to_us);
        }
    }

    fn judge_by_the_receiver(&mut self, place: usize) {
        let stream = &mut self.streams[place];
        if let Some(turns) = stream.turns_of(StreamEnd::Receiver) {
            let found = turns.finish();
            stream.waits.extend(found);
        }
        let stream = &self.streams[place];
        let direction = stream.stream.flow.direction;
        let is_beside = |(other, it): &(usize, &JudgedStream<'_>)| {
            *other != place && it.stream.flow.direction == direction
        };
        let others: Vec<&Receiving<'_>> =
            self.streams.iter().enumerate().filter(is_beside).map(|(_, it)| &it.receiving).collect();
        let life = interval::life(stream.stream.summary);
        let rounds = stream.receiving.arrivals(life, stream.measured, &others);
        let base_rtt_us = self.facts.base_rtt_us();
        let stream = &mut self.streams[place];
        let is_near = stream.capture_point == CapturePoint::Receiver;
        let packets = is_near.then(|| {
            let packets = StreamPackets::near_receiver(stream.packets.as_slice(), self.thresholds);
            arriving(&packets, stream.ends[0].stack, stream.stream.summary, self.thresholds)
        });
        let mut starts = VecDeque::new();
        if is_near {
            starts.extend(slow_starts(stream.packets.as_slice(), self.thresholds));
        }
        let mut from_us = 0;
        for (interval, arrivals) in rounds {
            from_us = interval.from_us.max(from_us);
            while let Some(start) = starts.pop_front_if(|start| start.interval.from_us < interval.to_us) {
                let before = TimeInterval { from_us, to_us: start.interval.from_us.max(from_us) };
                self.judge_arrivals(place, before, Arrivals { packets, ..arrivals }, base_rtt_us);
                self.judge_slow_start(place, start);
                from_us = from_us.max(start.interval.to_us);
            }
            let rest = TimeInterval { from_us: from_us.min(interval.to_us), ..interval };
            self.judge_arrivals(place, rest, Arrivals { packets, ..arrivals }, base_rtt_us);
        }
        starts.into_iter().for_each(|start| self.judge_slow_start(place, start));
    }

    fn judge_slow_start(&mut self, place: usize, start: SlowStart) {
        let stream = &mut self.streams[place];
        let buffers = stream.buffers.evidence(start.interval.to_us, stream.ends);
        let evidence = Evidence {
            from_us: start.interval.from_us,
            to_us: start.interval.to_us,
            arrivals: Some(Arrivals {
                is_slow_start: start.window_used.is_none() && !start.is_slow,
                grows_in_flights: start.window_used.is_none() && start.is_slow,
                is_idle_restart: start.is_restart,
                window_used: start.window_used,
                ..Arrivals::default()
            }),
            buffers,
            path: PathEvidence { base_rtt_us: start.rtt_us, ..PathEvidence::default() },
            ..Evidence::default()
        };
        stream.judge_evidence(&evidence, Around::default(), &self.facts, &mut self.flows[stream.place]);
    }

    fn judge_arrivals(&mut self, place: usize, interval: TimeInterval, arrivals: Arrivals, base_rtt_us: u64) {
        if interval.length_us() == 0 {
            return;
        }
        let stream = &mut self.streams[place];
        let [_, receiver_quota] = self.facts.quota_uses(stream.stream, interval);
        let evidence = Evidence {
            from_us: interval.from_us,
            to_us: interval.to_us,
            arrivals: Some(arrivals),
            buffers: stream.buffers.evidence(interval.to_us, stream.ends),
            path: PathEvidence {
                base_rtt_us,
                line_rate_bps: stream.line_rate_bps(interval),
                ..PathEvidence::default()
            },
            receiver_quota,
            receiver_thread: self.facts.thread_use(stream.stream, StreamEnd::Receiver, interval),
            ..Evidence::default()
        };
        stream.judge_evidence(&evidence, Around::default(), &self.facts, &mut self.flows[stream.place]);
    }
}

/// What is known of the path for the data of `flow` and its ACKs.
fn losses(facts: &RunFacts<'_>, flow: &FlowSpec, summary: &StreamSummary) -> Losses {
    let way = facts.way(flow.direction);
    Losses {
        data: way.drops,
        acks: facts.way(flow.direction.opposite()).drops,
        is_policer: way.is_policer,
        base_rtt_us: facts.base_rtt_us(),
        sent_again: (summary.tcp.map(|info| (info.retransmits, info.dsack_dups)))
            .or(summary.packets.map(|sample| (sample.retransmits, Some(sample.known_spurious())))),
        has_lost_before: facts.run.before.retransmits > 0,
        observed: facts.run.path.way(flow.direction).inferred,
    }
}

impl<'a> JudgedFlow<'a> {
    fn new(facts: &RunFacts<'a>, index: u32, flow: &'a FlowSpec) -> Self {
        let (run, way) = (&facts.run, facts.way(flow.direction));
        let whole = run.measured_of_flow(index);
        Self {
            index,
            flow,
            app_limited: AppLimited::default(),
            figures: HolderFigures::default(),
            whole: HolderFigures::default(),
            within_burst_to_us: 0,
            utilisation: whole.and_then(|interval| Utilisation::of(run, flow.direction, interval, way)),
            unread: UnreadTrack::default(),
        }
    }

    /// What its streams' ledgers add up to, revised; `None` where nothing was sampled.
    fn ledger(
        self,
        facts: &RunFacts<'_>,
        streams: Vec<JudgedStream<'_>>,
        thresholds: &Thresholds,
    ) -> Option<FlowLedger> {
        if streams.iter().all(|stream| stream.ledger.is_empty()) {
            return None;
        }
        let summaries: Vec<&StreamSummary> = facts.run.streams_of(self.index).collect();
        let way = facts.way(self.flow.direction);
        let is_carried = facts.run.plan.is_none() && self.carries_what_is_offered(&summaries, thresholds);
        let mut ledger = FlowLedger {
            flow: self.index,
            direction: self.flow.direction,
            timeline: Vec::new(),
            sums: LedgerSums::default(),
            of_flow: self.of_flow(facts, &summaries, &streams, thresholds),
            way: way.clone(),
            interval: facts.run.measured_of_flow(self.index).unwrap_or_default(),
            witnesses: witness::all(&summaries, &self.app_limited),
            faults: testbed::faults(&facts.run, self.flow, way.drops, thresholds),
            measured: self.figures,
            whole: self.whole,
            events: together(streams.iter().flat_map(|stream| stream.events.all())),
        };
        for stream in streams {
            ledger.absorb(stream.stream.summary.stream, stream.ledger.finish());
        }
        ledger.revise(own_drops(way.drops, self.flow));
        if facts.run.writes_all {
            ledger.revise(writes_all);
        }
        if is_carried {
            ledger.revise(offered_and_carried);
        }
        Some(ledger)
    }

    /// A UDP socket counts neither what arrives nor what is lost: applications do, where both are ours.
    fn diagnosis_of_datagrams(self, facts: &RunFacts<'_>, thresholds: &Thresholds) -> Option<Diagnosis> {
        let streams: Vec<&StreamSummary> = facts.run.streams_of(self.index).collect();
        let counts = DatagramCounts::of(&streams)?;
        let planned = facts.run.plan.map(|_| facts.way(self.flow.direction).drops);
        let drops = counts.path_drops().or(planned);
        let decision = decide(&counts.evidence(self.flow, &facts.run, drops), thresholds)?;
        let limited_by = decision.rule.limited_by();
        let cause = decision.rule.cause().filter(|_| counts.on_path().is_some());
        let holding = Holding { limited_by, cause, rule: decision.rule.id };
        let (mut timeline, mut sums) = (Vec::new(), LedgerSums::default());
        for stream in &streams {
            let life = interval::life(stream);
            let mut ledger = Ledger::new(life, life);
            ledger.push(JudgedSpan { interval: life, holding, margin: decision.margin, losses: None });
            let FinishedLedger { spans: steps, sums: own } = ledger.finish();
            timeline.extend(steps.into_iter().map(|step| span(stream.stream, step)));
            sums.absorb(own);
        }
        let payload = self.flow.length.get();
        let interval = facts.run.measured_of_flow(self.index).unwrap_or_default();
        let way = drops.map(|_| facts.way(self.flow.direction));
        let possible = way.and_then(|way| way.payload_bps(interval, Protocol::Udp, payload));
        let path_rate = way.and_then(|way| way.rate(interval));
        let figures = Figures {
            loss_share: Some(counts.lost_share()),
            acked_bps: Some(counts.received_bps(payload)),
            path_rate_bps: path_rate.map(|rate| rate.value.bps()),
            path_goodput_bps: possible.map(rounded),
            datagrams: DatagramFigures::of(&counts, &self.unread, &facts.run.path, self.flow.direction),
            ..Figures::default()
        };
        let grounds = Grounds {
            limited_by,
            share: 1.0,
            margin: sums.margin(limited_by),
            witnesses: &[],
            // Both ends' counts do not tell a path that drops from a receiver that is too slow.
            is_ambiguous: drops.is_none() && limited_by != LimitedBy::App,
        };
        Some(Diagnosis {
            flow: self.index,
            protocol: self.flow.protocol,
            direction: self.flow.direction,
            limited_by,
            cause: decision.rule.cause(),
            cwnd_cause: None,
            rule: Some(decision.rule.id),
            margin: sums.margin(limited_by),
            limited_fraction: sums.shares().unwrap_or_else(|| [(limited_by, 1.0)].into()),
            active_limited_by: Some(limited_by),
            active_cause: decision.rule.cause(),
            active_us: Some(sums.active_us()),
            time: vec![HeldTime { limited_by, cause: decision.rule.cause(), us: sums.life_us(), share: 1.0 }],
            timeline,
            figures,
            confidence: Confidence::of(&grounds, thresholds),
            witnesses: Vec::new(),
            events: Vec::new(),
            faults: drops
                .map_or_else(Vec::new, |drops| testbed::faults(&facts.run, self.flow, drops, thresholds)),
        })
    }

    fn carries_what_is_offered(&self, summaries: &[&StreamSummary], thresholds: &Thresholds) -> bool {
        let Some(rate) = self.flow.bitrate else { return false };
        let carried = summaries.iter().map(|stream| {
            let life_us = stream.stop_us.saturating_sub(stream.start_us).max(1);
            stream.received_bytes.saturating_mul(8_000_000) / life_us
        });
        let offered = rate.bps().saturating_mul(u64::from(self.flow.parallel));
        is_carried(offered, carried.sum(), thresholds)
    }

    /// While its bottleneck's bucket was not empty, where that is a considerable part of its time or of its bytes, and let more pass than the rate.
    fn unlimited(&self, facts: &RunFacts<'_>, thresholds: &Thresholds) -> Option<UnlimitedStart> {
        let way = facts.way(self.flow.direction);
        let life = facts.run.streams_of(self.index).map(interval::life).reduce(TimeInterval::around)?;
        let carried: u64 = facts.run.streams_of(self.index).map(|stream| stream.received_bytes).sum();
        let is_beyond_the_rate = life.bps(carried) > way.rate(life)?.value.bps() as f64;
        let lasted_us = self.within_burst_to_us.saturating_sub(life.from_us);
        let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        let share = share(lasted_us, life.length_us()).max(share(way.burst.min(carried), carried));
        let is_told = lasted_us > 0 && is_beyond_the_rate && share >= thresholds.unlimited_told.value();
        is_told.then_some(UnlimitedStart { bucket_bytes: way.burst, lasted_us })
    }

    /// What is known of the whole flow, whoever held it.
    fn of_flow(
        &self,
        facts: &RunFacts<'_>,
        summaries: &[&StreamSummary],
        streams: &[JudgedStream<'_>],
        thresholds: &Thresholds,
    ) -> Figures {
        let (data, acks) = (facts.way(self.flow.direction), facts.way(self.flow.direction.opposite()));
        // Segments sent, those that were sent again, and DSACKs for these.
        let counts = |stream: &&StreamSummary| match (stream.tcp, stream.packets) {
            (Some(info), _) => {
                let (sent, dsacks) = (info.data_segs_out.unwrap_or(0).into(), info.dsack_dups.map(u64::from));
                Some((sent, u64::from(info.retransmits), dsacks))
            }
            (None, Some(sample)) if sample.end == StreamEnd::Sender => {
                Some((sample.segments, u64::from(sample.retransmits), Some(sample.known_spurious().into())))
            }
            _ => None,
        };
        let counts: Vec<(u64, u64, Option<u64>)> = summaries.iter().filter_map(counts).collect();
        let sent: u64 = counts.iter().map(|(sent, ..)| sent).sum();
        let again: u64 = counts.iter().map(|(_, again, _)| again).sum();
        let dsacks: Option<u64> = counts.iter().map(|(.., dsacks)| *dsacks).sum();
        let marked = summaries.iter().filter_map(|stream| match (stream.tcp, stream.packets) {
            (Some(info), _) => info.delivered_ce_segments,
            (None, sample) => sample.map(|sample| sample.ece_acks),
        });
        let marked: u64 = marked.map(u64::from).sum();
        let share = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        let of_packets = summaries.iter().filter_map(|stream| stream.packets).map(|sample| sample.waits);
        let waits = of_packets.chain(streams.iter().filter_map(JudgedStream::waits_in_all));
        let is_mixed = data.drops.random.is_some_and(|n| n > 0) && data.drops.queue.is_some_and(|n| n > 0);
        let random =
            data.drops.random.zip(data.drops.offered).and_then(|(lost, offered)| share(lost, offered));
        Figures {
            loss_share: share(again, sent),
            random_loss_share: random.filter(|_| is_mixed),
            ce_segments: Some(marked).filter(|&marked| marked > 0),
            path_rate_bps: streams.iter().find_map(|stream| stream.line_rate).map(|line| line.bps),
            unlimited: self.unlimited(facts, thresholds),
            spurious_share: dsacks.and_then(|dsacks| share(dsacks, again)).map(|share| share.min(1.0)),
            utilisation: self.utilisation.as_ref().map(Utilisation::share),
            base_rtt_us: facts.run.path.base_rtt_us(),
            ack_loss_share: acks.drops.share(),
            waits: waits.reduce(|sum, waits| sum.plus(&waits)),
            ..Figures::default()
        }
    }
}

impl<'a> JudgedStream<'a> {
    fn judge(&mut self, epoch: &Epoch, facts: &RunFacts<'_>, flow: &mut JudgedFlow<'_>) {
        let direction = self.stream.flow.direction;
        let buffers = self.buffers.evidence(epoch.interval.to_us, self.ends);
        let mut evidence = Evidence { buffers, ..facts.evidence(epoch, self.stream) };
        evidence.path.line_rate_bps = self.line_rate_bps(epoch.interval);
        if let Some(sender) = &mut evidence.sender {
            self.cutter.add_timer_shares(epoch.interval, sender);
            sender.ignores_losses = self.congestion_control == "bbr";
        }
        let stamped_us = evidence.sender.as_ref().and_then(|sender| sender.ack_delay_us);
        let around = Around {
            overflow_us: facts.history.last_overflow_us(direction, epoch.interval.to_us),
            ack_wait_us: facts.ack_wait_us(direction, epoch.interval).or(stamped_us),
        };
        self.judge_evidence(&evidence, around, facts, flow);
    }

    fn judge_evidence(
        &mut self,
        evidence: &Evidence,
        around: Around,
        facts: &RunFacts<'_>,
        flow: &mut JudgedFlow<'_>,
    ) {
        let thresholds = facts.thresholds;
        let interval = TimeInterval { from_us: evidence.from_us, to_us: evidence.to_us };
        self.judge_waits_until(interval.from_us, facts, flow);
        let decision = decide(evidence, thresholds);
        let limited_by = decision.map_or(LimitedBy::Unknown, |decision| decision.rule.limited_by());
        let cause = self.refiner.observe(evidence, limited_by, around);
        let rule = decision.map_or(NOT_SAMPLED, |decision| decision.rule.id);
        let asked = self.plan.map(|plan| (plan, self.stream.flow));
        let cause = cause.or(decision.and_then(|decision| decision.rule.cause()));
        let cause = cause.or_else(|| {
            buffer_causes::cause(limited_by, evidence, asked, self.congestion_control, thresholds)
        });
        let holding = Holding { limited_by, cause, rule };
        let was_cut =
            evidence.sender.as_ref().is_some_and(|sender| sender.has_losses() || sender.has_marks());
        let mut losses = was_cut.then(|| self.refiner.recurred());
        let margin = decision.and_then(|decision| decision.margin);
        let (mut at_us, mut length_us, mut measured_us) = (interval.from_us.max(self.waited_to_us), 0, 0);
        // What it waited for in the interval is not this holder's.
        while at_us < interval.to_us {
            let wait = self.waits.front().map(|wait| wait.interval.from_us.max(at_us));
            let part = TimeInterval { from_us: at_us, to_us: interval.to_us.min(wait.unwrap_or(u64::MAX)) };
            self.ledger.push(JudgedSpan { interval: part, holding, margin, losses: losses.take() });
            length_us += part.length_us();
            measured_us += part.within(self.measured).length_us();
            self.judge_waits_until(interval.to_us.min(part.to_us + 1), facts, flow);
            at_us = part.to_us.max(self.waited_to_us);
        }
        if evidence.path.is_within_burst {
            flow.within_burst_to_us = interval.to_us;
        }
        let stream = self.stream.summary.stream;
        flow.figures.add(stream, evidence, measured_us, holding, around.ack_wait_us);
        flow.whole.add(stream, evidence, length_us, holding, around.ack_wait_us);
    }

    /// Gives the ledger the waits that begin before `until_us`.
    fn judge_waits_until(&mut self, until_us: u64, facts: &RunFacts<'_>, flow: &mut JudgedFlow<'_>) {
        while let Some(wait) = self.waits.pop_front_if(|wait| wait.interval.from_us < until_us) {
            let interval = wait.interval;
            self.waited_to_us = interval.to_us;
            let [sender_quota, receiver_quota] = facts.quota_uses(self.stream, interval);
            // What a scenario's application does in its turn, that says.
            let thread = |end| facts.thread_use(self.stream, end, interval).filter(|_| self.plan.is_none());
            let evidence = Evidence {
                from_us: interval.from_us,
                to_us: interval.to_us,
                waiting: Some(wait.waiting),
                may_lose_full_segments: wait.may_lose_full_segments,
                sender_quota,
                receiver_quota,
                sender_thread: thread(StreamEnd::Sender),
                receiver_thread: thread(StreamEnd::Receiver),
                ..Evidence::default()
            };
            let Some(decision) = decide(&evidence, facts.thresholds) else { continue };
            let (limited_by, cause) = (decision.rule.limited_by(), decision.rule.cause());
            let holding = Holding { limited_by, cause, rule: decision.rule.id };
            self.ledger.push(JudgedSpan { interval, holding, margin: decision.margin, losses: None });
            let stream = self.stream.summary.stream;
            let measured_us = interval.within(self.measured).length_us();
            flow.figures.add(stream, &evidence, measured_us, holding, None);
            flow.whole.add(stream, &evidence, interval.length_us(), holding, None);
        }
    }

    fn observe(&mut self, row: &AnyRow, is_observed: bool) {
        match row {
            AnyRow::Tcp(row) => {
                self.is_sender_seen |= row.end == StreamEnd::Sender;
                self.buffers.add(row);
                self.ended.extend(self.cutter.observe(row));
                if row.end == StreamEnd::Sender {
                    self.events.observe(row);
                }
                if let Some(turns) = self.turns_of(row.end) {
                    turns.observe(row);
                    if row.end == StreamEnd::Sender {
                        let found = turns.take();
                        self.waits.extend(found);
                    }
                }
                if row.end == StreamEnd::Receiver && is_observed {
                    self.receiving.observe(row);
                }
            }
            AnyRow::Packets(row) => {
                self.is_sender_seen |= row.end == StreamEnd::Sender;
                self.capture_point = row.capture_point;
                self.buffers.add_packets(row);
                self.packets.push(row);
                if row.end == StreamEnd::Receiver {
                    self.receiving.observe_packets(row);
                }
            }
            _ => {}
        }
    }

    /// The rate of the link that it fills in most of `interval`.
    fn line_rate_bps(&self, interval: TimeInterval) -> Option<u64> {
        let line = self.line_rate?;
        (2 * line.interval.within(interval).length_us() > interval.length_us()).then_some(line.bps)
    }

    /// Between the ends and behind the path's bottleneck: what passes there shows what arrives, and not what was sent.
    fn look_behind_a_queue(&mut self, thresholds: &'a Thresholds) {
        if self.capture_point != CapturePoint::Between {
            return;
        }
        let mut receiving = Receiving::new(thresholds);
        self.packets.as_slice().iter().for_each(|sample| receiving.observe_packets(sample));
        let life = interval::life(self.stream.summary);
        let rounds = receiving.arrivals(life, self.measured, &[]);
        let is_of_path = |&(_, arrivals): &(TimeInterval, Arrivals)| {
            let evidence = Evidence { arrivals: Some(arrivals), ..Evidence::default() };
            decide(&evidence, thresholds)
                .is_some_and(|decision| decision.rule.limited_by() == LimitedBy::Path)
        };
        if !rounds.is_empty() && rounds.iter().all(is_of_path) {
            (self.receiving, self.is_sender_seen) = (receiving, false);
        }
    }

    fn turns_of(&mut self, end: StreamEnd) -> Option<&mut SocketTurns<'a>> {
        self.turns.as_mut().map(|turns| &mut turns[end as usize])
    }

    /// What it waited for in all, by the samples of the end that is judged.
    fn waits_in_all(&self) -> Option<Waits> {
        let end = if self.is_sender_seen { StreamEnd::Sender } else { StreamEnd::Receiver };
        let sums = self.turns.as_ref().map(|turns| turns[end as usize].sums());
        sums.filter(|sums| sums.total_us() > 0)
    }

    /// Since when its epochs to be judged, or to end after `now_us`, ask for what was. Those of packets are cut at the end.
    fn needs_us(&self, now_us: u64) -> Option<u64> {
        let packets = self.packets.as_slice().first().map(|sample| sample.t_us);
        let waiting = packets.or(self.ended.front().map(|epoch| epoch.interval.from_us));
        waiting.or_else(|| self.cutter.open_since_us(now_us))
    }
}
