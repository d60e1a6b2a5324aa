//! What a stream's packets look like on a wire: addresses, ports, sequence numbers of 32 bits, options as Linux orders them.
//!
//! The simulator numbers bytes from 0, tells windows in bytes and starts its timestamps at 0. Here every end has an initial sequence
//! number, an offset of its timestamps (`tp->tsoffset`) and an IPv4 identification to start from, drawn from the seed.

use crate::segment::{
    Ack, Body, Data, Identity, PingWay, ProtocolIdentity, Segment, TcpIdentity, WINDOW_MAX,
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
    /// Whether the receiver takes a super-packet in one piece.
    pub(super) joins: bool,
    kind: Kind,
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

enum Kind {
    Tcp(TcpIdentity),
    Udp,
    Ping(PingSpec, Box<PathSpec>),
}

/// Who sends a packet: the end that sends the data, or the one that takes it.
const DATA: usize = 0;
const BACK: usize = 1;

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
            ProtocolIdentity::Tcp(tcp) => Kind::Tcp(tcp),
            ProtocolIdentity::Udp => Kind::Udp,
            ProtocolIdentity::Ping => {
                let flow = &run.cell.spec.flows[stream.flow as usize];
                Kind::Ping(flow.ping.clone().unwrap_or_default(), Box::new(path.clone()))
            }
        };
        Self { ends, joins: stream.joins, kind }
    }

    /// IPv4's identification of a packet that leaves: one more than the last, a datagram's for all of its fragments, and none in an
    /// answer of the listening socket (`ip_build_and_send_pkt()`).
    pub(super) fn identify(&mut self, body: &Body) -> u16 {
        let end = &mut self.ends[from(body)];
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

    pub(super) fn headers(&self, segment: &Segment) -> Headers {
        let way = from(&segment.body);
        let (from, to) = (&self.ends[way], &self.ends[1 - way]);
        let ends = [&from.end, &to.end];
        match (&segment.body, &self.kind) {
            (Body::Fragment { way, number, index, .. }, Kind::Ping(spec, path)) => {
                let exchange = exchange(spec, *number);
                let payload = if *way == PingWay::Request { exchange.payload } else { exchange.reply };
                match piece(payload, path, *index) {
                    None => Headers::udp(ends, segment.id, payload.get() as u32),
                    Some(piece) => Headers::udp_piece(ends, segment.id, payload.get() as u32, piece),
                }
            }
            (Body::Datagram { len, .. }, _) => Headers::udp(ends, segment.id, *len),
            (body, Kind::Tcp(tcp)) => {
                let payload = if let Body::Data(data) = body { data.len } else { 0 };
                Headers::tcp(ends, segment.id, &self.tcp(tcp, body, from, to), payload)
            }
            // No stream has another kind of packets than its own.
            (_, Kind::Udp | Kind::Ping(..)) => Headers::udp(ends, segment.id, 0),
        }
    }

    fn tcp(&self, tcp: &TcpIdentity, body: &Body, from: &Numbered, to: &Numbered) -> Tcp {
        let sequence = |number: u64| from.isn.wrapping_add(number as u32);
        let acknowledged = |number: u64| to.isn.wrapping_add(number as u32);
        let stamps = |value: u32, echo: u32| {
            let stamps = (value.wrapping_add(from.ts_offset), echo.wrapping_add(to.ts_offset));
            Some(stamps).filter(|_| tcp.timestamps)
        };
        let scaled = |window: u64| (window >> tcp.scale.unwrap_or(0)).min(WINDOW_MAX) as u16;
        let hello = Tcp { mss: Some(tcp.mss), sack_permitted: true, ..Tcp::default() };
        // The end that sends the data has taken nothing but the SYN of the other.
        let own = Tcp {
            seq: sequence(1),
            ack: acknowledged(1),
            flags: flag::ACK,
            window: tcp.own_window,
            ..Tcp::default()
        };
        match *body {
            Body::Syn { ts } => Tcp {
                seq: sequence(0),
                flags: flag::SYN,
                window: tcp.first_window,
                window_scale: tcp.scale.map(|_| tcp.own_scale),
                timestamps: stamps(ts, 0).map(|(value, _)| (value, 0)),
                ..hello
            },
            Body::SynAck { window, ts, ts_echo } => Tcp {
                seq: sequence(0),
                ack: acknowledged(1),
                flags: flag::SYN | flag::ACK,
                window: window.min(WINDOW_MAX) as u16,
                window_scale: tcp.scale,
                timestamps: stamps(ts, ts_echo),
                ..hello
            },
            Body::HandshakeAck { ts, ts_echo } => Tcp { timestamps: stamps(ts, ts_echo), ..own },
            Body::Probe { seq, ts, ts_echo } => {
                Tcp { seq: sequence(seq), timestamps: stamps(ts, ts_echo), ..own }
            }
            Body::Data(Data { seq, push, ts, ts_echo, .. }) => {
                let flags = flag::ACK | if push { flag::PSH } else { 0 };
                Tcp { seq: sequence(seq), flags, timestamps: stamps(ts, ts_echo), ..own }
            }
            Body::Ack(Ack { ack, window, ts, ts_echo, sacks }) => {
                let mut blocks = [(0, 0); MOST_SACKS];
                for (block, range) in blocks.iter_mut().zip(sacks.blocks()) {
                    *block = (acknowledged(range.start), acknowledged(range.end));
                }
                Tcp {
                    ack: acknowledged(ack),
                    window: scaled(window),
                    timestamps: stamps(ts, ts_echo),
                    sacks: blocks,
                    sack_count: sacks.blocks().len(),
                    ..own
                }
            }
            Body::Datagram { .. } | Body::Fragment { .. } => own,
        }
    }
}

/// Which end sends it.
fn from(body: &Body) -> usize {
    match body {
        Body::Syn { .. }
        | Body::HandshakeAck { .. }
        | Body::Data(_)
        | Body::Probe { .. }
        | Body::Datagram { .. } => DATA,
        Body::SynAck { .. } | Body::Ack(_) => BACK,
        Body::Fragment { way, .. } => match way {
            PingWay::Request => DATA,
            PingWay::Reply => BACK,
        },
    }
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
