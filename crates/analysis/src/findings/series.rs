//! A run as curves over time: what a page draws. Every row is looked at once, and what is kept does not grow with their number.
//!
//! Values of several streams are summed at each moment, as `metrics` does; round trips are their mean. Never: a smoothed value
//! (goodput alone is a mean, over the span between two of its points), or a 0 for something that was not measured.

mod flows;
mod marks;
mod rates;
mod sums;

pub use flows::DrawnFlow;
pub use marks::{Drops, Retransmitted};

use crate::ground::downsampling::{Downsampler, Point, width_us};
use crate::ground::interval::{self, TimeInterval};
use crate::ground::step_function::{Step, StepFunction};
use flows::FlowRates;
use marks::Marks;
use pipefill_core::cell::{CellSpec, Direction, Protocol};
use pipefill_core::record::{
    AnyRow, AqmSample, Element, Manifest, PingSample, Retransmit, StreamEnd, TcpSample,
};
use pipefill_core::tcp_info::CaState;
use std::collections::BTreeMap;
use sums::Sums;

/// Points that all runs of a page may have in a curve together.
const POINTS: usize = 24_000;
/// A run has this many buckets where there are few runs, and no fewer than that where there are many.
const BUCKETS: (usize, usize) = (24, 600);
/// How many streams have bands: more would be too thin to see.
const STREAMS: usize = 4;
/// Pairs of sizes of a ping that get a curve.
const PINGS: usize = 12;

/// What a curve shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// Payload read by the receivers, bits per second, a mean from this point to the next; where flows go both ways there is none.
    Goodput,
    /// The same of all flows of a direction, where flows go both ways and several go this one.
    DirectionGoodput(Direction),
    /// The same of the flow at this place in the cell, where there are several.
    FlowGoodput(u32),
    /// Payload taken by the sending sockets, in the same way; where flows go both ways there is none.
    Sent,
    /// In flight as the kernel counts it, bytes.
    InFlight,
    /// Congestion window, bytes.
    Cwnd,
    /// Advertised window as the sender knew it, bytes.
    Rwnd,
    /// Send queue, memory in bytes.
    Queued,
    /// Its limit, memory in bytes.
    Sndbuf,
    /// Smoothed round trip, microseconds.
    Srtt,
    /// Waiting in the bottleneck's queue in the direction of the data, bytes of frames.
    Backlog,
    /// How long packets waited in that queue where a discipline manages it: the mean since the sample before, microseconds; where the kernel's
    /// qdisc manages it, that of the packet that left last.
    Sojourn,
    /// The probability with which that discipline drops or marks, parts per billion.
    Probability,
    /// Packets that it had marked CE.
    AqmMarks,
    /// Packets that it had dropped though there was room.
    AqmDrops,
    /// Round trips of pings with this payload and reply, microseconds.
    Ping {
        /// Bytes of the request.
        payload: u64,
        /// Bytes of the reply.
        reply: u64,
    },
}

/// One curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// What it shows.
    pub quantity: Quantity,
    /// In order of time.
    pub points: Vec<Point>,
}

/// One run's curves, marks and bands.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSeries {
    /// The run's directory.
    pub directory: String,
    /// From the first byte offered to the last one received.
    pub span: TimeInterval,
    /// Its flows but pings, in the order of the cell.
    pub flows: Vec<DrawnFlow>,
    /// Length of a bucket: of each, a curve has its least and its largest value.
    pub bucket_us: u64,
    /// Sorted by quantity; none without a point.
    pub curves: Vec<Curve>,
    /// Retransmitted segments, bucket by bucket.
    pub retransmitted: Vec<Retransmitted>,
    /// Packets that the path dropped at its queue or its delay element, bucket by bucket.
    pub drops: Vec<Drops>,
    /// Congestion states of the streams that have bands, as sampled.
    pub states: Vec<(u32, Vec<Step<CaState>>)>,
}

/// The streams that have bands: the first one of each flow, of an only flow the first ones.
pub fn with_bands(flows: &[DrawnFlow]) -> Vec<u32> {
    let each = if flows.len() > 1 { 1 } else { STREAMS };
    flows.iter().flat_map(|flow| flow.streams.iter().take(each)).take(STREAMS).copied().collect()
}

/// How many buckets each of `runs` runs gets, so that a page of many stays light.
pub fn buckets(runs: usize) -> usize {
    (POINTS / runs.max(1)).clamp(BUCKETS.0, BUCKETS.1)
}

/// Follows a run whose rows pass by once, in order of time.
#[derive(Debug)]
pub struct Drawing {
    directory: String,
    span: TimeInterval,
    buckets: usize,
    forward: bool,
    flows: Vec<DrawnFlow>,
    rates: FlowRates,
    sums: Sums,
    curves: BTreeMap<Quantity, Downsampler>,
    /// Packets that had left the queue at the discipline's last sample, and the sum of their sojourn times, microseconds.
    left: (u64, u64),
    /// Whether the discipline's samples alone have the backlog: there are none of the path where its summary has the counts.
    draws_backlog_of_discipline: bool,
    marks: Marks,
    states: BTreeMap<u32, States>,
}

/// One stream's congestion states.
#[derive(Debug)]
struct States {
    life: TimeInterval,
    last: Option<(u64, CaState)>,
    states: StepFunction<CaState>,
}

impl Drawing {
    /// Of the run that `manifest` is about, with so many buckets.
    pub fn of(manifest: &Manifest, buckets: usize) -> Self {
        let spec: &CellSpec = &manifest.run.cell.spec;
        let span = span(manifest);
        let flows = flows::drawn(manifest);
        let tcp = || interval::streams_of(&spec.flows, &manifest.streams, Protocol::Tcp);
        // Pings count where there is nothing else: what limits data is in the direction of the data.
        let mut directions: Vec<Direction> = flows.iter().map(|flow| flow.direction).collect();
        if directions.is_empty() {
            directions.extend(spec.flows.iter().map(|flow| flow.direction));
        }
        let forward = directions.contains(&Direction::Forward);
        let is_shown = |direction: Direction| (direction == Direction::Forward) == forward;
        let shown = tcp().filter(|(flow, _)| is_shown(flow.direction));
        let lives: Vec<(u32, TimeInterval)> =
            shown.map(|(_, summary)| (summary.stream, interval::life(summary))).collect();
        let followed = with_bands(&flows);
        let states = tcp().filter(|(_, summary)| followed.contains(&summary.stream)).map(|(_, summary)| {
            (
                summary.stream,
                States { life: interval::life(summary), last: None, states: StepFunction::of(2 * buckets) },
            )
        });
        Self {
            directory: manifest.run.directory.to_string(),
            span,
            buckets,
            forward,
            rates: FlowRates::of(&flows, manifest, span, buckets),
            flows,
            states: states.collect(),
            sums: Sums::of(lives),
            curves: BTreeMap::new(),
            left: (0, 0),
            draws_backlog_of_discipline: manifest.aqm.iter().any(|summary| summary.counted.is_some()),
            marks: Marks::of(manifest, span, width_us(span, buckets)),
        }
    }

    /// Takes the next row of any table; its time is not before that of the last one.
    pub fn push(&mut self, row: &AnyRow) {
        match row {
            AnyRow::Delivery(row) => self.rates.observe(row),
            AnyRow::Tcp(row) if row.end == StreamEnd::Sender => self.sample(row),
            AnyRow::Path(row) => {
                let of_data = (row.direction == Direction::Forward) == self.forward;
                if row.element == Element::Queue && of_data {
                    self.point(Quantity::Backlog, row.t_us, row.backlog_bytes);
                }
                self.marks.dropped(row);
            }
            AnyRow::Aqm(row) if (row.direction == Direction::Forward) == self.forward => self.discipline(row),
            AnyRow::Retransmit(row) => self.count(row),
            AnyRow::Ping(row) => self.answer(row),
            AnyRow::Aqm(_)
            | AnyRow::Tcp(_)
            | AnyRow::Udp(_)
            | AnyRow::Cpu(_)
            | AnyRow::Packets(_)
            | AnyRow::Datagrams(_) => {}
        }
    }

    /// Counts a retransmission; these come in any order.
    pub fn count(&mut self, row: &Retransmit) {
        self.marks.retransmitted(row);
    }

    /// Takes the answer to a ping.
    pub fn answer(&mut self, row: &PingSample) {
        let quantity = Quantity::Ping { payload: row.payload_bytes, reply: row.reply_bytes };
        let pings = self.curves.keys().filter(|quantity| matches!(quantity, Quantity::Ping { .. })).count();
        if let Some(rtt_ns) = row.rtt_ns.filter(|_| pings < PINGS || self.curves.contains_key(&quantity)) {
            self.point(quantity, row.t_us, rtt_ns / 1_000);
        }
    }

    fn discipline(&mut self, row: &AqmSample) {
        if let Some(sojourn_us) = self.sojourn_us(row) {
            self.point(Quantity::Sojourn, row.t_us, sojourn_us);
        }
        if let Some(bytes) = row.backlog_bytes.filter(|_| self.draws_backlog_of_discipline) {
            self.point(Quantity::Backlog, row.t_us, bytes);
        }
        if let Some(probability) = row.probability_ppb {
            self.point(Quantity::Probability, row.t_us, probability);
        }
        self.point(Quantity::AqmMarks, row.t_us, row.marked_packets);
        self.point(Quantity::AqmDrops, row.t_us, row.dropped_packets);
    }

    /// The mean sojourn time since the previous sample; the last packet's, for a qdisc that does not sum them up.
    fn sojourn_us(&mut self, row: &AqmSample) -> Option<u64> {
        let Some(sum_us) = row.sojourn_sum_us else { return row.sojourn_us };
        let (packets, before_us) = std::mem::replace(&mut self.left, (row.packets, sum_us));
        sum_us.saturating_sub(before_us).checked_div(row.packets.saturating_sub(packets))
    }

    /// What is to be drawn, after the last row.
    pub fn finish(self) -> RunSeries {
        let curves = self.curves.into_iter().map(|(quantity, downsampler)| (quantity, downsampler.finish()));
        let drawn = self.rates.finish().chain(curves).filter(|(_, points)| !points.is_empty());
        let mut curves: Vec<Curve> = drawn.map(|(quantity, points)| Curve { quantity, points }).collect();
        curves.sort_by_key(|curve| curve.quantity);
        let (retransmitted, drops) = self.marks.finish();
        let states = self.states.into_iter().map(|(stream, states)| (stream, states.finish()));
        RunSeries {
            directory: self.directory,
            span: self.span,
            bucket_us: width_us(self.span, self.buckets),
            flows: self.flows,
            curves,
            retransmitted,
            drops,
            states: states.filter(|(_, steps)| !steps.is_empty()).collect(),
        }
    }

    fn sample(&mut self, row: &TcpSample) {
        if let Some(states) = self.states.get_mut(&row.stream) {
            states.observe(row);
        }
        self.marks.sampled(row);
        for (quantity, value) in self.sums.observe(row).into_iter().flatten() {
            self.point(quantity, row.t_us, value);
        }
    }

    fn point(&mut self, quantity: Quantity, t_us: u64, value: u64) {
        let downsampler = || Downsampler::of(self.span, self.buckets);
        self.curves.entry(quantity).or_insert_with(downsampler).observe(Point { t_us, value });
    }
}

impl States {
    fn observe(&mut self, row: &TcpSample) {
        let is_alive = (self.life.from_us..self.life.to_us).contains(&row.t_us);
        let Some(state) = row.info.ca_state.filter(|_| is_alive) else { return };
        if let Some((from_us, value)) = self.last.replace((row.t_us, state)) {
            self.states.push(Step { from_us, to_us: row.t_us, value });
        }
    }

    fn finish(mut self) -> Vec<Step<CaState>> {
        if let Some((from_us, value)) = self.last {
            self.states.push(Step { from_us, to_us: self.life.to_us.max(from_us), value });
        }
        self.states.into_steps()
    }
}

/// From the first stream's start to the last one's end.
fn span(manifest: &Manifest) -> TimeInterval {
    let streams = &manifest.streams;
    let from_us = streams.iter().map(|stream| stream.start_us).min().unwrap_or(0);
    let to_us = streams.iter().map(|stream| stream.end_us.max(stream.stop_us)).max().unwrap_or(from_us);
    TimeInterval { from_us, to_us }
}
