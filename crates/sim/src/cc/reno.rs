//! Reno, and the two growth laws that other algorithms share with it (`net/ipv4/tcp_cong.c`).
//!
//! NewReno (RFC 6582) is Reno with the endpoint's recovery; nothing of recovery is here.

use super::{AckSample, CongestionControl, Connection, Event, RateSample};
use pipefill_core::tcp_info::CaState;

/// `tcp_reno`: one more segment per acknowledged segment in slow start, one more per window in congestion avoidance, half of the
/// window on a loss (RFC 5681, section 3.1).
#[derive(Debug)]
pub(super) struct Reno;

impl CongestionControl for Reno {
    fn name(&self) -> &'static str {
        "reno"
    }

    fn init(&mut self, _connection: &mut Connection) {}

    /// `tcp_reno_ssthresh`.
    fn ssthresh(&mut self, connection: &Connection) -> u32 {
        (connection.cwnd / 2).max(2)
    }

    /// `tcp_reno_cong_avoid`.
    fn cong_avoid(&mut self, connection: &mut Connection, acked: u32) {
        if !connection.is_cwnd_limited {
            return;
        }
        let rest = slow_start(connection, acked);
        if rest > 0 {
            let window = connection.cwnd;
            additive_increase(connection, window, rest);
        }
    }

    fn owns_cwnd(&self) -> bool {
        false
    }

    fn cong_control(&mut self, _connection: &mut Connection, _sample: &RateSample) {}

    fn set_state(&mut self, _connection: &mut Connection, _state: CaState) {}

    fn cwnd_event(&mut self, _connection: &mut Connection, _event: Event) {}

    fn pkts_acked(&mut self, _connection: &mut Connection, _sample: &AckSample) {}

    fn undo_cwnd(&mut self, connection: &Connection) -> u32 {
        undo_cwnd(connection)
    }

    fn min_tso_segs(&self, _connection: &Connection) -> u32 {
        2
    }

    fn sndbuf_expand(&self) -> u32 {
        2
    }
}

/// `tcp_slow_start`: cwnd grows by `acked` up to ssthresh. Returns what is left of `acked` for congestion avoidance: all of it
/// outside of slow start (`tcp_in_slow_start`).
pub(super) fn slow_start(connection: &mut Connection, acked: u32) -> u32 {
    if connection.cwnd >= connection.ssthresh {
        return acked;
    }
    let cwnd = connection.cwnd.saturating_add(acked).min(connection.ssthresh);
    let used = cwnd - connection.cwnd;
    connection.cwnd = cwnd.min(connection.cwnd_clamp);
    acked - used
}

/// `tcp_cong_avoid_ai`: one more segment per `window` acknowledged segments.
pub(super) fn additive_increase(connection: &mut Connection, window: u32, acked: u32) {
    // Credit from a larger window is applied gently: one segment, not many.
    if connection.cwnd_cnt >= window {
        connection.cwnd_cnt = 0;
        connection.cwnd += 1;
    }
    connection.cwnd_cnt += acked;
    if connection.cwnd_cnt >= window {
        let steps = connection.cwnd_cnt / window;
        connection.cwnd_cnt -= steps * window;
        connection.cwnd += steps;
    }
    connection.cwnd = connection.cwnd.min(connection.cwnd_clamp);
}

/// `tcp_reno_undo_cwnd`.
pub(super) fn undo_cwnd(connection: &Connection) -> u32 {
    connection.cwnd.max(connection.prior_cwnd)
}
