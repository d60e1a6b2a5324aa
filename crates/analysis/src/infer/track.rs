//! One stream's samples as far as inference needs them, and no more of them than fit.

use super::open_window::OpenWindow;
use super::packets::StreamPackets;
use super::queue::{data_rtt_us, receiver_rtt_of};
use super::samples::{Samples, Timed};
use super::sender_sample::SenderSample;
use crate::ground::thresholds::Thresholds;
use pipefill_core::cell::Direction;
use pipefill_core::record::{BucketFit, PacketSample, TcpSample};
use std::collections::VecDeque;

/// One sample of a sender.
#[derive(Debug, Clone, Copy)]
pub(super) struct TrackSample {
    pub(super) t_us: u64,
    /// Payload delivered so far: acknowledged, selectively or not.
    pub(super) delivered: u64,
    /// Payload acknowledged in order.
    pub(super) acked: u64,
    pub(super) unacked: u64,
    pub(super) srtt_us: Option<u64>,
    /// The same without what ACKs waited for on their way: what a queue of the data makes of it.
    pub(super) data_rtt_us: Option<u64>,
    /// By how much single ones differ from it in the mean; 0 where that is not known.
    pub(super) rttvar_us: u64,
    pub(super) retransmits: u32,
    pub(super) rto_count: u32,
    /// Written data that was never sent.
    pub(super) has_unsent: bool,
    /// The advertised window has no room for more.
    pub(super) is_closed: bool,
    /// And it was larger before: its reader is slow.
    pub(super) has_shrunk: bool,
}

impl Timed for TrackSample {
    fn t_us(&self) -> u64 {
        self.t_us
    }
}

/// One stream.
#[derive(Debug)]
pub(super) struct Track {
    pub(super) direction: Direction,
    /// Whether it is of packets near the receiver, where the flight is what arrives in a round trip.
    pub(super) is_of_arrivals: bool,
    pub(super) samples: Samples<TrackSample>,
    /// The kernel's own minimum.
    pub(super) min_rtt_us: Option<u64>,
    pub(super) mss: u64,
    pub(super) retransmits: u32,
    pub(super) spurious: Option<u32>,
    pub(super) has_seen_reordering: bool,
    /// The leaky bucket that explains its losses.
    pub(super) bucket: Option<BucketFit>,
    /// Payload delivered by the last sample, and the kernel's count of segments, which wraps.
    delivered: u64,
    segments: Option<u32>,
    window: OpenWindow,
}

impl Track {
    pub(super) fn new(direction: Direction, most: usize) -> Self {
        Self {
            direction,
            is_of_arrivals: false,
            samples: Samples::new(most),
            min_rtt_us: None,
            mss: 0,
            retransmits: 0,
            spurious: None,
            has_seen_reordering: false,
            bucket: None,
            delivered: 0,
            segments: None,
            window: OpenWindow::default(),
        }
    }

    /// The same track with the leaky bucket that explains its losses.
    pub(super) fn with_bucket(self, bucket: Option<BucketFit>) -> Self {
        Self { bucket, ..self }
    }

    /// Payload delivered by the last sample.
    pub(super) fn delivered_in_all(&self) -> u64 {
        self.samples.as_slice().last().map_or(0, |sample| sample.delivered)
    }

    /// Payload delivered between two times.
    pub(super) fn delivered(&self, from_us: u64, to_us: u64) -> u64 {
        let count = |t_us| self.samples.at(t_us).map_or(0, |sample| sample.delivered);
        count(to_us).saturating_sub(count(from_us))
    }

    pub(super) fn observe(&mut self, row: &TcpSample, thresholds: &Thresholds) {
        let sample = SenderSample::of_socket(row);
        // Older kernels do not count what was delivered since the sample before: what was acknowledged then.
        let delivered = match (sample.delivered, self.segments) {
            (Some(now), Some(before)) => {
                self.delivered.saturating_add(u64::from(now.wrapping_sub(before)) * sample.mss)
            }
            (Some(now), None) => u64::from(now) * sample.mss,
            (None, _) => sample.acked.unwrap_or(self.delivered),
        };
        self.segments = sample.delivered;
        self.push(&sample, delivered, sample.has_unsent == Some(true), thresholds);
    }

    /// Of a stream whose packets were captured near its sender.
    pub(super) fn of_packets(
        direction: Direction,
        packets: &StreamPackets<'_>,
        thresholds: &Thresholds,
    ) -> Self {
        let mut track = Self::new(direction, packets.samples.len().max(1));
        for (span, row) in packets.in_spans() {
            let sample = SenderSample::of_packet_sample(span, row);
            let sacked = u64::from(row.sacked_segments) * sample.mss;
            // Sent on ACKs that come through a long queue: it stands, whatever the program has written since. ACKs alone may be late without one.
            let is_long = row.srtt_us.zip(row.min_rtt_us).is_some_and(|(now, least)| {
                f64::from(now) >= thresholds.packet_queue_long.value() * f64::from(least)
            });
            let has_queue = is_long && span.figures.prompt_share >= thresholds.packet_prompt.value();
            let waits = span.has_unsent || has_queue;
            track.push(&sample, row.acked_bytes.saturating_add(sacked), waits, thresholds);
        }
        track
    }

    /// Of a stream whose packets were captured near its receiver: what arrives in a round trip was in flight, and what had to be sent again was lost.
    /// A timer that ran out is one after which nothing came for as long as it runs at least: what is sent again late in a recovery is none.
    pub(super) fn of_arrivals(samples: &[PacketSample], thresholds: &Thresholds) -> Self {
        let mut track = Self { is_of_arrivals: true, ..Self::new(Direction::Forward, samples.len().max(1)) };
        let (mut came_us, mut segments, mut timeouts, mut rto_count) = (0, 0, 0, 0);
        let mut flights: VecDeque<(u64, u64)> = VecDeque::new();
        for (at, row) in samples.iter().enumerate() {
            let rtt_us = u64::from(row.path_rtt_us.unwrap_or(0)).max(1);
            let before = samples[..at].iter().rev().find(|before| before.t_us + rtt_us <= row.t_us);
            let flight = arrived_bytes(row).saturating_sub(before.map_or(0, arrived_bytes));
            flights.push_back((row.t_us, flight));
            // A loss shows when it is repaired: a round trip later.
            while flights.pop_front_if(|(t_us, _)| *t_us + 2 * rtt_us < row.t_us).is_some() {}
            let is_silent = row.t_us.saturating_sub(came_us) >= thresholds.timer_least_us.whole();
            rto_count += if is_silent { row.timeouts.saturating_sub(timeouts) } else { 0 };
            if row.segments > segments {
                came_us = row.t_us;
            }
            (timeouts, segments) = (row.timeouts, row.segments);
            track.mss = row.mss_bytes.into();
            track.retransmits = row.retransmits;
            track.spurious = Some(row.known_spurious());
            // Holes that nothing was sent again for.
            let lost = row.retransmits.saturating_sub(row.known_spurious());
            track.has_seen_reordering = row.out_of_order_segments > lost;
            track.min_rtt_us = track.min_rtt_us.into_iter().chain(row.path_rtt_us.map(u64::from)).min();
            track.samples.push(TrackSample {
                t_us: row.t_us,
                delivered: arrived_bytes(row),
                acked: row.acked_bytes,
                unacked: flights.iter().map(|&(_, flight)| flight).max().unwrap_or(0),
                srtt_us: row.receiver_rtt_us.map(u64::from),
                data_rtt_us: row.receiver_rtt_us.and_then(|_| receiver_rtt_of(row, thresholds)),
                rttvar_us: 0,
                retransmits: row.retransmits,
                rto_count,
                has_unsent: false,
                is_closed: false,
                has_shrunk: false,
            });
        }
        track
    }

    fn push(&mut self, sample: &SenderSample, delivered: u64, has_unsent: bool, thresholds: &Thresholds) {
        self.min_rtt_us = self.min_rtt_us.into_iter().chain(sample.min_rtt_us).min();
        self.mss = sample.mss;
        self.retransmits = sample.retransmits;
        self.spurious = sample.spurious;
        self.has_seen_reordering |= sample.has_seen_reordering;
        self.window.observe(sample.window, sample.acked.unwrap_or(0), thresholds.window_is_all.value());
        self.delivered = delivered;
        let windows = sample.window.zip(self.window.widest());
        self.samples.push(TrackSample {
            t_us: sample.t_us,
            delivered,
            acked: sample.acked.unwrap_or(0),
            unacked: sample.unacked,
            srtt_us: sample.srtt_us,
            rttvar_us: sample.rttvar_us.unwrap_or(0),
            data_rtt_us: sample
                .srtt_us
                .map(|us| data_rtt_us(us, (sample.min_rtt_us, sample.ack_delay_us), thresholds)),
            retransmits: sample.retransmits,
            rto_count: sample.timeouts,
            has_unsent,
            is_closed: sample.rwnd.is_some_and(|(used, _)| used >= thresholds.window_used.value()),
            has_shrunk: windows
                .is_some_and(|(now, widest)| now as f64 <= thresholds.window_shrunk.value() * widest as f64),
        });
    }
}

/// Payload that has arrived near its receiver: acknowledged, or above a hole.
pub(super) fn arrived_bytes(sample: &PacketSample) -> u64 {
    let sacked = u64::from(sample.sacked_segments) * u64::from(sample.mss_bytes);
    sample.acked_bytes.saturating_add(sacked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::thresholds::STANDARD;
    use pipefill_core::record::StreamEnd;
    use pipefill_core::tcp_info::TcpInfo;

    fn row(t_us: u64, segments: u32) -> TcpSample {
        TcpSample::of_info(
            t_us,
            0,
            StreamEnd::Sender,
            TcpInfo { mss_bytes: 1_000, delivered_segments: Some(segments), ..TcpInfo::default() },
        )
    }

    #[test]
    fn a_count_of_segments_that_wraps_is_counted_on() {
        let mut track = Track::new(Direction::Forward, 256);
        [row(1, u32::MAX - 9), row(2, 20)].iter().for_each(|row| track.observe(row, &STANDARD));
        assert_eq!(track.delivered(1, 2), 30_000);
    }
}
