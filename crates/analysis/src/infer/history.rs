//! What was seen of a run in the last while: enough to judge an epoch that has just ended, and no more.

use super::known_path::KnownPath;
use super::known_run::KnownRun;
use super::open_window::OpenWindow;
use super::queue;
use crate::ground::count_at::between;
use crate::ground::interval::TimeInterval;
use crate::ground::models::headers::Headers;
use crate::ground::thresholds::Thresholds;
use pipefill_core::cell::{Direction, FlowSpec, Framing, Protocol};
use pipefill_core::evidence::{QuotaUse, ThreadUse};
use pipefill_core::record::{AnyRow, CpuSample, Element, StreamEnd, TcpSample, ThreadRole};
use pipefill_core::units::Bytes;
use std::collections::{BTreeMap, VecDeque};

/// A cumulative count as samples (microsecond, count) in order of time.
type Points = VecDeque<(u64, u64)>;

/// The samples of a queue by which it had dropped since the sample before.
#[derive(Debug, Default)]
struct Overflows {
    dropped: u64,
    at_us: VecDeque<u64>,
}

/// What one stream has got through.
#[derive(Debug)]
struct Through {
    flow: u32,
    direction: Direction,
    /// UDP: the payload of a datagram, by which the count of datagrams becomes bytes.
    datagram: u64,
    /// Protocol, and payload of a full segment or datagram.
    frame: (Protocol, u64),
    /// Payload: acknowledged (TCP), received (UDP).
    points: Points,
    /// What is acknowledged, in order and selectively, at the last sample.
    heard: [Option<u64>; 2],
    window: OpenWindow,
    /// Whether a sample of its sender shows that the sending process gave it nothing, and that the receiving one read nothing.
    starved: VecDeque<(u64, [bool; 2])>,
}

/// What was counted of a thread and of the quota of its cgroup, microseconds but for the periods.
#[derive(Debug, Default)]
struct ThreadCounts {
    cpu: Points,
    wait: Points,
    throttled_periods: Points,
    throttled: Points,
    cgroup_cpu: Points,
}

/// What passed in a direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Passed {
    /// Of all streams, as the path's rate counts it.
    pub(crate) wire_bps: f64,
    /// The same in bytes, since the run began.
    pub(crate) wire_bytes_so_far: f64,
    /// The share of one flow; `None` where nothing passed.
    pub(crate) own_share: Option<f64>,
}

/// The rows of the last while.
#[derive(Debug)]
pub(crate) struct History<'a> {
    thresholds: &'a Thresholds,
    streams: BTreeMap<u32, Through>,
    headers: Headers,
    /// Bytes in the bottleneck's queue: forward, reverse.
    queues: [VecDeque<(u64, u64)>; 2],
    /// Whether round trips tell of a queue that overflows, where the queue was not sampled: forward, reverse.
    waits: [VecDeque<(u64, bool)>; 2],
    /// When that queue dropped: forward, reverse.
    overflows: [Overflows; 2],
    threads: BTreeMap<ThreadRole, ThreadCounts>,
    /// Where the queues were not sampled: what is known of the path, by which round trips tell what they hold.
    path: Option<KnownPath>,
}

impl<'a> History<'a> {
    /// Of the streams of `run`, of which no row was seen yet.
    pub(crate) fn of(run: &KnownRun<'_>, thresholds: &'a Thresholds) -> Self {
        let headers = run.path.headers;
        let through = |index: u32, flow: &FlowSpec| Through {
            flow: index,
            direction: flow.direction,
            datagram: if flow.protocol == Protocol::Udp { flow.length.get() } else { 1 },
            frame: match flow.protocol {
                Protocol::Udp => (Protocol::Udp, flow.length.get()),
                other => (other, headers.mss()),
            },
            points: Points::new(),
            heard: [None; 2],
            window: OpenWindow::default(),
            starved: VecDeque::new(),
        };
        let streams = run.streams.iter();
        Self {
            thresholds,
            streams: streams
                .filter_map(|stream| Some((stream.stream, through(stream.flow, run.flow_of(stream)?))))
                .collect(),
            headers,
            queues: Default::default(),
            waits: Default::default(),
            overflows: Default::default(),
            threads: BTreeMap::new(),
            path: run.plan.is_none().then_some(run.path),
        }
    }

    /// Takes the next row of any table, in order of time.
    pub(crate) fn push(&mut self, row: &AnyRow) {
        match row {
            AnyRow::Tcp(row) if row.end == StreamEnd::Sender => {
                let info = &row.info;
                let rtt_us = info.srtt_us.map(u64::from);
                let heard = [info.bytes_acked, info.delivered_segments.map(u64::from)];
                self.acknowledged((row.stream, row.t_us), heard, info.mss_bytes, rtt_us);
                if let Some(through) = self.streams.get_mut(&row.stream) {
                    through.observe_ends(row, self.thresholds);
                }
            }
            AnyRow::Packets(row) if row.end == StreamEnd::Sender => {
                let heard = [row.acked_bytes, row.sacked_segments.into()].map(Some);
                let rtt_us = queue::data_rtt_of(row, self.thresholds);
                self.acknowledged((row.stream, row.t_us), heard, row.mss_bytes.into(), rtt_us);
            }
            AnyRow::Udp(row) => {
                if let Some(through) = self.streams.get_mut(&row.stream) {
                    let bytes = row.received.saturating_mul(through.datagram);
                    through.points.push_back((row.t_us, bytes));
                }
            }
            AnyRow::Path(row) if row.element == Element::Queue => {
                let direction = row.direction.index();
                self.queues[direction].push_back((row.t_us, row.backlog_bytes));
                self.overflows[direction].observe(row.t_us, row.dropped_packets);
            }
            AnyRow::Cpu(row) => match self.threads.get_mut(&row.thread) {
                Some(counts) => counts.add(row),
                None => self.threads.entry(row.thread.clone()).or_default().add(row),
            },
            AnyRow::Tcp(_)
            | AnyRow::Path(_)
            | AnyRow::Delivery(_)
            | AnyRow::Ping(_)
            | AnyRow::Packets(_)
            | AnyRow::Datagrams(_)
            | AnyRow::Aqm(_)
            | AnyRow::Retransmit(_) => {}
        }
    }

    /// A sender's sample: what is acknowledged so far, in order (payload) and selectively, the payload of a segment, and the round trip of the data.
    fn acknowledged(
        &mut self,
        (stream, t_us): (u32, u64),
        heard: [Option<u64>; 2],
        mss: u32,
        rtt_us: Option<u64>,
    ) {
        let Some(through) = self.streams.get_mut(&stream) else { return };
        if mss > 0 {
            through.frame.1 = u64::from(mss);
        }
        let is_measured = heard == [None; 2] || std::mem::replace(&mut through.heard, heard) != heard;
        through.points.extend(heard[0].map(|bytes| (t_us, bytes)));
        // Without an ACK the round trip is one of before: of an idle stream, of a time without the queue.
        if let Some((path, rtt_us)) = self.path.as_ref().zip(rtt_us.filter(|_| is_measured)) {
            let direction = through.direction.index();
            let bytes = queue::bytes_of(path, through.direction, rtt_us, self.thresholds);
            self.queues[direction].extend(bytes.map(|bytes| (t_us, bytes)));
            let is_full = queue::is_full(path, through.direction, rtt_us, self.thresholds);
            self.waits[direction].push_back((t_us, is_full));
        }
    }

    /// Drops what only an epoch from before `from_us` could ask for.
    pub(crate) fn forget(&mut self, from_us: u64) {
        for points in self.streams.values_mut().map(|through| &mut through.points) {
            forget_points(points, from_us);
        }
        // A quota is asked for around an interval.
        let around_us = from_us.saturating_sub(self.thresholds.quota_interval_us.whole());
        self.threads.values_mut().flat_map(ThreadCounts::all_mut).for_each(|it| forget_points(it, around_us));
        for Through { starved, .. } in self.streams.values_mut() {
            while starved.pop_front_if(|(t_us, _)| *t_us < around_us).is_some() {}
        }
        for queue in &mut self.queues {
            while queue.pop_front_if(|(t_us, _)| *t_us < from_us).is_some() {}
        }
        for waits in &mut self.waits {
            while waits.pop_front_if(|(t_us, _)| *t_us < from_us).is_some() {}
        }
        for Overflows { at_us, .. } in &mut self.overflows {
            while at_us.get(1).is_some_and(|&t_us| t_us <= from_us) {
                at_us.pop_front();
            }
        }
    }

    /// Payload that `stream` has got through by `t_us`.
    pub(crate) fn got_through(&self, stream: u32, t_us: u64) -> f64 {
        self.streams.get(&stream).map_or(0.0, |through| count_at(&through.points, t_us))
    }

    /// What all streams of `direction` got through in `window`, and of it those of `flow`, where each frame costs what `framing` says.
    pub(crate) fn passed(
        &self,
        direction: Direction,
        flow: u32,
        window: TimeInterval,
        framing: Framing,
    ) -> Passed {
        let (mut bytes, mut own, mut so_far) = (0.0, 0.0, 0.0);
        for through in self.streams.values().filter(|through| through.direction == direction) {
            let to = count_at(&through.points, window.to_us);
            let wire = self.wire(through.frame, framing);
            let passed = (to - count_at(&through.points, window.from_us)) * wire;
            bytes += passed;
            own += if through.flow == flow { passed } else { 0.0 };
            so_far += to * wire;
        }
        Passed {
            wire_bps: bytes * 8e6 / window.length_us().max(1) as f64,
            wire_bytes_so_far: so_far,
            own_share: (bytes > 0.0).then_some(own / bytes),
        }
    }

    /// What each other stream of `direction` that moved got through in `window`, bits per second of payload.
    pub(crate) fn others_bps(&self, direction: Direction, stream: u32, window: TimeInterval) -> Vec<f64> {
        let others = self
            .streams
            .iter()
            .filter(|&(&other, through)| other != stream && through.direction == direction);
        let bps = |points: &Points| {
            (count_at(points, window.to_us) - count_at(points, window.from_us)) * 8e6
                / window.length_us().max(1) as f64
        };
        others.map(|(_, through)| bps(&through.points)).filter(|&bps| bps > 0.0).collect()
    }

    /// What was in the bottleneck's queue at each sample in `window`, bytes.
    pub(crate) fn queue_samples(
        &self,
        direction: Direction,
        window: TimeInterval,
    ) -> impl Iterator<Item = u64> {
        within(&self.queues[direction.index()], window)
    }

    /// Whether the round trip told of a queue that overflows at each sample in `window`; nothing where the path was planned.
    pub(crate) fn waits(&self, direction: Direction, window: TimeInterval) -> impl Iterator<Item = bool> {
        within(&self.waits[direction.index()], window)
    }

    /// Bytes on the wire for each byte of payload.
    fn wire(&self, (protocol, payload): (Protocol, u64), framing: Framing) -> f64 {
        let frame = self.headers.frame(protocol, Bytes::new(payload)).get();
        framing.cost(frame) as f64 / payload.max(1) as f64
    }

    /// When the bottleneck's queue was last seen to have dropped, by `t_us`.
    pub(crate) fn last_overflow_us(&self, direction: Direction, t_us: u64) -> Option<u64> {
        let Overflows { at_us, .. } = &self.overflows[direction.index()];
        at_us.partition_point(|&at| at <= t_us).checked_sub(1).map(|last| at_us[last])
    }

    /// How the busiest thread with such a role spent its time between the samples around `window`.
    pub(crate) fn thread_use(
        &self,
        is_it: impl Fn(&ThreadRole) -> bool,
        window: TimeInterval,
    ) -> Option<ThreadUse> {
        let those = self.threads.iter().filter(|(role, _)| is_it(role));
        let used = those.filter_map(|(_, counts)| {
            let waited = share(&counts.wait, window).unwrap_or(0.0);
            Some(ThreadUse { computed: share(&counts.cpu, window)?, waited })
        });
        used.max_by(|a, b| a.total().total_cmp(&b.total()))
    }

    /// What a quota with this period did around `window` to the process of `end` of `stream`, whose thread is `thread`. Its counters move at
    /// the end of a period, and a shorter interval shows no whole one.
    pub(crate) fn quota_use(
        &self,
        (stream, end): (u32, StreamEnd),
        thread: &ThreadRole,
        period_us: u64,
        window: TimeInterval,
    ) -> Option<QuotaUse> {
        let counts = self.threads.get(thread)?;
        let missing_us = self.thresholds.quota_interval_us.whole().saturating_sub(window.length_us());
        let around = TimeInterval {
            from_us: window.from_us.saturating_sub(missing_us / 2),
            to_us: window.to_us.saturating_add(missing_us / 2),
        };
        let (mut samples, mut shown) = (0_u32, 0_u32);
        let starved = self.streams.get(&stream).map(|through| within(&through.starved, around));
        for ends in starved.into_iter().flatten() {
            samples += 1;
            shown += u32::from(ends[end as usize]);
        }
        Some(QuotaUse {
            periods: (share(&counts.throttled_periods, around)? * period_us as f64).min(1.0),
            held: share(&counts.throttled, around)?,
            used: share(&counts.cgroup_cpu, around),
            shown: f64::from(shown) / f64::from(samples.max(1)),
            has_carried: self.got_through(stream, around.to_us) > self.got_through(stream, around.from_us),
        })
    }
}

impl Through {
    /// Takes the next sample of its sender's socket.
    fn observe_ends(&mut self, row: &TcpSample, thresholds: &Thresholds) {
        let window = row.info.rwnd_bytes.map(u64::from);
        self.window.observe(window, row.info.bytes_acked.unwrap_or(0), thresholds.window_is_all.value());
        let narrow = thresholds.window_shrunk.value() * self.window.widest().unwrap_or(0) as f64;
        let is_unread = window.is_some_and(|window| window as f64 <= narrow);
        self.starved.push_back((row.t_us, [!row.info.may_have_unsent(), is_unread]));
    }
}

impl ThreadCounts {
    fn add(&mut self, row: &CpuSample) {
        let counts =
            [Some(row.cpu_us), row.wait_us, row.throttled_periods, row.throttled_us, row.cgroup_cpu_us];
        for (points, count) in self.all_mut().into_iter().zip(counts) {
            if let Some(count) = count {
                points.push_back((row.t_us, count));
            }
        }
    }

    const fn all_mut(&mut self) -> [&mut Points; 5] {
        let Self { cpu, wait, throttled_periods, throttled, cgroup_cpu } = self;
        [cpu, wait, throttled_periods, throttled, cgroup_cpu]
    }
}

/// Keeps one point at or before `from_us`.
fn forget_points(points: &mut Points, from_us: u64) {
    while points.get(1).is_some_and(|&(t_us, _)| t_us <= from_us) {
        points.pop_front();
    }
}

/// The values of `samples`, in order of time, in `window`.
fn within<T: Copy>(samples: &VecDeque<(u64, T)>, window: TimeInterval) -> impl Iterator<Item = T> {
    let from = samples.partition_point(|&(t_us, _)| t_us < window.from_us);
    samples.range(from..).take_while(move |(t_us, _)| *t_us < window.to_us).map(|&(_, value)| value)
}

impl Overflows {
    fn observe(&mut self, t_us: u64, dropped: u64) {
        if dropped > self.dropped {
            self.at_us.push_back(t_us);
        }
        self.dropped = dropped;
    }
}

/// The count at `t_us`, between two samples in proportion.
fn count_at(points: &Points, t_us: u64) -> f64 {
    let next = points.partition_point(|&(t, _)| t < t_us);
    match (next.checked_sub(1).map(|before| points[before]), points.get(next)) {
        (Some(before), Some(&after)) => between(before, after, t_us),
        (Some((_, bytes)), None) | (None, Some(&(_, bytes))) => bytes as f64,
        (None, None) => 0.0,
    }
}

/// A count over microseconds of wall time between the last sample before `window` and the first after it.
fn share(points: &Points, window: TimeInterval) -> Option<f64> {
    let begin = points.partition_point(|&(t, _)| t <= window.from_us).saturating_sub(1);
    let end = points.partition_point(|&(t, _)| t < window.to_us).min(points.len().checked_sub(1)?);
    let ((t0, before), (t1, after)) = (points[begin], points[end]);
    (t1 > t0).then(|| after.saturating_sub(before) as f64 / (t1 - t0) as f64)
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::{manifest, of_sender};
    use super::*;
    use crate::ground::thresholds::STANDARD;
    use pipefill_core::record::PathSample;
    use pipefill_core::tcp_info::TcpInfo;

    fn path_row(t_us: u64, dropped_packets: u64) -> AnyRow {
        AnyRow::Path(PathSample {
            t_us,
            direction: Direction::Forward,
            element: Element::Queue,
            backlog_packets: 0,
            backlog_bytes: 0,
            dropped_packets,
        })
    }

    #[test]
    fn the_queues_last_drop_is_found_after_what_was_before_is_forgotten() {
        let mut history = History::of(&KnownRun::of(&manifest("[[flow]]\n")), &STANDARD);
        for (t_us, dropped) in [(10, 0), (20, 3), (30, 3), (40, 4), (50, 4)] {
            history.push(&path_row(t_us, dropped));
        }
        let last = |history: &History<'_>, t_us| history.last_overflow_us(Direction::Forward, t_us);
        assert_eq!(
            [19, 20, 39, 40, 90].map(|t_us| last(&history, t_us)),
            [None, Some(20), Some(20), Some(40), Some(40)]
        );
        history.forget(39);
        assert_eq!([last(&history, 39), last(&history, 90)], [Some(20), Some(40)]);
        history.forget(60);
        assert_eq!(last(&history, 90), Some(40));
        assert_eq!(history.last_overflow_us(Direction::Reverse, 90), None);
    }

    #[test]
    fn a_quota_is_counted_over_several_of_its_periods_with_what_shows_it_at_each_end() {
        let manifest = manifest("[[flow]]\n");
        let mut history = History::of(&KnownRun::of(&manifest), &STANDARD);
        let thread = ThreadRole::Sender { flow: 0 };
        for tenth in 0..=20_u64 {
            let t_us = tenth * 100_000;
            // Only the second half of the time is throttled: 60 ms of each period, in two of three of them.
            let periods = tenth.saturating_sub(10) * 2 / 3;
            history.push(&AnyRow::Cpu(CpuSample {
                throttled_periods: Some(periods),
                throttled_us: Some(periods * 60_000),
                ..CpuSample::of_thread(t_us, thread.clone(), 0, None)
            }));
            let info = TcpInfo {
                notsent_bytes: Some((tenth % 2) as u32),
                rwnd_bytes: Some(if tenth % 4 == 3 { 70 } else { 100 }),
                ..TcpInfo::default()
            };
            history.push(&AnyRow::Tcp(of_sender(t_us, info)));
        }
        let at = |from_us, end| {
            let window = TimeInterval { from_us, to_us: from_us + 20_000 };
            history.quota_use((0, end), &thread, 100_000, window)
        };
        let quiet = at(500_000, StreamEnd::Sender).unwrap();
        assert_eq!((quiet.periods, quiet.held, quiet.used), (0.0, 0.0, None));
        let held = at(1_500_000, StreamEnd::Sender).unwrap();
        assert!((0.5..0.8).contains(&held.periods) && (0.3..0.5).contains(&held.held), "{held:?}");
        assert!((0.4..=0.6).contains(&held.shown), "every second sample has nothing to send: {held:?}");
        let shut = at(1_500_000, StreamEnd::Receiver).unwrap().shown;
        assert!((0.2..=0.4).contains(&shut), "every fourth window has shrunk: {shut}");
        assert!(
            history
                .quota_use((0, StreamEnd::Sender), &ThreadRole::Telemetry, 1, TimeInterval::default())
                .is_none()
        );
    }

    #[test]
    fn what_is_left_answers_as_before_for_what_is_to_come() {
        let mut history = History::of(&KnownRun::of(&manifest("[[flow]]\n")), &STANDARD);
        let thread = ThreadRole::Sender { flow: 0 };
        for t_us in (0..100).step_by(10) {
            let (cpu_us, wait_us) = (t_us * t_us / 100, Some(t_us / 2));
            history.push(&AnyRow::Cpu(CpuSample::of_thread(t_us, thread.clone(), cpu_us, wait_us)));
        }
        let window = TimeInterval { from_us: 55, to_us: 75 };
        let used = |history: &History<'_>| history.thread_use(|role| role.flow() == Some(0), window);
        let before = used(&history);
        history.forget(55 + STANDARD.quota_interval_us.whole());
        assert_eq!(history.threads[&thread].cpu.len(), 5);
        assert_eq!(before, Some(ThreadUse { computed: 1.3, waited: 0.5 }));
        assert_eq!(used(&history), before);
        assert_eq!(history.thread_use(|role| role.flow() == Some(1), window), None);
    }
}
