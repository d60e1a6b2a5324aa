//! One run, from an empty machine to a record and back to an empty machine.
//!
//! Everything that a run makes hangs on values of this module: when they go, it goes.

use crate::clock::RunClock;
use crate::counters::{self, Snapshot};
use crate::data_path::{PathState, Pump, PumpReport};
use crate::lateness::LatenessMeter;
use crate::sysctl;
use crate::telemetry::{Samples, StreamProbe, Telemetry, Threads, sample_tcp};
use crate::topology::{A_ADDRESS, B_ADDRESS, Middle, Topology};
use crate::traffic::connect::{Endpoint, FlowEnds, StreamSockets};
use crate::traffic::counts::StreamCounts;
use crate::traffic::tcp::{TcpReceiver, TcpSender};
use crate::traffic::udp::{UdpReceiver, UdpSender};
use crate::validity::{invalid, judge};
use pipefill_core::backend::{BackendError, Watch};
use pipefill_core::cell::{Direction, FlowSpec, Protocol};
use pipefill_core::plan::Run;
use pipefill_core::record::{
    Counter, Environment, Instrument, Invalid, Lateness, Manifest, RECORD_VERSION, RunRecord, Setting,
    StreamEnd, StreamSummary, UdpTotals,
};
use pipefill_core::tcp_info::TcpInfo;
use pipefill_core::units::{Rate, Time};
use socket2::Socket;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Threads are started this long before the traffic.
const LEAD: Duration = Duration::from_millis(20);
/// Connections get this long, plus ten round trips.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// After the last datagram is due, this much is waited for stragglers.
const DRAIN_MARGIN: Duration = Duration::from_millis(100);
/// A queue that takes longer than this to empty is left.
const LONGEST_DRAIN: Duration = Duration::from_secs(30);
/// How often the run looks at the clock and at the user's wish to stop.
const TICK: Duration = Duration::from_millis(20);

/// Carries out `run` and returns its record.
pub(crate) fn carry_out(
    run: &Run,
    environment: &Environment,
    watch: &dyn Watch,
) -> Result<RunRecord, BackendError> {
    let began = SystemTime::now();
    let stage = Stage::build(run).map_err(|error| failed("building the path", &error))?;
    let outcome = stage.perform(watch)?;
    let wall = began.elapsed().unwrap_or_default();
    Ok(outcome.into_record(run, environment.clone(), began, wall))
}

fn failed(doing: &str, error: &io::Error) -> BackendError {
    match error.kind() {
        io::ErrorKind::PermissionDenied => BackendError::Unsupported {
            what: format!("{doing}: {error}"),
            remedy: "run `pipefill doctor`, which says what is missing; or run it with --on sim".to_owned(),
        },
        io::ErrorKind::Unsupported => BackendError::Unsupported {
            what: error.to_string(),
            remedy: "choose one of these, load the kernel's module, or run it with --on sim".to_owned(),
        },
        _ => BackendError::Failed(format!("{doing}: {error}")),
    }
}

/// Hosts and path of a run, before any traffic.
struct Stage<'a> {
    run: &'a Run,
    clock: RunClock,
    topology: Topology,
    settings: Vec<Setting>,
    before: Before,
    forward: Mutex<PathState>,
    reverse: Mutex<PathState>,
}

/// Counters before the traffic, by place.
struct Before(Vec<(String, Snapshot)>);

/// Everything that a run left in memory.
struct Outcome {
    settings: Vec<Setting>,
    streams: Vec<StreamSummary>,
    counters: Vec<Counter>,
    instrument: Instrument,
    invalid: Vec<Invalid>,
    samples: Samples,
    data_path: &'static str,
}

impl<'a> Stage<'a> {
    fn build(run: &'a Run) -> io::Result<Self> {
        let spec = &run.cell.spec;
        let clock = RunClock::start();
        let topology = Topology::build(&spec.path)?;
        let mut settings = sysctl::apply(&topology.a, "sender", &spec.sender)?;
        settings.extend(sysctl::apply(&topology.b, "receiver", &spec.receiver)?);
        let before = Before(snapshots(&topology)?);
        let (forward, reverse) = (Mutex::default(), Mutex::default());
        Ok(Self {
            run,
            clock,
            topology,
            settings,
            before,
            forward,
            reverse,
        })
    }

    fn perform(mut self, watch: &dyn Watch) -> Result<Outcome, BackendError> {
        let threads = Threads::default();
        let stop_path = AtomicBool::new(false);
        let mut settings = std::mem::take(&mut self.settings);
        let (traffic, pumps) = thread::scope(|scope| {
            let pumps = self
                .topology
                .middle
                .as_ref()
                .map(|middle| self.start_pumps(scope, middle, &threads, &stop_path));
            let traffic = self.traffic(&threads, &mut settings, watch);
            stop_path.store(true, Ordering::Relaxed);
            let pumps = pumps.map(|pumps| pumps.map(|pump| joined(pump, "the data path")));
            (traffic, pumps)
        });
        let traffic = traffic?;
        let mut instrument = Instrument {
            threads: threads.ended(),
            ..traffic.instrument
        };
        if let Some(pumps) = pumps {
            note_pumps(&mut instrument, pumps).map_err(|error| failed("moving packets", &error))?;
        }
        let mut counters = self
            .counters_after()
            .map_err(|error| failed("reading counters", &error))?;
        counters.extend(path_counters("forward", &self.forward));
        counters.extend(path_counters("reverse", &self.reverse));
        let mut invalid = traffic.invalid;
        invalid.extend(judge(&self.run.cell.spec, &instrument));
        let data_path = if self.topology.middle.is_some() {
            "af_packet"
        } else {
            "veth"
        };
        Ok(Outcome {
            settings,
            streams: traffic.streams,
            counters,
            instrument,
            invalid,
            samples: traffic.samples,
            data_path,
        })
    }

    fn start_pumps<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        middle: &'scope Middle,
        threads: &'scope Threads,
        stop: &'scope AtomicBool,
    ) -> [ScopedJoinHandle<'scope, io::Result<PumpReport>>; 2] {
        let path = &self.run.cell.spec.path;
        let directions = [
            (
                "forward",
                &path.forward,
                &middle.towards_a,
                &middle.towards_b,
                &self.forward,
            ),
            (
                "reverse",
                &path.reverse,
                &middle.towards_b,
                &middle.towards_a,
                &self.reverse,
            ),
        ];
        directions.map(|(name, spec, input, output, state)| {
            let (rtt, seed, clock) = (path.rtt(), self.run.seed, self.clock);
            scope.spawn(move || {
                let pump = Pump {
                    name,
                    spec,
                    rtt,
                    seed,
                    clock,
                    input,
                    output,
                    state,
                    stop,
                };
                threads.note(&format!("path {name}"), || pump.run())
            })
        })
    }

    /// Connects every flow, runs the applications and the telemetry, and waits for the end.
    fn traffic(
        &self,
        threads: &Threads,
        settings: &mut Vec<Setting>,
        watch: &dyn Watch,
    ) -> Result<TrafficOutcome, BackendError> {
        let flows = match self.connect(settings) {
            Ok(flows) => flows,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::TimedOut | io::ErrorKind::ConnectionReset
                ) =>
            {
                return Ok(TrafficOutcome::not_connected(&error));
            }
            Err(error) => return Err(failed("connecting the flows", &error)),
        };
        Traffic {
            stage: self,
            flows: &flows,
            threads,
        }
        .run(watch)
    }

    fn connect(&self, settings: &mut Vec<Setting>) -> io::Result<Vec<ConnectedFlow<'a>>> {
        let spec = &self.run.cell.spec;
        let a = Endpoint {
            namespace: &self.topology.a,
            address: A_ADDRESS,
            host: &spec.sender,
        };
        let b = Endpoint {
            namespace: &self.topology.b,
            address: B_ADDRESS,
            host: &spec.receiver,
        };
        let timeout = CONNECT_TIMEOUT + 10 * spec.path.rtt();
        let mut first_stream = 0;
        let mut flows = Vec::new();
        for (index, flow) in (0..).zip(&spec.flows) {
            let (from, to) = match flow.direction {
                Direction::Forward => (a, b),
                Direction::Reverse => (b, a),
            };
            let ends = FlowEnds {
                flow,
                index,
                first_stream,
                from,
                to,
            };
            let (sockets, asked) = match flow.protocol {
                Protocol::Tcp => ends.connect_tcp(timeout)?,
                Protocol::Udp => ends.connect_udp()?,
            };
            settings.extend(asked);
            let counts = sockets.iter().map(|_| StreamCounts::default()).collect();
            flows.push(ConnectedFlow {
                spec: flow,
                index,
                first_stream,
                sockets,
                counts,
            });
            first_stream += flow.parallel;
        }
        Ok(flows)
    }

    fn counters_after(&self) -> io::Result<Vec<Counter>> {
        let after = snapshots(&self.topology)?;
        Ok(self
            .before
            .0
            .iter()
            .zip(&after)
            .flat_map(|((place, before), (_, after))| counters::pair(place, before, after))
            .collect())
    }

    /// The one-way base delay that a flow's data meets.
    fn one_way_delay(&self, flow: &FlowSpec) -> Duration {
        let path = &self.run.cell.spec.path;
        match flow.direction {
            Direction::Forward => path.forward.delay,
            Direction::Reverse => path.reverse.delay,
        }
    }

    /// Packets that the direction of this flow holds now.
    fn backlog(&self, flow: &FlowSpec) -> u64 {
        let state = if flow.direction == Direction::Forward {
            &self.forward
        } else {
            &self.reverse
        };
        state.lock().map_or(0, |state| {
            state.backlog.iter().map(|backlog| backlog.packets).sum()
        })
    }
}

fn snapshots(topology: &Topology) -> io::Result<Vec<(String, Snapshot)>> {
    let mut all = vec![
        ("sender nstat".to_owned(), counters::nstat(&topology.a)?),
        ("receiver nstat".to_owned(), counters::nstat(&topology.b)?),
        ("sender interface".to_owned(), counters::interfaces(&topology.a)?),
        (
            "receiver interface".to_owned(),
            counters::interfaces(&topology.b)?,
        ),
    ];
    if let Some(middle) = &topology.middle {
        all.push((
            "path interface".to_owned(),
            counters::interfaces(&middle.namespace)?,
        ));
    }
    let drops = counters::input_queue_drops().map(|drops| ("input_queue_drops".to_owned(), drops));
    all.push(("machine".to_owned(), drops.into_iter().collect()));
    Ok(all)
}

fn path_counters(direction: &str, state: &Mutex<PathState>) -> Vec<Counter> {
    let Ok(state) = state.lock() else {
        return Vec::new();
    };
    let place = format!("path {direction}");
    state
        .totals()
        .into_iter()
        .map(|(name, after)| Counter {
            place: place.clone(),
            name,
            before: 0,
            after,
        })
        .collect()
}

fn note_pumps(instrument: &mut Instrument, pumps: [io::Result<PumpReport>; 2]) -> io::Result<()> {
    let [forward, reverse] = pumps;
    let (forward, reverse) = (forward?, reverse?);
    instrument.ring_drops = Some(forward.ring_drops + reverse.ring_drops);
    instrument.transmit_drops = Some(forward.transmit_drops + reverse.transmit_drops);
    instrument.release_lateness_forward = forward.lateness;
    instrument.release_lateness_reverse = reverse.lateness;
    Ok(())
}

fn joined<T>(handle: ScopedJoinHandle<'_, io::Result<T>>, what: &str) -> io::Result<T> {
    handle
        .join()
        .unwrap_or_else(|_| Err(io::Error::other(format!("{what} panicked"))))
}

/// A flow with its sockets.
struct ConnectedFlow<'a> {
    spec: &'a FlowSpec,
    index: u32,
    first_stream: u32,
    sockets: Vec<StreamSockets>,
    counts: Vec<StreamCounts>,
}

/// What the traffic left in memory.
struct TrafficOutcome {
    streams: Vec<StreamSummary>,
    instrument: Instrument,
    invalid: Vec<Invalid>,
    samples: Samples,
}

impl TrafficOutcome {
    fn not_connected(error: &io::Error) -> Self {
        let detail = format!("the flows could not be connected through the path: {error}");
        Self {
            streams: Vec::new(),
            instrument: Instrument::default(),
            invalid: vec![invalid("flow_failed", detail)],
            samples: Samples::default(),
        }
    }
}

/// All flows of a run, at work.
struct Traffic<'a> {
    stage: &'a Stage<'a>,
    flows: &'a [ConnectedFlow<'a>],
    threads: &'a Threads,
}

/// When a flow sends.
#[derive(Clone, Copy)]
struct Span {
    start: Time,
    until: Time,
}

impl Traffic<'_> {
    fn run(&self, watch: &dyn Watch) -> Result<TrafficOutcome, BackendError> {
        let clock = self.stage.clock;
        let zero = clock.now().after(LEAD);
        let stops = Stops::default();
        let probes = self.probes();
        let path = [("forward", &self.stage.forward), ("reverse", &self.stage.reverse)];
        thread::scope(|scope| {
            let telemetry = Telemetry {
                clock,
                every: self.stage.run.cell.spec.run.sample,
                streams: &probes,
                path,
                threads: self.threads,
                stop: &stops.telemetry,
            };
            let sampling = scope.spawn(move || self.threads.note("telemetry", || telemetry.run()));
            let working: Vec<Working<'_>> = self
                .flows
                .iter()
                .map(|flow| self.start_flow(scope, flow, flow.span(zero), &stops))
                .collect();
            let stopped = self.wait(watch, zero, &stops);
            let finals = self.final_infos();
            let outcome = self.end_flows(working, &stops, &finals, zero);
            stops.telemetry.store(true, Ordering::Relaxed);
            let samples = sampling
                .join()
                .map_err(|_| BackendError::Failed("the telemetry panicked".to_owned()))?;
            if stopped {
                return Err(BackendError::Interrupted("the user".to_owned()));
            }
            let (streams, send_lateness, invalid) = outcome;
            let instrument = Instrument {
                send_lateness,
                sample_lateness: samples.lateness.clone(),
                ..Instrument::default()
            };
            Ok(TrafficOutcome {
                streams,
                instrument,
                invalid,
                samples,
            })
        })
    }

    fn probes(&self) -> Vec<StreamProbe<'_>> {
        let mut probes = Vec::new();
        for flow in self.flows {
            for ((sockets, counts), stream) in flow.sockets.iter().zip(&flow.counts).zip(flow.first_stream..)
            {
                let (sender, receiver) = (&sockets.sender, &sockets.receiver);
                probes.push(StreamProbe {
                    stream,
                    protocol: flow.spec.protocol,
                    sender,
                    receiver,
                    counts,
                });
            }
        }
        probes
    }

    fn start_flow<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        flow: &'scope ConnectedFlow<'scope>,
        span: Span,
        stops: &'scope Stops,
    ) -> Working<'scope> {
        let name = |what: &str| format!("flow {} {what}", flow.index);
        let (sender, receiver) = (name("sender"), name("receiver"));
        let clock = self.stage.clock;
        match flow.spec.protocol {
            Protocol::Tcp => Working {
                receivers: Receivers::Tcp(scope.spawn(move || {
                    self.threads
                        .note(&receiver, || flow.receive_tcp(clock, span, stops))
                })),
                sender: scope.spawn(move || self.threads.note(&sender, || flow.send_tcp(clock, span, stops))),
            },
            Protocol::Udp => Working {
                receivers: Receivers::Udp(
                    flow.sockets
                        .iter()
                        .zip(&flow.counts)
                        .map(|(sockets, counts)| {
                            let receiver = receiver.clone();
                            let application = UdpReceiver {
                                socket: &sockets.receiver,
                                counts,
                                clock,
                                stop: &stops.receivers,
                            };
                            scope.spawn(move || self.threads.note(&receiver, || application.run()))
                        })
                        .collect(),
                ),
                sender: scope.spawn(move || self.threads.note(&sender, || flow.send_udp(clock, span, stops))),
            },
        }
    }

    /// Waits until all flows have ended and what they sent has had time to arrive; true if the user stopped it.
    fn wait(&self, watch: &dyn Watch, zero: Time, stops: &Stops) -> bool {
        let clock = self.stage.clock;
        let end = self
            .flows
            .iter()
            .map(|flow| self.earliest_end(flow, zero))
            .max()
            .unwrap_or(zero);
        let latest = end.after(LONGEST_DRAIN);
        while clock.now() < end || (clock.now() < latest && self.is_draining()) {
            if watch.stop_requested() {
                stops.senders.store(true, Ordering::Relaxed);
                return true;
            }
            watch.progress(Time::from_nanos(clock.now().since(zero).as_nanos() as u64));
            clock.sleep_until(clock.now().after(TICK));
        }
        false
    }

    fn earliest_end(&self, flow: &ConnectedFlow<'_>, zero: Time) -> Time {
        flow.span(zero)
            .until
            .after(self.stage.one_way_delay(flow.spec))
            .after(DRAIN_MARGIN)
    }

    /// Datagrams that are still in the path would otherwise count as lost. TCP is not waited for: what its sender has
    /// not delivered by the end of the measured window does not count.
    fn is_draining(&self) -> bool {
        self.flows
            .iter()
            .any(|flow| flow.spec.protocol == Protocol::Udp && self.stage.backlog(flow.spec) > 0)
    }

    /// The senders' `tcp_info` at the end, by stream.
    fn final_infos(&self) -> Vec<Option<TcpInfo>> {
        let probes = self.probes();
        let clock = self.stage.clock;
        probes
            .iter()
            .map(|probe| {
                (probe.protocol == Protocol::Tcp)
                    .then(|| sample_tcp(clock, probe.stream, StreamEnd::Sender, probe.sender))
                    .flatten()
                    .map(|sample| sample.info)
            })
            .collect()
    }

    fn end_flows(
        &self,
        working: Vec<Working<'_>>,
        stops: &Stops,
        finals: &[Option<TcpInfo>],
        zero: Time,
    ) -> (Vec<StreamSummary>, Option<Lateness>, Vec<Invalid>) {
        stops.senders.store(true, Ordering::Relaxed);
        stops.receivers.store(true, Ordering::Relaxed);
        let (mut streams, mut lateness, mut invalid_reasons) = (Vec::new(), None, Vec::new());
        for (flow, working) in self.flows.iter().zip(working) {
            match working.end() {
                Ok((late, totals)) => {
                    lateness = worse(lateness, late.summary());
                    streams.extend(flow.summaries(zero, finals, &totals));
                }
                Err(error) => {
                    invalid_reasons.push(invalid("flow_failed", format!("flow {}: {error}", flow.index)));
                    streams.extend(flow.summaries(zero, finals, &[]));
                }
            }
        }
        (streams, lateness, invalid_reasons)
    }
}

/// The later of two latenesses: the worst flow counts.
fn worse(a: Option<Lateness>, b: Option<Lateness>) -> Option<Lateness> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if a.p99_ns >= b.p99_ns { a } else { b }),
        (a, b) => a.or(b),
    }
}

/// Flags that end the threads of a run.
#[derive(Default)]
struct Stops {
    senders: AtomicBool,
    receivers: AtomicBool,
    telemetry: AtomicBool,
}

/// The threads of a flow.
struct Working<'scope> {
    sender: ScopedJoinHandle<'scope, io::Result<LatenessMeter>>,
    receivers: Receivers<'scope>,
}

enum Receivers<'scope> {
    Tcp(ScopedJoinHandle<'scope, io::Result<()>>),
    Udp(Vec<ScopedJoinHandle<'scope, io::Result<UdpTotals>>>),
}

impl Working<'_> {
    /// Joins the threads; the totals are those of UDP, one a stream.
    fn end(self) -> io::Result<(LatenessMeter, Vec<UdpTotals>)> {
        let lateness = joined(self.sender, "a sender");
        let totals = match self.receivers {
            Receivers::Tcp(receiver) => joined(receiver, "a receiver").map(|()| Vec::new()),
            Receivers::Udp(receivers) => receivers
                .into_iter()
                .map(|each| joined(each, "a receiver"))
                .collect(),
        };
        Ok((lateness?, totals?))
    }
}

impl ConnectedFlow<'_> {
    fn span(&self, zero: Time) -> Span {
        let start = zero.after(self.spec.start);
        Span {
            start,
            until: start.after(self.spec.duration),
        }
    }

    fn senders(&self) -> Vec<&Socket> {
        self.sockets.iter().map(|sockets| &sockets.sender).collect()
    }

    fn send_tcp(&self, clock: RunClock, span: Span, stops: &Stops) -> io::Result<LatenessMeter> {
        TcpSender {
            sockets: &self.senders(),
            counts: &self.counts,
            clock,
            start: span.start,
            until: span.until,
            bitrate: self.spec.bitrate,
            length: self.spec.length,
            stop: &stops.senders,
        }
        .run()
    }

    fn receive_tcp(&self, clock: RunClock, span: Span, stops: &Stops) -> io::Result<()> {
        let sockets: Vec<&Socket> = self.sockets.iter().map(|sockets| &sockets.receiver).collect();
        let (counts, read_rate) = (&self.counts, self.spec.read_rate);
        TcpReceiver {
            sockets: &sockets,
            counts,
            clock,
            start: span.start,
            read_rate,
            stop: &stops.receivers,
        }
        .run()
    }

    fn send_udp(&self, clock: RunClock, span: Span, stops: &Stops) -> io::Result<LatenessMeter> {
        UdpSender {
            sockets: &self.senders(),
            counts: &self.counts,
            clock,
            start: span.start,
            until: span.until,
            bitrate: self.spec.bitrate.unwrap_or(Rate::from_bps(1_000_000)),
            length: self.spec.length,
            stop: &stops.senders,
        }
        .run()
    }

    fn summaries(&self, zero: Time, finals: &[Option<TcpInfo>], totals: &[UdpTotals]) -> Vec<StreamSummary> {
        let span = self.span(zero);
        self.counts
            .iter()
            .enumerate()
            .zip(self.first_stream..)
            .map(|((i, counts), stream)| StreamSummary {
                stream,
                flow: self.index,
                start_us: Time::from_nanos(counts.started_ns.get()).micros(),
                stop_us: span.until.micros(),
                end_us: Time::from_nanos(counts.last_received_ns.get()).micros(),
                sent_bytes: counts.sent_bytes.get(),
                received_bytes: counts.received_bytes.get(),
                tcp: finals.get(stream as usize).copied().flatten(),
                udp: totals.get(i).map(|totals| UdpTotals {
                    sent: counts.sent.get(),
                    ..*totals
                }),
            })
            .collect()
    }
}

impl Outcome {
    fn into_record(
        self,
        run: &Run,
        environment: Environment,
        began: SystemTime,
        wall: Duration,
    ) -> RunRecord {
        let started = began.duration_since(UNIX_EPOCH).unwrap_or_default();
        let manifest = Manifest {
            version: RECORD_VERSION,
            pipefill: env!("CARGO_PKG_VERSION").to_owned(),
            backend: "lab".to_owned(),
            run: run.clone(),
            started_unix_ms: u64::try_from(started.as_millis()).ok(),
            wall_ms: u64::try_from(wall.as_millis()).ok(),
            environment: Environment {
                data_path: Some(self.data_path.to_owned()),
                ..environment
            },
            settings: self.settings,
            streams: self.streams,
            counters: self.counters,
            instrument: self.instrument,
            invalid: self.invalid,
        };
        let samples = self.samples;
        RunRecord {
            manifest,
            tcp: samples.tcp,
            delivery: samples.delivery,
            udp: samples.udp,
            path: samples.path,
            cpu: samples.cpu,
        }
    }
}
