//! The client's connections: the control connection, and the streams of a test.

use super::TestRequest;
use pipefill_core::problem::Problem;
use pipefill_core::units::{Bytes, Rate};
use pipefill_lab::one_end::{Socket, SocketOptions, StreamSocket, connect_tcp, connect_udp};
use pipefill_remote::iperf3::datagram::{Dialect, named_hello};
use pipefill_remote::iperf3::{Cookie, Parameters, Transport};
use pipefill_runs::Stop;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::time::{Duration, Instant};

/// How long a first datagram waits for its answer, and how often it is sent.
const ANSWER: Duration = Duration::from_secs(3);
const TRIES: u32 = 3;
/// From one look at the wish to stop to the next.
const STEP: Duration = Duration::from_millis(100);

/// Connects to the first address of the server that answers.
///
/// # Errors
/// [`Problem`] where none does.
pub(super) fn control(asked: &TestRequest) -> Result<(TcpStream, SocketAddr), Problem> {
    let (host, port) = &asked.host;
    let found = (host.as_str(), *port).to_socket_addrs();
    let found = found.map_err(|error| {
        Problem::usage(
            format!("the address of {host}: {error}"),
            "write a name that DNS knows, or an address",
        )
    })?;
    let is_wanted = |address: &SocketAddr| asked.is_v6.is_none_or(|is_v6| address.is_ipv6() == is_v6);
    let mut last = None;
    for target in found.filter(is_wanted) {
        let bind = bind(asked, target);
        let options = SocketOptions { bind, ..SocketOptions::default() };
        match connect_tcp(target, &options, asked.connect_timeout) {
            Ok(socket) => return Ok((socket.into(), target)),
            Err(error) => last = Some((target, error)),
        }
    }
    Err(match last {
        Some((target, error)) => unreachable(target, &error),
        None => Problem::usage(
            format!("{host} has no address of the family that was asked for"),
            "leave -4 or -6 out",
        ),
    })
}

fn bind(asked: &TestRequest, target: SocketAddr) -> Option<SocketAddr> {
    asked.bind.filter(|ip| ip.is_ipv4() == target.is_ipv4()).map(|ip| SocketAddr::new(ip, 0))
}

fn unreachable(target: SocketAddr, error: &io::Error) -> Problem {
    let help = match error.kind() {
        io::ErrorKind::ConnectionRefused => {
            format!("start a server there: pipefill serve -p {0}, or iperf3 -s -p {0}", target.port())
        }
        io::ErrorKind::TimedOut => {
            "look whether a firewall on the way drops this port, or wait longer with --connect-timeout"
                .to_owned()
        }
        io::ErrorKind::AddrNotAvailable => "choose an address of this host with -B ADDRESS".to_owned(),
        _ => "look whether the host is up and the route is right".to_owned(),
    };
    Problem::usage(format!("connecting to {target}: {error}"), help)
}

/// Connects all streams, those on which the client sends first.
///
/// # Errors
/// [`Problem`] where one can't be.
pub(super) fn connect(
    asked: &TestRequest,
    parameters: &Parameters,
    target: SocketAddr,
    cookie: &Cookie,
    stop: &Stop,
) -> Result<Vec<StreamSocket>, Problem> {
    let options = SocketOptions {
        window: asked.own_window.map(Bytes::new),
        mss: parameters.mss.and_then(|mss| u32::try_from(mss).ok()),
        no_delay: parameters.no_delay,
        congestion_control: parameters.congestion_control.clone(),
        pacing: (parameters.pacing_bps > 0).then(|| Rate::from_bps(parameters.pacing_bps)),
        tos: parameters.tos,
        bind: bind(asked, target),
    };
    let ways = [(true, parameters.way.client_sends()), (false, parameters.way.server_sends())];
    let ways = ways.into_iter().filter(|&(_, is_there)| is_there);
    let all = ways.flat_map(|(sends, _)| (0..parameters.streams).map(move |_| sends));
    let opened = |sends: bool| {
        let socket = match parameters.transport {
            Transport::Tcp => tcp(target, &options, cookie, asked.connect_timeout),
            Transport::Udp => udp(target, &options, cookie, stop),
        };
        Ok(StreamSocket { socket: socket?, sends })
    };
    all.map(opened).collect::<io::Result<_>>().map_err(|error| {
        Problem::usage(format!("a stream: {error}"), "change that option, or look at the server's log")
    })
}

fn tcp(
    target: SocketAddr,
    options: &SocketOptions,
    cookie: &Cookie,
    patience: Duration,
) -> io::Result<Socket> {
    let mut stream: TcpStream = connect_tcp(target, options, patience)?.into();
    stream.set_write_timeout(Some(patience))?;
    stream.write_all(cookie.bytes())?;
    Ok(stream.into())
}

fn udp(target: SocketAddr, options: &SocketOptions, cookie: &Cookie, stop: &Stop) -> io::Result<Socket> {
    let socket: UdpSocket = connect_udp(target, options)?.into();
    socket.set_read_timeout(Some(STEP))?;
    // A server that sends may be faster with its data than with its answer.
    let mut bytes = vec![0; 1 << 16];
    for _ in 0..TRIES {
        socket.send(&named_hello(cookie))?;
        let deadline = Instant::now() + ANSWER;
        while Instant::now() < deadline {
            match socket.recv(&mut bytes) {
                Ok(length) if Dialect::of_answer(&bytes[..length]).is_some() => return Ok(socket.into()),
                Ok(_) => {}
                Err(_) if stop.is_requested() => return Err(io::ErrorKind::Interrupted.into()),
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                }
                Err(error) => return Err(error),
            }
        }
    }
    let text = format!("the server did not answer at UDP port {}: a firewall may drop it", target.port());
    Err(io::Error::new(io::ErrorKind::TimedOut, text))
}
