//! The programs of TCP streams whose ends wait for each other: they write and read as the state machines of `core` say.

use super::counts::StreamCounts;
use super::tcp::{READ_SIZE, STOP_CHECK, taken, wait_until};
use crate::clock::RunClock;
use crate::lateness::LatenessMeter;
use crate::sys::thread::without_timer_slack;
use crate::wait::until_any;
use nix::poll::PollFlags;
use pipefill_core::record::StreamEnd;
use pipefill_core::traffic::application::{End, WRITE_MAX};
use pipefill_core::units::Time;
use socket2::Socket;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// One end of all streams of a flow.
pub(crate) struct Programs<'a> {
    pub(crate) sockets: &'a [&'a Socket],
    pub(crate) counts: &'a [StreamCounts],
    /// Whose sockets these are.
    pub(crate) side: StreamEnd,
    pub(crate) clock: RunClock,
    pub(crate) start: Time,
    /// From then on nothing more is written.
    pub(crate) until: Time,
    pub(crate) stop: &'a AtomicBool,
}

/// A program and what is known of its socket.
struct Stream {
    end: End,
    is_open: bool,
    is_writable: bool,
    /// The socket had no room since the program last had nothing to write: what is late now is late because of TCP, not because of the timer.
    was_held: bool,
}

impl Programs<'_> {
    /// Runs a program like `end` at each socket: the sender's until `until`, the receiver's until `stop` is set. Returns how late what they
    /// write by the clock was.
    pub(crate) fn run(&self, end: &End) -> io::Result<LatenessMeter> {
        without_timer_slack();
        let mut lateness = LatenessMeter::new();
        if !wait_until(self.clock, self.start, self.stop) {
            return Ok(lateness);
        }
        let zeros = vec![0_u8; usize::try_from(WRITE_MAX.get()).unwrap_or(1)];
        let mut buffer = vec![MaybeUninit::uninit(); READ_SIZE];
        let stream = || Stream { end: end.clone(), is_open: true, is_writable: true, was_held: false };
        let mut streams: Vec<Stream> = self.sockets.iter().map(|_| stream()).collect();
        if self.side == StreamEnd::Sender {
            let now = self.clock.now().nanos().max(1);
            self.counts.iter().for_each(|counts| counts.started_ns.set(now));
        }
        while !self.is_over() {
            let mut has_read = false;
            for (i, stream) in streams.iter_mut().enumerate() {
                has_read |= self.read(i, stream, &mut buffer)?;
                self.write(i, stream, &zeros, &mut lateness)?;
            }
            if !has_read {
                self.wait(&mut streams)?;
            }
        }
        Ok(lateness)
    }

    /// Whether there is nothing left to do: a receiver reads on when nothing more is written.
    fn is_over(&self) -> bool {
        let is_ended = self.side == StreamEnd::Sender && self.clock.now() >= self.until;
        is_ended || self.stop.load(Ordering::Relaxed)
    }

    /// Reads once; false where nothing was there.
    fn read(&self, i: usize, stream: &mut Stream, buffer: &mut [MaybeUninit<u8>]) -> io::Result<bool> {
        if !stream.is_open {
            return Ok(false);
        }
        let most = usize::try_from(stream.end.read_max()).unwrap_or(buffer.len()).min(buffer.len());
        let Some(bytes) = taken(self.sockets[i].recv(&mut buffer[..most]))? else { return Ok(false) };
        let now = self.clock.now();
        stream.is_open = bytes > 0;
        stream.end.read(now, bytes);
        if self.side == StreamEnd::Receiver && bytes > 0 {
            self.counts[i].received_bytes.add(bytes);
            self.counts[i].last_received_ns.set(now.nanos());
        }
        Ok(stream.is_open)
    }

    /// Writes all that the program has to write now, as far as the socket takes it.
    fn write(
        &self,
        i: usize,
        stream: &mut Stream,
        zeros: &[u8],
        lateness: &mut LatenessMeter,
    ) -> io::Result<()> {
        while stream.is_writable {
            let now = self.clock.now();
            let pending = stream.end.pending(now);
            if pending == 0 || now >= self.until {
                stream.was_held = false;
                return Ok(());
            }
            if let Some(due) = stream.end.next_due().filter(|_| stream.end.is_timed() && !stream.was_held) {
                lateness.record(now.since(due));
            }
            let size = usize::try_from(pending).unwrap_or(zeros.len()).min(zeros.len());
            let Some(bytes) = taken(self.sockets[i].send(&zeros[..size]))? else {
                stream.is_writable = false;
                stream.was_held = true;
                return Ok(());
            };
            stream.end.wrote(bytes);
            if self.side == StreamEnd::Sender {
                self.counts[i].sent_bytes.add(bytes);
            }
        }
        Ok(())
    }

    /// Waits until something can be read, a socket without room has some, or a program acts by the clock; [`STOP_CHECK`] at most.
    fn wait(&self, streams: &mut [Stream]) -> io::Result<()> {
        let now = self.clock.now();
        let timed =
            streams.iter().filter(|stream| stream.is_writable).filter_map(|stream| stream.end.next_due());
        let next = timed.filter(|_| now < self.until).min().unwrap_or(Time::MAX);
        let wanted = |stream: &Stream| {
            let mut events = PollFlags::empty();
            events.set(PollFlags::POLLIN, stream.is_open);
            events.set(PollFlags::POLLOUT, !stream.is_writable);
            events
        };
        let sockets =
            self.sockets.iter().zip(streams.iter()).map(|(socket, stream)| (socket.as_fd(), wanted(stream)));
        let ready = until_any(sockets, next.since(now).min(STOP_CHECK))?;
        for (stream, events) in streams.iter_mut().zip(ready) {
            stream.is_writable |= events.contains(PollFlags::POLLOUT);
        }
        Ok(())
    }
}
