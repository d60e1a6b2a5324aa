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
    /// From then on nothing more is written; what still comes is read.
    pub(crate) until: Time,
    pub(crate) stop: &'a AtomicBool,
}

/// A program and what is known of its socket.
struct ApplicationStream {
    end: End,
    is_open: bool,
    is_writable: bool,
    /// The socket had no room since the program last had nothing to write: what is late now is late because of TCP, not because of the timer.
    was_held: bool,
}

impl Programs<'_> {
    /// Runs a program like `end` at each socket until `stop` is set. Returns how late what they write by the clock was.
    pub(crate) fn run(&self, end: &End) -> io::Result<LatenessMeter> {
        without_timer_slack();
        let mut lateness = LatenessMeter::new();
        if !wait_until(self.clock, self.start, self.stop) {
            return Ok(lateness);
        }
        let zeros = vec![0_u8; usize::try_from(WRITE_MAX.get()).unwrap_or(1)];
        let mut buffer = vec![MaybeUninit::uninit(); READ_SIZE];
        let stream =
            || ApplicationStream { end: end.clone(), is_open: true, is_writable: true, was_held: false };
        let mut streams: Vec<ApplicationStream> = self.sockets.iter().map(|_| stream()).collect();
        if self.side == StreamEnd::Sender {
            let now = self.clock.now().nanos().max(1);
            self.counts.iter().for_each(|counts| counts.started_ns.set(now));
        }
        while !self.stop.load(Ordering::Relaxed) {
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

    /// Reads once; false where nothing was there.
    fn read(
        &self,
        i: usize,
        stream: &mut ApplicationStream,
        buffer: &mut [MaybeUninit<u8>],
    ) -> io::Result<bool> {
        if !stream.is_open {
            return Ok(false);
        }
        let most = usize::try_from(stream.end.read_max()).unwrap_or(buffer.len()).min(buffer.len());
        let Some(bytes) = taken(self.sockets[i].recv(&mut buffer[..most]))? else { return Ok(false) };
        self.counts[i].way(self.side).where_asked();
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
        stream: &mut ApplicationStream,
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
            self.counts[i].way(self.side).where_asked();
            stream.end.wrote(bytes);
            if self.side == StreamEnd::Sender {
                self.counts[i].sent_bytes.add(bytes);
            }
        }
        Ok(())
    }

    /// Waits until something can be read, a socket without room has some, or a program acts by the clock; [`STOP_CHECK`] at most.
    fn wait(&self, streams: &mut [ApplicationStream]) -> io::Result<()> {
        let now = self.clock.now();
        let timed =
            streams.iter().filter(|stream| stream.is_writable).filter_map(|stream| stream.end.next_due());
        let next = timed.filter(|_| now < self.until).min().unwrap_or(Time::MAX);
        let wanted = |stream: &ApplicationStream| {
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

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::cell::{Application, RequestsSpec, WindowSpec, WritesSpec};
    use pipefill_core::units::Bytes;
    use socket2::{Domain, Type};
    use std::thread;
    use std::time::{Duration, Instant};

    /// No program waits as long for another one on the same machine.
    const PATIENCE: Duration = Duration::from_secs(30);

    fn pair() -> (Socket, Socket) {
        let (near, far) = Socket::pair(Domain::UNIX, Type::STREAM, None).unwrap();
        near.set_nonblocking(true).unwrap();
        far.set_nonblocking(true).unwrap();
        (near, far)
    }

    /// Both programs at two streams, until each has received `bytes`; what was sent and received of each stream.
    fn carry_out(application: &Application, bytes: u64) -> Vec<(u64, u64)> {
        let pairs = [pair(), pair()];
        let senders: Vec<&Socket> = pairs.iter().map(|(sender, _)| sender).collect();
        let receivers: Vec<&Socket> = pairs.iter().map(|(_, receiver)| receiver).collect();
        let counts = [StreamCounts::default(), StreamCounts::default()];
        let (clock, stop) = (RunClock::start(), AtomicBool::new(false));
        let programs = |sockets, side| Programs {
            sockets,
            counts: &counts,
            side,
            clock,
            start: clock.now(),
            until: Time::MAX,
            stop: &stop,
        };
        let ends = [End::sender(application, Time::ZERO), End::receiver(application, Time::ZERO)];
        let [sender, receiver] = ends.map(|end| end.expect("an end that does something"));
        let deadline = Instant::now() + PATIENCE;
        thread::scope(|scope| {
            let work = [
                scope.spawn(|| programs(&senders, StreamEnd::Sender).run(&sender)),
                scope.spawn(|| programs(&receivers, StreamEnd::Receiver).run(&receiver)),
            ];
            let is_done = || counts.iter().all(|counts| counts.received_bytes.get() >= bytes);
            while !is_done() && Instant::now() < deadline {
                thread::yield_now();
            }
            stop.store(true, Ordering::Relaxed);
            work.into_iter().for_each(|work| drop(work.join().unwrap().unwrap()));
        });
        counts.iter().map(|counts| (counts.sent_bytes.get(), counts.received_bytes.get())).collect()
    }

    fn requests() -> RequestsSpec {
        RequestsSpec {
            request: Bytes::new(200),
            response: Bytes::new(300_000),
            think: Duration::ZERO,
            outstanding: 2,
            count: Some(7),
            pause: Duration::from_millis(1),
        }
    }

    #[test]
    fn every_request_is_answered_and_no_more() {
        let all = carry_out(&Application::Requests(requests()), 7 * 300_000);
        assert_eq!(all, [(2_100_000, 2_100_000); 2]);
    }

    #[test]
    fn messages_and_windows_go_on_and_on() {
        let sizes = vec![Bytes::new(300), Bytes::new(1_200)];
        let writes = WritesSpec { sizes, response: Bytes::new(1), think: Duration::ZERO };
        let window = WindowSpec { size: Bytes::new(10_000) };
        for application in [Application::Writes(writes), Application::Window(window)] {
            for (sent, received) in carry_out(&application, 1_000_000) {
                assert!(received >= 1_000_000 && sent >= received, "{application:?}: {sent}, {received}");
            }
        }
    }

    /// The only end at work, for a while.
    fn alone(application: &Application, side: StreamEnd, until: Duration) -> (u64, Socket) {
        let (own, other) = pair();
        let counts = [StreamCounts::default()];
        let (clock, stop) = (RunClock::start(), AtomicBool::new(false));
        let start = clock.now();
        let sockets = &[&own];
        let until = start.after(until);
        let programs = Programs { sockets, counts: &counts, side, clock, start, until, stop: &stop };
        let end = match side {
            StreamEnd::Sender => End::sender(application, start),
            StreamEnd::Receiver => End::receiver(application, start),
        };
        thread::scope(|scope| {
            let work = scope.spawn(|| programs.run(&end.expect("an end that does something")));
            clock.sleep_until(start.after(Duration::from_millis(100)));
            stop.store(true, Ordering::Relaxed);
            work.join().unwrap().unwrap();
        });
        (counts[0].sent_bytes.get(), other)
    }

    #[test]
    fn a_sender_without_credits_stops_at_its_window() {
        let window = Application::Window(WindowSpec { size: Bytes::new(10_000) });
        let (sent, _other) = alone(&window, StreamEnd::Sender, PATIENCE);
        assert!(sent <= 10_000, "{sent}");
    }

    #[test]
    fn nothing_is_written_after_the_end() {
        let window = Application::Window(WindowSpec { size: Bytes::new(10_000) });
        assert_eq!(alone(&window, StreamEnd::Sender, Duration::ZERO).0, 0);
        let (_, server) = alone(&Application::Requests(requests()), StreamEnd::Receiver, Duration::ZERO);
        let mut buffer = [MaybeUninit::uninit(); 1];
        let read = server.recv(&mut buffer).map_err(|error| error.kind());
        assert_ne!(read.ok(), Some(1), "a request after the end");
    }
}
