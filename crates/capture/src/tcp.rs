//! What TCP did, from packets alone: connections, and what each segment was.
//!
//! [`Reconstruction::push`] gets the packets in the order of the capture and hands each segment to an [`Observer`], with the state of both
//! directions after it. The rules are Linux's, with the RFCs behind them; what a capture can't tell is `None`.
//!
//! Memory: [`Limits::connections`] times at most 0.5 kB for a connection without data, and 2 kB for one whose two directions both
//! carry some; 32 bytes for each packet in flight, and room for at most twice as many more; 50 kB for IP packets in fragments. Reading a packet allocates nothing where that holds already.

mod connection;
mod cuts;
mod data;
mod event;
#[cfg(test)]
pub(crate) mod exchange;
mod gaps;
mod half;
mod key;
mod opening;
mod patience;
mod queue;
mod recent;
mod resent;
mod rounds;
mod rtt;
mod scoreboard;
mod sender;
mod side;
mod table;

pub use connection::{Connection, Handshake, Vantage};
pub use event::{Ended, Event, Sacks, SegmentKind};
pub use half::{EcnCounts, Half};
pub use opening::{EcnMode, Opening};
pub use resent::{KnownBy, Spurious};
pub(crate) use rounds::RATE_ROUNDS;
pub use sender::SenderCounts;
pub use side::Side;

use crate::headers::{self, Datagram, Else, Flags, Fragments, Others, Segment};
use crate::read::Packet;
use key::Key;
use table::Table;

/// Gets what was found, as it is found. `()` takes nothing.
pub trait Observer {
    /// A segment; the connection's state is that after it.
    #[inline]
    fn segment(&mut self, _connection: &Connection, _event: &Event) {}

    /// The same for what nearly all segments with data of a bulk transfer are: new data in order, without a flag but ACK and PSH, that acknowledge nothing
    /// new and change no window; never the first after the capture's clock was set back.
    #[inline(always)]
    fn predicted_data(&mut self, connection: &Connection, event: &Event) {
        self.segment(connection, event);
    }

    /// The same for what nearly all ACKs of a bulk transfer are: of something new, without data, SACK blocks or a flag but ACK and PSH; likewise.
    #[inline(always)]
    fn predicted_ack(&mut self, connection: &Connection, event: &Event) {
        self.segment(connection, event);
    }

    /// An earlier retransmission of `side`, which the observer has had as an event, turned out to be needless.
    fn spurious(&mut self, _connection: &Connection, _side: Side, _spurious: &Spurious) {}

    /// A UDP datagram, which belongs to no connection.
    fn datagram(&mut self, _datagram: &Datagram<'_>) {}

    /// The last call for a connection: its state is its summary.
    fn ended(&mut self, _connection: &Connection, _why: Ended) {}
}

impl Observer for () {}

/// Both observers get each event, the first one first.
impl<A: Observer, B: Observer + ?Sized> Observer for (&mut A, &mut B) {
    #[inline(always)]
    fn segment(&mut self, connection: &Connection, event: &Event) {
        self.0.segment(connection, event);
        self.1.segment(connection, event);
    }

    #[inline(always)]
    fn predicted_data(&mut self, connection: &Connection, event: &Event) {
        self.0.predicted_data(connection, event);
        self.1.predicted_data(connection, event);
    }

    #[inline(always)]
    fn predicted_ack(&mut self, connection: &Connection, event: &Event) {
        self.0.predicted_ack(connection, event);
        self.1.predicted_ack(connection, event);
    }

    fn spurious(&mut self, connection: &Connection, side: Side, spurious: &Spurious) {
        self.0.spurious(connection, side, spurious);
        self.1.spurious(connection, side, spurious);
    }

    fn datagram(&mut self, datagram: &Datagram<'_>) {
        self.0.datagram(datagram);
        self.1.datagram(datagram);
    }

    fn ended(&mut self, connection: &Connection, why: Ended) {
        self.0.ended(connection, why);
        self.1.ended(connection, why);
    }
}

/// Bounds of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Connections that are followed at once.
    pub connections: u32,
}

impl Default for Limits {
    /// 2^18: some 500 MB where both directions of each carry data. With the samples and summaries of [`crate::rows`] that stays below 1 GB.
    fn default() -> Self {
        Self { connections: 1 << 18 }
    }
}

/// What a capture had.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counts {
    /// Packets of every kind.
    pub packets: u64,
    /// Packets with a TCP segment that was understood.
    pub tcp: u64,
    /// Connections that were followed.
    pub connections: u64,
    /// Of these, those that had to go before their end.
    pub evicted: u64,
    /// UDP datagrams.
    pub udp: u64,
    /// Packets with neither, by what they are.
    pub others: Others,
}

impl Counts {
    /// Packets that are neither a TCP segment nor a UDP datagram, or can't be understood.
    pub fn not_understood(&self) -> u64 {
        self.others.iter().map(|(_, count)| count).sum()
    }
}

/// Follows all TCP connections of a capture.
pub struct Reconstruction {
    state: ReadingState,
    /// The segment of the last packet; the next one is written in its place.
    segment: Segment,
    fragments: Fragments,
}

struct ReadingState {
    table: Table,
    counts: Counts,
    /// The event of the last segment, kept for its memory.
    event: Event,
}

impl Default for Reconstruction {
    fn default() -> Self {
        Self::new(Limits::default())
    }
}

impl Reconstruction {
    /// Nothing yet.
    pub fn new(limits: Limits) -> Self {
        let state = ReadingState {
            table: Table::new(limits.connections),
            counts: Counts::default(),
            event: Event::none(),
        };
        Self { state, segment: Segment::default(), fragments: Fragments::default() }
    }

    /// The next packet of the capture, of any kind.
    #[inline]
    pub fn push<O: Observer>(&mut self, packet: &Packet<'_>, observer: &mut O) {
        self.state.counts.packets += 1;
        match headers::read(packet, Some(&mut self.fragments), &mut self.segment) {
            Ok(()) => self.state.push(&self.segment, observer),
            Err(Else::Datagram(datagram)) => {
                self.state.counts.udp += 1;
                observer.datagram(&datagram);
            }
            Err(Else::Other(other)) => self.state.counts.others.count(other),
        }
    }

    /// A segment that comes from no packet.
    pub fn take_segment<O: Observer>(&mut self, segment: &Segment, observer: &mut O) {
        self.state.push(segment, observer);
    }

    /// The connections that are followed now.
    pub fn connections(&self) -> impl Iterator<Item = &Connection> {
        self.state.table.iter()
    }

    /// The counts up to the last packet.
    pub fn counts(&self) -> Counts {
        Counts { connections: self.state.table.opened(), ..self.state.counts.clone() }
    }

    /// Bytes of memory that are held; goes through all connections.
    pub fn memory(&self) -> usize {
        self.state.table.memory() + self.fragments.memory()
    }

    /// The capture is over: reports the end of every followed connection to `observer`, in the order of their first packets.
    pub fn finish<O: Observer>(self, observer: &mut O) -> Counts {
        let counts = self.counts();
        let mut left: Vec<_> = self.state.table.into_connections().collect();
        left.sort_unstable_by_key(|connection| connection.id());
        // Each goes when the observer has what it keeps of it.
        for connection in left {
            observer.ended(&connection, Ended::EndOfCapture);
        }
        counts
    }
}

impl ReadingState {
    #[inline]
    fn push<O: Observer>(&mut self, segment: &Segment, observer: &mut O) {
        self.counts.tcp += 1;
        let opens = segment.flags.has(Flags::SYN) || segment.options.mptcp.is_some();
        let same = if opens { None } else { self.table.same_again(segment) };
        let (at, from_high) = same.unwrap_or_else(|| self.find(segment, observer));
        if let Some(connection) = self.table.get(at) {
            let side = connection.side(from_high);
            if opens {
                connection.take_opening(segment, side);
            }
            connection.push(segment, side, &mut self.event, observer);
        }
    }

    /// The connection of `segment`, a new one where it opens one.
    #[inline(never)]
    fn find<O: Observer>(&mut self, segment: &Segment, observer: &mut O) -> (u32, bool) {
        let (key, from_high) = Key::of(segment);
        let mut found = self.table.find(&key);
        if segment.flags.has(Flags::SYN)
            && let Some(at) = found
            && let Some(old) = self.table.get(at)
            && old.is_replaced_by(segment, old.side(from_high))
        {
            if let Some(old) = self.table.remove(at) {
                observer.ended(&old, Ended::Replaced);
            }
            found = None;
        }
        (found.unwrap_or_else(|| self.open(key, segment, from_high, observer)), from_high)
    }

    #[cold]
    #[inline(never)]
    fn open<O: Observer>(&mut self, key: Key, segment: &Segment, from_high: bool, observer: &mut O) -> u32 {
        let make = |id| Connection::new(id, key, segment, from_high);
        let evicted = &mut self.counts.evicted;
        self.table.open(make, segment.time_ns, |gone, why| {
            *evicted += u64::from(why == Ended::Evicted);
            observer.ended(gone, why);
        })
    }
}
