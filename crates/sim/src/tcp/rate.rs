//! Delivery rate samples (`net/ipv4/tcp_rate.c`; draft-cheng-iccrg-delivery-rate-estimation).

use super::scoreboard::{Sent, mark};
use super::sender::Sender;
use crate::cc::RateSample;
use pipefill_core::units::Time;

/// The connection's part.
#[derive(Debug, Default)]
pub(crate) struct Rate {
    /// `first_tx_mstamp`.
    pub(crate) first_tx_us: u64,
    /// `delivered_mstamp`.
    pub(crate) delivered_us: u64,
    /// `app_limited`: until `delivered` passes this, samples are limited by the application.
    pub(crate) app_limited: Option<u64>,
    /// `rate_delivered` and `rate_interval_us`.
    delivered: u64,
    interval_us: u64,
    sample_is_app_limited: bool,
}

/// The sample that an ACK gathers.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub(crate) sample: RateSample,
    /// `prior_mstamp`; `None` = nothing delivered yet.
    prior_us: Option<u64>,
    last_end: u64,
}

impl Rate {
    /// `tcp_compute_delivery_rate()`, bytes per second.
    pub(crate) fn delivery_rate(&self, mss: u32) -> u64 {
        (self.delivered * u64::from(mss) * 1_000_000).checked_div(self.interval_us).unwrap_or(0)
    }

    pub(crate) fn is_app_limited(&self) -> bool {
        self.sample_is_app_limited
    }

    /// `tcp_rate_skb_delivered()`.
    pub(crate) fn note_delivered(&mut self, segment: &Sent, gathered: &mut Gathered) {
        if segment.has(mark::SPENT) {
            return;
        }
        let is_newer = segment.xmit_us > self.first_tx_us
            || (segment.xmit_us == self.first_tx_us && segment.end() > gathered.last_end);
        if gathered.prior_us.is_none() || is_newer {
            gathered.sample.prior_delivered = segment.delivered;
            gathered.prior_us = Some(segment.delivered_us);
            gathered.sample.is_app_limited = segment.has(mark::APP_LIMITED);
            gathered.sample.is_retrans = segment.has(mark::RETRANS);
            gathered.last_end = segment.end();
            self.first_tx_us = segment.xmit_us;
            gathered.sample.interval_us = segment.xmit_us.saturating_sub(segment.first_tx_us);
        }
    }
}

impl Sender {
    /// `tcp_rate_skb_sent()`: the stamps of a segment that leaves now.
    pub(crate) fn stamp(&mut self, segment: &mut Sent) {
        let now_us = segment.xmit_us;
        if self.board.is_empty() {
            self.rate.first_tx_us = now_us;
            self.rate.delivered_us = now_us;
            self.conn.delivered_time = Time::from_nanos(now_us * 1000);
        }
        segment.first_tx_us = self.rate.first_tx_us;
        segment.delivered_us = self.rate.delivered_us;
        segment.delivered = self.conn.delivered;
        segment.marks &= !(mark::SPENT | mark::APP_LIMITED);
        if self.rate.app_limited.is_some() {
            segment.marks |= mark::APP_LIMITED;
        }
    }

    /// `tcp_rate_gen()`.
    pub(crate) fn finish_sample(&mut self, gathered: &mut Gathered, delivered: u32, lost: u64) {
        let now_us = self.now_us();
        if self.rate.app_limited.is_some_and(|until| self.conn.delivered > until) {
            self.rate.app_limited = None;
        }
        if delivered > 0 {
            self.rate.delivered_us = now_us;
            self.conn.delivered_time = self.now;
        }
        let sample = &mut gathered.sample;
        sample.acked_sacked = delivered;
        sample.losses = u32::try_from(lost).unwrap_or(u32::MAX);
        sample.delivered = None;
        if let Some(prior_us) = gathered.prior_us {
            sample.interval_us = sample.interval_us.max(now_us.saturating_sub(prior_us));
            if sample.interval_us >= u64::from(self.rtt.min_us()) {
                let count = self.conn.delivered - sample.prior_delivered;
                sample.delivered = Some(count);
                self.keep_rate(count, sample.interval_us, sample.is_app_limited);
            }
        }
    }

    fn keep_rate(&mut self, delivered: u64, interval_us: u64, is_app_limited: bool) {
        let rate = &mut self.rate;
        if !is_app_limited || delivered * rate.interval_us >= rate.delivered * interval_us {
            (rate.delivered, rate.interval_us) = (delivered, interval_us);
            rate.sample_is_app_limited = is_app_limited;
        }
    }

    /// `tcp_rate_check_app_limited()`.
    pub(crate) fn check_app_limited(&mut self) {
        if self.queue.write_seq - self.snd_nxt < u64::from(self.conn.mss)
            && self.in_flight() < self.conn.cwnd
            && self.board.lost_out <= self.board.retrans_out
        {
            self.rate.app_limited = Some((self.conn.delivered + u64::from(self.in_flight())).max(1));
        }
    }
}
