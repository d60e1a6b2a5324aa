//! What an ACK does to the sender (`tcp_ack()` and `tcp_clean_rtx_queue()`; RFC 5681, RFC 9293, 3.10.7.4).

use super::rate::Gathered;
use super::scoreboard::{Sent, mark};
use super::sender::Sender;
use crate::cc::AckSample;
use crate::segment::{Header, ecn};
use pipefill_core::tcp_info::CaState;
use pipefill_core::units::Time;

/// `FLAG_*` of `tcp_input.c`.
pub(crate) mod flag {
    pub(crate) const WINDOW_UPDATE: u16 = 1;
    pub(crate) const DATA_ACKED: u16 = 2;
    pub(crate) const RETRANS_ACKED: u16 = 4;
    pub(crate) const DATA_SACKED: u16 = 8;
    pub(crate) const UNA_ADVANCED: u16 = 16;
    pub(crate) const DSACKING: u16 = 32;
    pub(crate) const ORIGINAL_SACKED: u16 = 64;
    pub(crate) const SET_TIMER: u16 = 128;
    pub(crate) const DSACK_TLP: u16 = 256;
    pub(crate) const LOST_RETRANS: u16 = 512;
    pub(crate) const MAYBE_DELAYED: u16 = 1024;
    /// `FLAG_DATA`: it carries payload.
    pub(crate) const DATA: u16 = 2048;
    /// `FLAG_ECE`: it echoes a mark.
    pub(crate) const ECE: u16 = 4096;
    /// The ACK is no duplicate.
    pub(crate) const NOT_DUP: u16 = DATA | WINDOW_UPDATE | DATA_ACKED;
    pub(crate) const FORWARD: u16 = DATA_ACKED | DATA_SACKED;
    pub(crate) const ALERT: u16 = DATA_SACKED | DSACKING | ECE;
}

/// What is to be sent after an ACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resend {
    None,
    /// `REXMIT_LOST`.
    Lost,
    /// `REXMIT_NEW`: F-RTO tries new data first.
    New,
}

/// An ACK at work.
#[derive(Debug)]
pub(crate) struct Ack {
    pub(crate) number: u64,
    pub(crate) flags: u16,
    pub(crate) gathered: Gathered,
    pub(crate) first_sacked_us: Option<u64>,
    pub(crate) last_sacked_us: Option<u64>,
    /// Segments that SACKs and D-SACKs tell to be delivered.
    pub(crate) sack_delivered: u32,
    pub(crate) resend: Resend,
}

impl Ack {
    pub(crate) fn has(&self, flags: u16) -> bool {
        self.flags & flags != 0
    }
}

/// What the cumulatively acknowledged segments tell.
#[derive(Debug, Default)]
struct Cleaned {
    count: u32,
    first_us: Option<u64>,
    last_us: Option<u64>,
    /// The lowest one that was neither SACKed nor sent again.
    reordered_at: Option<u64>,
}

impl Sender {
    /// Takes an ACK without payload.
    #[inline]
    pub(crate) fn on_ack(&mut self, now: Time, received: &Header) {
        self.take_header(now, received, false);
        self.check_send();
    }

    /// `tcp_data_snd_check()`: what may leave now does.
    #[inline]
    pub(crate) fn check_send(&mut self) {
        self.push_pending();
        self.check_space();
        let recount = || self.board.recount(self.snd_una, self.snd_nxt);
        debug_assert!(!self.is_recounted() || recount().is_ok(), "{:?}", recount());
    }

    /// A long list is counted again after few ACKs, fewer than checked runs look at: after each, that would be most of what a debug build does.
    fn is_recounted(&self) -> bool {
        self.conn.delivered.is_multiple_of(u64::from(4 * self.board.recounts_left_out()) + 1)
    }

    /// Whether a segment with payload tells this half nothing: all that was written is acknowledged, and the window is as it was.
    #[inline]
    pub(crate) fn knows(&self, received: &Header) -> bool {
        received.ack == self.queue.write_seq
            && received.ack == self.snd_una
            && received.window == self.snd_wnd
            && received.sacks.is_empty()
    }

    /// `tcp_ack()`: what a segment acknowledges, with payload or without.
    pub(crate) fn take_header(&mut self, now: Time, received: &Header, has_payload: bool) {
        self.now = now;
        if received.ack > self.snd_nxt {
            return;
        }
        let prior_una = self.snd_una;
        let (prior_delivered, prior_lost) = (self.conn.delivered, self.board.lost);
        let mut ack = Ack {
            number: received.ack,
            flags: if has_payload { flag::DATA } else { 0 },
            gathered: Gathered::default(),
            first_sacked_us: None,
            last_sacked_us: None,
            sack_delivered: 0,
            resend: Resend::None,
        };
        // `tcp_ecn_rcv_ecn_echo()`.
        if received.ecn & ecn::ECE != 0 && self.ecn.is_on {
            ack.flags |= flag::ECE;
        }
        ack.gathered.sample.prior_in_flight = self.in_flight();
        let prior_highest = self.board.highest_sack(prior_una);
        let is_old = received.ack < prior_una;
        self.ts_echo = received.ts_echo;
        if !is_old {
            self.update_window(received, &mut ack);
        }
        if !received.sacks.is_empty() {
            self.take_sacks(received, prior_una, &mut ack);
        }
        if is_old {
            // What an overtaken ACK tells is never counted as delivered (`old_ack` in `tcp_ack()`).
            if !self.board.is_empty() && !received.sacks.is_empty() {
                self.alert(prior_una, &mut ack);
                self.resend(&ack);
            }
        } else {
            self.conn.delivered += u64::from(ack.sack_delivered);
            if self.board.is_empty() {
                self.take_ack_of_nothing(prior_una, &mut ack);
            } else {
                self.take_ack(prior_una, prior_highest, prior_delivered, prior_lost, &mut ack);
            }
        }
    }

    /// Nothing was out (`no_queue` in `tcp_ack()`): a D-SACK may still undo a reduction, and a loss probe be judged.
    fn take_ack_of_nothing(&mut self, prior_una: u64, ack: &mut Ack) {
        if ack.has(flag::DSACKING) {
            self.alert(prior_una, ack);
        }
        self.on_probe_ack();
        if self.tlp_high_seq.is_some() {
            self.judge_loss_probe(ack);
        }
    }

    fn take_ack(
        &mut self,
        prior_una: u64,
        prior_highest: u64,
        prior_delivered: u64,
        prior_lost: u64,
        ack: &mut Ack,
    ) {
        if self.cc.needs_ecn() {
            self.sync();
            self.cc.in_ack_event(&self.conn);
        }
        self.clean(prior_highest, prior_delivered, ack);
        self.rack.update_window(ack.gathered.sample.prior_delivered, self.conn.delivered);
        if self.tlp_high_seq.is_some() {
            self.judge_loss_probe(ack);
        }
        let is_dubious =
            !ack.has(flag::NOT_DUP) || ack.has(flag::ALERT) || self.conn.ca_state != CaState::Open;
        if is_dubious {
            if ack.has(flag::ECE) {
                // `tcp_count_delivered()`.
                let delivered = (self.conn.delivered - prior_delivered) as u32;
                self.ecn.delivered_ce = self.ecn.delivered_ce.wrapping_add(delivered);
            }
            self.alert(prior_una, ack);
        }
        if ack.has(flag::SET_TIMER) {
            self.set_xmit_timer();
        }
        let delivered = u32::try_from(self.conn.delivered - prior_delivered).unwrap_or(u32::MAX);
        let lost = self.board.lost - prior_lost;
        ack.gathered.sample.is_ack_delayed = ack.has(flag::MAYBE_DELAYED);
        self.control(delivered, lost, ack);
        self.resend(ack);
    }

    /// `tcp_ack_update_window()` and `tcp_snd_una_update()`.
    fn update_window(&mut self, received: &Header, ack: &mut Ack) {
        let is_advanced = received.ack > self.snd_una;
        if self.may_update_window(received) {
            ack.flags |= flag::WINDOW_UPDATE;
            self.window_seq = received.seq;
            self.snd_wnd = received.window;
            self.max_window = self.max_window.max(received.window);
        }
        if is_advanced {
            ack.flags |= flag::UNA_ADVANCED;
            self.timeouts = 0;
            self.snd_una = received.ack;
        }
    }

    /// `tcp_may_update_window()` (RFC 9293, 3.10.7.4): later segments, and of one segment's copies the larger window.
    pub(crate) fn may_update_window(&self, received: &Header) -> bool {
        received.ack > self.snd_una
            || received.seq > self.window_seq
            || (received.seq == self.window_seq && (received.window > self.snd_wnd || received.window == 0))
    }

    /// `tcp_clean_rtx_queue()`.
    fn clean(&mut self, prior_highest: u64, prior_delivered: u64, ack: &mut Ack) {
        let mut cleaned = Cleaned::default();
        let had_sacked = self.board.sacked_out > 0;
        let mut last_len = 0;
        while let Some(segment) = self.board.pop_acked(self.snd_una) {
            last_len = segment.len;
            self.clean_one(&segment, &mut cleaned, ack);
        }
        self.board.trim_head(self.snd_una);
        self.board.trim();
        if self.board.is_empty() && !self.has_unacked_data() {
            self.chrono.stop_busy(self.now);
        }
        let is_lone = cleaned.count == 1 && last_len < self.conn.mss && !had_sacked;
        if is_lone
            && ack.gathered.sample.prior_delivered + 1 == self.conn.delivered
            && !ack.has(flag::ALERT | flag::RETRANS_ACKED)
            && self.conn.delivered > prior_delivered
        {
            ack.flags |= flag::MAYBE_DELAYED;
        }
        let is_sampled = self.update_rtt(&cleaned, ack);
        if ack.has(flag::DATA_ACKED) {
            ack.flags |= flag::SET_TIMER;
            // A hole that was never sent again got filled below what was SACKed.
            if let Some(low) = cleaned.reordered_at.filter(|&low| low < prior_highest) {
                self.note_reordering(low);
            }
        } else if is_sampled && self.is_sack_of_later_data(ack) {
            ack.flags |= flag::SET_TIMER;
        }
        self.tell_acked(&cleaned, ack);
    }

    fn clean_one(&mut self, segment: &Sent, cleaned: &mut Cleaned, ack: &mut Ack) {
        cleaned.count += 1;
        ack.flags |= flag::DATA_ACKED;
        if segment.has(mark::EVER_RETRANS) {
            ack.flags |= flag::RETRANS_ACKED;
        } else if !segment.has(mark::SACKED) {
            cleaned.first_us.get_or_insert(segment.xmit_us);
            cleaned.last_us = Some(segment.xmit_us);
            cleaned.reordered_at.get_or_insert(segment.seq);
            if segment.end() <= self.high_seq {
                ack.flags |= flag::ORIGINAL_SACKED;
            }
        }
        if !segment.has(mark::SACKED) {
            self.conn.delivered += 1;
            let was_retransmitted = segment.has(mark::EVER_RETRANS);
            if !(was_retransmitted && self.is_echo_before(segment.xmit_us)) {
                let (now_us, min_us) = (self.now.micros(), self.rtt.min_us());
                self.rack.advance(now_us, min_us, was_retransmitted, segment.end(), segment.xmit_us);
            }
        }
        self.rate.note_delivered(segment, &mut ack.gathered);
    }

    /// `tcp_ack_update_rtt()`: never from a segment sent twice (Karn), but then from the timestamp.
    fn update_rtt(&mut self, cleaned: &Cleaned, ack: &mut Ack) -> bool {
        let now_us = self.now_us();
        let since = |at: Option<u64>| at.map(|at| now_us.saturating_sub(at));
        let is_clean = !ack.has(flag::RETRANS_ACKED);
        let sequence = since(cleaned.first_us).filter(|_| is_clean);
        let mut control = since(cleaned.last_us).filter(|_| is_clean);
        let sacked = since(ack.first_sacked_us);
        control = since(ack.last_sacked_us).or(control);
        let mut smooth = sequence.or(sacked);
        if smooth.is_none() && self.host.timestamps && ack.has(flag::DATA_ACKED) {
            let echoed =
                u64::from(pipefill_link::jiffies::stamp(self.now).saturating_sub(self.ts_echo)) * 1000;
            (smooth, control) = (Some(echoed.max(1000)), Some(echoed.max(1000)));
        }
        ack.gathered.sample.rtt_us = control.map(|sample| u32::try_from(sample).unwrap_or(u32::MAX));
        let Some(sample) = smooth else { return false };
        let for_min = control.unwrap_or(sample);
        if !(ack.has(flag::MAYBE_DELAYED) && for_min > u64::from(self.rtt.min_us())) {
            self.rtt.note_min(for_min);
        }
        self.rtt.sample(sample, self.snd_una, self.snd_nxt);
        self.backoff = 0;
        true
    }

    /// A SACK whose round trip began after the head was last sent: the head's timeout may start anew.
    fn is_sack_of_later_data(&self, ack: &Ack) -> bool {
        let (Some(sacked), Some(head)) = (ack.first_sacked_us, self.board.head()) else { return false };
        sacked < head.xmit_us
    }

    fn tell_acked(&mut self, cleaned: &Cleaned, ack: &Ack) {
        let in_flight = self.conn.delivered.saturating_sub(ack.gathered.sample.prior_delivered);
        let sample = AckSample {
            acked: cleaned.count,
            rtt_us: ack.gathered.sample.rtt_us,
            in_flight: u32::try_from(in_flight).unwrap_or(u32::MAX),
        };
        self.sync();
        self.cc.pkts_acked(&mut self.conn, &sample);
    }

    /// `tcp_cong_control()`.
    fn control(&mut self, delivered: u32, lost: u64, ack: &mut Ack) {
        self.finish_sample(&mut ack.gathered, delivered, lost);
        self.sync();
        if self.cc.owns_cwnd() {
            self.cc.cong_control(&mut self.conn, &ack.gathered.sample);
            if std::mem::take(&mut self.conn.mark_app_limited) {
                self.rate.app_limited = Some((self.conn.delivered + u64::from(self.in_flight())).max(1));
            }
            return;
        }
        if self.is_reducing() {
            self.reduce_cwnd(delivered, lost, ack.has(flag::UNA_ADVANCED));
        } else if self.may_raise_cwnd(ack) {
            // `tcp_cong_avoid()`: whether or not it grew.
            self.cc.cong_avoid(&mut self.conn, delivered);
            self.usage.cwnd_stamp = self.now;
        }
        self.update_pacing_rate();
    }

    /// `tcp_may_raise_cwnd()`.
    fn may_raise_cwnd(&self, ack: &Ack) -> bool {
        let is_reordered = self.reordering > super::sender::REORDERING;
        ack.has(if is_reordered { flag::FORWARD } else { flag::DATA_ACKED })
    }

    /// `tcp_xmit_recovery()`.
    fn resend(&mut self, ack: &Ack) {
        match ack.resend {
            Resend::None => return,
            Resend::New => {
                self.push_pending();
                if self.snd_nxt > self.high_seq {
                    return;
                }
                self.frto = false;
            }
            Resend::Lost => {}
        }
        self.retransmit_queue();
    }
}
