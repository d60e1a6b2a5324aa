//! What both ends and the path counted of a flow of datagrams.

use super::drops::Drops;
use super::known_path::{KnownPath, KnownWay};
use super::known_run::KnownRun;
use crate::ground::interval::TimeInterval;
use pipefill_core::cell::{FlowSpec, Protocol};
use pipefill_core::evidence::{Datagrams, Evidence, Plan};
use pipefill_core::record::{DatagramSample, StreamSummary, UdpTotals};
use pipefill_core::units::Bytes;

/// What the ends of a flow counted.
#[derive(Debug)]
pub(crate) struct DatagramCounts {
    sent: u64,
    received: u64,
    sent_bytes: u64,
    received_bytes: u64,
    /// Dropped by the receivers' sockets; `None` where one of them does not count.
    socket_drops: Option<u64>,
    length_us: u64,
    /// What an emulated path counted of the flow alone.
    on_path: Option<DatagramSample>,
}

impl DatagramCounts {
    /// `None` where nothing was sent.
    pub(crate) fn of(streams: &[&StreamSummary]) -> Option<Self> {
        let totals: Vec<UdpTotals> = streams.iter().filter_map(|stream| stream.udp).collect();
        let lives =
            streams.iter().map(|stream| TimeInterval { from_us: stream.start_us, to_us: stream.stop_us });
        let counted = Self {
            sent: totals.iter().map(|totals| totals.sent).sum(),
            received: totals.iter().map(|totals| totals.received).sum(),
            // Also what was still under way when the receiver stopped.
            sent_bytes: streams.iter().map(|stream| stream.sent_bytes).sum(),
            received_bytes: streams.iter().map(|stream| stream.received_bytes).sum(),
            socket_drops: totals.iter().map(|totals| totals.socket_drops).sum(),
            length_us: lives.map(TimeInterval::length_us).max().unwrap_or(0).max(1),
            on_path: streams.iter().find_map(|stream| stream.datagrams),
        };
        (counted.sent > 0).then_some(counted)
    }

    /// What an emulated path counted of the flow alone.
    pub(crate) const fn on_path(&self) -> Option<&DatagramSample> {
        self.on_path.as_ref()
    }

    /// What that path dropped of it.
    pub(crate) fn path_drops(&self) -> Option<Drops> {
        self.on_path.as_ref().map(Drops::of_datagrams)
    }

    /// The evidence on `flow`: with the `drops` of its direction where a scenario describes the path or it counted the flow.
    pub(crate) fn evidence(&self, flow: &FlowSpec, run: &KnownRun<'_>, drops: Option<Drops>) -> Evidence {
        let path = &run.path;
        let asked_bps = flow.bitrate.map(|rate| rate.bps().saturating_mul(u64::from(flow.parallel)));
        let missing = self.sent.saturating_sub(self.received);
        let of_missing = |count: u64| if missing > 0 { count as f64 / missing as f64 } else { f64::INFINITY };
        let by_the_path = drops.and_then(Drops::by_the_path);
        let way = path.way(flow.direction);
        let rate_bps = way.rate.map(|rate| rate.value.bps() as f64);
        let datagrams = Datagrams {
            lost_share: self.lost_share(),
            offered_share: asked_bps.map(|asked| self.bps(self.sent_bytes) as f64 / (asked as f64).max(1.0)),
            path_drops: by_the_path.map(of_missing),
            queue_drops: drops.and_then(|drops| drops.queue).map(of_missing),
            testbed_drops: by_the_path.and(drops).map(|drops| of_missing(drops.by_the_testbed())),
            socket_drops: self.socket_drops.map(of_missing),
            offered_of_rate: self.frames_bps(path, way).zip(rate_bps).map(|(offered, rate)| offered / rate),
            is_quic: run.is_quic,
            burst_of_queue: self.on_path.as_ref().and_then(|counted| burst_of_queue(counted, way)),
        };
        Evidence { plan: drops.map(|_| Plan::default()), datagrams: Some(datagrams), ..Evidence::default() }
    }

    /// Share of what was sent that did not arrive.
    pub(crate) fn lost_share(&self) -> f64 {
        self.sent.saturating_sub(self.received) as f64 / self.sent as f64
    }

    /// Payload that arrived in datagrams of `length` bytes, bits per second.
    pub(crate) fn received_bps(&self, length: u64) -> u64 {
        match self.on_path {
            // Those of a program may have any length.
            Some(_) => self.bps(self.received_bytes),
            None => self.bps(self.received.saturating_mul(length)),
        }
    }

    /// Payload that came to the path, bits per second.
    pub(crate) fn offered_bps(&self) -> Option<u64> {
        self.on_path.as_ref().map(|counted| self.bps(counted.offered_bytes))
    }

    /// What came to the path as the path counts it: frames with what each costs beside its own bytes, bits per second.
    fn frames_bps(&self, path: &KnownPath, way: &KnownWay) -> Option<f64> {
        let counted = self.on_path.as_ref()?;
        let packets = counted.offered_packets.max(1);
        let frame = path.headers.frame(Protocol::Udp, Bytes::new(counted.offered_bytes / packets)).get();
        let rest = counted.offered_bytes % packets;
        Some(self.bps(way.framing.cost(frame).saturating_mul(counted.offered_packets).saturating_add(rest))
            as f64)
    }

    fn bps(&self, bytes: u64) -> u64 {
        u64::try_from(u128::from(bytes) * 8_000_000 / u128::from(self.length_us)).unwrap_or(u64::MAX)
    }
}

/// What the longest burst needs over what the queue of `way` holds, in the unit of its bound.
fn burst_of_queue(counted: &DatagramSample, way: &KnownWay) -> Option<f64> {
    let (needed, held) = match way.queue_packets {
        Some(packets) => (counted.needed_queue_packets?, packets),
        None => (counted.needed_queue_bytes?, way.queue?.value.get()),
    };
    Some(needed as f64 / held.max(1) as f64)
}

/// Whether the receiving socket's buffer is full most of the time, sample by sample.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct UnreadTrack {
    last: Option<DatagramSample>,
    arriving: u64,
    unread: u64,
    most_dropped: u64,
}

impl UnreadTrack {
    /// Takes the next sample.
    pub(crate) fn observe(&mut self, sample: &DatagramSample) {
        let before = self.last.replace(*sample).unwrap_or_default();
        if sample.delivered_packets == before.delivered_packets {
            return;
        }
        let drops = |of: &DatagramSample| of.socket_drops.unwrap_or(0);
        self.most_dropped = self.most_dropped.max(drops(sample).saturating_sub(drops(&before)));
        if let Some((unread, limit)) = sample.unread_bytes.zip(sample.rcvbuf_bytes) {
            self.arriving += 1;
            self.unread += u64::from(unread.saturating_mul(2) >= limit);
        }
    }

    /// Share of the samples between which datagrams arrived that show half of the buffer or more unread; `None` where no socket was seen.
    pub(crate) fn unread_share(&self) -> Option<f64> {
        (self.arriving > 0).then(|| self.unread as f64 / self.arriving as f64)
    }

    /// The most datagrams that the socket dropped between two samples.
    pub(crate) const fn most_dropped(&self) -> u64 {
        self.most_dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_is_always_behind_shows_in_most_samples() {
        let share = |unread: [u64; 4]| {
            let mut track = UnreadTrack::default();
            for (number, unread) in (1..).zip(unread) {
                track.observe(&DatagramSample {
                    delivered_packets: 100 * number,
                    socket_drops: Some(10 * number * number),
                    unread_bytes: Some(unread),
                    rcvbuf_bytes: Some(1_000),
                    ..DatagramSample::default()
                });
            }
            assert_eq!(track.most_dropped(), 70);
            track.unread_share()
        };
        assert_eq!(share([900, 950, 1_000, 990]), Some(1.0));
        assert_eq!(share([0, 0, 600, 0]), Some(0.25));
        assert_eq!(UnreadTrack::default().unread_share(), None);
    }
}
