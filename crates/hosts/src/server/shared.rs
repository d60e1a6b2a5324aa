//! What all sessions of the server share: what it allows, which tests wait for streams, and who is served.

use ipnet::IpNet;
use pipefill_core::units::Rate;
use pipefill_lab::one_end::Socket;
use pipefill_remote::iperf3::Cookie;
use pipefill_remote::iperf3::datagram::Dialect;
use pipefill_remote::key::Key;
use pipefill_runs::Stop;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Streams of UDP that the server receives at a time: each remembers which datagrams it has seen, in half a megabyte.
const UDP_RECEIVERS_MAX: usize = 48;

/// Where the server writes what happens, a line at a time.
pub type Log = fn(&str);

/// What the server does and allows.
#[derive(Debug, Clone)]
pub struct Policy {
    /// Its port, for TCP and UDP.
    pub port: u16,
    /// Its address; all of this host where there is none.
    pub bind: Option<IpAddr>,
    /// Whether it ends after a test.
    pub once: bool,
    /// How long a test may take.
    pub max_duration: Duration,
    /// What a test may move in a direction, all streams together.
    pub max_rate: Option<Rate>,
    /// Whose tests are served; everybody's where it is empty.
    pub allow: Vec<IpNet>,
    /// What a client has to have.
    pub key: Option<Key>,
}

impl Policy {
    pub(super) fn allows(&self, peer: IpAddr) -> bool {
        self.allow.is_empty() || self.allow.iter().any(|net| net.contains(&peer.to_canonical()))
    }
}

/// A connection for a test's stream.
pub(super) struct Arrived {
    pub(super) stream: TcpStream,
    pub(super) peer: SocketAddr,
    /// In which order connections were accepted.
    pub(super) order: u64,
}

/// The first datagram of a stream of UDP, and the socket that was made for it.
pub(super) struct Hello {
    pub(super) socket: Socket,
    pub(super) dialect: Dialect,
}

/// Streams that a test waits for.
enum Waiting {
    /// None yet, or none any more.
    Nothing,
    Tcp(SyncSender<Arrived>),
}

/// What all sessions share.
pub(super) struct Shared {
    pub(super) policy: Policy,
    pub(super) address: SocketAddr,
    stop: Stop,
    log: Log,
    /// The server is over, whatever the signals say.
    pub(super) is_over: AtomicBool,
    /// A test has run.
    pub(super) has_served: AtomicBool,
    /// And went well.
    pub(super) went_well: AtomicBool,
    tests: Mutex<HashMap<Cookie, Waiting>>,
    /// Who may begin streams of UDP now: a first datagram has no cookie, so that there is one test of an address at a time.
    hellos: Mutex<HashMap<IpAddr, SyncSender<Hello>>>,
    udp_receivers: AtomicUsize,
}

impl Shared {
    pub(super) fn new(policy: Policy, address: SocketAddr, stop: Stop, log: Log) -> Self {
        Self {
            policy,
            address,
            stop,
            log,
            is_over: AtomicBool::new(false),
            has_served: AtomicBool::new(false),
            went_well: AtomicBool::new(false),
            tests: Mutex::default(),
            hellos: Mutex::default(),
            udp_receivers: AtomicUsize::new(0),
        }
    }

    /// Writes a line about what happened.
    pub(super) fn log(&self, line: &str) {
        (self.log)(line);
    }

    /// Whether nothing more is to be served.
    pub(super) fn is_over(&self) -> bool {
        self.stop.is_requested() || self.is_over.load(Ordering::Relaxed)
    }

    /// A new test has this name; false where another one has it.
    pub(super) fn reserve(&self, cookie: Cookie) -> bool {
        let mut tests = locked(&self.tests);
        if tests.contains_key(&cookie) {
            return false;
        }
        tests.insert(cookie, Waiting::Nothing);
        true
    }

    /// The test is over.
    pub(super) fn forget(&self, cookie: &Cookie) {
        locked(&self.tests).remove(cookie);
    }

    /// The test waits for `count` streams of TCP.
    pub(super) fn expect(&self, cookie: Cookie, count: usize) -> Receiver<Arrived> {
        let (sender, receiver) = sync_channel(count);
        locked(&self.tests).insert(cookie, Waiting::Tcp(sender));
        receiver
    }

    /// It has them all.
    pub(super) fn expect_no_more(&self, cookie: Cookie) {
        locked(&self.tests).insert(cookie, Waiting::Nothing);
    }

    /// Gives a connection to the test that waits for it. `None` where that was done, or the test has all its streams; else the connection
    /// comes back: it begins a test.
    pub(super) fn hand_over(&self, cookie: &Cookie, arrived: Arrived) -> Option<Arrived> {
        match locked(&self.tests).get(cookie) {
            Some(Waiting::Tcp(sender)) => {
                // One too many is closed.
                let _surplus = sender.try_send(arrived);
                None
            }
            Some(Waiting::Nothing) | None => Some(arrived),
        }
    }

    /// First datagrams of `peer` are this test's from now on. `None` where another test of that address has not got all of its own yet.
    pub(super) fn expect_hellos(&self, peer: IpAddr, count: usize) -> Option<Receiver<Hello>> {
        let mut hellos = locked(&self.hellos);
        if hellos.contains_key(&peer) {
            return None;
        }
        let (sender, receiver) = sync_channel(count);
        hellos.insert(peer, sender);
        Some(receiver)
    }

    /// It has them all.
    pub(super) fn expect_no_more_hellos(&self, peer: IpAddr) {
        locked(&self.hellos).remove(&peer);
    }

    /// Who waits for a first datagram of `peer`.
    pub(super) fn expects_hello(&self, peer: IpAddr) -> Option<SyncSender<Hello>> {
        locked(&self.hellos).get(&peer).cloned()
    }

    /// Sets `count` streams of UDP that are received aside; false where there are too many.
    pub(super) fn reserve_receivers(&self, count: usize) -> bool {
        let taken = self.udp_receivers.fetch_add(count, Ordering::Relaxed);
        if taken + count > UDP_RECEIVERS_MAX {
            self.release_receivers(count);
            return false;
        }
        true
    }

    /// They are over.
    pub(super) fn release_receivers(&self, count: usize) {
        self.udp_receivers.fetch_sub(count, Ordering::Relaxed);
    }
}

/// A session that panicked has left nothing half-done in these maps.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
