//! Runs whose other end is a server of tests on another machine: `pipefill serve`, a stock iperf3, or one of ours that ssh has started.
//!
//! Each flow is a test of its own, all of them at once.

use super::rows::{self, Measured};
use super::ssh::{self, Agent};
use super::{Hosts, needs_leave};
use crate::client::{EndedTest, TestRequest, measure};
use pipefill_core::backend::Watch;
use pipefill_core::cell::{CellSpec, Direction, Family, FlowSpec, HostSpec, Protocol, Writer};
use pipefill_core::hosts::{HostsSpec, Place, Server};
use pipefill_core::plan::Run;
use pipefill_core::problem::Problem;
use pipefill_core::record::{AqmSample, Manifest, Setting, Sink};
use pipefill_core::units::{Bytes, Rate, Time};
use pipefill_lab::places::{self, Changed};
use pipefill_lab::shaping::{QUEUE_EVERY, ShapedQueue};
use pipefill_remote::iperf3::parameters::BLOCK_MAX;
use pipefill_remote::iperf3::{Parameters, TestDirection, Transport};
use pipefill_remote::key::Key;
use pipefill_runs::Stop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// How long a connection may take.
const CONNECTING: Duration = Duration::from_secs(20);
/// From one look at the wish to stop, and at the queue of a shaped interface, to the next.
const STEP: Duration = QUEUE_EVERY;
/// A far end of ours stays for so long after the time that a run takes.
const BEYOND: Duration = Duration::from_secs(90);
/// The version of iperf3's protocol that is spoken.
const PROTOCOL: &str = "3.12";
/// The most streams of a test.
const STREAMS_MAX: u32 = 128;

/// What a server is, and who may ask it.
struct Target {
    server: Server,
    key: Option<Key>,
    settings: Vec<Setting>,
}

/// Carries out a run; `queue` is that of an interface that is shaped meanwhile.
///
/// # Errors
/// [`Problem`].
pub(super) fn stream(
    backend: &Hosts,
    (hosts, far): (&HostsSpec, &Place),
    run: &Run,
    queue: Option<&ShapedQueue>,
    watch: &dyn Watch,
    sink: &mut dyn Sink,
) -> Result<Manifest, Problem> {
    let began = SystemTime::now();
    let spec = &run.cell.spec;
    let ends = Ends::of(hosts, spec);
    let (own_place, far_place) = ends.names();
    let own = places::HostNamespace::own()
        .and_then(|place| place.change(own_place, ends.own, may_change(backend, &place)))
        .map_err(|error| Problem::broken(format!("setting up this host: {error}")))?;
    let target = target(backend, hosts, far, (ends.far, far_place), run);
    let measured = target.and_then(|target| {
        let tests = Tests { ends: &ends, spec, target: &target, hosts, queue };
        let measured = tests.run(watch);
        let restored = restore(backend, far);
        let Traffic { zero, flows, queue } = measured?;
        restored?;
        let (far_settings, is_own_sender) = (target.settings, ends.is_own_sender);
        Ok(Measured { zero, flows, queue, far_settings, is_own_sender })
    });
    let own_settings = own.settings.clone();
    give_back(own)?;
    let environment = backend.lab.environment().clone();
    rows::write(run, measured?, own_settings, environment, began, sink)
}

/// Whether the server can do what the run asks for; a far end over ssh is started.
///
/// # Errors
/// [`Problem`].
pub(super) fn check(backend: &Hosts, hosts: &HostsSpec, far: &Place, run: &Run) -> Result<(), Problem> {
    let spec = &run.cell.spec;
    let ends = Ends::of(hosts, spec);
    spec.flows.iter().try_for_each(|flow| check_flow(flow, ends.is_own_sender, far))?;
    let (own_name, far_name) = ends.names();
    let own = places::HostNamespace::own().map_err(|error| Problem::broken(error.to_string()))?;
    if !ends.own.sysctl.is_empty() && !may_change(backend, &own) {
        return Err(needs_leave(own_name, &Place::Local));
    }
    let Place::Ssh(destination) = far else {
        return match ends.far.sysctl.is_empty() {
            true => Ok(()),
            false => Err(Problem::usage(
                format!("[{far_name}] asks for sysctls, and {far} takes none"),
                "set them there yourself, or reach that host by ssh:USER@HOST",
            )),
        };
    };
    let mut agent = connected(backend, destination, hosts, run)?;
    let is_machine = agent.as_mut().is_some_and(|(_, agent)| agent.is_machine);
    if !ends.far.sysctl.is_empty() && is_machine && !backend.options.allows_sysctl {
        return Err(needs_leave(far_name, far));
    }
    Ok(())
}

/// Who is here, and who is there.
struct Ends<'a> {
    own: &'a HostSpec,
    far: &'a HostSpec,
    is_own_sender: bool,
}

impl<'a> Ends<'a> {
    fn of(hosts: &HostsSpec, spec: &'a CellSpec) -> Self {
        let is_own_sender = hosts.receiver.is_far();
        let (own, far) =
            if is_own_sender { (&spec.sender, &spec.receiver) } else { (&spec.receiver, &spec.sender) };
        Self { own, far, is_own_sender }
    }

    /// What the records call both.
    const fn names(&self) -> (&'static str, &'static str) {
        if self.is_own_sender { ("sender", "receiver") } else { ("receiver", "sender") }
    }

    /// Whether this host sends the data of `flow`.
    fn sends(&self, flow: &FlowSpec) -> bool {
        self.is_own_sender == (flow.direction == Direction::Forward)
    }
}

fn may_change(backend: &Hosts, place: &places::HostNamespace) -> bool {
    backend.options.allows_sysctl || !place.is_machine()
}

fn give_back(changed: Changed) -> Result<(), Problem> {
    let left =
        changed.give_back().map_err(|error| Problem::broken(format!("giving settings back: {error}")))?;
    match left.is_empty() {
        true => Ok(()),
        false => {
            Err(Problem::broken(format!("settings of this host were not given back: {}", left.join("; "))))
        }
    }
}

/// What a server of tests has no words for.
fn check_flow(flow: &FlowSpec, is_own_sender: bool, far: &Place) -> Result<(), Problem> {
    let own_reads = is_own_sender != (flow.direction == Direction::Forward);
    let refused = match flow.protocol {
        Protocol::Ping => Some("flow.protocol = \"ping\" needs both ends on this machine"),
        _ if flow.writer == Writer::OncePerWake => {
            Some("flow.writer = \"once-per-wake\" needs both ends on this machine")
        }
        _ if !flow.app.is_bulk() => Some("flow.app other than \"bulk\" needs both ends on this machine"),
        _ if flow.nodelay => Some("flow.nodelay needs both ends on this machine"),
        _ if flow.parallel > STREAMS_MAX => Some("flow.parallel is at most 128 between machines"),
        Protocol::Tcp if flow.length.get() > BLOCK_MAX => {
            Some("flow.length is at most 1MiB between machines")
        }
        _ if flow.read_rate.is_some() && !own_reads && matches!(far, Place::Iperf3(_)) => {
            Some("flow.read_rate needs a receiver of ours: iperf3 reads as fast as it can")
        }
        _ => None,
    };
    let help = "leave it out, or choose other ends";
    refused.map_or(Ok(()), |what| Err(Problem::usage(format!("{what} ({far})"), help)))
}

/// The far end that ssh has started: the one that there is, or a new one.
fn connected<'a>(
    backend: &'a Hosts,
    destination: &str,
    hosts: &HostsSpec,
    run: &Run,
) -> Result<MutexGuard<'a, Option<(String, Agent)>>, Problem> {
    let mut held = backend.agent.lock().unwrap_or_else(PoisonError::into_inner);
    if held.as_ref().is_none_or(|(there, _)| there != destination) {
        // The former one goes first.
        *held = None;
        let options =
            ssh::SshOptions { executable: backend.options.executable.clone(), address: hosts.address };
        *held = Some((destination.to_owned(), Agent::start(destination, &options, wanted(run))?));
    }
    Ok(held)
}

fn wanted(run: &Run) -> Duration {
    run.cell.spec.flows.iter().map(|flow| flow.start + flow.duration).max().unwrap_or_default() + BEYOND
}

fn target(
    backend: &Hosts,
    hosts: &HostsSpec,
    far: &Place,
    (host, place): (&HostSpec, &str),
    run: &Run,
) -> Result<Target, Problem> {
    let found = |server: &Server| {
        let server = match hosts.address {
            Some(address) => Server { host: address.to_string(), ..server.clone() },
            None => server.clone(),
        };
        Target { server, key: backend.options.key.clone(), settings: Vec::new() }
    };
    let destination = match far {
        Place::Pipefill(server) | Place::Iperf3(server) => return Ok(found(server)),
        Place::Ssh(destination) => destination,
        _ => return Err(Problem::broken(format!("{far} is no other machine"))),
    };
    let mut held = connected(backend, destination, hosts, run)?;
    let Some((_, agent)) = held.as_mut() else {
        return Err(Problem::broken("there is no far end"));
    };
    match agent.set(host, place, backend.options.allows_sysctl, wanted(run)) {
        Ok(settings) => Ok(Target { server: agent.server.clone(), key: Some(agent.key.clone()), settings }),
        Err(error) => {
            // The next run starts another one.
            *held = None;
            Err(error)
        }
    }
}

/// Gives the settings of a far end of ours back.
fn restore(backend: &Hosts, far: &Place) -> Result<(), Problem> {
    let mut held = backend.agent.lock().unwrap_or_else(PoisonError::into_inner);
    let restored = match (far, held.as_mut()) {
        (Place::Ssh(_), Some((_, agent))) => agent.restore(),
        _ => Ok(()),
    };
    // One that has gone gives back what it changed; the next run starts another one.
    restored.inspect_err(|_| *held = None)
}

/// What all flows are measured by.
struct Tests<'a> {
    ends: &'a Ends<'a>,
    spec: &'a CellSpec,
    target: &'a Target,
    hosts: &'a HostsSpec,
    queue: Option<&'a ShapedQueue>,
}

/// What they came to.
struct Traffic {
    /// From when the run's time counts.
    zero: Instant,
    flows: Vec<EndedTest>,
    /// How the discipline of a shaped interface stood, where there is one.
    queue: Vec<AqmSample>,
}

impl Tests<'_> {
    /// All flows at once.
    fn run(&self, watch: &dyn Watch) -> Result<Traffic, Problem> {
        let is_stopped = std::sync::Arc::new(AtomicBool::new(false));
        let stop = Stop::when(&is_stopped);
        let zero = Instant::now();
        let elapsed = || Time::from_nanos(u64::try_from(zero.elapsed().as_nanos()).unwrap_or(u64::MAX));
        let mut queue = Vec::new();
        let mut read_queue = || queue.extend(self.queue.and_then(|queue| queue.sample(elapsed().micros())));
        let results: Vec<Result<EndedTest, Problem>> = thread::scope(|scope| {
            let tests: Vec<_> = self
                .spec
                .flows
                .iter()
                .map(|flow| {
                    let asked = self.asked(flow);
                    let stop = stop.clone();
                    scope.spawn(move || {
                        wait_until(zero + flow.start, &stop);
                        measure(&asked, &stop, &mut |_, _| Ok(()))
                    })
                })
                .collect();
            while !tests.iter().all(thread::ScopedJoinHandle::is_finished) {
                watch.progress(elapsed());
                if watch.stop_requested() {
                    is_stopped.store(true, Ordering::Relaxed);
                }
                read_queue();
                thread::sleep(STEP);
            }
            read_queue();
            let panicked = |_| Err(Problem::broken("a test panicked"));
            tests.into_iter().map(|test| test.join().unwrap_or_else(panicked)).collect()
        });
        // Ctrl-C ends ssh too, and what fails then fails because of it.
        if is_stopped.load(Ordering::Relaxed) || watch.stop_requested() {
            return Err(Problem::stopped());
        }
        let flows = results.into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok(Traffic { zero, flows, queue })
    }

    /// The test that a flow is.
    fn asked(&self, flow: &FlowSpec) -> TestRequest {
        let Self { ends, spec, target, hosts, .. } = self;
        let sends = ends.sends(flow);
        let buffers = [flow.sndbuf.map(Bytes::get), flow.rcvbuf.map(Bytes::get)];
        let [own_window, far_window] = if sends { buffers } else { [buffers[1], buffers[0]] };
        let sender = spec.data_sender(flow.direction);
        let name = flow.congestion_control.as_ref().unwrap_or(&sender.congestion_control);
        let is_tcp = flow.protocol == Protocol::Tcp;
        let rate = |rate: Option<Rate>| rate.map_or(0, Rate::bps);
        TestRequest {
            host: (target.server.host.clone(), target.server.port),
            is_v6: hosts
                .address
                .is_none()
                .then_some(spec.path.family == Family::Ipv6)
                .filter(|_| is_named(target)),
            title: None,
            bind: None,
            connect_timeout: CONNECTING,
            own_window,
            span: Some(flow.duration),
            sample: spec.run.sample,
            parameters: Parameters {
                transport: if is_tcp { Transport::Tcp } else { Transport::Udp },
                way: if sends { TestDirection::ToServer } else { TestDirection::ToClient },
                streams: flow.parallel,
                time_s: flow.duration.as_secs() + u64::from(flow.duration.subsec_nanos() > 0),
                length: flow.length.get(),
                bitrate_bps: rate(flow.bitrate),
                pacing_bps: rate(flow.max_pacing_rate),
                window: far_window,
                congestion_control: is_tcp.then(|| name.clone()),
                client_version: Some(PROTOCOL.to_owned()),
                wants_telemetry: true,
                names_hellos: true,
                read_rate_bps: rate(flow.read_rate),
                ..Parameters::default()
            },
            interval: None,
            key: target.key.clone(),
        }
    }
}

fn wait_until(due: Instant, stop: &Stop) {
    while !stop.is_requested() {
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        thread::sleep(left.min(STEP));
    }
}

/// Whether the server has a name, which may stand for addresses of both families.
fn is_named(target: &Target) -> bool {
    target.server.host.parse::<std::net::IpAddr>().is_err()
}
