//! Both ends as `tcp_info` shows them (`tcp_get_info()`).
//!
//! Never: a field that the simulator does not keep; those are null.

use super::receiver::Receiver;
use super::rtt::Rtt;
use super::sender::Sender;
use crate::cc::INFINITE_SSTHRESH;
use pipefill_core::tcp_info::{CaState, TcpInfo};
use pipefill_core::units::Time;

/// `TCP_ESTABLISHED`.
const ESTABLISHED: u8 = 1;

impl Sender {
    /// The sending end at `now`.
    pub(crate) fn info(&self, now: Time) -> TcpInfo {
        let (board, conn, totals) = (&self.board, &self.conn, &self.totals);
        let bytes = |segments: u32| u64::from(segments) * u64::from(conn.mss);
        let measured = |value: u32| (value > 0).then_some(value);
        let [busy_us, rwnd_limited_us, sndbuf_limited_us] = self.chrono.read(now);
        TcpInfo {
            state: ESTABLISHED,
            ca_state: Some(conn.ca_state),
            mss_bytes: conn.mss,
            cwnd_bytes: Some(bytes(conn.cwnd)),
            ssthresh_bytes: (conn.ssthresh < INFINITE_SSTHRESH).then(|| bytes(conn.ssthresh)),
            in_flight_bytes: Some(bytes(board.in_flight())),
            unacked_bytes: bytes(board.packets_out()),
            sacked_segments: Some(board.sacked_out),
            lost_segments: Some(board.lost_out),
            retrans_segments: Some(board.retrans_out),
            notsent_bytes: Some(narrow(self.queue.write_seq - self.snd_nxt)),
            rwnd_bytes: Some(narrow(self.snd_wnd)),
            local_rwnd_bytes: None,
            srtt_us: measured(self.rtt.srtt_us()),
            rttvar_us: measured(self.rtt.srtt_us()).map(|_| self.rtt.rttvar_us()),
            min_rtt_us: Some(self.rtt.min_us()).filter(|&us| us != u32::MAX),
            rcv_rtt_us: None,
            rcv_space_bytes: None,
            rto_us: Some(narrow(self.rtt.rto_ms * 1000)),
            backoff: Some(self.backoff),
            pacing_rate_bps: Some(conn.pacing_rate).filter(|&r| r != u64::MAX).map(|r| r.saturating_mul(8)),
            delivery_rate_bps: Some(self.rate.delivery_rate(conn.mss) * 8),
            delivery_app_limited: Some(self.rate.is_app_limited()),
            bytes_sent: Some(totals.bytes_sent),
            bytes_retrans: Some(totals.bytes_retrans),
            bytes_acked: Some(self.snd_una - super::limits::FIRST_BYTE),
            bytes_received: Some(0),
            retransmits: totals.retransmits,
            segs_out: Some(totals.segs_out),
            data_segs_out: Some(totals.data_segs_out),
            data_segs_in: Some(0),
            delivered_segments: Some(narrow(conn.delivered)),
            dsack_dups: Some(totals.dsack_dups),
            reord_seen: Some(totals.reord_seen),
            rcv_ooo_segments: Some(0),
            rto_count: Some(totals.rto_count),
            last_data_sent_us: None,
            last_data_recv_us: None,
            busy_us: Some(busy_us),
            rwnd_limited_us: Some(rwnd_limited_us),
            sndbuf_limited_us: Some(sndbuf_limited_us),
        }
    }
}

impl Receiver {
    /// The receiving end, whose sending half knows the round trip `rtt`.
    pub(crate) fn info(&self, rtt: &Rtt) -> TcpInfo {
        let rtt = Some(rtt.srtt_us()).filter(|&us| us > 0);
        TcpInfo {
            state: ESTABLISHED,
            ca_state: Some(CaState::Open),
            mss_bytes: self.mss,
            cwnd_bytes: Some(u64::from(super::limits::INIT_CWND) * u64::from(self.mss)),
            local_rwnd_bytes: Some(narrow(self.rcv_wnd)),
            srtt_us: rtt,
            min_rtt_us: rtt,
            rcv_rtt_us: Some(narrow(self.tuning.rtt_us())).filter(|&us| us > 0),
            rcv_space_bytes: Some(narrow(self.tuning.space)),
            bytes_received: Some(self.rcv_nxt - super::limits::FIRST_BYTE),
            segs_out: Some(self.segs_out),
            data_segs_in: Some(self.data_segs_in),
            rcv_ooo_segments: Some(self.rcv_ooo),
            ..TcpInfo::default()
        }
    }
}

fn narrow(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
