//! Why a run was as fast as it was: what limited each stream, when, and for what share of the time.
//!
//! Samples become epochs of at least a round trip ([`epochs`]), each epoch gets a cause ([`rules`]), the congestion window is
//! refined ([`refine`]), and what is left is counted. `docs/guide/verdicts.md` explains every rule. Never: a rule that asks
//! who made the record, or a verdict from one witness alone where there are several (see [`Witness`]).

mod causes;
mod confidence;
mod epochs;
mod facts;
mod history;
mod refine;
mod rules;
#[cfg(test)]
mod samples;
mod stall;
mod testbed;
mod timeline;
mod udp;
mod witness;

pub use confidence::Confidence;
pub use witness::Witness;

use crate::metrics::window::{self, Window, streams_of};
use causes::Causes;
use epochs::{Cutter, Epoch};
use facts::Facts;
use pipefill_core::cell::Protocol;
use pipefill_core::limit::{CwndCause, LimitedBy};
use pipefill_core::record::{AnyRow, Manifest};
use refine::Refiner;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use timeline::Timeline;
use witness::AppLimited;

/// What limited one run.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Diagnosis {
    /// The category with the largest share of the time.
    pub limited_by: LimitedBy,
    /// Where that is the congestion window: why it was no larger.
    pub cwnd_cause: Option<CwndCause>,
    /// Category → share of the measured time, all streams; the shares add up to one.
    pub limited_fraction: BTreeMap<LimitedBy, f64>,
    /// Every stream's spans in order of time; neighbours with the same cause are one.
    pub timeline: Vec<Span>,
    /// What the figures of the verdict come from, medians over the epochs of its cause.
    pub figures: Figures,
    /// How sure that is; `None` in records judged before there was such a word.
    #[serde(default)]
    pub confidence: Option<Confidence>,
    /// Others who have an opinion on the cause.
    pub witnesses: Vec<Witness>,
    /// What is wrong with the testbed, a sentence each.
    #[serde(default)]
    pub faults: Vec<String>,
}

/// A cause that stood for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Span {
    /// Stream of the run.
    pub stream: u32,
    /// Since when, microseconds.
    pub from_us: u64,
    /// Until when.
    pub to_us: u64,
    /// The cause.
    pub limited_by: LimitedBy,
    /// Where it is the congestion window: why.
    pub cwnd_cause: Option<CwndCause>,
}

/// What the arithmetic of a verdict needs; medians over the epochs of its cause, sums over the streams.
#[derive(Debug, Clone, Copy, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Figures {
    /// Peak of `snd_nxt − snd_una` in a round trip.
    pub flight_bytes: Option<u64>,
    /// Mean over the time in which the streams moved.
    pub flight_mean_bytes: Option<u64>,
    /// Share of the time in which a stream with data out heard of nothing delivered for longer than a round trip.
    pub stalled_share: Option<f64>,
    /// Mean over that time of the smoothed round trip, by which `flight_mean_bytes` gives the rate (Little's law).
    pub rtt_mean_us: Option<u64>,
    /// Payload acknowledged while this was the limit, bits per second.
    pub acked_bps: Option<u64>,
    /// Congestion window.
    pub cwnd_bytes: Option<u64>,
    /// Window that the receivers advertised.
    pub rwnd_bytes: Option<u64>,
    /// Memory of the send queues.
    pub wmem_queued_bytes: Option<u64>,
    /// Its limit.
    pub sndbuf_bytes: Option<u64>,
    /// Smoothed round trip.
    pub srtt_us: Option<u64>,
    /// Least round trip.
    pub min_rtt_us: Option<u64>,
    /// Pacing rate.
    pub pacing_rate_bps: Option<u64>,
    /// Payload of a full segment.
    pub mss_bytes: Option<u64>,
    /// Segments lost of those sent, in the measured time.
    pub loss_share: Option<f64>,
    /// Of those sent, lost by chance; where the queue dropped others. Theory of random losses knows these only.
    #[serde(default)]
    pub random_loss_share: Option<f64>,
    /// What the path's rate lets through as payload.
    pub path_goodput_bps: Option<u64>,
    /// Payload acknowledged, all streams of the direction, over what the path lets through in it; one at most.
    pub utilisation: Option<f64>,
}

/// Rows of other tables, and of other streams, come so much later than what they tell; an epoch waits for them.
const PATIENCE_US: u64 = 1_000_000;

/// Finds the diagnosis of a run whose rows pass by once, in order of time.
pub struct Diagnosing<'a> {
    manifest: &'a Manifest,
    facts: Facts<'a>,
    streams: Vec<Judging<'a>>,
    app_limited: AppLimited,
    causes: Causes,
    /// When to judge next.
    look_us: u64,
}

/// One stream on the way from samples to causes.
struct Judging<'a> {
    stream: rules::Stream<'a>,
    measured: Window,
    cutter: Cutter,
    /// Epochs that have ended and are not judged.
    ended: VecDeque<Epoch>,
    refiner: Refiner,
    timeline: Timeline,
}

impl<'a> Diagnosing<'a> {
    /// Of the run that `manifest` is about.
    pub fn new(manifest: &'a Manifest) -> Self {
        let spec = &manifest.run.cell.spec;
        let facts = Facts::of(manifest);
        let streams = streams_of(spec, &manifest.streams, Protocol::Tcp).map(|(flow, summary)| Judging {
            stream: rules::Stream { flow, summary },
            measured: window::measured(spec, summary),
            cutter: Cutter::new(window::life(summary)),
            ended: VecDeque::new(),
            refiner: Refiner::new(&facts),
            timeline: Timeline::default(),
        });
        let streams = streams.collect();
        Self {
            manifest,
            facts,
            streams,
            app_limited: AppLimited::default(),
            causes: Causes::default(),
            look_us: 0,
        }
    }

    /// Takes the next row of any table; its time is not before that of the last one.
    pub fn take(&mut self, row: &AnyRow) {
        if self.streams.is_empty() {
            return;
        }
        self.facts.take(row);
        if let AnyRow::Tcp(row) = row {
            self.app_limited.see(row);
            let of = |one: &&mut Judging<'_>| one.stream.summary.stream == row.stream;
            if let Some(one) = self.streams.iter_mut().find(of) {
                one.ended.extend(one.cutter.see(row));
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

    /// The diagnosis, after the last row; `None` where nothing was sampled.
    pub fn finish(mut self) -> Option<Diagnosis> {
        if self.streams.is_empty() {
            return udp::diagnose(self.manifest);
        }
        self.judge(u64::MAX);
        let direction = self.streams.last().map(|one| one.stream.flow.direction)?;
        let (limited_fraction, limited_by, cause) = self.causes.shares()?;
        let witnesses = witness::all(self.manifest, &self.app_limited, limited_by);
        Some(Diagnosis {
            limited_by,
            cwnd_cause: cause.cwnd_cause(),
            figures: cause.figures(&self.facts),
            confidence: Some(Confidence::of(limited_fraction[&limited_by], &witnesses)),
            witnesses,
            limited_fraction,
            timeline: self.streams.into_iter().flat_map(|one| one.timeline.into_spans()).collect(),
            faults: testbed::faults(&self.manifest.run.cell.spec, direction, self.facts.drops),
        })
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
                one.judge(&epoch, &self.facts, &mut self.causes);
            }
        }
    }
}

impl Judging<'_> {
    fn judge(&mut self, epoch: &Epoch, facts: &Facts<'_>, causes: &mut Causes) {
        let rules::Stream { flow, summary } = self.stream;
        let limited_by = rules::limiter(epoch, &self.stream, facts, &facts.busy(flow.direction));
        let overflow_us = facts.history.last_overflow_us(flow.direction, epoch.to_us);
        let cwnd_cause = self.refiner.see(epoch, limited_by, overflow_us);
        let is_ours = testbed::is_to_blame(facts.drops, flow, limited_by, cwnd_cause);
        let (limited_by, cwnd_cause) =
            if is_ours { (LimitedBy::Testbed, None) } else { (limited_by, cwnd_cause) };
        let span = Window { from_us: epoch.from_us, to_us: epoch.to_us };
        causes.add(summary.stream, epoch, span.within(self.measured).length_us(), (limited_by, cwnd_cause));
        let stream = summary.stream;
        self.timeline.push(Span {
            stream,
            from_us: epoch.from_us,
            to_us: epoch.to_us,
            limited_by,
            cwnd_cause,
        });
    }

    /// Since when its epochs to be judged, or to end after `now_us`, ask for what was.
    fn needs_us(&self, now_us: u64) -> Option<u64> {
        self.ended.front().map(|epoch| epoch.from_us).or_else(|| self.cutter.open_since_us(now_us))
    }
}
