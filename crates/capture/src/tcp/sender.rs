//! One direction that carries data: what its sender knows, as far as packets tell.
//!
//! Retransmissions are told apart by the state that the sender must be in (`tcp_fastretrans_alert()`, `tcp_enter_loss()`,
//! `tcp_send_loss_probe()`): in Recovery they are fast, from a timeout until what was outstanding then is acknowledged they are RTO's, and
//! a last segment that is sent again while nothing was SACKed is a probe (RFC 8985 7). Each counts as the segments it is cut into, as
//! `tcpi_total_retrans` does.

mod acks;

use super::cuts::Cuts;
use super::data::Data;
use super::event::SegmentKind;
use super::gaps::{Filled, Gap, Gaps};
use super::opening::Opening;
use super::patience::Patience;
use super::recent::{COPY_NS, Passed, RecentPackets};
use super::resent::{Resent, Spurious};
use super::rounds::Rounds;
use super::rtt::Rtt;
use super::scoreboard::{Scoreboard, Sent};
use crate::headers::Flags;
pub(super) use acks::{Ack, AckOutcome};
use pipefill_core::tcp_info::CaState;

/// A copy of a packet with the same timestamp and identification comes within this; with one of them within [`COPY_NS`].
const STAMPED_COPY_NS: u64 = 1_000_000_000;
/// A copy without an identification, where no RTT is known.
const UNKNOWN_COPY_NS: u64 = 50_000;
/// What leaves so long after an ACK was not let go by it, but by a timer.
const CAUSE_NS: u64 = 1_000_000;
/// A hole larger than this is no hole but another connection's number.
pub(super) const HOLE_LIMIT: u64 = 1 << 30;
/// What is added to numbers that may be negative: those below the first one that is known.
pub(super) const BELOW: u64 = 1 << 62;

/// What became of a segment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taken {
    pub(super) kind: SegmentKind,
    pub(super) fills_hole: bool,
}

/// Counts of a direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SenderCounts {
    /// Payload for the first time, bytes: each byte once, whether its first copy came early or late.
    pub new_bytes: u64,
    /// Payload that was sent again, bytes, whether its first copy was seen or not.
    pub retransmitted_bytes: u64,
    /// Segments with payload, retransmissions included.
    pub segments: u64,
    /// Segments sent again in fast recovery.
    pub fast: u32,
    /// Segments sent again after a timeout.
    pub rto: u32,
    /// Last segments that were sent again as probes.
    pub tlp: u32,
    /// Of all these, those that were for nothing.
    pub spurious: u32,
    /// Timeouts.
    pub timeouts: u32,
    /// Times that fast recovery began.
    pub recoveries: u32,
    /// Segments that were overtaken before the capture point.
    pub out_of_order: u32,
    /// Packets that the capture has twice.
    pub captured_twice: u32,
    /// Retransmitted segments that had passed the capture point before: lost behind it, or spurious.
    pub lost_behind: u32,
    /// Retransmitted segments that had not: lost before the capture point.
    pub lost_before: u32,
    /// Bytes that were acknowledged and never passed the capture point.
    pub not_captured_bytes: u64,
    /// Duplicate ACKs that came back (RFC 5681 2).
    pub duplicate_acks: u32,
    /// ACKs with SACK blocks that came back.
    pub sack_acks: u32,
    /// D-SACKs that came back (RFC 2883) of what was sent again.
    pub dsacks: u32,
    /// D-SACKs of what was sent once: the network made the copy.
    pub network_duplicates: u32,
}

impl SenderCounts {
    /// Segments that were sent again, of every kind.
    pub const fn retransmits(&self) -> u32 {
        self.lost_before + self.lost_behind
    }

    /// Of these, FINs without payload, for whatever reason.
    pub const fn fins(&self) -> u32 {
        self.retransmits() - (self.fast + self.rto + self.tlp)
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct Sender {
    pub(super) counts: SenderCounts,
    pub(super) board: Scoreboard,
    pub(super) rtt: Rtt,
    pub(super) rounds: Rounds,
    pub(super) found: Vec<Spurious>,
    pub(super) cuts: Cuts,
    /// Boxed, as what was sent again is: most directions have none.
    gaps: Option<Box<Gaps>>,
    /// What has not passed of the numbers below the first one that is known, all of them [`BELOW`] more.
    below: Option<Box<Gaps>>,
    resent: Option<Box<Resent>>,
    state: Congestion,
    /// Where Recovery or Loss ends.
    high_seq: u64,
    /// TSval of the first retransmission of this Recovery or Loss (`retrans_stamp`).
    first_resent_tsval: Option<u32>,
    /// When the timer ran out, as long as what arrives may show that it was too early (F-RTO, RFC 5682 3.1); else 0.
    may_be_early_ns: u64,
    /// Where the news of a probe ends; 0 without one.
    tlp_high_seq: u64,
    duplicate_acks_in_row: u16,
    patience: Patience,
    /// The last ACK of something new.
    progress_ns: u64,
    /// The last ACK.
    heard_ns: u64,
    pub(super) first_ns: Option<u64>,
    /// The timestamp of the first data; `None` where its time is not known any more.
    first_tsval: Option<u32>,
    pub(super) last_ns: u64,
    /// Since when nothing is outstanding.
    empty_since_ns: u64,
    pub(super) idle_ns: u64,
    pub(super) longest_idle_ns: u64,
    pub(super) initial_window: u64,
    is_past_first_round: bool,
    /// Segments when the clock was first set back behind one; else 0.
    segments_before_set: u64,
    /// Where the last window probe with a byte of payload began; 0 without one.
    probed_at: u64,
    last_new_id: u16,
    /// The acknowledgment number of the last FIN.
    pub(super) fin_ack: Option<u32>,
    /// The last packets, from the second one on: many directions have a single one, of which other fields tell.
    recent: Option<Box<RecentPackets>>,
    ids_stand_still: bool,
}

/// `tcp_ca_state`, as far as packets tell: Open and Disorder differ by the scoreboard alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Congestion {
    #[default]
    Open,
    Recovery,
    Loss,
}

impl Sender {
    /// Data that begins where the last one ended. `next` is `snd_nxt`, moved on by new data.
    #[inline(always)]
    pub(super) fn take_in_order(&mut self, data: &Data<'_>, una: u64, next: &mut u64) {
        self.counts.segments += data.payload_segments();
        self.take_new(data, data.from, una, next);
    }

    /// The capture's clock was set back: no time from before it to a later one is known.
    pub(super) fn clock_was_set(&mut self) {
        self.board.forget_times();
        self.rounds.forget_times();
        self.gaps.iter_mut().for_each(|gaps| gaps.forget_times());
        self.first_tsval = None;
        self.is_past_first_round = true;
        if self.segments_before_set == 0 {
            self.segments_before_set = self.counts.segments;
        }
    }

    /// Whether data passed before and after that.
    pub(super) fn is_across_set_clock(&self) -> bool {
        0 < self.segments_before_set && self.segments_before_set < self.counts.segments
    }

    /// Whether the initial window is known.
    #[inline]
    pub(super) const fn is_past_first_round(&self) -> bool {
        self.is_past_first_round
    }

    /// Data that begins elsewhere.
    #[cold]
    #[inline(never)]
    pub(super) fn take_elsewhere(&mut self, data: &Data<'_>, una: u64, next: &mut u64) -> Taken {
        if data.from < *next {
            return self.take_old(data, data.segments(), una, next);
        }
        self.open_hole(data, *next);
        *next = data.from;
        self.counts.segments += data.payload_segments();
        self.take_rest(data, data.from, una, next);
        Taken { kind: SegmentKind::New, fills_hole: false }
    }

    #[inline(always)]
    fn take_new(&mut self, data: &Data<'_>, from: u64, una: u64, next: &mut u64) {
        let was_empty = self.board.out() == 0;
        if was_empty {
            self.end_idle(data);
        }
        if !self.is_past_first_round {
            self.watch_initial_window(data.now(), data.to - data.from, data.full_rtt_us, una);
        }
        if data.segment.ip_id == self.last_new_id {
            self.ids_stand_still = true;
        }
        self.last_new_id = data.segment.ip_id;
        if self.counts.segments > 1 {
            match &mut self.recent {
                Some(recent) => recent.push(data),
                None => self.recent.insert(Box::default()).push(data),
            }
        }
        self.board.push(&data.transmission(from, data.to));
        *next = data.to;
        self.saw_new(data, data.payload_to().saturating_sub(from));
        self.rounds.sent(data.now(), *next, self.board.in_flight_bytes(), was_empty);
    }

    /// Bytes of payload passed for the first time: none are a FIN.
    #[inline(always)]
    fn saw_new(&mut self, data: &Data<'_>, bytes: u64) {
        if bytes > 0 {
            self.counts.new_bytes += bytes;
            self.saw_payload(data);
        }
    }

    /// Its time is one at which the sender sent data.
    #[inline(always)]
    fn saw_payload(&mut self, data: &Data<'_>) {
        if self.first_ns.is_none() {
            (self.first_ns, self.first_tsval) = (Some(data.now()), data.tsval());
        }
        self.last_ns = self.last_ns.max(data.now());
    }

    /// A byte of new data that asks for a window; it is sent again with what follows it.
    #[cold]
    pub(super) fn take_probe(&mut self, data: &Data<'_>, next: &mut u64) {
        self.probed_at = data.from;
        self.board.push(&data.transmission(data.from, data.to));
        *next = data.to;
        self.counts.new_bytes += data.payload_to() - data.from;
    }

    fn end_idle(&mut self, data: &Data<'_>) {
        let now = data.now();
        if self.first_ns.is_none() {
            self.progress_ns = now;
            if data.segment.payload > 0 {
                self.saw_payload(data);
            }
            return;
        }
        if data.segment.payload == 0 {
            self.progress_ns = now;
            return;
        }
        let idle = now.saturating_sub(self.empty_since_ns);
        self.idle_ns = self.idle_ns.saturating_add(idle);
        self.longest_idle_ns = self.longest_idle_ns.max(idle);
        self.progress_ns = now;
    }

    /// What is sent before the first ACK can have come back (RFC 6928).
    #[cold]
    fn watch_initial_window(&mut self, now: u64, bytes: u64, full_rtt_us: Option<u32>, una: u64) {
        let age_us = now.saturating_sub(self.first_ns.unwrap_or(now)) / 1000;
        self.is_past_first_round = match full_rtt_us {
            Some(us) => age_us * 4 > u64::from(us) * 3,
            None => una > 1,
        };
        if !self.is_past_first_round {
            self.initial_window += bytes;
        }
    }

    fn open_hole(&mut self, data: &Data<'_>, next: u64) {
        if self.board.out() == 0 {
            self.end_idle(data);
        }
        self.board.push_unseen(&data.transmission(next, data.from), data.is_first);
        let (since_ns, tsval, ip_id) = (data.now(), data.tsval(), data.segment.ip_id);
        self.gaps.get_or_insert_default().open(Gap { from: next, to: data.from, since_ns, tsval, ip_id });
    }

    /// ACKs go beyond what was seen: what they acknowledge was sent.
    pub(super) fn skip_to(&mut self, now: u64, next: &mut u64, to: u64) {
        let gap = Gap { from: *next, to, since_ns: now, tsval: None, ip_id: 0 };
        self.gaps.get_or_insert_default().open(gap);
        self.counts.not_captured_bytes += to - *next;
        *next = to;
    }

    /// A packet all of whose payload is below the first number that is known. The scoreboard does not have it: nothing of its state changes.
    #[cold]
    pub(super) fn take_below(&mut self, data: &Data<'_>) -> SegmentKind {
        let filled = self.fill_below(data);
        if filled.is_none() && self.is_same_as_recent(data) {
            self.counts.captured_twice += 1;
            return SegmentKind::CapturedTwice;
        }
        self.recent.get_or_insert_default().push(data);
        let segments = data.segments();
        self.counts.segments += u64::from(segments);
        if filled.is_some_and(|Filled { gap, .. }| self.was_overtaken(data, &gap)) {
            self.counts.out_of_order += segments;
            return SegmentKind::OutOfOrder;
        }
        self.count_retransmit(data, SegmentKind::FastRetransmit, segments, filled.is_some());
        self.counts.retransmitted_bytes += data.to - data.from;
        SegmentKind::FastRetransmit
    }

    /// Counts the bytes of it that have not passed; its numbers are [`BELOW`] more.
    #[cold]
    pub(super) fn fill_below(&mut self, data: &Data<'_>) -> Option<Filled> {
        let (since_ns, tsval) = (self.first_ns.unwrap_or(data.now()), self.first_tsval);
        let all = Gap { from: BELOW - HOLE_LIMIT, to: BELOW + 1, since_ns, tsval, ip_id: 0 };
        let filled = self.below.get_or_insert_with(|| Box::new(Gaps::of(all))).fill(data.from, data.to);
        self.saw_new(data, filled.map_or(0, |filled| filled.bytes));
        filled
    }

    /// At least the first byte was sent before.
    fn take_old(&mut self, data: &Data<'_>, whole: u32, una: u64, next: &mut u64) -> Taken {
        // A packet that was put together from a copy and from what is missing is none.
        let fills_gap = self.gaps.as_ref().is_some_and(|gaps| gaps.overlaps(data.from, data.to));
        if data.to <= *next && !fills_gap && self.is_copy(data, una) {
            self.counts.captured_twice += 1;
            return Taken { kind: SegmentKind::CapturedTwice, fills_hole: false };
        }
        self.recent.get_or_insert_default().push(data);
        let old_to = data.to.min(*next);
        let again = data.transmission(data.from, old_to);
        self.counts.segments += data.payload_segments();
        // The byte of a window probe, and what follows it.
        if self.probed_at == data.from && data.from + 1 == *next {
            self.probed_at = 0;
            if old_to > una {
                self.saw_payload(data);
            }
            self.take_rest(data, old_to, una, next);
            return Taken { kind: SegmentKind::New, fills_hole: false };
        }
        let filled = self.gaps.as_mut().and_then(|gaps| gaps.fill(data.from, old_to));
        if let Some(Filled { bytes, .. }) = filled {
            self.saw_new(data, bytes.min(data.payload_to().saturating_sub(data.from)));
        }
        if let Some(Filled { gap, .. }) = filled
            && self.was_overtaken(data, &gap)
        {
            self.counts.out_of_order += whole;
            // Behind an ACK that came before it, its bytes were counted as not captured.
            let late = old_to.min(una).saturating_sub(data.from.max(gap.from));
            self.counts.not_captured_bytes = self.counts.not_captured_bytes.saturating_sub(late);
            self.board.observe(&again, data.size.mss);
            self.take_rest(data, old_to, una, next);
            return Taken { kind: SegmentKind::OutOfOrder, fills_hole: true };
        }
        if self.board.sacked() > 0 {
            // The reordering timer ran out without an ACK (`tcp_rack_reo_timeout()`).
            self.board.detect_losses(data.now(), self.reordering_window_ns());
        }
        let kind = self.retransmit_kind(data, una, *next);
        self.board.resend(&again, kind == SegmentKind::TlpRetransmit, data.size.mss);
        if kind != SegmentKind::TlpRetransmit && self.first_resent_tsval.is_none() {
            self.first_resent_tsval = data.tsval();
        }
        self.count_retransmit(data, kind, whole, filled.is_some());
        self.counts.retransmitted_bytes += old_to.min(data.payload_to()) - data.from;
        let resent = self.resent.get_or_insert_default();
        resent.push(data, old_to, kind, whole);
        if old_to <= una && filled.is_none() {
            let known = self.found.len();
            resent.was_acknowledged(data.now(), &mut self.found);
            self.count_found(known);
        }
        self.take_rest(data, old_to, una, next);
        if old_to > una && data.segment.payload > 0 {
            self.saw_payload(data);
        }
        Taken { kind, fills_hole: filled.is_some() }
    }

    /// New bytes behind a hole, or behind old ones in the same packet.
    #[inline(never)]
    fn take_rest(&mut self, data: &Data<'_>, from: u64, una: u64, next: &mut u64) {
        if data.to > from {
            self.take_new(data, from, una, next);
        }
    }

    fn count_retransmit(&mut self, data: &Data<'_>, kind: SegmentKind, segments: u32, fills_hole: bool) {
        let counts = &mut self.counts;
        match kind {
            _ if data.segment.payload == 0 => {}
            SegmentKind::TlpRetransmit => counts.tlp += segments,
            SegmentKind::RtoRetransmit => counts.rto += segments,
            _ => counts.fast += segments,
        }
        if fills_hole {
            counts.lost_before += segments;
        } else {
            counts.lost_behind += segments;
        }
    }

    /// Counts what was found since there were `known`.
    fn count_found(&mut self, known: usize) {
        let new = &self.found[known..];
        self.counts.spurious += new.iter().map(|spurious| spurious.segments).sum::<u32>();
    }

    /// The same packet, seen at another interface, or doubled by the network.
    fn is_copy(&self, data: &Data<'_>, una: u64) -> bool {
        // What one end sends while the other one closes has another number, and the timestamp may be the same.
        if data.segment.flags.has(Flags::FIN) && self.fin_ack.is_some_and(|ack| ack != data.segment.ack) {
            return false;
        }
        match self.board.find(data.from).filter(|sent| !sent.is_unseen()) {
            Some(sent) if sent.is_untimed() => false,
            // What is cut out of the middle of a packet has another identification than that (`skb_segment()`).
            Some(sent) if sent.from != data.from && sent.ip_id != 0 && sent.ip_id == data.segment.ip_id => {
                false
            }
            Some(&Sent { sent_ns: at_ns, tsval, ip_id, .. }) => {
                self.is_same(data, &Passed { at_ns, tsval, ip_id })
            }
            None if data.to > una => false,
            None => self.is_same_as_recent(data),
        }
    }

    /// Whether `data` is one of the last packets, by itself.
    fn is_same_as_recent(&self, data: &Data<'_>) -> bool {
        if let Some(recent) = &self.recent {
            return recent.find(data).any(|passed| self.is_same(data, &passed));
        }
        let tsval = self.first_tsval.unwrap_or(0);
        let only = Passed { at_ns: self.last_ns, tsval, ip_id: self.last_new_id };
        u64::from(data.segment.payload) == self.counts.new_bytes && self.is_same(data, &only)
    }

    /// Whether `data` is the packet with the same bytes that passed before. A retransmission has another identification (RFC 6864 4.2: unless DF
    /// is set, but Linux counts on then too), and comes no sooner than an RTT later.
    fn is_same(&self, data: &Data<'_>, passed: &Passed) -> bool {
        let has_ids = !self.ids_stand_still && (data.segment.ip_id != 0 || passed.ip_id != 0);
        if has_ids && data.segment.ip_id != passed.ip_id {
            return false;
        }
        let within_rtt = |us_per_us: u64| {
            data.full_rtt_us.map_or(UNKNOWN_COPY_NS, |us| u64::from(us) * us_per_us).min(COPY_NS)
        };
        let limit_ns = match data.tsval() {
            Some(tsval) if tsval != passed.tsval => return false,
            Some(_) if has_ids => STAMPED_COPY_NS,
            Some(_) if self.tells_rounds_apart(data) => COPY_NS,
            Some(_) => within_rtt(1_000),
            None if has_ids => COPY_NS,
            None => within_rtt(250),
        };
        data.now().saturating_sub(passed.at_ns) < limit_ns
    }

    /// The timestamp of the first data, and when they passed.
    fn first_stamp(&self) -> Option<(u32, u64)> {
        self.first_tsval.zip(self.first_ns)
    }

    /// Whether what is sent a round trip later has another timestamp: by the ticks of the sender's clock since its first data.
    fn tells_rounds_apart(&self, data: &Data<'_>) -> bool {
        let Some(((first_tsval, first_ns), tsval)) = self.first_stamp().zip(data.tsval()) else {
            return false;
        };
        let ticks = u64::try_from(tsval.wrapping_sub(first_tsval).cast_signed()).unwrap_or(0);
        let tick_ns = data.now().saturating_sub(first_ns).checked_div(ticks);
        tick_ns.zip(data.full_rtt_us).is_some_and(|(tick_ns, us)| tick_ns <= u64::from(us) * 1_000 / 2)
    }

    /// Whether what fills `gap` was sent before the packet that showed it: by timestamps, else by identifications, else by time.
    fn was_overtaken(&self, data: &Data<'_>, gap: &Gap) -> bool {
        let stamps = data.tsval().zip(gap.tsval).map(|(mine, other)| other.wrapping_sub(mine).cast_signed());
        match stamps {
            Some(later) if later != 0 => return later > 0,
            Some(_) if self.tells_rounds_apart(data) => return true,
            _ => {}
        }
        if data.segment.ip_id != 0 && gap.ip_id != 0 && data.segment.ip_id != gap.ip_id {
            return gap.ip_id.wrapping_sub(data.segment.ip_id).cast_signed() > 0;
        }
        let age_us = data.now().saturating_sub(gap.since_ns) / 1000;
        data.full_rtt_us.is_none_or(|us| age_us * 4 < u64::from(us) * 3)
    }

    fn retransmit_kind(&mut self, data: &Data<'_>, una: u64, next: u64) -> SegmentKind {
        if data.to <= una {
            // It and the ACK of the first one passed each other: the sender's state was that of before, and says nothing about now.
            return if self.is_timer_due(data.now()) {
                SegmentKind::RtoRetransmit
            } else {
                SegmentKind::FastRetransmit
            };
        }
        let is_head = data.from <= una;
        if self.state != Congestion::Open && una < self.high_seq {
            if is_head && self.is_timer_due(data.now()) {
                self.time_out(data.now(), next);
            }
            let is_in_loss = self.state == Congestion::Loss;
            if is_in_loss && !is_head {
                self.may_be_early_ns = 0;
            }
            return if is_in_loss { SegmentKind::RtoRetransmit } else { SegmentKind::FastRetransmit };
        }
        let is_below_sack = self.board.sacked() > 0 && data.from < self.board.high_sacked();
        let was_overtaken = self.board.find(data.from).is_some_and(|sent| self.board.was_overtaken(sent));
        // A retransmission that was lost, after the recovery that sent it: only the timer sends it again.
        if is_head && is_below_sack && !was_overtaken && self.is_timer_due(data.now()) {
            self.time_out(data.now(), next);
            return SegmentKind::RtoRetransmit;
        }
        if is_below_sack || was_overtaken || (is_head && self.duplicate_acks_in_row >= 3) {
            return self.recover(next);
        }
        let is_last = data.to >= next && data.to - data.from <= u64::from(data.size.mss) + 1;
        let may_probe = is_last && data.has_sack && self.tlp_high_seq == 0 && self.board.sacked() == 0;
        if may_probe && self.is_probe_due(data.now()) && data.opening.is_none_or(Opening::sends_loss_probes) {
            self.tlp_high_seq = next;
            return SegmentKind::TlpRetransmit;
        }
        if is_head {
            self.time_out(data.now(), next);
            return SegmentKind::RtoRetransmit;
        }
        self.recover(next)
    }

    fn recover(&mut self, next: u64) -> SegmentKind {
        self.state = Congestion::Recovery;
        self.high_seq = next;
        self.counts.recoveries += 1;
        SegmentKind::FastRetransmit
    }

    fn time_out(&mut self, now: u64, next: u64) {
        self.may_be_early_ns = if self.state == Congestion::Recovery { 0 } else { now };
        self.state = Congestion::Loss;
        self.high_seq = next;
        self.tlp_high_seq = 0;
        self.counts.timeouts += 1;
        self.board.time_out(now, self.reordering_window_ns());
    }

    /// Whether the timer ran out: it is set anew by news, and by the transmission of the first segment that is outstanding. Where RACK
    /// has found that segment lost, no timer is needed to send it, unless cwnd holds it back for so long.
    fn is_timer_due(&self, now: u64) -> bool {
        let head = self.board.front();
        let quiet_us = now.saturating_sub(self.progress_ns.max(head.map_or(0, |sent| sent.sent_ns))) / 1000;
        let rto_us = u64::from(self.rtt.rto_us());
        if let Some(head) = head.filter(|head| head.waits_to_be_resent()) {
            // After the reordering timer its age alone counts (tcp_rto_delta_us()); what an ACK let go has come with that.
            let has_no_cause = now.saturating_sub(self.heard_ns) >= CAUSE_NS;
            let age_us = now.saturating_sub(head.sent_ns) / 1000;
            return quiet_us >= rto_us || (has_no_cause && age_us >= rto_us);
        }
        // Three quarters, since the kernel's own estimate may be less than ours.
        quiet_us * 4 >= rto_us * 3
    }

    /// Whether it may be a probe: these come two round trips after the last transmission or news, or when the timer runs out
    /// (`tcp_schedule_loss_probe()`, RFC 8985 7.2).
    fn is_probe_due(&self, now: u64) -> bool {
        let quiet_us = now.saturating_sub(self.progress_ns.max(self.last_ns)) / 1000;
        let is_due = |srtt_us: u32| quiet_us * 4 >= u64::from(srtt_us) * 2 * 3;
        self.rtt.srtt_us().is_none_or(is_due) || self.is_timer_due(now)
    }

    /// `tcp_rack_reo_wnd()`.
    fn reordering_window_ns(&self) -> u64 {
        let is_sure = self.state != Congestion::Open || self.board.sacked() >= 3;
        if !self.board.has_reordering() && is_sure {
            return 0;
        }
        let (min, srtt) = (self.rtt.min_us().unwrap_or(0), self.rtt.srtt_us().unwrap_or(0));
        u64::from((min / 4).saturating_mul(self.patience.steps()).min(srtt)) * 1000
    }

    /// The IP identification of the last new data; `None` where packets have none, or the same.
    pub(super) fn last_ip_id(&self) -> Option<u16> {
        Some(self.last_new_id).filter(|&id| id != 0 && !self.ids_stand_still)
    }

    pub(super) fn ca_state(&self) -> CaState {
        match self.state {
            Congestion::Loss => CaState::Loss,
            Congestion::Recovery => CaState::Recovery,
            Congestion::Open if self.board.sacked() > 0 || self.duplicate_acks_in_row > 0 => {
                CaState::Disorder
            }
            Congestion::Open => CaState::Open,
        }
    }

    /// Bytes on the heap.
    pub(super) fn memory(&self) -> usize {
        let of_gaps =
            |gaps: &Option<Box<Gaps>>| gaps.as_ref().map_or(0, |gaps| size_of::<Gaps>() + gaps.memory());
        let resent = self.resent.as_ref().map_or(0, |resent| size_of::<Resent>() + resent.memory());
        let recent = self.recent.as_ref().map_or(0, |recent| recent.memory());
        let lists = of_gaps(&self.gaps) + of_gaps(&self.below) + resent + self.board.memory();
        size_of::<Self>() + lists + recent + self.found.capacity() * size_of::<Spurious>()
    }
}
