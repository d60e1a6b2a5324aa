//! What one end sent and is not settled yet: found by sequence range, or by acknowledgment number where a packet carries no data.

use crate::headers::{Flags, Segment};
use std::collections::{BTreeSet, VecDeque};

/// What of a packet has not been seen at the other end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Missing {
    /// Not one byte was.
    All,
    /// These ranges have not arrived.
    Parts(Vec<(i64, i64)>),
}

/// A packet as its sender's end has it.
#[derive(Debug, Clone)]
pub(super) struct Sent {
    pub(super) time_ns: u64,
    /// The packet's number in its capture.
    pub(super) number: u64,
    /// Its sequence numbers, unwrapped; SYN and FIN count. Empty without data.
    pub(super) from: i64,
    pub(super) to: i64,
    /// The key of a packet without data.
    mark: u64,
    stamps: Option<(u32, u32)>,
    ip_id: u16,
    /// It was sent before.
    pub(super) is_again: bool,
    pub(super) missing: Missing,
}

/// A packet to be found among those that were sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct ArrivedPacket {
    pub(super) time_ns: u64,
    pub(super) from: i64,
    pub(super) to: i64,
    mark: u64,
    stamps: Option<(u32, u32)>,
    ip_id: u16,
}

impl ArrivedPacket {
    /// Of a segment whose first number is `from`.
    pub(super) fn of(segment: &Segment, from: i64) -> Self {
        let controls = [Flags::SYN, Flags::FIN].into_iter().filter(|&flag| segment.flags.has(flag)).count();
        let ack = u64::from(segment.ack) << 32 | u64::from(segment.window) << 16;
        Self {
            time_ns: segment.time_ns,
            from,
            to: from + i64::from(segment.payload) + controls as i64,
            mark: ack | u64::from(segment.seq & 0xffff),
            stamps: segment.options.timestamps,
            ip_id: segment.ip_id,
        }
    }

    pub(super) const fn has_data(&self) -> bool {
        self.to > self.from
    }

    fn may_be(&self, sent: &Sent) -> bool {
        match (self.stamps, sent.stamps) {
            (Some(own), Some(its)) => own == its,
            // Cut off by one end's snap length.
            _ => true,
        }
    }
}

/// What tells which of several packets is meant.
#[derive(Debug, Clone, Copy)]
pub(super) struct Order {
    /// The last packet, by its index, of which something has arrived.
    pub(super) last: Option<u64>,
    /// What was sent later than this can hardly have arrived yet.
    pub(super) likely_ns: u64,
    /// What was sent later than this can't.
    pub(super) until_ns: u64,
}

/// A place among what was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SentMatch {
    pub(super) index: u64,
    pub(super) from: i64,
    pub(super) to: i64,
    /// Nothing of this packet had arrived before.
    pub(super) is_first: bool,
}

/// The packets of one end in the order in which it sent them.
#[derive(Debug, Default)]
pub(super) struct Window {
    packets: VecDeque<Sent>,
    /// Index of the first of `packets`.
    begin: u64,
    data: BTreeSet<(i64, u64)>,
    bare: BTreeSet<(u64, u64)>,
    longest: i64,
    /// One behind the highest number that was sent.
    high: Option<i64>,
}

impl Window {
    pub(super) fn push(&mut self, seen: ArrivedPacket, number: u64) {
        let ArrivedPacket { time_ns, from, to, mark, stamps, ip_id } = seen;
        let index = self.begin + self.packets.len() as u64;
        let is_again = seen.has_data() && self.high.is_some_and(|high| to <= high);
        if seen.has_data() {
            self.data.insert((from, index));
            self.longest = self.longest.max(to - from);
            self.high = Some(self.high.map_or(to, |high| high.max(to)));
        } else {
            self.bare.insert((mark, index));
        }
        let missing = Missing::All;
        self.packets.push_back(Sent { time_ns, number, from, to, mark, stamps, ip_id, is_again, missing });
    }

    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }

    pub(super) fn first(&self) -> Option<&Sent> {
        self.packets.front()
    }

    pub(super) fn get(&self, index: u64) -> Option<&Sent> {
        self.packets.get(usize::try_from(index.checked_sub(self.begin)?).ok()?)
    }

    /// Takes the oldest out, with its index.
    pub(super) fn pop(&mut self) -> Option<(u64, Sent)> {
        let sent = self.packets.pop_front()?;
        let index = self.begin;
        self.begin += 1;
        if sent.to > sent.from {
            self.data.remove(&(sent.from, index));
        } else {
            self.bare.remove(&(sent.mark, index));
        }
        Some((index, sent))
    }

    /// The packet of which the range of `seen` from `from` to `to`, or its beginning, is a part that was not seen yet; and that part is
    /// taken out of what is missing.
    pub(super) fn take(
        &mut self,
        seen: &ArrivedPacket,
        from: i64,
        to: i64,
        order: Order,
    ) -> Option<SentMatch> {
        let (index, part) = self
            .candidates(seen, from, to)
            // Equal timestamps belong to about one millisecond, so that a later retransmission has others.
            .filter(|(_, sent)| seen.stamps.is_some() || sent.time_ns <= order.until_ns)
            .filter_map(|(index, sent)| Some((index, sent, sent.missing_part(from, to)?)))
            .min_by_key(|&(index, sent, _)| rank(seen, index, sent, order))
            .map(|(index, _, part)| (index, part))?;
        let at = usize::try_from(index - self.begin).ok()?;
        let sent = self.packets.get_mut(at)?;
        let is_first = sent.missing == Missing::All;
        sent.remove(part);
        Some(SentMatch { index, from: part.0, to: part.1, is_first })
    }

    /// Whether such a packet was sent, and a part of it has arrived before.
    pub(super) fn has_arrived(&self, seen: &ArrivedPacket, from: i64, to: i64) -> bool {
        self.candidates(seen, from, to).any(|(_, sent)| sent.missing != Missing::All)
    }

    fn candidates(&self, seen: &ArrivedPacket, from: i64, to: i64) -> impl Iterator<Item = (u64, &Sent)> {
        let (data, bare) = if seen.has_data() {
            (Some(self.data.range((from.saturating_sub(self.longest), 0)..(to, 0))), None)
        } else {
            (None, Some(self.bare.range((seen.mark, 0)..=(seen.mark, u64::MAX))))
        };
        let data = data.into_iter().flatten().map(|&(_, index)| index);
        let bare = bare.into_iter().flatten().map(|&(_, index)| index);
        data.chain(bare).filter_map(|index| Some((index, self.get(index)?))).filter(move |(_, sent)| {
            seen.may_be(sent) && (!seen.has_data() || (sent.from < to && sent.to > from))
        })
    }
}

/// Smaller is likelier: IP's identification is the same, it had the time to arrive, it follows the last that arrived, it is nearest to that.
fn rank(seen: &ArrivedPacket, index: u64, sent: &Sent, order: Order) -> (u8, bool, bool, u64) {
    let is_whole = seen.from == sent.from && seen.to == sent.to;
    let by_id = match (seen.ip_id, sent.ip_id) {
        (0, _) | (_, 0) => 1,
        (own, its) if is_whole => u8::from(own != its) * 2,
        _ => 1,
    };
    let next = order.last.map_or(0, |last| last + 1);
    let is_behind = order.last.is_some_and(|last| index < last);
    (by_id, sent.time_ns > order.likely_ns, is_behind, index.abs_diff(next))
}

impl Sent {
    /// Of `from` to `to` the first part that is missing; of packets without data an empty one.
    fn missing_part(&self, from: i64, to: i64) -> Option<(i64, i64)> {
        if self.from == self.to {
            return (self.missing == Missing::All).then_some((from, to));
        }
        let clipped = |&(left, right): &(i64, i64)| {
            let part = (left.max(from), right.min(to));
            (part.0 < part.1).then_some(part)
        };
        match &self.missing {
            Missing::All => clipped(&(self.from, self.to)),
            Missing::Parts(parts) => parts.iter().find_map(clipped),
        }
    }

    fn remove(&mut self, part: (i64, i64)) {
        let parts = match std::mem::replace(&mut self.missing, Missing::Parts(Vec::new())) {
            Missing::All if (self.from, self.to) == part || self.from == self.to => return,
            Missing::All => vec![(self.from, self.to)],
            Missing::Parts(parts) => parts,
        };
        let cut = |(left, right): (i64, i64)| {
            let (before, after) = ((left, right.min(part.0)), (left.max(part.1), right));
            [before, after].into_iter().filter(|(from, to)| from < to)
        };
        self.missing = Missing::Parts(parts.into_iter().flat_map(cut).collect());
    }

    /// The ranges of the packet that have not arrived; for a packet without data an empty range.
    pub(super) fn lost(&self) -> Vec<(i64, i64)> {
        match &self.missing {
            Missing::All => vec![(self.from, self.to)],
            Missing::Parts(parts) => parts.clone(),
        }
    }
}
