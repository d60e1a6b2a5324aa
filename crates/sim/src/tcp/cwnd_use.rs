//! Whether cwnd was used: it grows only then, and what stood unused for long is given up (RFC 2861).

use super::limits::INIT_CWND;
use super::sender::Sender;
use crate::cc::Event;
use pipefill_core::tcp_info::CaState;
use std::time::Duration;

impl Sender {
    /// `tcp_cwnd_validate()` (RFC 2861): cwnd grows only while it is used.
    pub(super) fn validate_cwnd(&mut self, is_cwnd_limited: bool) {
        let out = self.board.packets_out();
        let usage = &mut self.usage;
        if self.snd_una >= usage.cwnd_usage_seq
            || is_cwnd_limited
            || (!usage.is_cwnd_limited && out > usage.max_packets_out)
        {
            usage.is_cwnd_limited = is_cwnd_limited;
            usage.max_packets_out = out;
            usage.cwnd_usage_seq = self.snd_nxt;
        }
        if self.is_cwnd_limited() {
            (self.usage.cwnd_used, self.usage.cwnd_stamp) = (0, self.now);
            return;
        }
        self.usage.cwnd_used = self.usage.cwnd_used.max(out);
        let unused = self.now.since(self.usage.cwnd_stamp);
        let is_stale = unused >= Duration::from_millis(self.rtt.rto_ms);
        if self.host.slow_start_after_idle && is_stale && !self.cc.owns_cwnd() {
            self.shrink_unused_cwnd();
        }
        if self.queue.write_seq == self.snd_nxt && self.queue.is_full {
            self.chrono.start_sndbuf(self.now);
        }
    }

    /// `tcp_cwnd_application_limited()`.
    fn shrink_unused_cwnd(&mut self) {
        if self.conn.ca_state == CaState::Open && !self.queue.is_full {
            let used = self.usage.cwnd_used.max(INIT_CWND);
            if used < self.conn.cwnd {
                self.conn.ssthresh = self.current_ssthresh();
                self.conn.cwnd = u32::midpoint(self.conn.cwnd, used);
            }
            self.usage.cwnd_used = 0;
        }
        self.usage.cwnd_stamp = self.now;
    }

    /// `tcp_slow_start_after_idle_check()`, `tcp_cwnd_restart()` (RFC 2861).
    pub(crate) fn restart_after_idle(&mut self) {
        let idle_ms = u64::try_from(self.now.since(self.last_sent).as_millis()).unwrap_or(u64::MAX);
        let is_idle = self.board.is_empty() && idle_ms > self.rtt.rto_ms;
        if !is_idle || !self.host.slow_start_after_idle || self.cc.owns_cwnd() {
            return;
        }
        self.event(Event::CwndRestart);
        self.conn.ssthresh = self.current_ssthresh();
        let floor = INIT_CWND.min(self.conn.cwnd);
        let mut left = idle_ms.saturating_sub(self.rtt.rto_ms);
        while left > 0 && self.conn.cwnd > floor {
            self.conn.cwnd >>= 1;
            left = left.saturating_sub(self.rtt.rto_ms);
        }
        self.conn.cwnd = self.conn.cwnd.max(floor);
        (self.usage.cwnd_stamp, self.usage.cwnd_used) = (self.now, 0);
        self.last_sent = self.now;
    }
}
