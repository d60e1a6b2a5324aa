//! Congestion control, in the shape of Linux's `struct tcp_congestion_ops` (`include/net/tcp.h`).
//!
//! An algorithm sees the connection through [`Connection`] and changes cwnd, ssthresh and the pacing rate through it, as the kernel's
//! modules do.

mod bbr;
mod cubic;
mod dctcp;
mod hystart;
mod reno;
#[cfg(test)]
mod tests;
mod win_max;

use pipefill_core::tcp_info::CaState;
use pipefill_core::units::{Seed, Time};

/// `TCP_INFINITE_SSTHRESH`.
pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// The algorithm that `TCP_CONGESTION` calls `name`: `reno`, `cubic`, `bbr`, `dctcp`; `None` for any other. Its chance (BBR's phase) comes
/// from `seed`.
pub fn by_name(name: &str, seed: Seed) -> Option<Box<dyn CongestionControl>> {
    match name {
        "reno" => Some(Box::new(reno::Reno)),
        "cubic" => Some(Box::<cubic::Cubic>::default()),
        "dctcp" => Some(Box::<dctcp::Dctcp>::default()),
        "bbr" => Some(Box::new(bbr::Bbr::new(seed))),
        _ => None,
    }
}

/// What an algorithm sees of its connection (fields of `struct tcp_sock`), and may change where it says so. Segments are MSS-sized.
#[derive(Debug, Clone)]
pub struct Connection {
    /// Virtual time.
    pub now: Time,
    /// `snd_cwnd`, segments; may be changed.
    pub cwnd: u32,
    /// `snd_cwnd_cnt`: fraction of the next increment; may be changed.
    pub cwnd_cnt: u32,
    /// `snd_ssthresh`, segments; may be changed.
    pub ssthresh: u32,
    /// `snd_cwnd_clamp`.
    pub cwnd_clamp: u32,
    /// `prior_cwnd`: cwnd before the reduction, for undo.
    pub prior_cwnd: u32,
    /// `mss_cache`, bytes.
    pub mss: u32,
    /// `srtt_us`, *not* shifted; 0 before the first sample.
    pub srtt_us: u32,
    /// `tcp_min_rtt()`; `u32::MAX` before the first sample.
    pub min_rtt_us: u32,
    /// `delivered`, segments.
    pub delivered: u64,
    /// `delivered_ce`, segments that were acknowledged as marked.
    pub delivered_ce: u32,
    /// `TCP_ECN_OK`: both ends agreed on ECN.
    pub has_ecn: bool,
    /// `lost`, segments, cumulative.
    pub lost: u64,
    /// `delivered_mstamp`.
    pub delivered_time: Time,
    /// `tcp_packets_in_flight()`.
    pub in_flight: u32,
    /// `packets_out`.
    pub packets_out: u32,
    /// `snd_una` as an absolute (unwrapped) byte number.
    pub snd_una: u64,
    /// `snd_nxt` likewise.
    pub snd_nxt: u64,
    /// `tcp_is_cwnd_limited()`.
    pub is_cwnd_limited: bool,
    /// `app_limited != 0`: nothing to send filled the pipe since.
    pub app_limited: bool,
    /// May be set (BBR's PROBE_RTT): everything up to `delivered + in_flight` shall count as application-limited. The endpoint does it
    /// and clears the request.
    pub mark_app_limited: bool,
    /// `icsk_ca_state`.
    pub ca_state: CaState,
    /// `sk_pacing_rate`, bytes per second; may be changed. `u64::MAX` = unlimited.
    pub pacing_rate: u64,
    /// `sk_max_pacing_rate`, bytes per second.
    pub max_pacing_rate: u64,
    /// The algorithm asks for pacing (`sk_pacing_status = SK_PACING_NEEDED`); may be changed.
    pub needs_pacing: bool,
    /// `tcp_wstamp_ns`: when the last paced packet was due to leave.
    pub pacing_time: Time,
    /// `lsndtime`: when data were last sent; at [`Event::TxStart`] still the time of the packet before.
    pub last_send: Time,
    /// `sk_gso_max_size`, payload bytes of the largest super-packet (1500 less headers where there is no GSO).
    pub gso_max_bytes: u32,
}

/// `struct rate_sample` (`net/ipv4/tcp_rate.c`), per ACK.
#[derive(Debug, Clone, Copy, Default)]
pub struct RateSample {
    /// `prior_delivered`: `delivered` when the newest acknowledged segment was sent.
    pub prior_delivered: u64,
    /// `delivered`: segments delivered over the interval; `None` = no valid sample.
    pub delivered: Option<u64>,
    /// `interval_us`.
    pub interval_us: u64,
    /// `rtt_us` of the newest (S)ACKed segment; `None` = none.
    pub rtt_us: Option<u32>,
    /// `losses`: segments marked lost by this ACK.
    pub losses: u32,
    /// `acked_sacked`: segments newly (S)ACKed by this ACK.
    pub acked_sacked: u32,
    /// `prior_in_flight`: before this ACK.
    pub prior_in_flight: u32,
    /// `is_app_limited`.
    pub is_app_limited: bool,
    /// `is_ack_delayed`: the RTT is likely a delayed ACK's.
    pub is_ack_delayed: bool,
    /// `is_retrans`.
    pub is_retrans: bool,
}

/// `struct ack_sample` (`pkts_acked`).
#[derive(Debug, Clone, Copy)]
pub struct AckSample {
    /// Segments cumulatively acknowledged or SACKed by this ACK.
    pub acked: u32,
    /// RTT of this ACK (`sack_rtt_us` where only SACKed); `None` = none.
    pub rtt_us: Option<u32>,
    /// In flight after this ACK.
    pub in_flight: u32,
}

/// `enum tcp_ca_event`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// `CA_EVENT_TX_START`: first transmission with nothing in flight.
    TxStart,
    /// `CA_EVENT_CWND_RESTART`: after an idle RTO.
    CwndRestart,
    /// `CA_EVENT_COMPLETE_CWR`: end of a reduction.
    CompleteCwr,
    /// `CA_EVENT_LOSS`: a retransmission timeout.
    Loss,
}

/// An algorithm.
pub trait CongestionControl: std::fmt::Debug {
    /// `name`.
    fn name(&self) -> &'static str;
    /// `init`: the connection is established.
    fn init(&mut self, connection: &mut Connection);
    /// `TCP_CONG_NEEDS_ECN`: its connections ask for ECN, and all that they send is ECT.
    fn needs_ecn(&self) -> bool {
        false
    }
    /// `in_ack_event`: an ACK up to `connection.snd_una` came, and nothing of it is counted as delivered yet. Only where
    /// [`CongestionControl::needs_ecn`].
    fn in_ack_event(&mut self, _connection: &Connection) {}
    /// `ssthresh`: the new ssthresh on a loss.
    fn ssthresh(&mut self, connection: &Connection) -> u32;
    /// `cong_avoid`: `acked` segments were acknowledged by an ACK up to `connection.snd_una`. Not called where
    /// [`CongestionControl::owns_cwnd`].
    fn cong_avoid(&mut self, connection: &mut Connection, acked: u32);
    /// The kernel's module has a `cong_control`: cwnd and the pacing rate are the algorithm's alone (BBR).
    fn owns_cwnd(&self) -> bool;
    /// `cong_control`: replaces `cong_avoid` *and* PRR's cwnd; called where [`CongestionControl::owns_cwnd`].
    fn cong_control(&mut self, connection: &mut Connection, sample: &RateSample);
    /// `set_state`: before `connection.ca_state` changes to `state`.
    fn set_state(&mut self, connection: &mut Connection, state: CaState);
    /// `cwnd_event`.
    fn cwnd_event(&mut self, connection: &mut Connection, event: Event);
    /// `pkts_acked`.
    fn pkts_acked(&mut self, connection: &mut Connection, sample: &AckSample);
    /// `undo_cwnd`: the cwnd after an undone reduction.
    fn undo_cwnd(&mut self, connection: &Connection) -> u32;
    /// `min_tso_segs`; 2 where the kernel's default stands.
    fn min_tso_segs(&self, connection: &Connection) -> u32;
    /// `sndbuf_expand`: multiple of cwnd that the send buffer should hold; 2 by default, 3 with BBR.
    fn sndbuf_expand(&self) -> u32;
}

/// `tcp_jiffies32` of a kernel with HZ = 1000.
fn jiffies(time: Time) -> u64 {
    time.micros() / 1_000
}
