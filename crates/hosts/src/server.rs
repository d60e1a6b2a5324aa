//! `pipefill serve`: several tests at a time on one port, for stock iperf3 clients and for ours.
//!
//! Time and memory are bounded whatever a client does: connections that have not said whose they are, tests, streams, lengths, and how long
//! each step may take. Nothing that a client sends is run, written to a file or handed on.

mod events;
mod hellos;
mod pending;
mod refused;
mod session;
mod share;
mod shared;
mod streams;

pub use shared::{Log, Policy};

use pending::{Pending, PendingConnection, PendingEvent, TOO_MANY};
use pipefill_core::problem::Problem;
use pipefill_lab::one_end::{listen_tcp, listen_udp};
use pipefill_remote::iperf3::refusal::Refusal;
use pipefill_remote::iperf3::{Cookie, TestState};
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
        server.shared.write_events(true);
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
            let are_ready: Vec<bool> = {
                let mut waits = vec![PollFd::new(listener, PollFlags::IN)];
                waits.extend(self.pending.waits());
                // A signal ends the wait early.
                let _count = poll(&mut waits, Some(&TICK));
                waits.iter().map(|wait| !wait.revents().is_empty()).collect()
            };
            let events = self.pending.read(&are_ready[1..], self.shared.policy.key.as_ref());
            events.into_iter().for_each(|event| self.push(event));
            if are_ready[0] {
                self.accept(listener);
            }
            self.shared.write_events(false);
            self.sessions.retain(|session| !session.is_finished());
        }
        Ok(())
    }

    fn accept(&mut self, listener: &TcpListener) {
        for _ in 0..AT_ONCE {
            match listener.accept() {
                Ok((stream, peer)) if self.shared.policy.allows(peer.ip()) => {
                    let closed = self.pending.accept(stream, peer);
                    closed.into_iter().for_each(|closed| self.shared.note(closed, TOO_MANY));
                }
                Ok((_, peer)) => self.shared.note(peer, "closed, since it is not within --allow"),
                Err(error) if is_exhausted(&error) => {
                    match self.pending.make_room() {
                        Some(closed) => self.shared.note(closed, TOO_MANY),
                        None => thread::sleep(EXHAUSTED),
                    }
                    return;
                }
                // Nobody waits any more, or one went away.
                Err(_) => return,
            }
        }
    }

    fn push(&mut self, event: PendingEvent) {
        match event {
            PendingEvent::Closed(peer, why) => self.shared.note(peer, why),
            PendingEvent::Named(connection, name) => self.place(connection, name),
            PendingEvent::Proved { name, stream, peer, parameters } => {
                self.begin_test(name, (stream, peer), parameters);
            }
            PendingEvent::Refused { mut stream, peer, code, why } => {
                let refusal = Refusal { code, errno: 0 };
                let _gone = stream.write(&[&[TestState::ServerError.byte()][..], &refusal.bytes()].concat());
                self.shared.note(peer, &format!("refused: {why}"));
            }
        }
    }

    /// A connection has said whose it is: a stream of a test that waits for it, or who wants a new test.
    fn place(&mut self, connection: PendingConnection, name: Cookie) {
        let peer = connection.peer;
        if self.shared.expects(&name) {
            let PendingConnection { stream, order, .. } = connection;
            self.shared.hand_over(&name, Arrived { stream, peer, order });
            return;
        }
        let key = self.shared.policy.key.as_ref();
        // With a key nothing is refused before the proof but a name that is taken.
        let why_not = self.shared.why_not(&name, peer.ip());
        if let Some(why) = why_not.filter(|_| key.is_none() || self.shared.has_test(&name)) {
            deny(connection.stream);
            self.shared.note(peer, why);
            return;
        }
        match self.pending.ask(connection, name, key) {
            Ok(closed) => closed.into_iter().for_each(|closed| self.shared.note(closed, TOO_MANY)),
            Err(error) => self.shared.note(peer, &format!("given up: {error}")),
        }
    }

    fn begin_test(
        &mut self,
        name: Cookie,
        (stream, peer): (TcpStream, SocketAddr),
        parameters: Option<Vec<u8>>,
    ) {
        if let Err(why) = self.shared.begin_test(name, peer.ip()) {
            deny(stream);
            self.shared.note(peer, why);
            return;
        }
        let shared = Arc::clone(&self.shared);
        let work = move || {
            session::serve(&shared, name, (stream, peer), parameters);
            shared.end_test(&name);
        };
        match thread::Builder::new().name("session".to_owned()).stack_size(STACK).spawn(work) {
            Ok(session) => self.sessions.push(session),
            Err(error) => {
                self.shared.end_test(&name);
                self.shared.note(peer, &format!("refused: {error}"));
            }
        }
    }
}

/// Its socket has room for a byte, or it gets none.
fn deny(mut stream: TcpStream) {
    let _gone = stream.write(&[TestState::AccessDenied.byte()]);
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
