//! `pipefill serve`: several tests at a time on one port, for stock iperf3 clients and for ours.
//!
//! Time and memory are bounded whatever a client does: connections that have not said whose they are, tests, streams, lengths, and how long
//! each step may take. Nothing that a client sends is run, written to a file or handed on.

mod hellos;
mod pending;
mod refused;
mod session;
mod shared;
mod streams;

pub use shared::{Log, Policy};

use pending::{Pending, Said};
use pipefill_core::problem::Problem;
use pipefill_lab::one_end::{listen_tcp, listen_udp};
use pipefill_remote::iperf3::{Cookie, State};
use pipefill_runs::Stop;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use shared::{Arrived, Shared};
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How often the wish to stop is looked at.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// Where accept(2) finds no descriptor or no memory, it is tried again so much later.
const EXHAUSTED: Duration = Duration::from_millis(100);
/// Connections that are accepted before others are looked at.
const AT_ONCE: usize = 64;
/// Tests at a time.
const TESTS_MAX: usize = 16;
/// Stack of a session's thread, which reads JSON of 128 levels.
const STACK: usize = 1 << 20;

/// Serves until it is asked to stop, or with `--once` until a test has ended. True where that test went well.
///
/// # Errors
/// [`Problem`] where the port can't be had.
pub fn serve(policy: Policy, stop: &Stop, log: Log) -> Result<bool, Problem> {
    Listening::begin(policy)?.serve(stop, log)
}

/// A server that has its port, and serves nobody yet.
#[derive(Debug)]
pub struct Listening {
    policy: Policy,
    listener: TcpListener,
    udp: UdpSocket,
    /// Where it listens.
    pub address: SocketAddr,
}

impl Listening {
    /// Takes the port.
    ///
    /// # Errors
    /// [`Problem`] where it can't be had.
    pub fn begin(policy: Policy) -> Result<Self, Problem> {
        more_descriptors();
        let (listener, address) = listener(&policy)?;
        let udp = listen_udp(address).map_err(|error| refused("UDP", address, &error))?;
        Ok(Self { policy, listener, udp, address })
    }

    /// As [`serve`].
    ///
    /// # Errors
    /// There can be no more threads.
    pub fn serve(self, stop: &Stop, log: Log) -> Result<bool, Problem> {
        let Self { policy, listener, udp, address } = self;
        let shared = Arc::new(Shared::new(policy, address, stop.clone(), log));
        shared.log(&greeting(&shared));
        let hellos = {
            let shared = Arc::clone(&shared);
            thread::Builder::new().name("hellos".to_owned()).spawn(move || hellos::answer(&udp, &shared))
        };
        let hellos = hellos.map_err(|error| Problem::broken(format!("starting a thread: {error}")))?;
        let mut server = Server { shared, pending: Pending::default(), sessions: Vec::new() };
        let served = server.run(&listener);
        server.shared.is_over.store(true, Ordering::Relaxed);
        server.sessions.drain(..).for_each(|session| drop(session.join()));
        drop(hellos.join());
        served?;
        Ok(server.shared.went_well.load(Ordering::Relaxed))
    }
}

fn greeting(shared: &Shared) -> String {
    let (address, policy) = (shared.address, &shared.policy);
    let who = match (&policy.key, policy.allow.is_empty()) {
        (Some(_), _) => "who has the key",
        (None, true) => "there is no key: anybody who reaches this port",
        (None, false) => "there is no key: anybody within --allow",
    };
    format!("serving tests at {address}, TCP and UDP, for {who}")
}

/// At the address that was asked for, or at all of this host.
fn listener(policy: &Policy) -> Result<(TcpListener, SocketAddr), Problem> {
    let wanted: &[IpAddr] = match &policy.bind {
        Some(address) => std::slice::from_ref(address),
        None => &[IpAddr::V6(Ipv6Addr::UNSPECIFIED), IpAddr::V4(Ipv4Addr::UNSPECIFIED)],
    };
    let mut last = None;
    for ip in wanted {
        let address = SocketAddr::new(*ip, policy.port);
        match listen_tcp(address) {
            Ok(socket) => {
                let listener: TcpListener = socket.into();
                let address = listener.local_addr().unwrap_or(address);
                return Ok((listener, address));
            }
            // A host without IPv6.
            Err(error) => last = Some(refused("TCP", address, &error)),
        }
    }
    Err(last.unwrap_or_else(|| Problem::broken("there is no address to listen at")))
}

fn refused(protocol: &str, address: SocketAddr, error: &io::Error) -> Problem {
    let what = format!("listening for {protocol} at {address}: {error}");
    let help = match error.kind() {
        io::ErrorKind::AddrInUse => "another server has this port; choose another one with -p PORT",
        io::ErrorKind::PermissionDenied => "choose a port above 1023 with -p PORT",
        _ => "choose an address of this host with --bind ADDRESS",
    };
    Problem::usage(what, help)
}

/// A test may have 256 streams.
fn more_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    let _kept = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

struct Server {
    shared: Arc<Shared>,
    pending: Pending,
    sessions: Vec<JoinHandle<()>>,
}

impl Server {
    fn run(&mut self, listener: &TcpListener) -> Result<(), Problem> {
        while !self.shared.is_over() {
            let is_ready = {
                let mut waits = vec![PollFd::new(listener, PollFlags::IN)];
                waits.extend(self.pending.waits());
                // A signal ends the wait early.
                let _count = poll(&mut waits, Some(&TICK));
                !waits[0].revents().is_empty()
            };
            if is_ready {
                self.accept(listener);
            }
            for said in self.pending.read() {
                self.take(said);
            }
            self.sessions.retain(|session| !session.is_finished());
        }
        Ok(())
    }

    fn accept(&mut self, listener: &TcpListener) {
        for _ in 0..AT_ONCE {
            match listener.accept() {
                Ok((stream, peer)) if self.shared.policy.allows(peer.ip()) => {
                    if let Some(dropped) = self.pending.push(stream, peer) {
                        self.shared.log(&format!("{dropped}: closed, since too many connections wait"));
                    }
                }
                Ok((_, peer)) => {
                    self.shared.log(&format!("{}: closed, since it is not within --allow", shown(peer)));
                }
                Err(error) if is_exhausted(&error) => {
                    thread::sleep(EXHAUSTED);
                    return;
                }
                // Nobody waits any more, or one went away.
                Err(_) => return,
            }
        }
    }

    fn take(&mut self, said: Said) {
        match said {
            Said::Nothing(peer, why) => self.shared.log(&format!("{}: {why}", shown(peer))),
            Said::Cookie { cookie, stream, peer, order } => self.place(cookie, stream, peer, order),
        }
    }

    /// A connection has said whose it is: a stream of a test that waits for it, or a new test.
    fn place(&mut self, cookie: Cookie, stream: TcpStream, peer: SocketAddr, order: u64) {
        let Some(Arrived { stream, .. }) = self.shared.hand_over(&cookie, Arrived { stream, peer, order })
        else {
            return;
        };
        let ended = self.shared.policy.once && self.shared.has_served.load(Ordering::Relaxed);
        if self.sessions.len() >= TESTS_MAX || ended || !self.shared.reserve(cookie) {
            deny(stream);
            self.shared.log(&format!("{}: refused, since {TESTS_MAX} tests are under way", shown(peer)));
            return;
        }
        let shared = Arc::clone(&self.shared);
        let work = move || {
            session::serve(&shared, cookie, stream, peer);
            shared.forget(&cookie);
        };
        match thread::Builder::new().name("session".to_owned()).stack_size(STACK).spawn(work) {
            Ok(session) => self.sessions.push(session),
            Err(error) => {
                self.shared.forget(&cookie);
                self.shared.log(&format!("{}: refused: {error}", shown(peer)));
            }
        }
    }
}

/// Its socket has room for a byte, or it gets none.
fn deny(mut stream: TcpStream) {
    let _gone = stream.write(&[State::AccessDenied.byte()]);
}

fn is_exhausted(error: &io::Error) -> bool {
    let exhausted = [
        rustix::io::Errno::MFILE,
        rustix::io::Errno::NFILE,
        rustix::io::Errno::NOBUFS,
        rustix::io::Errno::NOMEM,
    ];
    exhausted.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// An IPv4 address of a socket that takes both is shown as such.
fn shown(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}
