//! The kernel's `tcp_info`, decoded in one place, because that is where the traps live.
//!
//! Layout: `include/uapi/linux/tcp.h`, `struct tcp_info`, filled by `tcp_get_info()` in `net/ipv4/tcp.c`. The struct only ever
//! grows at its end; a kernel that returns less leaves the later fields `None`. Never: a unit the kernel's documentation
//! does not state, or a 0 for something that was not measured.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// `tcpi_ca_state`: the congestion state machine (`enum tcp_ca_state`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CaState {
    /// Nothing is wrong; cwnd may grow.
    Open,
    /// Duplicate ACKs or SACKs were seen; not yet taken for loss.
    Disorder,
    /// cwnd is being reduced after ECN or local congestion.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

impl CaState {
    /// From `tcpi_ca_state`; `None` for a number that this code does not know.
    #[inline]
    pub const fn from_kernel(value: u8) -> Option<Self> {
        match value {
            0 => Some(Self::Open),
            1 => Some(Self::Disorder),
            2 => Some(Self::Cwr),
            3 => Some(Self::Recovery),
            4 => Some(Self::Loss),
            _ => None,
        }
    }

    /// The word of the JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Disorder => "disorder",
            Self::Cwr => "cwr",
            Self::Recovery => "recovery",
            Self::Loss => "loss",
        }
    }
}

/// `tcp_info` in this project's words: bytes, microseconds, bits per second. `None` is what the source of a sample does not report: an older
/// kernel, the simulator, a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize, Default)]
pub struct TcpInfo {
    /// `tcpi_state`: 1 = ESTABLISHED (`include/net/tcp_states.h`).
    pub state: u8,
    /// `tcpi_ca_state`.
    pub ca_state: Option<CaState>,
    /// `tcpi_snd_mss`, payload bytes of a full segment.
    pub mss_bytes: u32,
    /// `tcpi_snd_cwnd` (segments) × mss.
    pub cwnd_bytes: Option<u64>,
    /// `tcpi_snd_ssthresh` (segments) × mss; null while it is infinite.
    pub ssthresh_bytes: Option<u64>,
    /// `tcp_packets_in_flight()`: unacked − sacked − lost + retrans (segments) × mss.
    pub in_flight_bytes: Option<u64>,
    /// `tcpi_unacked` (segments) × mss: `snd_nxt − snd_una`, what the receive window has to cover.
    pub unacked_bytes: u64,
    /// `tcpi_sacked`, segments.
    pub sacked_segments: Option<u32>,
    /// `tcpi_lost`, segments.
    pub lost_segments: Option<u32>,
    /// `tcpi_retrans`, segments retransmitted and not yet acknowledged.
    pub retrans_segments: Option<u32>,
    /// `tcpi_notsent_bytes`: in the send queue, never sent.
    pub notsent_bytes: Option<u32>,
    /// `tcpi_snd_wnd`: the window that the peer advertised, in bytes, scaled.
    pub rwnd_bytes: Option<u32>,
    /// `tcpi_rcv_wnd`: the window that this end advertised, no larger than the 16 bits of the header hold with its scale: the kernel
    /// keeps a larger figure where windows are not scaled (`tcp_select_window()`).
    pub local_rwnd_bytes: Option<u32>,
    /// `TCPI_OPT_WSCALE`: whether windows are scaled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_scaling: Option<bool>,
    /// `tcpi_snd_wscale`: shift of the window that the peer advertises. Null where windows are not scaled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rwnd_scale: Option<u8>,
    /// `tcpi_rcv_wscale`: shift of the window that this end advertises.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_rwnd_scale: Option<u8>,
    /// `tcpi_rtt`: smoothed RTT (already shifted by the kernel). Null before the first sample.
    pub srtt_us: Option<u32>,
    /// `tcpi_rttvar`.
    pub rttvar_us: Option<u32>,
    /// `tcpi_min_rtt`: the minimum of the kernel's 300-second window. Null before the first sample.
    pub min_rtt_us: Option<u32>,
    /// `tcpi_rcv_rtt`: the receiver's own estimate, by `tcp_rcv_rtt_measure*`. Null where it has none.
    pub rcv_rtt_us: Option<u32>,
    /// `tcpi_rcv_space`: bytes copied to the application in the last RTT (`rcvq_space.space`).
    pub rcv_space_bytes: Option<u32>,
    /// `tcpi_rto`.
    pub rto_us: Option<u32>,
    /// `tcpi_backoff`: RTO doublings in force.
    pub backoff: Option<u8>,
    /// `tcpi_pacing_rate` (bytes/s) × 8; null where unlimited.
    pub pacing_rate_bps: Option<u64>,
    /// `tcpi_max_pacing_rate` (bytes/s) × 8: what a program set with `SO_MAX_PACING_RATE`; null where it set nothing, absent where the
    /// source does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "reported")]
    pub max_pacing_rate_bps: Option<Option<u64>>,
    /// `tcpi_delivery_rate` (bytes/s) × 8.
    pub delivery_rate_bps: Option<u64>,
    /// `tcpi_delivery_rate_app_limited`.
    pub delivery_app_limited: Option<bool>,
    /// `tcpi_bytes_sent`: payload, retransmissions included.
    pub bytes_sent: Option<u64>,
    /// `tcpi_bytes_retrans`.
    pub bytes_retrans: Option<u64>,
    /// `tcpi_bytes_acked` (RFC 4898 `tcpEStatsAppHCThruOctetsAcked`).
    pub bytes_acked: Option<u64>,
    /// `tcpi_bytes_received` (RFC 4898 `tcpEStatsAppHCThruOctetsReceived`).
    pub bytes_received: Option<u64>,
    /// `tcpi_total_retrans`: segments retransmitted over the connection's life.
    pub retransmits: u32,
    /// `tcpi_segs_out`.
    pub segs_out: Option<u32>,
    /// `tcpi_data_segs_out`.
    pub data_segs_out: Option<u32>,
    /// `tcpi_data_segs_in`.
    pub data_segs_in: Option<u32>,
    /// `tcpi_delivered`: segments delivered, SACKed ones included.
    pub delivered_segments: Option<u32>,
    /// `TCPI_OPT_ECN` of `tcpi_options`: both ends agreed on ECN in the handshake (RFC 3168 section 6.1.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecn_negotiated: Option<bool>,
    /// `TCPI_OPT_ECN_SEEN`: a packet with an ECT or CE codepoint came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecn_seen: Option<bool>,
    /// `tcpi_delivered_ce`: of the delivered segments those whose ACK had ECE (`tcp_count_delivered()`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered_ce_segments: Option<u32>,
    /// `tcpi_received_ce`: segments that came with CE, since Linux 6.18 (`tcp_ecn_received_counters()`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received_ce_segments: Option<u32>,
    /// `tcpi_dsack_dups`.
    pub dsack_dups: Option<u32>,
    /// `tcpi_reord_seen`.
    pub reord_seen: Option<u32>,
    /// `tcpi_rcv_ooopack`: out-of-order segments received.
    pub rcv_ooo_segments: Option<u32>,
    /// `tcpi_total_rto`.
    pub rto_count: Option<u16>,
    /// `tcpi_last_data_sent` (ms): age of the last payload that this end sent. Linux counts it in jiffies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_data_sent_us: Option<u64>,
    /// `tcpi_last_data_recv` (ms): age of the last payload that came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_data_recv_us: Option<u64>,
    /// `tcpi_busy_time`: time with data outstanding (moves in jiffies).
    pub busy_us: Option<u64>,
    /// `tcpi_rwnd_limited`: the kernel's own clock; a witness, not the truth.
    pub rwnd_limited_us: Option<u64>,
    /// `tcpi_sndbuf_limited`: the kernel's own clock; known to miss send-buffer limits.
    pub sndbuf_limited_us: Option<u64>,
}

impl TcpInfo {
    /// Of the bytes that were sent, those that are not out: acknowledged, or sent again.
    fn no_longer_out(&self) -> Option<u64> {
        let over = self.bytes_acked?.saturating_add(self.bytes_retrans.unwrap_or(0));
        // `tcp_ack()` counts the SYN of the end that opens as a byte.
        self.bytes_sent.map(|sent| sent.min(over))
    }

    /// Whether written data waits that was never sent. Where the source does not tell, it may.
    pub fn may_have_unsent(&self) -> bool {
        self.notsent_bytes.is_none_or(|bytes| bytes > 0)
    }

    /// The same with counters that begin at `first`, an earlier sample of the socket: what happened since. What was out then counts as sent, so that what
    /// was sent and not acknowledged is out. The kernel's 32-bit counters may have wrapped in between.
    #[must_use]
    pub fn since(&self, first: &Self) -> Self {
        let long = |now: Option<u64>, before: Option<u64>| Some(now?.saturating_sub(before.unwrap_or(0)));
        let short = |now: Option<u32>, before: Option<u32>| Some(now?.wrapping_sub(before.unwrap_or(0)));
        Self {
            bytes_sent: long(self.bytes_sent, first.no_longer_out()),
            bytes_retrans: long(self.bytes_retrans, first.bytes_retrans),
            bytes_acked: long(self.bytes_acked, first.bytes_acked),
            bytes_received: long(self.bytes_received, first.bytes_received),
            retransmits: self.retransmits.wrapping_sub(first.retransmits),
            segs_out: short(self.segs_out, first.segs_out),
            data_segs_out: short(self.data_segs_out, first.data_segs_out),
            data_segs_in: short(self.data_segs_in, first.data_segs_in),
            delivered_segments: short(self.delivered_segments, first.delivered_segments),
            delivered_ce_segments: short(self.delivered_ce_segments, first.delivered_ce_segments),
            received_ce_segments: short(self.received_ce_segments, first.received_ce_segments),
            dsack_dups: short(self.dsack_dups, first.dsack_dups),
            rcv_ooo_segments: short(self.rcv_ooo_segments, first.rcv_ooo_segments),
            rto_count: self.rto_count.map(|now| now.wrapping_sub(first.rto_count.unwrap_or(0))),
            busy_us: long(self.busy_us, first.busy_us),
            rwnd_limited_us: long(self.rwnd_limited_us, first.rwnd_limited_us),
            sndbuf_limited_us: long(self.sndbuf_limited_us, first.sndbuf_limited_us),
            ..*self
        }
    }
}

/// A member that is there, also where it is null.
fn reported<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<u64>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// `TCPI_OPT_WSCALE`.
const OPT_WSCALE: u8 = 4;
/// `TCPI_OPT_ECN`.
const OPT_ECN: u8 = 8;
/// `TCPI_OPT_ECN_SEEN`.
const OPT_ECN_SEEN: u8 = 16;

/// `TCP_INFINITE_SSTHRESH`.
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// The smallest struct this code accepts: up to and including `tcpi_total_retrans` (Linux 2.6).
const MINIMUM_LEN: usize = 104;

/// Reads fields by offset; `None` past the end of what the kernel returned.
struct Raw<'a>(&'a [u8]);

impl Raw<'_> {
    #[inline]
    fn u16(&self, at: usize) -> Option<u16> {
        Some(u16::from_ne_bytes(self.0.get(at..at + 2)?.try_into().ok()?))
    }
    #[inline]
    fn u32(&self, at: usize) -> Option<u32> {
        Some(u32::from_ne_bytes(self.0.get(at..at + 4)?.try_into().ok()?))
    }
    #[inline]
    fn u64(&self, at: usize) -> Option<u64> {
        Some(u64::from_ne_bytes(self.0.get(at..at + 8)?.try_into().ok()?))
    }
}

/// Decodes the bytes that `getsockopt(TCP_INFO)` returned, in the machine's own byte order. `None` if fewer than 104.
#[inline]
pub fn decode(bytes: &[u8]) -> Option<TcpInfo> {
    if bytes.len() < MINIMUM_LEN {
        return None;
    }
    let raw = Raw(bytes);
    let (u32_at, u64_at) = (|at| raw.u32(at).unwrap_or(0), |at| raw.u64(at));
    let mss = u32_at(16);
    let segments = |n: u32| u64::from(n) * u64::from(mss);
    let (unacked, sacked, lost, retrans) = (u32_at(24), u32_at(28), u32_at(32), u32_at(36));
    let in_flight = unacked.saturating_add(retrans).saturating_sub(sacked.saturating_add(lost));
    let ssthresh = u32_at(76);
    let measured = |us: u32| (us != 0).then_some(us);
    let is_scaled = bytes[5] & OPT_WSCALE != 0;
    // The kernel writes ~0 for no limit.
    let limited_bps = |rate: u64| (rate != u64::MAX).then(|| rate.saturating_mul(8));
    Some(TcpInfo {
        state: bytes[0],
        ca_state: CaState::from_kernel(bytes[1]),
        mss_bytes: mss,
        cwnd_bytes: Some(segments(u32_at(80))),
        ssthresh_bytes: (ssthresh < INFINITE_SSTHRESH).then(|| segments(ssthresh)),
        in_flight_bytes: Some(segments(in_flight)),
        unacked_bytes: segments(unacked),
        sacked_segments: Some(sacked),
        lost_segments: Some(lost),
        retrans_segments: Some(retrans),
        notsent_bytes: raw.u32(144),
        rwnd_bytes: raw.u32(228),
        local_rwnd_bytes: raw.u32(232).map(|window| window.min(0xffff << (bytes[6] >> 4))),
        window_scaling: Some(is_scaled),
        rwnd_scale: is_scaled.then_some(bytes[6] & 0xf),
        local_rwnd_scale: is_scaled.then_some(bytes[6] >> 4),
        srtt_us: measured(u32_at(68)),
        rttvar_us: measured(u32_at(68)).map(|_| u32_at(72)),
        min_rtt_us: raw.u32(148).filter(|&us| us != u32::MAX),
        rcv_rtt_us: measured(u32_at(92)),
        rcv_space_bytes: raw.u32(96),
        rto_us: raw.u32(8),
        backoff: Some(bytes[4]),
        pacing_rate_bps: u64_at(104).and_then(limited_bps),
        max_pacing_rate_bps: u64_at(112).map(limited_bps),
        delivery_rate_bps: u64_at(160).map(|rate| rate.saturating_mul(8)),
        delivery_app_limited: u64_at(160).map(|_| bytes[7] & 1 != 0),
        bytes_sent: u64_at(200),
        bytes_retrans: u64_at(208),
        bytes_acked: u64_at(120),
        bytes_received: u64_at(128),
        retransmits: u32_at(100),
        segs_out: raw.u32(136),
        data_segs_out: raw.u32(156),
        data_segs_in: raw.u32(152),
        delivered_segments: raw.u32(192),
        ecn_negotiated: Some(bytes[5] & OPT_ECN != 0),
        ecn_seen: Some(bytes[5] & OPT_ECN_SEEN != 0),
        delivered_ce_segments: raw.u32(196),
        received_ce_segments: raw.u32(248),
        dsack_dups: raw.u32(216),
        reord_seen: raw.u32(220),
        rcv_ooo_segments: raw.u32(224),
        rto_count: raw.u16(240),
        last_data_sent_us: Some(u64::from(u32_at(44)) * 1_000),
        last_data_recv_us: Some(u64::from(u32_at(52)) * 1_000),
        busy_us: u64_at(168),
        rwnd_limited_us: u64_at(176),
        sndbuf_limited_us: u64_at(184),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(bytes: &mut [u8], at: usize, value: u32) {
        bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
    }

    #[test]
    fn counters_since_an_earlier_sample_begin_with_nothing() {
        let first = TcpInfo { bytes_acked: Some(5), data_segs_out: Some(u32::MAX), ..TcpInfo::default() };
        let now = TcpInfo { bytes_acked: Some(9), data_segs_out: Some(1), srtt_us: Some(7), ..first };
        let told = now.since(&first);
        assert_eq!((told.bytes_acked, told.data_segs_out, told.srtt_us), (Some(4), Some(2), Some(7)));
        assert_eq!(first.since(&first).bytes_acked, Some(0));
        assert_eq!(told.bytes_received, None);
    }

    #[test]
    fn what_was_out_at_an_earlier_sample_was_sent_since() {
        let sent = |bytes_sent, bytes_retrans, bytes_acked| TcpInfo {
            bytes_sent: Some(bytes_sent),
            bytes_retrans: Some(bytes_retrans),
            bytes_acked: Some(bytes_acked),
            ..TcpInfo::default()
        };
        let told = sent(9_000, 1_500, 6_000).since(&sent(5_000, 1_000, 3_000));
        assert_eq!(
            (told.bytes_sent, told.bytes_retrans, told.bytes_acked),
            (Some(5_000), Some(500), Some(3_000))
        );
        let all_acked = sent(9, 0, 10).since(&sent(5, 0, 6));
        assert_eq!(all_acked.bytes_sent, Some(4), "the SYN counts as acknowledged too");
    }

    #[test]
    fn segments_become_bytes_and_unknowns_become_none() {
        let mut bytes = [0_u8; 280];
        bytes[1] = 3;
        put(&mut bytes, 16, 1448);
        put(&mut bytes, 24, 100);
        put(&mut bytes, 28, 10);
        put(&mut bytes, 32, 5);
        put(&mut bytes, 36, 2);
        put(&mut bytes, 76, INFINITE_SSTHRESH);
        put(&mut bytes, 44, 30);
        put(&mut bytes, 52, 40);
        put(&mut bytes, 80, 50);
        put(&mut bytes, 148, u32::MAX);
        let info = decode(&bytes).expect("280 bytes decode");
        assert_eq!(info.ca_state, Some(CaState::Recovery));
        assert_eq!(info.cwnd_bytes, Some(50 * 1448));
        assert_eq!(info.in_flight_bytes, Some((100 - 10 - 5 + 2) * 1448));
        assert_eq!(info.unacked_bytes, 100 * 1448);
        assert_eq!((info.ssthresh_bytes, info.min_rtt_us, info.srtt_us), (None, None, None));
        assert_eq!((info.last_data_sent_us, info.last_data_recv_us), (Some(30_000), Some(40_000)));
    }

    #[test]
    fn ecn_and_the_pacing_limit_are_decoded_and_read_back() {
        let mut bytes = [0_u8; 280];
        bytes[5] = OPT_ECN | OPT_ECN_SEEN | 7;
        put(&mut bytes, 196, 11);
        put(&mut bytes, 248, 12);
        bytes[112..120].copy_from_slice(&1_000_000_u64.to_ne_bytes());
        let limited = decode(&bytes).expect("280 bytes decode");
        assert_eq!((limited.ecn_negotiated, limited.ecn_seen), (Some(true), Some(true)));
        assert_eq!((limited.delivered_ce_segments, limited.received_ce_segments), (Some(11), Some(12)));
        assert_eq!(limited.max_pacing_rate_bps, Some(Some(8_000_000)));
        bytes[112..120].copy_from_slice(&u64::MAX.to_ne_bytes());
        let unlimited = decode(&bytes).expect("280 bytes decode");
        assert_eq!(unlimited.max_pacing_rate_bps, Some(None));
        for info in [limited, unlimited, TcpInfo::default()] {
            let json = serde_json::to_string(&info).unwrap();
            assert_eq!(serde_json::from_str::<TcpInfo>(&json).unwrap(), info);
        }
        let later = TcpInfo { delivered_ce_segments: Some(15), ..limited };
        assert_eq!(later.since(&limited).delivered_ce_segments, Some(4));
        let old = decode(&bytes[..192]).expect("192 bytes decode");
        assert_eq!((old.delivered_ce_segments, old.received_ce_segments), (None, None));
    }

    #[test]
    fn an_advertised_window_is_no_larger_than_its_header_can_say() {
        let window = |scale: u8| {
            let mut bytes = [0_u8; 280];
            bytes[6] = scale << 4 | 7;
            put(&mut bytes, 232, 305_528);
            decode(&bytes).and_then(|info| info.local_rwnd_bytes)
        };
        assert_eq!([window(0), window(1), window(7)], [Some(65_535), Some(131_070), Some(305_528)]);
    }

    #[test]
    fn scales_are_null_where_windows_are_not_scaled() {
        let scales = |options: u8| {
            let mut bytes = [0_u8; 280];
            (bytes[5], bytes[6]) = (options, 7 << 4 | 5);
            decode(&bytes).map(|info| (info.window_scaling, info.rwnd_scale, info.local_rwnd_scale))
        };
        assert_eq!(scales(OPT_WSCALE), Some((Some(true), Some(5), Some(7))));
        assert_eq!(scales(0), Some((Some(false), None, None)));
    }

    #[test]
    fn an_older_kernels_struct_leaves_the_newer_fields_none() {
        let info = decode(&[0; 192]).expect("192 bytes decode");
        assert_eq!((info.rwnd_bytes, info.bytes_sent, info.rto_count), (None, None, None));
        assert_eq!(info.busy_us, Some(0));
        assert_eq!(decode(&[0; 100]), None);
    }
}
