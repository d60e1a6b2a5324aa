//! UDP applications: one that sends numbered datagrams at a fixed rate or in bursts, one that counts what arrives.
//!
//! A datagram's payload begins with a [`Header`]; the rest is zeros. In a run of the lab both ends are on this machine, so that the
//! difference to the kernel's receive timestamp is a true one-way delay. Between hosts it has an unknown offset.

use super::counts::{Goal, StreamCounts};
use super::tcp::wait_until;
use crate::clock::{RunClock, realtime_ns};
use crate::lateness::LatenessMeter;
use crate::sys::datagram::{self, BATCH, Datagram, Receiver};
use crate::sys::socket::mem_info;
use crate::sys::thread::without_timer_slack;
use crate::wait::until_ready;
use nix::poll::PollFlags;
use pipefill_core::record::UdpTotals;
use pipefill_core::traffic::arrivals::Arrivals;
use pipefill_core::traffic::pacing::Schedule;
use pipefill_core::units::{Bytes, Time};
use socket2::Socket;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Bytes of our own header in a datagram, the longest one.
pub(crate) const HEADER: usize = 24;
const MAGIC: u32 = 0x7066_696c;
/// Datagrams closer together than this are sent in one system call.
const TICK: Duration = Duration::from_micros(50);
const STOP_CHECK: Duration = Duration::from_millis(20);
/// Wait after the socket's buffer was full.
const FULL_WAIT: Duration = Duration::from_micros(50);

/// What a datagram begins with, in network order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Header {
    /// A magic word and the stream (4 + 4 bytes), the sequence number from 0 (8), the sender's `CLOCK_REALTIME` in nanoseconds (8).
    Own,
    /// iperf3's (`iperf_udp_send()`): seconds and microseconds of the sender's clock (4 + 4), a sequence number from 1 (4).
    Iperf3,
    /// The same with a sequence number of 8 bytes.
    Iperf3Wide,
}

impl Header {
    fn write(self, buffer: &mut [u8], stream: usize, sequence: u64, realtime_ns: u64) {
        if self == Self::Own {
            buffer[0..4].copy_from_slice(&MAGIC.to_be_bytes());
            buffer[4..8].copy_from_slice(&u32::try_from(stream).unwrap_or(0).to_be_bytes());
            buffer[8..16].copy_from_slice(&sequence.to_be_bytes());
            buffer[16..24].copy_from_slice(&realtime_ns.to_be_bytes());
            return;
        }
        let number = sequence.wrapping_add(1);
        buffer[0..4].copy_from_slice(&((realtime_ns / 1_000_000_000) as u32).to_be_bytes());
        buffer[4..8].copy_from_slice(&((realtime_ns % 1_000_000_000 / 1_000) as u32).to_be_bytes());
        if self == Self::Iperf3Wide {
            buffer[8..16].copy_from_slice(&number.to_be_bytes());
        } else {
            buffer[8..12].copy_from_slice(&(number as u32).to_be_bytes());
        }
    }

    /// Sequence number and sending time; `None` for a foreign datagram.
    fn parse(self, head: &[u8]) -> Option<(u64, u64)> {
        /// What begins a stream of iperf3's, in both byte orders, and was sent again: no time of any test.
        const HELLOS: [&[u8]; 2] = [b"9876", b"6789"];
        if self != Self::Own && HELLOS.iter().any(|hello| head.starts_with(hello)) {
            return None;
        }
        let long = |at: usize| Some(u64::from_be_bytes(head.get(at..at + 8)?.try_into().ok()?));
        let word = |at: usize| Some(u32::from_be_bytes(head.get(at..at + 4)?.try_into().ok()?));
        let sent = || Some(u64::from(word(0)?) * 1_000_000_000 + u64::from(word(4)?) * 1_000);
        match self {
            Self::Own => {
                (word(0)? == MAGIC).then_some(())?;
                Some((long(8)?, long(16)?))
            }
            Self::Iperf3 => Some((u64::from(word(8)?).checked_sub(1)?, sent()?)),
            Self::Iperf3Wide => Some((long(8)?.checked_sub(1)?, sent()?)),
        }
    }
}

/// The sending application of a flow.
pub(crate) struct UdpSender<'a> {
    pub(crate) sockets: &'a [&'a Socket],
    pub(crate) counts: &'a [StreamCounts],
    pub(crate) clock: RunClock,
    pub(crate) start: Time,
    pub(crate) until: Time,
    /// When the datagrams of each stream are due; it begins when the sender does.
    pub(crate) schedule: Schedule,
    pub(crate) length: Bytes,
    pub(crate) header: Header,
    /// Where there is one, the sender stops when it is reached.
    pub(crate) goal: Option<Goal<'a>>,
    pub(crate) stop: &'a AtomicBool,
}

impl UdpSender<'_> {
    /// Sends from `start` to `until`; returns how late each datagram was.
    pub(crate) fn run(&self) -> io::Result<LatenessMeter> {
        without_timer_slack();
        let mut lateness = LatenessMeter::new();
        if !wait_until(self.clock, self.start, self.stop) {
            return Ok(lateness);
        }
        let began = self.clock.now();
        for counts in self.counts {
            counts.started_ns.set(began.nanos().max(1));
        }
        let mut schedule = self.schedule;
        schedule.start_at(began);
        let mut schedules = vec![schedule; self.sockets.len()];
        let mut batch = vec![vec![0_u8; usize::try_from(self.length.get()).unwrap_or(HEADER)]; BATCH];
        while !self.is_over() {
            for (i, schedule) in schedules.iter_mut().enumerate() {
                self.send_owed(i, schedule, &mut batch, &mut lateness)?;
            }
            let now = self.clock.now();
            let next = schedules.iter().map(Schedule::next_due).min().unwrap_or(self.until);
            let wake = next.max(now.after(TICK)).min(self.until).min(now.after(STOP_CHECK));
            self.clock.sleep_until(if next.since(now) > TICK { next.min(wake) } else { wake });
        }
        Ok(lateness)
    }

    /// Sends what stream `i` owes by now; a full socket buffer is waited for, since an application's data does not go away.
    fn send_owed(
        &self,
        i: usize,
        schedule: &mut Schedule,
        batch: &mut [Vec<u8>],
        lateness: &mut LatenessMeter,
    ) -> io::Result<()> {
        let mut owed = schedule.owed(self.clock.now()).min(schedule_end(schedule, self.until));
        let mut has_failed = false;
        while owed > 0 && !self.is_over() {
            let wanted = self.goal.map_or(owed, |goal| owed.min(goal.left().div_ceil(self.length.get())));
            let count = usize::try_from(wanted).unwrap_or(BATCH).min(BATCH);
            let stamp = realtime_ns();
            for (k, buffer) in batch.iter_mut().take(count).enumerate() {
                self.header.write(buffer, i, schedule.sent() + k as u64, stamp);
            }
            let size = |k: usize| schedule.size(schedule.sent() + k as u64);
            let buffers: Vec<&[u8]> = batch
                .iter()
                .take(count)
                .enumerate()
                .map(|(k, buffer)| {
                    &buffer[..buffer.len().min(usize::try_from(size(k)).unwrap_or(usize::MAX))]
                })
                .collect();
            let sent = match datagram::send(self.sockets[i], &buffers) {
                Ok(sent) => sent as u64,
                Err(error) if is_full(&error) => {
                    self.clock.sleep_until(self.clock.now().after(FULL_WAIT));
                    continue;
                }
                // What ICMP says of an earlier datagram, e.g. that a host can't be reached, is reported once and is no error of this socket.
                Err(error) if error.kind() != io::ErrorKind::ConnectionRefused && !has_failed => {
                    has_failed = true;
                    continue;
                }
                Err(error) => return Err(error),
            };
            has_failed = false;
            let now = self.clock.now();
            for k in 0..sent {
                lateness.record(now.since(schedule.due(schedule.sent() + k)));
            }
            let bytes = (0..sent).map(|k| schedule.size(schedule.sent() + k)).sum();
            schedule.advance(sent);
            self.counts[i].sent.add(sent);
            self.counts[i].sent_bytes.add(bytes);
            owed -= sent;
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        let has_reached_goal = self.goal.is_some_and(|goal| goal.left() == 0);
        self.stop.load(Ordering::Relaxed) || self.clock.now() >= self.until || has_reached_goal
    }
}

/// Datagrams whose due instant lies before `until` and that were not sent yet.
fn schedule_end(schedule: &Schedule, until: Time) -> u64 {
    schedule.owed(until)
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
        || error.raw_os_error() == Some(libc::ENOBUFS)
}

/// The receiving application of one stream.
pub(crate) struct UdpReceiver<'a> {
    pub(crate) socket: &'a Socket,
    pub(crate) counts: &'a StreamCounts,
    pub(crate) clock: RunClock,
    pub(crate) header: Header,
    pub(crate) stop: &'a AtomicBool,
}

impl UdpReceiver<'_> {
    /// Receives until `stop` is set; returns the totals without `sent`, which only the sender knows.
    pub(crate) fn run(&self) -> io::Result<UdpTotals> {
        let mut receiver = Receiver::<HEADER>::new();
        let mut arrivals = Arrivals::default();
        // What the socket holds when it is told to stop has arrived, and counts.
        loop {
            let stopping = self.stop.load(Ordering::Relaxed);
            match receiver.receive(self.socket, |datagram| self.note(&mut arrivals, &datagram)) {
                Ok(_) => self.counts.last_received_ns.set(self.clock.now().nanos()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && stopping => break,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    until_ready([self.socket.as_fd()], PollFlags::POLLIN, STOP_CHECK)?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let socket_drops = mem_info(self.socket).ok().map(|memory| u64::from(memory.drops));
        Ok(arrivals.totals(0, socket_drops))
    }

    /// Notes `datagram`, and lets the telemetry see what was counted.
    fn note(&self, arrivals: &mut Arrivals, datagram: &Datagram<'_>) {
        let Some((sequence, sent_ns)) = self.header.parse(datagram.head) else { return };
        let transit = datagram.realtime_ns.map(|realtime_ns| realtime_ns.wrapping_sub(sent_ns).cast_signed());
        if arrivals.note(sequence, transit) {
            self.counts.received_bytes.add(datagram.len as u64);
            if let (Some(at), Some(transit)) = (datagram.realtime_ns, transit) {
                self.counts.transit_ns.set(transit.cast_unsigned());
                self.counts.transit_at_ns.set(at);
            }
        }
        let counts = arrivals.counts();
        self.counts.expected.set(arrivals.expected());
        self.counts.received.set(counts.received);
        self.counts.duplicates.set(counts.duplicates);
        self.counts.reordered.set(counts.reordered);
        self.counts.jitter_ns.set(arrivals.jitter_ns().unwrap_or(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written() {
        let sent_ns = 1_700_000_000_123_456_000;
        for (header, length) in [(Header::Own, 24), (Header::Iperf3, 12), (Header::Iperf3Wide, 16)] {
            let mut buffer = vec![0; length];
            header.write(&mut buffer, 3, 4_000_000_000, sent_ns);
            assert_eq!(header.parse(&buffer), Some((4_000_000_000, sent_ns)), "{header:?}");
            assert_eq!(header.parse(&buffer[..length - 1]), None, "{header:?}");
        }
        assert_eq!(Header::Iperf3.parse(&[0; 12]), None, "iperf3 counts from 1");
        assert_eq!(Header::Iperf3.parse(b"9876abcdefghijklmnop"), None, "a first datagram that came twice");
    }
}
