//! One run: the connections made, the traffic, the drain, the record.

use crate::apps::App;
use crate::capture::Capture;
use crate::cc;
use crate::engine::Engine;
use crate::host::Host;
use crate::invariants::Checks;
use crate::network::Network;
use crate::options::{SimOptions, WriterHabit};
use crate::ping::PingStream;
use crate::record::{self, Outcome};
use crate::sampler;
use crate::segment::{Ip, UDP};
use crate::settings;
use crate::stream::{SENDER, SimStream, TcpStream, Transport};
use crate::tcp::endpoint::Endpoint;
use crate::tcp::sender::SenderSettings;
use crate::udp::UdpStream;
use pipefill_core::backend::Watch;
use pipefill_core::cell::{Application, CellSpec, Direction, FlowSpec, HostSpec, Pmtud, Protocol, Writer};
use pipefill_core::plan::Run;
use pipefill_core::problem::Problem;
use pipefill_core::record::{Invalid, Manifest, Sink};
use pipefill_core::traffic::pacing::Schedule;
use pipefill_core::traffic::waiting;
use pipefill_core::units::{Rate, Time};
use std::time::Duration;

/// How often the drain is looked at.
const TICK: Duration = Duration::from_millis(20);
/// Instants and rows between two looks at the user's wish to stop: some milliseconds of work, whatever virtual time they take.
const PATIENCE: u64 = 1 << 12;
/// Most packets on the path at once; each takes about a hundred bytes of memory.
const HELD_MAX: u64 = 10_000_000;
/// Most writes that a send buffer may take: all of them may be at one instant.
const WRITES_MAX: u64 = 1 << 24;

/// Begins the message of a run that a check has ended.
const BROKEN: &str = "an invariant is broken";

/// Carries out `run`, looked on by [`Checks`] where `is_checked`: its rows to `sink`, and its manifest.
pub(crate) fn carry_out(
    run: &Run,
    options: SimOptions,
    is_checked: bool,
    watch: &dyn Watch,
    sink: &mut dyn Sink,
) -> Result<Manifest, Problem> {
    let spec = &run.cell.spec;
    let [sender, receiver] = hosts(spec, options)?;
    let hosts = Hosts { a: (&spec.sender, sender), b: (&spec.receiver, receiver) };
    let mut streams = Vec::new();
    for (flow, index) in spec.flows.iter().zip(0..) {
        for _ in 0..flow.parallel {
            streams.push(hosts.stream(run, flow, index, streams.len() as u32)?);
        }
    }
    let carries =
        |direction| spec.flows.iter().any(|flow| flow.direction == direction || flow.app.sends_both_ways());
    let capture = Capture::begin(run, streams.iter().map(SimStream::identity), sink)?;
    let network = Network::new(&spec.path, run.seed, options.fed_by(), carries, capture);
    let checks = is_checked.then(|| Checks::new(&spec.path, streams.len()));
    let mut traffic = Traffic {
        spec,
        watch,
        options,
        engine: Engine::new(Time::ZERO.after(options.phase), network, streams, checks),
        sink,
        work: 0,
    };
    let outcome = traffic.run()?;
    let now = traffic.engine.now;
    traffic.engine.network.end_capture(now)?;
    let settings = settings::all(run, [("sender", &sender), ("receiver", &receiver)]);
    Ok(record::manifest(run, &traffic.engine, settings, outcome))
}

/// Whether `run` can be simulated, found without doing it.
pub(crate) fn check(run: &Run, options: SimOptions) -> Result<(), Problem> {
    hosts(&run.cell.spec, options).map(drop)
}

/// The sender's host and the receiver's, where all that is asked for can be simulated.
fn hosts(spec: &CellSpec, options: SimOptions) -> Result<[Host; 2], Problem> {
    refuse_what_is_not_modelled(spec)?;
    let host = |host| Host::new(host, &spec.path, options);
    let hosts = [host(&spec.sender)?, host(&spec.receiver)?];
    for flow in &spec.flows {
        let (from, from_spec) = match flow.direction {
            Direction::Forward => (&hosts[0], &spec.sender),
            Direction::Reverse => (&hosts[1], &spec.receiver),
        };
        refuse_many_writes(flow, from, from_spec)?;
    }
    Ok(hosts)
}

fn refuse_what_is_not_modelled(spec: &CellSpec) -> Result<(), Problem> {
    let ip = Ip::of(&spec.path);
    let inner = spec.path.forward.inner_mtu.as_ref();
    let told = inner.filter(|inner| inner.pmtud == Pmtud::Icmp).map(|inner| u32::from(inner.mtu));
    let largest = told.unwrap_or(ip.mtu).min(ip.mtu) - ip.header - UDP;
    if inner.is_some() && spec.flows.iter().any(|flow| flow.protocol == Protocol::Ping) {
        return Err(Problem::machine(
            "the simulator does not send a ping through path.inner_mtu",
            "leave inner_mtu out, or run it with --on lab",
        ));
    }
    let is_buffered =
        |flow: &FlowSpec| flow.protocol == Protocol::Udp && (flow.rcvbuf.is_some() || flow.sndbuf.is_some());
    if spec.flows.iter().any(is_buffered) {
        return Err(Problem::machine(
            "the simulator does not model the buffers of UDP sockets",
            "leave rcvbuf and sndbuf out, or run it with --on lab",
        ));
    }
    let is_fragmented =
        |flow: &FlowSpec| flow.protocol == Protocol::Udp && flow.length.get() > u64::from(largest);
    if spec.flows.iter().any(is_fragmented) {
        let remedy = format!("set length to {largest}B or less");
        return Err(Problem::machine("the simulator does not fragment datagrams", remedy));
    }
    Ok(())
}

/// The flow's habit, unless the hosts have another.
fn writer_habit(options: SimOptions, flow: &FlowSpec) -> WriterHabit {
    match flow.writer {
        Writer::Blocking => options.writer,
        Writer::OncePerWake => WriterHabit::OncePerWake,
    }
}

/// Writes far smaller than the buffer that takes them: nothing else could happen before the last one.
fn refuse_many_writes(flow: &FlowSpec, from: &Host, spec: &HostSpec) -> Result<(), Problem> {
    let granted = |asked| spec.granted_sndbuf(asked).get().saturating_mul(2);
    let buffer = flow.sndbuf.map_or(from.wmem[2], granted);
    let writes = buffer / flow.length.get().max(1);
    if flow.protocol == Protocol::Tcp && writes > WRITES_MAX {
        return Err(Problem::machine(
            format!("a send buffer of {buffer} bytes takes {writes} writes of {} bytes", flow.length.get()),
            format!(
                "raise length to {} bytes or more, or lower the send buffer",
                buffer.div_ceil(WRITES_MAX)
            ),
        ));
    }
    Ok(())
}

/// What waits on the path is held in memory.
fn refuse_a_full_path(packets: u64) -> Result<(), Problem> {
    if packets <= HELD_MAX {
        return Ok(());
    }
    Err(Problem::machine(
        format!("the path holds {packets} packets at once, and the simulator keeps {HELD_MAX}"),
        "lower the bitrate, the round trip or the queue, or set a rate",
    ))
}

/// Both hosts.
struct Hosts<'a> {
    a: (&'a HostSpec, Host),
    b: (&'a HostSpec, Host),
}

impl Hosts<'_> {
    fn stream(&self, run: &Run, flow: &FlowSpec, index: u32, number: u32) -> Result<SimStream, Problem> {
        let [(from_spec, mut from), (to_spec, mut to)] = match flow.direction {
            Direction::Forward => [self.a, self.b],
            Direction::Reverse => [self.b, self.a],
        };
        let transport = match flow.protocol {
            Protocol::Udp => {
                let start = Time::ZERO.after(flow.start);
                let schedule = match &flow.app {
                    Application::Bursts(spec) => Schedule::bursts(start, spec, flow.length),
                    _ => {
                        let rate = flow.bitrate.unwrap_or(Rate::from_bps(1_000_000));
                        Schedule::new(start, rate, flow.length)
                    }
                };
                Transport::Udp(Box::new(UdpStream::new(schedule, start.after(flow.duration))))
            }
            Protocol::Ping => {
                let spec = flow.ping.clone().unwrap_or_default();
                Transport::Ping(Box::new(PingStream::new(spec, run.cell.spec.path.clone())))
            }
            Protocol::Tcp => {
                let name = flow.congestion_control.as_ref().unwrap_or(&from_spec.congestion_control);
                let cc = congestion_control(name, run, &format!("stream {number} congestion control"))?;
                // The listening socket has its host's congestion control, and the socket options that a sender has by default.
                let name = &to_spec.congestion_control;
                let receivers_cc =
                    congestion_control(name, run, &format!("stream {number} receiver's congestion control"))?;
                (from.needs_ecn, to.needs_ecn) = (cc.needs_ecn(), receivers_cc.needs_ecn());
                from.agree_with(&mut to);
                let sndbuf = flow.sndbuf.map(|asked| from_spec.granted_sndbuf(asked).get());
                let max_pacing_rate = flow.max_pacing_rate.map(|rate| rate.bps() / 8);
                let settings =
                    SenderSettings { host: from, cc, sndbuf, max_pacing_rate, nodelay: flow.nodelay };
                let sender = Endpoint::new(settings, None, true);
                let settings = SenderSettings {
                    host: to,
                    cc: receivers_cc,
                    sndbuf: None,
                    max_pacing_rate: None,
                    nodelay: flow.nodelay,
                };
                let rcvbuf = flow.rcvbuf.map(|asked| to_spec.granted_rcvbuf(asked).get());
                let receiver = Endpoint::new(settings, rcvbuf, false);
                Transport::Tcp(Box::new(TcpStream::new(sender, receiver)))
            }
        };
        Ok(SimStream::new(number, index, flow.direction, transport, from.ip))
    }
}

/// The algorithm `name`, whose chance is the stream `chance` of the run's seed.
fn congestion_control(
    name: &str,
    run: &Run,
    chance: &str,
) -> Result<Box<dyn cc::CongestionControl>, Problem> {
    cc::by_name(name, run.seed.derive(chance)).ok_or_else(|| {
        Problem::machine(
            format!("congestion control \"{name}\" is not simulated"),
            "choose one of reno, cubic, bbr, dctcp, or run it with --on lab",
        )
    })
}

/// A run at work.
struct Traffic<'a> {
    spec: &'a CellSpec,
    watch: &'a dyn Watch,
    options: SimOptions,
    engine: Engine,
    sink: &'a mut dyn Sink,
    /// Instants and rows since the last look at the user's wish to stop.
    work: u64,
}

impl Traffic<'_> {
    fn run(&mut self) -> Result<Outcome, Problem> {
        if !self.connect()? {
            let ready = self.engine.streams.iter().filter(|stream| stream.is_ready()).count();
            let detail =
                format!("{ready} of {} connections came through the path", self.engine.streams.len());
            let invalid = vec![Invalid { reason: "flow_failed".to_owned(), detail }];
            return Ok(Outcome { zero: self.engine.now, invalid });
        }
        let zero = self.engine.now;
        self.engine.network.begin(zero);
        self.start_applications(zero);
        let ends = self.spec.flows.iter().map(|flow| waiting::earliest_end(flow, &self.spec.path, zero));
        let end = ends.max().unwrap_or(zero);
        self.sample_until(zero, end)?;
        let latest = end.after(waiting::LONGEST_DRAIN);
        while self.engine.now < latest && self.is_draining() {
            let until = self.engine.now.after(TICK);
            self.advance_to(until)?;
        }
        sampler::take(&self.engine, self.engine.now, self.sink)?;
        sampler::end(&mut self.engine, self.sink)?;
        Ok(Outcome { zero, invalid: Vec::new() })
    }

    /// False where a connection did not come about in time.
    fn connect(&mut self) -> Result<bool, Problem> {
        let begin = self.engine.now;
        for stream in &mut self.engine.streams {
            if let Transport::Tcp(tcp) = &mut stream.transport {
                tcp.connect(begin);
            } else {
                // UDP waits for the connections' end.
                stream.is_held = true;
            }
        }
        self.engine.touch_all();
        let deadline = begin.after(waiting::connect_timeout(&self.spec.path));
        while !self.engine.streams.iter().all(SimStream::is_ready) {
            match self.engine.next() {
                Some(at) if at <= deadline => self.engine.advance(at),
                _ => return Ok(false),
            }
            self.stop_if_broken()?;
            self.check()?;
        }
        Ok(true)
    }

    fn start_applications(&mut self, zero: Time) {
        for stream in &mut self.engine.streams {
            let flow = &self.spec.flows[stream.flow as usize];
            let start = zero.after(flow.start);
            let until = start.after(flow.duration);
            match &mut stream.transport {
                Transport::Tcp(tcp) => {
                    tcp.ends[SENDER].sender.trace.watch(start, until);
                    let (span, habit) = ([start, until], writer_habit(self.options, flow));
                    tcp.applications =
                        Some([App::of_sender(flow, span, habit), App::of_receiver(flow, span)]);
                }
                Transport::Udp(udp) => udp.begin(start, until),
                Transport::Ping(ping) => ping.begin(start, until),
            }
            stream.is_held = false;
        }
        self.engine.touch_all();
    }

    /// Runs to `end`, sampling from `zero` on.
    fn sample_until(&mut self, zero: Time, end: Time) -> Result<(), Problem> {
        let every = self.spec.run.sample.max(Duration::from_micros(1));
        let mut due = zero;
        while due < end {
            self.advance_to(due)?;
            sampler::take(&self.engine, due, self.sink)?;
            sampler::tell(&mut self.engine, self.sink)?;
            self.watch.progress(Time::from_nanos(u64::try_from(due.since(zero).as_nanos()).unwrap_or(0)));
            self.worked(1 + self.engine.streams.len() as u64)?;
            due = due.after(every);
        }
        self.advance_to(end)
    }

    fn advance_to(&mut self, until: Time) -> Result<(), Problem> {
        while let Some(at) = self.engine.next().filter(|&at| at <= until) {
            self.engine.advance(at);
            self.stop_if_broken()?;
            self.worked(1)?;
        }
        self.engine.now = until;
        Ok(())
    }

    #[inline]
    fn stop_if_broken(&self) -> Result<(), Problem> {
        match self.engine.broken() {
            Some(what) => Err(Problem::broken(format!("{BROKEN}: {what}"))),
            None => Ok(()),
        }
    }

    /// Counts `work`, and looks after some of it whether to go on.
    #[inline]
    fn worked(&mut self, work: u64) -> Result<(), Problem> {
        self.work += work;
        if self.work < PATIENCE { Ok(()) } else { self.may_go_on() }
    }

    #[inline(never)]
    fn may_go_on(&mut self) -> Result<(), Problem> {
        self.work = 0;
        let network = &self.engine.network;
        refuse_a_full_path(network.held(Direction::Forward) + network.held(Direction::Reverse))?;
        self.check()
    }

    fn check(&self) -> Result<(), Problem> {
        if self.watch.stop_requested() {
            return Err(Problem::stopped());
        }
        Ok(())
    }

    /// Datagrams that are still in the path would otherwise count as lost.
    fn is_draining(&self) -> bool {
        let udp = |flow: &&FlowSpec| flow.protocol == Protocol::Udp;
        self.spec.flows.iter().filter(udp).any(|flow| self.engine.network.held(flow.direction) > 0)
    }
}
