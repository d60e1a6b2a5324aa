//! What all sessions of the server share: what it allows, which tests wait for streams, and who is served.

use super::events::RepeatedEvents;
use super::share::Share;
use ipnet::IpNet;
use pipefill_core::units::Rate;
use pipefill_lab::one_end::Socket;
use pipefill_remote::iperf3::Cookie;
use pipefill_remote::iperf3::datagram::Dialect;
use pipefill_remote::key::Key;
use pipefill_runs::Stop;
use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Tests at a time.
pub(super) const TESTS_MAX: usize = 16;
/// Tests of one address at a time, where no key says who they are.
pub(super) const TESTS_OF_ADDRESS_MAX: usize = 8;
/// Streams of UDP that the server receives at a time: each remembers which datagrams it has seen, in half a megabyte.
const UDP_RECEIVERS_MAX: usize = 48;
/// Those of one address, where no key says who it is.
const UDP_RECEIVERS_OF_ADDRESS_MAX: usize = 32;

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
    /// Of UDP, whose first datagrams have the name of the test.
    Udp(SyncSender<Hello>),
}

/// A test under way.
struct Test {
    share: Share,
    waiting: Waiting,
    /// Streams of UDP that the server receives for it.
    udp_receivers: usize,
}

/// A test that waits for first datagrams without a name.
type HelloTurn = (Cookie, SyncSender<Hello>);

/// What all sessions share.
pub(super) struct Shared {
    pub(super) policy: Policy,
    pub(super) address: SocketAddr,
    stop: Stop,
    log: Log,
    events: Mutex<RepeatedEvents>,
    /// The server is over, whatever the signals say.
    pub(super) is_over: AtomicBool,
    /// A test has run.
    pub(super) has_served: AtomicBool,
    /// And went well.
    pub(super) went_well: AtomicBool,
    /// Tests whose data flow.
    flowing: AtomicU32,
    tests: Mutex<HashMap<Cookie, Test>>,
    /// Tests of stock clients whose streams of UDP are to come. Their first datagrams have no cookie, so that those of an address take turns.
    hellos: Mutex<HashMap<IpAddr, VecDeque<HelloTurn>>>,
}

/// The data of a test flow.
pub(super) struct Flowing<'a>(&'a AtomicU32);

impl Drop for Flowing<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Shared {
    pub(super) fn new(policy: Policy, address: SocketAddr, stop: Stop, log: Log) -> Self {
        Self {
            policy,
            address,
            stop,
            log,
            events: Mutex::default(),
            is_over: AtomicBool::new(false),
            has_served: AtomicBool::new(false),
            went_well: AtomicBool::new(false),
            flowing: AtomicU32::new(0),
            tests: Mutex::default(),
            hellos: Mutex::default(),
        }
    }

    /// Writes a line about what happened.
    pub(super) fn log(&self, line: &str) {
        (self.log)(line);
    }

    /// Notes that a client was closed or refused. What repeats is written once a second.
    pub(super) fn note(&self, peer: SocketAddr, why: &str) {
        let line = locked(&self.events).note(Instant::now(), super::shown(peer), why);
        line.iter().for_each(|line| self.log(line));
    }

    /// Writes the lines about what repeats that are due; all of them at the end.
    pub(super) fn write_events(&self, is_end: bool) {
        let lines = locked(&self.events).due(Instant::now(), is_end);
        lines.iter().for_each(|line| self.log(line));
    }

    /// The data of a test flow until what is returned is dropped.
    pub(super) fn flow(&self) -> Flowing<'_> {
        self.flowing.fetch_add(1, Ordering::Relaxed);
        Flowing(&self.flowing)
    }

    /// How many tests' data flow.
    pub(super) fn flowing(&self) -> u32 {
        self.flowing.load(Ordering::Relaxed)
    }

    /// Whether nothing more is to be served.
    pub(super) fn is_over(&self) -> bool {
        self.stop.is_requested() || self.is_over.load(Ordering::Relaxed)
    }

    /// Why no test of `peer` with this name may begin now; `None` where one may.
    pub(super) fn why_not(&self, name: &Cookie, peer: IpAddr) -> Option<&'static str> {
        self.why_not_among(&locked(&self.tests), name, Share::of(peer))
    }

    fn why_not_among(
        &self,
        tests: &HashMap<Cookie, Test>,
        name: &Cookie,
        share: Share,
    ) -> Option<&'static str> {
        let of_address = || tests.values().filter(|test| test.share == share).count();
        if tests.contains_key(name) {
            Some("refused, since its cookie is that of a test under way")
        } else if self.policy.once && self.has_served.load(Ordering::Relaxed) {
            Some("refused, since the server serves one test (--once)")
        } else if tests.len() >= TESTS_MAX {
            Some("refused, since 16 tests are under way")
        } else if self.policy.key.is_none() && of_address() >= TESTS_OF_ADDRESS_MAX {
            Some("refused, since 8 tests of its address are under way")
        } else {
            None
        }
    }

    /// Whether a test has this name.
    pub(super) fn has_test(&self, name: &Cookie) -> bool {
        locked(&self.tests).contains_key(name)
    }

    /// Begins a test of `peer` with this name.
    ///
    /// # Errors
    /// Why it may not begin.
    pub(super) fn begin_test(&self, name: Cookie, peer: IpAddr) -> Result<(), &'static str> {
        let (mut tests, share) = (locked(&self.tests), Share::of(peer));
        if let Some(why) = self.why_not_among(&tests, &name, share) {
            return Err(why);
        }
        tests.insert(name, Test { share, waiting: Waiting::Nothing, udp_receivers: 0 });
        Ok(())
    }

    /// The test is over.
    pub(super) fn end_test(&self, name: &Cookie) {
        locked(&self.tests).remove(name);
    }

    fn set_waiting(&self, name: &Cookie, waiting: Waiting) {
        if let Some(test) = locked(&self.tests).get_mut(name) {
            test.waiting = waiting;
        }
    }

    /// The test waits for `count` streams of TCP.
    pub(super) fn expect(&self, name: &Cookie, count: usize) -> Receiver<Arrived> {
        let (sender, receiver) = sync_channel(count);
        self.set_waiting(name, Waiting::Tcp(sender));
        receiver
    }

    /// It has them all.
    pub(super) fn expect_no_more(&self, name: &Cookie) {
        self.set_waiting(name, Waiting::Nothing);
    }

    /// Whether a test with this name waits for streams of TCP.
    pub(super) fn expects(&self, name: &Cookie) -> bool {
        let tests = locked(&self.tests);
        tests.get(name).is_some_and(|test| matches!(test.waiting, Waiting::Tcp(_)))
    }

    /// Gives a connection to the test that waits for it; one too many is closed.
    pub(super) fn hand_over(&self, name: &Cookie, arrived: Arrived) {
        if let Some(Waiting::Tcp(sender)) = locked(&self.tests).get(name).map(|test| &test.waiting) {
            let _surplus = sender.try_send(arrived);
        }
    }

    /// The test waits for `count` first datagrams that have its name.
    pub(super) fn expect_named_hellos(&self, name: &Cookie, count: usize) -> Receiver<Hello> {
        let (sender, receiver) = sync_channel(count);
        self.set_waiting(name, Waiting::Udp(sender));
        receiver
    }

    /// The test waits until first datagrams of `peer` without a name are its own.
    pub(super) fn queue_for_hellos(&self, name: Cookie, peer: IpAddr, count: usize) -> Receiver<Hello> {
        let (sender, receiver) = sync_channel(count);
        locked(&self.hellos).entry(peer).or_default().push_back((name, sender));
        receiver
    }

    /// Whether it is the turn of the test.
    pub(super) fn is_next_for_hellos(&self, name: &Cookie, peer: IpAddr) -> bool {
        locked(&self.hellos).get(&peer).and_then(VecDeque::front).is_some_and(|(next, _)| next == name)
    }

    /// The test waits no longer.
    pub(super) fn leave_queue_for_hellos(&self, name: &Cookie, peer: IpAddr) {
        let mut hellos = locked(&self.hellos);
        if let Some(queue) = hellos.get_mut(&peer) {
            queue.retain(|(waiting, _)| waiting != name);
            if queue.is_empty() {
                hellos.remove(&peer);
            }
        }
    }

    /// The test that a first datagram of `peer` is for.
    pub(super) fn expects_hello(&self, name: Option<&Cookie>, peer: IpAddr) -> Option<SyncSender<Hello>> {
        let Some(name) = name else {
            let hellos = locked(&self.hellos);
            return hellos.get(&peer.to_canonical())?.front().map(|(_, sender)| sender.clone());
        };
        let tests = locked(&self.tests);
        let test = tests.get(name).filter(|test| test.share == Share::of(peer))?;
        if let Waiting::Udp(sender) = &test.waiting { Some(sender.clone()) } else { None }
    }

    /// Sets `count` streams of UDP aside that the test receives; false where there are too many in all, or of its address.
    pub(super) fn reserve_receivers(&self, name: &Cookie, count: usize) -> bool {
        let mut tests = locked(&self.tests);
        let Some(share) = tests.get(name).map(|test| test.share) else { return false };
        let taken = |is_counted: &dyn Fn(&Test) -> bool| -> usize {
            tests.values().filter(|test| is_counted(test)).map(|test| test.udp_receivers).sum()
        };
        let of_address = taken(&|test| test.share == share);
        let is_too_many = taken(&|_| true) + count > UDP_RECEIVERS_MAX
            || self.policy.key.is_none() && of_address + count > UDP_RECEIVERS_OF_ADDRESS_MAX;
        if let Some(test) = tests.get_mut(name).filter(|_| !is_too_many) {
            test.udp_receivers = count;
        }
        !is_too_many
    }
}

/// A session that panicked has left nothing half-done in these maps.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
