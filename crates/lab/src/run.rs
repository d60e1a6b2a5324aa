//! One run, from an empty machine to a record and back to an empty machine.
//!
//! Everything that a run makes hangs on values of this module: when they go, it goes.

mod ended;
mod flow;
mod outcome;
mod traffic;

use crate::capture::{self, Count, HOSTS, Tap};
use crate::carrier::Carrier;
use crate::clock::RunClock;
use crate::counters::{self, Snapshot};
use crate::data_path::{Forwarder, ForwarderReport, PathState, ensure_memory};
use crate::descriptors;
use crate::namespace::Namespace;
use crate::offloads;
use crate::overflow::overflowed;
use crate::places::Pair;
use crate::restoring::{Changes, Restorer};
use crate::shaping::ShapedQueue;
use crate::starvation::starved;
use crate::sysctl;
use crate::threads::{StopOnDrop, Threads, joined};
use crate::topology::{Middle, Topology, address_a, address_b};
use crate::trace::Trace;
use crate::traffic::connect::{Endpoint, FlowEnds, try_congestion_control};
use crate::traffic::counts::StreamCounts;
use crate::validity::{false_hystart_exit, judge};
use ended::EndedSenders;
use flow::ConnectedFlow;
use outcome::Outcome;
use pipefill_capture::write::file_name;
use pipefill_core::backend::Watch;
use pipefill_core::cell::{Direction, FlowSpec, Protocol};
use pipefill_core::hosts;
use pipefill_core::plan::Run;
use pipefill_core::problem::Problem;
use pipefill_core::record::{
    AqmSummary, Counter, Environment, Instrument, Manifest, Observed, Setting, Sink, Subject, ThreadRole,
};
use pipefill_core::traffic::waiting::connect_timeout;
use pipefill_core::units::Time;
use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, SystemTime};
use traffic::{Traffic, TrafficOutcome};

/// Carries out `run`: its rows to `sink`, and its manifest.
pub(crate) fn carry_out(
    run: &Run,
    environment: &Environment,
    is_traced: bool,
    watch: &dyn Watch,
    sink: &mut dyn Sink,
) -> Result<Manifest, Problem> {
    let began = SystemTime::now();
    descriptors::ensure(&run.cell.spec)?;
    let stage = Stage::build(run, is_traced).map_err(|error| failed("building the path", &error))?;
    let outcome = stage.perform(watch, sink)?;
    let wall = began.elapsed().unwrap_or_default();
    Ok(outcome.into_manifest(run, environment.clone(), began, wall))
}

/// Carries out `run` between hosts that are there already: the path is theirs, and so are their settings when the run is over. `queue` is that of
/// an interface that is shaped meanwhile.
pub(crate) fn carry_out_between(
    pair: &Pair,
    run: &Run,
    queue: Option<&ShapedQueue>,
    environment: &Environment,
    is_traced: bool,
    watch: &dyn Watch,
    sink: &mut dyn Sink,
) -> Result<Manifest, Problem> {
    let began = SystemTime::now();
    descriptors::ensure(&run.cell.spec)?;
    let mut restorer =
        pair.restorer().map_err(|error| failed("starting the process that gives settings back", &error))?;
    let stage = Stage::between(pair, run, is_traced, &mut restorer)
        .map_err(|error| failed("setting up the hosts", &error))?;
    let outcome = Stage { queue, ..stage }.perform(watch, sink);
    let left = restorer.end().map_err(|error| failed("giving settings back", &error))?;
    let outcome = outcome?;
    if !left.is_empty() {
        return Err(Problem::broken(format!(
            "settings of the hosts were not given back: {}",
            left.join("; ")
        )));
    }
    let wall = began.elapsed().unwrap_or_default();
    let manifest = outcome.into_manifest(run, environment.clone(), began, wall);
    Ok(between_hosts(manifest, pair))
}

/// The manifest of a path without a scenario: its properties come from the packets.
fn between_hosts(manifest: Manifest, pair: &Pair) -> Manifest {
    let [local, remote] = pair.addresses.map(|address| address.to_string());
    let observed = Observed { local, remote, ..Observed::default() };
    Manifest { backend: hosts::BACKEND.to_owned(), subject: Subject::Observed(observed), ..manifest }
}

/// Whether this machine can do `run`: every congestion control that it names, tried in a namespace.
pub(crate) fn check(run: &Run) -> Result<(), Problem> {
    let spec = &run.cell.spec;
    descriptors::ensure(spec)?;
    ensure_memory(&spec.path)?;
    let hosts = [&spec.sender.congestion_control, &spec.receiver.congestion_control];
    let names: BTreeSet<&String> =
        spec.flows.iter().filter_map(|flow| flow.congestion_control.as_ref()).chain(hosts).collect();
    let namespace = Namespace::create().map_err(|error| failed("making a network namespace", &error))?;
    let tried = namespace.enter(|| names.into_iter().try_for_each(|name| try_congestion_control(name)));
    tried.map_err(|error| {
        Problem::machine(
            error.to_string(),
            "choose one that is there, or load the kernel's module (modprobe tcp_NAME)",
        )
    })
}

pub(crate) fn failed(doing: &str, error: &io::Error) -> Problem {
    match error.kind() {
        io::ErrorKind::PermissionDenied => Problem::machine(
            format!("{doing}: {error}"),
            "run `pipefill doctor`, which says what is missing; or run it with --on sim",
        ),
        io::ErrorKind::ReadOnlyFilesystem => Problem::machine(
            format!("{doing}: {error}"),
            "/proc/sys is read-only here, as in a container: start it with --privileged, or run it with --on sim",
        ),
        io::ErrorKind::Interrupted => Problem::stopped(),
        _ => Problem::broken(format!("{doing}: {error}")),
    }
}

/// Hosts and path of a run, before any traffic.
struct Stage<'a> {
    run: &'a Run,
    clock: RunClock,
    topology: Topology,
    /// Of the sender, of the receiver.
    addresses: [IpAddr; 2],
    /// The round trip of a path that existed before the run.
    found_rtt: Option<Duration>,
    settings: Vec<Setting>,
    before: Before,
    steal_before_us: Option<u64>,
    forward: Mutex<PathState>,
    reverse: Mutex<PathState>,
    /// Of an interface that is shaped for the run; `None` where its queue is drop-tail.
    queue: Option<&'a ShapedQueue>,
    trace: Option<Mutex<Trace>>,
    /// How the congestion states are known, for the manifest.
    tracing: String,
    ended: EndedSenders,
}

/// How often the counters and the trace are read at most until they tell of the same. Timeouts double, so that sockets fall silent.
const MOST_LOOKS: usize = 20;

/// Segments that either host has sent again.
fn retransmits(counters: &[Counter]) -> u64 {
    counters.iter().filter(|counter| counter.name == "TcpRetransSegs").map(|counter| counter.after).sum()
}

/// Counters before the traffic, by place.
struct Before(Vec<(String, Snapshot)>);

impl<'a> Stage<'a> {
    fn build(run: &'a Run, is_traced: bool) -> io::Result<Self> {
        let spec = &run.cell.spec;
        let topology = Topology::build(&spec.path, Carrier::of(spec))?;
        let mut settings = sysctl::apply(&topology.a, "sender", &spec.sender)?;
        settings.extend(sysctl::apply(&topology.b, "receiver", &spec.receiver)?);
        let mut settings: Vec<Setting> = sysctl::kept_by_sockets(settings).collect();
        settings.extend(offloads::apply(&topology.a, "sender", &spec.sender.offloads)?);
        settings.extend(offloads::apply(&topology.b, "receiver", &spec.receiver.offloads)?);
        let addresses = [address_a(spec.path.family), address_b(spec.path.family)];
        Self::set(run, is_traced, topology, addresses, None, settings)
    }

    fn between(pair: &Pair, run: &'a Run, is_traced: bool, restorer: &mut Restorer) -> io::Result<Self> {
        let spec = &run.cell.spec;
        let mut settings = Vec::new();
        let ends = [(&pair.sender, "sender", &spec.sender), (&pair.receiver, "receiver", &spec.receiver)];
        for (which, (namespace, place, host)) in ends.into_iter().enumerate() {
            let changes = pair.is_changeable(which).then_some(Changes { restorer: &mut *restorer, which });
            let applied = sysctl::apply_for_a_while(namespace, place, host, changes)?;
            settings.extend(sysctl::kept_by_sockets(applied));
        }
        let topology = Topology::of_hosts(pair.sender.try_clone()?, pair.receiver.try_clone()?);
        Self::set(run, is_traced, topology, pair.addresses, Some(pair.rtt), settings)
    }

    fn set(
        run: &'a Run,
        is_traced: bool,
        topology: Topology,
        addresses: [IpAddr; 2],
        found_rtt: Option<Duration>,
        settings: Vec<Setting>,
    ) -> io::Result<Self> {
        let clock = RunClock::start();
        let before = Before(snapshots(&topology, found_rtt.is_none())?);
        let (forward, reverse) = (Mutex::default(), Mutex::default());
        let (trace, tracing) = match tracer(run, is_traced, clock, &topology) {
            Ok(trace) => (Some(Mutex::new(trace)), "bpf".to_owned()),
            Err(why) => (None, format!("sampled: {why}")),
        };
        Ok(Self {
            run,
            clock,
            topology,
            addresses,
            found_rtt,
            settings,
            before,
            steal_before_us: counters::steal_us(),
            forward,
            reverse,
            queue: None,
            trace,
            tracing,
            ended: EndedSenders::default(),
        })
    }

    fn perform(mut self, watch: &dyn Watch, sink: &mut dyn Sink) -> Result<Outcome, Problem> {
        let threads = Threads::default();
        let [stop_path, stop_captures] = [const { AtomicBool::new(false) }; 2];
        let mut settings = std::mem::take(&mut self.settings);
        let taps = self.taps(sink)?;
        let (traffic, forwarders, captured) = thread::scope(|scope| {
            let end_of_captures = StopOnDrop([&stop_captures]);
            let captures = start_captures(scope, taps, &threads, &stop_captures);
            let captures = captures.map_err(|error| failed("starting the captures", &error))?;
            let stop = StopOnDrop([&stop_path]);
            let middle = self.topology.middle.as_ref();
            let forwarders =
                middle.map(|middle| self.start_forwarders(scope, middle, &threads, &stop_path)).transpose();
            let forwarders = forwarders.map_err(|error| failed("starting the data path", &error))?;
            let traffic = self.traffic(&threads, &mut settings, watch, sink)?;
            drop(stop);
            let forwarders =
                forwarders.map(|forwarders| forwarders.map(|forwarder| joined(forwarder, "the data path")));
            drop(end_of_captures);
            let captured: io::Result<Vec<Count>> =
                captures.into_iter().map(|capture| joined(capture, "a capture")).collect();
            Ok::<_, Problem>((traffic, forwarders, captured))
        })?;
        let captured = captured.map_err(|error| failed("writing a capture", &error))?;
        let steal_us = counters::steal_us()
            .zip(self.steal_before_us)
            .and_then(|(after, before)| after.checked_sub(before));
        let mut instrument = Instrument { threads: threads.ended(), steal_us, ..traffic.instrument };
        let path = forwarders
            .map(|forwarders| note_forwarders(&mut instrument, forwarders))
            .transpose()
            .map_err(|error| failed("moving packets", &error))?;
        let mut counters = self.counters_after()?;
        if let Some(trace) = self.trace.take().and_then(|trace| trace.into_inner().ok()) {
            instrument.trace_lost_events = self.finish_trace(trace, &mut counters, sink)?;
        }
        counters.extend(captured.iter().flat_map(Count::counters));
        counters.extend(path_counters(Direction::Forward, &self.forward));
        counters.extend(path_counters(Direction::Reverse, &self.reverse));
        let mut invalid = traffic.invalid;
        let spec = &self.run.cell.spec;
        invalid.extend(judge(spec, &instrument, &counters));
        invalid.extend(starved(spec, &instrument));
        invalid.extend(false_hystart_exit(spec, &instrument.stalls, &counters, traffic.slow_start_until));
        if let Some(path) = &path {
            let began = path.drops_began.each_ref().map(Vec::as_slice);
            invalid.extend(overflowed(spec, &instrument.stalls, began));
        }
        let data_path = self.found_rtt.is_none().then(|| self.topology.data_path());
        Ok(Outcome {
            settings,
            streams: traffic.streams,
            counters,
            instrument,
            invalid,
            data_path,
            real_time: path.as_ref().map(|path| path.real_time),
            aqm: path.map(|path| path.aqm).unwrap_or_default(),
            tracing: self.tracing,
        })
    }

    /// Captures at both hosts, where the run asks for them.
    fn taps(&self, sink: &mut dyn Sink) -> Result<Option<[Tap<'_>; 2]>, Problem> {
        let asked = &self.run.cell.spec.run;
        if !asked.capture {
            return Ok(None);
        }
        let mut file = |host| sink.artifact(&file_name(host));
        let files = [file(HOSTS[0])?, file(HOSTS[1])?];
        let subject = capture::Subject {
            run: &self.run.id,
            seed: self.run.seed,
            packets: asked.capture_packets,
            clock: self.clock,
        };
        let taps = Tap::at_both(&self.topology, subject, files);
        taps.map(Some).map_err(|error| failed("opening the captures", &error))
    }

    fn start_forwarders<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        middle: &'scope Middle,
        threads: &'scope Threads,
        stop: &'scope AtomicBool,
    ) -> io::Result<[ScopedJoinHandle<'scope, io::Result<ForwarderReport>>; 2]> {
        let start = |direction, state| {
            let Run { cell, seed, .. } = self.run;
            let forwarder = Forwarder::between(middle, &cell.spec, direction, *seed, self.clock, state, stop);
            threads.start(scope, ThreadRole::Path(direction), move || forwarder.run())
        };
        Ok([start(Direction::Forward, &self.forward)?, start(Direction::Reverse, &self.reverse)?])
    }

    /// Connects every flow, runs the applications and the telemetry, and waits for the end.
    fn traffic(
        &self,
        threads: &Threads,
        settings: &mut Vec<Setting>,
        watch: &dyn Watch,
        sink: &mut dyn Sink,
    ) -> Result<TrafficOutcome, Problem> {
        let flows = match self.connect(settings, watch) {
            Ok(flows) => flows,
            Err(error)
                if matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::ConnectionReset) =>
            {
                return Ok(TrafficOutcome::not_connected(&error));
            }
            Err(error) => return Err(failed("connecting the flows", &error)),
        };
        let outcome = Traffic { stage: self, flows: &flows, threads }.run(watch, sink);
        self.ended.take_over(&flows);
        outcome
    }

    fn connect(&self, settings: &mut Vec<Setting>, watch: &dyn Watch) -> io::Result<Vec<ConnectedFlow<'a>>> {
        let spec = &self.run.cell.spec;
        let [address_a, address_b] = self.addresses;
        let a = Endpoint { namespace: &self.topology.a, address: address_a, host: &spec.sender };
        let b = Endpoint { namespace: &self.topology.b, address: address_b, host: &spec.receiver };
        // Other programs of a host may have the ports that the lab's own hosts use.
        let picks_port = self.found_rtt.is_some();
        let timeout = connect_timeout(&spec.path);
        let mut first_stream = 0;
        let mut flows = Vec::new();
        for (index, flow) in (0..).zip(&spec.flows) {
            let (from, to) = match flow.direction {
                Direction::Forward => (a, b),
                Direction::Reverse => (b, a),
            };
            let ends = FlowEnds { flow, index, first_stream, from, to, picks_port };
            let (sockets, asked) = match flow.protocol {
                Protocol::Tcp => ends.connect_tcp(timeout, watch)?,
                Protocol::Udp | Protocol::Ping => ends.connect_udp()?,
            };
            settings.extend(asked);
            let counts = sockets.iter().map(|_| StreamCounts::default()).collect();
            flows.push(ConnectedFlow { spec: flow, index, first_stream, sockets, counts });
            first_stream += flow.parallel;
        }
        Ok(flows)
    }

    /// The rest of the trace. It has to tell of the same retransmits as the `counters`, and what the closed sockets have in flight is
    /// still sent again: both are read until none came in between. Returns the trace's lost events.
    fn finish_trace(
        &self,
        mut trace: Trace,
        counters: &mut Vec<Counter>,
        sink: &mut dyn Sink,
    ) -> Result<Option<u64>, Problem> {
        for _ in 0..MOST_LOOKS {
            trace.drain_to(sink)?;
            let again = self.counters_after()?;
            let is_quiet = retransmits(&again) == retransmits(counters);
            *counters = again;
            if is_quiet {
                break;
            }
        }
        Ok(trace.finish(sink)?)
    }

    fn counters_after(&self) -> Result<Vec<Counter>, Problem> {
        let after = snapshots(&self.topology, self.found_rtt.is_none())
            .map_err(|error| failed("reading counters", &error))?;
        Ok(self
            .before
            .0
            .iter()
            .zip(&after)
            .flat_map(|((place, before), (_, after))| counters::pair(place, before, after))
            .collect())
    }

    /// Packets that the direction of this flow holds now.
    fn backlog(&self, flow: &FlowSpec) -> u64 {
        let state = if flow.direction == Direction::Forward { &self.forward } else { &self.reverse };
        state.lock().map_or(0, |state| state.backlog.iter().map(|backlog| backlog.packets).sum())
    }
}

fn start_captures<'scope>(
    scope: &'scope Scope<'scope, '_>,
    taps: Option<[Tap<'scope>; 2]>,
    threads: &'scope Threads,
    stop: &'scope AtomicBool,
) -> io::Result<Vec<ScopedJoinHandle<'scope, io::Result<Count>>>> {
    let start = |tap: Tap<'scope>| {
        let role = ThreadRole::Other(format!("capture {}", tap.host()));
        threads.start(scope, role, move || tap.run(stop))
    };
    taps.into_iter().flatten().map(start).collect()
}

/// Watches both hosts, unless that is not wanted.
fn tracer(run: &Run, is_traced: bool, clock: RunClock, topology: &Topology) -> Result<Trace, String> {
    if run.cell.spec.flows.iter().all(|flow| flow.protocol == Protocol::Udp) {
        return Err("no TCP".to_owned());
    }
    if !is_traced {
        return Err("switched off by PIPEFILL_BPF=0".to_owned());
    }
    Trace::start(clock, [&topology.a, &topology.b])
}

/// Where the hosts are `own`, what their interfaces drop the instrument drops.
fn snapshots(topology: &Topology, own: bool) -> io::Result<Vec<(String, Snapshot)>> {
    let interface = if own { "interface" } else { "host's interfaces" };
    let mut all = vec![
        ("sender nstat".to_owned(), counters::nstat(&topology.a)?),
        ("receiver nstat".to_owned(), counters::nstat(&topology.b)?),
        (format!("sender {interface}"), counters::interfaces(&topology.a)?),
        (format!("receiver {interface}"), counters::interfaces(&topology.b)?),
    ];
    if let Some(middle) = &topology.middle {
        all.push(("path interface".to_owned(), counters::interfaces(&middle.namespace)?));
    }
    let drops = counters::input_queue_drops().map(|drops| ("input_queue_drops".to_owned(), drops));
    all.push(("machine".to_owned(), drops.into_iter().collect()));
    Ok(all)
}

fn path_counters(direction: Direction, state: &Mutex<PathState>) -> Vec<Counter> {
    state.lock().map_or_else(|_| Vec::new(), |state| state.counters.records(direction))
}

/// What the forwarders return apart from errors.
struct Forwarded {
    /// Whether both had real-time scheduling.
    real_time: bool,
    /// When the queue began to drop, forward and reverse.
    drops_began: [Vec<Time>; 2],
    /// What the disciplines of the queues did.
    aqm: Vec<AqmSummary>,
}

/// Adds what the forwarders measured of themselves.
fn note_forwarders(
    instrument: &mut Instrument,
    forwarders: [io::Result<ForwarderReport>; 2],
) -> io::Result<Forwarded> {
    let [forward, reverse] = forwarders;
    let (forward, reverse) = (forward?, reverse?);
    instrument.ring_drops = Some(forward.ring_drops + reverse.ring_drops);
    instrument.transmit_drops = Some(forward.transmit_drops + reverse.transmit_drops);
    instrument.stalls = [forward.stalls, reverse.stalls].concat();
    instrument.release_lateness_forward = forward.lateness;
    instrument.release_lateness_reverse = reverse.lateness;
    Ok(Forwarded {
        real_time: forward.real_time && reverse.real_time,
        drops_began: [forward.drops_began, reverse.drops_began],
        aqm: forward.aqm.into_iter().chain(reverse.aqm).collect(),
    })
}
