//! What leaves and when: new data within cwnd, the window and pacing; retransmissions within cwnd (`tcp_output.c`).
//!
//! Never: a segment beyond the window's edge, or a burst beyond what pacing and cwnd allow.

use super::limits::{GSO_MAX_SIZE, INIT_CWND, Push};
use super::scoreboard::{Sent, mark};
use super::sender::Sender;
use crate::cc::Event;
use crate::segment::{Body, Data, Header};
use pipefill_core::tcp_info::CaState;
use pipefill_core::units::NANOS_PER_SEC;
use pipefill_link::jiffies;
use std::time::Duration;

/// `TCP_MSS_DEFAULT` (RFC 9293, 3.7.1).
const MSS_DEFAULT: u64 = 536;
/// 68 bytes, the least that an IPv4 path carries (RFC 791), less the headers with timestamps.
const MSS_LEAST: u64 = 16;
/// `tcp_tso_win_divisor`.
const WINDOW_DIVISOR: u64 = 3;
/// `sk_pacing_shift`: a super-packet is worth 2^-10 s at the pacing rate …
const PACING_SHIFT: u32 = 10;
/// … and a part of the largest that halves with every 2^9 µs of round trip (`tcp_tso_rtt_log`).
const TSO_RTT_LOG: u32 = 9;

/// Why sending stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    NoData,
    Pacing,
    Cwnd,
    Window,
    Deferred,
}

impl Sender {
    /// `tcp_push_pending_frames()`.
    pub(crate) fn push_pending(&mut self) {
        if self.queue.write_seq > self.snd_nxt {
            self.write_xmit(Push::All);
            self.check_persist_timer();
        }
    }

    /// `tcp_write_xmit()`.
    pub(crate) fn write_xmit(&mut self, push: Push) {
        let max_segments = self.tso_segments();
        let mut sent = 0;
        let mut is_cwnd_limited = false;
        let stop = loop {
            match self.next_burst(push, max_segments, &mut is_cwnd_limited) {
                Ok(bytes) => sent += self.send_new(bytes),
                Err(stop) => break stop,
            }
            if push == Push::Probe {
                break Stop::NoData;
            }
            self.note_overshoot();
            if push == Push::First {
                break Stop::NoData;
            }
        };
        if stop == Stop::Window {
            self.chrono.start_rwnd(self.now);
        } else {
            self.chrono.stop_rwnd(self.now, self.has_unacked_data());
        }
        is_cwnd_limited |= self.in_flight() >= self.conn.cwnd;
        if sent > 0 || is_cwnd_limited {
            self.validate_cwnd(is_cwnd_limited);
        }
        if sent > 0 {
            if self.is_reducing() {
                self.prr_out += sent;
            }
            if push != Push::Probe {
                self.schedule_loss_probe(false);
            }
        }
    }

    /// Bytes that may leave next as one packet.
    fn next_burst(&mut self, push: Push, max_segments: u32, is_cwnd_limited: &mut bool) -> Result<u64, Stop> {
        let mss = self.current_mss();
        let unsent = self.queue.write_seq - self.snd_nxt;
        if unsent == 0 {
            return Err(Stop::NoData);
        }
        if self.is_paced() {
            return Err(Stop::Pacing);
        }
        let quota = match (self.cwnd_quota(), push) {
            (0, Push::Probe) => 1,
            (0, Push::All | Push::First) => return Err(Stop::Cwnd),
            (quota, _) => quota,
        };
        let in_window = self.window_end().saturating_sub(self.snd_nxt);
        if in_window < unsent.min(mss) {
            return Err(Stop::Window);
        }
        if unsent < mss {
            return if self.may_send_small() { Ok(unsent) } else { Err(Stop::NoData) };
        }
        if max_segments > 1 && push == Push::All && self.should_defer(max_segments, unsent, is_cwnd_limited) {
            return Err(Stop::Deferred);
        }
        let most = u64::from(max_segments.min(quota)) * mss;
        let bytes = unsent.min(most).min(in_window);
        // A tail below one MSS goes with the rest only where Nagle lets it.
        let whole = bytes / mss * mss;
        Ok(if bytes == unsent && self.may_send_small() && bytes < most { bytes } else { whole })
    }

    /// `tcp_current_mss()`, `tcp_bound_to_half_wnd()`: a peer whose window is small gets segments of half of it, so that there
    /// can be two; and what the SACK option takes has no room for payload.
    fn current_mss(&self) -> u64 {
        let mss = u64::from(self.conn.mss - self.sack_bytes);
        let cutoff = if self.max_window > MSS_DEFAULT { self.max_window / 2 } else { self.max_window };
        if cutoff > 0 && mss > cutoff { cutoff.max(MSS_LEAST) } else { mss }
    }

    /// `tcp_cwnd_test()`.
    fn cwnd_quota(&self) -> u32 {
        let cwnd = self.conn.cwnd;
        cwnd.saturating_sub(self.in_flight()).min((cwnd >> 1).max(1))
    }

    /// `tcp_write_wakeup()`: a window too small for a segment gets what fits, once the persist timer has waited for more.
    pub(crate) fn fill_window(&mut self) {
        let in_window = self.window_end().saturating_sub(self.snd_nxt);
        let bytes = in_window.min(self.queue.write_seq - self.snd_nxt).min(self.current_mss());
        if bytes > 0 {
            self.send_new(bytes);
        }
    }

    /// Sends `bytes` of new data as one packet; returns its segments.
    fn send_new(&mut self, bytes: u64) -> u32 {
        let mss = self.current_mss();
        let was_empty = self.board.is_empty();
        if self.in_flight() == 0 {
            self.event(Event::TxStart);
        }
        let xmit_us = self.pace(bytes);
        self.last_sent = self.now;
        self.last_gso_id += 1;
        let (end, mut head, mut segments) = (self.snd_nxt + bytes, mark::HEAD, 0);
        while self.snd_nxt < end {
            let len = (end - self.snd_nxt).min(mss) as u32;
            // `__tcp_transmit_skb()`: a packet of several segments is pushed, so that who joins them knows its end.
            let is_end = segments > 0 && self.snd_nxt + u64::from(len) == end;
            let push = if is_end { mark::PUSH } else { 0 };
            self.send_segment(len, head | push, xmit_us);
            (head, segments) = (0, segments + 1);
        }
        self.process.sent += 1;
        self.timer_for_new_data(was_empty);
        // `tcp_event_new_data_sent()`: before the next packet fills cwnd, which is when the buffer may still grow.
        self.check_space();
        segments
    }

    fn send_segment(&mut self, len: u32, marks: u16, xmit_us: u64) {
        let end = self.snd_nxt + u64::from(len);
        let mut push = false;
        while self.queue.pushes.front().is_some_and(|&at| at <= end) {
            push = self.queue.pushes.pop_front() == Some(end) || push;
        }
        let marks = marks | if push { mark::PUSH } else { 0 };
        let mut segment =
            Sent { seq: self.snd_nxt, len, marks, xmit_us, delivered: 0, delivered_us: 0, first_tx_us: 0 };
        self.stamp(&mut segment);
        self.board.push(segment);
        let ecn = self.ecn_of_new_data();
        self.transmit(&segment, ecn);
        self.snd_nxt = end;
        if len < self.conn.mss - self.sack_bytes {
            self.last_small = end;
        }
    }

    /// Puts a segment on the wire, with bits of ECN.
    fn transmit(&mut self, segment: &Sent, ecn: u8) {
        self.totals.data_segs_out = self.totals.data_segs_out.wrapping_add(1);
        self.totals.bytes_sent += u64::from(segment.len);
        let push = segment.has(mark::PUSH);
        let header = Header { ecn, ..self.header(segment.seq) };
        self.emit(Body::Data(Data { header, len: segment.len, push }));
    }

    /// The half of a header that this half of the socket fills in; the other is the receiving half's.
    pub(crate) fn header(&self, seq: u64) -> Header {
        Header { seq, ts: jiffies::stamp(self.now), ..Header::default() }
    }

    /// Hands a packet over to the path.
    pub(crate) fn emit(&mut self, body: Body) {
        self.totals.segs_out = self.totals.segs_out.wrapping_add(1);
        self.outbox.push((self.last_gso_id, body));
    }

    /// `tcp_xmit_retransmit_queue()`: what is lost, as far as cwnd and pacing allow, in packets as large as they left.
    pub(crate) fn retransmit_queue(&mut self) {
        let max_segments = self.tso_segments();
        let mut is_head_sent = false;
        while let Some(index) = self.board.next_to_retransmit() {
            let quota = self.conn.cwnd.saturating_sub(self.in_flight());
            if quota == 0 || self.is_paced() {
                break;
            }
            let segments = self.retransmit(index, quota.min(max_segments));
            if segments == 0 {
                break;
            }
            self.note_overshoot();
            if self.is_reducing() {
                self.prr_out += segments;
            }
            is_head_sent |= index == self.board.first_index() && !self.timers.is_reordering();
        }
        if is_head_sent {
            self.rearm_from_now();
        }
    }

    /// The timeout starts anew, since the head was just sent again.
    fn rearm_from_now(&mut self) {
        self.timers.disarm();
        self.rearm_rto();
    }

    /// `tcp_retransmit_skb()`: the packet that begins at `index`, at most `most` segments of it; returns how many left,
    /// none where the window does not let it.
    pub(crate) fn retransmit(&mut self, index: u64, most: u32) -> u32 {
        let segments = self.send_again(index, most);
        if segments > 0 {
            (index..index + u64::from(segments)).for_each(|at| self.board.mark_retransmission(at));
            self.undo.retrans_stamp.get_or_insert(jiffies::stamp(self.now));
            self.undo.retrans = self.undo.retrans.max(0) + i64::from(segments);
        }
        segments
    }

    /// `__tcp_retransmit_skb()`: the same without the accounts of a repair. A loss probe repairs nothing that is known to be
    /// lost, so that its segment still counts once.
    pub(crate) fn send_again(&mut self, index: u64, most: u32) -> u32 {
        let Some(&first) = self.board.get(index) else { return 0 };
        if first.end() > self.window_end() && first.seq != self.snd_una {
            return 0;
        }
        let segments = self.board.packet_segments(index, most);
        let bytes = (index..index + u64::from(segments))
            .filter_map(|at| self.board.get(at))
            .map(|sent| u64::from(sent.len));
        let xmit_us = self.pace(bytes.sum());
        self.last_sent = self.now;
        self.last_gso_id += 1;
        for at in index..index + u64::from(segments) {
            let is_end = segments > 1 && at + 1 == index + u64::from(segments);
            self.send_segment_again(at, if is_end { mark::PUSH } else { 0 }, xmit_us);
        }
        let last = self.board.get(index + u64::from(segments.max(1)) - 1).map_or(first.end(), Sent::end);
        self.trace_retransmit(first.seq, last, segments);
        self.process.sent += 1;
        segments
    }

    fn send_segment_again(&mut self, index: u64, marks: u16, xmit_us: u64) {
        let Some(&segment) = self.board.get(index) else { return };
        let mut segment = Sent { xmit_us, marks: segment.marks | marks, ..segment };
        self.stamp(&mut segment);
        self.board.renew(index, segment);
        // Never ECT (RFC 3168, section 6.1.5).
        let ecn = self.ecn_of_retransmission();
        self.transmit(&segment, ecn);
        self.totals.retransmits += 1;
        self.totals.bytes_retrans += u64::from(segment.len);
    }

    /// `tcp_pacing_check()`.
    fn is_paced(&mut self) -> bool {
        let is_early = self.conn.needs_pacing && self.conn.pacing_time > self.now;
        if is_early {
            self.timers.pacing = Some(self.conn.pacing_time);
        }
        is_early
    }

    /// `tcp_update_skb_after_send()`: when the next packet may leave; returns when this one does, microseconds.
    fn pace(&mut self, bytes: u64) -> u64 {
        let prior = self.conn.pacing_time;
        let at = prior.max(self.now);
        self.conn.pacing_time = at;
        let rate = self.conn.pacing_rate;
        if self.conn.needs_pacing && rate != u64::MAX && rate > 0 && self.totals.data_segs_out >= INIT_CWND {
            let span = u64::try_from(u128::from(bytes) * u128::from(NANOS_PER_SEC) / u128::from(rate));
            let span = span.unwrap_or(NANOS_PER_SEC);
            let credit = u64::try_from(at.since(prior).as_nanos()).unwrap_or(u64::MAX);
            let span = span - (span / 2).min(credit);
            self.conn.pacing_time = at.after(Duration::from_nanos(span));
        }
        at.micros()
    }

    /// `tcp_pace_kick()`: the timer lets packets go again.
    pub(crate) fn on_pacing_timer(&mut self) {
        if self.board.lost_out > self.board.retrans_out {
            self.retransmit_queue();
        }
        self.push_pending();
    }

    /// `tcp_tso_segs()`, `tcp_tso_autosize()`.
    fn tso_segments(&mut self) -> u32 {
        if !self.host.gso {
            return 1;
        }
        self.sync();
        let fewest = u64::from(self.cc.min_tso_segs(&self.conn));
        let mut bytes = self.conn.pacing_rate >> PACING_SHIFT;
        let shift = self.rtt.min_us() >> TSO_RTT_LOG;
        if shift < 32 {
            bytes = bytes.saturating_add(GSO_MAX_SIZE >> shift);
        }
        let most = GSO_MAX_SIZE.min((self.max_window / 2).max(u64::from(self.conn.mss)));
        (bytes.min(most) / u64::from(self.conn.mss)).max(fewest) as u32
    }

    /// `tcp_tso_should_defer()`: the next ACK is near and will allow a larger packet.
    fn should_defer(&self, max_segments: u32, unsent: u64, is_cwnd_limited: &mut bool) -> bool {
        let mss = u64::from(self.conn.mss);
        let Some(head) = self.board.head() else { return false };
        let is_old = self.now > self.conn.pacing_time.after(Duration::from_millis(1));
        if self.conn.ca_state >= CaState::Recovery || is_old {
            return false;
        }
        let send_window = self.window_end() - self.snd_nxt;
        let cong_window = u64::from(self.conn.cwnd.saturating_sub(self.in_flight())) * mss;
        let limit = send_window.min(cong_window);
        let chunk = self.snd_wnd.min(u64::from(self.conn.cwnd) * mss) / WINDOW_DIVISOR;
        let full = u64::from(max_segments) * mss;
        if limit >= full || limit >= chunk || limit >= unsent {
            return false;
        }
        let age_us = self.now_us().saturating_sub(head.xmit_us);
        if age_us < self.rtt.srtt_us_8() >> 4 {
            return false;
        }
        *is_cwnd_limited |= cong_window < send_window;
        true
    }

    /// `tcp_update_pacing_rate()`: 200 % of cwnd per round trip in slow start, 120 % after.
    pub(crate) fn update_pacing_rate(&mut self) {
        let percent = if self.conn.cwnd < self.conn.ssthresh / 2 { 200 } else { 120 };
        let segments = u64::from(self.conn.cwnd.max(self.board.packets_out()));
        let mut rate = u64::from(self.conn.mss) * (NANOS_PER_SEC / 1000 / 100 * 8) * percent * segments;
        if let Some(divided) = rate.checked_div(self.rtt.srtt_us_8()) {
            rate = divided;
        }
        self.conn.pacing_rate = rate.min(self.conn.max_pacing_rate);
    }
}
