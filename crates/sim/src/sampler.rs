//! The telemetry: both ends of every stream and the path, at a fixed interval of virtual time.

use crate::engine::Engine;
use crate::stream::{RECEIVER, SENDER, SimStream, TcpStream, Transport};
use pipefill_core::cell::Direction;
use pipefill_core::record::{
    AnyRow, DeliverySample, PathSample, Retransmit, Sink, SinkError, StreamEnd, TcpSample,
};
use pipefill_core::units::Time;

/// Reads everything and hands it to `sink`.
pub(crate) fn take(engine: &Engine, now: Time, sink: &mut dyn Sink) -> Result<(), SinkError> {
    for stream in &engine.streams {
        take_stream(stream, now, sink)?;
    }
    for direction in Direction::ALL {
        for backlog in engine.network.backlog(direction) {
            sink.push(AnyRow::Path(PathSample {
                t_us: now.micros(),
                direction,
                element: backlog.element,
                backlog_packets: backlog.packets,
                backlog_bytes: backlog.bytes,
                dropped_packets: backlog.dropped_packets,
            }))?;
        }
    }
    engine.network.aqm_samples(now).try_for_each(|row| sink.push(AnyRow::Aqm(row)))
}

/// Hands on the retransmits whose episodes have ended since the last call, and the round trips that pings have completed.
pub(crate) fn tell(engine: &mut Engine, sink: &mut dyn Sink) -> Result<(), SinkError> {
    for stream in &mut engine.streams {
        let number = stream.number;
        match &mut stream.transport {
            Transport::Tcp(tcp) => {
                // A row does not say which end it is of, and means the sender's.
                tcp.ends[RECEIVER].sender.trace.finished().for_each(drop);
                let mut rows =
                    tcp.ends[SENDER].sender.trace.finished().map(|row| Retransmit { stream: number, ..row });
                rows.try_for_each(|row| sink.push(AnyRow::Retransmit(row)))?;
            }
            Transport::Ping(ping) => ping.samples(number).try_for_each(|row| sink.push(AnyRow::Ping(row)))?,
            Transport::Udp(_) => {}
        }
    }
    Ok(())
}

/// Hands on the rest: what waited for the end of a recovery that did not end.
pub(crate) fn end(engine: &mut Engine, sink: &mut dyn Sink) -> Result<(), SinkError> {
    for stream in &mut engine.streams {
        if let Transport::Tcp(tcp) = &mut stream.transport {
            tcp.ends[SENDER].sender.trace.end();
        }
    }
    tell(engine, sink)
}

fn take_stream(stream: &SimStream, now: Time, sink: &mut dyn Sink) -> Result<(), SinkError> {
    match &stream.transport {
        Transport::Tcp(tcp) => {
            let ends = both_ends(tcp, stream.number, now);
            ends.into_iter().try_for_each(|row| sink.push(AnyRow::Tcp(row)))?;
        }
        // A ping tells of each round trip when it ends.
        Transport::Ping(_) => return Ok(()),
        Transport::Udp(udp) => sink.push(AnyRow::Udp(udp.sample(now, stream.number)))?,
    }
    let (sent_bytes, received_bytes) = stream.bytes();
    let (t_us, stream) = (now.micros(), stream.number);
    sink.push(AnyRow::Delivery(DeliverySample { t_us, stream, sent_bytes, received_bytes }))
}

fn both_ends(tcp: &TcpStream, stream: u32, now: Time) -> [TcpSample; 2] {
    [(SENDER, StreamEnd::Sender), (RECEIVER, StreamEnd::Receiver)].map(|(index, end)| {
        let socket = &tcp.ends[index];
        TcpSample {
            t_us: now.micros(),
            stream,
            end,
            info: tcp.info(index, now),
            wmem_queued_bytes: Some(socket.sender.wmem_queued()),
            sndbuf_bytes: Some(socket.sender.queue.sndbuf),
            rmem_alloc_bytes: Some(socket.receiver.rmem_alloc),
            rcvbuf_bytes: Some(socket.receiver.rcvbuf),
            raw: None,
        }
    })
}
