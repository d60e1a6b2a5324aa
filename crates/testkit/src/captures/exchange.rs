//! A bulk transfer between a sender with SACK, RACK, TLP and RTO, and a receiver, over a path with losses: what passes a point of the path,
//! and why each segment was sent.
//!
//! Not Linux: the simulator is. It is small, fast, and made without the code that it tests. The window is fixed, and after a timeout
//! grows from one segment by one with each ACK.

use super::frame::{ACK, FIN, SYN, Tcp, ethernet, sack, stamps, syn_options};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Why a segment was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    New,
    Fast,
    Rto,
    Tlp,
}

#[derive(Debug, Clone, Copy)]
pub struct Setup {
    pub segments: u64,
    pub window: usize,
    pub rtt_ns: u64,
    /// Time of a segment at the bottleneck.
    pub gap_ns: u64,
    /// Of a million segments so many are lost, before and behind the capture point.
    pub lost_before: u32,
    pub lost_behind: u32,
    /// The capture point: 0 at the sender, 1000 at the receiver.
    pub place: u64,
    pub seed: u64,
    pub isn: u32,
    pub stamp: u32,
}

pub const MSS: u64 = 1448;

/// What passed the capture point.
#[derive(Debug, Clone)]
pub struct CapturedPacket {
    pub time_ns: u64,
    pub frame: Vec<u8>,
    pub original: u32,
    /// Of a segment with data: why.
    pub why: Option<Why>,
}

#[derive(Debug, Clone, Copy)]
struct Segment {
    sent_ns: u64,
    is_sacked: bool,
    is_lost: bool,
    is_resent: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Data { index: u64, tsval: u32 },
    Ack { to: u64, blocks: Vec<(u64, u64)>, echo: u32 },
    Timer { number: u64 },
}

pub struct Exchange<'a> {
    setup: Setup,
    chance: u64,
    now: u64,
    order: u64,
    events: BinaryHeap<Reverse<(u64, u64, What)>>,
    out: &'a mut dyn FnMut(CapturedPacket),
    // The sender.
    first: u64,
    window: VecDeque<Segment>,
    cwnd: usize,
    in_flight: usize,
    high_seq: Option<u64>,
    is_loss: bool,
    tlp_until: Option<u64>,
    rack_ns: u64,
    timer: u64,
    backoff: u32,
    id: u16,
    link_free_ns: u64,
    pub sent: [u64; 4],
    // The receiver.
    next: u64,
    above: Vec<(u64, u64)>,
    recent_stamp: u32,
    back_id: u16,
}

const START_NS: u64 = 1_700_000_000_000_000_000;
const SERVER_ISN: u32 = 77;

impl<'a> Exchange<'a> {
    pub fn new(setup: Setup, out: &'a mut dyn FnMut(CapturedPacket)) -> Self {
        Self {
            setup,
            chance: setup.seed | 1,
            now: START_NS,
            order: 0,
            events: BinaryHeap::new(),
            out,
            first: 0,
            window: VecDeque::new(),
            cwnd: setup.window,
            in_flight: 0,
            high_seq: None,
            is_loss: false,
            tlp_until: None,
            rack_ns: 0,
            timer: 0,
            backoff: 0,
            id: 1000,
            link_free_ns: 0,
            sent: [0; 4],
            next: 0,
            above: Vec::new(),
            recent_stamp: 0,
            back_id: 5,
        }
    }

    /// Runs to its end. Returns how many segments were sent for which reason.
    pub fn run(mut self) -> [u64; 4] {
        self.shake();
        self.fill();
        while let Some(Reverse((time, _, what))) = self.events.pop() {
            self.now = self.now.max(time);
            match what {
                What::Data { index, tsval } => self.receive(index, tsval),
                What::Ack { to, blocks, echo } => self.acknowledged(to, &blocks, echo),
                What::Timer { number } if number == self.timer => self.expire(),
                What::Timer { .. } => {}
            }
            if self.first == self.setup.segments {
                break;
            }
        }
        self.close();
        self.sent
    }

    fn forward_delay(&self) -> u64 {
        self.setup.rtt_ns / 2
    }

    fn to_place(&self) -> u64 {
        self.forward_delay() * self.setup.place / 1000
    }

    fn random(&mut self) -> u32 {
        self.chance ^= self.chance << 13;
        self.chance ^= self.chance >> 7;
        self.chance ^= self.chance << 17;
        ((self.chance >> 32) % 1_000_000) as u32
    }

    fn tell(&mut self, time_ns: u64, tcp: &Tcp, why: Option<Why>) {
        let frame = ethernet(&[], 0x0800, &tcp.v4());
        let original = (frame.len() + tcp.payload) as u32;
        (self.out)(CapturedPacket { time_ns, frame, original, why });
    }

    fn stamp(&self) -> u32 {
        self.setup.stamp.wrapping_add(((self.now - START_NS) / 1_000_000) as u32)
    }

    fn seq(&self, index: u64) -> u32 {
        self.setup.isn.wrapping_add(1).wrapping_add((index * MSS) as u32)
    }

    fn shake(&mut self) {
        let (isn, stamp, rtt) = (self.setup.isn, self.setup.stamp, self.setup.rtt_ns);
        let place = self.to_place();
        let syn = Tcp { options: syn_options(1460, 7, stamp, 0), ..Tcp::new(isn, 0, SYN, 0) };
        self.tell(self.now + place, &syn, None);
        let options = syn_options(1460, 8, 9, stamp);
        let answer = Tcp { options, ..Tcp::new(SERVER_ISN, isn.wrapping_add(1), SYN | ACK, 0) }.back();
        self.tell(self.now + rtt - place, &answer, None);
        self.now += rtt;
        let options = stamps(self.stamp(), 9);
        let ack = Tcp { options, ..Tcp::new(isn.wrapping_add(1), SERVER_ISN + 1, ACK, 0) };
        self.tell(self.now + place, &ack, None);
    }

    fn close(&mut self) {
        let (seq, place) = (self.seq(self.setup.segments), self.to_place());
        let options = stamps(self.stamp(), 9);
        let id = self.id.wrapping_add(1).max(1);
        let fin = Tcp { options: options.clone(), id, ..Tcp::new(seq, SERVER_ISN + 1, ACK | FIN, 0) };
        let back = Tcp { options, ..Tcp::new(SERVER_ISN + 1, seq.wrapping_add(1), ACK | FIN, 0) }.back();
        self.tell(self.now + place, &fin, None);
        self.tell(self.now + self.setup.rtt_ns - place, &back, None);
    }

    fn push(&mut self, time: u64, what: What) {
        self.order += 1;
        self.events.push(Reverse((time, self.order, what)));
    }

    fn set_timer(&mut self) {
        self.timer += 1;
        if self.window.is_empty() {
            return;
        }
        let may_probe = self.high_seq.is_none()
            && self.tlp_until.is_none()
            && self.window.iter().all(|segment| !segment.is_sacked);
        let rtt = self.setup.rtt_ns + self.setup.window as u64 * self.setup.gap_ns;
        // RFC 6298, 2.2: twice the first round trip is added to it (`TCP_RTO_MIN` at least), as long as few round trips were measured.
        let timeout = rtt + (2 * rtt).max(200_000_000);
        let wait = if may_probe { 2 * rtt + 4_000_000 } else { timeout << self.backoff };
        self.push(self.now + wait, What::Timer { number: self.timer });
    }

    /// New data, as far as the window allows.
    fn fill(&mut self) {
        let mut any = false;
        if self.high_seq.is_some() {
            for at in 0..self.window.len() {
                let segment = self.window[at];
                if self.in_flight >= self.cwnd {
                    break;
                }
                if segment.is_lost && !segment.is_resent && !segment.is_sacked {
                    self.window[at].is_resent = true;
                    self.in_flight += 1;
                    let why = if self.is_loss { Why::Rto } else { Why::Fast };
                    self.send(at, why);
                    any = true;
                }
            }
        }
        while self.in_flight < self.cwnd && self.first + (self.window.len() as u64) < self.setup.segments {
            self.window.push_back(Segment { sent_ns: 0, is_sacked: false, is_lost: false, is_resent: false });
            self.in_flight += 1;
            self.send(self.window.len() - 1, Why::New);
            any = true;
        }
        if any {
            self.set_timer();
        }
    }

    fn send(&mut self, at: usize, why: Why) {
        self.sent[why as usize] += 1;
        let index = self.first + at as u64;
        self.id = self.id.wrapping_add(1).max(1);
        // No two at the same time.
        self.now += 100;
        self.window[at].sent_ns = self.now;
        let tsval = self.stamp();
        let is_lost_before = self.random() < self.setup.lost_before;
        if is_lost_before {
            return;
        }
        let tcp = Tcp {
            options: stamps(tsval, 9),
            id: self.id,
            ..Tcp::new(self.seq(index), SERVER_ISN + 1, ACK, MSS as usize)
        };
        self.tell(self.now + self.to_place(), &tcp, Some(why));
        if self.random() < self.setup.lost_behind {
            return;
        }
        self.link_free_ns = self.link_free_ns.max(self.now) + self.setup.gap_ns;
        self.push(self.link_free_ns + self.forward_delay(), What::Data { index, tsval });
    }

    fn receive(&mut self, index: u64, tsval: u32) {
        let mut first = None;
        let is_again = index < self.next || self.above.iter().any(|&(from, to)| from <= index && index < to);
        if is_again {
            first = Some((index, index + 1));
        } else if index == self.next {
            self.recent_stamp = tsval;
            self.next += 1;
            if let Some(at) = self.above.iter().position(|&(from, _)| from == self.next) {
                self.next = self.above.remove(at).1;
            }
        } else {
            let (mut from, mut to) = (index, index + 1);
            if let Some(at) = self.above.iter().position(|&(_, end)| end == index) {
                from = self.above.remove(at).0;
            }
            if let Some(at) = self.above.iter().position(|&(start, _)| start == index + 1) {
                to = self.above.remove(at).1;
            }
            self.above.insert(0, (from, to));
        }
        let blocks: Vec<_> = first.into_iter().chain(self.above.iter().copied()).take(3).collect();
        let (to, echo) = (self.next, self.recent_stamp);
        self.push(self.now + self.forward_delay(), What::Ack { to, blocks, echo });
    }

    fn acknowledged(&mut self, to: u64, blocks: &[(u64, u64)], echo: u32) {
        self.tell_ack(to, blocks, echo);
        let mut is_news = false;
        let mut left = 0;
        while self.first < to {
            let Some(segment) = self.window.pop_front() else { break };
            self.first += 1;
            is_news = true;
            left += usize::from(!segment.is_sacked && (!segment.is_lost || segment.is_resent));
            if !segment.is_sacked {
                self.rack_ns = self.rack_ns.max(segment.sent_ns);
            }
        }
        self.in_flight -= left;
        for &(from, end) in blocks.iter().filter(|&&(from, _)| from >= to) {
            for index in from.max(self.first)..end {
                let Some(segment) = self.window.get_mut((index - self.first) as usize) else { continue };
                if !segment.is_sacked {
                    segment.is_sacked = true;
                    is_news = true;
                    self.in_flight -= usize::from(!segment.is_lost || segment.is_resent);
                    self.rack_ns = self.rack_ns.max(segment.sent_ns);
                }
            }
        }
        if self.tlp_until.is_some_and(|until| self.first >= until) {
            self.tlp_until = None;
        }
        if self.high_seq.is_some_and(|until| self.first >= until) {
            (self.high_seq, self.is_loss, self.cwnd) = (None, false, self.setup.window);
        }
        if is_news {
            self.backoff = 0;
            self.set_timer();
            self.cwnd = (self.cwnd + 1).min(self.setup.window);
        }
        self.find_losses();
        self.fill();
    }

    fn tell_ack(&mut self, to: u64, blocks: &[(u64, u64)], echo: u32) {
        let mut options = stamps(9, echo);
        if !blocks.is_empty() {
            let edges: Vec<_> = blocks.iter().map(|&(from, to)| (self.seq(from), self.seq(to))).collect();
            options.extend(sack(&edges));
        }
        self.back_id = self.back_id.wrapping_add(1).max(1);
        let ack = Tcp { options, id: self.back_id, ..Tcp::new(SERVER_ISN + 1, self.seq(to), ACK, 0) }.back();
        self.tell(self.now - self.to_place(), &ack, None);
    }

    /// RFC 8985, without a window for reordering: nothing is overtaken here. After a timeout a retransmission that is lost again begins a fast
    /// recovery, as in Linux (`tcp_fastretrans_alert()`, `FLAG_LOST_RETRANS`).
    fn find_losses(&mut self) {
        let (mut any, mut is_lost_again) = (false, false);
        for segment in &mut self.window {
            let is_in_doubt = !segment.is_sacked && (!segment.is_lost || segment.is_resent);
            if is_in_doubt && segment.sent_ns < self.rack_ns {
                is_lost_again |= segment.is_resent;
                (segment.is_lost, segment.is_resent) = (true, false);
                self.in_flight -= 1;
                any = true;
            }
        }
        if any && self.high_seq.is_none() || is_lost_again && self.is_loss {
            (self.high_seq, self.is_loss) = (Some(self.first + self.window.len() as u64), false);
        }
    }

    fn expire(&mut self) {
        let may_probe = self.high_seq.is_none()
            && self.tlp_until.is_none()
            && self.window.iter().all(|segment| !segment.is_sacked);
        if may_probe {
            self.tlp_until = Some(self.first + self.window.len() as u64);
            self.send(self.window.len() - 1, Why::Tlp);
            self.set_timer();
            return;
        }
        self.high_seq = Some(self.first + self.window.len() as u64);
        (self.is_loss, self.tlp_until, self.cwnd) = (true, None, 1);
        self.backoff = (self.backoff + 1).min(6);
        for segment in self.window.iter_mut().filter(|segment| !segment.is_sacked) {
            (segment.is_lost, segment.is_resent) = (true, false);
        }
        self.in_flight = 0;
        self.fill();
    }
}
