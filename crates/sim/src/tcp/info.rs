//! An end as `tcp_info` shows it (`tcp_get_info()`): what its socket has sent and what it has received.

use super::endpoint::Endpoint;
use super::limits::FIRST_BYTE;
use crate::cc::INFINITE_SSTHRESH;
use pipefill_core::tcp_info::TcpInfo;
use pipefill_core::units::Time;
use pipefill_link::jiffies;

/// `TCP_ESTABLISHED`.
const ESTABLISHED: u8 = 1;

impl Endpoint {
    /// The end at `now`.
    pub(crate) fn info(&self, now: Time) -> TcpInfo {
        let (sender, receiver) = (&self.sender, &self.receiver);
        let (board, conn, totals) = (&sender.board, &sender.conn, &sender.totals);
        let bytes = |segments: u32| u64::from(segments) * u64::from(conn.mss);
        let measured = |value: u32| (value > 0).then_some(value);
        let age_us = |then: Time| Some(u64::from(jiffies::stamp(now) - jiffies::stamp(then)) * 1000);
        let [busy_us, rwnd_limited_us, sndbuf_limited_us] = sender.chrono.read(now);
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
            notsent_bytes: Some(narrow(sender.queue.write_seq - sender.snd_nxt)),
            rwnd_bytes: Some(narrow(sender.snd_wnd)),
            local_rwnd_bytes: Some(narrow(receiver.rcv_wnd)),
            srtt_us: measured(sender.rtt.srtt_us()),
            rttvar_us: measured(sender.rtt.srtt_us()).map(|_| sender.rtt.rttvar_us()),
            min_rtt_us: Some(sender.rtt.min_us()).filter(|&us| us != u32::MAX),
            rcv_rtt_us: measured(narrow(receiver.tuning.rtt_us())),
            rcv_space_bytes: Some(narrow(receiver.tuning.space)),
            rto_us: Some(narrow(sender.rtt.rto_ms * 1000)),
            backoff: Some(sender.backoff),
            pacing_rate_bps: Some(conn.pacing_rate).filter(|&r| r != u64::MAX).map(|r| r.saturating_mul(8)),
            max_pacing_rate_bps: (conn.max_pacing_rate != u64::MAX)
                .then(|| Some(conn.max_pacing_rate.saturating_mul(8))),
            delivery_rate_bps: Some(sender.rate.delivery_rate(conn.mss) * 8),
            delivery_app_limited: Some(sender.rate.is_app_limited()),
            bytes_sent: Some(totals.bytes_sent),
            bytes_retrans: Some(totals.bytes_retrans),
            bytes_acked: Some(sender.snd_una - FIRST_BYTE),
            bytes_received: Some(receiver.rcv_nxt - FIRST_BYTE),
            retransmits: totals.retransmits,
            segs_out: Some(totals.segs_out.wrapping_add(receiver.segs_out)),
            data_segs_out: Some(totals.data_segs_out),
            data_segs_in: Some(receiver.data_segs_in),
            delivered_segments: Some(narrow(conn.delivered)),
            ecn_negotiated: sender.ecn.is_on.then_some(true),
            ecn_seen: sender.ecn.is_on.then_some(receiver.ecn.is_seen),
            delivered_ce_segments: sender.ecn.is_on.then_some(sender.ecn.delivered_ce),
            received_ce_segments: sender.ecn.is_on.then_some(receiver.ecn.received_ce),
            dsack_dups: Some(totals.dsack_dups),
            reord_seen: Some(totals.reord_seen),
            rcv_ooo_segments: Some(receiver.rcv_ooo),
            rto_count: Some(totals.rto_count),
            last_data_sent_us: age_us(sender.last_sent),
            last_data_recv_us: age_us(receiver.ack_policy.last_data),
            busy_us: Some(busy_us),
            rwnd_limited_us: Some(rwnd_limited_us),
            sndbuf_limited_us: Some(sndbuf_limited_us),
            // What both ends agreed on: [`crate::stream::TcpStream::info`].
            window_scaling: None,
            rwnd_scale: None,
            local_rwnd_scale: None,
        }
    }
}

fn narrow(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
