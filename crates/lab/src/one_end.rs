//! One end of a test whose other end is on another machine: its streams at work, what they have counted, and samples of their sockets.
//!
//! The applications are a run's (`traffic`); the caller decides when the test ends.

mod instrument;
mod sockets;

pub use instrument::{EndInstrument, why_invalid};
pub use sockets::{
    SocketError, SocketOptions, answer_hello, apply, connect_tcp, connect_udp, insist, listen_tcp,
    listen_udp, mss_of, probe, retransmits_of, silent_for,
};

use crate::clock::RunClock;
use crate::lateness::LatenessMeter;
use crate::sys::datagram;
use crate::sys::socket::tcp_info as raw_tcp_info;
use crate::telemetry::sample_tcp;
use crate::threads::Threads;
use crate::traffic::counts::{Goal, StreamCounts};
use crate::traffic::tcp::{TcpReceiver, TcpSender};
use crate::traffic::udp::{Header, UdpReceiver, UdpSender};
use nix::sys::resource::{UsageWho, getrusage};
use pipefill_core::cell::Writer;
use pipefill_core::record::{StreamEnd, TcpSample, ThreadRole};
use pipefill_core::traffic::pacing::Schedule;
use pipefill_core::units::{Bytes, Rate, Time};
pub use socket2::Socket;
use std::io;
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Stack of a thread that moves data: its buffers are on the heap.
const STACK: usize = 256 << 10;
/// What a stream without a rate is scheduled at: more than any host sends.
const UNBOUNDED: Rate = Rate::from_bps(1_000_000_000_000);
/// Longer than any test: the caller stops the senders before.
const LONGEST: Duration = Duration::from_hours(48);
/// `tcpi_pmtu`.
const PMTU: std::ops::Range<usize> = 60..64;

/// What the streams do.
#[derive(Debug, Clone, Copy)]
pub struct Work {
    /// UDP, or TCP.
    pub is_udp: bool,
    /// Payload of a write or a datagram.
    pub length: Bytes,
    /// What each stream offers; no bound where there is none.
    pub bitrate: Option<Rate>,
    /// What each stream of TCP reads at most.
    pub read_rate: Option<Rate>,
    /// UDP: whether iperf3's header has a counter of 64 bits.
    pub has_wide_counters: bool,
}

/// A connected socket and what it is for.
#[derive(Debug)]
pub struct StreamSocket {
    /// TCP or UDP; it is made non-blocking.
    pub socket: Socket,
    /// Whether this end sends on it.
    pub sends: bool,
}

/// The counts of a stream up to now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    /// Payload sent or received.
    pub bytes: u64,
    /// UDP: datagrams that were sent; at a receiver one more than the highest number that arrived.
    pub packets: u64,
    /// UDP, of a receiver: datagrams that arrived, each once.
    pub received: u64,
    /// UDP, of a receiver: datagrams that arrived after a later one.
    pub reordered: u64,
    /// UDP, of a receiver: RFC 3550 jitter, nanoseconds.
    pub jitter_ns: u64,
    /// UDP, of a receiver, once a datagram has come: when the newest one came, nanoseconds since the Unix epoch, and by how much that is
    /// later than the time that it carries, nanoseconds. The two times are of two clocks.
    pub transit: Option<(u64, i64)>,
    /// When a receiver had its last byte; 0 before the first one.
    pub last: Time,
}

/// Streams in one direction.
#[derive(Debug, Default)]
struct Group {
    sockets: Vec<Socket>,
    counts: Vec<StreamCounts>,
}

struct Shared {
    work: Work,
    clock: RunClock,
    senders: Group,
    receivers: Group,
    /// `u64::MAX` where nothing but the time ends it.
    goal: AtomicU64,
    stop_senders: AtomicBool,
    stop_receivers: AtomicBool,
    threads: Threads,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("work", &self.work).finish_non_exhaustive()
    }
}

/// Streams at work.
#[derive(Debug)]
pub struct Transfer {
    shared: Arc<Shared>,
    /// Where each stream is, in the order in which they were given: whether it sends, and its place in its group.
    places: Vec<(bool, usize)>,
    senders: Vec<JoinHandle<io::Result<()>>>,
    receivers: Vec<JoinHandle<io::Result<()>>>,
    /// What the senders that were stopped said.
    sent: io::Result<()>,
}

impl Transfer {
    /// Starts the receivers; [`Self::send`] starts the senders.
    ///
    /// # Errors
    /// Those of the sockets, and where there can be no more threads.
    pub fn start(work: Work, streams: Vec<StreamSocket>) -> io::Result<Self> {
        let (mut senders, mut receivers) = (Group::default(), Group::default());
        let mut places = Vec::new();
        for StreamSocket { socket, sends } in streams {
            socket.set_nonblocking(true)?;
            match (work.is_udp, sends) {
                (true, true) => datagram::want_errors(&socket),
                (true, false) => datagram::want_timestamps(&socket)?,
                (false, _) => {}
            }
            let group = if sends { &mut senders } else { &mut receivers };
            places.push((sends, group.sockets.len()));
            group.sockets.push(socket);
            group.counts.push(StreamCounts::default());
        }
        let shared = Arc::new(Shared {
            work,
            clock: RunClock::start(),
            senders,
            receivers,
            goal: AtomicU64::new(u64::MAX),
            stop_senders: AtomicBool::new(false),
            stop_receivers: AtomicBool::new(false),
            threads: Threads::default(),
        });
        let mut transfer = Self { shared, places, senders: Vec::new(), receivers: Vec::new(), sent: Ok(()) };
        transfer.receive()?;
        Ok(transfer)
    }

    fn receive(&mut self) -> io::Result<()> {
        let count = self.shared.receivers.sockets.len();
        // One thread reads all streams of TCP; each stream of UDP has its own, since nothing makes its sender wait.
        let threads = if self.shared.work.is_udp { count } else { count.min(1) };
        for index in 0..threads {
            let shared = Arc::clone(&self.shared);
            let role = ThreadRole::Other("the receiver".to_owned());
            let work = move || shared.threads.note(role, || shared.receive(index));
            self.receivers.push(spawn_named("receiver", work)?);
        }
        Ok(())
    }

    /// Starts the senders.
    ///
    /// # Errors
    /// There can be no more threads.
    pub fn send(&mut self) -> io::Result<()> {
        let count = self.shared.senders.sockets.len();
        // Without a rate a stream of UDP never has nothing to send: it gets a thread of its own.
        let is_greedy = self.shared.work.is_udp && self.shared.work.bitrate.is_none();
        for index in 0..if is_greedy { count } else { count.min(1) } {
            let shared = Arc::clone(&self.shared);
            let which = if is_greedy { index..index + 1 } else { 0..count };
            let role = ThreadRole::Other("the sender".to_owned());
            let work = move || shared.threads.note(role, || shared.send(which));
            self.senders.push(spawn_named("sender", work)?);
        }
        Ok(())
    }

    /// Time since the streams were given.
    pub fn now(&self) -> Time {
        self.shared.clock.now()
    }

    /// How many streams there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Whether this end sends on stream `index`.
    pub fn sends(&self, index: usize) -> bool {
        self.places[index].0
    }

    /// What each stream has counted.
    pub fn counted(&self) -> Vec<Counted> {
        self.places.iter().map(|&place| self.counted_at(place)).collect()
    }

    fn counted_at(&self, (sends, at): (bool, usize)) -> Counted {
        if sends {
            let counts = &self.shared.senders.counts[at];
            let (bytes, packets) = (counts.sent_bytes.get(), counts.sent.get());
            return Counted { bytes, packets, ..Counted::default() };
        }
        let counts = &self.shared.receivers.counts[at];
        Counted {
            bytes: counts.received_bytes.get(),
            packets: counts.expected.get(),
            received: counts.received.get(),
            reordered: counts.reordered.get(),
            jitter_ns: counts.jitter_ns.get(),
            transit: transit(counts),
            last: Time::from_nanos(counts.last_received_ns.get()),
        }
    }

    /// A sample of the TCP socket of stream `index`, which counts as stream `index` of the record.
    pub fn sample(&self, index: usize) -> Option<TcpSample> {
        let (sends, _) = self.places[index];
        let end = if sends { StreamEnd::Sender } else { StreamEnd::Receiver };
        let stream = u32::try_from(index).ok()?;
        let (senders, receivers) = (&self.shared.senders, &self.shared.receivers);
        let (_, at) = self.places[index];
        let counts = if sends { &senders.counts[at] } else { &receivers.counts[at] };
        sample_tcp(self.shared.clock, (stream, end), (self.socket(index), counts.way(end)), false)
    }

    /// What the kernel takes for the MTU of the path of stream `index`, bytes.
    pub fn path_mtu(&self, index: usize) -> Option<u32> {
        let mut bytes = [0; 512];
        let length = raw_tcp_info(self.socket(index), &mut bytes).ok()?;
        Some(u32::from_ne_bytes(bytes[..length].get(PMTU)?.try_into().ok()?))
    }

    /// Name of the congestion control of stream `index`; `None` for UDP.
    pub fn congestion_control(&self, index: usize) -> Option<String> {
        let name = self.socket(index).tcp_congestion().ok()?;
        Some(String::from_utf8_lossy(&name).trim_end_matches('\0').to_owned())
    }

    /// Own address and the peer's of stream `index`; `None` once it is closed.
    pub fn addresses(&self, index: usize) -> Option<[std::net::SocketAddr; 2]> {
        let socket = self.socket(index);
        Some([socket.local_addr().ok()?.as_socket()?, socket.peer_addr().ok()?.as_socket()?])
    }

    /// `SO_SNDBUF` and `SO_RCVBUF` of stream `index`, bytes.
    pub fn buffers(&self, index: usize) -> [u64; 2] {
        let socket = self.socket(index);
        [socket.send_buffer_size(), socket.recv_buffer_size()].map(|size| size.map_or(0, |size| size as u64))
    }

    fn socket(&self, index: usize) -> &Socket {
        let (sends, at) = self.places[index];
        if sends { &self.shared.senders.sockets[at] } else { &self.shared.receivers.sockets[at] }
    }

    /// Lets the senders stop once they have sent `bytes` together since they began.
    pub fn set_goal(&self, bytes: u64) {
        self.shared.goal.store(bytes, Ordering::Relaxed);
    }

    /// Payload that TCP has taken and that is not acknowledged yet, bytes.
    pub fn unacknowledged(&self) -> u64 {
        let senders = (0..self.len()).filter(|&index| self.sends(index));
        let samples = senders.filter_map(|index| self.sample(index));
        samples
            .map(|sample| sample.info.unacked_bytes + u64::from(sample.info.notsent_bytes.unwrap_or(0)))
            .sum()
    }

    /// Whether a sender has ended: it reached its goal, or its connection broke.
    pub fn has_sender_ended(&self) -> bool {
        self.senders.iter().any(JoinHandle::is_finished)
    }

    /// Whether a host has reported that no socket receives this end's datagrams (ICMP port unreachable).
    pub fn is_refused(&self) -> bool {
        self.shared.work.is_udp && self.shared.senders.sockets.iter().any(datagram::was_refused)
    }

    /// Whether a receiver has ended: all its streams were closed, or one of them broke.
    pub fn has_receiver_ended(&self) -> bool {
        self.receivers.iter().any(JoinHandle::is_finished)
    }

    /// The senders stop, within some 20 ms; nothing more is sent when this returns. What they have written goes on its way.
    pub fn stop_sending(&mut self) {
        self.shared.stop_senders.store(true, Ordering::Relaxed);
        let sent = joined(&mut self.senders);
        self.sent = std::mem::replace(&mut self.sent, Ok(())).and(sent);
    }

    /// The peer of each stream of TCP on which this end has sent reads an end after the data. Nothing more can be sent.
    pub fn end_of_data(&self) {
        if !self.shared.work.is_udp {
            // A connection that is gone needs no end.
            let _gone =
                self.shared.senders.sockets.iter().try_for_each(|socket| socket.shutdown(Shutdown::Write));
        }
    }

    /// What still comes stays in the sockets: their windows close, and the way back is free of acknowledgements.
    pub fn stop_reading(&self) {
        self.shared.stop_receivers.store(true, Ordering::Relaxed);
    }

    /// Everything stops. Returns the first error of a stream.
    ///
    /// # Errors
    /// A connection broke.
    pub fn finish(&mut self) -> io::Result<()> {
        self.stop_sending();
        self.stop_reading();
        let received = joined(&mut self.receivers);
        std::mem::replace(&mut self.sent, Ok(())).and(received)
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        // Who wants to know what broke has called it before.
        let _told = self.finish();
    }
}

impl Shared {
    fn header(&self) -> Header {
        if self.work.has_wide_counters { Header::Iperf3Wide } else { Header::Iperf3 }
    }

    fn send(&self, which: std::ops::Range<usize>) -> io::Result<()> {
        let sockets: Vec<&Socket> = self.senders.sockets[which.clone()].iter().collect();
        let counts = &self.senders.counts[which];
        let (clock, start, stop) = (self.clock, self.clock.now(), &self.stop_senders);
        let until = start.after(LONGEST);
        let goal = Some(Goal { bytes: &self.goal, of: &self.senders.counts });
        let Work { is_udp, length, bitrate, .. } = self.work;
        let sockets = &sockets;
        let sent: io::Result<LatenessMeter> = if is_udp {
            let schedule = Schedule::new(start, bitrate.unwrap_or(UNBOUNDED), length);
            let header = self.header();
            UdpSender { sockets, counts, clock, start, until, schedule, length, header, goal, stop }.run()
        } else {
            let writer = Writer::Blocking;
            TcpSender { sockets, counts, clock, start, until, bitrate, length, writer, goal, stop }.run()
        };
        sent.map(drop)
    }

    fn receive(&self, index: usize) -> io::Result<()> {
        let (clock, stop) = (self.clock, &self.stop_receivers);
        if self.work.is_udp {
            let (socket, counts) = (&self.receivers.sockets[index], &self.receivers.counts[index]);
            return UdpReceiver { socket, counts, clock, header: self.header(), stop }.run().map(drop);
        }
        let sockets: Vec<&Socket> = self.receivers.sockets.iter().collect();
        let (counts, start, read_rate) = (&self.receivers.counts, clock.now(), self.work.read_rate);
        TcpReceiver { sockets: &sockets, counts, clock, start, read_rate, discards: true, stop }.run()
    }
}

fn transit(counts: &StreamCounts) -> Option<(u64, i64)> {
    let at = counts.transit_at_ns.get();
    (at > 0).then(|| (at, counts.transit_ns.get().cast_signed()))
}

/// The first error of these threads.
fn joined(threads: &mut Vec<JoinHandle<io::Result<()>>>) -> io::Result<()> {
    let panicked = |_| Err(io::Error::other("a stream's thread panicked"));
    threads.drain(..).map(|thread| thread.join().unwrap_or_else(panicked)).fold(Ok(()), Result::and)
}

fn spawn_named<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    thread::Builder::new().name(name.to_owned()).stack_size(STACK).spawn(work)
}

/// CPU time of this process up to now, microseconds: user, system (getrusage(2)).
pub fn cpu_times_us() -> [u64; 2] {
    let micros = |time: nix::sys::time::TimeVal| {
        u64::try_from(time.tv_sec() * 1_000_000 + time.tv_usec()).unwrap_or(0)
    };
    getrusage(UsageWho::RUSAGE_SELF)
        .map_or([0; 2], |usage| [micros(usage.user_time()), micros(usage.system_time())])
}

#[cfg(test)]
mod tests;
