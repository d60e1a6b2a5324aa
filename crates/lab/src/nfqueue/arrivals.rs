//! What arrives in a queue: several messages for one system call, each with the headers of a packet.

use super::{ETHERNET, Hop, PACKET, Queue};
use crate::frame::vnet_of_super_packet;
use crate::nfnetlink::GENERIC;
use crate::sys::packet::SNAP;
use crate::sys::received::{Packet, Received, VNET_LEN};
use netlink_packet_core::{NLA_HEADER_SIZE, NetlinkBuffer, NlasIterator};
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, MultiHeaders, recvmmsg};
use std::collections::VecDeque;
use std::io::{self, IoSliceMut};
use std::os::fd::AsRawFd;

/// Messages fetched in one system call, and the most bytes of one: the headers of a packet and what the kernel says of it.
const AT_ONCE: usize = 32;
const LARGEST: usize = 1 << 10;
/// `NFQA_*`.
pub(super) const PACKET_HDR: u16 = 1;
const TIMESTAMP: u16 = 4;
pub(super) const PAYLOAD: u16 = 10;
const CAP_LEN: u16 = 13;
const SKB_INFO: u16 = 14;
/// `NFQA_SKB_GSO`.
const IS_SUPER_PACKET: u32 = 2;

/// Receives from a [`Queue`].
pub(crate) struct Arrivals<'a> {
    queue: &'a Queue,
    headers: MultiHeaders<()>,
    landing: Vec<Vec<u8>>,
    /// Of the messages that have landed and were not handed over: the place and the length.
    landed: VecDeque<(usize, usize)>,
}

impl<'a> Arrivals<'a> {
    /// Of this queue.
    pub(crate) fn of(queue: &'a Queue) -> Self {
        Self {
            queue,
            headers: MultiHeaders::preallocate(AT_ONCE, None),
            landing: vec![vec![0; LARGEST]; AT_ONCE],
            landed: VecDeque::new(),
        }
    }

    /// Hands the next packet to `take`; false where none has arrived.
    ///
    /// # Errors
    /// Those of `recvmmsg(2)`.
    pub(crate) fn next(&mut self, take: impl FnOnce(Received<'_>)) -> io::Result<bool> {
        loop {
            if self.landed.is_empty() {
                self.fetch()?;
            }
            let Some((place, length)) = self.landed.pop_front() else { return Ok(false) };
            if let Some(shown) = Shown::parse(&self.landing[place][..length]) {
                shown.receive(&self.queue.hop, take);
                return Ok(true);
            }
        }
    }

    fn fetch(&mut self) -> io::Result<()> {
        let mut slices: Vec<[IoSliceMut<'_>; 1]> =
            self.landing.iter_mut().map(|bytes| [IoSliceMut::new(bytes)]).collect();
        let socket = self.queue.fd().as_raw_fd();
        match recvmmsg(socket, &mut self.headers, &mut slices, MsgFlags::MSG_DONTWAIT, None) {
            Ok(messages) => {
                self.landed.extend(messages.map(|message| message.bytes).enumerate());
                Ok(())
            }
            Err(Errno::EAGAIN | Errno::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// What a message says of a packet.
struct Shown<'a> {
    id: u32,
    /// `ETH_P_*`.
    protocol: [u8; 2],
    realtime_ns: u64,
    /// Length from the IP header on.
    len: u32,
    is_super_packet: bool,
    /// Its first bytes, from the IP header on.
    head: &'a [u8],
}

impl<'a> Shown<'a> {
    /// `None` where the message is about something else (an error, for a verdict without a packet).
    fn parse(message: &'a [u8]) -> Option<Self> {
        if NetlinkBuffer::new_checked(message).ok()?.message_type() != PACKET {
            return None;
        }
        let (mut of, mut length, mut flags) = (None, None, 0);
        let (mut realtime_ns, mut head) = (u64::MAX, &[][..]);
        for attribute in NlasIterator::new(message.get(GENERIC..)?).map_while(Result::ok) {
            let (kind, end) = (attribute.kind(), usize::from(attribute.length()));
            let value = attribute.into_inner().get(NLA_HEADER_SIZE..end)?;

            match kind {
                PACKET_HDR => of = value.first_chunk::<6>().copied(),
                TIMESTAMP => realtime_ns = value.first_chunk().map_or(u64::MAX, nanos),
                PAYLOAD => head = value,
                CAP_LEN => length = value.first_chunk().copied().map(u32::from_be_bytes),
                SKB_INFO => flags = value.first_chunk().copied().map_or(0, u32::from_be_bytes),
                _ => {}
            }
        }
        let [a, b, c, d, protocol @ ..] = of?;
        Some(Self {
            id: u32::from_be_bytes([a, b, c, d]),
            protocol,
            realtime_ns,
            len: length.unwrap_or(head.len() as u32),
            is_super_packet: flags & IS_SUPER_PACKET != 0,
            head,
        })
    }

    /// As a packet socket would have received it.
    fn receive(self, hop: &Hop, take: impl FnOnce(Received<'_>)) {
        let mut head = [0; SNAP];
        head[..6].copy_from_slice(&hop.destination);
        head[6..12].copy_from_slice(&hop.source);
        head[12..ETHERNET].copy_from_slice(&self.protocol);
        let shown = self.head.len().min(SNAP - ETHERNET);
        head[ETHERNET..ETHERNET + shown].copy_from_slice(&self.head[..shown]);
        let head = &head[..ETHERNET + shown];
        let vnet = if self.is_super_packet { vnet_of_super_packet(head, hop.mtu) } else { [0; VNET_LEN] };
        take(Received {
            realtime_ns: self.realtime_ns,
            is_outgoing: false,
            len: self.len + ETHERNET as u32,
            vnet,
            packet: Packet::Held(self.id, head),
        });
    }
}

/// `struct nfqnl_msg_packet_timestamp`: seconds and microseconds.
fn nanos(stamp: &[u8; 16]) -> u64 {
    let [seconds, micros] = [0, 8].map(|at| stamp[at..].first_chunk().copied().map_or(0, u64::from_be_bytes));
    seconds.saturating_mul(1_000_000_000).saturating_add(micros.saturating_mul(1_000))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Frame;
    use crate::nfnetlink::Message;
    use netlink_packet_core::DefaultNla;
    use proptest::prelude::*;

    const HOP: Hop = Hop { source: [2; 6], destination: [4; 6], mtu: 1500 };

    /// A super-packet of 10 segments of 1448 bytes, as the kernel shows it.
    fn shown_super_packet() -> Vec<u8> {
        let mut head = vec![0; SNAP - ETHERNET];
        (head[0], head[9], head[32]) = (0x45, 6, 8 << 4);
        let attributes = [
            DefaultNla::new(PACKET_HDR, vec![0, 0, 1, 2, 0x08, 0x00, 2]),
            DefaultNla::new(TIMESTAMP, [7_u64.to_be_bytes(), 9_u64.to_be_bytes()].concat()),
            DefaultNla::new(CAP_LEN, (52 + 14_480_u32).to_be_bytes().into()),
            DefaultNla::new(SKB_INFO, IS_SUPER_PACKET.to_be_bytes().into()),
            DefaultNla::new(PAYLOAD, head),
        ];
        Message { kind: PACKET, family: 2, resource: 0, attributes: &attributes }.emit(0, 0)
    }

    #[test]
    fn a_super_packet_has_the_segments_that_its_mtu_makes() {
        let message = shown_super_packet();
        let shown = Shown::parse(&message).expect("a packet");
        assert_eq!((shown.id, shown.realtime_ns, shown.len), (258, 7_000_009_000, 14_532));
        let mut segments = 0;
        shown.receive(&HOP, |received| {
            assert_eq!(received.bytes()[..ETHERNET], [4, 4, 4, 4, 4, 4, 2, 2, 2, 2, 2, 2, 8, 0]);
            let frame = Frame::new(received);
            segments = frame.segments();
            assert_eq!(frame.segment_len(0), 1514);
            let held = |first, count| {
                frame.outgoing(first, count).held.map(|held| (held.id, held.is_whole, held.payload_at))
            };
            assert_eq!(held(0, 10), Some((258, true, SNAP)));
            assert_eq!(held(2, 3), Some((258, false, 66 + 2 * 1448)));
        });
        assert_eq!(segments, 10);
    }

    proptest! {
        /// A message that is cut or damaged is none, or a packet of a length that the path can carry.
        #[test]
        fn what_is_damaged_is_survived(length in 0_usize..260, at in 0_usize..260, byte: u8) {
            let mut message = shown_super_packet();
            if let Some(place) = message.get_mut(at) { *place = byte; }
            message.truncate(length.max(1));
            if let Some(shown) = Shown::parse(&message) {
                shown.receive(&HOP, |received| {
                    let length = received.len as usize;
                    assert!(Frame::new(received).outgoing(0, 1).len <= length);
                });
            }
        }
    }
}
