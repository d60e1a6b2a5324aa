//! What is known of a run beside a stream's own samples: both directions of the path, what passed lately, and the base round trip.

use super::history::History;
use super::way::Way;
use crate::metrics::window::{Window, flow_of};
use crate::models::headers::DEFAULT_MSS;
use pipefill_core::cell::{CellSpec, Direction, Protocol};
use pipefill_core::record::{AnyRow, Manifest};

/// From this share of the path's rate on, over a round trip, the path is full.
const FULL: f64 = 0.95;
/// A stream that gets less than this share of an equal part does not want more.
const MODEST: f64 = 0.9;

/// One run's facts.
pub(super) struct Facts<'a> {
    pub(super) spec: &'a CellSpec,
    /// What was seen last.
    pub(super) history: History,
    /// Forward, reverse.
    ways: [Way; 2],
    /// The path's fixed round trip, microseconds; 0 where it has none.
    pub(super) base_rtt_us: u64,
}

impl<'a> Facts<'a> {
    pub(super) fn of(manifest: &'a Manifest) -> Self {
        let spec = &manifest.run.cell.spec;
        let known = |stream: &'a _| flow_of(spec, stream).map(|flow| (stream, flow));
        Self {
            spec,
            history: History::of(manifest.streams.iter().filter_map(known)),
            ways: Direction::ALL.map(|direction| Way::of(manifest, direction)),
            base_rtt_us: u64::try_from(spec.path.rtt().as_micros()).unwrap_or(u64::MAX),
        }
    }

    /// Takes the next row of any table, in order of time.
    pub(super) fn take(&mut self, row: &AnyRow) {
        self.history.take(row);
    }

    pub(super) fn way(&self, direction: Direction) -> &Way {
        &self.ways[usize::from(direction != Direction::Forward)]
    }

    /// Whether the bottleneck of `direction` was busy over the whole of `window`: at its rate, or with something in the queue at
    /// every look.
    pub(super) fn is_busy(&self, direction: Direction, window: Window) -> bool {
        let way = self.way(direction);
        let Some(rate) = way.rate else { return false };
        let passed = self.history.passed(direction, window);
        // A bucket that was never empty lets anything through.
        if passed.wire_bytes_so_far <= way.burst as f64 {
            return false;
        }
        if passed.wire_bps >= FULL * rate.bps() as f64 {
            return true;
        }
        let (mut count, mut waiting) = (0, true);
        for backlog in self.history.queue_looks(direction, window) {
            count += 1;
            waiting &= backlog > 0;
        }
        waiting && count >= 2
    }

    /// What one more greedy stream of `direction` gets beside the others, bits per second of payload (max-min fairness): streams that take
    /// less than an equal part keep what they take, and `stream` and the rest share what is left. `None` where the path has no rate.
    pub(super) fn fair_share_bps(&self, direction: Direction, stream: u32, window: Window) -> Option<f64> {
        let capacity = self.way(direction).payload_bps(Protocol::Tcp, DEFAULT_MSS)?;
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
    pub(super) fn ack_wait_us(&self, direction: Direction, window: Window) -> Option<u64> {
        let back = direction.opposite();
        let (mut sum, mut count) = (0_u64, 0_u64);
        for backlog in self.history.queue_looks(back, window) {
            sum = sum.saturating_add(backlog);
            count += 1;
        }
        self.way(back).wait_us(sum.checked_div(count)?)
    }
}
