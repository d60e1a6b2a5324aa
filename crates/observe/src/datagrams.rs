//! The datagrams on a path that this program emulates: what the path counts of each flow, and what the receiving sockets drop.

use crate::processes::Processes;
use crate::tracker::micros;
use pipefill_analysis::findings::connections::PathDatagrams;
use pipefill_capture::udp::QuicVersion;
use pipefill_core::cell::Direction;
use pipefill_core::problem::Problem;
use pipefill_core::record::{BufferLimits, DatagramSample, Observed, PathFacts, Process};
use pipefill_lab::counters::UdpCounters;
use pipefill_lab::program::{DatagramFlow, DatagramFlows, ProgramPath};
use pipefill_lab::sock_diag::{SockDiag, UdpSocket};
use pipefill_lab::sysctl::buffer_limits;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// From one reading to the next.
const EVERY: Duration = Duration::from_millis(50);
/// Readings of a flow that are kept: beyond that every second one goes, for they are cumulative.
const SAMPLES_MAX: usize = 2_000;
/// Packets of a flow from which on the owner of its socket is looked for.
const WORTH_A_LOOK: u64 = 10;

/// Reads the path and the UDP sockets of both ends.
pub struct DatagramWatcher<'a> {
    path: &'a ProgramPath<'a>,
    facts: PathFacts,
    /// The near one, the far one.
    ends: [End; 2],
    flows: BTreeMap<FlowKey, Followed>,
    other_packets: u64,
    processes: Processes,
    began: Instant,
    next: Instant,
}

/// A host.
struct End {
    diag: SockDiag,
    /// Absent where the kernel's counters can't be read.
    counters: Option<UdpCounters>,
    buffers: Option<BufferLimits>,
    sockets: Vec<UdpSocket>,
    /// Drops of each socket at the last reading, by cookie.
    drops: HashMap<u64, u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct FlowKey {
    /// Whether the near end sends it.
    sends: bool,
    source: SocketAddr,
    destination: SocketAddr,
}

struct Followed {
    first_us: u64,
    last_us: u64,
    quic: Option<String>,
    process: Option<Process>,
    samples: Vec<DatagramSample>,
}

impl<'a> DatagramWatcher<'a> {
    /// Of `path`, for which `facts` were asked; forward leads to the far end.
    ///
    /// # Errors
    /// [`Problem`] where the kernel does not let us ask for sockets.
    pub fn open(path: &'a ProgramPath<'a>, facts: PathFacts) -> Result<Self, Problem> {
        let end = |file: PathBuf| {
            Ok::<_, Problem>(End {
                diag: SockDiag::connect_in(&file).map_err(|error| no_udp_diag(&error))?,
                counters: UdpCounters::open(&file).ok(),
                buffers: buffer_limits(Some(&file)),
                sockets: Vec::new(),
                drops: HashMap::new(),
            })
        };
        let ends = [end(path.client_namespace())?, end(path.server_namespace())?];
        let now = Instant::now();
        Ok(Self {
            path,
            facts,
            ends,
            flows: BTreeMap::new(),
            other_packets: 0,
            processes: Processes::default(),
            began: now,
            next: now,
        })
    }

    /// Reads where it is time to.
    ///
    /// # Errors
    /// The kernel does not answer any more.
    pub fn look_if_due(&mut self) -> Result<(), Problem> {
        let now = Instant::now();
        if now < self.next {
            return Ok(());
        }
        self.next = now + EVERY;
        self.look()
    }

    fn look(&mut self) -> Result<(), Problem> {
        let (now, ways) = self.path.datagrams();
        if ways.iter().all(|way| way.flows.is_empty()) {
            return Ok(());
        }
        for end in &mut self.ends {
            end.sockets.clear();
            let End { diag, sockets, .. } = end;
            diag.dump_udp(|socket| sockets.push(*socket)).map_err(|error| no_udp_diag(&error))?;
        }
        let t_us = micros(self.began.elapsed());
        self.other_packets = ways.iter().map(|way| way.other_packets).sum();
        for (direction, way) in Direction::ALL.into_iter().zip(&ways) {
            let ago = |time| t_us.saturating_sub(micros(now.since(time)));
            for flow in &way.flows {
                let key = FlowKey::of(direction, flow);
                let followed = self.flows.entry(key).or_insert_with(|| Followed::since(ago(flow.first)));
                followed.last_us = ago(flow.last).max(followed.first_us);
                followed.quic = flow.quic.map(QuicVersion::name).or(followed.quic.take());
            }
            self.take(direction, way, t_us);
        }
        self.find_processes();
        Ok(())
    }

    /// Takes a reading of each flow of `direction` on which something happened.
    fn take(&mut self, direction: Direction, way: &DatagramFlows, t_us: u64) {
        let receiving = &mut self.ends[usize::from(direction == Direction::Forward)];
        let samples: Vec<(FlowKey, DatagramSample, Option<UdpSocket>)> = way
            .flows
            .iter()
            .map(|flow| {
                let socket = receiver(&receiving.sockets, flow.source, flow.destination).copied();
                (FlowKey::of(direction, flow), DatagramSample { t_us, ..flow.counts }, socket)
            })
            .collect();
        let arrived = |flows: &BTreeMap<FlowKey, Followed>, key: &FlowKey, sample: &DatagramSample| {
            let before = flows.get(key).and_then(|followed| followed.samples.last());
            sample.delivered_packets - before.map_or(0, |before| before.delivered_packets)
        };
        let mut arrived_at: HashMap<u64, u64> = HashMap::new();
        for (key, sample, socket) in &samples {
            if let Some(socket) = socket {
                *arrived_at.entry(socket.cookie).or_default() += arrived(&self.flows, key, sample);
            }
        }
        for (key, mut sample, socket) in samples {
            let arrived = arrived(&self.flows, &key, &sample);
            let Some(followed) = self.flows.get_mut(&key) else { continue };
            sample.socket_drops = followed.samples.last().and_then(|before| before.socket_drops);
            if let Some((socket, memory)) = socket.and_then(|socket| Some((socket, socket.memory?))) {
                let before = receiving.drops.get(&socket.cookie).copied().unwrap_or(0);
                let new = u64::from(memory.drops.wrapping_sub(before));
                let all = arrived_at.get(&socket.cookie).copied().unwrap_or(0);
                let own = (new * arrived).checked_div(all).unwrap_or(0);
                sample.socket_drops = Some(sample.socket_drops.unwrap_or(0) + own);
                sample.unread_bytes = Some(memory.rmem_alloc.into());
                sample.rcvbuf_bytes = Some(memory.rcvbuf.into());
            }
            followed.push(sample);
        }
        for socket in &receiving.sockets {
            // Drops at a socket to which nothing came count when something does.
            if arrived_at.get(&socket.cookie).is_some_and(|&packets| packets > 0)
                && let Some(memory) = socket.memory
            {
                receiving.drops.insert(socket.cookie, memory.drops);
            }
        }
    }

    /// Once a socket has closed, nothing shows whose it was.
    fn find_processes(&mut self) {
        let near = &self.ends[0].sockets;
        let nameless = self.flows.iter_mut().filter(|(_, followed)| {
            followed.process.is_none()
                && followed.samples.last().is_some_and(|sample| sample.offered_packets >= WORTH_A_LOOK)
        });
        for (key, followed) in nameless {
            let (own, peer) =
                if key.sends { (key.source, key.destination) } else { (key.destination, key.source) };
            let Some(socket) = receiver(near, peer, own) else { continue };
            self.processes.find(std::iter::once(socket.inode), std::iter::empty());
            followed.process = self.processes.of(socket.inode).map(|process| (**process).clone());
        }
    }

    /// Takes the last reading. Returns each flow, sorted by what it offered, the most first.
    ///
    /// # Errors
    /// The kernel does not answer any more.
    pub fn finish(mut self) -> Result<FoundDatagrams, Problem> {
        self.look()?;
        self.add_unseen_drops();
        let counted = |place, end: &End| {
            let counters = end.counters.as_ref().map(|counters| counters.so_far(place));
            counters.unwrap_or_default()
        };
        let [near, far] = &self.ends;
        let counters = |sends| {
            let [sender, receiver] = if sends { [near, far] } else { [far, near] };
            [counted("sender nstat", sender), counted("receiver nstat", receiver)].concat()
        };
        let [sent_counters, received_counters] = [true, false].map(counters);
        let quic = |key: &FlowKey| {
            let back = FlowKey { sends: !key.sends, source: key.destination, destination: key.source };
            [key, &back].into_iter().find_map(|key| self.flows.get(key)?.quic.clone())
        };
        let flow = |(key, followed): (&FlowKey, &Followed)| {
            let (local, remote) =
                if key.sends { (key.source, key.destination) } else { (key.destination, key.source) };
            PathDatagrams {
                observed: Observed {
                    process: followed.process.clone(),
                    local: local.to_string(),
                    remote: remote.to_string(),
                    emulated: self.facts.clone(),
                    local_buffers: self.ends[0].buffers,
                    remote_buffers: self.ends[1].buffers,
                    quic: quic(key),
                    ..Observed::default()
                },
                sends: key.sends,
                every: EVERY,
                first_us: followed.first_us,
                last_us: followed.last_us,
                samples: followed.samples.clone(),
                counters: if key.sends { sent_counters.clone() } else { received_counters.clone() },
            }
        };
        let mut flows: Vec<PathDatagrams> = self.flows.iter().map(flow).collect();
        flows.sort_by_key(|flow| std::cmp::Reverse(flow.counted().offered_bytes));
        let near = self.ends[0].counters.as_ref().filter(|_| !self.path.has_data_path());
        let other_packets = near.map_or(self.other_packets, UdpCounters::datagrams);
        Ok(FoundDatagrams { began: self.began, flows, other_packets })
    }

    /// A socket that closes takes its drops since the last reading with it; the host still counts them.
    fn add_unseen_drops(&mut self) {
        for (sends, end) in [(true, &self.ends[1]), (false, &self.ends[0])] {
            let Some(counters) = &end.counters else { continue };
            let mut last: Vec<&mut DatagramSample> = self
                .flows
                .iter_mut()
                .filter(|(key, _)| key.sends == sends)
                .filter_map(|(_, followed)| followed.samples.last_mut())
                .collect();
            let seen: u64 = last.iter().filter_map(|sample| sample.socket_drops).sum();
            let all: u64 = last.iter().map(|sample| sample.delivered_packets).sum();
            let unseen = counters.receive_buffer_errors().saturating_sub(seen);
            for sample in last.iter_mut().filter(|_| unseen > 0) {
                let own = (unseen * sample.delivered_packets).checked_div(all).unwrap_or(0);
                let drops = sample.socket_drops.unwrap_or(0) + own;
                sample.socket_drops = Some(drops.min(sample.delivered_packets));
            }
        }
    }
}

impl fmt::Debug for DatagramWatcher<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DatagramWatcher").field("flows", &self.flows.len()).finish_non_exhaustive()
    }
}

/// What was found on the path.
#[derive(Debug)]
pub struct FoundDatagrams {
    /// When the time of the samples began.
    pub began: Instant,
    /// Each flow.
    pub flows: Vec<PathDatagrams>,
    /// Packets of flows beyond those that are counted one by one; where there is no data path, datagrams of the near host.
    pub other_packets: u64,
}

impl FlowKey {
    fn of(direction: Direction, flow: &DatagramFlow) -> Self {
        Self { sends: direction == Direction::Forward, source: flow.source, destination: flow.destination }
    }
}

impl Followed {
    const fn since(first_us: u64) -> Self {
        Self { first_us, last_us: first_us, quic: None, process: None, samples: Vec::new() }
    }

    fn push(&mut self, sample: DatagramSample) {
        let is_same = |last: &DatagramSample| DatagramSample { t_us: sample.t_us, ..*last } == sample;
        if self.samples.last().is_some_and(is_same) {
            return;
        }
        self.samples.push(sample);
        if self.samples.len() > SAMPLES_MAX {
            let mut number = 0;
            self.samples.retain(|_| {
                number += 1;
                number % 2 == 1
            });
        }
    }
}

/// The socket that takes datagrams from `source` to `destination`: the connected one before one that takes them from anybody.
fn receiver(sockets: &[UdpSocket], source: SocketAddr, destination: SocketAddr) -> Option<&UdpSocket> {
    let takes = |socket: &&UdpSocket| {
        let ip = socket.local.ip();
        socket.local.port() == destination.port() && (ip == destination.ip() || ip.is_unspecified())
    };
    let its = || sockets.iter().filter(takes);
    its().find(|socket| socket.remote == source).or_else(|| its().find(|socket| socket.remote.port() == 0))
}

/// The kernel does not list UDP sockets.
pub(crate) fn no_udp_diag(error: &io::Error) -> Problem {
    Problem::machine(
        format!("the kernel does not list UDP sockets: {error}"),
        "a kernel with CONFIG_INET_UDP_DIAG (modprobe udp_diag), outside of a sandbox",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn socket(local: &str, remote: &str) -> UdpSocket {
        let [local, remote] = [local, remote].map(|end| end.parse().unwrap());
        UdpSocket { cookie: 1, local, remote, inode: 1, receive_queue: 0, send_queue: 0, memory: None }
    }

    #[test]
    fn a_connected_socket_takes_its_peers_datagrams_and_an_open_one_the_rest() {
        let sockets = [
            socket("[::]:5201", "[::]:0"),
            socket("10.77.0.2:5201", "10.77.0.1:4000"),
            socket("10.77.0.3:5201", "10.77.0.1:4001"),
        ];
        let of = |source: &str, destination: &str| {
            receiver(&sockets, source.parse().unwrap(), destination.parse().unwrap())
                .map(|it| it.local.to_string())
        };
        assert_eq!(of("10.77.0.1:4000", "10.77.0.2:5201").as_deref(), Some("10.77.0.2:5201"));
        assert_eq!(of("10.77.0.1:4001", "10.77.0.2:5201").as_deref(), Some("[::]:5201"));
        assert_eq!(of("10.77.0.1:4000", "10.77.0.2:5202"), None);
    }

    #[test]
    fn what_is_kept_of_a_flow_is_bounded_and_its_last_reading_stays() {
        let mut followed = Followed::since(0);
        for number in 1..=10 * SAMPLES_MAX as u64 {
            followed.push(DatagramSample {
                t_us: number,
                offered_packets: number,
                ..DatagramSample::default()
            });
        }
        let last = followed.samples.last().copied();
        followed.push(DatagramSample { t_us: 99_999_999, ..last.unwrap() });
        assert!(followed.samples.len() <= SAMPLES_MAX, "{}", followed.samples.len());
        assert_eq!(followed.samples.last().copied(), last, "nothing happened since");
        assert!(followed.samples.is_sorted_by_key(|sample| sample.t_us));
    }
}
