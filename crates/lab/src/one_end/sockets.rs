//! Sockets of a test between hosts: connected, accepted, with what iperf3's letters ask of them.

use crate::sys::socket::{set_option, tcp_info};
use crate::traffic::connect::{pacing_rate, receive_buffer, send_buffer, set_congestion_control};
use pipefill_core::tcp_info::decode;
use pipefill_core::units::{Bytes, Rate};
use socket2::{Domain, Protocol, SockAddr, SockRef, Socket, Type};
use std::io;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

/// Connections that wait for accept(2).
const BACKLOG: i32 = 1024;
/// The default buffer of a UDP socket: a busy reader must not look like a lossy path. The kernel may grant less.
const UDP_RCVBUF: usize = 4 << 20;

/// What is asked of a socket.
#[derive(Debug, Clone, Default)]
pub struct SocketOptions {
    /// Both buffers, as `-w` has it.
    pub window: Option<Bytes>,
    /// `TCP_MAXSEG`, bytes.
    pub mss: Option<u32>,
    /// `TCP_NODELAY`.
    pub no_delay: bool,
    /// `TCP_CONGESTION`.
    pub congestion_control: Option<String>,
    /// `SO_MAX_PACING_RATE`.
    pub pacing: Option<Rate>,
    /// The byte of the IP header that has DSCP and ECN.
    pub tos: u8,
    /// Own address and port; 0 for any.
    pub bind: Option<SocketAddr>,
}

/// An option that was refused.
#[derive(Debug)]
pub struct SocketError {
    /// Its name, e.g. `TCP_MAXSEG`.
    pub option: &'static str,
    /// Why.
    pub source: io::Error,
}

impl From<SocketError> for io::Error {
    fn from(error: SocketError) -> Self {
        Self::new(error.source.kind(), format!("{}: {}", error.option, error.source))
    }
}

/// Sets what is asked.
///
/// # Errors
/// The first option that is refused.
pub fn apply(socket: &Socket, options: &SocketOptions, is_tcp: bool) -> Result<(), SocketError> {
    let named = |option: &'static str| move |source: io::Error| SocketError { option, source };
    if let Some(window) = options.window {
        send_buffer(socket, window, String::new()).map_err(named("SO_SNDBUF"))?;
        receive_buffer(socket, window, String::new()).map_err(named("SO_RCVBUF"))?;
    } else if !is_tcp {
        socket.set_recv_buffer_size(UDP_RCVBUF).map_err(named("SO_RCVBUF"))?;
    }
    if options.tos > 0 {
        let tos = i32::from(options.tos);
        let is_v4 = socket.local_addr().is_ok_and(|local| local.is_ipv4());
        let (level, name) =
            if is_v4 { (libc::IPPROTO_IP, libc::IP_TOS) } else { (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) };
        set_option(socket, level, name, &tos).map_err(named("IP_TOS"))?;
    }
    if let Some(rate) = options.pacing {
        pacing_rate(socket, rate, String::new()).map_err(named("SO_MAX_PACING_RATE"))?;
    }
    if !is_tcp {
        return Ok(());
    }
    if let Some(mss) = options.mss {
        socket.set_tcp_mss(mss).map_err(named("TCP_MAXSEG"))?;
    }
    if options.no_delay {
        socket.set_tcp_nodelay(true).map_err(named("TCP_NODELAY"))?;
    }
    if let Some(wanted) = &options.congestion_control {
        set_congestion_control(socket, wanted).map_err(named("TCP_CONGESTION"))?;
    }
    Ok(())
}

/// Connects a stream of TCP.
///
/// # Errors
/// Those of the socket; `TimedOut` after `patience`.
pub fn connect_tcp(target: SocketAddr, options: &SocketOptions, patience: Duration) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(target), Type::STREAM, Some(Protocol::TCP))?;
    bind(&socket, options)?;
    // Before connect(2), so that the handshake has the MSS and the window scale.
    apply(&socket, options, true)?;
    socket.connect_timeout(&SockAddr::from(target), patience)?;
    Ok(socket)
}

/// MSS of a connection, bytes.
///
/// # Errors
/// Those of the socket.
pub fn mss_of(stream: &TcpStream) -> io::Result<u32> {
    SockRef::from(stream).tcp_mss()
}

/// Keeps a connection of few words going on a path that loses most of them: the kernel sends again as often as at first (`TCP_THIN_LINEAR_TIMEOUTS`),
/// and at least once in a second (`TCP_RTO_MAX_MS`, Linux 6.15), in place of twice as late each time; it gives up after a minute, not after so many
/// times (`TCP_USER_TIMEOUT`).
pub fn insist(stream: &TcpStream) {
    const TCP_RTO_MAX_MS: i32 = 44;
    let options =
        [(libc::TCP_THIN_LINEAR_TIMEOUTS, 1_i32), (TCP_RTO_MAX_MS, 1_000), (libc::TCP_USER_TIMEOUT, 60_000)];
    for (name, value) in options {
        // A kernel without it does as it always did.
        let _as_ever = set_option(stream, libc::IPPROTO_TCP, name, &value);
    }
}

/// Segments that a connection has retransmitted; `None` where the kernel does not report it.
pub fn retransmits_of(stream: &TcpStream) -> Option<u32> {
    let mut bytes = [0; 512];
    let length = tcp_info(stream, &mut bytes).ok()?;
    Some(decode(&bytes[..length])?.retransmits)
}

/// How long nothing was heard on a connection, not even an ACK (`tcpi_last_data_recv`, `tcpi_last_ack_recv`); `None` where the kernel does not tell.
pub fn silent_for(stream: &TcpStream) -> Option<Duration> {
    const LAST_DATA_RECV: usize = 52;
    const LAST_ACK_RECV: usize = 56;
    let mut bytes = [0; 512];
    let length = tcp_info(stream, &mut bytes).ok()?;
    let millis = |at: usize| Some(u32::from_ne_bytes(bytes[..length].get(at..at + 4)?.try_into().ok()?));
    let least = millis(LAST_DATA_RECV)?.min(millis(LAST_ACK_RECV)?);
    Some(Duration::from_millis(least.into()))
}

/// Sends a keepalive probe at once where nothing was heard for a second and nothing waits for an ACK. An option that is set again
/// starts the kernel's timer again, which is due then (`tcp_sock_set_keepidle_locked()`); left alone, it probes once a second.
pub fn probe(stream: &TcpStream) {
    let options = [
        (libc::SOL_SOCKET, libc::SO_KEEPALIVE),
        (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL),
        (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE),
    ];
    for (level, name) in options {
        // A connection that is gone is not probed.
        let _gone = set_option(stream, level, name, &1_i32);
    }
}

/// Makes a socket of UDP that talks to `target` alone.
///
/// # Errors
/// Those of the socket.
pub fn connect_udp(target: SocketAddr, options: &SocketOptions) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(target), Type::DGRAM, Some(Protocol::UDP))?;
    bind(&socket, options)?;
    apply(&socket, options, false)?;
    socket.connect(&SockAddr::from(target))?;
    Ok(socket)
}

fn bind(socket: &Socket, options: &SocketOptions) -> io::Result<()> {
    let Some(address) = options.bind else { return Ok(()) };
    socket.bind(&SockAddr::from(address))
}

/// Listens for TCP at `address`; at the unspecified IPv6 address for IPv4 too.
///
/// # Errors
/// Those of the socket.
pub fn listen_tcp(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    socket.set_reuse_address(true)?;
    socket.bind(&SockAddr::from(address))?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Waits for first datagrams at `address`.
///
/// # Errors
/// Those of the socket.
pub fn listen_udp(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    if address.is_ipv6() {
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    socket.set_reuse_address(true)?;
    socket.bind(&SockAddr::from(address))?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// Makes the socket of a stream of UDP that `peer` has begun at `address`. First datagrams of others that came to it before it was
/// connected go to `others`: until then both this socket and the one of [`listen_udp`] get them.
///
/// # Errors
/// Those of the socket.
pub fn answer_hello(
    address: SocketAddr,
    peer: SocketAddr,
    options: &SocketOptions,
    mut others: impl FnMut(&[u8], SocketAddr),
) -> io::Result<Socket> {
    let socket: Socket = listen_udp(address)?.into();
    socket.connect(&SockAddr::from(peer))?;
    apply(&socket, options, false)?;
    let socket: UdpSocket = socket.into();
    let mut bytes = [0; 64];
    while let Ok((length, from)) = socket.recv_from(&mut bytes) {
        if from != peer {
            others(&bytes[..length], from);
        }
    }
    Ok(socket.into())
}
