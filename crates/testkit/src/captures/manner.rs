//! Transfers without losses in the manner of a stack: the form of its SYN, its window, when it acknowledges. Made without the code that is tested.

use super::exchange::CapturedPacket;
use super::frame::{ACK, FIN, PSH, SYN, Tcp, ethernet, stamps};

/// One end.
#[derive(Debug, Clone)]
pub struct Manner {
    /// The options of its SYN; timestamps in them are used in every segment.
    pub syn: Vec<u8>,
    pub ttl: u8,
    /// It discovers the path's MTU (RFC 1191).
    pub dont_fragment: bool,
    /// The window that it advertises, as the header has it and in bytes.
    pub window: u16,
    pub window_bytes: u64,
    /// How long it waits with the ACK of a single segment.
    pub delayed_ack_ns: u64,
}

/// Between the ends.
#[derive(Debug, Clone, Copy)]
pub struct CapturedPath {
    pub rtt_ns: u64,
    /// Time of a segment at the bottleneck, which has a queue for all.
    pub gap_ns: u64,
    /// The capture is made at the receiver.
    pub is_at_receiver: bool,
}

const ISNS: [u32; 2] = [100, 500];
const START_NS: u64 = 1_700_000_000_000_000_000;
/// Less than it takes to send the next.
const HOST_NS: u64 = 3_000;

struct Writer<'a> {
    seen: Vec<CapturedPacket>,
    ends: [&'a Manner; 2],
    way: CapturedPath,
    /// The next sequence numbers of both ends.
    next: [u32; 2],
    ids: [u16; 2],
    has_stamps: bool,
}

impl<'a> Writer<'a> {
    fn new(ends: [&'a Manner; 2], way: CapturedPath) -> Self {
        let has_stamps = ends.iter().all(|end| end.syn.windows(2).any(|option| option == [8, 10]));
        Self { seen: Vec::new(), ends, way, next: ISNS, ids: [1_000, 9_000], has_stamps }
    }

    /// A packet that `end` sends at `sent_ns`, seen where the capture is made; returns when it arrives at the other end.
    fn send(&mut self, end: usize, sent_ns: u64, flags: u8, payload: usize, acks: u32) -> u64 {
        let arrives_ns = sent_ns + self.way.rtt_ns / 2;
        let is_here = self.way.is_at_receiver == (end == 1);
        self.ids[end] += 1;
        let options = match flags & SYN {
            0 if self.has_stamps => stamps((sent_ns / 1_000_000) as u32, 7),
            0 => Vec::new(),
            _ => self.ends[end].syn.clone(),
        };
        let (seq, window, id) = (self.next[end], self.ends[end].window, self.ids[end]);
        let ports = if end == 0 { (40_000, 80) } else { (80, 40_000) };
        let tcp = Tcp { ports, window, options, id, ..Tcp::new(seq, acks, flags, payload) };
        let mut bytes = tcp.v4();
        bytes[6] = u8::from(self.ends[end].dont_fragment) << 6;
        bytes[8] = self.ends[end].ttl;
        let frame = ethernet(&[], 0x0800, &bytes);
        self.next[end] += payload as u32 + u32::from(flags & (SYN | FIN) != 0);
        let original = (frame.len() + payload) as u32;
        let time_ns = START_NS + if is_here { sent_ns } else { arrives_ns };
        self.seen.push(CapturedPacket { time_ns, frame, original, why: None });
        arrives_ns
    }

    fn shake(&mut self) -> u64 {
        let at = self.send(0, 0, SYN, 0, 0);
        let at = self.send(1, at + HOST_NS, SYN | ACK, 0, ISNS[0] + 1);
        self.send(0, at + HOST_NS, ACK, 0, ISNS[1] + 1);
        at + 2 * HOST_NS
    }

    fn finish(mut self, at_ns: u64) -> Vec<CapturedPacket> {
        let acks = self.next[1];
        self.send(0, at_ns, ACK | FIN, 0, acks);
        self.seen.sort_by_key(|packet| packet.time_ns);
        self.seen
    }
}

/// `segments` of `mss` bytes, as fast as windows allow: slow start from two segments (RFC 5681 3.1), an ACK for each second one (RFC 1122 4.2.3.2).
pub fn bulk(ends: [&Manner; 2], way: CapturedPath, mss: usize, segments: u64) -> Vec<CapturedPacket> {
    let mut writer = Writer::new(ends, way);
    let begin_ns = writer.shake();
    let window = (ends[1].window_bytes / mss as u64).max(1);
    let (mut cwnd, mut sent, mut acked) = (2, 0, 0);
    // When the last segment left the bottleneck, and what came without an ACK: how many, and since when.
    let (mut free_ns, mut held) = (0, None::<u64>);
    let mut now_ns = begin_ns;
    // ACKs on their way: when each arrives, and how many segments it acknowledges.
    let mut acks = std::collections::VecDeque::<(u64, u64)>::new();
    while acked < segments {
        while sent < segments && sent - acked < cwnd.min(window) {
            let arrives_ns = (writer.send(0, now_ns, ACK, mss, ISNS[1] + 1)).max(free_ns + way.gap_ns);
            // Near the receiver it is seen behind the bottleneck.
            if way.is_at_receiver {
                writer.seen.last_mut().expect("it was sent").time_ns = START_NS + arrives_ns;
            }
            free_ns = arrives_ns;
            sent += 1;
            now_ns += HOST_NS;
            let is_due = held.is_some_and(|since_ns| arrives_ns < since_ns + ends[1].delayed_ack_ns);
            match held.take() {
                Some(_) if is_due => acks.push_back((arrives_ns, sent)),
                Some(since_ns) => {
                    acks.push_back((since_ns + ends[1].delayed_ack_ns, sent - 1));
                    held = Some(arrives_ns);
                }
                None => held = Some(arrives_ns),
            }
        }
        // The timer for a segment that nothing follows.
        if acks.is_empty()
            && let Some(since_ns) = held.take()
        {
            acks.push_back((since_ns + ends[1].delayed_ack_ns, sent));
        }
        let (at_ns, to) = acks.pop_front().expect("something is outstanding");
        let ack = ISNS[0] + 1 + (to * mss as u64) as u32;
        now_ns = now_ns.max(writer.send(1, at_ns + HOST_NS, ACK, 0, ack));
        (cwnd, acked) = (cwnd + (to - acked), to);
    }
    writer.finish(now_ns)
}

/// Requests of 200 bytes, each answered after `think_ns` with `answer` bytes in one segment, which the next request acknowledges.
pub fn conversation(
    ends: [&Manner; 2],
    way: CapturedPath,
    (answer, think_ns): (usize, u64),
    count: u32,
) -> Vec<CapturedPacket> {
    let mut writer = Writer::new(ends, way);
    let mut at_ns = writer.shake();
    for _ in 0..count {
        let acks = writer.next[1];
        let asked_ns = writer.send(0, at_ns + HOST_NS, ACK | PSH, 200, acks);
        let acks = writer.next[0];
        at_ns = writer.send(1, asked_ns + HOST_NS + think_ns, ACK | PSH, answer, acks);
    }
    writer.finish(at_ns + HOST_NS)
}

/// Writes of one segment each, of which the next follows the ACK of the one before, as Nagle's algorithm has it for the last part of a write.
pub fn one_at_a_time(ends: [&Manner; 2], way: CapturedPath, mss: usize, count: u32) -> Vec<CapturedPacket> {
    let mut writer = Writer::new(ends, way);
    let mut at_ns = writer.shake();
    for _ in 0..count {
        let arrives_ns = writer.send(0, at_ns + HOST_NS, ACK | PSH, mss, ISNS[1] + 1);
        let acks = writer.next[0];
        at_ns = writer.send(1, arrives_ns + ends[1].delayed_ack_ns, ACK, 0, acks);
    }
    writer.finish(at_ns + HOST_NS)
}
