//! One sample of a sender, by its socket or by its packets: the quantities that an epoch adds up. What a source does not show is absent.

use super::packets::{CutSpan, StreamPackets};
use crate::ground::models::window::{rwnd_used, window_used};
use pipefill_core::evidence::SentPackets;
use pipefill_core::record::{PacketSample, TcpSample};
use pipefill_core::tcp_info::{CaState, TcpInfo};

/// See the module.
#[derive(Debug, Clone, Default)]
pub(super) struct SenderSample {
    pub(super) t_us: u64,
    pub(super) mss: u64,
    /// Payload acknowledged so far.
    pub(super) acked: Option<u64>,
    /// Segments delivered so far (`tcpi_delivered`), which counts what SACKs show too; of packets those that are selectively acknowledged now.
    pub(super) delivered: Option<u32>,
    pub(super) unacked: u64,
    /// Whether that is full segments, but for the last one; true where it is not counted.
    pub(super) has_full_segments_out: bool,
    /// In the network, bytes.
    pub(super) in_flight: u64,
    /// Payload segments of the other side so far.
    pub(super) heard: Option<u64>,
    pub(super) srtt_us: Option<u64>,
    /// By how much single ones differ from it in the mean.
    pub(super) rttvar_us: Option<u64>,
    pub(super) min_rtt_us: Option<u64>,
    /// How much longer its last ACK was under way than the fastest one.
    pub(super) ack_delay_us: Option<u64>,
    /// Whether written data was never sent.
    pub(super) has_unsent: Option<bool>,
    /// Whether the sender is in Recovery or Loss.
    pub(super) is_repairing: bool,
    pub(super) is_app_limited: bool,
    /// The window that was advertised.
    pub(super) window: Option<u64>,
    /// Share of it that is out, and its size.
    pub(super) rwnd: Option<(f64, u64)>,
    /// The largest one by then, once the samples before are known.
    pub(super) rwnd_widest: Option<u64>,
    /// The same of the congestion window.
    pub(super) cwnd: Option<(f64, u64)>,
    /// Of the send buffer: share, memory and limit.
    pub(super) sndbuf: Option<(f64, u64, u64)>,
    /// The kernel's clocks so far: with data outstanding, and of that waiting for room in the send buffer, or in the receiver's window.
    pub(super) busy_us: Option<u64>,
    pub(super) sndbuf_limited_us: Option<u64>,
    pub(super) rwnd_limited_us: Option<u64>,
    pub(super) has_ssthresh: bool,
    pub(super) rto_us: Option<u64>,
    pub(super) backoff: Option<u8>,
    /// Since payload was last sent; a socket shows that.
    pub(super) sent_age_us: Option<u64>,
    /// Whether data is outstanding; of packets whether new data passed.
    pub(super) is_sending: bool,
    /// Whether data is outstanding and no new data passed; packets alone show that of an interval.
    pub(super) is_resting: bool,
    /// Segments so far whose ACK told of a CE mark.
    pub(super) ce_segments: u32,
    pub(super) retransmits: u32,
    pub(super) timeouts: u32,
    pub(super) spurious: Option<u32>,
    pub(super) has_seen_reordering: bool,
    pub(super) pacing_rate_bps: Option<u64>,
    pub(super) packets: Option<SentPackets>,
}

impl SenderSample {
    pub(super) fn of_socket(row: &TcpSample) -> Self {
        let info = &row.info;
        let window = info.rwnd_bytes.map(u64::from);
        let in_flight = info.in_flight_bytes.zip(info.cwnd_bytes);
        let queued = row.wmem_queued_bytes.zip(row.sndbuf_bytes);
        Self {
            t_us: row.t_us,
            mss: u64::from(info.mss_bytes),
            acked: info.bytes_acked,
            delivered: info.delivered_segments,
            unacked: info.unacked_bytes,
            has_full_segments_out: has_full_segments_out(info),
            in_flight: info.in_flight_bytes.unwrap_or(info.unacked_bytes),
            heard: info.data_segs_in.map(u64::from),
            srtt_us: info.srtt_us.map(u64::from),
            rttvar_us: info.rttvar_us.map(u64::from),
            min_rtt_us: info.min_rtt_us.map(u64::from),
            ack_delay_us: None,
            has_unsent: Some(info.may_have_unsent() && !is_held_tail(info)),
            is_repairing: info.ca_state.is_some_and(|state| state >= CaState::Recovery),
            is_app_limited: info.delivery_app_limited == Some(true),
            window,
            rwnd: rwnd_used(info).zip(window),
            rwnd_widest: None,
            cwnd: in_flight.map(|(in_flight, cwnd)| (ratio(in_flight, cwnd), cwnd)),
            sndbuf: queued.map(|(queued, limit)| (ratio(queued, limit), queued, limit)),
            busy_us: info.busy_us,
            sndbuf_limited_us: info.sndbuf_limited_us,
            rwnd_limited_us: info.rwnd_limited_us,
            has_ssthresh: info.ssthresh_bytes.is_some(),
            rto_us: info.rto_us.map(u64::from),
            backoff: info.backoff,
            sent_age_us: info.last_data_sent_us,
            is_sending: info.unacked_bytes > 0,
            is_resting: false,
            ce_segments: info.delivered_ce_segments.unwrap_or(0),
            retransmits: info.retransmits,
            timeouts: info.rto_count.unwrap_or(0).into(),
            spurious: info.dsack_dups,
            has_seen_reordering: info.reord_seen.is_some_and(|times| times > 0),
            pacing_rate_bps: info.pacing_rate_bps,
            packets: None,
        }
    }

    /// All samples of a stream's packets.
    pub(super) fn of_packets(packets: &StreamPackets<'_>) -> impl Iterator<Item = Self> {
        let samples = packets.in_spans().zip(packets.sent());
        samples.map(|((span, sample), (sent, has_left_slow_start))| Self {
            has_ssthresh: sample.retransmits > 0 || has_left_slow_start,
            packets: Some(sent),
            ..Self::of_packet_sample(span, sample)
        })
    }

    /// What a sample of packets shows without the others of its stream.
    pub(super) fn of_packet_sample(span: &CutSpan, sample: &PacketSample) -> Self {
        let (unacked, window) = span.window_at(sample);
        let mss = u64::from(sample.mss_bytes);
        Self {
            t_us: sample.t_us,
            mss,
            acked: Some(sample.acked_bytes),
            delivered: Some(sample.sacked_segments),
            unacked,
            has_full_segments_out: true,
            in_flight: unacked,
            heard: sample.peer_segments.map(u64::from),
            srtt_us: sample.srtt_us.map(u64::from),
            min_rtt_us: sample.min_rtt_us.map(u64::from),
            ack_delay_us: sample.ack_delay_us.map(u64::from),
            is_repairing: sample.ca_state.is_some_and(|state| state >= CaState::Recovery),
            window,
            rwnd: window.map(|window| (window_used(window, unacked, mss), window)),
            rto_us: sample.rto_us.map(u64::from),
            is_sending: sample.new_bytes() > 0,
            is_resting: sample.new_bytes() == 0 && sample.unacked_bytes > 0,
            ce_segments: sample.ece_acks,
            retransmits: sample.retransmits,
            timeouts: sample.timeouts,
            spurious: Some(sample.known_spurious()),
            has_seen_reordering: sample.has_seen_reordering(),
            ..Self::default()
        }
    }
}

/// Whether less than a segment waits, with room for it in both windows: it waits for the ACK of what is out (`tcp_nagle_test()`), or for its writer.
fn is_held_tail(info: &TcpInfo) -> bool {
    let (mss, waits) = (u64::from(info.mss_bytes), info.notsent_bytes.map_or(u64::MAX, u64::from));
    let has_room =
        |out: u64, window: Option<u64>| window.is_some_and(|window| out.saturating_add(2 * mss) <= window);
    waits < mss
        && info.unacked_bytes > 0
        && has_room(info.in_flight_bytes.unwrap_or(info.unacked_bytes), info.cwnd_bytes)
        && has_room(info.unacked_bytes, info.rwnd_bytes.map(u64::from))
}

/// The kernel counts what is outstanding in segments, and sent and acknowledged payload in bytes; of a client's also the SYN that is acknowledged.
fn has_full_segments_out(info: &TcpInfo) -> bool {
    let Some((sent, acked)) = info.bytes_sent.zip(info.bytes_acked) else { return true };
    let unacked = 1 + sent.saturating_sub(info.bytes_retrans.unwrap_or(0)).saturating_sub(acked);
    let mss = u64::from(info.mss_bytes);
    unacked >= mss && unacked + mss > info.unacked_bytes
}

/// Of nothing, one byte is all there is.
pub(super) fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::synthetic::of_sender;

    /// 40 segments are out.
    #[test]
    fn less_than_a_segment_with_room_in_both_windows_waits_for_no_window() {
        let waits = |notsent: u32, cwnd: u64, rwnd: u32| {
            let info = TcpInfo {
                mss_bytes: 1_000,
                unacked_bytes: 40_000,
                notsent_bytes: Some(notsent),
                cwnd_bytes: Some(cwnd),
                rwnd_bytes: Some(rwnd),
                ..TcpInfo::default()
            };
            SenderSample::of_socket(&of_sender(0, info)).has_unsent
        };
        assert_eq!([waits(0, 90_000, 90_000), waits(999, 42_000, 42_000)], [Some(false); 2]);
        assert_eq!(waits(1_000, 90_000, 90_000), Some(true), "a whole one");
        assert_eq!(
            [waits(999, 41_999, 42_000), waits(999, 42_000, 41_999)],
            [Some(true); 2],
            "a window is used up"
        );
    }
}
