//! A stream's samples, cut into epochs of a round trip and more: what was in flight at most, and what it ran against.
//!
//! A window-limited flow is bursty: at one instant the bottleneck is busy, at the next nothing is in flight. Over a round
//! trip the peak of the flight is what the limit allows. Never: a judgement; figures only.

use crate::metrics::window::Window;
use pipefill_core::record::{RunRecord, StreamEnd, StreamSummary, TcpSample};
use pipefill_core::tcp_info::CaState;

/// Samples that an epoch has at least.
const FEWEST_SAMPLES: usize = 4;

/// One span of at least a round trip.
#[derive(Debug, Clone)]
#[cfg_attr(test, derive(Default))]
pub(super) struct Epoch {
    pub(super) from_us: u64,
    pub(super) to_us: u64,
    /// Largest `snd_nxt − snd_una`.
    pub(super) unacked_peak: u64,
    /// Mean of `snd_nxt − snd_una`: divided by the round trip it is the rate (Little's law).
    pub(super) unacked_mean: u64,
    /// Largest share of cwnd in flight at a sample.
    pub(super) cwnd_used: f64,
    /// cwnd at that sample.
    pub(super) cwnd: u64,
    /// Largest share of the advertised window that was out.
    pub(super) rwnd_used: Option<f64>,
    /// The window at that sample.
    pub(super) rwnd: Option<u64>,
    /// Largest share of the send buffer in use, truesize.
    pub(super) sndbuf_used: Option<f64>,
    /// Most memory of the send queue.
    pub(super) wmem_peak: Option<u64>,
    /// Its limit.
    pub(super) sndbuf: Option<u64>,
    /// Share of the samples with written data that was never sent.
    pub(super) unsent_share: f64,
    /// Largest share of the receive buffer that waits for the application.
    pub(super) unread_share: Option<f64>,
    /// Share of the samples in Recovery or Loss.
    pub(super) repair_share: f64,
    /// Whether slow start has a ceiling yet.
    pub(super) has_ssthresh: bool,
    /// Segments retransmitted in the epoch.
    pub(super) retransmits: u32,
    pub(super) pacing_rate_bps: Option<u64>,
    pub(super) srtt_us: Option<u64>,
    pub(super) min_rtt_us: Option<u64>,
    pub(super) mss: u64,
}

/// The epochs of `summary`'s stream in `life`. What is left over at the end, less than a round trip, is not judged.
pub(super) fn cut(record: &RunRecord, summary: &StreamSummary, life: Window) -> Vec<Epoch> {
    let of = |end: StreamEnd| -> Vec<&TcpSample> {
        let is_of = |row: &&TcpSample| {
            row.stream == summary.stream && row.end == end && (life.from_us..=life.to_us).contains(&row.t_us)
        };
        let mut rows: Vec<&TcpSample> = record.tcp.iter().filter(is_of).collect();
        rows.sort_by_key(|row| row.t_us);
        rows
    };
    let (sender, receiver) = (of(StreamEnd::Sender), of(StreamEnd::Receiver));
    let (mut epochs, mut first, mut seen) = (Vec::new(), 0, 0);
    for at in 1..sender.len() {
        let span = sender[at].t_us - sender[first].t_us;
        let round_trip = sender[at].info.srtt_us.map_or(0, u64::from);
        if at - first >= FEWEST_SAMPLES && span >= round_trip.max(1) {
            let to_us = sender[at].t_us;
            let begin = seen;
            seen += receiver[seen..].iter().take_while(|row| row.t_us < to_us).count();
            epochs.push(epoch(&sender[first..=at], &receiver[begin..seen]));
            first = at;
        }
    }
    epochs
}

/// The epoch of `rows`, whose last is the first of the next one.
fn epoch(rows: &[&TcpSample], receiver: &[&TcpSample]) -> Epoch {
    let (first, last) = (rows[0], rows[rows.len() - 1]);
    let inner = &rows[..rows.len() - 1];
    let share = |is: &dyn Fn(&TcpSample) -> bool| {
        inner.iter().filter(|row| is(row)).count() as f64 / inner.len() as f64
    };
    let fullest = |used: &dyn Fn(&TcpSample) -> Option<f64>| {
        let of = |row: &&&TcpSample| used(row).unwrap_or(-1.0);
        inner.iter().max_by(|a, b| of(a).total_cmp(&of(b))).copied().filter(|row| used(row).is_some())
    };
    let cwnd_row = fullest(&|row| Some(cwnd_used(row))).unwrap_or(first);
    let rwnd_row = fullest(&rwnd_used);
    let sndbuf_row = fullest(&sndbuf_used);
    Epoch {
        from_us: first.t_us,
        to_us: last.t_us,
        unacked_peak: inner.iter().map(|row| row.info.unacked_bytes).max().unwrap_or(0),
        unacked_mean: inner.iter().map(|row| row.info.unacked_bytes).sum::<u64>() / inner.len() as u64,
        cwnd_used: cwnd_used(cwnd_row),
        cwnd: cwnd_row.info.cwnd_bytes,
        rwnd_used: rwnd_row.and_then(rwnd_used),
        rwnd: rwnd_row.and_then(|row| row.info.rwnd_bytes.map(u64::from)),
        sndbuf_used: sndbuf_row.and_then(sndbuf_used),
        wmem_peak: sndbuf_row.and_then(|row| row.wmem_queued_bytes),
        sndbuf: sndbuf_row.and_then(|row| row.sndbuf_bytes),
        unsent_share: share(&|row| row.info.notsent_bytes > 0),
        unread_share: receiver.iter().filter_map(|row| unread(row)).reduce(f64::max),
        repair_share: share(&|row| row.info.ca_state.is_some_and(|state| state >= CaState::Recovery)),
        has_ssthresh: last.info.ssthresh_bytes.is_some(),
        retransmits: last.info.retransmits.wrapping_sub(first.info.retransmits),
        pacing_rate_bps: last.info.pacing_rate_bps,
        srtt_us: last.info.srtt_us.map(u64::from),
        min_rtt_us: last.info.min_rtt_us.map(u64::from),
        mss: u64::from(last.info.mss_bytes),
    }
}

fn cwnd_used(row: &TcpSample) -> f64 {
    ratio(row.info.in_flight_bytes, row.info.cwnd_bytes)
}

fn rwnd_used(row: &TcpSample) -> Option<f64> {
    let window = u64::from(row.info.rwnd_bytes?);
    Some(ratio(row.info.unacked_bytes.max(u64::from(window == 0)), window))
}

fn sndbuf_used(row: &TcpSample) -> Option<f64> {
    Some(ratio(row.wmem_queued_bytes?, row.sndbuf_bytes?))
}

fn unread(row: &TcpSample) -> Option<f64> {
    Some(ratio(row.rmem_alloc_bytes?, row.rcvbuf_bytes?))
}

/// Of nothing, one byte is all there is.
fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}
