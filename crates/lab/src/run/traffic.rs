//! All flows of a run, from the first byte to the last.

use super::Stage;
use super::failed;
use super::flow::{ConnectedFlow, Finals, SendingSpan, Stops};
use crate::bare_timer;
use crate::cpu_use::CpuMeter;
use crate::data_path::{Begin, PathState};
use crate::lateness::LatenessMeter;
use crate::rows::{self, Rows};
use crate::telemetry::{StreamProbe, Telemetry, sample_tcp};
use crate::threads::{StopOnDrop, Threads, joined};
use crate::traffic::udp::{Header, UdpReceiver};
use crate::validity::invalid;
use pipefill_core::backend::Watch;
use pipefill_core::cell::{Direction, Protocol};
use pipefill_core::problem::Problem;
use pipefill_core::record::{
    CaStateTimes, Instrument, Invalid, Lateness, Sink, StreamEnd, StreamSummary, ThreadRole, UdpTotals,
};
use pipefill_core::tcp_info::TcpInfo;
use pipefill_core::traffic::ping;
use pipefill_core::traffic::waiting::{DRAIN_MARGIN, LONGEST_DRAIN, earliest_end};
use pipefill_core::units::Time;
use std::collections::BTreeMap;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Duration;

/// Threads are started this long before the traffic.
const LEAD: Duration = Duration::from_millis(20);
/// How often the run looks at the clock and at the user's wish to stop.
const TICK: Duration = Duration::from_millis(20);

/// What the traffic left in memory.
pub(super) struct TrafficOutcome {
    pub(super) streams: Vec<StreamSummary>,
    pub(super) instrument: Instrument,
    pub(super) invalid: Vec<Invalid>,
    /// When the last TCP sender left slow start.
    pub(super) slow_start_until: Time,
}

impl TrafficOutcome {
    pub(super) fn not_connected(error: &io::Error) -> Self {
        let detail = format!("the flows could not be connected through the path: {error}");
        Self {
            streams: Vec::new(),
            instrument: Instrument::default(),
            invalid: vec![invalid("flow_failed", detail)],
            slow_start_until: Time::ZERO,
        }
    }
}

/// All flows of a run, at work.
pub(super) struct Traffic<'a> {
    pub(super) stage: &'a Stage<'a>,
    pub(super) flows: &'a [ConnectedFlow<'a>],
    pub(super) threads: &'a Threads,
}

impl Traffic<'_> {
    /// Runs everything to its end.
    pub(super) fn run(&self, watch: &dyn Watch, sink: &mut dyn Sink) -> Result<TrafficOutcome, Problem> {
        let clock = self.stage.clock;
        let zero = clock.now().after(LEAD);
        PathState::begin([&self.stage.forward, &self.stage.reverse], Begin::At(zero));
        let stops = Stops::default();
        self.watch_states(zero);
        let cpu_meter = CpuMeter::start(clock);
        let probes = self.probes();
        let path = [(Direction::Forward, &self.stage.forward), (Direction::Reverse, &self.stage.reverse)];
        thread::scope(|scope| {
            let _stop = StopOnDrop([&stops.senders, &stops.receivers, &stops.telemetry]);
            let telemetry = Telemetry {
                clock,
                every: self.stage.run.cell.spec.run.sample,
                streams: &probes,
                path,
                queue: self.stage.queue,
                threads: self.threads,
                trace: self.stage.trace.as_ref(),
                stop: &stops.telemetry,
            };
            let (rows, waiting) = rows::channel();
            let of_pings = rows.clone();
            let no_thread = |error| failed("starting the traffic", &error);
            let (record, timer) = ["record", "timer"].map(|name| ThreadRole::Other(name.to_owned())).into();
            let writing =
                self.threads.start(scope, record, move || waiting.drain_into(sink)).map_err(no_thread)?;
            let sampling = self
                .threads
                .start(scope, ThreadRole::Telemetry, move || telemetry.run(&rows))
                .map_err(no_thread)?;
            let timing = self
                .threads
                .start(scope, timer, || bare_timer::run(clock, &stops.telemetry))
                .map_err(no_thread)?;
            let flows = self.flows.iter();
            let working = flows.map(|flow| self.start_flow(scope, flow, flow.span(zero), &stops, &of_pings));
            let working: Vec<Working<'_>> = working.collect::<io::Result<_>>().map_err(no_thread)?;
            drop(of_pings);
            let stopped = self.wait(zero, &stops, watch, || writing.is_finished());
            let finals = Finals { infos: self.final_infos(), states: self.state_times() };
            let held = self.held();
            let (streams, send_lateness, mut invalid) = self.end_flows(working, &stops, &finals, zero);
            invalid.extend(held);
            stops.telemetry.store(true, Ordering::Relaxed);
            let panicked = |_| Problem::broken("the telemetry panicked");
            let sampled = sampling.join().map_err(panicked)?;
            writing.join().map_err(panicked)??;
            let timer_lateness = timing.join().map_err(panicked)?;
            if stopped {
                return Err(Problem::stopped());
            }
            let instrument = Instrument {
                send_lateness,
                samples_due: sampled.lateness.as_ref().map(|lateness| lateness.count),
                samples_taken: Some(sampled.samples_taken),
                sample_lateness: sampled.lateness,
                timer_lateness,
                cpu_use: cpu_meter.and_then(|meter| meter.used()),
                ..Instrument::default()
            };
            Ok(TrafficOutcome { streams, instrument, invalid, slow_start_until: sampled.slow_start_until })
        })
    }

    /// The largest lateness of the path in either direction; `None` without an emulated path.
    fn late(&self) -> Option<Duration> {
        self.stage.topology.middle.as_ref()?;
        let states = [&self.stage.forward, &self.stage.reverse].map(|state| state.lock().ok());
        states.into_iter().flatten().map(|state| state.latest).max()
    }

    fn probes(&self) -> Vec<StreamProbe<'_>> {
        let mut probes = Vec::new();
        for flow in self.flows {
            for ((sockets, counts), stream) in flow.sockets.iter().zip(&flow.counts).zip(flow.first_stream..)
            {
                let (sender, receiver) = (&sockets.sender, &sockets.receiver);
                probes.push(StreamProbe { stream, protocol: flow.spec.protocol, sender, receiver, counts });
            }
        }
        probes
    }

    fn start_flow<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        flow: &'scope ConnectedFlow<'scope>,
        span: SendingSpan,
        stops: &'scope Stops,
        rows: &Rows,
    ) -> io::Result<Working<'scope>> {
        let threads = self.threads;
        let sender = ThreadRole::Sender { flow: flow.index };
        let receiver = ThreadRole::Receiver { flow: flow.index, stream: None };
        let clock = self.stage.clock;
        Ok(match flow.spec.protocol {
            Protocol::Ping => {
                let rows = rows.clone();
                let rtt = self.stage.found_rtt.unwrap_or_else(|| self.stage.run.cell.spec.path.rtt());
                let patience = ping::patience(rtt);
                Working {
                    receivers: Receivers::One(threads.start(scope, receiver, move || flow.echo(stops))?),
                    sender: threads
                        .start(scope, sender, move || flow.ask(clock, span, &rows, patience, stops))?,
                }
            }
            Protocol::Tcp => Working {
                receivers: Receivers::One(
                    threads.start(scope, receiver, move || flow.receive_tcp(clock, span, stops))?,
                ),
                sender: threads.start(scope, sender, move || flow.send_tcp(clock, span, stops))?,
            },
            Protocol::Udp => {
                let streams = flow.sockets.iter().zip(&flow.counts).zip(flow.first_stream..);
                let receivers = streams.map(|((sockets, counts), stream)| {
                    let receiver = ThreadRole::Receiver { flow: flow.index, stream: Some(stream) };
                    let (socket, stop) = (&sockets.receiver, &stops.receivers);
                    let application = UdpReceiver { socket, counts, clock, header: Header::Own, stop };
                    threads.start(scope, receiver, move || application.run())
                });
                Working {
                    receivers: Receivers::EachStream(receivers.collect::<io::Result<_>>()?),
                    sender: threads.start(scope, sender, move || flow.send_udp(clock, span, stops))?,
                }
            }
        })
    }

    /// Waits until all flows have ended and what they sent has had time to arrive; true if the user stopped it, or the
    /// record is `broken`.
    fn wait(&self, zero: Time, stops: &Stops, watch: &dyn Watch, broken: impl Fn() -> bool) -> bool {
        let clock = self.stage.clock;
        let path = &self.stage.run.cell.spec.path;
        let ends = self.flows.iter().map(|flow| earliest_end(flow.spec, path, zero));
        let end = ends.max().unwrap_or(zero).after(self.stage.found_rtt.map_or(Duration::ZERO, on_its_way));
        let latest = end.after(LONGEST_DRAIN);
        let mut drained = end;
        while clock.now() < drained || (clock.now() < latest && self.is_draining()) {
            if self.is_draining() {
                drained = drained.max(clock.now().after(DRAIN_MARGIN));
            }
            if watch.stop_requested() || broken() {
                stops.senders.store(true, Ordering::Relaxed);
                return true;
            }
            watch.progress(Time::from_nanos(clock.now().since(zero).as_nanos() as u64));
            if let Some(late) = self.late() {
                watch.late(late);
            }
            clock.sleep_until(clock.now().after(TICK));
        }
        false
    }

    /// Datagrams that are still in the path would otherwise count as lost. TCP is not waited for: what its sender has
    /// not delivered by the end of the measured window does not count.
    fn is_draining(&self) -> bool {
        self.flows.iter().any(|flow| flow.spec.protocol == Protocol::Udp && self.stage.backlog(flow.spec) > 0)
    }

    /// Datagrams that the path still holds after the longest wait: they would count as lost, and are only late.
    fn held(&self) -> Option<Invalid> {
        let udp = self.flows.iter().filter(|flow| flow.spec.protocol == Protocol::Udp);
        let packets = udp.map(|flow| self.stage.backlog(flow.spec)).max().filter(|&packets| packets > 0)?;
        let detail = format!(
            "the path still held {packets} packets {LONGEST_DRAIN:?} after the last one was due to be sent"
        );
        Some(invalid("not_drained", detail))
    }

    /// The senders' `tcp_info` at the end, by stream.
    fn final_infos(&self) -> Vec<Option<TcpInfo>> {
        let probes = self.probes();
        let clock = self.stage.clock;
        probes
            .iter()
            .map(|probe| {
                (probe.protocol == Protocol::Tcp)
                    .then(|| {
                        sample_tcp(
                            clock,
                            (probe.stream, StreamEnd::Sender),
                            (probe.sender, probe.counts.way(StreamEnd::Sender)),
                            true,
                        )
                    })
                    .flatten()
                    .map(|sample| sample.info)
            })
            .collect()
    }

    /// Every TCP sender's states are counted from when its flow starts until it stops. One that can't be is sampled only.
    fn watch_states(&self, zero: Time) {
        let Some(Ok(mut trace)) = self.stage.trace.as_ref().map(Mutex::lock) else { return };
        for flow in self.flows.iter().filter(|flow| flow.spec.protocol == Protocol::Tcp) {
            let span = flow.span(zero);
            for (sockets, stream) in flow.sockets.iter().zip(flow.first_stream..) {
                let _sampled = trace.watch(stream, &sockets.sender, span.start, span.until);
            }
        }
    }

    fn state_times(&self) -> BTreeMap<u32, CaStateTimes> {
        let Some(Ok(trace)) = self.stage.trace.as_ref().map(Mutex::lock) else { return BTreeMap::new() };
        let started: BTreeMap<u32, Time> = self
            .probes()
            .iter()
            .map(|probe| (probe.stream, Time::from_nanos(probe.counts.started_ns.get())))
            .collect();
        trace.state_times(|stream| started.get(&stream).copied().unwrap_or(Time::ZERO))
    }

    fn end_flows(
        &self,
        working: Vec<Working<'_>>,
        stops: &Stops,
        finals: &Finals,
        zero: Time,
    ) -> (Vec<StreamSummary>, Option<Lateness>, Vec<Invalid>) {
        stops.senders.store(true, Ordering::Relaxed);
        stops.receivers.store(true, Ordering::Relaxed);
        let (mut streams, mut lateness, mut invalid_reasons) = (Vec::new(), None, Vec::new());
        for (flow, working) in self.flows.iter().zip(working) {
            match working.end() {
                Ok((late, totals)) => {
                    lateness = late.iter().map(LatenessMeter::summary).fold(lateness, worse);
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

/// How long what was sent last may be on its way through a path of which nothing but `rtt` is known.
fn on_its_way(rtt: Duration) -> Duration {
    const QUEUED: Duration = Duration::from_millis(400);
    rtt + QUEUED
}

/// The later of two latenesses: the worst flow counts.
fn worse(a: Option<Lateness>, b: Option<Lateness>) -> Option<Lateness> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if a.p99_ns >= b.p99_ns { a } else { b }),
        (a, b) => a.or(b),
    }
}

/// The threads of a flow.
struct Working<'scope> {
    sender: ScopedJoinHandle<'scope, io::Result<LatenessMeter>>,
    receivers: Receivers<'scope>,
}

enum Receivers<'scope> {
    One(ScopedJoinHandle<'scope, io::Result<LatenessMeter>>),
    EachStream(Vec<ScopedJoinHandle<'scope, io::Result<UdpTotals>>>),
}

impl Working<'_> {
    /// Joins the threads. Returns the totals of each UDP stream.
    fn end(self) -> io::Result<(Vec<LatenessMeter>, Vec<UdpTotals>)> {
        let sender = joined(self.sender, "a sender");
        match self.receivers {
            Receivers::One(receiver) => {
                let receiver = joined(receiver, "a receiver");
                Ok((vec![sender?, receiver?], Vec::new()))
            }
            Receivers::EachStream(receivers) => {
                let totals: io::Result<_> =
                    receivers.into_iter().map(|each| joined(each, "a receiver")).collect();
                Ok((vec![sender?], totals?))
            }
        }
    }
}
