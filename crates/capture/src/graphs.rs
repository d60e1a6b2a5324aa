//! What the graphs of a connection are drawn from: time-sequence, windows, RTT, throughput, of one direction of data.
//!
//! [`Collector`] observes the reconstruction. Memory: [`COMMON_MAX`] spans of 40 bytes for each of what every packet has, some 12 MB for a
//! direction of any length; [`RARE_MAX`] for each of what is rare, which is where a retransmission or a zero window shows alone. Beyond
//! these, neighbours in time are merged into spans from the least to the largest value, which say how many they are: nothing is lost.

mod bins;
mod levels;
mod series;
mod spans;
#[cfg(test)]
mod tests;
pub mod xpl;

pub use bins::Bins;
pub use levels::{Level, choose, levels};
pub use series::Series;
pub use spans::{Spans, ValueSpan};

use crate::headers::{Endpoint, Flags};
use crate::tcp::{Connection, Ended, Event, Observer, SegmentKind, Side, Spurious, Vantage};

/// Spans of a series that every packet may add to.
pub const COMMON_MAX: usize = 20_000;
/// Spans of a series of rare events: retransmissions, zero windows, SYN, FIN.
pub const RARE_MAX: usize = 100_000;

/// What is collected of one connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// [`Connection::id`].
    pub connection: u64,
    /// Who sends the data.
    pub side: Side,
    /// The times that are collected, nanoseconds from the connection's first packet: from, and up to but without; in order, apart from one
    /// another, at least one.
    pub ranges: Vec<[u64; 2]>,
    /// In series that every packet may add to, what comes within one of the times of this length, which follow one another from 0, is one
    /// span from the begin; 0: only where there are too many.
    pub cell_ns: u64,
    /// Spans at most of a series that every packet may add to, at least 2.
    pub common_max: usize,
    /// The same for a series of rare events.
    pub rare_max: usize,
}

impl Wanted {
    /// The whole connection, from [`COMMON_MAX`] and [`RARE_MAX`] spans.
    pub fn whole(connection: u64, side: Side) -> Self {
        let ranges = vec![[0, u64::MAX]];
        Self { connection, side, ranges, cell_ns: 0, common_max: COMMON_MAX, rare_max: RARE_MAX }
    }

    /// Which of the ranges a time is in.
    fn range_of(&self, at_ns: u64) -> Option<usize> {
        let place = self.ranges.partition_point(|range| range[1] <= at_ns);
        self.ranges.get(place).filter(|range| range[0] <= at_ns).map(|_| place)
    }
}

/// One direction of data of a connection over time.
#[derive(Debug, Clone)]
pub struct Graphs {
    wanted: Wanted,
    /// The range that the last segment was in.
    range: Option<usize>,
    /// The last values of what holds until the next.
    holding: [Option<u64>; Series::ALL.len()],
    ends: [Endpoint; 2],
    vantage: Vantage,
    first_ns: Option<u64>,
    length_ns: u64,
    rtt_us: Option<u32>,
    series: Vec<Spans>,
    sent: Bins,
    acked: Bins,
    acked_to: Option<u64>,
    payload_to: u64,
    last_sacks: Vec<(u64, u64)>,
}

impl Graphs {
    fn new(wanted: &Wanted) -> Self {
        let spans = |series: Series| match series.is_rare() {
            true => Spans::new(wanted.rare_max),
            false => Spans::of_cells(wanted.common_max, wanted.cell_ns),
        };
        let bins = Bins::starting_at(wanted.ranges.first().map_or(0, |range| range[0]));
        Self {
            wanted: wanted.clone(),
            range: None,
            holding: [None; Series::ALL.len()],
            ends: [Endpoint::default(); 2],
            vantage: Vantage::Unknown,
            first_ns: None,
            length_ns: 0,
            rtt_us: None,
            series: Series::ALL.map(spans).to_vec(),
            sent: bins.clone(),
            acked: bins,
            acked_to: None,
            payload_to: 0,
            last_sacks: Vec::new(),
        }
    }

    /// [`Connection::id`] of its connection.
    pub const fn connection(&self) -> u64 {
        self.wanted.connection
    }

    /// Who sent the data.
    pub const fn side(&self) -> Side {
        self.wanted.side
    }

    /// The times that were collected, as they were wanted.
    pub fn ranges(&self) -> &[[u64; 2]] {
        &self.wanted.ranges
    }

    /// From the begin of the first of these times to the end of the last, or of the connection.
    pub fn range_ns(&self) -> [u64; 2] {
        let from = self.wanted.ranges.first().map_or(0, |range| range[0]);
        let to = self.wanted.ranges.last().map_or(u64::MAX, |range| range[1]);
        [from.min(self.length_ns), to.min(self.length_ns)]
    }

    /// [`Wanted::cell_ns`].
    pub const fn cell_ns(&self) -> u64 {
        self.wanted.cell_ns
    }

    /// Sender and receiver of the data.
    pub const fn ends(&self) -> [Endpoint; 2] {
        self.ends
    }

    /// Where the capture point is.
    pub const fn vantage(&self) -> Vantage {
        self.vantage
    }

    /// When the connection's first packet passed, nanoseconds since 1970; `None` before it.
    pub const fn first_ns(&self) -> Option<u64> {
        self.first_ns
    }

    /// From the first packet to the last, nanoseconds.
    pub const fn length_ns(&self) -> u64 {
        self.length_ns
    }

    /// The path's RTT, µs: [`Connection::full_rtt_us`], else the least from the capture point to the receiver and back.
    pub const fn rtt_us(&self) -> Option<u32> {
        self.rtt_us
    }

    /// One series.
    pub fn of(&self, series: Series) -> &Spans {
        &self.series[series as usize]
    }

    /// Payload of all data packets, retransmissions included.
    pub const fn sent(&self) -> &Bins {
        &self.sent
    }

    /// Payload that was acknowledged, at the time of its ACK.
    pub const fn acked(&self) -> &Bins {
        &self.acked
    }

    fn push(&mut self, series: Series, at_ns: u64, low: u64, high: u64) {
        if self.wanted.range_of(at_ns).is_some() {
            self.series[series as usize].push(at_ns, low, high);
        }
    }

    /// A value that holds until the next one: nothing where it is the last one still.
    fn change(&mut self, series: Series, at_ns: u64, value: u64) {
        let before = self.holding[series as usize].replace(value);
        if self.range.is_some() && before != Some(value) {
            self.series[series as usize].push(at_ns, value, value);
        }
    }

    /// Where a segment is the first in its range, what held at the range's begin is noted there.
    fn enter(&mut self, at_ns: u64) {
        let range = self.wanted.range_of(at_ns);
        if range == self.range {
            return;
        }
        self.range = range;
        let Some([from_ns, _]) = range.map(|place| self.wanted.ranges[place]) else { return };
        for (spans, value) in self.series.iter_mut().zip(self.holding) {
            if let Some(value) = value {
                spans.push(from_ns, value, value);
            }
        }
    }

    /// Since the connection's first packet.
    fn since(&self, time_ns: u64) -> u64 {
        time_ns.saturating_sub(self.first_ns.unwrap_or(time_ns))
    }

    fn take(&mut self, connection: &Connection, event: &Event) {
        self.first_ns.get_or_insert(connection.first_ns());
        let at = self.since(event.time_ns);
        self.length_ns = self.length_ns.max(at);
        self.enter(at);
        if event.side == self.side() {
            self.take_data(at, event);
        } else {
            self.take_answer(at, event, connection);
        }
        if event.flags.has(Flags::RST) {
            self.push(
                Series::Reset,
                at,
                connection.half(self.side()).sent_to(),
                connection.half(self.side()).sent_to(),
            );
        }
        let [own, peer] = [self.side(), self.side().other()].map(|side| connection.half(side));
        self.change(Series::Outstanding, at, own.unacked_bytes());
        self.change(Series::InFlight, at, own.in_flight_bytes());
        if let Some(bytes) = peer.window_bytes() {
            self.change(Series::Window, at, u64::from(bytes));
        }
    }

    fn take_data(&mut self, at: u64, event: &Event) {
        let is_fin = event.flags.has(Flags::FIN);
        if event.flags.has(Flags::SYN) {
            self.push(Series::Syn, at, event.seq_from, event.seq_to);
        }
        if is_fin {
            self.push(Series::Fin, at, event.seq_to, event.seq_to);
        }
        let Some(series) = Series::of_data(event.kind) else { return };
        if series != Series::Data || event.payload > 0 {
            self.push(series, at, event.seq_from, event.seq_to);
        }
        if event.payload > 0 {
            if self.range.is_some() {
                self.sent.add(at, u64::from(event.payload));
            }
            self.payload_to = self.payload_to.max(event.seq_to.saturating_sub(u64::from(is_fin)));
        }
    }

    fn take_answer(&mut self, at: u64, event: &Event, connection: &Connection) {
        let own = connection.half(self.side());
        let Some(ack) = event.ack else { return };
        let acked_to = own.acked_to();
        self.change(Series::Ack, at, acked_to);
        let payload = acked_to.min(self.payload_to);
        let before = self.acked_to.replace(acked_to).map_or(payload, |before| before.max(1));
        if self.range.is_some() {
            self.acked.add(at, payload.saturating_sub(before));
        }
        if event.kind == SegmentKind::DuplicateAck {
            self.push(Series::DuplicateAck, at, ack, ack);
        }
        if let Some(bytes) = event.window_bytes {
            self.change(Series::WindowEdge, at, ack.saturating_add(u64::from(bytes)));
            if bytes == 0 && !event.flags.has(Flags::SYN) {
                self.push(Series::ZeroWindow, at, ack, ack);
            }
        }
        self.take_sacks(at, event);
        if let Some(us) = event.rtt_us {
            self.push(Series::Rtt, at, u64::from(us), u64::from(us));
        }
        if let Some(us) = own.srtt_us() {
            self.change(Series::Srtt, at, u64::from(us));
        }
    }

    fn take_sacks(&mut self, at: u64, event: &Event) {
        let (twice, behind) = event.sacks.blocks().split_at(usize::from(event.is_dsack));
        for &(left, right) in twice {
            self.push(Series::Dsack, at, left, right);
        }
        for &(left, right) in behind {
            if !self.last_sacks.contains(&(left, right)) {
                self.push(Series::Sack, at, left, right);
            }
        }
        self.last_sacks.clear();
        self.last_sacks.extend_from_slice(behind);
    }

    fn end(&mut self, connection: &Connection) {
        self.ends = [self.side(), self.side().other()].map(|side| connection.endpoint(side));
        self.vantage = connection.vantage();
        self.rtt_us = connection.full_rtt_us().or_else(|| connection.half(self.side()).min_rtt_us());
    }
}

/// Collects what the graphs of some connections are drawn from.
#[derive(Debug, Clone)]
pub struct Collector(Vec<Graphs>);

impl Collector {
    /// What is wanted of each connection.
    pub fn new(wanted: &[Wanted]) -> Self {
        Self(wanted.iter().map(Graphs::new).collect())
    }

    /// In the order in which they were wanted; complete once the reconstruction is finished.
    pub fn into_graphs(self) -> Vec<Graphs> {
        self.0
    }

    fn of(&mut self, connection: &Connection) -> impl Iterator<Item = &mut Graphs> {
        let id = connection.id();
        self.0.iter_mut().filter(move |graphs| graphs.connection() == id)
    }
}

impl Observer for Collector {
    fn segment(&mut self, connection: &Connection, event: &Event) {
        self.of(connection).for_each(|graphs| graphs.take(connection, event));
    }

    fn spurious(&mut self, connection: &Connection, side: Side, spurious: &Spurious) {
        for graphs in self.of(connection).filter(|graphs| graphs.side() == side) {
            let at = graphs.since(spurious.sent_ns);
            graphs.push(Series::Spurious, at, spurious.seq_from, spurious.seq_to);
        }
    }

    fn ended(&mut self, connection: &Connection, _why: Ended) {
        self.of(connection).for_each(|graphs| graphs.end(connection));
    }
}
