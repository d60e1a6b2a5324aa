//! Ping applications: one that sends a request at a time and measures its round trip, one that answers.
//!
//! A request begins with 24 bytes in network order: a magic word and zeros (4 + 4), its number (8), and how long the reply is to
//! be (8); the reply begins with the same. Round trips are taken by the run's clock around the system calls: what waking
//! the two processes costs is part of them, and part of the fitted base. Never: two requests under way.

use super::counts::StreamCounts;
use super::tcp::wait_until;
use crate::clock::RunClock;
use crate::lateness::LatenessMeter;
use crate::rows::Rows;
use crate::sys::thread::without_timer_slack;
use pipefill_core::cell::PingSpec;
use pipefill_core::record::{AnyRow, PingSample};
use pipefill_core::traffic::ping::{Exchange, SHORT_REPLY, exchange};
use pipefill_core::units::Time;
use socket2::Socket;
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const MAGIC: u32 = 0x7066_7069;
/// How often a waiting end looks whether it is to stop.
const STOP_CHECK: Duration = Duration::from_millis(20);
/// More than a datagram holds.
const BUFFER: usize = 1 << 16;
const HEADER: usize = SHORT_REPLY.get() as usize;

/// The end that asks.
pub(crate) struct Pinger<'a> {
    pub(crate) socket: &'a Socket,
    pub(crate) counts: &'a StreamCounts,
    pub(crate) clock: RunClock,
    pub(crate) start: Time,
    pub(crate) until: Time,
    pub(crate) spec: &'a PingSpec,
    pub(crate) patience: Duration,
    pub(crate) stream: u32,
    pub(crate) rows: &'a Rows,
    pub(crate) stop: &'a AtomicBool,
}

impl Pinger<'_> {
    /// Asks from `start` to `until`. Nothing here has a schedule that could be missed: the lateness stays empty.
    pub(crate) fn run(&self) -> io::Result<LatenessMeter> {
        without_timer_slack();
        self.socket.set_read_timeout(Some(STOP_CHECK))?;
        let mut buffer = vec![0_u8; BUFFER];
        if wait_until(self.clock, self.start, self.stop) {
            self.counts.started_ns.set(self.clock.now().nanos().max(1));
            for number in 0.. {
                if self.clock.now() >= self.until || !self.ask(number, &mut buffer)? {
                    break;
                }
            }
        }
        Ok(LatenessMeter::new())
    }

    /// One exchange and the pause after it; false where it was told to stop.
    fn ask(&self, number: u64, buffer: &mut [u8]) -> io::Result<bool> {
        let Exchange { payload, reply } = exchange(self.spec, number);
        let request = vec![0_u8; usize::try_from(payload.get()).unwrap_or(HEADER)];
        let request = with_header(request, number, reply.get());
        let sent = self.clock.now();
        self.socket.send(&request)?;
        self.counts.sent.add(1);
        self.counts.sent_bytes.add(payload.get());
        let Some(answered) = self.answer(number, sent.after(self.patience), buffer)? else {
            return Ok(false);
        };
        if let Some(at) = answered {
            self.counts.received_bytes.add(payload.get());
            self.counts.last_received_ns.set(at.nanos());
        }
        let row = PingSample {
            t_us: sent.micros(),
            stream: self.stream,
            number,
            payload_bytes: payload.get(),
            reply_bytes: reply.get(),
            rtt_ns: answered.map(|at| u64::try_from(at.since(sent).as_nanos()).unwrap_or(u64::MAX)),
        };
        if self.rows.send(AnyRow::Ping(row)).is_err() {
            return Ok(false);
        }
        Ok(wait_until(self.clock, self.clock.now().after(self.spec.interval), self.stop))
    }

    /// When the reply came: `Some(None)` where it did not in time, `None` where the wait was stopped.
    fn answer(&self, number: u64, deadline: Time, buffer: &mut [u8]) -> io::Result<Option<Option<Time>>> {
        while self.clock.now() < deadline {
            if let Some((_, head)) = receive(self.socket, buffer)?
                && head.number == number
            {
                return Ok(Some(Some(self.clock.now())));
            }
            if self.stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
        }
        Ok(Some(None))
    }
}

/// The end that answers.
pub(crate) struct Echo<'a> {
    pub(crate) socket: &'a Socket,
    pub(crate) stop: &'a AtomicBool,
}

impl Echo<'_> {
    /// Answers until it is told to stop.
    pub(crate) fn run(&self) -> io::Result<()> {
        self.socket.set_read_timeout(Some(STOP_CHECK))?;
        let mut buffer = vec![0_u8; BUFFER];
        while !self.stop.load(Ordering::Relaxed) {
            if let Some((length, head)) = receive(self.socket, &mut buffer)? {
                self.socket.send(&buffer[..head.reply.clamp(HEADER, length)])?;
            }
        }
        Ok(())
    }
}

/// What stands at the beginning of a datagram.
struct Head {
    number: u64,
    reply: usize,
}

fn with_header(mut buffer: Vec<u8>, number: u64, reply: u64) -> Vec<u8> {
    buffer.resize(buffer.len().max(HEADER), 0);
    buffer[0..4].copy_from_slice(&MAGIC.to_be_bytes());
    buffer[8..16].copy_from_slice(&number.to_be_bytes());
    buffer[16..24].copy_from_slice(&reply.to_be_bytes());
    buffer
}

/// The next datagram's length and head; `None` where none came for a while, or a foreign one.
fn receive(mut socket: &Socket, buffer: &mut [u8]) -> io::Result<Option<(usize, Head)>> {
    match socket.read(buffer) {
        Ok(length) => Ok(head(&buffer[..length]).map(|head| (length, head))),
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn head(datagram: &[u8]) -> Option<Head> {
    let word = |at: usize| Some(u64::from_be_bytes(datagram.get(at..at + 8)?.try_into().ok()?));
    let magic = u32::from_be_bytes(datagram.get(0..4)?.try_into().ok()?);
    (magic == MAGIC).then_some(())?;
    Some(Head { number: word(8)?, reply: usize::try_from(word(16)?).ok()? })
}
