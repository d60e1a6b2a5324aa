//! TCP applications: one that offers bytes (as fast as the socket takes them, or at a fixed rate) and one that reads them
//! (as fast as they come, or at a fixed rate). What waits for the other end is in `application`.

use super::awake::Awake;
use super::counts::{Goal, StreamCounts};
use super::moderation::Moderation;
use crate::clock::RunClock;
use crate::lateness::LatenessMeter;
use crate::wait::until_ready;
use nix::poll::PollFlags;
use pipefill_core::cell::Writer;
use pipefill_core::record::StreamEnd;
use pipefill_core::traffic::pacing::Schedule;
use pipefill_core::units::{Bytes, Rate, Time};
use socket2::Socket;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often a waiting application looks at the stop flag.
pub(super) const STOP_CHECK: Duration = Duration::from_millis(20);
/// What one read takes at most.
pub(super) const READ_SIZE: usize = 256 << 10;
/// The same where nothing is copied.
const DISCARD_SIZE: usize = 1 << 20;
/// A reader that lets data wait is woken after so long without enough of it.
const QUIET: Duration = Duration::from_millis(1);
/// A paced reader looks this often.
const READ_TICK: Duration = Duration::from_millis(1);
/// A paced writer hands over what this span is worth in one write, but no less than a full segment.
const WRITE_TICK: Duration = Duration::from_millis(1);
const SMALLEST_WRITE: u64 = 1448;

/// The sending application of a flow.
pub(crate) struct TcpSender<'a> {
    pub(crate) sockets: &'a [&'a Socket],
    pub(crate) counts: &'a [StreamCounts],
    pub(crate) clock: RunClock,
    pub(crate) start: Time,
    pub(crate) until: Time,
    pub(crate) bitrate: Option<Rate>,
    pub(crate) length: Bytes,
    pub(crate) writer: Writer,
    /// Where there is one, the sender stops when it is reached.
    pub(crate) goal: Option<Goal<'a>>,
    pub(crate) stop: &'a AtomicBool,
}

impl TcpSender<'_> {
    /// Offers data from `start` to `until`; returns how late paced writes were.
    pub(crate) fn run(&self) -> io::Result<LatenessMeter> {
        let mut lateness = LatenessMeter::new();
        if !wait_until(self.clock, self.start, self.stop) {
            return Ok(lateness);
        }
        for counts in self.counts {
            counts.started_ns.set(self.clock.now().nanos().max(1));
        }
        match self.bitrate {
            None => self.run_bulk()?,
            Some(rate) => self.run_paced(rate, &mut lateness)?,
        }
        Ok(lateness)
    }

    /// Writes until a socket refuses, and again once the kernel says that a good part of its buffer is free, as any program
    /// does that waits for `POLLOUT` (`sk_stream_is_writeable()`). Trying before would fill the buffer more than programs do. A writer
    /// that writes once asks for `POLLOUT` after every write.
    fn run_bulk(&self) -> io::Result<()> {
        let zeros = vec![0_u8; usize::try_from(self.length.get()).unwrap_or(128 << 10)];
        let mut writable = vec![true; self.sockets.len()];
        while !self.is_over() {
            for ((socket, counts), writable) in self.sockets.iter().zip(self.counts).zip(&mut writable) {
                if !*writable || self.has_reached_goal() {
                    continue;
                }
                match taken(socket.send(&zeros))? {
                    Some(bytes) => {
                        counts.sent_bytes.add(bytes);
                        counts.way(StreamEnd::Sender).where_asked();
                        *writable = self.writer == Writer::Blocking;
                    }
                    None => *writable = false,
                }
            }
            if writable.contains(&false) {
                let busy = writable.contains(&true);
                let span = if busy { Duration::ZERO } else { self.until.since(self.clock.now()) };
                let ready = wait_for(self.sockets.iter().copied(), PollFlags::POLLOUT, span)?;
                writable.iter_mut().zip(ready).for_each(|(writable, ready)| *writable |= ready);
            }
        }
        Ok(())
    }

    fn run_paced(&self, rate: Rate, lateness: &mut LatenessMeter) -> io::Result<()> {
        let piece = rate.bytes_in(WRITE_TICK).get().max(SMALLEST_WRITE).min(self.length.get());
        let zeros = vec![0_u8; usize::try_from(piece).unwrap_or(1)];
        let stream = PacedStream {
            schedule: Schedule::new(self.clock.now(), rate, Bytes::new(piece)),
            written: 0,
            held: false,
        };
        let mut streams = vec![stream; self.sockets.len()];
        let mut writable = vec![true; self.sockets.len()];
        while !self.is_over() {
            for (i, stream) in streams.iter_mut().enumerate() {
                if writable[i] && !self.has_reached_goal() {
                    stream.write_owed(self.sockets[i], &zeros, self.clock, &self.counts[i], lateness)?;
                    writable[i] = !stream.held;
                }
            }
            let going = streams.iter().filter(|stream| !stream.held);
            let next = going.map(|stream| stream.schedule.next_due()).min().unwrap_or(self.until);
            self.wait_for_room(&mut writable, next.min(self.until))?;
        }
        Ok(())
    }

    /// Waits until `due`, [`STOP_CHECK`] at most, or until a socket without room has some. Those that have room are not asked: they
    /// would end the wait at once, again and again.
    fn wait_for_room(&self, writable: &mut [bool], due: Time) -> io::Result<()> {
        let full: Vec<usize> = (0..writable.len()).filter(|&i| !writable[i]).collect();
        if full.is_empty() {
            self.clock.sleep_until(due.min(self.clock.now().after(STOP_CHECK)));
            return Ok(());
        }
        let sockets = full.iter().map(|&i| self.sockets[i]);
        let ready = wait_for(sockets, PollFlags::POLLOUT, due.since(self.clock.now()))?;
        full.into_iter().zip(ready).for_each(|(i, ready)| writable[i] = ready);
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.clock.now() >= self.until || self.has_reached_goal()
    }

    fn has_reached_goal(&self) -> bool {
        self.goal.is_some_and(|goal| goal.left() == 0)
    }
}

/// A stream that writes at a fixed rate.
#[derive(Clone)]
struct PacedStream {
    schedule: Schedule,
    /// Bytes of the current write that the socket has taken.
    written: usize,
    /// The socket had no room: what is late now is late because of TCP, not because of the timer.
    held: bool,
}

impl PacedStream {
    /// Writes what is owed by now, as far as the socket takes it.
    fn write_owed(
        &mut self,
        socket: &Socket,
        zeros: &[u8],
        clock: RunClock,
        counts: &StreamCounts,
        lateness: &mut LatenessMeter,
    ) -> io::Result<()> {
        let was_held = std::mem::take(&mut self.held);
        while self.schedule.owed(clock.now()) > 0 {
            let Some(bytes) = taken(socket.send(&zeros[self.written..]))? else {
                self.held = true;
                return Ok(());
            };
            counts.sent_bytes.add(bytes);
            counts.way(StreamEnd::Sender).where_asked();
            self.written += usize::try_from(bytes).unwrap_or(0);
            if self.written == zeros.len() {
                if !was_held {
                    lateness.record(clock.now().since(self.schedule.next_due()));
                }
                self.schedule.advance(1);
                self.written = 0;
            }
        }
        Ok(())
    }
}

/// The receiving application of a flow.
pub(crate) struct TcpReceiver<'a> {
    pub(crate) sockets: &'a [&'a Socket],
    pub(crate) counts: &'a [StreamCounts],
    pub(crate) clock: RunClock,
    pub(crate) start: Time,
    pub(crate) read_rate: Option<Rate>,
    /// Whether the kernel throws the data away (`MSG_TRUNC`, tcp(7)), and the reader of a fast path is not woken for every packet
    /// ([`Moderation`], [`Awake`]): what is measured is the path then, and not what a program does with the data.
    pub(crate) discards: bool,
    pub(crate) stop: &'a AtomicBool,
}

impl TcpReceiver<'_> {
    /// Reads until `stop` is set or every stream has ended.
    pub(crate) fn run(&self) -> io::Result<()> {
        let (flags, size) = if self.discards { (libc::MSG_TRUNC, DISCARD_SIZE) } else { (0, READ_SIZE) };
        let mut buffer = Vec::with_capacity(size);
        buffer.resize_with(size, MaybeUninit::<u8>::uninit);
        let mut moderations = vec![Moderation::new(self.start); self.sockets.len()];
        let mut awake = Awake::new();
        let mut open = vec![true; self.sockets.len()];
        let mut next_tick = self.start;
        while open.contains(&true) && !self.stop.load(Ordering::Relaxed) {
            let mut progressed = false;
            for (i, socket) in self.sockets.iter().enumerate().filter(|&(i, _)| open[i]).collect::<Vec<_>>() {
                let allowed = self.allowance(i, size);
                if allowed == 0 {
                    continue;
                }
                match taken(socket.recv_with_flags(&mut buffer[..allowed], flags))? {
                    Some(0) => open[i] = false,
                    Some(bytes) => {
                        self.counts[i].received_bytes.add(bytes);
                        self.counts[i].way(StreamEnd::Receiver).where_asked();
                        let now = self.clock.now();
                        self.counts[i].last_received_ns.set(now.nanos());
                        if self.discards {
                            moderations[i].note(socket, bytes, now);
                        }
                        awake.note();
                        progressed |= !moderations[i].is_on();
                    }
                    None => {}
                }
            }
            if self.read_rate.is_some() {
                // One read a tick, of all that the ticks so far are worth: a slow reader, not a busy one.
                next_tick = next_tick.after(READ_TICK).max(self.clock.now());
                self.clock.sleep_until(next_tick);
            } else if !progressed {
                let is_moderated = moderations.iter().any(Moderation::is_on);
                if is_moderated && awake.waits() {
                    continue;
                }
                // A stream that has ended is always ready to say so.
                let sockets =
                    self.sockets.iter().zip(&open).filter(|(_, open)| **open).map(|(socket, _)| *socket);
                let span = if is_moderated { QUIET } else { STOP_CHECK };
                let ready = wait_for(sockets, PollFlags::POLLIN, span)?;
                if is_moderated && !ready.contains(&true) {
                    let now = self.clock.now();
                    moderations
                        .iter_mut()
                        .zip(self.sockets)
                        .for_each(|(moderation, socket)| moderation.end(socket, now));
                }
            }
        }
        Ok(())
    }

    /// Bytes that stream `i` may read now, `most` at most.
    fn allowance(&self, i: usize, most: usize) -> usize {
        let Some(rate) = self.read_rate else {
            return most;
        };
        let worth = rate.bytes_in(self.clock.now().since(self.start)).get();
        let allowed = worth.saturating_sub(self.counts[i].received_bytes.get());
        usize::try_from(allowed).unwrap_or(most).min(most)
    }
}

/// Bytes moved; `None` where the call would have waited.
pub(super) fn taken(result: io::Result<usize>) -> io::Result<Option<u64>> {
    match result {
        Ok(bytes) => Ok(Some(bytes as u64)),
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Waits until any socket is ready, at most `span` and at most [`STOP_CHECK`]; says of each whether it is.
fn wait_for<'a>(
    sockets: impl Iterator<Item = &'a Socket>,
    what: PollFlags,
    span: Duration,
) -> io::Result<Vec<bool>> {
    until_ready(sockets.map(AsFd::as_fd), what, span.min(STOP_CHECK))
}

/// Sleeps until `due`; false if `stop` was set meanwhile.
pub(crate) fn wait_until(clock: RunClock, due: Time, stop: &AtomicBool) -> bool {
    while clock.now() < due {
        if stop.load(Ordering::Relaxed) {
            return false;
        }
        clock.sleep_until(due.min(clock.now().after(STOP_CHECK)));
    }
    !stop.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::thread::cpu;
    use pipefill_core::record::ThreadRole;
    use socket2::{Domain, Type};
    use std::thread;

    const SPAN: Duration = Duration::from_millis(500);

    /// CPU time that `work` takes on its own thread.
    fn cpu_time(work: impl FnOnce() + Send) -> Duration {
        let used = thread::scope(|scope| {
            let worker = scope.spawn(|| {
                work();
                cpu(ThreadRole::Telemetry)
            });
            worker.join().unwrap()
        });
        Duration::from_micros(used.user_us + used.system_us)
    }

    fn pair() -> (Socket, Socket) {
        let (near, far) = Socket::pair(Domain::UNIX, Type::STREAM, None).unwrap();
        near.set_nonblocking(true).unwrap();
        far.set_nonblocking(true).unwrap();
        (near, far)
    }

    #[test]
    fn a_paced_sender_waits_where_one_of_its_streams_is_blocked() {
        let ((blocked, _full), (going, read)) = (pair(), pair());
        while blocked.send(&[0; 4096]).is_ok() {}
        let counts = [StreamCounts::default(), StreamCounts::default()];
        let (clock, stop) = (RunClock::start(), AtomicBool::new(false));
        let used = cpu_time(|| {
            let sender = TcpSender {
                sockets: &[&blocked, &going],
                counts: &counts,
                clock,
                start: clock.now(),
                until: clock.now().after(SPAN),
                bitrate: Some(Rate::from_bps(100_000)),
                length: Bytes::new(128 << 10),
                writer: Writer::Blocking,
                goal: None,
                stop: &stop,
            };
            sender.run().unwrap();
        });
        assert!(used < SPAN / 4, "{used:?} of CPU time in {SPAN:?}");
        assert_eq!(counts[0].sent_bytes.get(), 0);
        assert!(counts[1].sent_bytes.get() > 0, "the other one goes on");
        drop(read);
    }

    /// A Unix socket is writable while no more than a quarter of its buffer is taken (`unix_writable()`).
    #[test]
    fn a_sender_that_writes_once_does_not_fill_the_buffer() {
        let sent = |writer| {
            let (near, _far) = pair();
            near.set_send_buffer_size(1 << 20).unwrap();
            let counts = [StreamCounts::default()];
            let (clock, stop) = (RunClock::start(), AtomicBool::new(false));
            let sender = TcpSender {
                sockets: &[&near],
                counts: &counts,
                clock,
                start: clock.now(),
                until: clock.now().after(SPAN / 5),
                bitrate: None,
                length: Bytes::new(16 << 10),
                writer,
                goal: None,
                stop: &stop,
            };
            sender.run().unwrap();
            counts[0].sent_bytes.get()
        };
        let (blocking, once) = (sent(Writer::Blocking), sent(Writer::OncePerWake));
        assert!(0 < once && once < blocking, "{once} bytes, blocking {blocking}");
    }

    #[test]
    fn a_receiver_waits_where_one_of_its_streams_has_ended() {
        let ((_idle, waiting), (over, ended)) = (pair(), pair());
        drop(over);
        let counts = [StreamCounts::default(), StreamCounts::default()];
        let (clock, stop) = (RunClock::start(), AtomicBool::new(false));
        let used = thread::scope(|scope| {
            scope.spawn(|| {
                clock.sleep_until(Time::ZERO.after(SPAN));
                stop.store(true, Ordering::Relaxed);
            });
            cpu_time(|| {
                let sockets = &[&waiting, &ended];
                let (start, read_rate, stop) = (clock.now(), None, &stop);
                let discards = false;
                TcpReceiver { sockets, counts: &counts, clock, start, read_rate, discards, stop }
                    .run()
                    .unwrap();
            })
        });
        assert!(used < SPAN / 4, "{used:?} of CPU time in {SPAN:?}");
    }
}
