//! A path for programs that are not ours: a host at each end, in which they run with the terminal, the standard streams and the rights of
//! the user.
//!
//! The programs are in a PID namespace of their own (pid_namespaces(7)), whose first process is this program again, see [`inside()`]. It ends
//! with the command, or with us in whatever way (also by SIGKILL), and the kernel ends everything that the command has started with it.

mod inside;
mod listening;
mod refusal;
mod relay;
mod uplink;

pub use inside::inside;
pub use uplink::ensure_uplink;

use crate::bare_timer;
pub use crate::capture::Count;
use crate::capture::{Subject, Tap};
use crate::carrier::Carrier;
use crate::clock::RunClock;
use crate::data_path::{Begin, Forwarder, ForwarderReport, PathState, ensure_memory};
pub use crate::datagrams::{DatagramFlow, DatagramFlows};
use crate::namespace::Namespace;
use crate::offloads;
use crate::privilege;
use crate::starvation;
use crate::sysctl;
use crate::threads::{StopOnDrop, joined, start_thread};
use crate::topology::{Middle, Topology, address_a, address_b};
use crate::validity;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::dup;
use pipefill_core::cell::{CellSpec, Direction, Family};
use pipefill_core::problem::Problem;
use pipefill_core::record::{
    AqmCounted, AqmSample, AqmSummary, Counter, DropReason, Instrument, Invalid, Lateness, Setting,
};
use pipefill_core::units::{Seed, Time};
use std::ffi::OsString;
use std::io::{self, PipeWriter, Write};
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::thread::{self, Scope, ScopedJoinHandle};

/// The path and its hosts; gone when dropped.
pub struct ProgramPath<'a> {
    spec: &'a CellSpec,
    seed: Seed,
    clock: RunClock,
    topology: Topology,
    settings: Vec<Setting>,
    forward: Mutex<PathState>,
    reverse: Mutex<PathState>,
}

/// What runs at both ends.
#[derive(Debug, Clone)]
pub struct Programs {
    /// The command and its arguments, at the sender's end.
    pub command: Vec<OsString>,
    /// A shell's command at the receiver's end. The command starts once it listens.
    pub server: Option<OsString>,
    /// Whether the command reaches the machine's own network, through the path and the receiver's host.
    pub has_uplink: bool,
}

/// Where captures go.
pub struct Captures<'a> {
    /// What the files call the run.
    pub run: &'a str,
    /// The sender's, the receiver's.
    pub files: [Box<dyn Write + Send>; 2],
}

/// What the path did meanwhile.
#[derive(Debug)]
pub struct Carried {
    /// What carried the packets, as a manifest names it: `nfqueue`, `af_packet`, or `veth` where nothing is emulated.
    pub data_path: &'static str,
    /// What it carried and dropped, by place; none where nothing is emulated.
    pub counters: Vec<Counter>,
    /// How late packets left, forward and reverse; `None` where none did.
    pub lateness: [Option<Lateness>; 2],
    /// What the disciplines of its queues did, with their drops and marks.
    pub aqm: Vec<AqmSummary>,
    /// Packets for which the instrument itself had no room.
    pub own_drops: u64,
    /// Why the path differed from the requested one, by the bounds of a run: this process was stopped, or late. Empty where it did not differ.
    pub invalid: Vec<Invalid>,
    /// What each host's capture has; none where none was asked for.
    pub captured: Vec<Count>,
}

/// A command that runs.
#[derive(Debug)]
pub struct Running {
    control: PipeWriter,
    /// Set once the command has ended, and all that it started.
    pub is_over: Arc<AtomicBool>,
}

impl Running {
    /// Hands over `signal`, by its number. A command that has ended takes none.
    pub fn signal(&self, signal: u8) {
        let _ended = (&self.control).write_all(&[signal]);
    }
}

impl<'a> ProgramPath<'a> {
    /// Builds the path of `spec`, whose flows do not matter, and sets its hosts' sysctls; their congestion control as the default of the
    /// programs' sockets where `sets_congestion_control`.
    ///
    /// # Errors
    /// [`Problem`] where there is not enough memory, or what is needed is not permitted.
    pub fn build(spec: &'a CellSpec, seed: Seed, sets_congestion_control: bool) -> Result<Self, Problem> {
        ensure_memory(&spec.path)?;
        let topology = Topology::with_families(&spec.path, &[Family::Ipv4, Family::Ipv6], Carrier::of(spec))
            .map_err(|error| crate::run::failed("building the path", &error))?;
        let settings = settings(&topology, spec, sets_congestion_control)
            .map_err(|error| crate::run::failed("setting up the hosts", &error))?;
        Ok(Self {
            spec,
            seed,
            clock: RunClock::start(),
            topology,
            settings,
            forward: Mutex::default(),
            reverse: Mutex::default(),
        })
    }

    /// The hosts' settings, as asked and as read back.
    pub fn settings(&self) -> &[Setting] {
        &self.settings
    }

    /// The receiver's address.
    pub fn server(&self) -> IpAddr {
        address_b(self.spec.path.family)
    }

    /// The receiver's addresses.
    pub const fn servers(&self) -> [IpAddr; 2] {
        [address_b(Family::Ipv4), address_b(Family::Ipv6)]
    }

    /// The sender's addresses.
    pub const fn clients(&self) -> [IpAddr; 2] {
        [address_a(Family::Ipv4), address_a(Family::Ipv6)]
    }

    /// A file that stands for the sender's network namespace in this process.
    pub fn client_namespace(&self) -> PathBuf {
        self.topology.a.file()
    }

    /// The receiver's namespace.
    pub fn server_namespace(&self) -> PathBuf {
        self.topology.b.file()
    }

    /// Whether there is a data path: a path that asks for nothing is a plain veth pair, which counts no flow.
    pub const fn has_data_path(&self) -> bool {
        self.topology.middle.is_some()
    }

    /// What the path has counted of each flow of datagrams by now, forward and reverse, and the path's time.
    pub fn datagrams(&self) -> (Time, [DatagramFlows; 2]) {
        let of = |state: &Mutex<PathState>| {
            state.lock().map_or_else(|_| DatagramFlows::default(), |state| state.datagrams.clone())
        };
        (self.clock.now(), [of(&self.forward), of(&self.reverse)])
    }

    /// How the discipline of the queue in `direction` stands now; `None` where that is drop-tail. Its `t_us` is the path's time.
    pub fn discipline(&self, direction: Direction) -> Option<AqmSample> {
        self.state(direction).lock().ok()?.aqm
    }

    const fn state(&self, direction: Direction) -> &Mutex<PathState> {
        match direction {
            Direction::Forward => &self.forward,
            Direction::Reverse => &self.reverse,
        }
    }

    /// What the discipline in `direction` dropped and marked.
    fn counted(&self, direction: Direction) -> Option<AqmCounted> {
        let state = self.state(direction).lock().ok()?;
        Some(AqmCounted {
            dropped_packets: state.counters.dropped(DropReason::Aqm).packets,
            overflow_packets: state.counters.dropped(DropReason::QueueFull).packets,
            marked_packets: state.counters.marked_aqm.packets,
        })
    }

    /// Carries packets while `work` runs, and writes what each host sends and receives into `captures`: the sender's file, the receiver's.
    ///
    /// # Errors
    /// Those of sockets, threads and files.
    pub fn carry<T>(
        &self,
        captures: Option<Captures<'_>>,
        work: impl FnOnce() -> T,
    ) -> io::Result<(T, Carried)> {
        let [stop, stop_captures, stop_timer] = [const { AtomicBool::new(false) }; 3];
        let taps = captures.map(|captures| self.taps(captures)).transpose()?;
        let (result, reports, captured, timer) = thread::scope(|scope| {
            let end_of_timer = StopOnDrop([&stop_timer]);
            let timer = start_thread(scope, "timer", || Ok(bare_timer::run(self.clock, &stop_timer)))?;
            let end_of_captures = StopOnDrop([&stop_captures]);
            let taps = taps.into_iter().flatten().map(|tap| {
                let name = format!("capture {}", tap.host());
                start_thread(scope, &name, || tap.run(&stop_captures))
            });
            let taps = taps.collect::<io::Result<Vec<_>>>()?;
            let guard = StopOnDrop([&stop]);
            let middle = self.topology.middle.as_ref();
            let forwarders = middle.map(|middle| self.start(scope, middle, &stop)).transpose()?;
            let result = work();
            drop(end_of_timer);
            drop(guard);
            let reports = forwarders.map(|both| both.map(|forwarder| joined(forwarder, "the data path")));
            drop(end_of_captures);
            let captured = taps.into_iter().map(|tap| joined(tap, "a capture")).collect::<io::Result<_>>()?;
            Ok::<_, io::Error>((result, reports, captured, joined(timer, "the timer")?))
        })?;
        let (mut lateness, mut own_drops, mut aqm) = ([None, None], 0, Vec::new());
        for (place, report) in reports.into_iter().flatten().enumerate() {
            let report = report?;
            own_drops += report.ring_drops + report.transmit_drops;
            lateness[place] = report.lateness;
            aqm.extend(report.aqm.map(|summary| {
                let counted = self.counted(summary.direction);
                AqmSummary { counted, ..summary }
            }));
        }
        let ways = [(Direction::Forward, &self.forward), (Direction::Reverse, &self.reverse)];
        let ways = ways.into_iter().filter(|_| self.topology.middle.is_some());
        let of = |(direction, state): (Direction, &Mutex<PathState>)| {
            state.lock().map_or_else(|_| Vec::new(), |state| state.counters.records(direction))
        };
        let counters = ways.flat_map(of).collect();
        let invalid = self.why_invalid(&lateness, timer);
        let data_path = self.topology.data_path();
        Ok((result, Carried { data_path, counters, lateness, aqm, own_drops, invalid, captured }))
    }

    /// By the bounds of a run. The sockets are sampled in this process: they are as late as the timer.
    fn why_invalid(&self, path: &[Option<Lateness>; 2], timer: Option<Lateness>) -> Vec<Invalid> {
        let [forward, reverse] = path.clone();
        let instrument = Instrument {
            release_lateness_forward: forward,
            release_lateness_reverse: reverse,
            sample_lateness: timer.clone(),
            timer_lateness: timer,
            ..Instrument::default()
        };
        let late = validity::judge(self.spec, &instrument, &[]);
        late.into_iter().chain(starvation::starved(self.spec, &instrument)).collect()
    }

    fn taps<'s>(&'s self, captures: Captures<'s>) -> io::Result<[Tap<'s>; 2]> {
        let packets = self.spec.run.capture_packets;
        let subject = Subject { run: captures.run, seed: self.seed, packets, clock: self.clock };
        Tap::at_both(&self.topology, subject, captures.files)
    }

    fn start<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        middle: &'scope Middle,
        stop: &'scope AtomicBool,
    ) -> io::Result<[ScopedJoinHandle<'scope, io::Result<ForwarderReport>>; 2]> {
        let start = |direction: Direction, state| {
            let forwarder =
                Forwarder::between(middle, self.spec, direction, self.seed, self.clock, state, stop)
                    .counting_datagrams();
            start_thread(scope, direction.as_str(), move || forwarder.run())
        };
        Ok([start(Direction::Forward, &self.forward)?, start(Direction::Reverse, &self.reverse)?])
    }

    /// Starts `programs` and waits for the end of the command, while `meanwhile` may hand it signals. Returns the command's exit code as a
    /// shell tells it: 128 and the number of the signal that ended it; 127 where it was not found, 126 where it can't be executed.
    ///
    /// # Errors
    /// Those of namespaces and processes.
    pub fn run<T>(&self, programs: &Programs, meanwhile: impl FnOnce(&Running) -> T) -> io::Result<(i32, T)> {
        let (reader, control) = io::pipe()?;
        let inherited = [self.topology.a.fd(), self.topology.b.fd(), reader.as_fd()];
        if programs.has_uplink {
            uplink::prepare(&self.topology)?;
        }
        let mut command = self.first_process(programs, inherited)?;
        let running = Running { control, is_over: Arc::default() };
        let is_over = Arc::clone(&running.is_over);
        thread::scope(|scope| {
            // Children of a thread that has left its PID namespace are in the new one, and it can't have threads of its own any more.
            let waiting = start_thread(scope, "program", move || {
                let _over = StopOnDrop([&is_over]);
                unshare(CloneFlags::CLONE_NEWPID)?;
                let mut child = command.0.spawn()?;
                drop((command, reader));
                child.wait()
            })?;
            PathState::begin([&self.forward, &self.reverse], Begin::WithFirstPacket);
            let result = meanwhile(&running);
            Ok((code(joined(waiting, "the program")?), result))
        })
    }

    fn first_process(&self, programs: &Programs, inherited: [BorrowedFd<'_>; 3]) -> io::Result<Inheriting> {
        let mut command = Command::new("/proc/self/exe");
        command.arg(inside::FIRST);
        let mut kept = Vec::new();
        for fd in inherited {
            // Open in programs that are started from now on.
            let copy = dup(fd)?;
            command.arg(copy.as_raw_fd().to_string());
            kept.push(copy);
        }
        let ids = privilege::outer_ids().map_or_else(String::new, |(uid, gid)| format!("{uid}:{gid}"));
        command.arg(ids).arg(self.server().to_string());
        command.arg(if programs.has_uplink { inside::UPLINK } else { "" });
        command.arg(programs.server.as_deref().unwrap_or_default()).args(&programs.command);
        Ok(Inheriting(command, kept))
    }
}

/// A command, and the descriptors that it is to inherit.
struct Inheriting(Command, #[expect(dead_code, reason = "held until the command has started")] Vec<OwnedFd>);

fn code(status: ExitStatus) -> i32 {
    const BY_SIGNAL: i32 = 128;
    status.code().or(status.signal().map(|signal| BY_SIGNAL + signal)).unwrap_or(BY_SIGNAL)
}

/// The sysctls of both hosts; ping(8) without privileges is allowed to everybody there.
fn settings(topology: &Topology, spec: &CellSpec, sets_congestion_control: bool) -> io::Result<Vec<Setting>> {
    let mut all = Vec::new();
    for (namespace, place, host) in
        [(&topology.a, "sender", &spec.sender), (&topology.b, "receiver", &spec.receiver)]
    {
        all.extend(sysctl::apply(namespace, place, host)?);
        all.extend(offloads::apply(namespace, place, &host.offloads)?);
        if sets_congestion_control {
            all.push(sysctl::set_congestion_control(namespace, place, &host.congestion_control)?);
        }
        allow_ping(namespace)?;
    }
    Ok(all)
}

/// Permits all groups of this user namespace to ping. Where that fails, ping(8) reports an error.
fn allow_ping(namespace: &Namespace) -> io::Result<()> {
    namespace.enter(|| {
        let groups = ["0 2147483647", "0 0"];
        let _refused =
            groups.iter().find(|range| std::fs::write("/proc/sys/net/ipv4/ping_group_range", range).is_ok());
        Ok(())
    })
}
