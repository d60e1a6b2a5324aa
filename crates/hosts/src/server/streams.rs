//! The streams of a test at the server: waited for, in the order in which the client made them.

use super::refused::Refused;
use super::shared::{Arrived, Hello, Shared};
use pipefill_core::units::{Bytes, Rate};
use pipefill_lab::one_end::{Socket, SocketOptions, StreamSocket, apply};
use pipefill_remote::control::Control;
use pipefill_remote::iperf3::{Cookie, Parameters, TestState, Transport, refusal};
use std::net::IpAddr;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How long all streams of a test may take.
const PATIENCE: Duration = Duration::from_secs(15);
/// The same of a stock client with UDP, for each stream, while other tests of its address may wait; and how long those wait.
const TURN: Duration = Duration::from_secs(3);
const TURNS: Duration = Duration::from_secs(24);
const TURN_STEP: Duration = Duration::from_millis(10);
/// From one look at the wish to stop to the next.
const STEP: Duration = Duration::from_millis(100);

/// Tells the client to connect its streams, and waits for them.
///
/// # Errors
/// [`Refused`].
pub(super) fn collect(
    shared: &Shared,
    cookie: Cookie,
    peer: IpAddr,
    asked: &Parameters,
    control: &mut Control,
) -> Result<Vec<StreamSocket>, Refused> {
    let ways = usize::from(asked.way.client_sends()) + usize::from(asked.way.server_sends());
    let count = asked.streams as usize * ways;
    let sockets = match asked.transport {
        Transport::Tcp => tcp(shared, cookie, peer, count, control)?,
        Transport::Udp => udp(shared, cookie, peer, (asked, count), control)?,
    };
    let options = options(asked);
    let is_tcp = asked.transport == Transport::Tcp;
    let mut streams = Vec::with_capacity(count);
    for (index, socket) in sockets.into_iter().enumerate() {
        apply(&socket, &options, is_tcp).map_err(|error| Refused::Test {
            code: match error.option {
                "TCP_CONGESTION" => refusal::CONGESTION_CONTROL,
                "TCP_MAXSEG" => refusal::MSS,
                _ => refusal::WINDOW,
            },
            why: format!("{}: {}", error.option, error.source),
        })?;
        // The client makes those on which it sends first (`iperf_create_streams()`).
        let client_sends = asked.way.client_sends() && index < asked.streams as usize;
        streams.push(StreamSocket { socket, sends: !client_sends });
    }
    Ok(streams)
}

fn options(asked: &Parameters) -> SocketOptions {
    SocketOptions {
        window: asked.window.map(Bytes::new),
        mss: asked.mss.and_then(|mss| u32::try_from(mss).ok()),
        no_delay: asked.no_delay,
        congestion_control: asked.congestion_control.clone(),
        pacing: (asked.pacing_bps > 0).then(|| Rate::from_bps(asked.pacing_bps)),
        tos: asked.tos,
        bind: None,
    }
}

fn tcp(
    shared: &Shared,
    cookie: Cookie,
    peer: IpAddr,
    count: usize,
    control: &mut Control,
) -> Result<Vec<Socket>, Refused> {
    let arriving = shared.expect(&cookie, count);
    control.say(TestState::CreateStreams)?;
    let arrived = all(shared, &arriving, count);
    shared.expect_no_more(&cookie);
    let mut arrived: Vec<Arrived> = arrived?;
    if arrived.iter().any(|stream| stream.peer.ip().to_canonical() != peer) {
        return Err(Refused::Gone("a stream came from another address than the test".to_owned()));
    }
    arrived.sort_by_key(|stream| stream.order);
    Ok(arrived.into_iter().map(|arrival| arrival.stream.into()).collect())
}

fn udp(
    shared: &Shared,
    name: Cookie,
    peer: IpAddr,
    (asked, count): (&Parameters, usize),
    control: &mut Control,
) -> Result<Vec<Socket>, Refused> {
    if asked.names_hellos {
        let arriving = shared.expect_named_hellos(&name, count);
        let streams = hellos(shared, &arriving, count, PATIENCE, control);
        shared.expect_no_more(&name);
        return streams;
    }
    let arriving = shared.queue_for_hellos(name, peer, count);
    let streams =
        wait_for_turn(shared, &name, peer).and_then(|()| hellos(shared, &arriving, count, TURN, control));
    shared.leave_queue_for_hellos(&name, peer);
    streams
}

/// Until the streams of earlier tests of this address are there, or were given up.
fn wait_for_turn(shared: &Shared, name: &Cookie, peer: IpAddr) -> Result<(), Refused> {
    let deadline = Instant::now() + TURNS;
    while !shared.is_next_for_hellos(name, peer) {
        if Instant::now() >= deadline || shared.is_over() {
            return Err(Refused::Busy("other tests of its address still make their streams".to_owned()));
        }
        std::thread::sleep(TURN_STEP);
    }
    Ok(())
}

/// Each is answered before the client begins the next one, which has to come within `patience`.
fn hellos(
    shared: &Shared,
    arriving: &Receiver<Hello>,
    count: usize,
    patience: Duration,
    control: &mut Control,
) -> Result<Vec<Socket>, Refused> {
    control.say(TestState::CreateStreams)?;
    let mut sockets = Vec::with_capacity(count);
    let last = Instant::now() + PATIENCE;
    while sockets.len() < count {
        let deadline = last.min(Instant::now() + patience);
        let Hello { socket, dialect } = next_arrival(shared, arriving, deadline, sockets.len(), count)?;
        socket.send(&dialect.answer())?;
        sockets.push(socket);
    }
    Ok(sockets)
}

fn all(shared: &Shared, arriving: &Receiver<Arrived>, count: usize) -> Result<Vec<Arrived>, Refused> {
    let deadline = Instant::now() + PATIENCE;
    (0..count).map(|got| next_arrival(shared, arriving, deadline, got, count)).collect()
}

fn next_arrival<T>(
    shared: &Shared,
    arriving: &Receiver<T>,
    deadline: Instant,
    got: usize,
    count: usize,
) -> Result<T, Refused> {
    loop {
        match arriving.recv_timeout(STEP) {
            Ok(arrival) => return Ok(arrival),
            Err(RecvTimeoutError::Timeout) if Instant::now() < deadline && !shared.is_over() => {}
            Err(_) => {
                let why = format!("{got} of {count} streams came in time");
                return Err(Refused::Test { code: refusal::STREAMS_MISSING, why });
            }
        }
    }
}
