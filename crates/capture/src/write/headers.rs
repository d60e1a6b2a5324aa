//! Headers of packets whose payload is zeros: Ethernet, IPv4 or IPv6, TCP or UDP, with valid checksums.
//!
//! A checksum is a sum (RFC 1071), to which zeros add nothing: it costs the headers alone, however long the payload is.

use super::checksum::{fold, sum};
use core::net::IpAddr;

/// The most bytes of headers: Ethernet 14, IPv6 40, TCP 60; or a fragment's, which are fewer.
const MOST: usize = 114;
const ETHERNET: usize = 14;
const IPV4: usize = 20;
const TCP: usize = 20;
const UDP: usize = 8;
/// The extension header of IPv6 (RFC 8200, 4.5).
const FRAGMENT: usize = 8;

const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;
const NEXT_FRAGMENT: u8 = 44;
/// `IPDEFTTL`, and the hop limit.
const TTL: u8 = 64;
/// Don't Fragment (RFC 791, 3.1).
const DF: u16 = 1 << 14;
/// More Fragments.
const MF: u16 = 1 << 13;

/// Most SACK blocks that a header holds (RFC 2018, section 3).
pub const MOST_SACKS: usize = 4;

/// Control bits (RFC 9293, 3.1).
pub mod flag {
    /// SYN.
    pub const SYN: u8 = 0x02;
    /// PSH.
    pub const PSH: u8 = 0x08;
    /// ACK.
    pub const ACK: u8 = 0x10;
    /// ECE (RFC 3168, section 6.1).
    pub const ECE: u8 = 0x40;
    /// CWR.
    pub const CWR: u8 = 0x80;
}

/// One end of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// Its interface's address.
    pub mac: [u8; 6],
    /// Its IP address; of the same family as the other end's.
    pub address: IpAddr,
    /// Its port.
    pub port: u16,
}

/// What a TCP header says.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tcp {
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgment number; it counts where [`flag::ACK`] is set.
    pub ack: u32,
    /// Control bits, of [`flag`].
    pub flags: u8,
    /// The window as it stands in the header: scaled.
    pub window: u16,
    /// Maximum segment size, bytes (RFC 9293, 3.7.1).
    pub mss: Option<u16>,
    /// SACK-permitted (RFC 2018, section 2).
    pub sack_permitted: bool,
    /// TSval and TSecr (RFC 7323, 3.2).
    pub timestamps: Option<(u32, u32)>,
    /// Window scale (RFC 7323, 2.2).
    pub window_scale: Option<u8>,
    /// The first `sack_count` are SACK blocks, left and right edge (RFC 2018, section 3).
    pub sacks: [(u32, u32); MOST_SACKS],
    /// How many of them.
    pub sack_count: usize,
}

/// A part of a UDP datagram in a packet of its own (RFC 791, 3.2; RFC 8200, 4.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Where it begins in the datagram, UDP header included; a multiple of 8 bytes.
    pub offset: u32,
    /// Its bytes.
    pub length: u32,
}

/// The headers of a packet, and its length.
#[derive(Debug, Clone)]
pub struct Headers {
    bytes: [u8; MOST],
    used: usize,
    length: u32,
}

impl Headers {
    /// Of a TCP segment, or of several in one packet, with `payload` bytes. `id` is IPv4's identification.
    pub fn tcp([from, to]: [&End; 2], id: u16, tcp: &Tcp, payload: u32) -> Self {
        let options = TcpOptionBytes::of(tcp);
        let header = TCP + options.used;
        let mut this = Self::ip([from, to], id, DF, PROTOCOL_TCP, header as u32 + payload);
        let at = this.used;
        this.put(&from.port.to_be_bytes());
        this.put(&to.port.to_be_bytes());
        this.put(&tcp.seq.to_be_bytes());
        this.put(&tcp.ack.to_be_bytes());
        this.put(&[(header as u8 / 4) << 4, tcp.flags]);
        this.put(&tcp.window.to_be_bytes());
        // Checksum, urgent pointer.
        this.put(&[0; 4]);
        this.put(&options.bytes[..options.used]);
        let sum = pseudo(from, to, PROTOCOL_TCP, header as u32 + payload) + sum(&this.bytes[at..this.used]);
        this.set(at + 16, !fold(sum));
        this
    }

    /// Of a UDP datagram with `payload` bytes in one packet.
    pub fn udp([from, to]: [&End; 2], id: u16, payload: u32) -> Self {
        let length = UDP as u32 + payload;
        let mut this = Self::ip([from, to], id, DF, PROTOCOL_UDP, length);
        this.udp_header([from, to], length);
        this
    }

    /// Of a `piece` of a UDP datagram with `payload` bytes; every piece of it has the same `id`.
    pub fn udp_piece([from, to]: [&End; 2], id: u16, payload: u32, piece: Piece) -> Self {
        let whole = UDP as u32 + payload;
        let more = piece.offset + piece.length < whole;
        let units = (piece.offset / 8) as u16;
        let mut this = if from.address.is_ipv4() {
            Self::ip([from, to], id, units | if more { MF } else { 0 }, PROTOCOL_UDP, piece.length)
        } else {
            let mut this = Self::ip([from, to], id, 0, NEXT_FRAGMENT, FRAGMENT as u32 + piece.length);
            this.put(&[PROTOCOL_UDP, 0]);
            this.put(&(units << 3 | u16::from(more)).to_be_bytes());
            this.put(&u32::from(id).to_be_bytes());
            this
        };
        if piece.offset == 0 {
            this.udp_header([from, to], whole);
        }
        this
    }

    /// With this ECN field of IP (RFC 3168, section 5).
    #[must_use]
    pub fn with_ecn(mut self, field: u8) -> Self {
        if field != 0 {
            set_ecn(&mut self.bytes[..self.used], field);
        }
        self
    }

    /// The headers themselves.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.used]
    }

    /// Length of the packet, Ethernet header included, without FCS.
    pub fn length(&self) -> u32 {
        self.length
    }

    /// Ethernet and IP, whose payload is `payload` bytes. `fragment` is IPv4's flags and offset.
    fn ip([from, to]: [&End; 2], id: u16, fragment: u16, protocol: u8, payload: u32) -> Self {
        let mut this = Self { bytes: [0; MOST], used: 0, length: 0 };
        this.put(&to.mac);
        this.put(&from.mac);
        match (from.address, to.address) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                this.put(&[0x08, 0x00, 0x45, 0]);
                this.put(&(IPV4 as u16).wrapping_add(payload as u16).to_be_bytes());
                this.put(&id.to_be_bytes());
                this.put(&fragment.to_be_bytes());
                this.put(&[TTL, protocol, 0, 0]);
                this.put(&from.octets());
                this.put(&to.octets());
                let checksum = !fold(sum(&this.bytes[ETHERNET..this.used]));
                this.set(ETHERNET + 10, checksum);
            }
            (from, to) => {
                this.put(&[0x86, 0xdd, 0x60, 0, 0, 0]);
                this.put(&(payload as u16).to_be_bytes());
                this.put(&[protocol, TTL]);
                this.put(&octets(from));
                this.put(&octets(to));
            }
        }
        this.length = this.used as u32 + payload;
        this
    }

    /// `length` is that of the datagram with this header.
    fn udp_header(&mut self, [from, to]: [&End; 2], length: u32) {
        let at = self.used;
        self.put(&from.port.to_be_bytes());
        self.put(&to.port.to_be_bytes());
        self.put(&(length as u16).to_be_bytes());
        self.put(&[0; 2]);
        let sum = pseudo(from, to, PROTOCOL_UDP, length) + sum(&self.bytes[at..self.used]);
        // 0 says that there is none (RFC 768).
        self.set(
            at + 6,
            match !fold(sum) {
                0 => 0xffff,
                checksum => checksum,
            },
        );
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.used..self.used + bytes.len()].copy_from_slice(bytes);
        self.used += bytes.len();
    }

    fn set(&mut self, at: usize, value: u16) {
        self.bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
    }
}

/// The two lowest bits of IPv4's TOS and IPv6's traffic class: the ECN field (RFC 3168, section 5).
const ECN: u8 = 3;

/// The ECN field of the IP packet in an Ethernet `frame`; 0 where there is none.
pub fn ecn(frame: &[u8]) -> u8 {
    match (frame.get(12..ETHERNET), frame.get(ETHERNET + 1)) {
        (Some([0x08, 0x00]), Some(tos)) => tos & ECN,
        (Some([0x86, 0xdd]), Some(class)) => class >> 4 & ECN,
        _ => 0,
    }
}

/// Sets the ECN field of the IP packet in an Ethernet `frame`, which has its whole IP header, and IPv4's checksum.
pub fn set_ecn(frame: &mut [u8], field: u8) {
    match frame.get(12..ETHERNET) {
        Some([0x08, 0x00]) => {
            let end = ETHERNET + usize::from(frame[ETHERNET] & 0x0f) * 4;
            frame[ETHERNET + 1] = frame[ETHERNET + 1] & !ECN | field;
            frame[ETHERNET + 10..ETHERNET + 12].fill(0);
            let checksum = !fold(sum(&frame[ETHERNET..end]));
            frame[ETHERNET + 10..ETHERNET + 12].copy_from_slice(&checksum.to_be_bytes());
        }
        Some([0x86, 0xdd]) => frame[ETHERNET + 1] = frame[ETHERNET + 1] & !(ECN << 4) | field << 4,
        _ => {}
    }
}

/// TCP's options, in the order and with the padding of `tcp_options_write()`.
struct TcpOptionBytes {
    bytes: [u8; 40],
    used: usize,
}

impl TcpOptionBytes {
    fn of(tcp: &Tcp) -> Self {
        const NOP: u8 = 1;
        let mut this = Self { bytes: [0; 40], used: 0 };
        if let Some(mss) = tcp.mss {
            this.put(&[2, 4]);
            this.put(&mss.to_be_bytes());
        }
        match tcp.sack_permitted {
            true if tcp.timestamps.is_some() => this.put(&[4, 2]),
            true => this.put(&[NOP, NOP, 4, 2]),
            false if tcp.timestamps.is_some() => this.put(&[NOP, NOP]),
            false => {}
        }
        if let Some((value, echo)) = tcp.timestamps {
            this.put(&[8, 10]);
            this.put(&value.to_be_bytes());
            this.put(&echo.to_be_bytes());
        }
        if let Some(scale) = tcp.window_scale {
            this.put(&[NOP, 3, 3, scale]);
        }
        // What is left holds a header of 4 bytes, and 8 for each block.
        let room = (this.bytes.len() - this.used).saturating_sub(4) / 8;
        let blocks = &tcp.sacks[..tcp.sack_count.min(room).min(MOST_SACKS)];
        if !blocks.is_empty() {
            this.put(&[NOP, NOP, 5, 2 + 8 * blocks.len() as u8]);
            for (left, right) in blocks {
                this.put(&left.to_be_bytes());
                this.put(&right.to_be_bytes());
            }
        }
        this
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.used..self.used + bytes.len()].copy_from_slice(bytes);
        self.used += bytes.len();
    }
}

/// IPv6's form of an address: an IPv4 address as it is mapped (RFC 4291, 2.5.5.2), where the other end has IPv6.
fn octets(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

/// The sum of the pseudo header (RFC 9293, 3.1; RFC 8200, 8.1). `length` is that of header and payload.
fn pseudo(from: &End, to: &End, protocol: u8, length: u32) -> u32 {
    let addresses = match (from.address, to.address) {
        (IpAddr::V4(from), IpAddr::V4(to)) => sum(&from.octets()) + sum(&to.octets()),
        (from, to) => sum(&octets(from)) + sum(&octets(to)),
    };
    addresses + u32::from(protocol) + (length >> 16) + (length & 0xffff)
}
