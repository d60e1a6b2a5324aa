//! What the graphs of a connection are drawn from: time-sequence, windows, RTT, throughput, of one direction of data.
//!
//! [`Collector`] observes the reconstruction. Memory: [`COMMON_MAX`] spans of 40 bytes for each of what every packet has, some 12 MB for a
//! direction of any length; [`RARE_MAX`] for each of what is rare, which is where a retransmission or a zero window shows alone. Beyond
//! these, neighbours in time are merged into spans from the least to the largest value, which say how many they are: nothing is lost.

mod bins;
mod spans;
#[cfg(test)]
mod tests;
pub mod xpl;

pub use bins::Bins;
pub use spans::{Span, Spans};

use crate::headers::{Endpoint, Flags};
use crate::tcp::{Connection, Ended, Event, Kind, Observer, Side, Spurious, Vantage};

/// Spans of a series that every packet may add to.
pub const COMMON_MAX: usize = 20_000;
/// Spans of a series of rare events: retransmissions, zero windows, SYN, FIN.
pub const RARE_MAX: usize = 100_000;

/// What is collected over time. Sequence numbers count from the sender's first, as [`Event`] has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Series {
    /// Sequence numbers of data that was sent for the first time.
    Data,
    /// Sequence numbers sent again in fast recovery.
    FastRetransmit,
    /// Sequence numbers sent again after a timeout.
    RtoRetransmit,
    /// Sequence numbers sent again as a probe for a lost tail.
    TlpRetransmit,
    /// Those of the three that were for nothing, at the time when they were sent.
    Spurious,
    /// Sequence numbers of data that others overtook before the capture point.
    OutOfOrder,
    /// Sequence numbers that an ACK reports as received behind a hole, and the ACK before did not.
    Sack,
    /// Sequence numbers reported as received twice (RFC 2883).
    Dsack,
    /// The ACK of a duplicate ACK.
    DuplicateAck,
    /// The ACK of a segment that advertises a window of 0.
    ZeroWindow,
    /// A probe for a window.
    ZeroWindowProbe,
    /// The SYN of the data's sender.
    Syn,
    /// Its FIN.
    Fin,
    /// A reset by either side.
    Reset,
    /// What is acknowledged; holds until the next.
    Ack,
    /// ACK and advertised window together; holds until the next, and is absent where the scale is not known.
    WindowEdge,
    /// Bytes sent and not acknowledged; holds until the next.
    Outstanding,
    /// Bytes on their way: outstanding without what was SACKed or is taken for lost; holds until the next.
    InFlight,
    /// The advertised window, bytes; holds until the next, and is absent where the scale is not known.
    Window,
    /// RTT samples, µs, from the capture point to the receiver and back.
    Rtt,
    /// The smoothed RTT, µs; holds until the next.
    Srtt,
}

impl Series {
    /// Every one, in their order.
    pub const ALL: [Self; 21] = [
        Self::Data,
        Self::FastRetransmit,
        Self::RtoRetransmit,
        Self::TlpRetransmit,
        Self::Spurious,
        Self::OutOfOrder,
        Self::Sack,
        Self::Dsack,
        Self::DuplicateAck,
        Self::ZeroWindow,
        Self::ZeroWindowProbe,
        Self::Syn,
        Self::Fin,
        Self::Reset,
        Self::Ack,
        Self::WindowEdge,
        Self::Outstanding,
        Self::InFlight,
        Self::Window,
        Self::Rtt,
        Self::Srtt,
    ];

    /// Whether it is of single events that must be seen each.
    pub const fn is_rare(self) -> bool {
        matches!(
            self,
            Self::FastRetransmit
                | Self::RtoRetransmit
                | Self::TlpRetransmit
                | Self::Spurious
                | Self::ZeroWindow
                | Self::ZeroWindowProbe
                | Self::Syn
                | Self::Fin
                | Self::Reset
        )
    }

    const fn of_data(kind: Kind) -> Option<Self> {
        match kind {
            Kind::New => Some(Self::Data),
            Kind::FastRetransmit => Some(Self::FastRetransmit),
            Kind::RtoRetransmit => Some(Self::RtoRetransmit),
            Kind::TlpRetransmit => Some(Self::TlpRetransmit),
            Kind::OutOfOrder => Some(Self::OutOfOrder),
            Kind::ZeroWindowProbe => Some(Self::ZeroWindowProbe),
            _ => None,
        }
    }
}

/// One direction of data of a connection over time.
#[derive(Debug, Clone)]
pub struct Graphs {
    connection: u64,
    side: Side,
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
    fn new(connection: u64, side: Side) -> Self {
        let spans = |series: Series| Spans::new(if series.is_rare() { RARE_MAX } else { COMMON_MAX });
        Self {
            connection,
            side,
            ends: [Endpoint::default(); 2],
            vantage: Vantage::Unknown,
            first_ns: None,
            length_ns: 0,
            rtt_us: None,
            series: Series::ALL.map(spans).to_vec(),
            sent: Bins::default(),
            acked: Bins::default(),
            acked_to: None,
            payload_to: 0,
            last_sacks: Vec::new(),
        }
    }

    /// [`Connection::id`] of its connection.
    pub const fn connection(&self) -> u64 {
        self.connection
    }

    /// Who sent the data.
    pub const fn side(&self) -> Side {
        self.side
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
        self.series[series as usize].push(at_ns, low, high);
    }

    fn change(&mut self, series: Series, at_ns: u64, value: u64) {
        self.series[series as usize].change(at_ns, value);
    }

    /// Since the connection's first packet.
    fn since(&self, time_ns: u64) -> u64 {
        time_ns.saturating_sub(self.first_ns.unwrap_or(time_ns))
    }

    fn take(&mut self, connection: &Connection, event: &Event) {
        self.first_ns.get_or_insert(connection.first_ns());
        let at = self.since(event.time_ns);
        self.length_ns = self.length_ns.max(at);
        if event.side == self.side {
            self.take_data(at, event);
        } else {
            self.take_answer(at, event, connection);
        }
        if event.flags.has(Flags::RST) {
            self.push(
                Series::Reset,
                at,
                connection.half(self.side).sent_to(),
                connection.half(self.side).sent_to(),
            );
        }
        let [own, peer] = [self.side, self.side.other()].map(|side| connection.half(side));
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
            self.sent.add(at, u64::from(event.payload));
            self.payload_to = self.payload_to.max(event.seq_to - u64::from(is_fin));
        }
    }

    fn take_answer(&mut self, at: u64, event: &Event, connection: &Connection) {
        let own = connection.half(self.side);
        let Some(ack) = event.ack else { return };
        let acked_to = own.acked_to();
        self.change(Series::Ack, at, acked_to);
        let payload = acked_to.min(self.payload_to);
        let before = self.acked_to.replace(acked_to).map_or(payload, |before| before.max(1));
        self.acked.add(at, payload.saturating_sub(before));
        if event.kind == Kind::DuplicateAck {
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
        self.ends = [self.side, self.side.other()].map(|side| connection.endpoint(side));
        self.vantage = connection.vantage();
        self.rtt_us = connection.full_rtt_us().or_else(|| connection.half(self.side).min_rtt_us());
    }
}

/// Collects what the graphs of some connections are drawn from.
#[derive(Debug, Clone)]
pub struct Collector(Vec<Graphs>);

impl Collector {
    /// Of each connection, by its [`Connection::id`], what one side sends.
    pub fn new(wanted: &[(u64, Side)]) -> Self {
        Self(wanted.iter().map(|&(connection, side)| Graphs::new(connection, side)).collect())
    }

    /// In the order in which they were wanted; complete once the reconstruction is finished.
    pub fn into_graphs(self) -> Vec<Graphs> {
        self.0
    }

    fn of(&mut self, connection: &Connection) -> impl Iterator<Item = &mut Graphs> {
        let id = connection.id();
        self.0.iter_mut().filter(move |graphs| graphs.connection == id)
    }
}

impl Observer for Collector {
    fn segment(&mut self, connection: &Connection, event: &Event) {
        self.of(connection).for_each(|graphs| graphs.take(connection, event));
    }

    fn spurious(&mut self, connection: &Connection, side: Side, spurious: &Spurious) {
        for graphs in self.of(connection).filter(|graphs| graphs.side == side) {
            let at = graphs.since(spurious.sent_ns);
            graphs.push(Series::Spurious, at, spurious.seq_from, spurious.seq_to);
        }
    }

    fn ended(&mut self, connection: &Connection, _why: Ended) {
        self.of(connection).for_each(|graphs| graphs.end(connection));
    }
}
