//! What is known of a run beside a stream's own samples: both directions of the path, what passed lately, and the base round trip.

use super::history::History;
use super::rules::FULL;
use super::way::Way;
use crate::ground::interval::{TimeInterval, flow_of};
use crate::ground::models::headers::Headers;
use pipefill_core::cell::{CellSpec, Direction, Protocol};
use pipefill_core::record::{AnyRow, Manifest, PathFacts};

/// A stream that gets less than this share of an equal part does not want more.
const MODEST: f64 = 0.9;

/// Where fewer pass while a round trip is long, timers are waited for, and it is one of before.
const FEWEST_FRAMES: f64 = 8.0;
/// Less than one part in so many of what goes one way fills no queue of the other.
const NEXT_TO_NOTHING: u64 = 20;

/// One run's facts.
pub(super) struct Facts<'a> {
    pub(super) spec: &'a CellSpec,
    /// What was seen last.
    pub(super) history: History,
    /// Forward, reverse.
    ways: [Way; 2],
    /// Payload of all streams over their whole lives: forward, reverse.
    carried: [u64; 2],
    /// The path's fixed round trip, microseconds; 0 where it has none.
    pub(super) base_rtt_us: u64,
    /// What is known of the path of observed connections; `None` where it was planned.
    pub(super) observed: Option<&'a PathFacts>,
}

impl<'a> Facts<'a> {
    pub(super) fn of(manifest: &'a Manifest) -> Self {
        let spec = &manifest.run.cell.spec;
        let observed = manifest.subject.observed().map(|observed| &observed.path);
        let known = |stream: &'a _| flow_of(spec, stream).map(|flow| (stream, flow));
        let mut carried = [0; 2];
        for (stream, flow) in manifest.streams.iter().filter_map(known) {
            let sum: &mut u64 = &mut carried[flow.direction.index()];
            *sum = sum.saturating_add(stream.received_bytes);
        }
        Self {
            spec,
            carried,
            history: History::of(manifest.streams.iter().filter_map(known), Headers::of(&spec.path))
                .on(observed.cloned()),
            ways: Direction::ALL.map(|direction| Way::of(manifest, direction)),
            base_rtt_us: u64::try_from(spec.path.rtt().as_micros()).unwrap_or(u64::MAX),
            observed,
        }
    }

    /// Takes the next row of any table, in order of time.
    pub(super) fn take(&mut self, row: &AnyRow) {
        self.history.take(row);
    }

    pub(super) fn way(&self, direction: Direction) -> &Way {
        &self.ways[direction.index()]
    }

    /// Whether the bottleneck of `direction` was busy over the whole of `window`: at its rate, or with something in the queue at
    /// every look. Where others share it its rate may not be known: then its queue has to be one that drops.
    pub(super) fn is_busy(&self, direction: Direction, window: TimeInterval) -> bool {
        let way = self.way(direction);
        let passed = self.history.passed(direction, window, way.overhead);
        let Some(rate) = way.rate else {
            let frames =
                passed.wire_bps * window.length_us() as f64 / 8e6 / self.spec.path.full_frame().get() as f64;
            return !self.is_two_way(direction)
                && frames >= FEWEST_FRAMES
                && is_always(self.history.waits(direction, window));
        };
        // A bucket that was never empty lets anything through.
        if passed.wire_bytes_so_far <= way.burst as f64 {
            return false;
        }
        passed.wire_bps >= FULL * rate.bps() as f64
            || is_always(self.history.queue_looks(direction, window).map(|backlog| backlog > 0))
    }

    /// Whether enough goes the other way than `direction` for a queue there to make the round trips long.
    fn is_two_way(&self, direction: Direction) -> bool {
        let carried = |direction: Direction| self.carried[direction.index()];
        carried(direction.opposite()).saturating_mul(NEXT_TO_NOTHING) >= carried(direction)
    }

    /// What one more greedy stream of `direction` gets beside the others, bits per second of payload (max-min fairness): streams that take
    /// less than an equal part keep what they take, and `stream` and the rest share what is left. `None` where the path has no rate.
    pub(super) fn fair_share_bps(
        &self,
        direction: Direction,
        stream: u32,
        window: TimeInterval,
    ) -> Option<f64> {
        let capacity = self.way(direction).payload_bps(Protocol::Tcp, Headers::of(&self.spec.path).mss())?;
        let mut others: Vec<f64> = self.history.others_bps(direction, stream, window);
        others.sort_by(f64::total_cmp);
        let (mut left, mut sharing) = (capacity, others.len() as f64 + 1.0);
        for taken in others {
            if taken >= MODEST * left / sharing {
                break;
            }
            left -= taken;
            sharing -= 1.0;
        }
        Some(left / sharing)
    }

    /// What waits for the ACKs of data that goes in `direction`: the mean wait in the queue of the way back.
    pub(super) fn ack_wait_us(&self, direction: Direction, window: TimeInterval) -> Option<u64> {
        let back = direction.opposite();
        let (mut sum, mut count) = (0_u64, 0_u64);
        for backlog in self.history.queue_looks(back, window) {
            sum = sum.saturating_add(backlog);
            count += 1;
        }
        self.way(back).wait_us(sum.checked_div(count)?)
    }
}

/// Whether each of several looks saw it.
fn is_always(looks: impl Iterator<Item = bool>) -> bool {
    let (mut count, mut seen) = (0, 0);
    for look in looks {
        count += 1;
        seen += u32::from(look);
    }
    count >= 2 && seen == count
}

#[cfg(test)]
mod tests {
    use super::super::samples::{acked, manifest, of_sender, queue};
    use super::*;
    use pipefill_core::record::{Fact, LossKind, Observed, Subject};
    use pipefill_core::tcp_info::TcpInfo;

    const WINDOW: TimeInterval = TimeInterval { from_us: 1_000_000, to_us: 2_000_000 };

    fn facts<'a>(manifest: &'a Manifest, rows: &[AnyRow]) -> Facts<'a> {
        let mut facts = Facts::of(manifest);
        rows.iter().for_each(|row| facts.take(row));
        facts
    }

    fn flowing(stream: u32, mbit: u64) -> Vec<AnyRow> {
        (0..=30).map(|tenth| acked(tenth * 100_000, stream, tenth * mbit * 12_500)).collect()
    }

    fn path(more: &str) -> Manifest {
        let flows = "[[flow]]\n[[flow]]\n[[flow]]\n";
        manifest(&format!("[path]\nrate = \"100mbit\"\nrtt = \"20ms\"\n{more}{flows}"))
    }

    #[test]
    fn a_path_is_busy_at_its_rate_with_headers_or_with_a_queue_at_every_look() {
        let manifest = path("");
        let is_busy = |rows: &[AnyRow]| facts(&manifest, rows).is_busy(Direction::Forward, WINDOW);
        assert!(is_busy(&[flowing(0, 50), flowing(1, 42)].concat()), "92 of payload are 96 on the wire");
        assert!(!is_busy(&flowing(0, 85)));
        let looks = |bytes: u64| {
            [flowing(0, 10), (0..30).map(|n| queue(n * 100_000, Direction::Forward, bytes, 0)).collect()]
                .concat()
        };
        assert_eq!([is_busy(&looks(1514)), is_busy(&looks(0))], [true, false]);
        let other_way: Vec<AnyRow> =
            (0..30).map(|n| queue(n * 100_000, Direction::Reverse, 1514, 0)).collect();
        assert!(!is_busy(&[flowing(0, 10), other_way].concat()));
    }

    /// Of a path that nobody planned, with a base round trip of 20 ms, where a queue has dropped and no rate is known.
    #[test]
    fn a_path_without_a_rate_is_busy_while_a_queue_that_drops_stands() {
        let is_busy = |rtt_ms: u32, mbit: u64, carried_back: u64, loss: LossKind| {
            let mut manifest = manifest("[[flow]]\n[[flow]]\ndirection = \"reverse\"\n");
            let mut path = PathFacts { base_rtt_us: Some(Fact::inferred(20_000)), ..PathFacts::default() };
            path.forward.loss = Some(Fact::inferred(loss));
            path.forward.overflow_rtt_us = path.forward.has_full_queue().then(|| Fact::inferred(40_000));
            manifest.subject = Subject::Observed(Observed { path, ..Observed::default() });
            (manifest.streams[0].received_bytes, manifest.streams[1].received_bytes) =
                (1_000_000, carried_back);
            let row = |tenth: u64| {
                let info = TcpInfo {
                    bytes_acked: Some(tenth * mbit * 12_500),
                    mss_bytes: 1448,
                    srtt_us: Some(rtt_ms * 1_000),
                    ..TcpInfo::default()
                };
                AnyRow::Tcp(of_sender(tenth * 100_000, info))
            };
            facts(&manifest, &(0..=30).map(row).collect::<Vec<_>>()).is_busy(Direction::Forward, WINDOW)
        };
        assert!(is_busy(25, 10, 49_999, LossKind::Queue));
        assert!(!is_busy(24, 10, 0, LossKind::Queue), "a burst waits for its own beginning");
        assert!(is_busy(79, 10, 0, LossKind::Queue));
        assert!(!is_busy(80, 10, 0, LossKind::Queue), "what waits so long is not lost: ACKs");
        assert!(!is_busy(25, 0, 0, LossKind::Queue), "nothing moves: the round trip is one of before");
        assert!(!is_busy(25, 10, 50_000, LossKind::Queue), "the queue may be that of the other way");
        assert!(!is_busy(25, 10, 0, LossKind::Chance));
    }

    #[test]
    fn a_bucket_that_was_never_empty_makes_no_path_full() {
        let manifest = path("burst = \"64MiB\"\n");
        assert!(!facts(&manifest, &flowing(0, 100)).is_busy(Direction::Forward, WINDOW));
    }

    #[test]
    fn the_fair_share_is_what_modest_streams_leave_in_equal_parts() {
        let manifest = path("");
        let share = |others: &[(u32, u64)]| {
            let rows: Vec<AnyRow> = others.iter().flat_map(|&(stream, mbit)| flowing(stream, mbit)).collect();
            facts(&manifest, &rows)
                .fair_share_bps(Direction::Forward, 0, WINDOW)
                .map(|bps| (bps / 1e6).round())
        };
        assert_eq!(share(&[(0, 5)]), Some(96.0), "alone");
        assert_eq!(share(&[(0, 5), (1, 90)]), Some(48.0));
        assert_eq!(share(&[(0, 5), (1, 6), (2, 80)]), Some(45.0));
    }

    #[test]
    fn acks_wait_in_the_queue_of_the_way_back() {
        let manifest = path("reverse_rate = \"1mbit\"\n");
        let rows: Vec<AnyRow> = (0..30).map(|n| queue(n * 100_000, Direction::Reverse, 12_500, 0)).collect();
        assert_eq!(facts(&manifest, &rows).ack_wait_us(Direction::Forward, WINDOW), Some(100_000));
        assert_eq!(facts(&manifest, &rows).ack_wait_us(Direction::Reverse, WINDOW), None, "nobody looked");
    }
}
