//! What is known of a run beside a stream's own samples: both directions of the path, what passed lately, the base round trip; and the
//! evidence on an epoch that follows.

use super::epochs::Epoch;
use super::history::History;
use super::known_run::KnownRun;
use super::way::PathDirection;
use crate::ground::interval::TimeInterval;
use crate::ground::thresholds::Thresholds;
use pipefill_core::cell::{Direction, FlowSpec, Protocol};
use pipefill_core::evidence::{
    BufferEvidence, Evidence, Offer, PathEvidence, Plan, QuotaUse, ReceiverMemory, SenderEvidence, ThreadUse,
};
use pipefill_core::record::{AnyRow, CpuQuota, StreamEnd, StreamSummary, ThreadRole};
use pipefill_core::units::Rate;

/// A stream and what was asked of it.
#[derive(Clone, Copy)]
pub(crate) struct AskedStream<'a> {
    /// Index of the flow.
    pub(crate) flow_index: u32,
    pub(crate) flow: &'a FlowSpec,
    pub(crate) summary: &'a StreamSummary,
}

/// One run's facts.
pub(crate) struct RunFacts<'a> {
    pub(crate) run: KnownRun<'a>,
    pub(crate) thresholds: &'a Thresholds,
    /// What was seen last.
    pub(crate) history: History<'a>,
    /// Forward, reverse.
    ways: [PathDirection; 2],
    /// Payload of all streams over their whole lives: forward, reverse.
    carried: [u64; 2],
}

impl<'a> RunFacts<'a> {
    pub(crate) fn of(run: KnownRun<'a>, thresholds: &'a Thresholds) -> Self {
        let mut carried = [0; 2];
        for stream in run.streams {
            if let Some(flow) = run.flow_of(stream) {
                let sum: &mut u64 = &mut carried[flow.direction.index()];
                *sum = sum.saturating_add(stream.received_bytes);
            }
        }
        Self {
            thresholds,
            carried,
            history: History::of(&run, thresholds),
            ways: Direction::ALL.map(|direction| PathDirection::of(&run, direction, thresholds)),
            run,
        }
    }

    /// The path's fixed round trip, microseconds; 0 where it has none.
    pub(crate) fn base_rtt_us(&self) -> u64 {
        self.run.path.base_rtt_us().unwrap_or(0)
    }

    /// Takes the next row of any table, in order of time.
    pub(crate) fn push(&mut self, row: &AnyRow) {
        self.history.push(row);
    }

    pub(crate) fn way(&self, direction: Direction) -> &PathDirection {
        &self.ways[direction.index()]
    }

    /// The evidence on `epoch` of `stream`.
    pub(crate) fn evidence(&self, epoch: &Epoch, stream: AskedStream<'_>) -> Evidence {
        let interval = epoch.interval;
        let flow = stream.flow;
        let kept = |rate: Rate| self.kept_share(epoch, stream, rate);
        let [sender_quota, receiver_quota] = self.quota_uses(stream, interval);
        Evidence {
            from_us: interval.from_us,
            to_us: interval.to_us,
            plan: self.run.plan.map(|_| Plan { pacing_kept: flow.max_pacing_rate.map(kept) }),
            offer: flow.bitrate.map(|rate| Offer { kept: kept(rate) }),
            sender: Some(SenderEvidence {
                is_flight_estimated: self.run.is_flight_estimated(),
                // What does not print the flight prints no threshold of slow start either.
                has_ssthresh: self.run.is_flight_estimated() || epoch.sender.has_ssthresh,
                sndbuf_least: epoch.sender.sndbuf_least.filter(|_| !self.run.is_single_reading()),
                acked_so_far: self.run.before.acked_bytes.saturating_add(epoch.sender.acked_so_far),
                ..epoch.sender.clone()
            }),
            packets: epoch.packets,
            receiver: epoch.unread_share.map(|unread_share| ReceiverMemory { unread_share }),
            arrivals: None,
            buffers: BufferEvidence::default(),
            path: self.path_evidence(stream, epoch),
            sender_thread: self.thread_use(stream, StreamEnd::Sender, interval),
            receiver_thread: self.thread_use(stream, StreamEnd::Receiver, interval),
            path_thread: self.history.thread_use(|role| matches!(role, ThreadRole::Path(_)), interval),
            sender_quota,
            receiver_quota,
            datagrams: None,
            udp_socket: None,
            waiting: None,
            may_lose_full_segments: false,
        }
    }

    /// What got through or is under way since the stream's start, but for the write in progress, over what `rate` gives by then.
    fn kept_share(&self, epoch: &Epoch, stream: AskedStream<'_>, rate: Rate) -> f64 {
        let since_us = epoch.interval.to_us.saturating_sub(stream.summary.start_us);
        let wanted = rate.bps() as f64 / 8e6 * since_us as f64;
        let under_way = epoch.sender.unacked_peak.max(stream.flow.length.get()) as f64;
        let got = self.history.got_through(stream.summary.stream, epoch.interval.to_us) + under_way;
        if wanted > 0.0 { got / wanted } else { f64::INFINITY }
    }

    fn path_evidence(&self, stream: AskedStream<'_>, epoch: &Epoch) -> PathEvidence {
        let (direction, interval) = (stream.flow.direction, epoch.interval);
        let way = self.way(direction);
        let passed = self.history.passed(direction, stream.flow_index, interval, way.framing);
        let (rate, is_cut) = match way.rate(interval) {
            // In an outage nothing passes, however large the rate is.
            Some(rate) if rate.value.bps() == 0 => (None, true),
            rate => (rate, false),
        };
        let carried = |direction: Direction| self.carried[direction.index()] as f64;
        let frame = self.run.path.headers.full_frame().get() as f64;
        PathEvidence {
            base_rtt_us: self.base_rtt_us(),
            rate_bps: rate.map(|rate| rate.map(Rate::bps)),
            is_the_hosts: way.is_the_hosts,
            rate_used: rate.map(|rate| passed.wire_bps / rate.value.bps() as f64),
            own_share: passed.own_share,
            is_within_burst: passed.wire_bytes_so_far <= way.burst as f64,
            is_cut,
            drops_full_segments: self.run.path.drops_segments_of(direction, epoch.sender.mss),
            queue_always: is_always(
                self.history.queue_samples(direction, interval).map(|backlog| backlog > 0),
            ),
            overflow_always: is_always(self.history.waits(direction, interval)),
            frames: passed.wire_bps * interval.length_us() as f64 / 8e6 / frame,
            back_share: over(carried(direction.opposite()), carried(direction)),
            fair_share_bps: self.fair_share_bps(direction, stream.summary.stream, interval),
            line_rate_bps: None,
        }
    }

    /// How the thread that works most for `end` of the stream spent its time.
    pub(crate) fn thread_use(
        &self,
        stream: AskedStream<'_>,
        end: StreamEnd,
        interval: TimeInterval,
    ) -> Option<ThreadUse> {
        let is_own = |role: &ThreadRole| match role {
            ThreadRole::Sender { flow } => end == StreamEnd::Sender && *flow == stream.flow_index,
            ThreadRole::Receiver { flow, stream: received } => {
                end == StreamEnd::Receiver
                    && *flow == stream.flow_index
                    && received.is_none_or(|received| received == stream.summary.stream)
            }
            _ => false,
        };
        self.history.thread_use(is_own, interval)
    }

    /// What the CPU quotas of the processes that send and receive the stream did around `interval`.
    pub(crate) fn quota_uses(
        &self,
        stream: AskedStream<'_>,
        interval: TimeInterval,
    ) -> [Option<QuotaUse>; 2] {
        let flow = stream.flow_index;
        let [sends, receives] = self.run.by_role(stream.flow.direction).map(|end| end.quota);
        let of = |quota: Option<&CpuQuota>, end, thread| {
            self.history.quota_use((stream.summary.stream, end), &thread, quota?.period_us, interval)
        };
        [
            of(sends, StreamEnd::Sender, ThreadRole::Sender { flow }),
            of(receives, StreamEnd::Receiver, ThreadRole::Receiver { flow, stream: None }),
        ]
    }

    /// What one more greedy stream of `direction` gets beside the others, bits per second of payload (max-min fairness): streams that take
    /// less than an equal part keep what they take, and `stream` and the rest share what is left. `None` where the path has no rate.
    fn fair_share_bps(&self, direction: Direction, stream: u32, interval: TimeInterval) -> Option<f64> {
        let capacity =
            self.way(direction).payload_bps(interval, Protocol::Tcp, self.run.path.headers.mss())?;
        let mut others: Vec<f64> = self.history.others_bps(direction, stream, interval);
        others.sort_by(f64::total_cmp);
        let (mut left, mut sharing) = (capacity, others.len() as f64 + 1.0);
        for taken in others {
            if taken >= self.thresholds.modest.value() * left / sharing {
                break;
            }
            left -= taken;
            sharing -= 1.0;
        }
        Some(left / sharing)
    }

    /// What waits for the ACKs of data that goes in `direction`: the mean wait in the queue of the way back.
    pub(crate) fn ack_wait_us(&self, direction: Direction, interval: TimeInterval) -> Option<u64> {
        let back = direction.opposite();
        let (mut sum, mut count) = (0_u64, 0_u64);
        for backlog in self.history.queue_samples(back, interval) {
            sum = sum.saturating_add(backlog);
            count += 1;
        }
        self.way(back).wait_us(interval, sum.checked_div(count)?)
    }
}

/// `part` over `whole`; without bound over nothing.
fn over(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { f64::INFINITY }
}

/// Whether each of several samples shows it.
fn is_always(samples: impl Iterator<Item = bool>) -> bool {
    let (mut count, mut seen) = (0, 0);
    for is_seen in samples {
        count += 1;
        seen += u32::from(is_seen);
    }
    count >= 2 && seen == count
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::{acked, manifest, queue};
    use super::*;
    use crate::ground::thresholds::STANDARD;
    use pipefill_core::record::Manifest;

    const WINDOW: TimeInterval = TimeInterval { from_us: 1_000_000, to_us: 2_000_000 };

    fn facts<'a>(manifest: &'a Manifest, rows: &[AnyRow]) -> RunFacts<'a> {
        let mut facts = RunFacts::of(KnownRun::of(manifest), &STANDARD);
        rows.iter().for_each(|row| facts.push(row));
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
