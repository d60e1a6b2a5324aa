//! From the rows of a run to the diagnosis of each of its flows, row by row: what is held does not grow with the run.

use super::causes::Causes;
use super::epochs::{Cutter, Epoch};
use super::facts::Facts;
use super::receiver::Receiving;
use super::refine::{Around, Losses, Refiner};
use super::rules::{self, Case, Stream};
use super::timeline::Timeline;
use super::udp::{self, carries_all};
use super::utilisation::Utilisation;
use super::witness::{self, AppLimited};
use super::{Confidence, Diagnosis, Figures, Span, testbed};
use crate::ground::interval::{self, TimeInterval, flow_of};
use crate::ground::models::headers::Headers;
use crate::ground::statistics::rounded;
use pipefill_core::cell::{CellSpec, FlowSpec, Protocol};
use pipefill_core::limit::{CwndCause, LimitedBy};
use pipefill_core::record::{AnyRow, Manifest, StreamEnd, StreamSummary};
use std::collections::{BTreeMap, VecDeque};

/// Rows of other tables, and of other streams, come so much later than what they tell; an epoch waits for them.
const PATIENCE_US: u64 = 1_000_000;

/// Finds the diagnosis of each flow of a run whose rows pass by once, in order of time.
pub struct Diagnosing<'a> {
    manifest: &'a Manifest,
    facts: Facts<'a>,
    flows: Vec<OfFlow<'a>>,
    streams: Vec<OfStream<'a>>,
    /// When to judge next.
    look_us: u64,
}

/// One flow: what its streams add up to.
struct OfFlow<'a> {
    index: u32,
    flow: &'a FlowSpec,
    app_limited: AppLimited,
    /// Of the measured time.
    causes: Causes,
    /// Of the streams' whole lives: for a flow that was shorter than its warm-up.
    whole: Causes,
    utilisation: Option<Utilisation>,
    /// How its busiest thread spent the time in which the CPU limited.
    computed: Mean,
    waited: Mean,
    /// How long ACKs waited while the congestion window limited, microseconds.
    ack_wait: Mean,
}

/// A mean over time.
#[derive(Default)]
struct Mean {
    sum: f64,
    time_us: f64,
}

/// One TCP stream on the way from samples to causes.
struct OfStream<'a> {
    stream: Stream<'a>,
    /// Position of its flow in [`Diagnosing::flows`].
    place: usize,
    measured: TimeInterval,
    cutter: Cutter,
    /// Epochs that have ended and are not judged.
    ended: VecDeque<Epoch>,
    refiner: Refiner,
    timeline: Timeline,
    /// What the receiving socket tells, where nobody planned the connection.
    receiving: Receiving,
    /// Whether its sending socket was sampled.
    is_sender_seen: bool,
}

impl<'a> Diagnosing<'a> {
    /// Of the run that `manifest` is about.
    pub fn new(manifest: &'a Manifest) -> Self {
        let spec = &manifest.run.cell.spec;
        let facts = Facts::of(manifest);
        let is_judged = |(_, flow): &(u32, &FlowSpec)| flow.protocol != Protocol::Ping;
        let flows: Vec<OfFlow<'_>> = (0..)
            .zip(&spec.flows)
            .filter(is_judged)
            .map(|(index, flow)| OfFlow::new(manifest, &facts, index, flow))
            .collect();
        let streams = manifest.streams.iter().filter_map(|summary| {
            let place = flows.iter().position(|one| one.index == summary.flow)?;
            let flow = flows[place].flow;
            (flow.protocol == Protocol::Tcp).then(|| OfStream {
                stream: Stream { index: summary.flow, flow, summary },
                place,
                measured: interval::measured(spec, summary),
                cutter: Cutter::new(interval::life(summary)),
                ended: VecDeque::new(),
                refiner: Refiner::new(losses(&facts, flow, summary)),
                timeline: Timeline::default(),
                receiving: Receiving::default(),
                is_sender_seen: false,
            })
        });
        let streams = streams.collect();
        Self { manifest, facts, flows, streams, look_us: 0 }
    }

    /// Takes the next row of any table; its time is not before that of the last one.
    pub fn take(&mut self, row: &AnyRow) {
        self.facts.take(row);
        self.flows.iter_mut().filter_map(|one| one.utilisation.as_mut()).for_each(|one| one.see(row));
        if let AnyRow::Tcp(row) = row {
            let of = |one: &&mut OfStream<'_>| one.stream.summary.stream == row.stream;
            if let Some(one) = self.streams.iter_mut().find(of) {
                self.flows[one.place].app_limited.see(row);
                one.is_sender_seen |= row.end == StreamEnd::Sender;
                one.ended.extend(one.cutter.see(row));
                if row.end == StreamEnd::Receiver && self.facts.observed.is_some() {
                    one.receiving.see(row);
                }
            }
        }
        if row.t_us() >= self.look_us {
            self.look(row.t_us());
        }
    }

    /// What limited each stream when, as far as it is judged: up to about a second before the last row.
    pub fn so_far(&self) -> Vec<Span> {
        self.streams.iter().flat_map(|one| one.timeline.clone().into_spans()).collect()
    }

    /// The diagnosis of each flow but pings, after the last row, in the order of the cell. A flow of which nothing was sampled has none.
    pub fn finish(mut self) -> Vec<Diagnosis> {
        self.judge(u64::MAX);
        self.judge_what_is_left();
        let Self { manifest, facts, flows, mut streams, .. } = self;
        let of_flow = |(place, flow): (usize, OfFlow<'a>)| match flow.flow.protocol {
            // A UDP socket counts neither what arrives nor what is lost: applications do, where both are ours.
            Protocol::Udp if facts.observed.is_some() => {
                udp::diagnose_observed((flow.index, flow.flow), &summaries(manifest, flow.index))
            }
            Protocol::Udp => {
                let summaries = summaries(manifest, flow.index);
                let drops = facts.way(flow.flow.direction).drops;
                let found = udp::diagnose(facts.spec, (flow.index, flow.flow), &summaries, drops)?;
                Some(Diagnosis {
                    figures: Figures {
                        path_goodput_bps: flow.path_goodput(&facts, &found.figures),
                        ..found.figures
                    },
                    ..found
                })
            }
            _ => {
                let its = streams.extract_if(.., |one| one.place == place);
                let timeline = its.flat_map(|one| one.timeline.into_spans()).collect();
                flow.diagnosis(manifest, &facts, timeline)
            }
        };
        flows.into_iter().enumerate().filter_map(of_flow).collect()
    }

    /// Judges what has ended a while ago, and forgets what nobody will ask for.
    fn look(&mut self, now_us: u64) {
        self.judge(now_us.saturating_sub(PATIENCE_US));
        let needed = self.streams.iter().filter_map(|one| one.needs_us(now_us)).min();
        self.facts.history.forget(needed.unwrap_or(now_us));
        self.look_us = now_us.saturating_add(PATIENCE_US);
    }

    /// Judges every epoch that has ended by `until_us`.
    fn judge(&mut self, until_us: u64) {
        for one in &mut self.streams {
            while let Some(epoch) = one.ended.pop_front_if(|epoch| epoch.to_us <= until_us) {
                one.judge(&epoch, &self.facts, &mut self.flows[one.place]);
            }
        }
    }

    /// Streams that ended before their first epoch did have at least their last samples.
    fn judge_what_is_left(&mut self) {
        for one in &mut self.streams {
            let flow = &mut self.flows[one.place];
            if flow.whole.is_empty()
                && let Some(epoch) = one.cutter.rest()
            {
                one.judge(&epoch, &self.facts, flow);
            }
        }
        for place in 0..self.streams.len() {
            if self.facts.observed.is_some() && !self.streams[place].is_sender_seen {
                self.judge_by_the_receiver(place);
            }
        }
    }

    /// Nobody saw the sending socket of the stream at `place`: what the receiving one tells.
    fn judge_by_the_receiver(&mut self, place: usize) {
        let one = &self.streams[place];
        let direction = one.stream.flow.direction;
        let is_beside =
            |(other, it): &(usize, &OfStream<'_>)| *other != place && it.stream.flow.direction == direction;
        let others: Vec<&Receiving> =
            self.streams.iter().enumerate().filter(is_beside).map(|(_, it)| &it.receiving).collect();
        let spans = one.receiving.judge(interval::life(one.stream.summary), one.measured, &others);
        let one = &mut self.streams[place];
        let flow = &mut self.flows[one.place];
        let stream = one.stream.summary.stream;
        for (span, limited_by) in spans {
            let TimeInterval { from_us, to_us } = span;
            let epoch = Epoch { from_us, to_us, ..Epoch::default() };
            flow.causes.add(stream, &epoch, span.within(one.measured).length_us(), (limited_by, None));
            flow.whole.add(stream, &epoch, span.length_us(), (limited_by, None));
            one.timeline.push(Span { stream, from_us, to_us, limited_by, cwnd_cause: None });
        }
    }
}

/// What is known of the path for the data of `flow` and its ACKs.
fn losses(facts: &Facts<'_>, flow: &FlowSpec, summary: &StreamSummary) -> Losses {
    let way = facts.way(flow.direction);
    Losses {
        data: way.drops,
        acks: facts.way(flow.direction.opposite()).drops,
        is_policer: way.is_policer,
        base_rtt_us: facts.base_rtt_us,
        sent_again: summary.tcp.map(|info| (info.retransmits, info.dsack_dups)),
        observed: facts.observed.map(|path| *path.way(flow.direction)),
    }
}

fn summaries(manifest: &Manifest, index: u32) -> Vec<&StreamSummary> {
    manifest.streams.iter().filter(|one| one.flow == index).collect()
}

impl<'a> OfFlow<'a> {
    fn new(manifest: &'a Manifest, facts: &Facts<'a>, index: u32, flow: &'a FlowSpec) -> Self {
        let spec: &'a CellSpec = &manifest.run.cell.spec;
        let windows = manifest.streams.iter().filter(|one| one.flow == index);
        let whole = windows.map(|one| interval::measured(spec, one)).reduce(TimeInterval::around);
        let streams = manifest.streams.iter().filter_map(|one| Some((one, flow_of(spec, one)?)));
        let way = facts.way(flow.direction);
        Self {
            index,
            flow,
            app_limited: AppLimited::default(),
            causes: Causes::default(),
            whole: Causes::default(),
            utilisation: whole.and_then(|window| Utilisation::of(flow.direction, window, way, streams)),
            computed: Mean::default(),
            waited: Mean::default(),
            ack_wait: Mean::default(),
        }
    }

    fn diagnosis(self, manifest: &Manifest, facts: &Facts<'_>, timeline: Vec<Span>) -> Option<Diagnosis> {
        let causes = if self.causes.is_empty() { &self.whole } else { &self.causes };
        let (mut limited_fraction, mut limited_by, cause) = causes.shares()?;
        let (mut cwnd_cause, mut timeline) = (cause.cwnd_cause(), timeline);
        let summaries = summaries(manifest, self.index);
        if facts.observed.is_some() && self.carries_what_is_offered(&summaries) {
            (limited_by, cwnd_cause) = (LimitedBy::App, None);
            limited_fraction = BTreeMap::from([(limited_by, 1.0)]);
            timeline.iter_mut().for_each(|span| (span.limited_by, span.cwnd_cause) = (limited_by, None));
        }
        let witnesses = witness::all(&summaries, &self.app_limited, limited_by);
        let figures = self.figures(facts, &summaries, cause.figures());
        Some(Diagnosis {
            flow: self.index,
            protocol: self.flow.protocol,
            direction: self.flow.direction,
            limited_by,
            cwnd_cause,
            figures,
            confidence: Some(Confidence::of(limited_fraction[&limited_by], &witnesses)),
            witnesses,
            limited_fraction,
            timeline,
            faults: testbed::faults(facts.spec, self.flow, facts.way(self.flow.direction).drops),
        })
    }

    /// Whether all that its application was to send has arrived: then nothing else was the limit for long, whatever single samples look like.
    fn carries_what_is_offered(&self, summaries: &[&StreamSummary]) -> bool {
        let Some(rate) = self.flow.bitrate else { return false };
        let carried = summaries.iter().map(|one| {
            let life_us = one.stop_us.saturating_sub(one.start_us).max(1);
            one.received_bytes.saturating_mul(8_000_000) / life_us
        });
        carries_all(rate.bps().saturating_mul(u64::from(self.flow.parallel)), carried.sum())
    }

    /// `figures` of the cause, with what is known of the whole flow.
    fn figures(&self, facts: &Facts<'_>, summaries: &[&StreamSummary], figures: Figures) -> Figures {
        let (data, acks) = (facts.way(self.flow.direction), facts.way(self.flow.direction.opposite()));
        let infos = || summaries.iter().filter_map(|one| one.tcp);
        let (sent, again) = infos().fold((0, 0), |sum, info| {
            (sum.0 + u64::from(info.data_segs_out.unwrap_or(0)), sum.1 + u64::from(info.retransmits))
        });
        let dsacks: Option<u64> = infos().map(|info| info.dsack_dups.map(u64::from)).sum();
        let share = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        let is_mixed = data.drops.random.is_some_and(|n| n > 0) && data.drops.queue.is_some_and(|n| n > 0);
        let random =
            data.drops.random.zip(data.drops.offered).and_then(|(lost, offered)| share(lost, offered));
        let least = figures.min_rtt_us.filter(|_| facts.base_rtt_us == 0);
        Figures {
            loss_share: share(again, sent),
            random_loss_share: random.filter(|_| is_mixed),
            spurious_share: dsacks.and_then(|dsacks| share(dsacks, again)).map(|share| share.min(1.0)),
            path_goodput_bps: self.path_goodput(facts, &figures),
            utilisation: self.utilisation.as_ref().map(Utilisation::share),
            base_rtt_us: Some(facts.base_rtt_us).filter(|&us| us > 0).or(least),
            ack_loss_share: acks.drops.share(),
            ack_wait_us: self.ack_wait.get().map(rounded),
            cpu_share: self.computed.get().map(|share| share.min(1.0)),
            cpu_wait_share: self.waited.get().map(|share| share.min(1.0)),
            ..figures
        }
    }

    fn path_goodput(&self, facts: &Facts<'_>, figures: &Figures) -> Option<u64> {
        let payload = match self.flow.protocol {
            Protocol::Udp => self.flow.length.get(),
            _ => figures.mss_bytes.unwrap_or(Headers::of(&facts.spec.path).mss()),
        };
        facts.way(self.flow.direction).payload_bps(self.flow.protocol, payload).map(rounded)
    }
}

impl OfStream<'_> {
    fn judge(&mut self, epoch: &Epoch, facts: &Facts<'_>, of_flow: &mut OfFlow<'_>) {
        let Stream { flow, summary, .. } = self.stream;
        let span = TimeInterval { from_us: epoch.from_us, to_us: epoch.to_us };
        let case = Case { epoch, stream: self.stream, facts };
        let limited_by = rules::limiter(&case);
        let around = Around {
            overflow_us: facts.history.last_overflow_us(flow.direction, epoch.to_us),
            ack_wait_us: facts.ack_wait_us(flow.direction, span),
        };
        let cwnd_cause = self.refiner.see(epoch, limited_by, around);
        if epoch.has_losses() {
            let recurred = self.refiner.recurred();
            of_flow.causes.end_growth(summary.stream, recurred);
            of_flow.whole.end_growth(summary.stream, recurred);
        }
        let drops = facts.way(flow.direction).drops;
        let is_ours = testbed::is_to_blame(drops, flow, limited_by, cwnd_cause);
        let cause: (LimitedBy, Option<CwndCause>) =
            if is_ours { (LimitedBy::Testbed, None) } else { (limited_by, cwnd_cause) };
        match cause.0 {
            LimitedBy::Cpu => {
                let used = case.thread_use();
                of_flow.computed.add(used.computed, span.length_us());
                of_flow.waited.add(used.waited, span.length_us());
            }
            LimitedBy::Cwnd => {
                if let Some(wait_us) = around.ack_wait_us {
                    of_flow.ack_wait.add(wait_us as f64, span.length_us());
                }
            }
            _ => {}
        }
        of_flow.causes.add(summary.stream, epoch, span.within(self.measured).length_us(), cause);
        of_flow.whole.add(summary.stream, epoch, span.length_us(), cause);
        let (limited_by, cwnd_cause) = cause;
        let (from_us, to_us) = (epoch.from_us, epoch.to_us);
        self.timeline.push(Span { stream: summary.stream, from_us, to_us, limited_by, cwnd_cause });
    }

    /// Since when its epochs to be judged, or to end after `now_us`, ask for what was.
    fn needs_us(&self, now_us: u64) -> Option<u64> {
        self.ended.front().map(|epoch| epoch.from_us).or_else(|| self.cutter.open_since_us(now_us))
    }
}

impl Mean {
    fn add(&mut self, value: f64, time_us: u64) {
        self.sum += value * time_us as f64;
        self.time_us += time_us as f64;
    }

    fn get(&self) -> Option<f64> {
        (self.time_us > 0.0).then(|| self.sum / self.time_us)
    }
}
