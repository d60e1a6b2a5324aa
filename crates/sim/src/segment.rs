//! What the simulated hosts send through the path, and how large it is on the wire.
//!
//! Never: payload; only its place in the stream travels.

use pipefill_core::cell::{Direction, PathSpec};
use pipefill_core::units::Time;
use pipefill_link::{Ecn, IpPacket};

/// The Ethernet header.
pub(crate) const ETHERNET: u32 = 14;
/// The TCP header without options.
pub(crate) const TCP: u32 = 20;
/// The UDP header.
pub(crate) const UDP: u32 = 8;
/// Timestamps with their padding (RFC 7323, appendix A).
pub(crate) const TIMESTAMPS: u32 = 12;
/// What fits the header's window field.
pub(crate) const WINDOW_MAX: u64 = 65_535;
/// Most SACK blocks beside timestamps (RFC 2018, section 3).
pub(crate) const MAX_SACKS: usize = 3;

/// What the path makes of IP packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ip {
    /// The header without options or extensions, bytes.
    pub(crate) header: u32,
    /// The largest packet, bytes.
    pub(crate) mtu: u32,
}

impl Ip {
    pub(crate) fn of(path: &PathSpec) -> Self {
        Self { header: u32::from(path.family.header()), mtu: u32::from(path.mtu) }
    }

    /// `advmss`: what fits behind both headers without options.
    pub(crate) fn advertised_mss(self) -> u32 {
        self.mtu - self.header - TCP
    }

    /// What a segment carries at most.
    pub(crate) fn mss(self, timestamps: bool) -> u32 {
        self.advertised_mss() - options(timestamps)
    }
}

/// Options of a segment with data.
pub(crate) const fn options(timestamps: bool) -> u32 {
    if timestamps { TIMESTAMPS } else { 0 }
}

/// Bytes of a stream, `start` included, `end` not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Range {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// The SACK option (RFC 2018; the first block may be a D-SACK, RFC 2883). As on the wire, a block has the low 32 bits of its edges, so
/// that a packet stays small.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sacks {
    blocks: [(u32, u32); MAX_SACKS],
    count: u8,
}

impl Sacks {
    /// Adds a block; false where the option is full.
    pub(crate) fn push(&mut self, range: Range) -> bool {
        let at = usize::from(self.count);
        if at == MAX_SACKS {
            return false;
        }
        self.blocks[at] = (range.start as u32, range.end as u32);
        self.count += 1;
        true
    }

    /// The blocks, whose edges are less than 2 GiB from `near`.
    pub(crate) fn blocks(&self, near: u64) -> impl ExactSizeIterator<Item = Range> {
        let edge = move |low: u32| near.wrapping_add_signed(i64::from(low.wrapping_sub(near as u32) as i32));
        let blocks = self.blocks[..usize::from(self.count)].iter();
        blocks.map(move |&(start, end)| Range { start: edge(start), end: edge(end) })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// What the option takes of a segment, padding included.
    pub(crate) fn option_bytes(&self) -> u32 {
        if self.is_empty() { 0 } else { 4 + 8 * u32::from(self.count) }
    }
}

/// Bits of ECN (RFC 3168), of IP and of TCP in one byte; all are 0 where the ends did not agree on it.
pub(crate) mod ecn {
    /// The field of IP.
    pub(crate) const FIELD: u8 = 3;
    /// It is ECT(0).
    pub(crate) const ECT_0: u8 = 2;
    /// It is CE.
    pub(crate) const CE: u8 = 3;
    /// TCP's ECE: a mark came.
    pub(crate) const ECE: u8 = 4;
    /// TCP's CWR: the window was reduced.
    pub(crate) const CWR: u8 = 8;
}

/// What the header of a segment says.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Header {
    pub(crate) seq: u64,
    pub(crate) ack: u64,
    /// The advertised window, bytes.
    pub(crate) window: u64,
    /// TSval, milliseconds.
    pub(crate) ts: u32,
    /// TSecr.
    pub(crate) ts_echo: u32,
    pub(crate) sacks: Sacks,
    /// See [`ecn`].
    pub(crate) ecn: u8,
}

/// A segment with payload.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Data {
    pub(crate) header: Header,
    pub(crate) len: u32,
    /// PSH.
    pub(crate) push: bool,
}

impl Data {
    /// The bytes that it carries.
    pub(crate) fn range(&self) -> Range {
        Range { start: self.header.seq, end: self.header.seq + u64::from(self.len) }
    }

    /// Takes `next` into the same super-packet where both arrive together; false where they do not fit (`tcp_gro_receive()`: one
    /// follows the other, both acknowledge the same and have the same marks, and CWR is in the first alone).
    pub(crate) fn join(&mut self, next: &Self) -> bool {
        const GRO_MAX: u32 = 65_536 - 100;
        let is_next = self.range().end == next.header.seq
            && self.header.ack == next.header.ack
            && self.header.ecn & !ecn::CWR == next.header.ecn;
        let fits = is_next && self.len + next.len <= GRO_MAX;
        if fits {
            self.len += next.len;
            self.push = next.push;
            self.header.ts = next.header.ts;
            self.header.ts_echo = next.header.ts_echo;
        }
        fits
    }
}

/// What a packet carries.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Body {
    Syn {
        ts: u32,
    },
    /// With the receiver's first window.
    SynAck {
        window: u64,
        ts: u32,
        ts_echo: u32,
    },
    HandshakeAck(Header),
    Data(Data),
    /// A segment without payload.
    Ack(Header),
    /// A zero-window probe: an old sequence number that asks for an ACK (`tcp_xmit_probe_skb()`).
    Probe(Header),
    Datagram {
        number: u64,
        len: u32,
        sent: Time,
    },
    /// A fragment of a ping; `len` is its IP payload.
    Fragment {
        way: PingWay,
        number: u64,
        index: u32,
        len: u32,
    },
}

/// Which way a packet of a ping goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PingWay {
    Request,
    Reply,
}

/// A packet with its stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment {
    pub(crate) stream: u32,
    /// IPv4's identification; 0 where packets are not captured.
    pub(crate) id: u16,
    pub(crate) body: Body,
}

impl IpPacket for Segment {
    fn ecn(&self) -> Ecn {
        match &self.body {
            Body::Data(Data { header, .. }) | Body::Ack(header) => Ecn::from_bits(header.ecn & ecn::FIELD),
            _ => Ecn::NotEct,
        }
    }

    fn set_ce(&mut self) {
        if let Body::Data(Data { header, .. }) | Body::Ack(header) = &mut self.body {
            header.ecn |= ecn::CE;
        }
    }

    fn flow(&self) -> u64 {
        self.stream.into()
    }

    /// Linux sets DF in all that is no fragment (`IP_PMTUDISC_WANT`).
    fn has_df(&self) -> bool {
        !matches!(self.body, Body::Fragment { .. })
    }
}

/// What all packets of a stream have in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Identity {
    /// Number in the run.
    pub(crate) number: u32,
    /// Index of its flow.
    pub(crate) flow: u32,
    /// Which way its data goes.
    pub(crate) direction: Direction,
    /// Whether the end that sends the data, and the one that takes it, get a super-packet in one piece.
    pub(crate) joins: [bool; 2],
    pub(crate) protocol: ProtocolIdentity,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum ProtocolIdentity {
    Tcp(TcpIdentity),
    Udp,
    Ping,
}

/// What a connection's headers have in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TcpIdentity {
    pub(crate) mss: u16,
    pub(crate) timestamps: bool,
    /// The window scales of the end that sends the data, and of the one that takes it; `None` where windows are not scaled.
    pub(crate) scales: Option<[u8; 2]>,
    /// The window in the SYN.
    pub(crate) first_window: u16,
    /// Whether the SYN asks for ECN, and whether the SYN-ACK agrees (RFC 3168, section 6.1.1).
    pub(crate) ecn: [bool; 2],
}

impl Body {
    /// The Ethernet frame without FCS, for a connection with or without timestamps.
    pub(crate) fn frame_bytes(&self, ip: Ip, timestamps: bool) -> u32 {
        let below = ETHERNET + ip.header;
        let tcp = below + TCP + options(timestamps);
        match self {
            // MSS 4, SACK permitted and timestamps 12, window scale 4 (`tcp_options_write()`).
            Self::Syn { .. } | Self::SynAck { .. } => below + TCP + 20,
            Self::HandshakeAck(_) | Self::Probe(_) => tcp,
            Self::Data(data) => tcp + data.header.sacks.option_bytes() + data.len,
            Self::Ack(header) => tcp + header.sacks.option_bytes(),
            Self::Datagram { len, .. } => below + UDP + len,
            Self::Fragment { len, .. } => below + len,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_segment_is_a_full_frame() {
        for (header, mtu, mss) in [(20, 1500, 1448), (20, 576, 524), (20, 9000, 8948), (40, 1500, 1428)] {
            let ip = Ip { header, mtu };
            assert_eq!((ip.mss(true), ip.mss(false)), (mss, mss + TIMESTAMPS));
            let data = Body::Data(Data { header: Header::default(), len: mss, push: false });
            assert_eq!(data.frame_bytes(ip, true), mtu + 14);
        }
    }

    #[test]
    fn a_block_keeps_its_place_beyond_32_bits() {
        let mut sacks = Sacks::default();
        let near = (1 << 32) + 10;
        let blocks =
            [Range { start: near - 20, end: near - 5 }, Range { start: near + 5, end: near + 1_000_000_000 }];
        assert!(blocks.into_iter().all(|block| sacks.push(block)));
        assert!(sacks.blocks(near).eq(blocks));
    }

    #[test]
    fn an_ack_grows_with_its_sack_blocks() {
        let mut sacks = Sacks::default();
        assert!((0..3).all(|i| sacks.push(Range { start: i, end: i + 1 })));
        assert!(!sacks.push(Range::default()));
        let ack = Body::Ack(Header { sacks, ..Header::default() });
        assert_eq!(ack.frame_bytes(Ip { header: 20, mtu: 1500 }, true), 66 + 28);
        assert_eq!(ack.frame_bytes(Ip { header: 40, mtu: 1500 }, true), 86 + 28);
    }
}
