//! Watches our senders inside the kernel, by BPF: the exact time in each congestion state, and every retransmission.
//!
//! Never: a change to what is watched, or another program's sockets. Everything is gone with this value. Where the kernel
//! does not let us, the reason is said, and the samples of `tcp_info` tell as finely as they lie.

use crate::clock::RunClock;
use crate::kernel_types::{chain, kernel_types};
use crate::namespace::Namespace;
use crate::rows::Closed;
use crate::sys::socket::{cookie, tcp_info};
use crate::sys::trace::{Event, SenderEntry};
use aya::maps::{Array, HashMap, MapData, RingBuf};
use aya::programs::BtfTracePoint;
use aya::{Ebpf, EbpfLoader};
use pipefill_core::record::{AnyRow, CaStateTimes, Episode, Retransmit, RetransmitKind, Sink, SinkError};
use pipefill_core::tcp_info::{CaState, decode};
use pipefill_core::units::Time;
use socket2::Socket;
use std::collections::BTreeMap;
use std::error::Error;
use std::io;
use std::time::Duration;

/// `cargo run -p xtask -- bpf` makes it from the source beside it.
static OBJECT: &[u8] = aya::include_bytes_aligned!("../bpf/flows.bpf.o");

/// The programs, and the tracepoints that they are for.
const PROGRAMS: [(&str, &str); 2] =
    [("on_state", "tcp_cong_state_set"), ("on_retransmit", "tcp_retransmit_skb")];

/// What the programs told, and what they still count.
pub(crate) struct Trace {
    clock: RunClock,
    /// Detaches the programs when it goes; taken at the end.
    programs: Option<Ebpf>,
    senders: HashMap<MapData, u64, SenderEntry>,
    events: RingBuf<MapData>,
    lost: Array<MapData, u64>,
    streams: BTreeMap<u64, Watched>,
}

/// A sender that is watched.
struct Watched {
    stream: u32,
    from: Time,
    until: Time,
    initial: CaState,
    retransmits: u32,
    episode: Episode,
}

impl Trace {
    /// Whether this machine lets us watch: tried, and undone.
    pub(crate) fn probe() -> Result<(), String> {
        let namespace = Namespace::create().map_err(|error| error.to_string())?;
        Self::start(RunClock::start(), [&namespace, &namespace]).map(drop)
    }

    /// Watches the sockets of `namespaces` from now on.
    ///
    /// # Errors
    /// Why the kernel does not let us.
    pub(crate) fn start(clock: RunClock, namespaces: [&Namespace; 2]) -> Result<Self, String> {
        Self::load(clock, namespaces).map_err(|error| chain(error.as_ref()))
    }

    fn load(clock: RunClock, [a, b]: [&Namespace; 2]) -> Result<Self, Box<dyn Error>> {
        let btf = kernel_types()?;
        let (a, b) = (a.inum()?, b.inum()?);
        let mut programs = EbpfLoader::new()
            .btf(Some(btf))
            .override_global("NAMESPACE_A", &a, true)
            .override_global("NAMESPACE_B", &b, true)
            .load(OBJECT)?;
        for (name, tracepoint) in PROGRAMS {
            let program = programs.program_mut(name).ok_or("a program is missing from the object")?;
            let program: &mut BtfTracePoint = program.try_into()?;
            program.load(tracepoint, btf)?;
            program.attach()?;
        }
        let mut map = |name: &str| programs.take_map(name).ok_or(format!("no map {name} in the object"));
        Ok(Self {
            clock,
            senders: HashMap::try_from(map("senders")?)?,
            events: RingBuf::try_from(map("events")?)?,
            lost: Array::try_from(map("lost_events")?)?,
            programs: Some(programs),
            streams: BTreeMap::new(),
        })
    }

    /// Counts `socket`'s states between `from` and `until`. To be called while nothing is in flight on it, so that its state
    /// can't change before it is watched.
    pub(crate) fn watch(&mut self, stream: u32, socket: &Socket, from: Time, until: Time) -> io::Result<()> {
        let mut bytes = [0; 512];
        let len = tcp_info(socket, &mut bytes)?;
        let initial = decode(&bytes[..len]).and_then(|info| info.ca_state).unwrap_or(CaState::Open);
        self.insert(
            cookie(socket)?,
            Watched { stream, from, until, initial, retransmits: 0, episode: Episode::default() },
        )
    }

    /// Counts from now on the states of the socket with this cookie, which was in `state` and had sent so many segments again when it was
    /// looked at last. A change since then is seen with the next one.
    pub(crate) fn watch_live(&mut self, cookie: u64, state: CaState, retransmits: u32) -> io::Result<()> {
        let (from, until) = (self.clock.now(), Time::MAX);
        self.insert(
            cookie,
            Watched { stream: 0, from, until, initial: state, retransmits, episode: Episode::default() },
        )
    }

    /// Counts no longer.
    pub(crate) fn forget(&mut self, cookie: u64) {
        self.streams.remove(&cookie);
        let _was_never_there = self.senders.remove(&cookie);
    }

    fn insert(&mut self, cookie: u64, watched: Watched) -> io::Result<()> {
        let entry = SenderEntry {
            from_ns: self.clock.monotonic_ns(watched.from),
            until_ns: self.clock.monotonic_ns(watched.until),
            since_ns: self.clock.monotonic_ns(self.clock.now()),
            state: watched.initial as u32,
            ..SenderEntry::default()
        };
        self.senders.insert(cookie, entry, 0).map_err(io::Error::other)?;
        self.streams.insert(cookie, watched);
        Ok(())
    }

    /// Hands on what the ring has.
    pub(crate) fn drain(&mut self, mut take: impl FnMut(AnyRow) -> Result<(), Closed>) -> Result<(), Closed> {
        self.drain_each(|_, row| take(AnyRow::Retransmit(row)))
    }

    /// The same, with the cookie of the socket that each is of.
    pub(crate) fn drain_each<E>(
        &mut self,
        mut take: impl FnMut(u64, Retransmit) -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some(event) = self.next() {
            let Some(watched) = self.streams.get_mut(&event.cookie) else { continue };
            for row in watched.rows(self.clock, &event) {
                take(event.cookie, row)?;
            }
        }
        Ok(())
    }

    /// Time in each state of the socket with this cookie so far.
    pub(crate) fn state_times_so_far(&self, cookie: u64) -> Option<CaStateTimes> {
        let (watched, now) = (self.streams.get(&cookie)?, self.clock.now());
        let entry = self.senders.get(&cookie, 0).ok()?;
        self.times(&entry, watched, now.since(watched.from), 0)
    }

    /// How many events the ring had no room for.
    pub(crate) fn lost(&self) -> Option<u64> {
        self.lost.get(&0, 0).ok()
    }

    /// Hands what the ring has to `sink`, once the telemetry has ended.
    pub(crate) fn drain_to(&mut self, sink: &mut dyn Sink) -> Result<(), SinkError> {
        let mut rows = Vec::new();
        // A vector takes everything.
        let _never = self.drain(|row| {
            rows.push(row);
            Ok(())
        });
        rows.into_iter().try_for_each(|row| sink.push(row))
    }

    /// Stops watching, and ends what has no end yet; what the ring still has came after the counters. Returns how many events the
    /// ring had no room for.
    pub(crate) fn finish(mut self, sink: &mut dyn Sink) -> Result<Option<u64>, SinkError> {
        self.programs = None;
        let open = self.streams.values_mut().flat_map(|watched| watched.episode.end(false));
        open.map(AnyRow::Retransmit).try_for_each(|row| sink.push(row))?;
        Ok(self.lost())
    }

    /// Time in each state of every watched stream between `from` (or `started`, where its first byte came later) and
    /// `until`; to be called after `until`.
    pub(crate) fn state_times(&self, started: impl Fn(u32) -> Time) -> BTreeMap<u32, CaStateTimes> {
        let times = |(cookie, watched): (&u64, &Watched)| {
            let entry = self.senders.get(cookie, 0).ok()?;
            let late = started(watched.stream).since(watched.from);
            let whole = watched.until.since(watched.from);
            Some((watched.stream, self.times(&entry, watched, whole, late.as_nanos())?))
        };
        self.streams.iter().filter_map(times).collect()
    }

    /// `None` where the entry was read in the middle of a change, which its sum shows.
    fn times(
        &self,
        entry: &SenderEntry,
        watched: &Watched,
        whole: Duration,
        late_ns: u128,
    ) -> Option<CaStateTimes> {
        let end = entry.until_ns.min(self.clock.monotonic_ns(self.clock.now()));
        let tail = end.saturating_sub(entry.since_ns.max(entry.from_ns));
        let states = (0..).map_while(CaState::from_kernel).zip(entry.in_state_ns);
        let mut times = CaStateTimes::default();
        let mut sum = 0;
        for (state, ns) in states {
            let ns = if state as u32 == entry.state { ns + tail } else { ns };
            sum += ns;
            // Nothing was in flight before the first byte: that time belongs to the first state, and not to the flow's life.
            let late = if state == watched.initial { u64::try_from(late_ns).unwrap_or(0) } else { 0 };
            times.add(state, ns.saturating_sub(late) / 1_000);
        }
        (u128::from(sum).abs_diff(whole.as_nanos()) < 1_000_000).then_some(times)
    }

    fn next(&mut self) -> Option<Event> {
        self.events.next().and_then(|bytes| Event::read(&bytes))
    }
}

impl Watched {
    /// The rows that `event` makes known. Segments by the difference of the totals: what the host refused before has no event.
    fn rows(&mut self, clock: RunClock, event: &Event) -> Vec<Retransmit> {
        const EPISODE_END: u8 = 1;
        if event.kind == EPISODE_END {
            return self.episode.end(event.undone != 0).collect();
        }
        let segments = event.total_retrans.wrapping_sub(self.retransmits);
        self.retransmits = event.total_retrans;
        let state = CaState::from_kernel(event.state).unwrap_or(CaState::Loss);
        let is_known = self.episode.push(Retransmit {
            t_us: clock.at_monotonic(event.at_ns).micros(),
            stream: self.stream,
            seq_from: event.seq_from,
            seq_to: event.seq_to,
            segments,
            refused_segments: segments.saturating_sub(event.segments),
            kind: RetransmitKind::in_state(state),
        });
        if is_known { self.episode.end(false).collect() } else { Vec::new() }
    }
}

/// The rows of a stream that `bytes`, cut into events, makes known: as many as there are.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn rows_of(bytes: &[u8]) -> usize {
    let (from, until, initial) = (Time::ZERO, Time::MAX, CaState::Open);
    let mut watched =
        Watched { stream: 0, from, until, initial, retransmits: 0, episode: Episode::default() };
    let events = bytes.chunks(size_of::<Event>()).filter_map(Event::read);
    let clock = RunClock::start();
    let rows: usize = events.map(|event| watched.rows(clock, &event).len()).sum();
    rows + watched.episode.end(false).count()
}
