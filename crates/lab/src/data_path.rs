//! The emulator in the middle: takes packets from one interface (or sees their headers, where the kernel holds them), asks `link` about every
//! MTU segment, and hands what survives to the other interface when it is due.
//!
//! One [`Forwarder`] a direction, each on its own thread. A packet's delay counts from the kernel's own receive timestamp, and
//! everything inside the path happens at its exact virtual instant; only the moment of release depends on how punctual
//! this thread is, and that is measured. Never: a decision about a packet's fate (that is `link`'s), or a silent drop.

use crate::batch::{Batch, Segment};
use crate::clock::RunClock;
use crate::datagrams::{DatagramFlows, DatagramTable};
use crate::ends::{Arriving, Ends, Leaving};
use crate::frame::Frame;
use crate::icmp::packet_too_big;
use crate::lateness::{LatenessMeter, StallLog};
use crate::overflow::{DropLog, noticed};
use crate::sys::thread;
use crate::topology::Middle;
use crate::wait::until_ready;
use nix::poll::PollFlags;
use pipefill_core::cell::{CellSpec, Direction, DirectionSpec, PathSpec, Payload};
use pipefill_core::problem::Problem;
use pipefill_core::record::{AqmSample, AqmSummary, DropReason, Lateness, Stall};
use pipefill_core::units::{Bytes, Rate, Seed, Time};
use pipefill_link::{Backlog, Counters, OneWay, Packet};
use std::fs;
use std::io;
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Longest sleep: the ring has to hold what arrives meanwhile.
const LONGEST_SLEEP: Duration = Duration::from_millis(1);
/// Least time between two releases: packets that fall due closer together leave together, as a NIC's interrupt
/// moderation (and GRO) would deliver them. Waking for each segment of a 1 Gbit/s path would cost a core.
const MODERATION: Duration = Duration::from_micros(40);
/// After a sleep longer than this the CPU is slow to wake …
const DEEP_SLEEP: Duration = Duration::from_micros(300);
/// … by about this much, so that the thread is woken earlier and spins for the rest: at most a fifth of the time.
const WAKE_UP: Duration = Duration::from_micros(60);
/// How often the published state is refreshed.
const PUBLISH_EVERY: Duration = Duration::from_millis(1);
/// How often what was counted of each flow of datagrams is.
const PUBLISH_DATAGRAMS_EVERY: Duration = Duration::from_millis(10);
/// How often a poll looks at the stop flag.
const STOP_CHECK: Duration = Duration::from_millis(50);

/// What a forwarder shows while it runs, read by the telemetry.
#[derive(Debug, Clone, Default)]
pub(crate) struct PathState {
    /// The time from which the path's changes count; set by the thread that starts the traffic.
    pub(crate) begin: Begin,
    pub(crate) counters: Counters,
    /// The largest lateness of a release.
    pub(crate) latest: Duration,
    pub(crate) backlog: Vec<Backlog>,
    /// How the queue's discipline stands; `None` where it is drop-tail.
    pub(crate) aqm: Option<AqmSample>,
    /// Nothing where the forwarder does not count them.
    pub(crate) datagrams: DatagramFlows,
}

/// What a forwarder reports at its end.
pub(crate) struct ForwarderReport {
    pub(crate) lateness: Option<Lateness>,
    pub(crate) stalls: Vec<Stall>,
    /// When the queue began to drop.
    pub(crate) drops_began: Vec<Time>,
    /// What the discipline of the queue did; `None` where that is drop-tail.
    pub(crate) aqm: Option<AqmSummary>,
    pub(crate) ring_drops: u64,
    pub(crate) transmit_drops: u64,
    pub(crate) real_time: bool,
}

/// When the traffic begins.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum Begin {
    #[default]
    Unknown,
    At(Time),
    /// With the first packet of a direction, since it is not known otherwise when a program begins.
    WithFirstPacket,
}

impl PathState {
    /// The traffic of both directions begins.
    pub(crate) fn begin(states: [&Mutex<Self>; 2], begin: Begin) {
        for mut state in states.into_iter().filter_map(|state| state.lock().ok()) {
            state.begin = begin;
        }
    }
}

/// One direction of the path on a real clock.
pub(crate) struct Forwarder<'a> {
    direction: Direction,
    spec: &'a DirectionSpec,
    /// What a full frame takes.
    frame: Bytes,
    /// Whether the receiver's interface joins segments.
    has_gro: bool,
    rtt: Duration,
    /// From which lateness on a stall is kept.
    noticed: Duration,
    seed: Seed,
    clock: RunClock,
    ends: Ends<'a>,
    state: &'a Mutex<PathState>,
    stop: &'a AtomicBool,
    counts_datagrams: bool,
}

impl<'a> Forwarder<'a> {
    /// The data path of `direction` on the path of `spec`, through `middle`.
    pub(crate) fn between(
        middle: &'a Middle,
        spec: &'a CellSpec,
        direction: Direction,
        seed: Seed,
        clock: RunClock,
        state: &'a Mutex<PathState>,
        stop: &'a AtomicBool,
    ) -> Self {
        let path = &spec.path;
        Self {
            direction,
            spec: path.way(direction),
            frame: path.full_frame(),
            has_gro: spec.data_receiver(direction).offloads.gro != Some(false),
            rtt: path.rtt(),
            noticed: noticed(path),
            seed,
            clock,
            ends: Ends::of(middle, direction),
            state,
            stop,
            counts_datagrams: false,
        }
    }

    /// Counts each flow of datagrams. For a path that keeps payload.
    pub(crate) const fn counting_datagrams(self) -> Self {
        Self { counts_datagrams: true, ..self }
    }

    /// Carries packets until `stop` is set.
    pub(crate) fn run(&self) -> io::Result<ForwarderReport> {
        thread::without_timer_slack();
        let real_time = thread::real_time();
        if !real_time {
            thread::short_slices();
        }
        let mut flow = Flow::new(self)?;
        while !self.stop.load(Ordering::Relaxed) {
            flow.ingest()?;
            flow.release();
            flow.publish();
            flow.wait()?;
        }
        flow.publish_now();
        flow.publish_datagrams();
        Ok(ForwarderReport {
            lateness: flow.lateness.summary(),
            stalls: flow.stalls.into_stalls(),
            drops_began: flow.drops.into_beginnings(),
            aqm: flow.path.aqm().map(|aqm| aqm.summary(self.direction)),
            ring_drops: self.ends.drops()? + flow.packets.drops(),
            transmit_drops: flow.transmit_drops,
            real_time,
        })
    }
}

/// The moving parts of a running forwarder.
struct Flow<'a> {
    forwarder: &'a Forwarder<'a>,
    packets: Arriving<'a>,
    leaving: Leaving<'a>,
    path: OneWay<Segment>,
    /// Whether the path knows when the traffic begins.
    is_begun: bool,
    /// Every packet stays at least this long, so that an arrival need not wake the thread; zero where it has to.
    shortest_delay: Duration,
    lateness: LatenessMeter,
    /// The largest of them.
    latest: Duration,
    stalls: StallLog,
    drops: DropLog,
    transmit_drops: u64,
    next_gso_id: u64,
    /// The instant up to which the path has been advanced.
    advanced: Time,
    /// How much earlier than due the next packet is handed over.
    lead: Duration,
    /// When packets last left.
    released: Time,
    published: Time,
    datagrams: Option<DatagramTable>,
    datagrams_published: Time,
    batch: Batch,
}

impl<'a> Flow<'a> {
    fn new(forwarder: &'a Forwarder<'a>) -> io::Result<Self> {
        Ok(Self {
            forwarder,
            packets: forwarder.ends.arriving(memory(forwarder.spec, forwarder.frame))?,
            leaving: forwarder.ends.leaving(),
            path: OneWay::new(forwarder.spec, forwarder.rtt, forwarder.direction.as_str(), forwarder.seed),
            is_begun: false,
            shortest_delay: match forwarder.ends.is_narrow() {
                true => Duration::ZERO,
                false => shortest_delay(forwarder.spec),
            },
            lateness: LatenessMeter::new(),
            latest: Duration::ZERO,
            stalls: StallLog::new(forwarder.direction, forwarder.noticed),
            drops: DropLog::new(forwarder.rtt),
            transmit_drops: 0,
            next_gso_id: 0,
            advanced: Time::ZERO,
            lead: Duration::ZERO,
            released: Time::ZERO,
            published: Time::ZERO,
            datagrams: forwarder.counts_datagrams.then(|| DatagramTable::new(forwarder.spec)),
            datagrams_published: Time::ZERO,
            batch: Batch::new(forwarder.has_gro),
        })
    }

    /// Offers everything in the ring to the path, each packet at the instant at which the kernel saw it.
    fn ingest(&mut self) -> io::Result<()> {
        let clock = self.forwarder.clock;
        let offset = clock.realtime_offset();
        let (path, advanced, next_gso_id) = (&mut self.path, self.advanced, &mut self.next_gso_id);
        let datagrams = &mut self.datagrams;
        while self.packets.next(|received| {
            let stamped = Time::from_nanos(received.realtime_ns.saturating_sub(offset));
            // Not before what the path has seen, and not in the future, should the wall clock have been stepped.
            let arrival = stamped.min(clock.now()).max(advanced);
            let counted = datagrams.as_mut().and_then(|table| table.take(arrival, received.bytes()));
            let frame = Rc::new(Frame::new(received).counted_by(counted));
            for index in 0..frame.segments() {
                let bytes = frame.segment_len(index);
                let payload = Segment { frame: Rc::clone(&frame), index, is_marked: false };
                path.offer(arrival, Packet { gso_id: *next_gso_id, bytes, payload });
            }
            *next_gso_id += 1;
        })? {}
        self.report_oversized();
        Ok(())
    }

    /// Reports packets that the inner link could not carry to their senders; of a super-packet the first segment.
    fn report_oversized(&mut self) {
        let Some(inner) = &self.forwarder.spec.inner_mtu else { return };
        let mut latest: Option<Rc<Frame>> = None;
        for packet in self.path.take_oversized() {
            let Segment { frame, index, .. } = packet.payload;
            if !latest.as_ref().is_some_and(|latest| Rc::ptr_eq(latest, &frame)) {
                let message = packet_too_big(&frame.outgoing(index, 1), inner.mtu);
                self.transmit_drops +=
                    message.map_or(0, |message| self.forwarder.ends.origin.send(&[message]));
                latest = Some(frame);
            }
        }
    }

    fn release(&mut self) {
        let mut now = self.forwarder.clock.now().after(std::mem::take(&mut self.lead));
        while let Some(released) = self.path.take_due(now) {
            released.packet.payload.note_delivery();
            self.batch.join(released.due, released.packet.payload);
            if self.batch.is_full() {
                // A super-packet that is handed over early keeps its last segments: time does not go back.
                now = now.max(self.send());
            }
        }
        self.batch.close();
        self.send();
        self.transmit_drops += self.leaving.finish();
        self.advanced = now;
    }

    /// Sends the batch, notes how late each of its segments was once the kernel had it, and returns that instant.
    fn send(&mut self) -> Time {
        let clock = self.forwarder.clock;
        self.batch.flush(|packets, dues| {
            self.transmit_drops += self.leaving.send(packets);
            self.released = clock.now();
            for &due in dues {
                let late = self.released.since(due);
                self.lateness.record(late);
                self.latest = self.latest.max(late);
                self.stalls.record(self.released, late);
            }
        });
        self.released
    }

    fn wait(&mut self) -> io::Result<()> {
        let next = self.path.next_due();
        if self.shortest_delay.is_zero() {
            self.wait_for_packet(next)
        } else {
            self.sleep(next);
            Ok(())
        }
    }

    /// Nothing that arrives during the sleep can be due before its end, so that arrivals need not wake the thread.
    fn sleep(&mut self, next: Option<Time>) {
        let clock = self.forwarder.clock;
        let latest = self.advanced.after(self.shortest_delay.min(LONGEST_SLEEP));
        let due = next.map_or(latest, |next| next.min(latest)).max(self.released.after(MODERATION));
        if due < latest && due.since(self.advanced) > DEEP_SLEEP {
            clock.sleep_until(due.before(WAKE_UP));
            let hand_over = self.forwarder.ends.hand_over();
            while clock.now() < due.before(hand_over) {
                std::hint::spin_loop();
            }
            self.lead = hand_over;
        } else {
            clock.sleep_until(due);
        }
    }

    fn wait_for_packet(&self, next: Option<Time>) -> io::Result<()> {
        let now = self.forwarder.clock.now();
        let timeout = next.map_or(STOP_CHECK, |next| next.since(now)).min(STOP_CHECK);
        if timeout < MODERATION {
            self.forwarder.clock.sleep_until(self.released.after(MODERATION));
            return Ok(());
        }
        until_ready([self.forwarder.ends.fd()], PollFlags::POLLIN, timeout).map(drop)
    }

    fn publish(&mut self) {
        if self.advanced.since(self.published) >= PUBLISH_EVERY {
            self.publish_now();
        }
        if self.advanced.since(self.datagrams_published) >= PUBLISH_DATAGRAMS_EVERY {
            self.publish_datagrams();
        }
    }

    fn publish_datagrams(&mut self) {
        self.datagrams_published = self.advanced;
        if let Some(table) = &self.datagrams
            && let Ok(mut shown) = self.forwarder.state.lock()
        {
            shown.datagrams = table.counted();
        }
    }

    fn publish_now(&mut self) {
        self.published = self.advanced;
        let mut state = PathState {
            begin: Begin::Unknown,
            counters: self.path.counters(),
            latest: self.latest,
            backlog: self.path.backlog().to_vec(),
            aqm: self.path.aqm_sample(self.advanced.micros(), self.forwarder.direction),
            datagrams: DatagramFlows::default(),
        };
        self.drops.record(self.advanced, state.counters.dropped(DropReason::QueueFull).packets);
        if let Ok(mut shown) = self.forwarder.state.lock() {
            let begin = match shown.begin {
                Begin::At(at) => Some(at),
                Begin::WithFirstPacket if state.counters.offered.packets > 0 => Some(self.advanced),
                Begin::WithFirstPacket | Begin::Unknown => None,
            };
            state.begin = shown.begin;
            state.datagrams = std::mem::take(&mut shown.datagrams);
            *shown = state;
            if let Some(begin) = begin.filter(|_| !self.is_begun) {
                self.path.begin(begin);
                self.is_begun = true;
            }
        }
    }
}

/// The least time that any packet spends in this direction; zero where jitter or reordering may shorten it.
fn shortest_delay(spec: &DirectionSpec) -> Duration {
    let may_shorten = spec.jitter.is_some() || spec.reorder.fraction() > 0.0;
    if may_shorten { Duration::ZERO } else { *spec.delays().start() }
}

/// Whether this machine has the memory for what the path keeps.
///
/// # Errors
/// [`Problem`] with what it needs and what is there.
pub(crate) fn ensure_memory(path: &PathSpec) -> Result<(), Problem> {
    if path.payload == Payload::Zeros {
        return Ok(());
    }
    let needed = Direction::ALL
        .iter()
        .map(|&direction| memory(path.way(direction), path.full_frame()) as u64)
        .sum::<u64>();
    let available = available_memory().unwrap_or(u64::MAX);
    if needed <= available {
        return Ok(());
    }
    Err(Problem::machine(
        format!(
            "whole packets on this path take up to {} MB (twice the queue and rate × delay, with 0.1 s more), and this machine has {} MB free",
            needed / 1_000_000,
            available / 1_000_000
        ),
        "a lower rate, a shorter round trip or a shorter queue; or path.payload = \"zeros\" for our own flows",
    ))
}

/// `MemAvailable` of proc_meminfo(5), bytes.
fn available_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? << 10)
}

/// Bytes of memory for kept packets: twice the path's capacity, since a buffer is larger than its packet, and the arrivals of a
/// tenth of a second. Without a rate the amount for 10 Gbit/s.
fn memory(spec: &DirectionSpec, frame: Bytes) -> usize {
    const UNLIMITED: Rate = Rate::from_bps(10_000_000_000);
    const LEAST: u64 = 64 << 20;
    const SLACK: Duration = Duration::from_millis(100);
    let delays = spec.delays();
    let rate = spec.rate_over_time().map_or(UNLIMITED, |rates| rates.highest());
    let queue =
        spec.bottleneck.as_ref().map_or(0, |bottleneck| bottleneck.queue_bytes(spec.delay, frame).get());
    // A normal distribution goes beyond four deviations once in 30,000 packets.
    let spread = spec.jitter.as_ref().map_or(Duration::ZERO, |jitter| 4 * jitter.spread);
    let inside = rate.bdp(*delays.end() + spread + SLACK).get() + queue;
    usize::try_from((2 * inside).max(LEAST)).unwrap_or(usize::MAX)
}
