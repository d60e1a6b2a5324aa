//! What one direction has sent and not yet seen acknowledged, as the sender's kernel keeps it: `tcp_rtx_queue` with the marks of
//! `TCP_SKB_CB(skb)->sacked`.
//!
//! Invariant: the four counts are the sums over the entries, and entries are sorted, without overlap. In-order data and its ACK cost O(1).
//! Memory: 32 bytes for each packet in flight, and room for at most twice as many more, of at most [`ENTRIES_MAX`] packets; the oldest are forgotten.

use super::queue::Queue;

/// The most packets of a direction whose fate is followed.
pub(super) const ENTRIES_MAX: usize = 1 << 16;

/// An entry counts as no more: a hole may be larger than any packet, and the sums have to fit.
const SEGMENTS_MAX: u32 = u16::MAX as u32;

/// SACKed by the receiver (`TCPCB_SACKED_ACKED`).
const SACKED: u8 = 1;
/// Taken for lost (`TCPCB_LOST`).
const LOST: u8 = 2;
/// Sent again, and that is in flight (`TCPCB_SACKED_RETRANS`).
const RESENT: u8 = 4;
/// Sent more than once, or never seen: no RTT sample without a timestamp.
const NO_SAMPLE: u8 = 8;
/// Passed the capture point never, or not yet.
const UNSEEN: u8 = 16;
/// Sent again at some time (`TCPCB_EVER_RETRANS`).
const EVER_RESENT: u8 = 32;
/// Sent before the capture began.
const BEFORE: u8 = 64;
/// The capture's clock was set since: how long ago it was sent is not known.
const UNTIMED: u8 = 128;

/// One packet's sequence numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    pub(super) from: u64,
    /// The last transmission.
    pub(super) sent_ns: u64,
    length: u32,
    /// TSval of the last transmission.
    pub(super) tsval: u32,
    segments: u16,
    /// IP identification of the last transmission.
    pub(super) ip_id: u16,
    marks: u8,
}

impl Sent {
    const fn to(&self) -> u64 {
        self.from + self.length as u64
    }

    /// The packet cut in two at the sequence number `at`, which is inside.
    fn cut(mut self, at: u64, mss: u32) -> (Self, Self) {
        let mut right = self;
        (right.length, right.from) = ((self.to() - at) as u32, at);
        self.length -= right.length;
        for part in [&mut self, &mut right] {
            part.segments = part.length.div_ceil(mss).min(SEGMENTS_MAX) as u16;
        }
        (self, right)
    }

    /// How many of the packet's bytes are in flight: not SACKed, and retransmitted if lost.
    const fn in_flight_bytes(&self) -> u64 {
        let is_out = !self.is(SACKED | LOST) || self.is(RESENT);
        if is_out { self.length as u64 } else { 0 }
    }

    const fn order(&self) -> SendingOrder {
        (self.sent_ns, self.to())
    }

    const fn is(&self, mark: u8) -> bool {
        self.marks & mark != 0
    }

    pub(super) const fn is_unseen(&self) -> bool {
        self.is(UNSEEN)
    }

    pub(super) const fn is_untimed(&self) -> bool {
        self.is(UNTIMED)
    }

    pub(super) const fn was_resent(&self) -> bool {
        self.is(EVER_RESENT)
    }

    /// Whether it is taken for lost, and was not sent again since.
    pub(super) const fn waits_to_be_resent(&self) -> bool {
        self.is(LOST) && !self.is(RESENT)
    }
}

/// When a transmission was sent, and where it ends: which of two was sent later (`RACK_sent_after()`, RFC 8985, section 6.2).
type SendingOrder = (u64, u64);

/// A transmission.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transmission {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) now: u64,
    pub(super) tsval: u32,
    pub(super) ip_id: u16,
    pub(super) segments: u32,
}

/// The last transmission of what was sent more than once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Resent {
    pub(super) sent_ns: u64,
    pub(super) tsval: u32,
}

/// The first and the last transmission of several, in the order in which they were looked at.
pub(super) type Times = Option<(u64, u64)>;

/// What an ACK took away, or a SACK marked.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Delivered {
    /// Bytes that arrived by this news.
    pub(super) bytes: u64,
    /// Of what was sent once.
    pub(super) times: Times,
    /// The last delivered range that was sent more than once.
    pub(super) resent: Option<Resent>,
    /// Whether a SACK or the ACK had something that was sent more than once.
    pub(super) has_resent: bool,
    /// Delivered bytes that never passed the capture point.
    pub(super) unseen: u64,
    /// Round trip of the last transmission that gives RACK a sample, nanoseconds.
    pub(super) rtt_ns: Option<u64>,
}

impl Delivered {
    /// The times until now; from here on anew.
    #[inline]
    pub(super) const fn take_times(&mut self) -> Times {
        self.times.take()
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct Scoreboard {
    queue: Queue<Sent>,
    out: u32,
    sacked: u32,
    lost: u32,
    resent: u32,
    /// `tcp_packets_in_flight()` in bytes of sequence numbers.
    in_flight_bytes: u64,
    /// End of the highest block.
    high_sacked: u64,
    /// Blocks of the last ACKs that were worked through.
    known: [(u64, u64); 4],
    /// RACK (RFC 8985): latest transmission that arrived.
    latest_arrived: SendingOrder,
    /// The RTT of what arrived last, whichever transmission it was (`tcp_rack_advance()`).
    rack_rtt_ns: u64,
    /// The least RTT up to now.
    least_rtt_ns: u64,
    /// First bytes of what arrived sooner after it was sent again than any round trip takes, since the last look.
    came_early: Vec<u64>,
    /// What [`Self::detect_losses`] need not look at again.
    settled_to: u64,
    /// No transmission that was a repetition and is in flight is older.
    first_resent_ns: u64,
    has_reordering: bool,
}

impl Scoreboard {
    /// Segments in `snd_una..snd_nxt`.
    #[inline]
    pub(super) const fn out(&self) -> u32 {
        self.out
    }

    pub(super) const fn sacked(&self) -> u32 {
        self.sacked
    }

    pub(super) const fn lost(&self) -> u32 {
        self.lost
    }

    pub(super) const fn resent(&self) -> u32 {
        self.resent
    }

    pub(super) const fn high_sacked(&self) -> u64 {
        self.high_sacked
    }

    pub(super) const fn has_reordering(&self) -> bool {
        self.has_reordering
    }

    /// `tcp_packets_in_flight()`.
    #[inline]
    pub(super) const fn in_flight(&self) -> u32 {
        // What is SACKed is not lost, and both are parts of what is out.
        self.out.saturating_sub(self.sacked + self.lost).saturating_add(self.resent)
    }

    /// The same in bytes, of sequence numbers.
    #[inline]
    pub(super) const fn in_flight_bytes(&self) -> u64 {
        self.in_flight_bytes
    }

    pub(super) fn front(&self) -> Option<&Sent> {
        self.queue.first()
    }

    /// The entry that holds the byte at `at`.
    pub(super) fn find(&self, at: u64) -> Option<&Sent> {
        self.queue.get(self.index(at)).filter(|sent| sent.from <= at)
    }

    /// Whether something arrived that was sent after it: RACK will find it lost.
    pub(super) fn was_overtaken(&self, sent: &Sent) -> bool {
        sent.order() < self.latest_arrived
    }

    /// Bytes of capacity, for the table's account.
    pub(super) fn memory(&self) -> usize {
        self.queue.memory() + self.came_early.capacity() * size_of::<u64>()
    }

    /// How long ago anything was sent is not known any more.
    pub(super) fn forget_times(&mut self) {
        self.queue.iter_mut().for_each(|sent| sent.marks |= UNTIMED | NO_SAMPLE);
    }

    /// New data.
    #[inline(always)]
    pub(super) fn push(&mut self, sent: &Transmission) {
        self.push_marked(sent, 0);
    }

    /// Data that must have been sent, and was not seen.
    pub(super) fn push_unseen(&mut self, sent: &Transmission, before_capture: bool) {
        let before = if before_capture { BEFORE } else { 0 };
        self.push_marked(sent, UNSEEN | NO_SAMPLE | before);
    }

    #[inline(always)]
    fn push_marked(&mut self, sent: &Transmission, marks: u8) {
        if self.queue.len() >= ENTRIES_MAX {
            self.forget();
        }
        let segments = sent.segments.min(SEGMENTS_MAX) as u16;
        self.out += u32::from(segments);
        self.in_flight_bytes += sent.to - sent.from;
        self.queue.push(Sent {
            from: sent.from,
            sent_ns: sent.now,
            length: (sent.to - sent.from) as u32,
            tsval: sent.tsval,
            segments,
            ip_id: sent.ip_id,
            marks,
        });
    }

    #[cold]
    fn forget(&mut self) {
        if let Some(&oldest) = self.queue.first() {
            self.queue.drop_first();
            self.uncount(&oldest);
        }
    }

    /// Everything below `to` was received.
    #[inline]
    pub(super) fn acknowledge(&mut self, to: u64, now: u64, mss: u32) -> Delivered {
        let mut delivered = Delivered::default();
        self.acknowledge_unmarked(to, now, &mut delivered);
        while let Some(first) = self.queue.first().filter(|first| first.from < to).copied() {
            self.uncount(&first);
            let sent = if first.to() <= to {
                self.queue.drop_first();
                first
            } else {
                let (left, right) = first.cut(to, mss);
                self.count(&right);
                self.queue[0] = right;
                left
            };
            if sent.was_resent() {
                let resent = Resent { sent_ns: sent.sent_ns, tsval: sent.tsval };
                delivered.resent = if sent.is_untimed() { None } else { Some(resent) };
                delivered.has_resent = true;
            }
            if !sent.is(SACKED) {
                self.deliver(&sent, now, &mut delivered);
            }
        }
        delivered
    }

    /// The first of them, as long as they were sent once and not SACKed: nearly all, so that they are taken away together.
    #[inline]
    fn acknowledge_unmarked(&mut self, to: u64, now: u64, delivered: &mut Delivered) {
        let Some(first) = self.queue.first() else { return };
        let (first_from, first_ns) = (first.from, first.sent_ns);
        let mut last_ns = first_ns;
        let (mut count, mut segments, mut bytes) = (0, 0, 0);
        for sent in self.queue.iter().take_while(|sent| sent.marks == 0 && sent.to() <= to) {
            count += 1;
            segments += u32::from(sent.segments);
            bytes += u64::from(sent.length);
            self.latest_arrived = self.latest_arrived.max(sent.order());
            last_ns = sent.sent_ns;
        }
        if count == 0 {
            return;
        }
        self.queue.drop_front(count);
        self.out -= segments;
        self.in_flight_bytes -= bytes;
        delivered.bytes += bytes;
        delivered.times = Some((first_ns, last_ns));
        self.has_reordering |= first_from < self.high_sacked;
        self.rack_rtt_ns = now.saturating_sub(last_ns);
        delivered.rtt_ns = Some(self.rack_rtt_ns);
    }

    /// The receiver has `from..to`, which lies above the cumulative ACK.
    pub(super) fn sack(&mut self, from: u64, to: u64, now: u64, mss: u32, delivered: &mut Delivered) {
        for (from, to) in self.unknown_parts(from, to).into_iter().flatten() {
            let mut index = self.index(from);
            while let Some(&sent) = self.queue.get(index) {
                if sent.from >= to {
                    break;
                }
                let cuts_left = sent.from < from;
                if !(sent.is(SACKED) || cuts_left && self.split(index, from, mss)) {
                    if sent.to() > to {
                        self.split(index, to, mss);
                    }
                    let sent = self.queue[index];
                    self.deliver(&sent, now, delivered);
                    // tcp_sacktag_one(): neither lost nor in flight any more.
                    self.mark(index, (sent.marks | SACKED) & !(LOST | RESENT));
                }
                index += 1;
            }
        }
        self.high_sacked = self.high_sacked.max(to);
        self.known.rotate_right(1);
        self.known[0] = (from, to);
    }

    /// The parts of a block that no block before it had, where that is easily known.
    fn unknown_parts(&self, from: u64, to: u64) -> [Option<(u64, u64)>; 2] {
        for &(left, right) in &self.known {
            if left <= from && from < right {
                return [(to > right).then_some((right, to)), None];
            }
            if from < left && left < to {
                return [Some((from, left)), (to > right).then_some((right, to))];
            }
        }
        [Some((from, to)), None]
    }

    #[inline]
    fn deliver(&mut self, sent: &Sent, now: u64, delivered: &mut Delivered) {
        delivered.bytes += u64::from(sent.length);
        if sent.is(UNSEEN) && !sent.is(BEFORE) {
            delivered.unseen += u64::from(sent.length);
        }
        if !sent.is(NO_SAMPLE) {
            let first = delivered.times.map_or(sent.sent_ns, |(first, _)| first);
            delivered.times = Some((first, sent.sent_ns));
            if sent.from < self.high_sacked {
                self.has_reordering = true;
            }
        }
        if sent.is_untimed() {
            self.latest_arrived = self.latest_arrived.max(sent.order());
            return;
        }
        let rtt_ns = now.saturating_sub(sent.sent_ns);
        // Sooner than any round trip an earlier transmission answers (`tcp_rack_advance()`).
        if sent.was_resent() && rtt_ns < self.least_rtt_ns {
            delivered.has_resent = true;
            self.came_early.push(sent.from);
            return;
        }
        if sent.is(UNSEEN) {
            return;
        }
        self.rack_rtt_ns = rtt_ns;
        delivered.rtt_ns = Some(rtt_ns);
        self.latest_arrived = self.latest_arrived.max(sent.order());
    }

    /// What an ACK has acknowledged counts after what it has SACKed (`tcp_ack()`).
    pub(super) const fn acknowledged_last(&mut self, rtt_ns: u64) {
        self.rack_rtt_ns = rtt_ns;
    }

    /// The least RTT is `ns`.
    #[inline]
    pub(super) const fn note_least_rtt(&mut self, ns: u64) {
        self.least_rtt_ns = ns;
    }

    pub(super) const fn least_rtt_ns(&self) -> u64 {
        self.least_rtt_ns
    }

    /// First bytes of what arrived sooner after it was sent again than any round trip takes; forgets them.
    pub(super) fn came_early(&mut self) -> impl Iterator<Item = u64> + '_ {
        self.came_early.drain(..)
    }

    /// When the latest transmission that arrived was sent.
    pub(super) const fn latest_arrived_ns(&self) -> u64 {
        self.latest_arrived.0
    }

    /// Marks as lost what was sent so much earlier than something that arrived (`tcp_rack_detect_loss()`).
    ///
    /// Below `settled_to` everything is SACKed or lost already, and can only be lost again where it was sent again. Returns whether such a
    /// retransmission was lost.
    pub(super) fn detect_losses(&mut self, now: u64, reordering_window_ns: u64) -> bool {
        if self.latest_arrived_ns() >= self.first_resent_ns {
            (self.settled_to, self.first_resent_ns) = (0, u64::MAX);
        }
        let patience = self.rack_rtt_ns.saturating_add(reordering_window_ns);
        let (mut unsettled, resent) = (None, self.resent);
        let mut index = self.index(self.settled_to);
        while let Some(&sent) = self.queue.get(index) {
            let was_overtaken = self.was_overtaken(&sent);
            if !(was_overtaken || sent.was_resent()) {
                unsettled.get_or_insert(sent.from);
                break;
            }
            let is_in_doubt = !sent.is(SACKED) && (!sent.is(LOST) || sent.is(RESENT));
            if is_in_doubt && was_overtaken && now.saturating_sub(sent.sent_ns) >= patience {
                self.mark(index, (sent.marks | LOST) & !RESENT);
            } else if is_in_doubt && sent.is(RESENT) {
                self.first_resent_ns = self.first_resent_ns.min(sent.sent_ns);
            } else if is_in_doubt {
                unsettled.get_or_insert(sent.from);
            }
            index += 1;
        }
        self.settled_to = unsettled.unwrap_or(self.settled_to);
        self.resent < resent
    }

    /// A timeout: what was not received is lost, but for what was sent a moment ago (`tcp_timeout_mark_lost()`).
    pub(super) fn time_out(&mut self, now: u64, reordering_window_ns: u64) {
        let patience = self.rack_rtt_ns.saturating_add(reordering_window_ns);
        self.settled_to = 0;
        for index in 0..self.queue.len() {
            let sent = self.queue[index];
            let is_recent = index > 0 && now.saturating_sub(sent.sent_ns) < patience;
            if !sent.is(SACKED) && !is_recent {
                self.mark(index, (sent.marks | LOST) & !RESENT);
            }
        }
    }

    /// The reduction was taken back: nothing counts as lost any more (`tcp_undo_cwnd_reduction()`), until RACK has looked again.
    pub(super) fn unmark_losses(&mut self) {
        self.settled_to = 0;
        for index in 0..self.queue.len() {
            let marks = self.queue[index].marks;
            if marks & LOST != 0 {
                self.mark(index, marks & !LOST);
            }
        }
    }

    /// A retransmission. A probe (TLP) changes no count (`__tcp_retransmit_skb()` without `tcp_retransmit_skb()`).
    pub(super) fn resend(&mut self, again: &Transmission, is_probe: bool, mss: u32) {
        self.first_resent_ns = self.first_resent_ns.min(again.now);
        self.each_in(again.from, again.to, mss, |sent| {
            sent.sent_ns = again.now;
            sent.tsval = again.tsval;
            sent.ip_id = again.ip_id;
            sent.marks = (sent.marks | EVER_RESENT | NO_SAMPLE) & !(UNSEEN | UNTIMED);
            if !is_probe && !sent.is(SACKED) {
                sent.marks |= LOST | RESENT;
            }
        });
    }

    /// What was missing came after all, by its first transmission.
    pub(super) fn observe(&mut self, late: &Transmission, mss: u32) {
        self.each_in(late.from, late.to, mss, |sent| {
            sent.sent_ns = late.now;
            sent.tsval = late.tsval;
            sent.ip_id = late.ip_id;
            sent.marks &= !(UNSEEN | UNTIMED);
        });
    }

    fn each_in(&mut self, from: u64, to: u64, mss: u32, mut change: impl FnMut(&mut Sent)) {
        let mut index = self.index(from);
        while let Some(&sent) = self.queue.get(index) {
            if sent.from >= to {
                break;
            }
            if sent.from < from && self.split(index, from, mss) {
                index += 1;
            }
            if self.queue[index].to() > to {
                self.split(index, to, mss);
            }
            let mut sent = self.queue[index];
            self.uncount(&sent);
            change(&mut sent);
            self.count(&sent);
            self.queue[index] = sent;
            index += 1;
        }
    }

    fn mark(&mut self, index: usize, marks: u8) {
        let mut sent = self.queue[index];
        self.uncount(&sent);
        sent.marks = marks;
        self.count(&sent);
        self.queue[index] = sent;
    }

    /// Cuts an entry at `at`, inside of it. `false` where there is no room for a further entry.
    fn split(&mut self, index: usize, at: u64, mss: u32) -> bool {
        if self.queue.len() >= ENTRIES_MAX && index > 0 {
            return false;
        }
        let whole = self.queue[index];
        let (left, right) = whole.cut(at, mss);
        self.uncount(&whole);
        self.count(&left);
        self.count(&right);
        self.queue[index] = left;
        self.queue.insert(index + 1, right);
        true
    }

    /// The first entry that ends behind `at`.
    fn index(&self, at: u64) -> usize {
        match self.queue.first() {
            Some(front) if front.to() > at => 0,
            _ => self.queue.partition_point(|sent| sent.to() <= at),
        }
    }

    #[inline]
    fn uncount(&mut self, sent: &Sent) {
        let segments = u32::from(sent.segments);
        self.out -= segments;
        self.in_flight_bytes -= sent.in_flight_bytes();
        if sent.is(SACKED | LOST | RESENT) {
            self.sacked -= if sent.is(SACKED) { segments } else { 0 };
            self.lost -= if sent.is(LOST) { segments } else { 0 };
            self.resent -= if sent.is(RESENT) { segments } else { 0 };
        }
    }

    fn count(&mut self, sent: &Sent) {
        let segments = u32::from(sent.segments);
        self.out += segments;
        self.in_flight_bytes += sent.in_flight_bytes();
        self.sacked += if sent.is(SACKED) { segments } else { 0 };
        self.lost += if sent.is(LOST) { segments } else { 0 };
        self.resent += if sent.is(RESENT) { segments } else { 0 };
    }
}

#[cfg(test)]
mod tests;
