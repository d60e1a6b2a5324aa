//! One direction of a connection: the packets in the capture of its sender's end, matched with those in the other capture.
//!
//! Packets are matched by sequence range and timestamp option (RFC 7323), whatever super-packets either end has made of them: of two packets
//! with the same data and the same timestamps the one with the same IP identification, else the one that follows in order.

use super::pairing::signed;
use super::sent::{ArrivedPacket, Order, Sent, SentMatch, Window};
use super::thinned::{Envelope, Thinned};
use crate::headers::Segment;
use std::collections::VecDeque;

/// Losses of a direction that are listed.
pub const LISTED: usize = 16;
/// How long packets of the receiving end wait for their match: the clocks' offset may be wrong by this.
const SLACK_NS: u64 = 1_000_000_000;
/// What has not arrived after so long is settled.
const HORIZON_NS: u64 = 10_000_000_000;
/// By how much the order of times within one capture may err.
const ORDER_NS: i64 = 1_000_000;
/// And the least delay, beside by how much delays differ.
const LEAST_NS: i64 = 5_000_000;
/// Behind the last packet that arrived the wait may have grown: by this part of what delays differ by, and by so much at least.
const GROWN_PART: i64 = 16;
const GROWN_NS: i64 = 1_000_000;

/// A packet that the path lost, or a part of a super-packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost {
    /// When it was sent, by the clock of its sender's capture.
    pub time_ns: u64,
    /// Number of the packet in that capture.
    pub number: u64,
    /// Its first sequence number, from the first one of the direction that either capture has.
    pub seq_from: i64,
    /// The number after the last byte; equal to `seq_from` for a packet without data.
    pub seq_to: i64,
    /// It was sent before.
    pub is_again: bool,
}

/// What of one end's packets was not found at the other, and why.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unmatched {
    /// The other capture begins later.
    pub before: u64,
    /// It ends earlier.
    pub after: u64,
    /// Within both captures: of the sending end's packets these are lost, of the receiving end's the sending end did not capture them.
    pub within: u64,
}

/// Counts of a direction, in segments as they are on the wire.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Segments with data, SYN or FIN that were sent.
    pub data: u64,
    /// Packets without.
    pub bare: u64,
    /// Packets as the sending end has them; fewer where they are super-packets.
    pub packets: u64,
    /// As the receiving end has them.
    pub packets_at_receiver: u64,
    /// Packets as the sending end has them of which something has arrived.
    pub matched: u64,
    /// Segments with data that the path lost.
    pub lost_data: u64,
    /// Packets without data that it lost.
    pub lost_bare: u64,
    /// Of the first, those that had been sent before.
    pub lost_again: u64,
    /// Arrived, and once more.
    pub duplicated: u64,
    /// Segments that arrived behind one that was sent later (RFC 4737).
    pub reordered: u64,
    /// Sent, and not found for another reason than a loss.
    pub unmatched_sent: Unmatched,
    /// Arrived, and not found among what was sent.
    pub unmatched_seen: Unmatched,
    /// Settled early, for want of memory.
    pub hurried: u64,
}

/// When both captures are there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spans {
    pub(super) receiver: (u64, u64),
    pub(super) sender: (u64, u64),
    /// The receiver's time less the sender's, about, as far as it is known before any packet was matched.
    pub(super) rough_ns: i64,
}

/// One direction.
#[derive(Debug)]
pub(super) struct PairedDirection {
    window: Window,
    waiting: VecDeque<(ArrivedPacket, u64)>,
    mss: i64,
    spans: Spans,
    /// The last number that was unwrapped, and the first.
    near: Option<i64>,
    origin: i64,
    /// When the sending end sent the first packet.
    pub(super) first_ns: Option<u64>,
    last_matched: Option<u64>,
    /// Index and the end of the furthest that has arrived.
    furthest: Option<(u64, i64)>,
    delay_ns: Option<i64>,
    pub(super) least_ns: Option<i64>,
    largest_ns: Option<i64>,
    before: Option<(u64, i64)>,
    pub(super) counts: Counts,
    pub(super) lost: Vec<Lost>,
    /// When data were sent that were lost.
    pub(super) lost_ns: Thinned<u64>,
    pub(super) envelope: Envelope,
    pub(super) delays: Thinned<(u64, i64)>,
    pub(super) variations: Thinned<i64>,
}

impl PairedDirection {
    pub(super) fn new(mss: u32, spans: Spans, samples: usize) -> Self {
        Self {
            window: Window::default(),
            waiting: VecDeque::new(),
            mss: i64::from(mss.max(1)),
            spans,
            near: None,
            origin: 0,
            first_ns: None,
            last_matched: None,
            furthest: None,
            delay_ns: None,
            least_ns: None,
            largest_ns: None,
            before: None,
            counts: Counts::default(),
            lost: Vec::new(),
            lost_ns: Thinned::new(samples),
            envelope: Envelope::default(),
            delays: Thinned::new(samples),
            variations: Thinned::new(samples),
        }
    }

    /// What makes times of the sender's capture times of the receiver's, about.
    pub(super) const fn rough_ns(&self) -> i64 {
        self.spans.rough_ns
    }

    /// Packets that are held.
    pub(super) fn held(&self) -> usize {
        self.window.len() + self.waiting.len()
    }

    /// The sending end has `segment`; times of both ends are compared as `now_ns` says, by the receiver's clock.
    pub(super) fn sent(&mut self, segment: &Segment, now_ns: u64) {
        let seen = ArrivedPacket::of(segment, self.unwrap(segment.seq));
        self.counts.packets += 1;
        self.first_ns.get_or_insert(segment.time_ns);
        *(if seen.has_data() { &mut self.counts.data } else { &mut self.counts.bare }) +=
            self.segments(&seen);
        self.window.push(seen, segment.number);
        self.advance(now_ns);
    }

    /// The receiving end has it.
    pub(super) fn arrived(&mut self, segment: &Segment, now_ns: u64) {
        let seen = ArrivedPacket::of(segment, self.unwrap(segment.seq));
        self.counts.packets_at_receiver += 1;
        self.waiting.push_back((seen, now_ns));
        self.advance(now_ns);
    }

    /// Matches what has waited long enough and settles what is old.
    fn advance(&mut self, now_ns: u64) {
        while let Some(&(seen, since_ns)) = self.waiting.front()
            && since_ns.saturating_add(SLACK_NS) <= now_ns
        {
            self.waiting.pop_front();
            self.find(&seen);
        }
        let old_ns = now_ns.saturating_sub(HORIZON_NS);
        while self.window.first().is_some_and(|sent| shifted(sent.time_ns, self.spans.rough_ns) < old_ns) {
            self.settle();
        }
    }

    /// Lets the oldest go, for want of room.
    pub(super) fn make_room(&mut self) {
        if let Some((seen, _)) = self.waiting.pop_front() {
            self.find(&seen);
        } else {
            self.counts.hurried += 1;
            self.settle();
        }
    }

    /// Both captures are over.
    pub(super) fn finish(&mut self) {
        while let Some((seen, _)) = self.waiting.pop_front() {
            self.find(&seen);
        }
        while self.window.len() > 0 {
            self.settle();
        }
    }

    fn unwrap(&mut self, seq: u32) -> i64 {
        let near = *self.near.get_or_insert_with(|| {
            self.origin = i64::from(seq);
            i64::from(seq)
        });
        let at = near + i64::from(seq.wrapping_sub(near as u32).cast_signed());
        self.near = Some(near.max(at));
        at
    }

    /// How many it is on the wire.
    fn segments(&self, seen: &ArrivedPacket) -> u64 {
        self.wire(seen.to - seen.from)
    }

    fn wire(&self, bytes: i64) -> u64 {
        u64::try_from((bytes + self.mss - 1) / self.mss).unwrap_or(0).max(1)
    }

    fn find(&mut self, seen: &ArrivedPacket) {
        let mut rest = vec![(seen.from, seen.to)];
        while let Some((from, to)) = rest.pop() {
            match self.window.take(seen, from, to, self.order(seen)) {
                Some(found) => {
                    self.matched(seen, found);
                    let left = [(from, found.from), (found.to, to)];
                    rest.extend(left.into_iter().rev().filter(|(from, to)| from < to));
                }
                None if self.window.has_arrived(seen, from, to) => {
                    self.counts.duplicated += self.wire(to - from);
                }
                None => self.not_sent(seen, self.wire(to - from)),
            }
        }
    }

    /// What may be `seen`, by when it arrived and what arrived before.
    fn order(&self, seen: &ArrivedPacket) -> Order {
        let last = self.last_matched;
        let Some((least_ns, largest_ns)) = self.least_ns.zip(self.largest_ns) else {
            return Order { last, likely_ns: u64::MAX, until_ns: u64::MAX };
        };
        let shortest_ns =
            least_ns.min(self.spans.rough_ns).saturating_sub(largest_ns.saturating_sub(least_ns));
        Order {
            last,
            likely_ns: shifted(seen.time_ns, ORDER_NS.saturating_sub(least_ns)),
            until_ns: shifted(seen.time_ns, LEAST_NS.saturating_sub(shortest_ns)),
        }
    }

    fn matched(&mut self, seen: &ArrivedPacket, found: SentMatch) {
        self.last_matched = Some(self.last_matched.map_or(found.index, |last| last.max(found.index)));
        let place = (found.index, found.from);
        if self.furthest.is_some_and(|furthest| place < furthest) {
            self.counts.reordered += self.wire(found.to - found.from);
        }
        let end = (found.index, found.to);
        self.furthest = Some(self.furthest.map_or(end, |furthest| furthest.max(end)));
        let Some(sent) = self.window.get(found.index).filter(|_| found.is_first) else { return };
        self.counts.matched += 1;
        let delay_ns = signed(seen.time_ns, sent.time_ns);
        let sent_ns = sent.time_ns;
        self.delay_ns = Some(delay_ns);
        self.least_ns = Some(self.least_ns.map_or(delay_ns, |least| least.min(delay_ns)));
        self.largest_ns = Some(self.largest_ns.map_or(delay_ns, |largest| largest.max(delay_ns)));
        self.envelope.observe(sent_ns, delay_ns);
        self.delays.observe((sent_ns, delay_ns));
        if let Some((index, before_ns)) = self.before
            && index + 1 == found.index
        {
            self.variations.observe(delay_ns.saturating_sub(before_ns));
        }
        self.before = Some((found.index, delay_ns));
    }

    /// Arrived, and the sending end does not have it.
    fn not_sent(&mut self, seen: &ArrivedPacket, count: u64) {
        let delay_ns = self.delay_ns.unwrap_or(self.spans.rough_ns);
        let sent_ns = shifted(seen.time_ns, delay_ns.saturating_neg());
        let unmatched = &mut self.counts.unmatched_seen;
        *(if sent_ns < self.spans.sender.0 {
            &mut unmatched.before
        } else if sent_ns > self.spans.sender.1 {
            &mut unmatched.after
        } else {
            &mut unmatched.within
        }) += count;
    }

    /// Nothing more will be found of the oldest packet.
    fn settle(&mut self) {
        let Some((index, sent)) = self.window.pop() else { return };
        for (from, to) in sent.lost() {
            let count = self.wire(to - from);
            match self.spans.of(&sent, self.least_ns, self.latest_ns(index)) {
                Within::Before => self.counts.unmatched_sent.before += count,
                Within::After => self.counts.unmatched_sent.after += count,
                Within::Both => self.lose(&sent, from, to, count),
            }
        }
    }

    /// The longest that a packet may still have been on its way: what is left of the last that arrived, and those behind it, may have waited
    /// longer.
    fn latest_ns(&self, index: u64) -> Option<i64> {
        let is_behind = self.last_matched.is_none_or(|last| index >= last) || self.counts.reordered > 0;
        let (least, largest) = self.least_ns.zip(self.largest_ns)?;
        let grown = (largest.saturating_sub(least) / GROWN_PART).max(GROWN_NS);
        Some(if is_behind { largest.saturating_add(grown) } else { least })
    }

    fn lose(&mut self, sent: &Sent, from: i64, to: i64, count: u64) {
        let is_data = sent.to > sent.from;
        *(if is_data { &mut self.counts.lost_data } else { &mut self.counts.lost_bare }) += count;
        self.counts.lost_again += if sent.is_again { count } else { 0 };
        if is_data {
            self.lost_ns.observe(sent.time_ns);
        }
        if self.lost.len() < LISTED {
            self.lost.push(Lost {
                time_ns: sent.time_ns,
                number: sent.number,
                seq_from: from - self.origin,
                seq_to: to - self.origin,
                is_again: sent.is_again,
            });
        }
    }
}

/// Where a packet lies that was sent and not found.
enum Within {
    Before,
    After,
    Both,
}

impl Spans {
    fn of(&self, sent: &Sent, least_ns: Option<i64>, latest_ns: Option<i64>) -> Within {
        let at = |delay_ns: Option<i64>| shifted(sent.time_ns, delay_ns.unwrap_or(self.rough_ns));
        if at(least_ns) < self.receiver.0 {
            Within::Before
        } else if at(latest_ns) > self.receiver.1 {
            Within::After
        } else {
            Within::Both
        }
    }
}

/// `time_ns` moved by `by_ns`; it stops at the ends of the type.
pub(super) fn shifted(time_ns: u64, by_ns: i64) -> u64 {
    time_ns.saturating_add_signed(by_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    fn direction() -> PairedDirection {
        let all = (0, u64::MAX);
        PairedDirection::new(1_000, Spans { receiver: all, sender: all, rough_ns: 0 }, 64)
    }

    fn data(at: u64, time_ns: u64) -> Segment {
        Segment { time_ns, number: at + 1, seq: (at * 1_000) as u32, payload: 1_000, ..Segment::default() }
    }

    #[test]
    fn what_is_older_than_ten_seconds_is_settled_and_not_held() {
        let mut way = direction();
        for at in 0..1_000 {
            let now = at * SECOND_NS / 10;
            way.sent(&data(at, now), now);
            if at % 10 != 0 {
                way.arrived(&data(at, now + 1_000_000), now + 1_000_000);
            }
        }
        assert!(way.held() <= 115, "{}", way.held());
        way.finish();
        assert_eq!((way.counts.lost_data, way.counts.matched, way.counts.hurried), (100, 900, 0));
        assert_eq!(way.lost.len(), LISTED);
    }

    #[test]
    fn what_has_to_go_early_is_counted() {
        let mut way = direction();
        (0..20).for_each(|at| way.sent(&data(at, at), at));
        (0..10).for_each(|at| way.arrived(&data(at, 1_000 + at), 1_000 + at));
        while way.held() > 0 {
            way.make_room();
        }
        assert_eq!((way.counts.matched, way.counts.hurried), (10, 20));
        assert_eq!(way.counts.lost_data, 10);
    }
}
