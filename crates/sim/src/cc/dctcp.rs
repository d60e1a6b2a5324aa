//! DCTCP (RFC 8257; `net/ipv4/tcp_dctcp.c`): the window is reduced by the share of the segments that were marked.

use super::reno::Reno;
use super::{AckSample, CongestionControl, Connection, Event, RateSample};
use pipefill_core::tcp_info::CaState;

/// `DCTCP_MAX_ALPHA`: all segments are marked.
const MAX_ALPHA: u32 = 1024;
/// `dctcp_shift_g`: g = 1/16 (RFC 8257, section 3.3).
const SHIFT_G: u32 = 4;

/// What the sending half knows (`struct dctcp`). The receiving half's state is the endpoint's.
#[derive(Debug)]
pub(super) struct Dctcp {
    /// Share of marked segments, in 1024ths.
    alpha: u32,
    /// The end of what was out when the round trip began.
    next_seq: u64,
    old_delivered: u64,
    old_delivered_ce: u32,
    loss_cwnd: u32,
    /// Without ECN it is Reno (`dctcp_reno`).
    is_reno: bool,
}

impl Default for Dctcp {
    fn default() -> Self {
        Self {
            alpha: MAX_ALPHA,
            next_seq: 0,
            old_delivered: 0,
            old_delivered_ce: 0,
            loss_cwnd: 0,
            is_reno: false,
        }
    }
}

impl Dctcp {
    /// `dctcp_reset()`.
    fn begin_round(&mut self, connection: &Connection) {
        self.next_seq = connection.snd_nxt;
        self.old_delivered = connection.delivered;
        self.old_delivered_ce = connection.delivered_ce;
    }

    /// `dctcp_react_to_loss()`: half of the window, as Reno (RFC 8257, section 3.5).
    fn react_to_loss(&mut self, connection: &mut Connection) {
        self.loss_cwnd = connection.cwnd;
        connection.ssthresh = (connection.cwnd / 2).max(2);
    }
}

impl CongestionControl for Dctcp {
    fn name(&self) -> &'static str {
        "dctcp"
    }

    fn needs_ecn(&self) -> bool {
        true
    }

    /// `dctcp_init()`.
    fn init(&mut self, connection: &mut Connection) {
        self.is_reno = !connection.has_ecn;
        self.begin_round(connection);
    }

    /// `dctcp_update_alpha()`: once a round trip, alpha = (1 - g) alpha + g F (RFC 8257, section 3.3).
    fn in_ack_event(&mut self, connection: &Connection) {
        if connection.snd_una < self.next_seq {
            return;
        }
        // `min_not_zero(alpha, alpha >> g)`: the last steps are those of 1.
        let decay = if self.alpha >> SHIFT_G == 0 { self.alpha } else { self.alpha >> SHIFT_G };
        self.alpha -= decay;
        let marked = connection.delivered_ce.wrapping_sub(self.old_delivered_ce);
        if marked > 0 {
            let delivered = (connection.delivered - self.old_delivered).max(1);
            let share = (u64::from(marked) << (10 - SHIFT_G)) / delivered;
            self.alpha = self.alpha.saturating_add(u32::try_from(share).unwrap_or(MAX_ALPHA)).min(MAX_ALPHA);
        }
        self.begin_round(connection);
    }

    /// `dctcp_ssthresh()`: cwnd × (1 - alpha / 2) (RFC 8257, section 3.3).
    fn ssthresh(&mut self, connection: &Connection) -> u32 {
        if self.is_reno {
            return Reno.ssthresh(connection);
        }
        self.loss_cwnd = connection.cwnd;
        let cut = (u64::from(connection.cwnd) * u64::from(self.alpha)) >> 11;
        (connection.cwnd - u32::try_from(cut).unwrap_or(connection.cwnd)).max(2)
    }

    fn cong_avoid(&mut self, connection: &mut Connection, acked: u32) {
        Reno.cong_avoid(connection, acked);
    }

    fn owns_cwnd(&self) -> bool {
        false
    }

    fn cong_control(&mut self, _connection: &mut Connection, _sample: &RateSample) {}

    /// `dctcp_state()`.
    fn set_state(&mut self, connection: &mut Connection, state: CaState) {
        if !self.is_reno && state == CaState::Recovery && connection.ca_state != CaState::Recovery {
            self.react_to_loss(connection);
        }
    }

    /// `dctcp_cwnd_event()`.
    fn cwnd_event(&mut self, connection: &mut Connection, event: Event) {
        if !self.is_reno && event == Event::Loss {
            self.react_to_loss(connection);
        }
    }

    fn pkts_acked(&mut self, _connection: &mut Connection, _sample: &AckSample) {}

    /// `dctcp_cwnd_undo()`.
    fn undo_cwnd(&mut self, connection: &Connection) -> u32 {
        if self.is_reno { Reno.undo_cwnd(connection) } else { connection.cwnd.max(self.loss_cwnd) }
    }

    fn min_tso_segs(&self, _connection: &Connection) -> u32 {
        2
    }

    fn sndbuf_expand(&self) -> u32 {
        2
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::connection;
    use super::*;

    /// A round trip of 100 segments, of which `marked` were marked.
    fn round(dctcp: &mut Dctcp, connection: &mut Connection, marked: u32) {
        connection.delivered += 100;
        connection.delivered_ce += marked;
        connection.snd_una = connection.snd_nxt;
        connection.snd_nxt += 100 * 1448;
        dctcp.in_ack_event(connection);
    }

    #[test]
    fn alpha_follows_the_share_of_marks_and_the_cut_is_half_of_it() {
        let mut connection = Connection { has_ecn: true, cwnd: 100, ..connection() };
        let mut dctcp = Dctcp::default();
        dctcp.init(&mut connection);
        assert_eq!(dctcp.ssthresh(&connection), 50, "all is taken for marked first");
        for _ in 0..200 {
            round(&mut dctcp, &mut connection, 10);
        }
        // About a tenth of 1024: a step down is rounded down.
        assert!((95..=115).contains(&dctcp.alpha), "{}", dctcp.alpha);
        assert_eq!(dctcp.ssthresh(&connection), 95, "half of a tenth");
        for _ in 0..200 {
            round(&mut dctcp, &mut connection, 0);
        }
        assert_eq!((dctcp.alpha, dctcp.ssthresh(&connection)), (0, 100));
    }

    #[test]
    fn a_loss_halves_and_without_ecn_it_is_reno() {
        let mut connection = Connection { has_ecn: true, cwnd: 100, ..connection() };
        let mut dctcp = Dctcp::default();
        dctcp.init(&mut connection);
        dctcp.alpha = 0;
        dctcp.set_state(&mut connection, CaState::Recovery);
        assert_eq!(connection.ssthresh, 50);
        let mut alone = Connection { has_ecn: false, ssthresh: 77, ..connection };
        dctcp.init(&mut alone);
        dctcp.set_state(&mut alone, CaState::Recovery);
        assert_eq!((alone.ssthresh, dctcp.ssthresh(&alone)), (77, 50));
    }
}
