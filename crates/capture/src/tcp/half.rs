//! One direction of a connection: what its sender said in its headers, and, once it carries data, what became of that.
//!
//! Small, since most directions of most captures carry little: the state of a sender of data is allocated with its first byte.

use super::cuts::AgreedSize;
use super::data::SegmentSize;
use super::event::SegmentKind;
use super::recent::COPY_NS;
use super::sender::{Ack, AckOutcome, Sender, SenderCounts};
use crate::headers::{Flags, Segment};
use pipefill_core::record::Micros;
use pipefill_core::tcp_info::CaState;
use std::num::NonZeroU16;

/// Timestamps and padding in every segment (RFC 7323, appendix A).
const TIMESTAMPS_SIZE: u16 = 12;
/// `TCP_MIN_SND_MSS`: no segment size is smaller.
const MSS_MIN: u16 = 48;
/// When a SYN passed, where no time since then is known.
const UNTIMED_NS: u64 = u64::MAX;
/// Of a SYN without the option (RFC 9293 3.7.1).
const MSS_DEFAULT_V4: u16 = 536;
const MSS_DEFAULT_V6: u16 = 1220;
/// This number of windows that are filled to the byte as they stand in the header is no chance; [`OVERFILLED`] is data that no such window allows.
const FILLED_WINDOWS: u8 = 3;
const OVERFILLED: u8 = u8::MAX;
/// Windows below this number of segments may equal what a program writes at once.
const FILLED_SEGMENTS: u64 = 8;
/// MTU 1500 without headers, where no handshake was captured.
const MSS_V4: u16 = 1460;
const MSS_V6: u16 = 1440;

/// What the headers of one direction said, and its data.
#[derive(Debug, Clone, Default)]
pub struct Half {
    pub(super) isn: u32,
    pub(super) is_known: bool,
    /// Whether a SYN of this side was captured.
    pub(super) has_syn: bool,
    pub(super) syns_again: u16,
    /// How many of its SYNs came after an ACK of the SYN; and whether the other side had retransmitted data by then.
    pub(super) syns_after_ack: u8,
    pub(super) has_data_again: bool,
    pub(super) has_fin: bool,
    pub(super) has_timestamps: bool,
    /// `tcp_parse_options()`: 0 is none.
    mss_option: Option<NonZeroU16>,
    shift_option: Option<u8>,
    sack_option: bool,
    /// SACKs may come back: both SYNs said so, or one was not seen.
    pub(super) may_get_sacks: bool,
    /// The shift of its windows, where that is known.
    pub(super) scale: Option<u8>,
    pub(super) effective_mss: u16,
    /// A packet with no more payload is a single segment.
    largest_segment: u16,
    window_field: u16,
    /// The largest that was scaled.
    widest_field: u16,
    window_is_scaled: bool,
    has_window: bool,
    /// How often data had filled its window to the byte as it stands in the header, while the scale is open.
    filled_windows: u8,
    /// The window of the last segment in bytes.
    window_bytes: Option<u32>,
    ecn: EcnCounts,
    /// Whether it has sent an ACK without payload after its SYN.
    pub(super) acks_apart: bool,
    window_probes: u16,
    keep_alives: u16,
    /// `snd_una` and `snd_nxt`, from its first sequence number.
    pub(super) una: u64,
    pub(super) next: u64,
    pub(super) syn_ns: u64,
    /// Its IP identification, and the lower half of its timestamp.
    syn_id: u16,
    syn_stamp: u16,
    packets: u64,
    payload_bytes: u64,
    zero_since_ns: u64,
    zero_window_ns: u64,
    zero_windows: u32,
    /// The TSval whose echo is waited for, and when it passed.
    stamp: u32,
    stamp_ns: u64,
    waits_for_echo: bool,
    /// The last timestamp: of several segments with one timestamp the echo may belong to any.
    last_stamp: u32,
    answers: Option<Answers>,
    pub(super) sender: Option<Box<Sender>>,
}

/// How long the other end took to answer, from the capture point.
#[derive(Debug, Clone, Copy)]
struct Answers {
    least_us: Micros,
    /// The last, without those of an end that may have waited before it answered.
    last_us: Option<Micros>,
}

/// Marks of RFC 3168.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EcnCounts {
    /// Packets that the path marked.
    pub ce: u32,
    /// Packets that may be marked, CE included.
    pub capable: u32,
    /// Segments with ECE, SYNs aside.
    pub ece: u32,
    /// Segments with CWR, SYNs aside.
    pub cwr: u32,
}

impl Half {
    /// Sequence numbers begin with `seq`, which is number `relative`.
    pub(super) fn begin(&mut self, seq: u32, relative: u32) {
        self.isn = seq.wrapping_sub(relative);
        self.is_known = true;
        (self.una, self.next) = (u64::from(relative), u64::from(relative));
    }

    /// The sequence number, as headers have it, of `number`.
    #[inline(always)]
    pub(super) const fn wrap(&self, number: u64) -> u32 {
        self.isn.wrapping_add(number as u32)
    }

    /// The number of `seq` from the first, next to `near`; negative for what came before.
    #[inline]
    pub(super) const fn unwrap(&self, seq: u32, near: u64) -> i64 {
        near as i64 + seq.wrapping_sub(self.wrap(near)).cast_signed() as i64
    }

    /// Counts what every segment has.
    #[inline(always)]
    pub(super) fn count(&mut self, segment: &Segment) {
        self.packets += 1;
        self.payload_bytes += u64::from(segment.payload);
        if segment.ecn != 0 {
            self.ecn.capable += 1;
            self.ecn.ce += u32::from(segment.ecn == 3);
        }
        const CWR_ECE: u8 = Flags::ECE.0 | Flags::CWR.0;
        if segment.flags.0 & CWR_ECE != 0 && !segment.flags.has(Flags::SYN) {
            self.ecn.ece += u32::from(segment.flags.has(Flags::ECE));
            self.ecn.cwr += u32::from(segment.flags.has(Flags::CWR));
        }
    }

    /// Counts a segment that is neither data nor an ACK of some.
    #[inline]
    pub(super) fn count_kind(&mut self, kind: SegmentKind) {
        self.window_probes =
            self.window_probes.saturating_add(u16::from(kind == SegmentKind::ZeroWindowProbe));
        self.keep_alives = self.keep_alives.saturating_add(u16::from(kind == SegmentKind::KeepAlive));
    }

    /// Takes the window that a segment advertises. Returns whether the window has changed.
    #[inline(always)]
    pub(super) fn advertise(&mut self, segment: &Segment) -> bool {
        let is_scaled = !segment.flags.has(Flags::SYN);
        let differs = !self.has_window || segment.window != self.window_field;
        if segment.window == 0 || self.window_field == 0 {
            self.watch_zero_window(segment);
        }
        if differs || is_scaled != self.window_is_scaled {
            (self.window_field, self.window_is_scaled, self.has_window) = (segment.window, is_scaled, true);
            self.widest_field = self.widest_field.max(if is_scaled { segment.window } else { 0 });
            self.scale_window();
        }
        differs
    }

    #[inline]
    fn scale_window(&mut self) {
        let field = u32::from(self.window_field);
        self.window_bytes = match self.scale {
            _ if !self.has_window => None,
            _ if !self.window_is_scaled || field == 0 => Some(field),
            Some(shift) => Some(field << shift),
            None => None,
        };
    }

    /// A segment that acknowledges data of `peer`, before it is taken: a sender that waits for it may have filled the window. Of windows that are filled to the
    /// byte as they stand in the header there is no scale, also where no handshake says so.
    #[inline(always)]
    pub(super) fn watch_right_edge(&mut self, peer: &Self) {
        if self.scale.is_none() && self.window_is_scaled {
            self.take_filled(peer.unacked_bytes(), FILLED_SEGMENTS * u64::from(peer.effective_mss));
        }
    }

    #[cold]
    #[inline(never)]
    fn take_filled(&mut self, flight: u64, least: u64) {
        let window = u64::from(self.window_field);
        if flight > window {
            self.filled_windows = OVERFILLED;
        } else if flight == window && window >= least && self.filled_windows != OVERFILLED {
            self.filled_windows += 1;
            if self.filled_windows == FILLED_WINDOWS {
                self.scale = Some(0);
                self.scale_window();
            }
        }
    }

    /// Whether the window of `segment` is the one that was advertised before, and none of the kinds that are watched.
    #[inline(always)]
    pub(super) const fn advertises_again(&self, segment: &Segment) -> bool {
        segment.window == self.window_field && segment.window != 0 && self.window_is_scaled
    }

    #[cold]
    fn watch_zero_window(&mut self, segment: &Segment) {
        let (was, is) = (self.has_zero_window(), segment.window == 0 && !segment.flags.has(Flags::RST));
        if is && !was {
            self.zero_windows += 1;
            self.zero_since_ns = segment.time_ns;
        }
        if was {
            let closed = segment.time_ns.saturating_sub(self.zero_since_ns);
            self.zero_window_ns = self.zero_window_ns.saturating_add(closed);
            self.zero_since_ns = segment.time_ns;
        }
    }

    pub(super) const fn has_zero_window(&self) -> bool {
        self.has_window && self.window_field == 0
    }

    /// Takes the options and numbers of a SYN.
    pub(super) fn take_syn(&mut self, segment: &Segment) {
        self.has_syn = true;
        self.note_syn(segment);
        self.mss_option = segment.options.mss.and_then(NonZeroU16::new);
        self.shift_option = segment.options.window_scale;
        self.sack_option = segment.options.sack_permitted;
        self.has_timestamps = segment.options.timestamps.is_some();
    }

    /// Takes a second copy of the SYN: sent again, or captured twice. The timer is never shorter than a second (RFC 6298 2.1), but a SYN-ACK is sent again
    /// also in answer to a SYN of `peer` that was sent again (`tcp_check_req()`), however soon after the timer.
    pub(super) fn take_syn_again(&mut self, segment: &Segment, peer: &Self) -> SegmentKind {
        let is_recent = self.syn_ns != UNTIMED_NS && segment.time_ns.saturating_sub(self.syn_ns) < COPY_NS;
        let is_same = segment.ip_id == self.syn_id && stamp_of(segment) == self.syn_stamp;
        if is_recent && is_same && !peer.has_sent_syn_again_since(self.syn_ns) {
            return SegmentKind::CapturedTwice;
        }
        self.note_syn(segment);
        self.syns_again = self.syns_again.saturating_add(1);
        SegmentKind::RtoRetransmit
    }

    /// Whether its SYN was acknowledged, and what passes now is no copy of it.
    pub(super) const fn was_open_before(&self, now_ns: u64) -> bool {
        self.una > 0 && self.has_syn && now_ns.saturating_sub(self.syn_ns) >= COPY_NS
    }

    fn note_syn(&mut self, segment: &Segment) {
        (self.syn_ns, self.syn_id, self.syn_stamp) = (segment.time_ns, segment.ip_id, stamp_of(segment));
    }

    const fn has_sent_syn_again_since(&self, time_ns: u64) -> bool {
        self.syns_again > 0 && self.syn_ns != UNTIMED_NS && self.syn_ns > time_ns
    }

    /// From its only SYN to an answer at `now`; `None` where there was none, or more than one, and where the times can't be compared.
    #[inline]
    pub(super) fn since_syn_us(&self, now: u64) -> Option<u32> {
        let is_timed = self.has_syn && self.syns_again == 0 && self.syn_ns != UNTIMED_NS;
        is_timed
            .then_some(now)?
            .checked_sub(self.syn_ns)
            .map(|ns| (ns / 1000).min(u64::from(u32::MAX)) as u32)
    }

    /// The capture's clock was set back: no time from before it to a later one is known.
    pub(super) fn clock_was_set(&mut self) {
        (self.syn_ns, self.stamp_ns, self.waits_for_echo) = (UNTIMED_NS, 0, false);
        if let Some(sender) = &mut self.sender {
            sender.clock_was_set();
        }
    }

    /// What both SYNs agree on; `answers` where this is the side of the SYN-ACK.
    pub(super) fn agree(&mut self, peer: &Self, answers: bool, is_v6: bool) {
        self.scale = match (self.has_syn, peer.has_syn) {
            (true, true) if self.shift_option.is_none() || peer.shift_option.is_none() => Some(0),
            (true, true) => self.shift_option,
            (true, false) if self.shift_option.is_none() => Some(0),
            // A SYN-ACK has the option where the SYN had it (RFC 7323 2.2).
            (true, false) if answers => self.shift_option,
            (false, true) if peer.shift_option.is_none() => Some(0),
            _ => None,
        };
        self.scale_window();
        self.may_get_sacks = (!self.has_syn || self.sack_option) && (!peer.has_syn || peer.sack_option);
        self.set_mss(peer, is_v6);
    }

    /// Payload of a full segment, from both MSS options, less the timestamps.
    pub(super) fn set_mss(&mut self, peer: &Self, is_v6: bool) {
        let (usual, default) = if is_v6 { (MSS_V6, MSS_DEFAULT_V6) } else { (MSS_V4, MSS_DEFAULT_V4) };
        let without_option = peer.has_syn.then_some(default).filter(|_| peer.mss_option.is_none());
        let [own_option, peer_option] = [self.mss_option(), peer.mss_option()];
        let options = [own_option, peer_option, without_option].into_iter().flatten().min();
        let has_timestamps = match (self.has_syn, peer.has_syn) {
            (true, true) => self.has_timestamps && peer.has_timestamps,
            _ => self.has_timestamps || peer.has_timestamps,
        };
        let size = if has_timestamps { TIMESTAMPS_SIZE } else { 0 };
        self.effective_mss = options.unwrap_or(usual).saturating_sub(size).max(MSS_MIN);
        // What the other end takes, also where this end's own link is said to take less, or where timestamps come on top.
        let accepted = peer_option.or(own_option).unwrap_or(usual).max(self.effective_mss);
        self.largest_segment = accepted.min(own_option.unwrap_or(usual).max(usual)).max(self.effective_mss);
    }

    /// New data of this side: into which sizes they are cut. A sender cuts less than a segment too where the window of `peer` is small.
    #[inline(always)]
    pub(super) fn take_size(&mut self, segment: &Segment, peer: &Self) {
        let Some(sender) = &mut self.sender else { return };
        let mss = u32::from(self.effective_mss);
        if segment.payload == mss || segment.payload.is_multiple_of(mss) {
            sender.cuts.take_full();
        } else if !segment.flags.has(Flags::FIN) {
            self.take_other_size(segment, peer);
        }
    }

    #[cold]
    #[inline(never)]
    fn take_other_size(&mut self, segment: &Segment, peer: &Self) {
        let Some(sender) = &mut self.sender else { return };
        let (mss, payload) = (self.effective_mss, segment.payload);
        if let Some(agreed) = sender.cuts.take_back(payload, mss) {
            (self.effective_mss, self.largest_segment) = (agreed.mss.get(), agreed.largest);
            return;
        }
        if peer.window_bytes.is_some_and(|window| window < 2 * u32::from(mss)) {
            return;
        }
        if let Some(size) = sender.cuts.take_other(payload, segment.flags.has(Flags::PSH), mss)
            && let Some(mss) = NonZeroU16::new(mss)
        {
            sender.cuts.learned(AgreedSize { mss, largest: self.largest_segment });
            (self.effective_mss, self.largest_segment) = (size.max(MSS_MIN), size.max(MSS_MIN));
        }
    }

    /// The timestamps of a segment of this side.
    #[inline(always)]
    pub(super) fn take_stamps(&mut self, segment: &Segment, peer: &mut Self) {
        let Some((tsval, tsecr)) = segment.options.timestamps else { return };
        self.stamp(segment.time_ns, tsval);
        if segment.flags.has(Flags::ACK) {
            peer.echoed(segment.time_ns, tsecr);
        }
    }

    /// Notes a segment of this side: with its timestamp's echo it gives the answer time of the other end.
    #[inline(always)]
    fn stamp(&mut self, now: u64, tsval: u32) {
        let is_first = tsval != self.last_stamp && tsval != self.stamp;
        self.last_stamp = tsval;
        if !self.waits_for_echo && is_first {
            (self.stamp, self.stamp_ns, self.waits_for_echo) = (tsval, now, true);
        }
    }

    /// A segment of the other side echoes `tsecr`.
    #[inline(always)]
    fn echoed(&mut self, now: u64, tsecr: u32) {
        if self.waits_for_echo && tsecr.wrapping_sub(self.stamp).cast_signed() >= 0 {
            self.end_echo(now);
        }
    }

    /// The echo came.
    fn end_echo(&mut self, now: u64) {
        self.waits_for_echo = false;
        // Packets that were written out of order give no time.
        if let Some(ns) = now.checked_sub(self.stamp_ns) {
            self.answered((ns / 1000).min(u64::from(u32::MAX)) as u32);
        }
    }

    /// An answer came at once, `us` after the packet that it answers.
    #[inline]
    pub(super) fn answered(&mut self, us: u32) {
        self.take_answer(us, Some(us));
    }

    /// An answer came after `us`; `last_us` is the same where its end did not wait before it.
    #[inline]
    fn take_answer(&mut self, us: u32, last_us: Option<u32>) {
        let (us, last_us) = (Micros::from(us), last_us.map(Micros::from));
        let before = self.answers.unwrap_or(Answers { least_us: us, last_us });
        self.answers =
            Some(Answers { least_us: before.least_us.min(us), last_us: last_us.or(before.last_us) });
    }

    /// An ACK for this direction's data.
    #[inline(always)]
    pub(super) fn acknowledged(&mut self, ack: &Ack<'_>) -> AckOutcome {
        let mut shows_unseen = false;
        if ack.to > self.next {
            if ack.to - self.next > super::sender::HOLE_LIMIT {
                return AckOutcome::default();
            }
            // Without a SYN what was outstanding when the capture began is acknowledged first.
            if self.has_syn || self.sender.is_some() {
                let sender = self.sender.get_or_insert_default();
                sender.skip_to(ack.now(), &mut self.next, ack.to);
                shows_unseen = true;
            } else {
                self.next = ack.to;
            }
        }
        match &mut self.sender {
            Some(sender) => {
                let mut outcome = sender.take_ack(ack, &mut self.una, self.next);
                outcome.shows_unseen |= shows_unseen;
                if let Some(us) = outcome.rtt_us {
                    self.take_answer(us, ack.comes_between_data(us).then_some(us));
                }
                outcome
            }
            None => {
                self.una = self.una.max(ack.to);
                AckOutcome::default()
            }
        }
    }
}

/// What there is to know of a direction.
impl Half {
    /// Packets of its sender.
    pub const fn packets(&self) -> u64 {
        self.packets
    }

    /// Payload of all packets, retransmissions included, bytes.
    pub const fn payload_bytes(&self) -> u64 {
        self.payload_bytes
    }

    /// The sequence number, as it stands in headers, that counts from 0 here.
    pub(crate) const fn first_seq(&self) -> u32 {
        self.isn
    }

    /// The sequence number after the last byte sent, as in the header.
    pub(crate) const fn last_seq(&self) -> u32 {
        self.wrap(self.next)
    }

    /// The IP identification of its last new data; `None` where there is none, or where all have the same.
    pub(crate) fn last_ip_id(&self) -> Option<u16> {
        self.sender.as_deref().and_then(Sender::last_ip_id)
    }

    /// Whether its SYN or SYN-ACK was seen.
    pub const fn has_syn(&self) -> bool {
        self.has_syn
    }

    /// Whether an ACK of it without payload was seen, behind its SYN.
    pub const fn acks_apart(&self) -> bool {
        self.acks_apart
    }

    /// Whether its FIN was seen.
    pub const fn has_fin(&self) -> bool {
        self.has_fin
    }

    /// The MSS option of its SYN.
    pub fn mss_option(&self) -> Option<u16> {
        self.mss_option.map(NonZeroU16::get)
    }

    /// Payload of a full segment: from the options of the handshake, else of an MTU of 1500.
    pub const fn mss_bytes(&self) -> u32 {
        self.effective_mss as u32
    }

    /// How its packets count as segments.
    #[inline(always)]
    pub(super) const fn segment_size(&self) -> SegmentSize {
        SegmentSize { mss: self.effective_mss as u32, largest: self.largest_segment as u32 }
    }

    /// Whether its windows, and those of `peer`, are scaled (RFC 7323, 2.2: both SYNs offer it); `None` where the handshake was not seen.
    pub fn has_scaled_windows(&self, peer: &Self) -> Option<bool> {
        let peer_offers = peer.shift_option.is_some() || !peer.has_syn;
        self.scale.map(|shift| shift > 0 || (self.shift_option.is_some() && peer_offers))
    }

    /// The shift of the windows that it advertises; `None` where the handshake was not seen.
    pub const fn window_scale(&self) -> Option<u8> {
        self.scale
    }

    /// The window that it last advertised, bytes; `None` where the scale is not known, but for a window of 0.
    #[inline]
    pub const fn window_bytes(&self) -> Option<u32> {
        self.window_bytes
    }

    /// That window over the largest one up to now, in thousandths: known without the scale.
    pub fn window_permille(&self) -> Option<u16> {
        let widest =
            Some(u32::from(self.widest_field)).filter(|&widest| widest > 0 && self.window_is_scaled)?;
        Some((u32::from(self.window_field) * 1_000 / widest) as u16)
    }

    /// How long it advertised a window of 0 until its last packet, nanoseconds.
    pub const fn zero_window_ns(&self) -> u64 {
        self.zero_window_ns
    }

    /// How often its window became 0.
    pub const fn zero_windows(&self) -> u32 {
        self.zero_windows
    }

    /// Probes of a zero window that it sent.
    pub const fn window_probes(&self) -> u16 {
        self.window_probes
    }

    /// Keep-alives that it sent.
    pub const fn keep_alives(&self) -> u16 {
        self.keep_alives
    }

    /// Its marks and echoes of RFC 3168.
    pub const fn ecn(&self) -> EcnCounts {
        self.ecn
    }

    /// The shortest time from the capture point to the other end and back, by ACKs and echoed timestamps.
    pub fn answer_us(&self) -> Option<u32> {
        self.answers.map(|answers| answers.least_us.into())
    }

    /// The last answer time, of those of an end that answered at once; else the shortest.
    pub fn last_answer_us(&self) -> Option<u32> {
        self.answers.map(|answers| answers.last_us.unwrap_or(answers.least_us).into())
    }

    /// Its last timestamp; absent before the first.
    pub(crate) fn last_stamp(&self) -> Option<u32> {
        (self.stamp_ns > 0).then_some(self.last_stamp)
    }

    /// `snd_nxt − snd_una`: sent and not acknowledged, bytes.
    pub const fn unacked_bytes(&self) -> u64 {
        self.next.saturating_sub(self.una)
    }

    /// `snd_una`: what is acknowledged, from its first sequence number (the SYN is number 0).
    pub const fn acked_to(&self) -> u64 {
        self.una
    }

    /// `snd_nxt`: what was sent, likewise.
    pub const fn sent_to(&self) -> u64 {
        self.next
    }

    /// Where its payload ends, likewise: without a FIN.
    pub fn payload_to(&self) -> u64 {
        self.next.saturating_sub(u64::from(self.has_fin))
    }

    fn of_board(&self, value: impl Fn(&Sender) -> u32) -> u32 {
        self.sender.as_deref().map_or(0, value)
    }

    /// `tcp_packets_in_flight()`: unacked − sacked − lost + retransmitted, segments.
    pub fn in_flight_segments(&self) -> u32 {
        self.of_board(|sender| sender.board.in_flight())
    }

    /// The same in bytes, from sequence numbers.
    pub fn in_flight_bytes(&self) -> u64 {
        self.sender.as_deref().map_or(0, |sender| sender.board.in_flight_bytes())
    }

    /// Segments in `snd_una..snd_nxt`.
    pub fn unacked_segments(&self) -> u32 {
        self.of_board(|sender| sender.board.out())
    }

    /// How many of the segments in flight the receiver has SACKed.
    pub fn sacked_segments(&self) -> u32 {
        self.of_board(|sender| sender.board.sacked())
    }

    /// How many of these segments the sender takes for lost (RFC 8985).
    pub fn lost_segments(&self) -> u32 {
        self.of_board(|sender| sender.board.lost())
    }

    /// How many retransmissions of these segments are in flight.
    pub fn retrans_segments(&self) -> u32 {
        self.of_board(|sender| sender.board.resent())
    }

    /// The sender's congestion state, estimated from packets; `None` before data.
    pub fn ca_state(&self) -> Option<CaState> {
        self.sender.as_deref().map(Sender::ca_state)
    }

    fn of_rtt(&self, value: impl Fn(&Sender) -> Option<u32>) -> Option<u32> {
        self.sender.as_deref().and_then(value)
    }

    /// The smoothed RTT as Linux keeps it, from the capture point to the receiver and back.
    pub fn srtt_us(&self) -> Option<u32> {
        self.of_rtt(|sender| sender.rtt.srtt_us())
    }

    /// Its variation as Linux keeps it.
    pub fn rttvar_us(&self) -> Option<u32> {
        self.of_rtt(|sender| sender.rtt.rttvar_us())
    }

    /// The least RTT of all samples.
    pub fn min_rtt_us(&self) -> Option<u32> {
        self.of_rtt(|sender| sender.rtt.min_us())
    }

    /// The timeout that follows from them.
    pub fn rto_us(&self) -> Option<u32> {
        self.of_rtt(|sender| sender.rtt.srtt_us().map(|_| sender.rtt.rto_us()))
    }

    /// Everything that was counted of its data; zeros before the first.
    pub fn counts(&self) -> SenderCounts {
        self.sender.as_deref().map(|sender| sender.counts).unwrap_or_default()
    }

    /// Segments that were sent again, SYNs included: `tcpi_total_retrans` of a sender whose packets all were captured.
    pub fn retransmits(&self) -> u32 {
        self.counts().retransmits() + self.syns_again()
    }

    /// SYNs that were sent again.
    pub fn syns_again(&self) -> u32 {
        self.syns_again.into()
    }

    /// When its first and its last data passed, nanoseconds since 1970: not a FIN, a keep-alive, a window probe, or what was acknowledged
    /// already.
    pub fn data_ns(&self) -> Option<(u64, u64)> {
        self.sender.as_deref().and_then(|sender| Some((sender.first_ns?, sender.last_ns)))
    }

    /// The latter alone; absent before the first.
    #[inline]
    pub(super) fn last_data_ns(&self) -> Option<u64> {
        self.sender.as_deref().map(|sender| sender.last_ns)
    }

    /// Whether the time between its first and its last data is unknown: the capture's clock was set back in between, or shows a time behind the
    /// end of [`Packet::time_ns`](crate::read::Packet::time_ns).
    pub fn has_unknown_span(&self) -> bool {
        let is_beyond = self.data_ns().is_some_and(|(_, last_ns)| last_ns == u64::MAX);
        is_beyond || self.sender.as_deref().is_some_and(Sender::is_across_set_clock)
    }

    /// Time between first and last data with nothing outstanding, nanoseconds, and the longest of these times.
    pub fn idle_ns(&self) -> (u64, u64) {
        self.sender.as_deref().map_or((0, 0), |sender| (sender.idle_ns, sender.longest_idle_ns))
    }

    /// Bytes of the first flight: what was sent before an answer can have come (RFC 6928).
    pub fn initial_window_bytes(&self) -> Option<u64> {
        self.sender.as_deref().map(|sender| sender.initial_window)
    }

    /// The most that was in flight in this round and the last: at the sender, its cwnd where nothing else limits it.
    pub fn flight_of_round_bytes(&self) -> Option<u64> {
        self.sender.as_deref().map(|sender| sender.rounds.flight())
    }

    /// Whether any of its segments overtook others, before the capture point or behind it.
    pub fn has_reordering(&self) -> bool {
        self.sender
            .as_deref()
            .is_some_and(|sender| sender.board.has_reordering() || sender.counts.out_of_order > 0)
    }

    /// The most that ever was in flight.
    pub fn largest_flight_bytes(&self) -> Option<u64> {
        self.sender.as_deref().map(|sender| sender.rounds.largest())
    }

    /// The largest rate at which data arrived over a round, payload bits per second: no more than the bottleneck's.
    pub fn bottleneck_bps(&self) -> Option<u64> {
        self.sender.as_deref().and_then(|sender| sender.rounds.best_bps())
    }

    /// Bytes on the heap.
    pub(super) fn memory(&self) -> usize {
        self.sender.as_deref().map_or(0, Sender::memory)
    }
}

/// The lower half of its timestamp; 0 where it has none.
fn stamp_of(segment: &Segment) -> u16 {
    segment.options.timestamps.map_or(0, |(stamp, _)| stamp as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tick of 1 ms has several segments, and a round trip takes 2 ms.
    #[test]
    fn an_echo_is_timed_from_the_first_segment_with_its_timestamp() {
        let mut half = Half::default();
        half.stamp(0, 1);
        half.stamp(1_500_000, 2);
        half.echoed(2_000_000, 1);
        half.stamp(2_100_000, 2);
        half.echoed(3_500_000, 2);
        assert_eq!(half.answer_us(), Some(2_000));
    }
}
