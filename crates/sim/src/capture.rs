//! Captures of a run: what tcpdump sees on each host's own interface, outgoing packets as the host hands them over, incoming ones as they
//! arrive.
//!
//! Never: an influence on the run. What a capture needs beside the packets comes from streams of the seed that are its own.

mod wire;

use crate::segment::{Body, Identity, Segment};
use pipefill_capture::write::{About, Packet, PacketDirection, SNAP_LENGTH, Writer, file_name};
use pipefill_core::address;
use pipefill_core::cell::{CapturePackets, Direction};
use pipefill_core::plan::Run;
use pipefill_core::problem::Problem;
use pipefill_core::record::Sink;
use pipefill_core::units::Time;
use pipefill_link::Packet as OnPath;
use std::fmt;
use std::io::{self, BufWriter, Write};
use wire::Wire;

/// Virtual time 0: 2026-01-01, 00:00 UTC, nanoseconds since the Unix epoch.
const ZERO_UNIX_NS: u64 = 1_767_225_600_000_000_000;

/// The captures of both hosts.
pub(crate) struct Capture {
    is_split: bool,
    streams: Vec<Wire>,
    /// The sender's, the receiver's.
    hosts: [Interface; 2],
}

/// One host's capture.
struct Interface {
    writer: Writer<BufWriter<Box<dyn Write + Send>>>,
    /// What may be the first part of a super-packet.
    held: Option<HostPacket>,
    /// What went wrong first.
    error: Option<io::Error>,
}

/// A packet, as the host sees it.
#[derive(Clone, Copy)]
struct HostPacket {
    at: Time,
    way: PacketDirection,
    /// The end of the stream that sent it.
    from: usize,
    gso_id: u64,
    segment: Segment,
}

impl Capture {
    /// Of `run`, whose streams are `streams`; `None` where none is asked for.
    ///
    /// # Errors
    /// Those of `sink`, and of what it gives.
    pub(crate) fn begin(
        run: &Run,
        streams: impl Iterator<Item = Identity>,
        sink: &mut dyn Sink,
    ) -> Result<Option<Box<Self>>, Problem> {
        let spec = &run.cell.spec;
        if !spec.run.capture {
            return Ok(None);
        }
        let mut interface = |host| {
            let file = BufWriter::with_capacity(1 << 18, sink.artifact(&file_name(host))?);
            let about = About {
                application: concat!("pipefill ", env!("CARGO_PKG_VERSION")),
                system: "simulated Linux 6.12",
                run: &run.id,
                seed: run.seed,
                host,
                zero_unix_ns: ZERO_UNIX_NS,
                interface: address::INTERFACE,
                snap_length: SNAP_LENGTH,
            };
            let writer = Writer::begin(file, &about).map_err(|error| failed(&error))?;
            Ok::<_, Problem>(Interface { writer, held: None, error: None })
        };
        let hosts = [interface("sender")?, interface("receiver")?];
        let streams = streams.map(|stream| Wire::new(run, &stream)).collect();
        let is_split = spec.run.capture_packets == CapturePackets::Split;
        Ok(Some(Box::new(Self { is_split, streams, hosts })))
    }

    /// A host hands `packet` over to the path in this direction.
    pub(crate) fn leaves(&mut self, now: Time, direction: Direction, packet: &mut OnPath<Segment>) {
        let segment = &mut packet.payload;
        let Some(wire) = self.streams.get_mut(segment.stream as usize) else { return };
        let from = wire.end_of(direction);
        segment.id = wire.identify(from, &segment.body);
        let joins = matches!(segment.body, Body::Data(_));
        let seen = HostPacket {
            at: now,
            way: PacketDirection::Outbound,
            from,
            gso_id: packet.gso_id,
            segment: *segment,
        };
        self.note(direction, seen, joins);
    }

    /// `packet` reaches the other host.
    pub(crate) fn arrives(&mut self, now: Time, direction: Direction, packet: &OnPath<Segment>) {
        let segment = packet.payload;
        let Some(wire) = self.streams.get(segment.stream as usize) else { return };
        let from = wire.end_of(direction);
        let joins = wire.joins[1 - from] && matches!(segment.body, Body::Data(_));
        let seen =
            HostPacket { at: now, way: PacketDirection::Inbound, from, gso_id: packet.gso_id, segment };
        self.note(direction.opposite(), seen, joins);
    }

    /// Ends both files.
    ///
    /// # Errors
    /// What could not be written.
    pub(crate) fn end(self, now: Time) -> Result<(), Problem> {
        let Self { hosts, streams, .. } = self;
        for mut host in hosts {
            host.let_go(&streams);
            let ended = match host.error {
                None => host.writer.finish(unix_ns(now), 0),
                Some(error) => Err(error),
            };
            ended.map_err(|error| failed(&error))?;
        }
        Ok(())
    }

    /// At the host that sends in this direction.
    fn note(&mut self, direction: Direction, seen: HostPacket, joins: bool) {
        let host = match direction {
            Direction::Forward => &mut self.hosts[0],
            Direction::Reverse => &mut self.hosts[1],
        };
        if joins && !self.is_split && host.held.as_mut().is_some_and(|held| held.takes(&seen)) {
            return;
        }
        host.let_go(&self.streams);
        host.held = Some(seen);
    }
}

impl HostPacket {
    /// Whether `next` is more of the same super-packet, which this one is then a part of.
    fn takes(&mut self, next: &Self) -> bool {
        let is_same = (self.at, self.way, self.gso_id) == (next.at, next.way, next.gso_id);
        match (&mut self.segment.body, &next.segment.body) {
            (Body::Data(first), Body::Data(next)) if is_same => first.join(next),
            _ => false,
        }
    }
}

impl Interface {
    /// Writes what is held.
    fn let_go(&mut self, streams: &[Wire]) {
        let Some(seen) = self.held.take() else { return };
        let Some(wire) = streams.get(seen.segment.stream as usize) else { return };
        let headers = wire.headers(seen.from, &seen.segment);
        let packet = Packet {
            unix_ns: unix_ns(seen.at),
            head: headers.bytes(),
            length: headers.length(),
            way: seen.way,
        };
        if self.error.is_none() {
            self.error = self.writer.packet(&packet).err();
        }
    }
}

impl fmt::Debug for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capture").field("is_split", &self.is_split).finish_non_exhaustive()
    }
}

fn unix_ns(at: Time) -> u64 {
    ZERO_UNIX_NS.saturating_add(at.nanos())
}

fn failed(error: &io::Error) -> Problem {
    Problem::broken(format!("writing a capture: {error}"))
}
