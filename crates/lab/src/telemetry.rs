//! Samples both ends of every stream, the path and the threads at a fixed interval.
//!
//! Raw first: the kernel's bytes are kept beside the decoded fields, ten times a second.

use crate::clock::RunClock;
use crate::data_path::PathState;
use crate::lateness::LatenessMeter;
use crate::rows::{Closed, Rows};
use crate::shaping::{QUEUE_EVERY, ShapedQueue};
use crate::sys::socket::{mem_info, tcp_info};
use crate::sys::thread;
use crate::threads::{Scheduled, Threads};
use crate::trace::Trace;
use crate::traffic::counts::StreamCounts;
use crate::traffic::give_way::GiveWay;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pipefill_core::cell::{Direction, Protocol};
use pipefill_core::record::{
    AnyRow, AqmSample, CpuSample, DeliverySample, Lateness, PathSample, StreamEnd, TcpSample, UdpSample,
};
use pipefill_core::tcp_info;
use pipefill_core::units::Time;
use socket2::Socket;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What is read no more often than this: CPU time, which the kernel updates at scheduling points, and the raw bytes of `tcp_info`,
/// whose text costs more than all its decoded fields.
const SELDOM: Duration = Duration::from_millis(100);

/// A stream to be sampled.
pub(crate) struct StreamProbe<'a> {
    pub(crate) stream: u32,
    pub(crate) protocol: Protocol,
    pub(crate) sender: &'a Socket,
    pub(crate) receiver: &'a Socket,
    pub(crate) counts: &'a StreamCounts,
}

/// What the telemetry has to say of itself and for the judgement of the run.
pub(crate) struct Sampled {
    pub(crate) lateness: Option<Lateness>,
    pub(crate) samples_taken: u64,
    pub(crate) slow_start_until: Time,
}

/// What it gathers for that.
struct Notes {
    lateness: LatenessMeter,
    samples_taken: u64,
    slow_start_until: Time,
}

/// The sampling thread.
pub(crate) struct Telemetry<'a> {
    pub(crate) clock: RunClock,
    pub(crate) every: Duration,
    pub(crate) streams: &'a [StreamProbe<'a>],
    pub(crate) path: [(Direction, &'a Mutex<PathState>); 2],
    /// Of an interface that is shaped for the run, between hosts.
    pub(crate) queue: Option<&'a ShapedQueue>,
    pub(crate) threads: &'a Threads,
    /// Its ring is emptied with every sample.
    pub(crate) trace: Option<&'a Mutex<Trace>>,
    pub(crate) stop: &'a AtomicBool,
}

impl Telemetry<'_> {
    /// Samples from now until `stop` is set, and once more then; says how late the samples were, and when the last sender left slow
    /// start. Ends early where `rows` takes no more.
    pub(crate) fn run(&self, rows: &Rows) -> Sampled {
        thread::without_timer_slack();
        // Who gives way to it waits until it runs.
        thread::short_slices();
        let mut notes =
            Notes { lateness: LatenessMeter::new(), samples_taken: 0, slow_start_until: Time::ZERO };
        // Who has stopped listening says why when it is joined.
        let _why = self.sample_until_stopped(rows, &mut notes);
        Sampled {
            lateness: notes.lateness.summary(),
            samples_taken: notes.samples_taken,
            slow_start_until: notes.slow_start_until,
        }
    }

    fn sample_until_stopped(&self, rows: &Rows, notes: &mut Notes) -> Result<(), Closed> {
        let (mut due, mut seldom_due, mut queue_due) = (self.clock.now(), self.clock.now(), self.clock.now());
        while !self.stop.load(Ordering::Relaxed) {
            let now = self.clock.now();
            due = notes.lateness.record_deadlines(due, self.every, now);
            notes.samples_taken += 1;
            let is_full = now >= seldom_due;
            self.sample(rows, is_full, notes)?;
            if is_full {
                self.sample_cpu(now, rows)?;
                seldom_due = now.after(SELDOM);
            }
            if now >= queue_due {
                self.sample_queue(rows)?;
                queue_due = now.after(QUEUE_EVERY);
            }
            self.clock.sleep_until(self.next_place(due));
        }
        self.sample(rows, true, notes)?;
        self.sample_queue(rows)?;
        self.sample_cpu(self.clock.now(), rows)
    }

    /// The first of the places from `due` on that has not passed: a sample that was missed is missing, the ones after it keep theirs.
    fn next_place(&self, due: Time) -> Time {
        let mut place = due;
        while place <= self.clock.now() {
            place = place.after(self.every);
        }
        place
    }

    /// `is_full`: with the raw bytes.
    fn sample(&self, rows: &Rows, is_full: bool, notes: &mut Notes) -> Result<(), Closed> {
        for probe in self.streams {
            match probe.protocol {
                Protocol::Tcp => {
                    let ends = [(StreamEnd::Sender, probe.sender), (StreamEnd::Receiver, probe.receiver)];
                    for (end, socket) in ends {
                        let way = probe.counts.way(end);
                        let row = sample_tcp(self.clock, (probe.stream, end), (socket, way), is_full);
                        let Some(row) = row else { continue };
                        if end == StreamEnd::Sender && row.info.ssthresh_bytes.is_none() {
                            notes.slow_start_until = self.clock.now().after(self.every);
                        }
                        rows.send(AnyRow::Tcp(row))?;
                    }
                }
                Protocol::Udp => rows.send(AnyRow::Udp(sample_udp(self.clock, probe)))?,
                // A ping tells of each round trip when it ends.
                Protocol::Ping => continue,
            }
            rows.send(AnyRow::Delivery(DeliverySample {
                t_us: self.clock.now().micros(),
                stream: probe.stream,
                sent_bytes: probe.counts.sent_bytes.get(),
                received_bytes: probe.counts.received_bytes.get(),
            }))?;
        }
        self.path.iter().try_for_each(|&(direction, state)| self.sample_path(direction, state, rows))?;
        match self.trace.map(Mutex::lock) {
            Some(Ok(mut trace)) => trace.drain(|row| rows.send(row)),
            _ => Ok(()),
        }
    }

    fn sample_path(&self, direction: Direction, state: &Mutex<PathState>, rows: &Rows) -> Result<(), Closed> {
        let t_us = self.clock.now().micros();
        // Not sent under the lock: the data path waits for it.
        let Ok((backlogs, aqm)) = state.lock().map(|state| (state.backlog.clone(), state.aqm)) else {
            return Ok(());
        };
        if let Some(aqm) = aqm {
            rows.send(AnyRow::Aqm(AqmSample { t_us, ..aqm }))?;
        }
        backlogs.iter().try_for_each(|backlog| {
            rows.send(AnyRow::Path(PathSample {
                t_us,
                direction,
                element: backlog.element,
                backlog_packets: backlog.packets,
                backlog_bytes: backlog.bytes,
                dropped_packets: backlog.dropped_packets,
            }))
        })
    }

    fn sample_queue(&self, rows: &Rows) -> Result<(), Closed> {
        let row = self.queue.and_then(|queue| queue.sample(self.clock.now().micros()));
        row.map_or(Ok(()), |row| rows.send(AnyRow::Aqm(row)))
    }

    fn sample_cpu(&self, now: Time, rows: &Rows) -> Result<(), Closed> {
        self.threads.alive().try_for_each(|(thread, Scheduled { cpu_us, wait_us })| {
            rows.send(AnyRow::Cpu(CpuSample::of_thread(now.micros(), thread, cpu_us, Some(wait_us))))
        })
    }
}

/// A reading during which so much time passed is repeated: its time would not be that of what it says.
const READ_WITHIN: Duration = Duration::from_micros(100);
/// But not after so long: then it is the socket itself that makes a reader wait, and the next reading would wait as long.
const READ_AGAIN_WITHIN: Duration = Duration::from_millis(5);
/// At least this many readings are made before that: a thread that lost the CPU during one has it back for the next.
const READINGS: usize = 3;

/// One sample of one end, `is_full` with the raw bytes; `None` where the kernel no longer answers for the socket.
pub(crate) fn sample_tcp(
    clock: RunClock,
    (stream, end): (u32, StreamEnd),
    (socket, way): (&Socket, &GiveWay),
    is_full: bool,
) -> Option<TcpSample> {
    let mut bytes = [0; 512];
    let (t_us, len) = read_in_time(clock, (socket, way), &mut bytes)?;
    let memory = mem_info(socket).ok();
    Some(TcpSample {
        t_us,
        stream,
        end,
        info: tcp_info::decode(&bytes[..len])?,
        wmem_queued_bytes: memory.map(|m| u64::from(m.wmem_queued)),
        sndbuf_bytes: memory.map(|m| u64::from(m.sndbuf)),
        rmem_alloc_bytes: memory.map(|m| u64::from(m.rmem_alloc)),
        rcvbuf_bytes: memory.map(|m| u64::from(m.rcvbuf)),
        raw: is_full.then(|| STANDARD.encode(&bytes[..len])),
    })
}

/// When the kernel told of the socket, and the length of what it told; `None` where it no longer answers.
fn read_in_time(
    clock: RunClock,
    (socket, way): (&Socket, &GiveWay),
    bytes: &mut [u8; 512],
) -> Option<(u64, usize)> {
    let _asked = way.ask();
    let (at, len) = swift_reading(|| tcp_info(socket, bytes).ok(), || clock.now())?;
    Some((at.micros(), len))
}

/// What `read` gave, and when: of the first reading that took no longer than [`READ_WITHIN`], or of the last that is tried.
fn swift_reading<T>(mut read: impl FnMut() -> Option<T>, mut now: impl FnMut() -> Time) -> Option<(Time, T)> {
    let began = now();
    let (mut before, mut readings) = (began, 0);
    loop {
        let given = read()?;
        let after = now();
        readings += 1;
        let is_last = readings >= READINGS && after.since(began) > READ_AGAIN_WITHIN;
        if is_last || after.since(before) <= READ_WITHIN {
            return Some((after, given));
        }
        before = after;
    }
}

fn sample_udp(clock: RunClock, probe: &StreamProbe<'_>) -> UdpSample {
    let counts = probe.counts;
    let received = counts.received.get();
    UdpSample {
        t_us: clock.now().micros(),
        stream: probe.stream,
        sent: counts.sent.get(),
        received,
        duplicates: counts.duplicates.get(),
        reordered: counts.reordered.get(),
        jitter_ns: (received > 1).then(|| counts.jitter_ns.get()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of the reading that is taken, from 1, where each takes these microseconds.
    fn taken(micros: &[u64]) -> usize {
        let (mut at, mut times) = (Time::ZERO, micros.iter());
        let mut readings = 0;
        let read = || {
            readings += 1;
            Some(readings)
        };
        let mut is_first = true;
        let now = || {
            if !std::mem::take(&mut is_first) {
                at = at.after(Duration::from_micros(*times.next().expect("a reading more")));
            }
            at
        };
        swift_reading(read, now).expect("a reading").1
    }

    #[test]
    fn a_thread_that_lost_the_cpu_reads_again() {
        assert_eq!(taken(&[100]), 1);
        assert_eq!(taken(&[20_000, 10]), 2);
        assert_eq!(taken(&[20_000, 4_000, 10]), 3);
    }

    #[test]
    fn a_socket_that_makes_readers_wait_is_read_as_it_is() {
        assert_eq!(taken(&[20_000, 20_000, 20_000]), 3);
        assert_eq!(taken(&[1_000; 6]), 6);
    }
}
