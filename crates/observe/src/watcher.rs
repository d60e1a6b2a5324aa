//! Looking at the sockets of this host: all of them once an interval, and the busy ones more often in between.

use crate::carried::{contiguous, curve, moved};
use crate::cpu_tracks::{CpuOfProcess, CpuTracks};
use crate::datagrams::no_udp_diag;
use crate::exact::ExactStates;
use crate::filter::Filter;
use crate::group_by::GroupBy;
use crate::meter::{FINDINGS_US, Meter, Metrics};
use crate::peer::Peer;
use crate::processes::{Processes, inodes_of};
use crate::short_list::ShortList;
use crate::tracker::{Closed, Gone, SAMPLES_OF_A_PROGRAM, Tracked, Tracker, micros};
use crate::udp_sockets::UdpSockets;
use crate::unseen::Unseen;
use pipefill_analysis::findings::connections::{
    Connection, ConnectionCpu, ConnectionFinding, ConnectionPackets, Connections,
};
use pipefill_core::problem::Problem;
use pipefill_core::record::{BufferLimits, Observed, OptionsSet, PathCounts, PathFacts, Process, TcpSample};
use pipefill_lab::places::namespace_file;
use pipefill_lab::sock_diag::{Dump, SockDiag, SocketReport};
use pipefill_lab::sysctl::buffer_limits;
use pipefill_runs::Stop;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime};

/// Between two looks at all sockets busy connections are looked at this many times where few are busy …
const PARTS_MAX: u32 = 10;
/// … and with at most this many samples in total where many are busy.
const BETWEEN_MAX: usize = 300;

/// A single reading takes at least so long, at most so long, and so many round trips of each busy connection where that lies between …
const ONCE: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(3);
const ONCE_ROUND_TRIPS: u32 = 10;
/// … with so many samples in a round trip, …
const ONCE_SAMPLES: u32 = 4;
/// … no more often than this, and no more seldom.
const ONCE_STEP: RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_millis(100);

/// A line of a stream covers this long: recent, at a cost that does not grow.
const LATELY_US: u64 = 5_000_000;
/// What processes used counts from so long before the first sample on: a quota's counters move once in its period.
const CPU_BEFORE_US: u64 = 1_000_000;

/// What to look at.
#[derive(Debug)]
pub struct WatchRequest {
    /// Which sockets.
    pub filter: Filter,
    /// Sockets of this process only.
    pub pid: Option<u32>,
    /// The namespace with this name, or in this file; the own one where there is none.
    pub netns: Option<String>,
    /// From one look at all sockets to the next.
    pub every: Duration,
    /// The path that this program emulates, where it does.
    pub emulated: Option<EmulatedPath>,
}

/// A path that this program emulates, from one of its ends.
#[derive(Debug)]
pub struct EmulatedPath {
    /// Addresses of this end.
    pub local: [IpAddr; 2],
    /// Addresses of the other end.
    pub remote: [IpAddr; 2],
    /// What it was asked for; forward leads to the other end.
    pub facts: PathFacts,
    /// What the other end allows sockets to buffer.
    pub remote_buffers: Option<BufferLimits>,
}

impl EmulatedPath {
    /// Whether a connection between these addresses takes it.
    fn carries(&self, local: SocketAddr, remote: SocketAddr) -> bool {
        self.local.contains(&local.ip().to_canonical()) && self.remote.contains(&remote.ip().to_canonical())
    }
}

/// Looks, and what was seen.
#[derive(Debug)]
pub struct Watcher {
    what: WatchRequest,
    diag: SockDiag,
    tracker: Tracker,
    processes: Processes,
    began: Instant,
    next: Instant,
    looks: u64,
    first_us: u64,
    last_us: u64,
    late: Duration,
    interrupted: u64,
    closed: Closed,
    exact: Option<ExactStates>,
    short_list: ShortList,
    /// Absent with a filter: the kernel's count includes connections that the filter leaves out.
    unseen: Option<Unseen>,
    /// How many closed connections the lines of a stream have had.
    told: u64,
    /// Absent where a filter leaves them out, an emulated path counts their datagrams, or the kernel does not list them.
    udp: Option<UdpSockets>,
    /// What this host allows sockets to buffer.
    local_buffers: Option<BufferLimits>,
    cpu: CpuTracks,
    /// The processes at the other ends, by this end's address and the other one's, where another watcher has seen them.
    peers: HashMap<(SocketAddr, SocketAddr), Peer>,
    /// How often the busy ones are looked at, where that does not follow from how many there are.
    pace: Option<Duration>,
    is_single_reading: bool,
    /// Absent where no totals by groups are wanted.
    meter: Option<Meter>,
}

impl Watcher {
    /// Connects to the kernel.
    ///
    /// # Errors
    /// [`Problem`] where the kernel or a sandbox does not let us, [`Problem`] for a namespace that is none.
    pub fn open(what: WatchRequest) -> Result<Self, Problem> {
        let diag = match &what.netns {
            Some(name) => {
                SockDiag::connect_in(&namespace_file(name)).map_err(|error| no_namespace(name, &error))?
            }
            None => SockDiag::connect().map_err(|error| no_sock_diag(&error))?,
        };
        if let Some(pid) = what.pid.filter(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
            return Err(Problem::usage(
                format!("there is no process {pid}"),
                "name one that runs: --pid PID",
            ));
        }
        let began = Instant::now();
        let netns = what.netns.as_deref().map(namespace_file);
        let exact = ExactStates::start(netns.as_deref());
        let is_of_all = what.filter.wants_all() && what.pid.is_none();
        let unseen = is_of_all.then(|| Unseen::start(netns.as_deref())).flatten();
        let local_buffers = buffer_limits(netns.as_deref());
        let udp = (what.filter.wants_udp() && what.emulated.is_none()).then(UdpSockets::default);
        let tracker = match what.emulated {
            Some(_) => Tracker::keeping(SAMPLES_OF_A_PROGRAM),
            None => Tracker::default(),
        };
        Ok(Self {
            what,
            diag,
            tracker,
            processes: Processes::default(),
            began,
            next: Instant::now(),
            looks: 0,
            first_us: 0,
            last_us: 0,
            late: Duration::ZERO,
            interrupted: 0,
            closed: Closed::default(),
            exact,
            short_list: ShortList::of(netns),
            unseen,
            told: 0,
            udp,
            local_buffers,
            cpu: CpuTracks::default(),
            peers: HashMap::new(),
            pace: None,
            is_single_reading: false,
            meter: None,
        })
    }

    /// Adds up figures of groups of connections from the next look on; of at most `groups_max` groups, and of all others together.
    #[must_use]
    pub fn with_groups(mut self, by: GroupBy, groups_max: usize) -> Self {
        self.meter = Some(Meter::new(by, groups_max));
        self
    }

    /// The totals by groups; `None` without [`Self::with_groups`].
    pub fn metrics(&self) -> Option<Metrics> {
        let meter = self.meter.as_ref()?;
        let followed = self.tracker.count();
        let idle = followed - self.tracker.busy_count();
        Some(meter.metrics(self.with_counts(idle, Vec::new()), followed as u64))
    }

    /// Looks at all sockets once an interval until `until`, and at the busy ones in between; `each` is called after each look at all of them,
    /// and ends it with false.
    ///
    /// # Errors
    /// The kernel does not answer any more.
    pub fn look_until(
        &mut self,
        until: Option<Instant>,
        stop: &Stop,
        mut each: impl FnMut(&mut Self) -> Result<bool, Problem>,
    ) -> Result<(), Problem> {
        loop {
            self.look()?;
            // The last look is the first one at its end or after it.
            let is_over = until.is_some_and(|until| Instant::now() + self.what.every / 2 >= until);
            if !each(self)? || stop.is_requested() || is_over {
                return Ok(());
            }
            Self::wait(std::slice::from_mut(self), stop, &mut || Ok(()))?;
        }
    }

    /// Looks once, for as long as a judgement needs: ten round trips of each busy connection, a second at least (or the interval between two
    /// looks, where that is longer) and three at most.
    ///
    /// # Errors
    /// The kernel does not answer any more.
    pub fn look_once(&mut self, stop: &Stop) -> Result<(), Problem> {
        self.is_single_reading = true;
        let began = Instant::now();
        self.look()?;
        std::thread::sleep(*ONCE_STEP.end());
        // Which connections are busy shows in what changed since the first look.
        self.look()?;
        let round_trips = self.tracker.busy().filter_map(|(_, tracked)| tracked.samples.back()?.info.srtt_us);
        let round_trips: Vec<Duration> =
            round_trips.map(|us| Duration::from_micros(us.into())).filter(|rtt| !rtt.is_zero()).collect();
        let least = ONCE.start().max(&self.what.every);
        let longest = round_trips.iter().max().map_or(Duration::ZERO, |rtt| *rtt * ONCE_ROUND_TRIPS);
        let until = began + longest.clamp(*least, *ONCE.end().max(least));
        let for_rounds = round_trips.iter().min().map_or(*ONCE_STEP.end(), |rtt| *rtt / ONCE_SAMPLES);
        let for_many = *least * u32::try_from(self.tracker.busy_count()).unwrap_or(u32::MAX)
            / u32::try_from(BETWEEN_MAX).unwrap_or(u32::MAX);
        let step = for_rounds.max(for_many).clamp(*ONCE_STEP.start(), *ONCE_STEP.end());
        self.pace = Some(step);
        let (mut until, longest) = (until, began + *ONCE.end().max(least));
        let mut due = Instant::now() + step;
        while due < until && !stop.is_requested() {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            self.look_at_the_busy()?;
            due += step;
            // What lost them shows in more than one loss.
            if self.tracker.busy().any(|(_, tracked)| has_retransmitted(tracked)) {
                until = longest;
            }
        }
        if !stop.is_requested() {
            std::thread::sleep(until.saturating_duration_since(Instant::now()));
        }
        self.next = Instant::now();
        self.look()
    }

    /// Looks at the sockets of several hosts until it is asked to stop, and once more then; `beside` is called after each look.
    ///
    /// # Errors
    /// The kernel does not answer any more, or those of `beside`.
    pub fn look_at_all_until(
        all: &mut [Self],
        stop: &Stop,
        mut beside: impl FnMut() -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        loop {
            all.iter_mut().try_for_each(Self::look)?;
            beside()?;
            if stop.is_requested() {
                Self::tell_each_other(all);
                return Ok(());
            }
            Self::wait(all, stop, &mut beside)?;
        }
    }

    /// Looks at all sockets now.
    pub fn look(&mut self) -> Result<(), Problem> {
        let now = Instant::now();
        self.late = self.late.max(now.saturating_duration_since(self.next));
        self.next = self.next.max(now.checked_sub(self.what.every).unwrap_or(now)) + self.what.every;
        let own: Option<HashSet<u32>> = self.what.pid.map(|pid| inodes_of(pid).collect());
        let opened = self.unseen.as_ref().and_then(Unseen::opened);
        self.tracker.begin();
        let wants_tcp = self.what.filter.wants_tcp();
        let dump = if wants_tcp { self.dump(own.as_ref())? } else { Dump::default() };
        self.look_at_udp(own.as_ref())?;
        let is_first = self.looks == 0;
        let Self { tracker, processes, closed, exact, meter, .. } = self;
        if let Some(meter) = meter {
            meter.begin(micros(now.duration_since(self.began)), SystemTime::now());
        }
        if let Some(unseen) = &mut self.unseen {
            unseen.note(opened, tracker.appeared);
        }
        if let Some(exact) = exact {
            exact.take_retransmits(tracker);
            exact.note_lost(tracker);
        }
        tracker.end(|cookie, mut connection| {
            if let Some(exact) = exact {
                exact.take_state_times(cookie, &mut connection);
                exact.forget(cookie);
            }
            let process = processes.of(connection.inode).cloned();
            connection.options = processes.options(connection.inode);
            processes.forget(connection.inode);
            if let Some(meter) = meter {
                meter.count(cookie, &mut connection, process.as_deref(), is_first);
                meter.leave(cookie, &connection);
            }
            connection.process = process;
            closed.push(connection);
        });
        // Totals by groups need the state times of the connections that are judged in this look, and no others.
        if let Some(exact) = exact
            && meter.is_none()
        {
            exact.take_all_state_times(tracker);
        }
        // Once a connection has closed, its process can't be found.
        let all = tracker.connections().map(|(_, connection)| connection.inode);
        let new = meter.iter().flat_map(|_| tracker.connections()).filter(|(_, new)| new.metered.is_none());
        processes.find(tracker.busy().chain(new).map(|(_, connection)| connection.inode), all);
        processes.read_options(
            tracker.busy().map(|(_, connection)| connection.inode),
            micros(now.duration_since(self.began)),
        );
        self.read_processes();
        let Self { tracker, exact, .. } = self;
        if let Some(exact) = exact {
            exact.follow(tracker);
        }
        self.interrupted += u64::from(dump.is_interrupted);
        self.last_us = micros(now.duration_since(self.began));
        if self.looks == 0 {
            self.first_us = self.last_us;
        }
        if let Some(mut meter) = self.meter.take() {
            self.add_to(&mut meter);
            self.meter = Some(meter);
        }
        self.looks += 1;
        Ok(())
    }

    /// Adds what the last look has shown to the figures of groups.
    fn add_to(&mut self, meter: &mut Meter) {
        let is_first = self.looks == 0;
        let Self { tracker, processes, udp, .. } = self;
        let mut due: Vec<(u64, u64)> = Vec::new();
        for (cookie, tracked) in tracker.connections_mut() {
            let process = processes.of(tracked.inode).map(Rc::as_ref);
            meter.count(cookie, tracked, process, is_first);
            if tracked.is_busy {
                meter.count_busy(tracked, process);
            }
            let until_us = tracked.metered.map_or(u64::MAX, |metered| metered.until_us);
            if until_us < tracked.countable_until_us() {
                due.push((until_us, cookie));
            }
        }
        for (socket, drops) in udp.iter_mut().flat_map(UdpSockets::new_drops) {
            meter.count_udp_drops(processes.of(socket.inode).map(Rc::as_ref), socket.remote, drops);
        }
        let most = Meter::judged_max(self.what.every);
        let closed = usize::try_from(self.closed.pushed - meter.closed).unwrap_or(usize::MAX);
        meter.closed = self.closed.pushed;
        for (at, tracked) in self.closed.newest().take(closed).enumerate() {
            // Open connections are judged in a later look, closed ones are not.
            let finding = (at < most / 2).then(|| self.finding_since(tracked));
            meter.hold(tracked, self.process_of(tracked), finding, tracked.active_until_us());
        }
        due.sort_unstable();
        for (_, cookie) in due.into_iter().take(most - closed.min(most / 2)) {
            let Self { tracker, exact, .. } = self;
            let Some(tracked) = tracker.get_mut(cookie) else { continue };
            if let Some(exact) = exact {
                exact.take_state_times(cookie, tracked);
            }
            let Some(tracked) = self.tracker.get(cookie) else { continue };
            let to_us = tracked.countable_until_us();
            if tracked.samples.len() >= 2 {
                meter.hold(tracked, self.process_of(tracked), Some(self.finding_since(tracked)), to_us);
            }
            if let Some(metered) = self.tracker.get_mut(cookie).and_then(|tracked| tracked.metered.as_mut()) {
                metered.until_us = to_us;
            }
        }
    }

    /// Of the time that the figures of groups do not have, and a little before.
    fn finding_since(&self, tracked: &Tracked) -> ConnectionFinding {
        let last_us = tracked.samples.back().map_or(0, |last| last.t_us);
        let until_us = tracked.metered.map_or(last_us, |metered| metered.until_us);
        self.finding_of(tracked, LATELY_US.max(last_us.saturating_sub(until_us) + CPU_BEFORE_US))
    }

    /// Reads what the processes of the busy connections have used.
    fn read_processes(&mut self) {
        let Self { tracker, processes, cpu, .. } = self;
        let pids =
            tracker.busy().filter_map(|(_, tracked)| processes.of(tracked.inode).map(|process| process.pid));
        let mut pids: Vec<u32> = pids.collect();
        pids.sort_unstable();
        pids.dedup();
        cpu.read(pids.into_iter(), Instant::now());
    }

    /// Gives each host the processes and sockets that other hosts saw at the far ends of its connections.
    fn tell_each_other(all: &mut [Self]) {
        let ends: Vec<(Instant, Vec<_>)> = all.iter().map(|own| (own.began, own.own_ends())).collect();
        for (at, own) in all.iter_mut().enumerate() {
            let others = ends.iter().enumerate().filter(|(other, _)| *other != at);
            let others = others.flat_map(|(_, (began, ends))| ends.iter().map(move |end| (*began, end)));
            own.peers = others
                .map(|(began, ((local, remote), peer))| {
                    ((*remote, *local), peer.by_the_clock(began, own.began))
                })
                .collect();
        }
    }

    /// Both addresses of each connection, its own first, and what is known of it.
    fn own_ends(&self) -> Vec<((SocketAddr, SocketAddr), Peer)> {
        let mut read: HashMap<u32, Option<Rc<CpuOfProcess>>> = HashMap::new();
        let all = self.tracker.connections().map(|(_, tracked)| tracked).chain(self.closed.newest());
        let ends = all.map(|tracked| {
            let pid = self.process_of(tracked).map(|process| process.pid);
            let cpu =
                pid.and_then(|pid| read.entry(pid).or_insert_with(|| self.cpu.of(pid).map(Rc::new)).clone());
            let options = self.options_of(tracked);
            (
                (tracked.local, tracked.remote),
                Peer { cpu, options, samples: contiguous(tracked).into_owned() },
            )
        });
        ends.collect()
    }

    fn process_of<'a>(&'a self, tracked: &'a Tracked) -> Option<&'a Process> {
        tracked.process.as_deref().or_else(|| self.processes.of(tracked.inode).map(Rc::as_ref))
    }

    fn options_of(&self, tracked: &Tracked) -> Option<OptionsSet> {
        tracked.options.or_else(|| self.processes.options(tracked.inode))
    }

    /// A kernel without udp_diag has no UDP sockets to show; where they alone are wanted, that is said.
    fn look_at_udp(&mut self, own: Option<&HashSet<u32>>) -> Result<(), Problem> {
        let Self { udp, diag, what, processes, .. } = self;
        let Some(sockets) = udp else { return Ok(()) };
        // Who adds up looks for months.
        let kept_us = if self.meter.is_some() { FINDINGS_US } else { u64::MAX };
        match sockets.look(diag, &what.filter, own, micros(self.began.elapsed()), kept_us) {
            Ok(gone) => {
                gone.into_iter().for_each(|inode| processes.forget(inode));
                sockets.find_processes(processes);
            }
            Err(error) if !what.filter.wants_tcp() => return Err(no_udp_diag(&error)),
            Err(_) => *udp = None,
        }
        Ok(())
    }

    /// Waits for the next look at all sockets; looks at the busy ones meanwhile, and calls `beside` each time.
    fn wait(
        all: &mut [Self],
        stop: &Stop,
        beside: &mut impl FnMut() -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let Some(next) = all.iter().map(Self::next).min() else { return Ok(()) };
        let step = all.iter().map(Self::step).min().unwrap_or_default();
        let mut due = Instant::now() + step;
        while due < next && !stop.is_requested() {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            all.iter_mut().try_for_each(Self::look_at_the_busy)?;
            beside()?;
            due += step;
        }
        if !stop.is_requested() {
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
        }
        Ok(())
    }

    /// Looks at the busy connections only.
    pub fn look_at_the_busy(&mut self) -> Result<(), Problem> {
        let its = self.tracker.busy().take(BETWEEN_MAX);
        let mut busy = Vec::with_capacity(self.tracker.busy_count().min(BETWEEN_MAX));
        busy.extend(its.map(|(cookie, tracked)| (cookie, tracked.local, tracked.remote)));
        let Self { diag, tracker, began, .. } = self;
        let seen = diag.look_at(&busy, |seen| tracker.push(seen, micros(began.elapsed()), false));
        seen.map_err(|error| no_sock_diag(&error))?;
        if let Some(exact) = &mut self.exact {
            exact.take_retransmits(&mut self.tracker);
        }
        self.read_processes();
        Ok(())
    }

    fn dump(&mut self, own: Option<&HashSet<u32>>) -> Result<Dump, Problem> {
        let Self { what, diag, tracker, began, short_list, .. } = self;
        // The short list does not have the process of a socket.
        if own.is_none() {
            let looked = short_list.look(&what.filter, diag, tracker, *began);
            if let Some(told) = looked.map_err(|error| no_sock_diag(&error))? {
                return Ok(told);
            }
        }
        let wanted = |seen: &SocketReport<'_>| {
            what.filter.matches(seen.local, seen.remote) && own.is_none_or(|own| own.contains(&seen.inode))
        };
        let dumped = diag.dump(what.filter.states, |seen| {
            if wanted(seen) {
                tracker.push(seen, micros(began.elapsed()), true);
            }
        });
        dumped.map_err(|error| no_sock_diag(&error))
    }

    /// The path that it emulates counted this; forward leads to the other end.
    pub fn path_counted(&mut self, forward: Option<PathCounts>, reverse: Option<PathCounts>) {
        if let Some(path) = &mut self.what.emulated {
            (path.facts.forward.counted, path.facts.reverse.counted) = (forward, reverse);
        }
    }

    /// When the time of the samples began.
    pub(crate) const fn began(&self) -> Instant {
        self.began
    }

    /// Whether no look has found a connection.
    pub fn has_seen_nothing(&self) -> bool {
        self.tracker.count() == 0 && self.tracker.gone == Gone::default()
    }

    /// The findings of the looks, for at most the `most` busiest connections.
    pub fn found(&mut self, most: usize) -> Connections {
        let mut busy: Vec<(u64, u64)> = Vec::new();
        let mut idle: Vec<u64> = Vec::new();
        for (cookie, tracked) in self.tracker.connections() {
            if tracked.samples.len() >= 2 { busy.push((cookie, moved(tracked))) } else { idle.push(cookie) }
        }
        busy.sort_by_key(|&(cookie, bytes)| (Reverse(bytes), cookie));
        idle.sort_unstable();
        let shown: Vec<u64> = busy.iter().map(|&(cookie, _)| cookie).take(most).collect();
        let inode = |cookie: &u64| self.tracker.get(*cookie).map(|tracked| tracked.inode);
        self.processes.find(shown.iter().chain(&idle).take(most).filter_map(inode), std::iter::empty());
        let judged = shown.iter().filter_map(|&cookie| self.tracker.get(cookie));
        let mut connections: Vec<ConnectionFinding> =
            judged.chain(self.closed.newest()).take(most).map(|tracked| self.finding(tracked)).collect();
        let left = most.saturating_sub(connections.len());
        connections.extend(
            idle.iter()
                .take(left)
                .filter_map(|&cookie| self.tracker.get(cookie))
                .map(|tracked| self.quiet(tracked)),
        );
        self.with_counts(idle.len(), connections)
    }

    /// The findings of the last five seconds for connections that are busy now, and for those that closed since this was called
    /// before. The others are counted as idle: most hosts have many, and their findings do not change.
    pub fn news(&mut self) -> Connections {
        let busy =
            || self.tracker.busy().map(|(_, tracked)| tracked).filter(|tracked| tracked.samples.len() >= 2);
        let fresh = usize::try_from(self.closed.pushed - self.told).unwrap_or(usize::MAX);
        let connections: Vec<ConnectionFinding> = busy()
            .chain(self.closed.newest().take(fresh))
            .map(|tracked| self.finding_of(tracked, LATELY_US))
            .collect();
        let idle = self.tracker.count() - busy().count();
        self.told = self.closed.pushed;
        self.with_counts(idle, connections)
    }

    fn with_counts(&self, idle: usize, mut connections: Vec<ConnectionFinding>) -> Connections {
        let udp = self.udp.iter().flat_map(|udp| udp.findings(&self.processes, self.local_buffers));
        connections.extend(udp);
        connections.sort_by_key(|connection| Reverse(connection.rate_bps));
        let gone = self.tracker.gone;
        Connections {
            looks: self.looks,
            span_us: self.last_us - self.first_us,
            late_us: micros(self.late),
            interrupted: self.interrupted,
            too_short: gone.too_short,
            closed: gone.closed,
            not_followed: gone.not_followed,
            unseen: self.unseen.as_ref().filter(|_| gone.not_followed == 0).and_then(Unseen::count),
            idle: idle as u64,
            quiet_udp_sockets: self.udp.as_ref().map_or(0, UdpSockets::quiet),
            connections,
            ..Connections::new()
        }
    }

    /// When all sockets are to be looked at next.
    pub fn next(&self) -> Instant {
        self.next
    }

    /// How often the busy ones are looked at.
    pub fn step(&self) -> Duration {
        if let Some(pace) = self.pace {
            return pace;
        }
        let between = u32::try_from(BETWEEN_MAX / self.tracker.busy_count().max(1)).unwrap_or(PARTS_MAX);
        self.what.every / (between + 1).clamp(2, PARTS_MAX)
    }

    /// Other sockets are looked at from now on; what was seen of those that do not match is forgotten.
    pub fn refilter(&mut self, filter: Filter) {
        self.tracker.retain(|tracked| filter.matches(tracked.local, tracked.remote));
        self.unseen = None;
        if let Some(udp) = &mut self.udp {
            udp.retain(&filter);
        }
        if !filter.wants_udp() {
            self.udp = None;
        } else if self.what.emulated.is_none() {
            self.udp.get_or_insert_default();
        }
        self.what.filter = filter;
    }

    /// The samples of the connection with these ends.
    pub fn samples(&self, local: &str, remote: &str) -> Vec<TcpSample> {
        let ends = local.parse::<SocketAddr>().ok().zip(remote.parse::<SocketAddr>().ok());
        let mut all = self.tracker.connections().map(|(_, tracked)| tracked);
        let found = all.find(|tracked| Some((tracked.local, tracked.remote)) == ends);
        found.map(|tracked| contiguous(tracked).into_owned()).unwrap_or_default()
    }

    /// Payload that each connection carried in each of the last `count` intervals, bits per second, by its ends.
    pub fn curves(&self, count: usize) -> HashMap<(String, String), Vec<u64>> {
        let every_us = micros(self.what.every);
        let lively = self
            .tracker
            .connections()
            .map(|(_, tracked)| tracked)
            .filter(|tracked| tracked.samples.len() >= 2);
        let ends = |tracked: &Tracked| (tracked.local.to_string(), tracked.remote.to_string());
        lively.map(|tracked| (ends(tracked), curve(&contiguous(tracked), every_us, count))).collect()
    }

    /// Every connection that carried something or sends in vain, with its samples.
    pub fn each_busy(&mut self, mut each: impl FnMut(&Connection<'_>)) {
        let inodes: Vec<u32> = self.tracker.connections().map(|(_, tracked)| tracked.inode).collect();
        self.processes.find(inodes.into_iter(), std::iter::empty());
        let mut all: Vec<&Tracked> =
            self.tracker.connections().map(|(_, tracked)| tracked).chain(self.closed.newest()).collect();
        all.retain(|tracked| tracked.samples.len() >= 2 && (moved(tracked) > 0 || is_unanswered(tracked)));
        all.sort_by_key(|tracked| Reverse(moved(tracked)));
        for tracked in all {
            let samples = contiguous(tracked);
            each(&self.connection(tracked, &samples));
        }
    }

    fn finding(&self, tracked: &Tracked) -> ConnectionFinding {
        self.finding_of(tracked, u64::MAX)
    }

    /// Of the last `span_us`; of two samples at least.
    fn finding_of(&self, tracked: &Tracked, span_us: u64) -> ConnectionFinding {
        let samples = contiguous(tracked);
        let from_us = samples.last().map_or(0, |last| last.t_us.saturating_sub(span_us));
        let first = samples.partition_point(|sample| sample.t_us < from_us);
        let first = first.min(samples.len().saturating_sub(2));
        let connection = self.connection(tracked, &samples[first..]);
        if self.is_single_reading {
            ConnectionFinding::of_reading(&connection)
        } else {
            ConnectionFinding::of(&connection)
        }
    }

    fn connection<'a>(&'a self, tracked: &'a Tracked, samples: &'a [TcpSample]) -> Connection<'a> {
        let process = self.process_of(tracked);
        let cpu = self.cpu_of(tracked, samples.first().map_or(0, |first| first.t_us));
        let emulated = self.what.emulated.as_ref().filter(|path| path.carries(tracked.local, tracked.remote));
        Connection {
            observed: Observed {
                emulated: emulated.map_or_else(PathFacts::default, |path| path.facts.clone()),
                local_buffers: self.local_buffers,
                remote_buffers: match emulated {
                    Some(path) => path.remote_buffers,
                    None => self.local_buffers.filter(|_| tracked.is_on_loopback()),
                },
                local_options: self.options_of(tracked),
                remote_options: match self.peer_of(tracked) {
                    Some(known) => known.options,
                    None => self.tracker.peer_on_loopback(tracked).and_then(|peer| self.options_of(peer)),
                },
                local_quota: cpu.local.quota.clone(),
                remote_quota: cpu.remote.quota.clone(),
                ..tracked.observed(process)
            },
            congestion_control: tracked.congestion_control.clone(),
            offered: None,
            every: self.step(),
            samples,
            peer_samples: self.peer_of(tracked).map_or(&[], |peer| peer.during(samples)),
            packets: ConnectionPackets::default(),
            exact: tracked.exact.as_ref(),
            cpu,
        }
    }

    fn peer_of(&self, tracked: &Tracked) -> Option<&Peer> {
        self.peers.get(&(tracked.local, tracked.remote))
    }

    /// What the processes of both its ends used since `from_us`, and a little before.
    fn cpu_of(&self, tracked: &Tracked, from_us: u64) -> ConnectionCpu {
        let from_us = from_us.saturating_sub(CPU_BEFORE_US);
        let rows = |tracked: &Tracked| self.cpu.rows(self.process_of(tracked)?.pid, self.began, from_us);
        let remote = match self.peer_of(tracked).and_then(|peer| peer.cpu.as_ref()) {
            Some(known) => Some(known.rows(self.began, from_us)),
            None => self.tracker.peer_on_loopback(tracked).and_then(rows),
        };
        ConnectionCpu { local: rows(tracked).unwrap_or_default(), remote: remote.unwrap_or_default() }
    }

    /// A connection that did nothing, or was seen once.
    fn quiet(&self, tracked: &Tracked) -> ConnectionFinding {
        let mut finding = self.finding(tracked);
        if self.tracker.was_seen_again(tracked) {
            finding.set_idle();
        }
        finding
    }
}

/// Whether data is outstanding after its retransmission timer has run out.
fn is_unanswered(tracked: &Tracked) -> bool {
    tracked.samples.back().is_some_and(|last| {
        last.info.unacked_bytes > 0 && last.info.backoff.is_some_and(|doublings| doublings > 0)
    })
}

/// Whether segments were sent again since the first sample.
fn has_retransmitted(tracked: &Tracked) -> bool {
    tracked.samples.back().is_some_and(|last| last.info.retransmits > 0)
}

fn no_namespace(name: &str, error: &io::Error) -> Problem {
    match error.kind() {
        io::ErrorKind::NotFound => Problem::usage(
            format!("there is no network namespace {name}"),
            "list them with ip netns; --netns takes a name of that list, or a file such as /proc/PID/ns/net",
        ),
        io::ErrorKind::PermissionDenied => Problem::machine(
            format!("entering the network namespace {name} is not permitted"),
            "run it as root",
        ),
        _ => Problem::machine(
            format!("the network namespace {name} can't be entered: {error}"),
            "name a namespace of ip netns, or a file such as /proc/PID/ns/net",
        ),
    }
}

fn no_sock_diag(error: &io::Error) -> Problem {
    Problem::machine(
        format!("the kernel does not report its sockets (sock_diag): {error}"),
        "load the modules inet_diag and tcp_diag, or allow AF_NETLINK in the sandbox",
    )
}
