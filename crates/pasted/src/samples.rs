//! Intervals that a test reports, as samples: what is in flight follows from the rate and the round trip (Little's law).

use pipefill_core::record::{Gap, StreamEnd, TcpSample};
use pipefill_core::tcp_info::TcpInfo;

/// `TCP_ESTABLISHED`.
pub(crate) const ESTABLISHED: u8 = 1;
/// Payload of a full segment where the output names none: Ethernet's, with timestamps.
pub(crate) const USUAL_MSS: u32 = 1_448;

/// One interval of a stream that sends.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct SentInterval {
    /// Microseconds since the test began.
    pub(crate) from_us: u64,
    /// See [`Self::from_us`].
    pub(crate) to_us: u64,
    /// Payload that the socket took.
    pub(crate) bytes: u64,
    /// Segments sent again.
    pub(crate) retransmits: Option<u32>,
    /// At its end, bytes.
    pub(crate) cwnd: Option<u64>,
    /// At its end, bytes.
    pub(crate) rwnd: Option<u32>,
    /// Smoothed round trip at its end, microseconds.
    pub(crate) rtt_us: Option<u32>,
    /// Its variation.
    pub(crate) rttvar_us: Option<u32>,
}

/// What the intervals of a stream that sends do not show; no test shows the least round trip.
pub(crate) fn gaps(intervals: &[SentInterval]) -> Vec<Gap> {
    let lacks = |shown: fn(&SentInterval) -> bool, gap| (!intervals.iter().any(shown)).then_some(gap);
    let gaps = [
        lacks(|interval| interval.rtt_us.is_some(), Gap::RoundTrip),
        lacks(|interval| interval.rwnd.is_some(), Gap::ReceiveWindow),
        lacks(|interval| interval.cwnd.is_some(), Gap::CongestionWindow),
        Some(Gap::LeastRoundTrip),
    ];
    gaps.into_iter().flatten().collect()
}

/// What does not change during a stream.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct SentStream {
    /// Payload of a full segment.
    pub(crate) mss: u32,
    /// The send buffer that the test set, bytes of memory.
    pub(crate) sndbuf: Option<u64>,
    /// The pacing rate that the test set, bits per second.
    pub(crate) pacing_rate_bps: Option<u64>,
}

impl SentInterval {
    /// The rate times the round trip, bytes; `None` where the round trip is not known.
    fn flight(&self) -> Option<u64> {
        let length_us = self.to_us.saturating_sub(self.from_us).max(1);
        let rtt_us = self.rtt_us.filter(|&us| us > 0)?;
        Some((self.bytes as f64 * f64::from(rtt_us) / length_us as f64).round() as u64)
    }
}

/// A sample at the beginning of each interval, with what the interval shows, and one at the end of the last. Each interval is judged by itself then.
pub(crate) fn sent(intervals: &[SentInterval], stream: SentStream) -> Vec<TcpSample> {
    let (mut acked, mut retransmits) = (0_u64, 0_u32);
    let mut samples: Vec<TcpSample> = Vec::with_capacity(intervals.len() + 1);
    for interval in intervals {
        samples.push(sample(interval.from_us, interval, stream, acked, retransmits));
        acked = acked.saturating_add(interval.bytes);
        retransmits = retransmits.saturating_add(interval.retransmits.unwrap_or(0));
    }
    samples.extend(intervals.last().map(|last| sample(last.to_us, last, stream, acked, retransmits)));
    samples
}

fn sample(
    t_us: u64,
    interval: &SentInterval,
    stream: SentStream,
    bytes_acked: u64,
    retransmits: u32,
) -> TcpSample {
    let flight = interval.flight();
    // Without a round trip nobody knows how much of a window is used.
    let known = flight.is_some();
    let info = TcpInfo {
        state: ESTABLISHED,
        mss_bytes: stream.mss,
        cwnd_bytes: interval.cwnd.filter(|_| known),
        rwnd_bytes: interval.rwnd.filter(|_| known),
        in_flight_bytes: flight,
        unacked_bytes: flight.unwrap_or(0),
        srtt_us: interval.rtt_us.filter(|&us| us > 0),
        rttvar_us: interval.rttvar_us,
        window_scaling: interval.rwnd.and_then(|window| (window > u32::from(u16::MAX)).then_some(true)),
        bytes_acked: Some(bytes_acked),
        retransmits,
        pacing_rate_bps: stream.pacing_rate_bps,
        max_pacing_rate_bps: stream.pacing_rate_bps.map(Some),
        ..TcpInfo::default()
    };
    TcpSample {
        wmem_queued_bytes: flight.filter(|_| stream.sndbuf.is_some()),
        sndbuf_bytes: stream.sndbuf.filter(|_| known),
        ..of_info(t_us, info)
    }
}

/// Of a receiver: what had arrived at the beginning of each interval, and at the end of the last.
pub(crate) fn received(intervals: &[SentInterval], mss: u32) -> Vec<TcpSample> {
    let mut arrived = 0_u64;
    let at = |t_us, arrived| {
        let info = TcpInfo {
            state: ESTABLISHED,
            mss_bytes: mss,
            bytes_received: Some(arrived),
            notsent_bytes: Some(0),
            ..TcpInfo::default()
        };
        of_info(t_us, info)
    };
    let mut samples = Vec::with_capacity(intervals.len() + 1);
    for interval in intervals {
        samples.push(at(interval.from_us, arrived));
        arrived = arrived.saturating_add(interval.bytes);
    }
    samples.extend(intervals.last().map(|last| at(last.to_us, arrived)));
    samples
}

/// A sample with nothing but `info`.
pub(crate) const fn of_info(t_us: u64, info: TcpInfo) -> TcpSample {
    TcpSample::of_info(t_us, 0, StreamEnd::Sender, info)
}

/// Whether each of `samples` is a round of its own: they are few, and at least a round trip apart.
pub(crate) fn are_rounds(samples: &[TcpSample]) -> bool {
    /// With more of them four make a round.
    const MOST: usize = 40;
    let round_trip_us = samples.iter().filter_map(|sample| sample.info.srtt_us).max().map_or(0, u64::from);
    let is_apart =
        |pair: &[TcpSample]| matches!(pair, [before, now] if now.t_us >= before.t_us + round_trip_us);
    (3..=MOST).contains(&samples.len()) && samples.windows(2).all(is_apart)
}

/// Microseconds of seconds that another program printed; `None` where they are none of a test.
pub(crate) fn micros(seconds: f64) -> Option<u64> {
    /// A month: no test lasts longer, and times of a clock are none of a test.
    const LONGEST: f64 = 31.0 * 86_400.0;
    (0.0..LONGEST).contains(&seconds).then(|| (seconds * 1e6).round() as u64)
}
