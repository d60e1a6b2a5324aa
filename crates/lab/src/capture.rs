//! Captures of a run: what leaves and arrives at each host's own interface, as tcpdump there sees it, straight to a file.
//!
//! Never: a packet that is missing and not counted. What the ring had no room for stands in the file and among the counters.

use crate::clock::{RunClock, realtime_ns};
use crate::environment;
use crate::frame::Frame;
use crate::namespace::Namespace;
use crate::netlink;
use crate::sys::packet::{Input, PacketSocket};
use crate::sys::received::Received;
use crate::topology::{HOST_INTERFACE, Topology};
use pipefill_capture::write::{About, Packet, PacketDirection, SNAP_LENGTH, Writer};
use pipefill_core::cell::CapturePackets;
use pipefill_core::record::Counter;
use pipefill_core::units::Seed;
use std::io::{self, BufWriter, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Names of the hosts, in the order of everything that has one for each.
pub(crate) const HOSTS: [&str; 2] = ["sender", "receiver"];
/// The ring is polled at this interval: arrivals do not wake the thread.
const EVERY: Duration = Duration::from_millis(2);
const BUFFER: usize = 1 << 18;

/// What is captured, and what the files' comments contain.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    /// The run's id.
    pub(crate) run: &'a str,
    pub(crate) seed: Seed,
    pub(crate) packets: CapturePackets,
    pub(crate) clock: RunClock,
}

/// A host's capture: it sees packets from here on.
pub(crate) struct Tap<'a> {
    subject: Subject<'a>,
    host: &'static str,
    socket: PacketSocket,
    file: Box<dyn Write + Send>,
}

/// How much a capture has.
#[derive(Debug, Clone)]
pub struct Count {
    /// `sender` or `receiver`.
    pub host: &'static str,
    /// Packets in the file.
    pub captured: u64,
    /// Packets that were seen, and for which there was no room.
    pub dropped: u64,
}

impl Count {
    /// As the manifest has it.
    pub(crate) fn counters(&self) -> [Counter; 2] {
        let counter = |name: &str, after| Counter {
            place: format!("{} capture", self.host),
            name: name.to_owned(),
            before: 0,
            after,
        };
        [counter("captured_packets", self.captured), counter("dropped_packets", self.dropped)]
    }
}

impl<'a> Tap<'a> {
    /// Opens a capture at each host, into its file of `files`.
    ///
    /// # Errors
    /// Those of sockets: `EPERM` without `CAP_NET_RAW`, `ENOMEM` where there is none for the ring.
    pub(crate) fn at_both(
        topology: &Topology,
        subject: Subject<'a>,
        files: [Box<dyn Write + Send>; 2],
    ) -> io::Result<[Self; 2]> {
        let [of_sender, of_receiver] = files;
        let open = |namespace: &Namespace, host, file| {
            let socket = namespace.enter(|| PacketSocket::tap(netlink::index_of(HOST_INTERFACE)?))?;
            Ok::<_, io::Error>(Self { subject, host, socket, file })
        };
        Ok([open(&topology.a, HOSTS[0], of_sender)?, open(&topology.b, HOSTS[1], of_receiver)?])
    }

    /// The host's name.
    pub(crate) fn host(&self) -> &'static str {
        self.host
    }

    /// Writes packets until `stop` is set, and then those that are still in the ring.
    ///
    /// # Errors
    /// Those of the file and the socket.
    pub(crate) fn run(self, stop: &AtomicBool) -> io::Result<Count> {
        let system = ["Linux".to_owned()].into_iter().chain(environment::kernel());
        let system = system.collect::<Vec<_>>().join(" ");
        let about = About {
            application: concat!("pipefill ", env!("CARGO_PKG_VERSION")),
            system: &system,
            run: self.subject.run,
            seed: self.subject.seed,
            host: self.host,
            zero_unix_ns: self.subject.clock.realtime_offset(),
            interface: HOST_INTERFACE,
            snap_length: SNAP_LENGTH,
        };
        let mut input = self.socket.input(0)?;
        let mut writer = Writer::begin(BufWriter::with_capacity(BUFFER, self.file), &about)?;
        loop {
            let is_last = stop.load(Ordering::Relaxed);
            while take(&mut input, &mut writer, self.subject.packets)? {}
            if is_last {
                break;
            }
            thread::sleep(EVERY);
        }
        let (captured, dropped) = (writer.packets(), self.socket.drops()?);
        writer.finish(realtime_ns(), dropped)?;
        Ok(Count { host: self.host, captured, dropped })
    }
}

/// Writes the next packet; false where there is none.
fn take<W: Write>(
    input: &mut Input<'_>,
    writer: &mut Writer<W>,
    packets: CapturePackets,
) -> io::Result<bool> {
    let mut written = Ok(());
    let is_there = input.next(|received| written = write(writer, received, packets))?;
    written.map(|()| is_there)
}

fn write<W: Write>(
    writer: &mut Writer<W>,
    received: Received<'_>,
    packets: CapturePackets,
) -> io::Result<()> {
    let unix_ns = received.realtime_ns;
    let way = if received.is_outgoing { PacketDirection::Outbound } else { PacketDirection::Inbound };
    if packets == CapturePackets::Kept {
        return writer.packet(&Packet { unix_ns, head: received.bytes(), length: received.len, way });
    }
    let frame = Frame::new(received);
    (0..frame.segments()).try_for_each(|index| {
        let segment = frame.outgoing(index, 1);
        writer.packet(&Packet {
            unix_ns,
            head: &segment.head[..segment.head_len],
            length: segment.len as u32,
            way,
        })
    })
}
