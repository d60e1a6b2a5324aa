//! One test at the server, from its parameters to its results.

use super::refused::Refused;
use super::shared::Shared;
use super::{shown, streams};
use crate::end::{End, SAMPLE};
use crate::life::Life;
use crate::machine::machine;
use crate::time;
use crate::waiting::heard_within;
use pipefill_lab::one_end::{Transfer, insist};
use pipefill_remote::control::{Control, ControlError};
use pipefill_remote::far_end::{self, FarEnd, FarTests};
use pipefill_remote::iperf3::order::{Wish, while_running};
use pipefill_remote::iperf3::refusal::{self, Refusal};
use pipefill_remote::iperf3::{Cookie, Parameters, Results, TestDirection, TestState, Transport, document};
use pipefill_report::quantity::QuantityKind;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long a step on the control connection may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// The same after the data: what it says waits behind them, or behind their ACKs.
const PATIENCE_AFTER: Duration = Duration::from_secs(30);
/// So long beyond its time a test may go on: the client ends it.
const GRACE: Duration = Duration::from_secs(15);
/// A test that has moved nothing for so long is given up.
const STALLED: Duration = Duration::from_secs(30);
/// From one look at the wish to stop to the next.
const STEP: Duration = Duration::from_millis(100);
/// What is on its way when the client has ended is waited for so long at most, and so long after the last byte.
const LATE_MAX: Duration = Duration::from_secs(3);
const QUIET: Duration = Duration::from_millis(100);

/// Serves the test of a client that has proved what it has to, and writes a line about it. `parameters` are there where they were that proof.
pub(super) fn serve(
    shared: &Shared,
    cookie: Cookie,
    (stream, peer): (TcpStream, SocketAddr),
    parameters: Option<Vec<u8>>,
) {
    let peer = shown(peer);
    insist(&stream);
    match Control::new(stream, PATIENCE) {
        Ok(mut control) => match whole(shared, cookie, peer, &mut control, parameters) {
            Ok(told) => {
                shared.went_well.store(true, Ordering::Relaxed);
                shared.log(&format!("{peer}: {told}"));
            }
            Err(Refused::Test { code, why }) => {
                // The client may have gone.
                let _gone = control.refuse(Refusal { code, errno: 0 });
                shared.note(peer, &format!("refused: {why}"));
            }
            Err(Refused::Busy(why)) => {
                let _gone = control.say(TestState::AccessDenied);
                shared.note(peer, &format!("refused: {why}"));
            }
            Err(Refused::Gone(why)) => shared.note(peer, &format!("given up: {why}")),
        },
        Err(error) => shared.note(peer, &format!("given up: {error}")),
    }
    if shared.policy.once && shared.has_served.load(Ordering::Relaxed) {
        shared.is_over.store(true, Ordering::Relaxed);
    }
}

fn whole(
    shared: &Shared,
    cookie: Cookie,
    peer: SocketAddr,
    control: &mut Control,
    parameters: Option<Vec<u8>>,
) -> Result<String, Refused> {
    let document = match parameters {
        Some(bytes) => document::parse(&bytes).map_err(ControlError::from),
        None => {
            control.say(TestState::ParamExchange)?;
            control.read_document(document::PARAMETERS_MAX)
        }
    };
    let read = document.and_then(|document| Ok(Parameters::read(&document)?));
    let asked = read.map_err(|error| match error {
        ControlError::Protocol(error) => Refused::Test { code: refusal::PARAMETERS, why: error.to_string() },
        error => error.into(),
    })?;
    check(shared, &asked)?;
    let receives = asked.transport == Transport::Udp && asked.way.client_sends();
    let udp_receivers = if receives { asked.streams as usize } else { 0 };
    if !shared.reserve_receivers(&cookie, udp_receivers) {
        let why = "too many streams of UDP are under way".to_owned();
        return Err(Refused::Test { code: refusal::STREAMS, why });
    }
    carry_out(shared, cookie, peer, &asked, control)
}

/// Whether the server allows it.
fn check(shared: &Shared, asked: &Parameters) -> Result<(), Refused> {
    let policy = &shared.policy;
    if Duration::from_secs(asked.time_s + asked.omit_s) > policy.max_duration {
        let why = format!("{} s are longer than --max-duration allows", asked.time_s + asked.omit_s);
        return Err(Refused::Test { code: refusal::DURATION, why });
    }
    let Some(most) = policy.max_rate else { return Ok(()) };
    let asked_bps = asked.bitrate_bps.saturating_mul(asked.streams.into());
    let is_unbounded = asked.bitrate_bps == 0;
    // A client that sends datagrams is not slowed down by what is read.
    if asked.transport == Transport::Udp
        && asked.way.client_sends()
        && (is_unbounded || asked_bps > most.bps())
    {
        let why =
            format!("{} of UDP are more than --max-rate allows", QuantityKind::Rate.alone(asked_bps as f64));
        return Err(Refused::Test { code: refusal::RATE, why });
    }
    Ok(())
}

fn carry_out(
    shared: &Shared,
    cookie: Cookie,
    peer: SocketAddr,
    asked: &Parameters,
    control: &mut Control,
) -> Result<String, Refused> {
    if asked.wants_clock {
        time::tell(control, PATIENCE)?;
    }
    let streams = streams::collect(shared, cookie, peer.ip(), asked, control)?;
    let samples_max = if asked.wants_telemetry { far_end::SAMPLES_MAX } else { 0 };
    let mut end = End::new(asked, streams, shared.policy.max_rate, (samples_max, SAMPLE))?;
    control.say(TestState::TestStart)?;
    shared.has_served.store(true, Ordering::Relaxed);
    end.begin()?;
    control.say(TestState::TestRunning)?;
    let flowing = shared.flow();
    let other_tests = run(shared, asked, control, &mut end)?;
    drop(flowing);
    end.stop();
    // A stock client reads whole blocks until it has the server's results: only an end lets it go on (`Nread()`).
    end.transfer.end_of_data();
    control.set_patience(PATIENCE_AFTER);
    control.say(TestState::ExchangeResults)?;
    let theirs = control.read_document(document::CLIENT_RESULTS_MAX)?;
    let theirs = Results::read(&theirs).map_err(ControlError::from)?;
    wait_for_late(&mut end, &theirs);
    let mut results = end.results();
    if asked.wants_telemetry {
        results.telemetry =
            Some(FarEnd { other_tests: Some(other_tests), machine: machine(&cookie), ..end.telemetry() });
    }
    let told = line(asked, &results, &theirs) + &beside(other_tests);
    results.output = asked.wants_output.then(|| told.clone().into());
    control.send_document(&results.document())?;
    if asked.wants_clock {
        time::tell(control, PATIENCE)?;
    }
    control.say(TestState::DisplayResults)?;
    // A client that has closed instead has what it wants.
    match control.hear() {
        Ok(TestState::IperfDone) | Err(ControlError::Closed) => {}
        Ok(state) => return Err(Refused::Gone(format!("it sent {state} instead of IPERF_DONE"))),
        Err(error) => return Err(error.into()),
    }
    Ok(told)
}

/// Until the client ends it. Which other tests there were meanwhile.
fn run(
    shared: &Shared,
    asked: &Parameters,
    control: &mut Control,
    end: &mut End,
) -> Result<FarTests, Refused> {
    let (mut other_tests, mut looked) = (FarTests::default(), Instant::now());
    let bound = match asked.goal() {
        None => Duration::from_secs(asked.time_s + asked.omit_s) + GRACE,
        Some(_) => shared.policy.max_duration,
    };
    let (mut moved, mut since) = (0, Instant::now());
    let is_udp = asked.transport == Transport::Udp;
    let mut life = Life::new(asked.way.server_sends());
    loop {
        end.tick();
        let others = shared.flowing().saturating_sub(1);
        let since_last = std::mem::replace(&mut looked, Instant::now()).elapsed();
        if others > 0 {
            other_tests.most = other_tests.most.max(others);
            other_tests.together_us += u64::try_from(since_last.as_micros()).unwrap_or(0);
        }
        match heard_within(control, end.idle_for(STEP))?.map(while_running) {
            None => {}
            Some(Ok(Wish::End)) => return Ok(other_tests),
            Some(Ok(Wish::Time)) => time::answer(control)?,
            Some(Ok(Wish::GiveUp)) => return Err(Refused::Gone("the client gave the test up".to_owned())),
            Some(Err(error)) => return Err(Refused::Gone(error.to_string())),
        }
        let now = total(&end.transfer);
        if now != moved {
            (moved, since) = (now, Instant::now());
        }
        let why = if shared.is_over() {
            "the server was asked to stop"
        } else if end.elapsed() > bound {
            "the client did not end the test in time"
        } else if since.elapsed() > STALLED {
            "nothing moved any more"
        } else if end.transfer.is_refused() || is_udp && end.transfer.has_sender_ended() {
            "nobody receives its datagrams any more (ICMP port unreachable)"
        } else if is_udp && life.is_gone(control.stream(), end.received()) {
            "the client has given no sign of life for 5 s"
        } else {
            continue;
        };
        // The client may have gone.
        let _gone = control.say(TestState::ServerTerminate);
        return Err(Refused::Gone(why.to_owned()));
    }
}

/// What the log says of other tests.
fn beside(other_tests: FarTests) -> String {
    match other_tests.most {
        0 => String::new(),
        1 => ", beside another test".to_owned(),
        most => format!(", beside up to {most} other tests"),
    }
}

fn total(transfer: &Transfer) -> u64 {
    transfer.counted().iter().map(|counts| counts.bytes).sum()
}

/// Waits for what the client says it has sent.
fn wait_for_late(end: &mut End, theirs: &Results) {
    let (began, mut since, mut moved) = (Instant::now(), Instant::now(), u64::MAX);
    loop {
        let ours = end.results();
        let is_complete = |stream: &pipefill_remote::iperf3::StreamResult| {
            theirs.stream(stream.id).is_none_or(|sent| stream.bytes >= sent.bytes)
        };
        let receives = (0..end.transfer.len()).filter(|&index| !end.transfer.sends(index));
        let is_done = receives.into_iter().all(|index| is_complete(&ours.streams[index]));
        let now = total(&end.transfer);
        if now != moved {
            (moved, since) = (now, Instant::now());
        }
        if is_done || since.elapsed() > QUIET || began.elapsed() > LATE_MAX {
            return;
        }
        std::thread::sleep(Duration::from_millis(2));
        end.count_what_came_late();
    }
}

/// What the test was, for the log.
fn line(asked: &Parameters, ours: &Results, theirs: &Results) -> String {
    let protocol = if asked.transport == Transport::Udp { "UDP" } else { "TCP" };
    let way = match asked.way {
        TestDirection::ToServer => "received",
        TestDirection::ToClient => "sent",
        TestDirection::Both => "both ways",
    };
    let seconds = ours.streams.iter().map(|stream| stream.end_s).fold(0.0, f64::max);
    let received: u64 = match asked.way {
        TestDirection::ToClient => theirs.streams.iter().map(|stream| stream.bytes).sum(),
        TestDirection::ToServer => ours.streams.iter().map(|stream| stream.bytes).sum(),
        TestDirection::Both => {
            let half = asked.streams as usize;
            let first: u64 = ours.streams.iter().take(half).map(|stream| stream.bytes).sum();
            first + theirs.streams.iter().skip(half).map(|stream| stream.bytes).sum::<u64>()
        }
    };
    let rate = QuantityKind::Rate.alone(received as f64 * 8.0 / seconds.max(1e-6));
    let (streams, bytes) = (asked.streams, QuantityKind::Bytes.alone(received as f64));
    let plural = if streams == 1 { "" } else { "s" };
    format!("{protocol}, {streams} stream{plural} {way}, {seconds:.2} s, {bytes}, {rate}")
}
