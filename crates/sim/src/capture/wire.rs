//! What a stream's packets look like on a wire: addresses, ports, sequence numbers of 32 bits, options as Linux orders them.
//!
//! The simulator numbers bytes from 0, tells windows in bytes and starts its timestamps at 0. Here every end has an initial sequence
//! number, an offset of its timestamps (`tp->tsoffset`) and an IPv4 identification to start from, drawn from the seed.

use crate::segment::{
    Body, Header, Identity, PingWay, ProtocolIdentity, Segment, TcpIdentity, WINDOW_MAX, ecn,
};
use pipefill_capture::write::{End, Headers, MOST_SACKS, Piece, Tcp, flag};
use pipefill_core::address::{self, RECEIVER_MAC, SENDER_MAC};
use pipefill_core::cell::{Direction, PathSpec, PingSpec};
use pipefill_core::plan::Run;
use pipefill_core::prng::Prng;
use pipefill_core::traffic::ping::{exchange, fragment_header, fragments};
use pipefill_core::units::Bytes;

/// The listening ends' ports: one for each flow from here on, as iperf3's.
const FIRST_SERVER_PORT: u16 = 5201;
/// The calling ends': one for each stream (`ip_local_port_range`).
const FIRST_CLIENT_PORT: u16 = 32_768;

/// A stream's own numbers.
pub(super) struct Wire {
    /// The end that sends the data, and the one that takes it.
    ends: [Numbered; 2],
    /// Which way the packets of the first of them go.
    direction: Direction,
    /// Whether each takes a super-packet in one piece.
    pub(super) joins: [bool; 2],
    kind: WireKind,
}

/// An end with what it counts from.
struct Numbered {
    end: End,
    /// Initial sequence number (RFC 9293, 3.4.1).
    isn: u32,
    /// What is added to its TSvals.
    ts_offset: u32,
    /// IPv4's identification of its next packet (`inet->inet_id`).
    next_id: u16,
}

enum WireKind {
    Tcp(TcpIdentity),
    Udp,
    Ping(PingSpec, Box<PathSpec>),
}

impl Wire {
    pub(super) fn new(run: &Run, stream: &Identity) -> Self {
        let path = &run.cell.spec.path;
        let mut chance = Prng::stream(run.seed, &format!("stream {} headers", stream.number));
        let hosts = [
            (SENDER_MAC, address::of_sender(path.family)),
            (RECEIVER_MAC, address::of_receiver(path.family)),
        ];
        let [from, to] = match stream.direction {
            Direction::Forward => hosts,
            Direction::Reverse => [hosts[1], hosts[0]],
        };
        let ports = [
            FIRST_CLIENT_PORT + (stream.number % u32::from(u16::MAX - FIRST_CLIENT_PORT)) as u16,
            FIRST_SERVER_PORT.wrapping_add(stream.flow as u16),
        ];
        let mut end = |(mac, address), port| Numbered {
            end: End { mac, address, port },
            isn: chance.next_u64() as u32,
            ts_offset: chance.next_u64() as u32,
            next_id: chance.next_u64() as u16,
        };
        let ends = [end(from, ports[0]), end(to, ports[1])];
        let kind = match stream.protocol {
            ProtocolIdentity::Tcp(tcp) => WireKind::Tcp(tcp),
            ProtocolIdentity::Udp => WireKind::Udp,
            ProtocolIdentity::Ping => {
                let flow = &run.cell.spec.flows[stream.flow as usize];
                WireKind::Ping(flow.ping.clone().unwrap_or_default(), Box::new(path.clone()))
            }
        };
        Self { ends, direction: stream.direction, joins: stream.joins, kind }
    }

    /// The end whose packets go this way.
    pub(super) fn end_of(&self, direction: Direction) -> usize {
        usize::from(direction != self.direction)
    }

    /// IPv4's identification of a packet that leaves: one more than the last, a datagram's for all of its fragments, and none in an
    /// answer of the listening socket (`ip_build_and_send_pkt()`).
    pub(super) fn identify(&mut self, from: usize, body: &Body) -> u16 {
        let end = &mut self.ends[from];
        match body {
            Body::SynAck { .. } => 0,
            Body::Fragment { number, .. } => end.next_id.wrapping_add(*number as u16),
            _ => {
                let id = end.next_id;
                end.next_id = id.wrapping_add(1);
                id
            }
        }
    }

    /// The headers of a packet that the end `from` sent.
    pub(super) fn headers(&self, from: usize, segment: &Segment) -> Headers {
        let ends = [&self.ends[from].end, &self.ends[1 - from].end];
        match (&segment.body, &self.kind) {
            (Body::Fragment { way, number, index, .. }, WireKind::Ping(spec, path)) => {
                let exchange = exchange(spec, *number);
                let payload = if *way == PingWay::Request { exchange.payload } else { exchange.reply };
                match piece(payload, path, *index) {
                    None => Headers::udp(ends, segment.id, payload.get() as u32),
                    Some(piece) => Headers::udp_piece(ends, segment.id, payload.get() as u32, piece),
                }
            }
            (Body::Datagram { len, .. }, _) => Headers::udp(ends, segment.id, *len),
            (body, WireKind::Tcp(tcp)) => {
                let (payload, field) = match body {
                    Body::Data(data) => (data.len, data.header.ecn & ecn::FIELD),
                    Body::Ack(header) => (0, header.ecn & ecn::FIELD),
                    _ => (0, 0),
                };
                Headers::tcp(ends, segment.id, &self.tcp(tcp, body, from), payload).with_ecn(field)
            }
            // No stream has another kind of packets than its own.
            (_, WireKind::Udp | WireKind::Ping(..)) => Headers::udp(ends, segment.id, 0),
        }
    }

    fn tcp(&self, tcp: &TcpIdentity, body: &Body, from: usize) -> Tcp {
        let (own, other) = (&self.ends[from], &self.ends[1 - from]);
        let sequence = |number: u64| own.isn.wrapping_add(number as u32);
        let acknowledged = |number: u64| other.isn.wrapping_add(number as u32);
        let stamps = |value: u32, echo: u32| {
            let stamps = (value.wrapping_add(own.ts_offset), echo.wrapping_add(other.ts_offset));
            Some(stamps).filter(|_| tcp.timestamps)
        };
        let scale = tcp.scales.map(|scales| scales[from]);
        let hello = Tcp {
            seq: sequence(0),
            mss: Some(tcp.mss),
            sack_permitted: true,
            window_scale: scale,
            ..Tcp::default()
        };
        let established = |header: &Header, flags: u8| {
            let mut blocks = [(0, 0); MOST_SACKS];
            for (block, range) in blocks.iter_mut().zip(header.sacks.blocks(header.ack)) {
                *block = (acknowledged(range.start), acknowledged(range.end));
            }
            Tcp {
                seq: sequence(header.seq),
                ack: acknowledged(header.ack),
                flags: flag::ACK | flags | ecn_flags(header),
                window: (header.window >> scale.unwrap_or(0)).min(WINDOW_MAX) as u16,
                timestamps: stamps(header.ts, header.ts_echo),
                sacks: blocks,
                sack_count: header.sacks.blocks(header.ack).len(),
                ..Tcp::default()
            }
        };
        match body {
            Body::Syn { ts } => Tcp {
                flags: flag::SYN | if tcp.ecn[0] { flag::ECE | flag::CWR } else { 0 },
                window: tcp.first_window,
                timestamps: stamps(*ts, 0).map(|(value, _)| (value, 0)),
                ..hello
            },
            Body::SynAck { window, ts, ts_echo } => Tcp {
                ack: acknowledged(1),
                flags: flag::SYN | flag::ACK | if tcp.ecn[1] { flag::ECE } else { 0 },
                window: (*window).min(WINDOW_MAX) as u16,
                timestamps: stamps(*ts, *ts_echo),
                ..hello
            },
            Body::HandshakeAck(header) | Body::Ack(header) | Body::Probe(header) => established(header, 0),
            Body::Data(data) => established(&data.header, if data.push { flag::PSH } else { 0 }),
            // No connection has such packets.
            Body::Datagram { .. } | Body::Fragment { .. } => Tcp::default(),
        }
    }
}

/// TCP's own bits of ECN.
const fn ecn_flags(header: &Header) -> u8 {
    let echo = if header.ecn & ecn::ECE != 0 { flag::ECE } else { 0 };
    echo | if header.ecn & ecn::CWR != 0 { flag::CWR } else { 0 }
}

/// The fragment `index` of a datagram of `payload`; `None` where it is whole.
fn piece(payload: Bytes, path: &PathSpec, index: u32) -> Option<Piece> {
    let lengths: Vec<u32> = fragments(payload, path).collect();
    if lengths.len() < 2 {
        return None;
    }
    let extension = fragment_header(path.family) as u32;
    let length = |index: usize| lengths.get(index).map_or(0, |length| length - extension);
    Some(Piece { offset: index * length(0), length: length(index as usize) })
}
