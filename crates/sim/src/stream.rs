//! One stream: both ends, their applications, and its way to the path.

use crate::apps::App;
use crate::handshake::{Handshake, Learned};
use crate::network::Network;
use crate::ping::PingStream;
use crate::segment::{Body, Identity, Ip, PingWay, ProtocolIdentity, Segment, TcpIdentity};
use crate::tcp::endpoint::Endpoint;
use crate::udp::UdpStream;
use pipefill_core::cell::Direction;
use pipefill_core::tcp_info::TcpInfo;
use pipefill_core::units::Time;
use pipefill_link::Packet;

/// What is not of a TCP end is numbered from here on.
const OWN_GSO_IDS: u64 = 1 << 39;

/// A stream with its place in the run.
#[derive(Debug)]
pub(crate) struct SimStream {
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
    /// Number of the latest packet that is not of a TCP end; from [`OWN_GSO_IDS`] on.
    last_gso_id: u64,
}

/// What carries it.
#[derive(Debug)]
pub(crate) enum Transport {
    Tcp(Box<TcpStream>),
    Udp(Box<UdpStream>),
    Ping(Box<PingStream>),
}

/// The end that sends a stream's data, and connects …
pub(crate) const SENDER: usize = 0;
/// … and the one that takes it, and listens.
pub(crate) const RECEIVER: usize = 1;

/// Both ends of a TCP stream.
#[derive(Debug)]
pub(crate) struct TcpStream {
    /// [`SENDER`] and [`RECEIVER`].
    pub(crate) ends: [Endpoint; 2],
    handshake: Handshake,
    /// The ends' applications; `None` until the traffic starts.
    pub(crate) applications: Option<[App; 2]>,
    /// The windows of the SYN and the SYN-ACK.
    first_windows: [u64; 2],
    /// Of the handshake, each with the end that sends it.
    messages: Vec<(usize, Body)>,
}

impl TcpStream {
    pub(crate) fn new(sender: Endpoint, receiver: Endpoint) -> Self {
        let ends = [sender, receiver];
        let first_windows = [SENDER, RECEIVER].map(|end| ends[end].receiver.first_window());
        let handshake = Handshake::default();
        Self { ends, handshake, applications: None, first_windows, messages: Vec::new() }
    }

    pub(crate) fn connect(&mut self, now: Time) {
        let syn = self.handshake.connect(now);
        self.messages.push((SENDER, syn));
    }

    fn identity(&self) -> TcpIdentity {
        let host = self.ends[SENDER].sender.host;
        TcpIdentity {
            mss: host.ip.advertised_mss() as u16,
            timestamps: host.timestamps,
            scales: self.scales(),
            first_window: self.first_windows[SENDER] as u16,
            ecn: [host.asks_for_ecn(), host.ecn_agreed],
        }
    }

    /// The shift of each end's windows; `None` where they are not scaled.
    fn scales(&self) -> Option<[u8; 2]> {
        let scales = [SENDER, RECEIVER].map(|end| self.ends[end].receiver.scale as u8);
        self.ends[SENDER].sender.host.window_scaling.then_some(scales)
    }

    /// The socket of `end` at `now`.
    pub(crate) fn info(&self, end: usize, now: Time) -> TcpInfo {
        let scales = self.scales();
        TcpInfo {
            window_scaling: Some(scales.is_some()),
            rwnd_scale: scales.map(|scales| scales[SENDER + RECEIVER - end]),
            local_rwnd_scale: scales.map(|scales| scales[end]),
            ..self.ends[end].info(now)
        }
    }

    /// Bytes that the application of an end has written.
    pub(crate) fn written(&self, end: usize) -> u64 {
        self.applications.as_ref().map_or(0, |applications| applications[end].sent_bytes())
    }

    /// Bytes that the application of an end has read.
    pub(crate) fn read(&self, end: usize) -> u64 {
        self.applications.as_ref().map_or(0, |applications| applications[end].received_bytes())
    }

    /// When an application acts of itself.
    #[inline(always)]
    fn next_application(&self) -> Option<Time> {
        let [sender, receiver] = self.applications.as_ref()?;
        Time::earliest(sender.next(&self.ends[SENDER]), receiver.next(&self.ends[RECEIVER]))
    }

    /// Whether an application that sleeps has something to do.
    #[inline]
    fn wakes_application(&self, now: Time) -> bool {
        self.applications.as_ref().is_some_and(|[sender, receiver]| {
            receiver.is_woken(now, &self.ends[RECEIVER]) || sender.is_woken(now, &self.ends[SENDER])
        })
    }

    /// When a socket acts of itself.
    #[inline]
    fn next(&self) -> Option<Time> {
        let ends = Time::earliest(self.ends[SENDER].next(), self.ends[RECEIVER].next());
        if self.handshake.is_accepted() { ends } else { Time::earliest(ends, self.handshake.next()) }
    }

    fn on_timer(&mut self, now: Time) {
        if !self.handshake.is_accepted() {
            let (syn, syn_ack) = self.handshake.on_timer(now, self.first_windows[RECEIVER]);
            self.messages.extend(syn.map(|body| (SENDER, body)));
            self.messages.extend(syn_ack.map(|body| (RECEIVER, body)));
        }
        for end in &mut self.ends {
            end.on_timer(now);
        }
    }

    /// A packet reached `end`.
    #[inline(always)]
    fn on_arrival(&mut self, now: Time, end: usize, body: &Body) {
        if !self.handshake.is_accepted() || matches!(body, Body::SynAck { .. }) {
            self.shake(now, body);
        }
        match body {
            Body::Data(data) => self.ends[end].on_data(now, data),
            Body::Ack(header) => self.ends[end].on_ack(now, header),
            Body::Probe(_) => self.ends[end].on_probe(now),
            _ => {}
        }
    }

    fn shake(&mut self, now: Time, body: &Body) {
        let (answer, learned) = self.handshake.on_message(now, body, self.first_windows[RECEIVER]);
        self.messages.extend(answer.map(|body| (RECEIVER, body)));
        match learned {
            Learned::Nothing => {}
            Learned::Connected { window, ts, rtt_us } => {
                self.ends[SENDER].established(now, window, ts, rtt_us);
                self.acknowledge_handshake(now);
            }
            Learned::ConnectedBefore => self.acknowledge_handshake(now),
            Learned::Accepted { window, ts, rtt_us } => {
                self.ends[RECEIVER].established(now, window, ts, rtt_us);
            }
        }
    }

    fn acknowledge_handshake(&mut self, now: Time) {
        let header = self.ends[SENDER].acknowledge(now);
        self.messages.push((SENDER, Body::HandshakeAck(header)));
    }

    /// Nothing waits to enter the path.
    fn is_silent(&self) -> bool {
        self.ends.iter().all(Endpoint::is_silent) && self.messages.is_empty()
    }

    #[inline]
    fn run_applications(&mut self, now: Time) {
        if let Some([sender, receiver]) = &mut self.applications {
            receiver.run(now, &mut self.ends[RECEIVER]);
            sender.run(now, &mut self.ends[SENDER]);
        }
    }
}

impl SimStream {
    pub(crate) fn new(number: u32, flow: u32, direction: Direction, transport: Transport, ip: Ip) -> Self {
        Self { number, flow, direction, transport, ip, is_held: false, last_gso_id: OWN_GSO_IDS }
    }

    /// The end that packets which go this way reach.
    #[inline]
    pub(crate) fn end_reached(&self, direction: Direction) -> usize {
        if direction == self.direction { RECEIVER } else { SENDER }
    }

    /// Whether the end that packets reach this way takes a super-packet in one piece.
    #[inline]
    pub(crate) fn joins(&self, direction: Direction) -> bool {
        matches!(&self.transport, Transport::Tcp(tcp) if tcp.ends[self.end_reached(direction)].receiver.host.gro)
    }

    /// What a capture has to know of it.
    pub(crate) fn identity(&self) -> Identity {
        Identity {
            number: self.number,
            flow: self.flow,
            direction: self.direction,
            joins: [self.direction.opposite(), self.direction].map(|direction| self.joins(direction)),
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
            Transport::Tcp(tcp) => (tcp.written(SENDER), tcp.read(RECEIVER)),
            Transport::Udp(udp) => udp.bytes(),
            Transport::Ping(ping) => ping.bytes(),
        }
    }

    /// When the receiver had its last byte.
    pub(crate) fn last_received(&self) -> Option<Time> {
        match &self.transport {
            Transport::Tcp(tcp) => tcp.applications.as_ref()?[RECEIVER].last_read(),
            Transport::Udp(udp) => udp.last(),
            Transport::Ping(ping) => ping.last(),
        }
    }

    /// When it acts of itself, its applications aside.
    #[inline]
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

    /// A packet that went this way reached its end.
    #[inline]
    pub(crate) fn on_arrival(&mut self, now: Time, direction: Direction, body: &Body) {
        let end = self.end_reached(direction);
        match (&mut self.transport, body) {
            (Transport::Tcp(tcp), body) => tcp.on_arrival(now, end, body),
            (Transport::Udp(udp), &Body::Datagram { number, sent, .. }) => udp.on_datagram(now, number, sent),
            (Transport::Ping(ping), &Body::Fragment { way, number, index, .. }) => {
                ping.on_fragment(now, way, number, index);
            }
            (Transport::Udp(_) | Transport::Ping(_), _) => {}
        }
    }

    /// When an application acts of itself; it need not be woken.
    #[inline]
    pub(crate) fn next_application(&self) -> Option<Time> {
        match &self.transport {
            Transport::Tcp(tcp) => tcp.next_application(),
            Transport::Udp(_) | Transport::Ping(_) => None,
        }
    }

    /// Whether what happened at `now` wakes an application.
    #[inline]
    pub(crate) fn wakes_application(&self, now: Time) -> bool {
        match &self.transport {
            Transport::Tcp(tcp) => tcp.wakes_application(now),
            Transport::Udp(_) | Transport::Ping(_) => false,
        }
    }

    /// The applications' turn, after everything that arrived at `now`.
    #[inline]
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
            if let Some(mtu) = network.told_mtu {
                self.hear_of_oversized(now, network, mtu);
            }
        }
    }

    /// ICMP messages about what was just sent: the router is next to either host. What is sent again is small enough.
    fn hear_of_oversized(&mut self, now: Time, network: &mut Network, mtu: u32) {
        let ways = [self.direction, self.direction.opposite()];
        let is_told =
            ways.map(|way| network.take_oversized(way).filter(|&stream| stream == self.number).count() > 0);
        if let Transport::Tcp(tcp) = &mut self.transport {
            for (end, is_told) in tcp.ends.iter_mut().zip(is_told) {
                if is_told {
                    end.send(|sender| sender.on_packet_too_big(now, mtu));
                }
            }
        }
        if is_told != [false; 2] {
            self.hand_over(now, network);
        }
    }

    /// Not part of [`Self::flush`], which mostly finds nothing to do.
    #[inline(never)]
    fn hand_over(&mut self, now: Time, network: &mut Network) {
        let ways = [self.direction, self.direction.opposite()];
        let [data, back] = ways;
        let (stream, ip) = (self.number, self.ip);
        // A number of its own for every super-packet of the run; streams do not share one.
        let mut offer = |direction, gso_id: u64, body: &Body, timestamps| {
            let gso_id = (u64::from(stream) << 40) | gso_id;
            let bytes = body.frame_bytes(ip, timestamps);
            let packet = Packet { gso_id, bytes, payload: Segment { stream, id: 0, body: *body } };
            network.offer(now, direction, packet);
        };
        match &mut self.transport {
            Transport::Tcp(tcp) => {
                let timestamps = tcp.ends[SENDER].sender.host.timestamps;
                for (from, body) in tcp.messages.drain(..) {
                    self.last_gso_id += 1;
                    offer(ways[from], self.last_gso_id, &body, timestamps);
                }
                for (end, way) in tcp.ends.iter_mut().zip(ways) {
                    end.flush(|gso_id, body| offer(way, gso_id, body, timestamps));
                }
            }
            Transport::Udp(udp) => {
                while !self.is_held
                    && let Some(body) = udp.send_due(now)
                {
                    self.last_gso_id += 1;
                    offer(data, self.last_gso_id, &body, false);
                }
            }
            Transport::Ping(ping) if !self.is_held => {
                ping.act(now);
                for (way, body) in ping.outbox() {
                    self.last_gso_id += 1;
                    offer(if way == PingWay::Request { data } else { back }, self.last_gso_id, &body, false);
                }
            }
            Transport::Ping(_) => {}
        }
    }
}
