//! A run in equal intervals, stream by stream, as tools that print every second have it.
//!
//! Counts are read at the edges, between two samples in proportion. Never: an interval that nothing was sampled in with a 0 for
//! what is not known.

use crate::ground::count_at::between;
use crate::ground::interval;
use pipefill_core::record::{AnyRow, Manifest, StreamEnd, StreamSummary};
use std::collections::BTreeMap;

/// Most intervals of all streams together; where there would be more, they are longer.
const MOST: u64 = 200_000;

/// One stream's intervals.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamIntervals {
    /// Number of the stream in the run.
    pub stream: u32,
    /// Length of every interval but the last: what was asked for, or a multiple of it where a run is too long for so many.
    pub width_us: u64,
    /// In order of time; the last one is as long as the stream is.
    pub intervals: Vec<Interval>,
}

/// What a stream did in an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Interval {
    /// Since when, microseconds since the stream began.
    pub from_us: u64,
    /// Until when.
    pub to_us: u64,
    /// Payload that the sending socket took.
    pub sent_bytes: f64,
    /// Payload that the receiving application read.
    pub received_bytes: f64,
    /// TCP: segments sent again.
    pub retransmits: Option<f64>,
    /// UDP: datagrams sent.
    pub datagrams: Option<f64>,
    /// UDP: datagrams received, duplicates not counted.
    pub arrived: Option<f64>,
    /// UDP: RFC 3550 jitter at the last look.
    pub jitter_ns: Option<u64>,
    /// TCP: the sender's last look.
    pub look: Option<SenderInfo>,
}

/// What a sender's `tcp_info` said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SenderInfo {
    /// Congestion window; `None` where it is not known.
    pub cwnd_bytes: Option<u64>,
    /// Advertised window; `None` where the kernel does not tell.
    pub rwnd_bytes: Option<u64>,
    /// Smoothed round trip.
    pub srtt_us: Option<u64>,
    /// Its variation.
    pub rttvar_us: Option<u64>,
}

/// Follows a run whose rows pass by once, in order of time.
#[derive(Debug)]
pub struct Following {
    width_us: u64,
    streams: BTreeMap<u32, StreamCuts>,
}

#[derive(Debug)]
struct StreamCuts {
    start_us: u64,
    length_us: u64,
    sent: Cut,
    received: Cut,
    retransmits: Cut,
    datagrams: Cut,
    arrived: Cut,
    /// By interval.
    looks: BTreeMap<usize, SenderInfo>,
    /// By interval, nanoseconds.
    jitters: BTreeMap<usize, u64>,
    end: StreamSummary,
}

/// A cumulative count, cut at the edges of intervals.
#[derive(Debug, Default)]
struct Cut {
    last: Option<(u64, u64)>,
    /// The count at each edge that was passed, from the first one on.
    edges: Vec<f64>,
}

impl Following {
    /// Of the run that `manifest` is about, in intervals of `width_us`, which is not zero, or of a multiple of it where they
    /// would be more than 200,000.
    pub fn of(manifest: &Manifest, width_us: u64) -> Self {
        let streams = manifest.streams.iter().map(|summary| (summary.stream, StreamCuts::of(summary)));
        let streams: BTreeMap<u32, StreamCuts> = streams.collect();
        let width_us = width_us.max(1);
        let counts = streams.values().map(|stream| stream.length_us / width_us);
        let times = counts.fold(0, u64::saturating_add).div_ceil(MOST).max(1);
        Self { width_us: width_us.saturating_mul(times), streams }
    }

    /// Takes the next row of any table; its time is not before that of the last one.
    pub fn push(&mut self, row: &AnyRow) {
        let width_us = self.width_us;
        match row {
            AnyRow::Delivery(row) => self.count(row.stream, row.t_us, |stream, since_us| {
                stream.sent.observe(since_us, row.sent_bytes, width_us);
                stream.received.observe(since_us, row.received_bytes, width_us);
            }),
            AnyRow::Tcp(row) if row.end == StreamEnd::Sender => {
                self.count(row.stream, row.t_us, |stream, since_us| {
                    stream.retransmits.observe(since_us, u64::from(row.info.retransmits), width_us);
                    let look = SenderInfo {
                        cwnd_bytes: row.info.cwnd_bytes,
                        rwnd_bytes: row.info.rwnd_bytes.map(u64::from),
                        srtt_us: row.info.srtt_us.map(u64::from),
                        rttvar_us: row.info.rttvar_us.map(u64::from),
                    };
                    stream.looks.insert(interval_index(since_us, width_us), look);
                });
            }
            AnyRow::Udp(row) => self.count(row.stream, row.t_us, |stream, since_us| {
                stream.datagrams.observe(since_us, row.sent, width_us);
                stream.arrived.observe(since_us, row.received, width_us);
                if let Some(jitter_ns) = row.jitter_ns {
                    stream.jitters.insert(interval_index(since_us, width_us), jitter_ns);
                }
            }),
            AnyRow::Tcp(_)
            | AnyRow::Packets(_)
            | AnyRow::Datagrams(_)
            | AnyRow::Aqm(_)
            | AnyRow::Path(_)
            | AnyRow::Cpu(_)
            | AnyRow::Retransmit(_)
            | AnyRow::Ping(_) => {}
        }
    }

    /// Every stream's intervals, after the last row.
    pub fn finish(self) -> Vec<StreamIntervals> {
        let width_us = self.width_us;
        let intervals = |(stream, counted): (u32, StreamCuts)| StreamIntervals {
            stream,
            width_us,
            intervals: counted.finish(width_us),
        };
        self.streams.into_iter().map(intervals).collect()
    }

    /// Rows from after the stream's end belong to no interval.
    fn count(&mut self, stream: u32, t_us: u64, take: impl FnOnce(&mut StreamCuts, u64)) {
        let Some(stream) = self.streams.get_mut(&stream) else { return };
        let since_us = t_us.saturating_sub(stream.start_us);
        if t_us >= stream.start_us && since_us <= stream.length_us {
            take(stream, since_us);
        }
    }
}

impl StreamCuts {
    fn of(summary: &StreamSummary) -> Self {
        let life = interval::life(summary);
        Self {
            start_us: life.from_us,
            length_us: life.length_us(),
            sent: Cut::default(),
            received: Cut::default(),
            retransmits: Cut::default(),
            datagrams: Cut::default(),
            arrived: Cut::default(),
            looks: BTreeMap::new(),
            jitters: BTreeMap::new(),
            end: summary.clone(),
        }
    }

    fn finish(mut self, width_us: u64) -> Vec<Interval> {
        // What the socket took is known to the last byte; everything else as it was looked at last.
        self.sent.observe(self.length_us, self.end.sent_bytes, width_us);
        let count = usize::try_from(self.length_us.div_ceil(width_us)).unwrap_or(0);
        let [sent, received] = [self.sent, self.received].map(|cut| cut.steps(count));
        let retransmits = self.end.tcp.map(|_| self.retransmits.steps(count));
        let [datagrams, arrived] =
            [self.datagrams, self.arrived].map(|cut| self.end.udp.map(|_| cut.steps(count)));
        (0..count)
            .map(|at| Interval {
                from_us: at as u64 * width_us,
                to_us: (at as u64 + 1).saturating_mul(width_us).min(self.length_us),
                sent_bytes: sent[at],
                received_bytes: received[at],
                retransmits: retransmits.as_ref().map(|steps| steps[at]),
                datagrams: datagrams.as_ref().map(|steps| steps[at]),
                arrived: arrived.as_ref().map(|steps| steps[at]),
                jitter_ns: self.jitters.range(..=at).next_back().map(|(_, jitter_ns)| *jitter_ns),
                look: self.looks.range(..=at).next_back().map(|(_, look)| *look),
            })
            .collect()
    }
}

/// The interval of a time since the stream's beginning.
fn interval_index(since_us: u64, width_us: u64) -> usize {
    usize::try_from(since_us / width_us).unwrap_or(usize::MAX)
}

impl Cut {
    /// Takes the next sample; a count begins with nothing.
    fn observe(&mut self, since_us: u64, count: u64, width_us: u64) {
        let before = self.last.unwrap_or_default();
        while let Some(edge_us) =
            (self.edges.len() as u64 + 1).checked_mul(width_us).filter(|&edge_us| edge_us <= since_us)
        {
            self.edges.push(between(before, (since_us, count.max(before.1)), edge_us));
        }
        self.last = Some((since_us, count));
    }

    /// What came in each of `count` intervals; after the last sample nothing more.
    fn steps(self, count: usize) -> Vec<f64> {
        let last = self.last.map_or(0.0, |(_, count)| count as f64);
        let mut before = 0.0;
        let edges = self.edges.into_iter().chain(std::iter::repeat(last)).take(count);
        edges.map(|edge| edge - std::mem::replace(&mut before, edge)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(samples: &[(u64, u64)], count: usize) -> Vec<f64> {
        let mut cut = Cut::default();
        samples.iter().for_each(|&(t, count)| cut.observe(t, count, 10));
        cut.steps(count)
    }

    #[test]
    fn a_count_is_cut_at_the_edges_and_nothing_of_it_is_lost() {
        assert_eq!(cut(&[(5, 100), (15, 300), (32, 470)], 4), [200.0, 150.0, 100.0, 20.0]);
        assert_eq!(cut(&[(0, 0), (10, 7), (20, 9)], 2), [7.0, 2.0]);
        assert_eq!(cut(&[], 2), [0.0, 0.0]);
        let all: Vec<(u64, u64)> = (0..100).map(|n| (n * 7, n * n)).collect();
        assert!((cut(&all, 70).iter().sum::<f64>() - 99.0 * 99.0).abs() < 1e-6);
    }
}
