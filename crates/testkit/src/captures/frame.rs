//! Headers of packets, from their fields.

/// A TCP segment between two hosts.
#[derive(Debug, Clone)]
pub struct Tcp {
    pub ports: (u16, u16),
    pub seq: u32,
    pub ack: u32,
    pub flags: u8,
    pub window: u16,
    pub options: Vec<u8>,
    pub payload: usize,
    pub id: u16,
    pub ecn: u8,
}

pub const FIN: u8 = 1;
pub const SYN: u8 = 2;
pub const RST: u8 = 4;
pub const PSH: u8 = 8;
pub const ACK: u8 = 16;
pub const ECE: u8 = 64;
pub const CWR: u8 = 128;
/// The hosts of ports: the higher port is 192.0.2.1, the lower 198.51.100.2.
const HOSTS: [[u8; 4]; 2] = [[192, 0, 2, 1], [198, 51, 100, 2]];

impl Tcp {
    /// From port 40000 to port 80.
    pub fn new(seq: u32, ack: u32, flags: u8, payload: usize) -> Self {
        let ports = (40_000, 80);
        Self { ports, seq, ack, flags, window: 1000, options: Vec::new(), payload, id: 0, ecn: 0 }
    }

    /// The other way.
    pub fn back(mut self) -> Self {
        self.ports = (self.ports.1, self.ports.0);
        self
    }

    /// TCP's header, without payload.
    pub fn header(&self) -> Vec<u8> {
        let mut options = self.options.clone();
        options.resize(options.len().next_multiple_of(4), 0);
        let mut bytes = Vec::with_capacity(20 + options.len());
        bytes.extend(self.ports.0.to_be_bytes());
        bytes.extend(self.ports.1.to_be_bytes());
        bytes.extend(self.seq.to_be_bytes());
        bytes.extend(self.ack.to_be_bytes());
        bytes.push(((20 + options.len()) / 4 * 16) as u8);
        bytes.push(self.flags);
        bytes.extend(self.window.to_be_bytes());
        bytes.extend([0; 4]);
        bytes.extend(options);
        bytes
    }

    /// IPv4 and TCP, without payload.
    pub fn v4(&self) -> Vec<u8> {
        let (source, destination) = if self.ports.0 > self.ports.1 { (0, 1) } else { (1, 0) };
        let tcp = self.header();
        let length = (20 + tcp.len() + self.payload) as u16;
        let mut bytes = vec![0x45, self.ecn];
        bytes.extend(length.to_be_bytes());
        bytes.extend(self.id.to_be_bytes());
        bytes.extend([0x40, 0, 64, 6, 0, 0]);
        bytes.extend(HOSTS[source]);
        bytes.extend(HOSTS[destination]);
        bytes.extend(tcp);
        bytes
    }

    /// IPv6 and TCP, without payload; `extensions` stand between them, the first being of kind `next`.
    pub fn v6(&self, next: u8, extensions: &[u8]) -> Vec<u8> {
        let tcp = self.header();
        let length = (extensions.len() + tcp.len() + self.payload) as u16;
        let mut bytes = vec![0x60, self.ecn << 4, 0, 0];
        bytes.extend(length.to_be_bytes());
        bytes.extend([next, 64]);
        let end = |last: u8| [&[0x20, 1, 0xd, 0xb8], [0; 11].as_slice(), &[last]].concat();
        let (source, destination) = if self.ports.0 > self.ports.1 { (1, 2) } else { (2, 1) };
        bytes.extend(end(source));
        bytes.extend(end(destination));
        bytes.extend(extensions);
        bytes.extend(tcp);
        bytes
    }
}

/// An Ethernet frame, with what stands before its type's last two bytes.
pub fn ethernet(tags: &[u8], kind: u16, body: &[u8]) -> Vec<u8> {
    [&[2; 12], tags, &kind.to_be_bytes(), body].concat()
}

/// NOP, NOP, timestamps.
pub fn stamps(tsval: u32, tsecr: u32) -> Vec<u8> {
    [&[1, 1, 8, 10], tsval.to_be_bytes().as_slice(), &tsecr.to_be_bytes()].concat()
}

/// NOP, NOP, SACK.
pub fn sack(blocks: &[(u32, u32)]) -> Vec<u8> {
    let mut bytes = vec![1, 1, 5, (2 + 8 * blocks.len()) as u8];
    for (left, right) in blocks {
        bytes.extend(left.to_be_bytes());
        bytes.extend(right.to_be_bytes());
    }
    bytes
}

/// MSS, SACK permitted, timestamps, window scale: what Linux has in a SYN.
pub fn syn_options(mss: u16, shift: u8, tsval: u32, tsecr: u32) -> Vec<u8> {
    let mss = mss.to_be_bytes();
    let mut bytes = vec![2, 4, mss[0], mss[1], 4, 2, 8, 10];
    bytes.extend(tsval.to_be_bytes());
    bytes.extend(tsecr.to_be_bytes());
    bytes.extend([1, 3, 3, shift]);
    bytes
}

/// Whether an Ethernet frame of [`Tcp`] comes from the end with the higher port, which is the client's.
pub fn is_of_client(frame: &[u8]) -> bool {
    frame[34..36] > frame[36..38]
}

/// An Ethernet frame of [`Tcp`] on the other side of a NAT, where the client has this address and port; a router is between.
pub fn behind_nat(frame: &[u8], (address, port): ([u8; 4], u16)) -> Vec<u8> {
    let mut bytes = frame.to_vec();
    let (host, its_port, ttl) = if is_of_client(frame) { (26, 34, 63) } else { (30, 36, 65) };
    bytes[host..host + 4].copy_from_slice(&address);
    bytes[its_port..its_port + 2].copy_from_slice(&port.to_be_bytes());
    bytes[22] = ttl;
    bytes
}
