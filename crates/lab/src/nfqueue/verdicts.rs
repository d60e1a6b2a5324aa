//! What becomes of the packets in a queue. In their order: the path neither reorders nor spreads what a queue holds.
//!
//! Where segments of a super-packet are lost, the kernel drops it, and what is left of it leaves by the packet socket.

use super::arrivals::{PACKET_HDR, PAYLOAD};
use super::{COPIES, ETHERNET, Queue, VERDICTS};
use crate::nfnetlink::{GENERIC, Message, Nfnetlink};
use crate::sys::buffers::{Buffer, Buffers};
use crate::sys::packet::{Outgoing, PacketSocket};
use netlink_packet_core::{DefaultNla, NLA_ALIGNTO, NLA_HEADER_SIZE, NlasIterator};
use nix::sys::socket::{MsgFlags, recv};
use std::io;
use std::os::fd::AsRawFd;
use std::rc::Rc;

/// `NF_DROP`, `NF_ACCEPT`, `NF_QUEUE`.
const DROP: u32 = 0;
const ACCEPT: u32 = 1;
const TO_QUEUE: u32 = 3;
/// `NFQA_VERDICT_HDR`.
const VERDICT_HDR: u16 = 2;
/// Whole packets that are being cut: one at a time.
const MEMORY: usize = 1 << 18;

/// Lets packets of a [`Queue`] go on.
pub(crate) struct Verdicts<'a> {
    queue: &'a Queue,
    output: &'a PacketSocket,
    decisions: Decisions,
    /// What is left of the packet that is being cut.
    pieces: Vec<Outgoing>,
    copied: Copied,
}

/// Verdicts that the kernel has not been sent yet.
struct Decisions {
    /// The first packet that is not decided; the kernel counts from 1 on.
    next: u32,
    /// Each with the last packet that it is about: those behind the one before it.
    made: Vec<(u32, u32)>,
}

impl Decisions {
    const fn none() -> Self {
        Self { next: 1, made: Vec::new() }
    }

    /// This packet's; those before it that were not decided are dropped.
    fn make(&mut self, id: u32, verdict: u32) {
        if id != self.next {
            self.note(id.wrapping_sub(1), DROP);
        }
        self.note(id, verdict);
        self.next = id.wrapping_add(1);
    }

    fn note(&mut self, last: u32, verdict: u32) {
        match self.made.last_mut() {
            Some((previous, same)) if *same == verdict => *previous = last,
            _ => self.made.push((last, verdict)),
        }
    }
}

/// Memory for whole packets.
struct Copied {
    landing: Vec<u8>,
    buffers: Rc<Buffers>,
}

impl<'a> Verdicts<'a> {
    /// For the packets of `queue`; pieces of them leave by `output`.
    pub(crate) fn new(queue: &'a Queue, output: &'a PacketSocket) -> Self {
        let copied = Copied { landing: Buffers::large(), buffers: Buffers::new(MEMORY) };
        Self { queue, output, decisions: Decisions::none(), pieces: Vec::new(), copied }
    }

    /// Lets these go on, in order, and drops what was before them and is not among them; returns how many the kernel refused. Of a packet in
    /// pieces more may follow: [`Self::finish`] ends it.
    pub(crate) fn send(&mut self, packets: &[Outgoing]) -> u64 {
        let mut refused = 0;
        for packet in packets {
            let Some(held) = packet.held else { continue };
            if self.pieces.first().and_then(|piece| piece.held).is_some_and(|cut| cut.id != held.id) {
                refused += self.finish();
            }
            if held.is_whole {
                self.decisions.make(held.id, ACCEPT);
            } else {
                self.pieces.push(packet.clone());
            }
        }
        refused + u64::from(self.flush().is_err())
    }

    /// Sends the pieces of a packet of which no more follow.
    pub(crate) fn finish(&mut self) -> u64 {
        let mut pieces = std::mem::take(&mut self.pieces);
        let Some(held) = pieces.first().and_then(|piece| piece.held) else { return 0 };
        let refused = match self.replace(held.id, &mut pieces) {
            Ok(()) => self.output.send(&pieces),
            Err(_) => pieces.len() as u64,
        };
        pieces.clear();
        self.pieces = pieces;
        refused
    }

    /// Takes the packet from the kernel, with its payload where that is kept.
    fn replace(&mut self, id: u32, pieces: &mut [Outgoing]) -> io::Result<()> {
        let Some(copies) = &self.queue.copies else {
            self.decisions.make(id, DROP);
            return self.flush();
        };
        self.decisions.make(id, u32::from(COPIES + self.queue.number) << 16 | TO_QUEUE);
        self.flush()?;
        let whole = Rc::new(self.copied.fetch(copies, COPIES + self.queue.number)?);
        for piece in pieces {
            piece.payload = piece.held.map(|held| (Rc::clone(&whole), held.payload_at));
        }
        Ok(())
    }

    /// Sends the kernel what is decided.
    fn flush(&mut self) -> io::Result<()> {
        let made = &mut self.decisions.made;
        if made.is_empty() {
            return Ok(());
        }
        let mut messages = Vec::with_capacity(made.len() * (GENERIC + 12));
        for (last, verdict) in made.drain(..) {
            messages.extend(message(self.queue.number, last, verdict));
        }
        self.queue.netfilter.socket().send(&messages, 0).map(drop)
    }
}

impl Copied {
    /// The packet that was put into the queue of copies just now; it is dropped there.
    fn fetch(&mut self, copies: &Nfnetlink, number: u16) -> io::Result<Buffer> {
        let length = recv(copies.socket().as_raw_fd(), &mut self.landing, MsgFlags::MSG_DONTWAIT)?;
        let (mut at, mut id, mut packet) = (GENERIC, None, None);
        for attribute in
            NlasIterator::new(self.landing.get(GENERIC..length).unwrap_or_default()).map_while(Result::ok)
        {
            let end = at + usize::from(attribute.length());
            match attribute.kind() {
                PACKET_HDR => id = self.landing[at + NLA_HEADER_SIZE..].first_chunk().copied(),
                // What stands before it is taken for the Ethernet header, which nobody reads.
                PAYLOAD => packet = Some(at + NLA_HEADER_SIZE - ETHERNET..end),
                _ => {}
            }
            at = end.next_multiple_of(NLA_ALIGNTO);
        }
        let (Some(id), Some(packet)) = (id.map(u32::from_be_bytes), packet) else {
            return Err(io::Error::other("no packet in the queue of copies"));
        };
        copies.socket().send(&message(number, id, DROP), 0)?;
        self.buffers.keep(&mut self.landing, packet).ok_or_else(|| io::Error::other("no memory for a copy"))
    }
}

/// The verdict about all packets up to the one with the number `last`.
fn message(queue: u16, last: u32, verdict: u32) -> Vec<u8> {
    let header = [verdict.to_be_bytes(), last.to_be_bytes()].concat();
    let attributes = [DefaultNla::new(VERDICT_HDR, header)];
    Message { kind: VERDICTS, family: 0, resource: queue, attributes: &attributes }.emit(0, 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever is lost, and in how many messages, each packet has one decision: its own, or to be dropped.
        #[test]
        fn each_packet_is_decided_once(
            fates in prop::collection::vec(prop_oneof![Just(None), Just(Some(ACCEPT)), Just(Some(TO_QUEUE))], 1..60),
            pauses in prop::collection::vec(prop::bool::weighted(0.2), 1..20),
            first in prop_oneof![Just(1_u32), Just(u32::MAX - 20)],
        ) {
            let (mut decisions, mut sent) = (Decisions { next: first, made: Vec::new() }, Vec::new());
            for (at, fate) in fates.iter().enumerate() {
                if let Some(verdict) = fate {
                    decisions.make(first.wrapping_add(at as u32), *verdict);
                }
                if pauses[at % pauses.len()] {
                    sent.append(&mut decisions.made);
                }
            }
            sent.append(&mut decisions.made);
            let (mut id, mut had) = (first, Vec::new());
            for (last, verdict) in sent {
                while id != last.wrapping_add(1) {
                    had.push(verdict);
                    id = id.wrapping_add(1);
                }
            }
            let last = fates.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
            let expected: Vec<u32> = fates[..last].iter().map(|fate| fate.unwrap_or(DROP)).collect();
            prop_assert_eq!(had, expected);
        }
    }

    #[test]
    fn a_verdict_is_32_bytes() {
        let bytes = message(3, 7, ACCEPT);
        assert_eq!((bytes.len(), u32::from_ne_bytes(bytes[..4].try_into().unwrap())), (32, 32));
        assert_eq!(bytes[16..20], [0, 0, 0, 3], "family, version, queue");
        assert_eq!(bytes[24..], [0, 0, 0, 1, 0, 0, 0, 7]);
    }
}
