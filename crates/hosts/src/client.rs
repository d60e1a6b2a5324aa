//! `pipefill test`: a test with a server that speaks iperf3's protocol, a stock one or ours.

mod contradictions;
mod delays;
mod ended;
mod intervals;
mod outcome;
mod streams;

use crate::end::End;
use crate::life::{Life, SILENT as GONE};
use crate::random::random;
use crate::time::{self, Beside};
use crate::waiting::heard_within;
use delays::{BothClocks, Times};
use ended::Ended;
pub use ended::{EndedStream, EndedTest};
use intervals::Intervals;
use outcome::MeasuredTest;
pub(crate) use outcome::reason_of_end;
use pipefill_analysis::findings::connections::TestFinding;
use pipefill_core::problem::Problem;
use pipefill_core::record::Invalid;
use pipefill_lab::one_end::{insist, mss_of};
use pipefill_remote::clock::Exchange;
use pipefill_remote::control::{Control, ControlError};
use pipefill_remote::iperf3::order::{Client, Step};
use pipefill_remote::iperf3::parameters::DATAGRAM_MAX;
use pipefill_remote::iperf3::{Cookie, Parameters, Results, TestState, Transport, document};
use pipefill_remote::key::Key;
use pipefill_report::iperf3::measured::{Interval, Measured};
use pipefill_runs::{Recorded, Stop};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// How long a step on the control connection may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// From one look at the wish to stop to the next.
const STEP: Duration = Duration::from_millis(100);
/// What was sent by `-n` or `-k` is waited for so long.
const ACKNOWLEDGED: Duration = Duration::from_secs(10);
/// After so long without data a test is over whose server left out another part of it than this end.
const SILENT: Duration = Duration::from_secs(2);
/// Once a stream has broken, the server may say why for so long.
const WHY: Duration = Duration::from_secs(1);
/// Payload of a write of TCP where nobody says how much, and of iperf3's block: larger writes leave the CPU more time.
const WRITE: u64 = 256 << 10;
const BLOCK: u64 = 128 << 10;
/// Samples of all streams together.
const SAMPLES_MAX: usize = 40_000;

/// What is asked for.
#[derive(Debug, Clone)]
pub struct TestRequest {
    /// Name or address of the server, and its port.
    pub host: (String, u16),
    /// Whether only addresses of IPv6 count, or only those of IPv4.
    pub is_v6: Option<bool>,
    /// Own address.
    pub bind: Option<IpAddr>,
    /// How long each connection may take.
    pub connect_timeout: Duration,
    /// What the server is told; a length of 0 is chosen by the transport.
    pub parameters: Parameters,
    /// Both buffers of this end's sockets, bytes.
    pub own_window: Option<u64>,
    /// How long data flow, where that is no whole number of seconds.
    pub span: Option<Duration>,
    /// From one sample of this end's sockets to the next.
    pub sample: Duration,
    /// From one line to the next; `None` for no lines.
    pub interval: Option<Duration>,
    /// What the server has to want a proof of.
    pub key: Option<Key>,
    /// What the result is to be known by.
    pub title: Option<String>,
}

/// How it went.
#[derive(Debug)]
pub struct Tested {
    /// The figures.
    pub measured: Measured,
    /// What limits it.
    pub finding: TestFinding,
    /// This host's sockets; of UDP what both ends counted.
    pub kept: Vec<Recorded>,
    /// Why its record must not be believed.
    pub invalid: Vec<Invalid>,
}

/// Hears of a test while it runs: that it begins, then each interval.
pub type Listener<'a> = dyn FnMut(&Measured, Option<&Interval>) -> Result<(), Problem> + 'a;

/// Makes the test.
///
/// # Errors
/// [`Problem`] where the server can't be reached, refuses, or does not keep to the protocol.
pub fn test(asked: &TestRequest, stop: &Stop, listener: &mut Listener<'_>) -> Result<Tested, Problem> {
    let (parameters, ended) = carry_out(asked, stop, listener)?;
    ended.told(&parameters)
}

/// Makes the test, and keeps what both ends counted as it is.
///
/// # Errors
/// As [`test()`].
pub fn measure(asked: &TestRequest, stop: &Stop, listener: &mut Listener<'_>) -> Result<EndedTest, Problem> {
    let (parameters, ended) = carry_out(asked, stop, listener)?;
    ended.streams(&parameters)
}

fn carry_out(
    asked: &TestRequest,
    stop: &Stop,
    listener: &mut Listener<'_>,
) -> Result<(Parameters, Ended), Problem> {
    let (control, target) = streams::control(asked)?;
    insist(&control);
    let mut control = Control::new(control, PATIENCE).map_err(|error| failed(&error.into()))?;
    let cookie = random()
        .map(Cookie::from_random)
        .map_err(|error| Problem::broken(format!("reading /dev/urandom: {error}")))?;
    let mut parameters = asked.parameters.clone();
    if parameters.length == 0 {
        let mss = mss_of(control.stream()).map_or(1_460, u64::from);
        let is_udp = parameters.transport == Transport::Udp;
        parameters.length = match (is_udp, parameters.blocks) {
            (true, _) => mss.min(DATAGRAM_MAX),
            (false, 0) => WRITE,
            // A block is iperf3's.
            (false, _) => BLOCK,
        };
    }
    control.send(cookie.bytes()).map_err(|error| failed(&error))?;
    let client = Client::default();
    let (times, beside) = (Vec::new(), Beside::new(false));
    let mut session =
        Session { asked, parameters, target, cookie, control, client, times, beside, stop, listener };
    let ended = session.whole()?;
    Ok((session.parameters, ended))
}

fn failed(error: &ControlError) -> Problem {
    let help = match error {
        ControlError::Closed => {
            "the server may be no iperf3, or busy with another test; start one there with: pipefill serve"
        }
        ControlError::Late(_) => "look whether the server is an iperf3 or pipefill serve, and not stopped",
        ControlError::Protocol(_) => "look whether an iperf3 or pipefill serve answers at this port",
        ControlError::Io(_) => "look whether the server is reachable",
    };
    Problem::usage(error.to_string(), help)
}

struct Session<'a, 'b> {
    asked: &'a TestRequest,
    parameters: Parameters,
    target: SocketAddr,
    cookie: Cookie,
    control: Control,
    client: Client,
    /// What the server told of its clock: before the test, and after it.
    times: Vec<Vec<Exchange>>,
    beside: Beside,
    stop: &'a Stop,
    listener: &'a mut Listener<'b>,
}

impl Session<'_, '_> {
    fn whole(&mut self) -> Result<Ended, Problem> {
        self.prove_key()?;
        self.control.send_document(&self.parameters.document()).map_err(|error| failed(&error))?;
        self.expect(Step::ConnectStreams)?;
        let streams = streams::connect(self.asked, &self.parameters, self.target, &self.cookie, self.stop)?;
        let no_streams = |error: io::Error| Problem::broken(format!("starting the streams: {error}"));
        let samples = (SAMPLES_MAX, self.asked.sample);
        let mut end = End::new(&self.parameters, streams, None, samples).map_err(no_streams)?;
        self.expect(Step::Prepare)?;
        let mut told = MeasuredTest::begin(self.asked, &self.parameters, &self.cookie, &end);
        self.expect(Step::Run)?;
        (self.listener)(&told.measured, None)?;
        if let (Some(goal), 0) = (self.parameters.goal(), self.parameters.omit_s) {
            end.transfer.set_goal(goal);
        }
        let began_at = BothClocks::now();
        end.begin().map_err(no_streams)?;
        self.run(&mut end, &mut told)?;
        self.control.say(TestState::TestEnd).map_err(|error| failed(&error))?;
        // A stock server hears of the end between two writes, and has to be read until then; ours tells its time, and hears while it writes.
        if !self.times.is_empty() {
            end.transfer.stop_reading();
        }
        let theirs = self.exchange(&end)?;
        let times = Times::of(
            std::mem::take(&mut self.times),
            std::mem::replace(&mut self.beside, Beside::new(false)),
            began_at,
        );
        Ok(Ended { told, end, theirs, times })
    }

    /// Waits until the server wants the parameters, and proves before that this end has the key, where it wants that.
    fn prove_key(&mut self) -> Result<(), Problem> {
        let Some(key) = &self.asked.key else { return self.expect(Step::SendParameters) };
        let (key, cookie) = (key.clone(), self.cookie);
        self.expect(Step::ProveKey)?;
        let question = self.control.read_key_bytes().map_err(|error| failed(&error))?;
        self.control.send(&key.answer(&question, &cookie)).map_err(|error| failed(&error))?;
        self.expect(Step::SendParameters)
    }

    /// Waits for the server to say what leads to `wanted`.
    fn expect(&mut self, wanted: Step) -> Result<(), Problem> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.control.hear_within(STEP).map_err(|error| failed(&error))? {
                Some(TestState::Clock) => self.take_time()?,
                Some(state) => return self.take(state, wanted),
                None => {}
            }
            self.look_at_stop()?;
            if Instant::now() >= deadline {
                return Err(failed(&ControlError::Late(PATIENCE)));
            }
        }
    }

    /// The server tells its time: what was asked beside the data, or that it may be asked now.
    fn take_time(&mut self) -> Result<(), Problem> {
        if !self.beside.take(&mut self.control).map_err(|error| failed(&error))? {
            self.client.hear(TestState::Clock).map_err(|error| failed(&error.into()))?;
            self.times.push(time::ask(&mut self.control).map_err(|error| failed(&error))?);
            self.beside.is_told = true;
        }
        Ok(())
    }

    fn take(&mut self, state: TestState, wanted: Step) -> Result<(), Problem> {
        let step = self.client.hear(state).map_err(|error| failed(&error.into()))?;
        match step {
            step if step == wanted => Ok(()),
            Step::Denied => Err(Problem::usage(
                "the server is busy with another test",
                "try again later; pipefill serve does several tests at a time",
            )),
            Step::ProveKey => {
                Err(Problem::usage("the server wants a key", "name the file that has it: --key FILE"))
            }
            Step::SendParameters => {
                let help = "look whether it is the right server, or leave --key out";
                Err(Problem::usage("the server does not ask for the key", help))
            }
            Step::Terminated => Err(Problem::broken("the server has given the test up")),
            Step::Refused => {
                let why = self.control.read_refusal().map_err(|error| failed(&error))?;
                Err(Problem::usage(
                    format!("the server refuses the test: {}", why.text()),
                    "change that option, or ask the server's operator",
                ))
            }
            _ => Err(Problem::broken(format!("the server sent {state} at the wrong time"))),
        }
    }

    fn look_at_stop(&mut self) -> Result<(), Problem> {
        if !self.stop.is_requested() {
            return Ok(());
        }
        // The server may have gone.
        let _gone = self.control.say(TestState::ClientTerminate);
        Err(Problem::broken("stopped; the test was given up, and nothing is kept"))
    }

    /// Until all that is wanted was sent or received.
    fn run(&mut self, end: &mut End, told: &mut MeasuredTest) -> Result<(), Problem> {
        let mut intervals = Intervals::new(self.asked.interval, end);
        let mut silence = Silence { moved: 0, since: Instant::now() };
        let span = self.span();
        let is_udp = self.parameters.transport == Transport::Udp;
        let mut life = Life::new(self.parameters.way.client_sends());
        while !is_done(&self.parameters, span, end) && !silence.is_the_end(&self.parameters, end) {
            if end.tick() {
                self.say(told, intervals.end_of_omitted(end))?;
                if let Some(goal) = self.parameters.goal() {
                    end.transfer.set_goal(goal + sent(end));
                }
            }
            self.say(told, intervals.due(end))?;
            self.beside.ask(&mut self.control).map_err(|error| failed(&error))?;
            let wait = end.idle_for(STEP).min(intervals.due_in(end)).min(self.time_left(end));
            let heard = heard_within(&mut self.control, wait.min(self.beside.due_in()));
            match heard.map_err(|error| failed(&error))? {
                Some(TestState::Clock) if self.beside.is_waiting() => self.take_time()?,
                Some(state) => {
                    // Nothing else that the server can say now is good.
                    let step = self.client.hear(state).map_err(|error| failed(&error.into()))?;
                    return Err(gave_up(step, &mut self.control));
                }
                None => {}
            }
            if self.stop.is_requested() {
                let _gone = self.control.say(TestState::ClientTerminate);
                return Err(Problem::broken("stopped; the test was given up, and nothing is kept"));
            }
            let is_broken = end.transfer.has_receiver_ended()
                || end.transfer.has_sender_ended() && !is_done(&self.parameters, span, end);
            if is_udp && life.is_gone(self.control.stream(), end.received()) {
                let what = format!("the server has given no sign of life for {} s", GONE.as_secs());
                return Err(Problem::usage(what, "look whether the server and the path to it are up"));
            }
            if is_broken || end.transfer.is_refused() {
                return Err(broken(end, &mut self.client, &mut self.control));
            }
        }
        if self.parameters.goal().is_some() && self.parameters.way.client_sends() {
            wait_for_acknowledgement(end);
        }
        self.say(told, intervals.last(end))?;
        end.stop();
        Ok(())
    }

    fn say(&mut self, told: &mut MeasuredTest, found: Option<Interval>) -> Result<(), Problem> {
        let Some(interval) = found else { return Ok(()) };
        (self.listener)(&told.measured, Some(&interval))?;
        told.measured.intervals.push(interval);
        Ok(())
    }

    /// How long the time that was asked for still lasts.
    fn time_left(&self, end: &End) -> Duration {
        match (self.parameters.goal(), end.counting_for()) {
            (None, Some(so_far)) => self.span().saturating_sub(so_far),
            _ => STEP,
        }
    }

    /// How long data flow, where no amount ends it.
    fn span(&self) -> Duration {
        self.asked.span.unwrap_or(Duration::from_secs(self.parameters.time_s))
    }

    fn exchange(&mut self, end: &End) -> Result<Results, Problem> {
        self.expect(Step::ExchangeResults)?;
        let failed = |error| failed(&error);
        self.control.send_document(&end.results().document()).map_err(failed)?;
        let theirs = self.control.read_document(document::SERVER_RESULTS_MAX).map_err(failed)?;
        let theirs = Results::read(&theirs).map_err(|error| failed(error.into()))?;
        self.expect(Step::Finish)?;
        self.control.say(TestState::IperfDone).map_err(failed)?;
        Ok(theirs)
    }
}

/// How long nothing has come in. A server that leaves out its first seconds ends them at another instant than this end does, so that it may have
/// sent all that was asked for while some of it was left out here.
struct Silence {
    moved: u64,
    since: Instant,
}

impl Silence {
    fn is_the_end(&mut self, parameters: &Parameters, end: &End) -> bool {
        let moved = end.moved(false);
        if moved != self.moved {
            *self = Self { moved, since: Instant::now() };
        }
        let can_differ =
            parameters.omit_s > 0 && parameters.goal().is_some() && !parameters.way.client_sends();
        can_differ && moved > 0 && self.since.elapsed() >= SILENT
    }
}

/// Payload that this end had sent when what counts began.
fn sent(end: &End) -> u64 {
    let counted = &end.base().counted;
    (0..counted.len()).filter(|&index| end.transfer.sends(index)).map(|index| counted[index].bytes).sum()
}

fn is_done(parameters: &Parameters, span: Duration, end: &End) -> bool {
    let Some(so_far) = end.counting_for() else { return false };
    match parameters.goal() {
        None => so_far >= span,
        Some(goal) => end.moved(true) >= goal || end.moved(false) >= goal,
    }
}

fn wait_for_acknowledgement(end: &End) {
    let began = Instant::now();
    while end.transfer.unacknowledged() > 0 && began.elapsed() < ACKNOWLEDGED {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn gave_up(step: Step, control: &mut Control) -> Problem {
    match (step, control.read_refusal()) {
        (Step::Refused, Ok(why)) => Problem::broken(format!("the server broke the test off: {}", why.text())),
        _ => Problem::broken("the server has given the test up"),
    }
}

/// A stream broke: the server says why, or the stream's own error does.
fn broken(end: &mut End, client: &mut Client, control: &mut Control) -> Problem {
    if let Ok(Some(state)) = control.hear_within(WHY)
        && let Ok(step) = client.hear(state)
    {
        return gave_up(step, control);
    }
    match end.transfer.finish() {
        Err(error) => Problem::broken(format!("a stream broke: {error}")),
        Ok(()) => Problem::broken("the server closed a stream before the test was over"),
    }
}
