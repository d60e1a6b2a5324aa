//! One stream: both ends, their applications, and its way to the path.

use crate::apps::{Reader, Writer};
use crate::handshake::{Handshake, Learned};
use crate::network::Network;
use crate::ping::PingStream;
use crate::segment::{Body, Identity, Ip, PingWay, ProtocolIdentity, Segment, TcpIdentity, WINDOW_MAX};
use crate::tcp::receiver::Receiver;
use crate::tcp::sender::Sender;
use crate::udp::UdpStream;
use pipefill_core::cell::Direction;
use pipefill_core::units::Time;
use pipefill_link::Packet;

/// A TCP sender numbers its super-packets from one; a stream's other packets begin here.
const OWN_GSO_IDS: u64 = 1 << 39;

/// A stream with its place in the run.
#[derive(Debug)]
pub(crate) struct Stream {
    /// Number in the run.
    pub(crate) number: u32,
    /// Index of its flow.
    pub(crate) flow: u32,
    /// Which way its data goes.
    pub(crate) direction: Direction,
    pub(crate) transport: Transport,
    /// The path's packets.
    ip: Ip,
    /// The traffic has not begun: nothing acts of itself.
    pub(crate) is_held: bool,
    /// Numbers of what is not the TCP sender's; from [`OWN_GSO_IDS`] on.
    last_gso_id: u64,
}

/// What carries it.
#[derive(Debug)]
pub(crate) enum Transport {
    Tcp(Box<TcpStream>),
    Udp(Box<UdpStream>),
    Ping(Box<PingStream>),
}

/// Both ends of a TCP stream.
#[derive(Debug)]
pub(crate) struct TcpStream {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    handshake: Handshake,
    /// The applications; `None` until the traffic starts.
    pub(crate) applications: Option<(Writer, Reader)>,
    first_window: u64,
    messages: Vec<(bool, Body)>,
}

impl TcpStream {
    pub(crate) fn new(sender: Sender, receiver: Receiver) -> Self {
        let first_window = receiver.first_window();
        let handshake = Handshake::default();
        Self { sender, receiver, handshake, applications: None, first_window, messages: Vec::new() }
    }

    pub(crate) fn connect(&mut self, now: Time) {
        let syn = self.handshake.connect(now);
        self.messages.push((true, syn));
    }

    fn identity(&self) -> TcpIdentity {
        let host = self.sender.host;
        let advertised = host.ip.advertised_mss();
        let own = Receiver::new(host, None);
        // `tcp_connect_init()`: whole segments without options, since no timestamp has come yet.
        let space = own.full_space().min(WINDOW_MAX);
        let mss = u64::from(advertised);
        let first_window = if space > mss { space / mss * mss } else { space };
        let scales = self.receiver.host.window_scaling;
        let own_scale = if scales { own.scale } else { 0 };
        TcpIdentity {
            mss: advertised as u16,
            timestamps: host.timestamps,
            scale: scales.then_some(self.receiver.scale as u8),
            own_window: first_window.div_ceil(1 << own_scale) as u16,
            own_scale: own_scale as u8,
            first_window: first_window as u16,
        }
    }

    /// When an application acts of itself.
    fn next_application(&self) -> Option<Time> {
        let applications = self.applications.as_ref();
        applications.and_then(|(writer, reader)| Time::earliest(writer.next(&self.sender), reader.next()))
    }

    /// Whether an application that sleeps has something to do.
    fn wakes_application(&self, now: Time) -> bool {
        self.applications.as_ref().is_some_and(|(writer, reader)| {
            reader.is_woken(&self.receiver) || writer.is_woken(now, &self.sender)
        })
    }

    fn next(&self) -> Option<Time> {
        let applications = self.next_application();
        let ends = Time::earliest(self.sender.next(), self.receiver.ack_policy.next());
        Time::earliest(Time::earliest(ends, self.handshake.next()), applications)
    }

    fn on_timer(&mut self, now: Time) {
        let (syn, syn_ack) = self.handshake.on_timer(now, self.first_window);
        self.messages.extend(syn.map(|body| (true, body)));
        self.messages.extend(syn_ack.map(|body| (false, body)));
        self.sender.on_timer(now);
        self.receiver.on_timer(now);
    }

    fn on_arrival(&mut self, now: Time, body: &Body) {
        if !self.handshake.is_accepted() {
            self.shake(now, body);
        }
        match body {
            Body::Data(data) => self.receiver.on_data(now, data),
            Body::Ack(ack) if self.sender.process.holds_until().is_some() => self.sender.process.leave(*ack),
            Body::Ack(ack) => self.sender.on_ack(now, ack),
            Body::Probe { .. } => self.receiver.on_probe(now),
            Body::SynAck { .. } if self.handshake.is_accepted() => self.shake(now, body),
            _ => {}
        }
    }

    fn shake(&mut self, now: Time, body: &Body) {
        let (answer, learned) = self.handshake.on_message(now, body, self.first_window);
        let is_from_sender = matches!(body, Body::SynAck { .. });
        self.messages.extend(answer.map(|body| (is_from_sender, body)));
        match learned {
            Learned::Nothing => {}
            Learned::Connected { window, ts, rtt_us } => {
                self.sender.ts_recent = ts;
                self.sender.established(now, window, rtt_us);
            }
            Learned::Accepted { rtt_us } => self.receiver.established(now, rtt_us.unwrap_or(0)),
        }
    }

    /// Nothing waits to enter the path.
    fn is_silent(&self) -> bool {
        self.sender.outbox.is_empty() && self.receiver.outbox.is_empty() && self.messages.is_empty()
    }

    fn run_applications(&mut self, now: Time) {
        if let Some((writer, reader)) = &mut self.applications {
            reader.run(now, &mut self.receiver);
            writer.run(now, &mut self.sender);
        }
    }
}

impl Stream {
    pub(crate) fn new(number: u32, flow: u32, direction: Direction, transport: Transport, ip: Ip) -> Self {
        Self { number, flow, direction, transport, ip, is_held: false, last_gso_id: OWN_GSO_IDS }
    }

    /// Whether the receiver takes a super-packet in one piece.
    pub(crate) fn joins(&self) -> bool {
        matches!(&self.transport, Transport::Tcp(tcp) if tcp.receiver.host.gro)
    }

    /// What a capture has to know of it.
    pub(crate) fn identity(&self) -> Identity {
        Identity {
            number: self.number,
            flow: self.flow,
            direction: self.direction,
            joins: self.joins(),
            protocol: match &self.transport {
                Transport::Tcp(tcp) => ProtocolIdentity::Tcp(tcp.identity()),
                Transport::Udp(_) => ProtocolIdentity::Udp,
                Transport::Ping(_) => ProtocolIdentity::Ping,
            },
        }
    }

    /// Ready for traffic: UDP always, TCP once the connection is accepted.
    pub(crate) fn is_ready(&self) -> bool {
        match &self.transport {
            Transport::Tcp(tcp) => tcp.handshake.is_accepted(),
            Transport::Udp(_) | Transport::Ping(_) => true,
        }
    }

    /// Payload bytes that the sending socket took and that the receiving application read.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        match &self.transport {
            Transport::Tcp(tcp) => {
                let applications = tcp.applications.as_ref();
                applications.map_or((0, 0), |(writer, reader)| (writer.sent_bytes, reader.received_bytes))
            }
            Transport::Udp(udp) => udp.bytes(),
            Transport::Ping(ping) => ping.bytes(),
        }
    }

    /// When the receiver had its last byte.
    pub(crate) fn last_received(&self) -> Option<Time> {
        match &self.transport {
            Transport::Tcp(tcp) => tcp.applications.as_ref().and_then(|(_, reader)| reader.last),
            Transport::Udp(udp) => udp.last(),
            Transport::Ping(ping) => ping.last(),
        }
    }

    /// When it acts of itself.
    pub(crate) fn next(&self) -> Option<Time> {
        match &self.transport {
            Transport::Tcp(tcp) => tcp.next(),
            Transport::Udp(udp) => udp.next().filter(|_| !self.is_held),
            Transport::Ping(ping) => ping.next().filter(|_| !self.is_held),
        }
    }

    /// Timers that are due.
    pub(crate) fn on_timer(&mut self, now: Time) {
        if let Transport::Tcp(tcp) = &mut self.transport {
            tcp.on_timer(now);
        }
    }

    /// A packet reached the end that it is for.
    pub(crate) fn on_arrival(&mut self, now: Time, body: &Body) {
        match (&mut self.transport, body) {
            (Transport::Tcp(tcp), body) => tcp.on_arrival(now, body),
            (Transport::Udp(udp), &Body::Datagram { number, sent, .. }) => udp.on_datagram(now, number, sent),
            (Transport::Ping(ping), &Body::Fragment { way, number, index, .. }) => {
                ping.on_fragment(now, way, number, index);
            }
            (Transport::Udp(_) | Transport::Ping(_), _) => {}
        }
    }

    /// Whether an application set itself this instant; it need not be woken.
    pub(crate) fn is_application_due(&self, now: Time) -> bool {
        match &self.transport {
            Transport::Tcp(tcp) => tcp.next_application().is_some_and(|at| at <= now),
            Transport::Udp(_) | Transport::Ping(_) => false,
        }
    }

    /// Whether what happened at `now` wakes an application.
    pub(crate) fn wakes_application(&self, now: Time) -> bool {
        match &self.transport {
            Transport::Tcp(tcp) => tcp.wakes_application(now),
            Transport::Udp(_) | Transport::Ping(_) => false,
        }
    }

    /// The applications' turn, after everything that arrived at `now`.
    pub(crate) fn run_applications(&mut self, now: Time) {
        if let Transport::Tcp(tcp) = &mut self.transport {
            tcp.run_applications(now);
        }
    }

    /// Hands everything over to the path.
    pub(crate) fn flush(&mut self, now: Time, network: &mut Network) {
        let is_silent = matches!(&self.transport, Transport::Tcp(tcp) if tcp.is_silent());
        if !is_silent {
            self.hand_over(now, network);
        }
    }

    /// Not part of [`Self::flush`], which mostly finds nothing to do.
    #[inline(never)]
    fn hand_over(&mut self, now: Time, network: &mut Network) {
        let (data, back) = match self.direction {
            Direction::Forward => (Direction::Forward, Direction::Reverse),
            Direction::Reverse => (Direction::Reverse, Direction::Forward),
        };
        let (stream, ip) = (self.number, self.ip);
        // A number of its own for every super-packet of the run; streams do not share one.
        let mut offer = |direction, gso_id: u64, body: Body, timestamps| {
            let gso_id = (u64::from(stream) << 40) | gso_id;
            let bytes = body.frame_bytes(ip, timestamps);
            let packet = Packet { gso_id, bytes, payload: Segment { stream, id: 0, body } };
            network.offer(now, direction, packet);
        };
        match &mut self.transport {
            Transport::Tcp(tcp) => {
                let timestamps = tcp.sender.host.timestamps;
                for (from_sender, body) in tcp.messages.drain(..) {
                    self.last_gso_id += 1;
                    offer(if from_sender { data } else { back }, self.last_gso_id, body, timestamps);
                }
                for (gso_id, body) in tcp.sender.outbox.drain(..) {
                    offer(data, gso_id, body, timestamps);
                }
                for body in tcp.receiver.outbox.drain(..) {
                    self.last_gso_id += 1;
                    offer(back, self.last_gso_id, body, timestamps);
                }
            }
            Transport::Udp(udp) => {
                while !self.is_held
                    && let Some(body) = udp.send_due(now)
                {
                    self.last_gso_id += 1;
                    offer(data, self.last_gso_id, body, false);
                }
            }
            Transport::Ping(ping) if !self.is_held => {
                ping.act(now);
                for (way, body) in ping.outbox() {
                    self.last_gso_id += 1;
                    offer(if way == PingWay::Request { data } else { back }, self.last_gso_id, body, false);
                }
            }
            Transport::Ping(_) => {}
        }
    }
}
