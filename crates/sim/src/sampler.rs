//! The telemetry: both ends of every stream and the path, at a fixed interval of virtual time.
//!
//! Never: a sample that disturbs; reading changes nothing.

use crate::engine::Engine;
use crate::stream::{Stream, TcpStream, Transport};
use pipefill_core::cell::Direction;
use pipefill_core::record::{DeliverySample, PathSample, StreamEnd, TcpSample, UdpSample};
use pipefill_core::units::Time;

/// The rows of a run.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    pub(crate) tcp: Vec<TcpSample>,
    pub(crate) delivery: Vec<DeliverySample>,
    pub(crate) udp: Vec<UdpSample>,
    pub(crate) path: Vec<PathSample>,
}

impl Samples {
    /// Reads everything.
    pub(crate) fn take(&mut self, engine: &Engine, now: Time) {
        for stream in &engine.streams {
            self.take_stream(stream, now);
        }
        for (name, direction) in [("forward", Direction::Forward), ("reverse", Direction::Reverse)] {
            let rows = engine.network.backlog(direction).into_iter().map(|backlog| PathSample {
                t_us: now.micros(),
                direction: name.to_owned(),
                element: backlog.element.to_owned(),
                backlog_packets: backlog.packets,
                backlog_bytes: backlog.bytes,
                dropped_packets: backlog.dropped_packets,
            });
            self.path.extend(rows);
        }
    }

    fn take_stream(&mut self, stream: &Stream, now: Time) {
        match &stream.transport {
            Transport::Tcp(tcp) => self.tcp.extend(both_ends(tcp, stream.number, now)),
            Transport::Udp(udp) => self.udp.push(udp.sample(now, stream.number)),
        }
        let (sent_bytes, received_bytes) = stream.bytes();
        let (t_us, stream) = (now.micros(), stream.number);
        self.delivery.push(DeliverySample { t_us, stream, sent_bytes, received_bytes });
    }
}

fn both_ends(tcp: &TcpStream, stream: u32, now: Time) -> [TcpSample; 2] {
    let t_us = now.micros();
    let (sender, receiver) = (&tcp.sender, &tcp.receiver);
    [
        TcpSample {
            t_us,
            stream,
            end: StreamEnd::Sender,
            info: sender.info(now),
            wmem_queued_bytes: Some(sender.wmem_queued()),
            sndbuf_bytes: Some(sender.queue.sndbuf),
            rmem_alloc_bytes: Some(0),
            rcvbuf_bytes: Some(sender.host.rmem[1]),
            raw: None,
        },
        TcpSample {
            t_us,
            stream,
            end: StreamEnd::Receiver,
            info: receiver.info(),
            wmem_queued_bytes: Some(0),
            sndbuf_bytes: Some(receiver.host.wmem[1]),
            rmem_alloc_bytes: Some(receiver.rmem_alloc),
            rcvbuf_bytes: Some(receiver.rcvbuf),
            raw: None,
        },
    ]
}
