//! Samples both ends of every stream, the path and the threads at a fixed interval.
//!
//! Raw first: the kernel's bytes are kept beside the decoded fields, ten times a second. Never: a derived figure.

use crate::clock::RunClock;
use crate::data_path::PathState;
use crate::lateness::LatenessMeter;
use crate::rows::{Closed, Rows};
use crate::sys::socket::{mem_info, tcp_info};
use crate::sys::thread;
use crate::trace::Trace;
use crate::traffic::counts::StreamCounts;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pipefill_core::cell::{Direction, Protocol};
use pipefill_core::record::{
    AnyRow, CpuSample, DeliverySample, Lateness, PathSample, StreamEnd, TcpSample, ThreadCpu, ThreadRole,
    UdpSample,
};
use pipefill_core::tcp_info;
use pipefill_core::units::Time;
use socket2::Socket;
use std::fs;
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

/// The threads of a run, by what they do.
#[derive(Default)]
pub(crate) struct Threads {
    alive: Mutex<Vec<(ThreadRole, i32)>>,
    ended: Mutex<Vec<ThreadCpu>>,
}

impl Threads {
    /// Runs `work` on the calling thread as `role`: its CPU time is sampled meanwhile and noted at the end.
    pub(crate) fn note<T>(&self, role: ThreadRole, work: impl FnOnce() -> T) -> T {
        let entry = (role, thread::id());
        if let Ok(mut alive) = self.alive.lock() {
            alive.push(entry.clone());
        }
        let result = work();
        if let Ok(mut alive) = self.alive.lock() {
            alive.retain(|other| *other != entry);
        }
        if let Ok(mut ended) = self.ended.lock() {
            ended.push(cpu_of(entry.0));
        }
        result
    }

    /// CPU time of the threads that have ended, sorted by name.
    pub(crate) fn ended(&self) -> Vec<ThreadCpu> {
        let mut ended = self.ended.lock().map(|ended| ended.clone()).unwrap_or_default();
        ended.sort_by(|a, b| a.thread.cmp(&b.thread));
        ended
    }

    fn alive(&self) -> Vec<(ThreadRole, i32)> {
        self.alive.lock().map(|alive| alive.clone()).unwrap_or_default()
    }
}

/// What the telemetry has to say of itself and for the judgement of the run.
pub(crate) struct Sampled {
    pub(crate) lateness: Option<Lateness>,
    pub(crate) slow_start_until: Time,
}

/// What it gathers for that.
struct Notes {
    lateness: LatenessMeter,
    slow_start_until: Time,
}

/// The sampling thread.
pub(crate) struct Telemetry<'a> {
    pub(crate) clock: RunClock,
    pub(crate) every: Duration,
    pub(crate) streams: &'a [StreamProbe<'a>],
    pub(crate) path: [(Direction, &'a Mutex<PathState>); 2],
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
        let mut notes = Notes { lateness: LatenessMeter::new(), slow_start_until: Time::ZERO };
        // Who has stopped listening says why when it is joined.
        let _why = self.sample_until_stopped(rows, &mut notes);
        Sampled { lateness: notes.lateness.summary(), slow_start_until: notes.slow_start_until }
    }

    fn sample_until_stopped(&self, rows: &Rows, notes: &mut Notes) -> Result<(), Closed> {
        let (mut due, mut seldom_due) = (self.clock.now(), self.clock.now());
        while !self.stop.load(Ordering::Relaxed) {
            let now = self.clock.now();
            notes.lateness.record(now.since(due));
            let is_full = now >= seldom_due;
            self.sample(rows, is_full, notes)?;
            if is_full {
                self.sample_cpu(now, rows)?;
                seldom_due = now.after(SELDOM);
            }
            // A sample that was missed is missing; the ones after it keep their places.
            while due <= self.clock.now() {
                due = due.after(self.every);
            }
            self.clock.sleep_until(due);
        }
        self.sample(rows, true, notes)?;
        self.sample_cpu(self.clock.now(), rows)
    }

    /// `is_full`: with the raw bytes.
    fn sample(&self, rows: &Rows, is_full: bool, notes: &mut Notes) -> Result<(), Closed> {
        for probe in self.streams {
            match probe.protocol {
                Protocol::Tcp => {
                    let ends = [(StreamEnd::Sender, probe.sender), (StreamEnd::Receiver, probe.receiver)];
                    for (end, socket) in ends {
                        let row = sample_tcp(self.clock, probe.stream, end, socket, is_full);
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
        let Ok(backlogs) = state.lock().map(|state| state.backlog.clone()) else { return Ok(()) };
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

    fn sample_cpu(&self, now: Time, rows: &Rows) -> Result<(), Closed> {
        for (thread, id) in self.threads.alive() {
            if let Some(Scheduled { cpu_us, wait_us }) = Scheduled::of_thread(id) {
                let wait_us = Some(wait_us);
                rows.send(AnyRow::Cpu(CpuSample { t_us: now.micros(), thread, cpu_us, wait_us }))?;
            }
        }
        Ok(())
    }
}

/// One sample of one end, `is_full` with the raw bytes; `None` where the kernel no longer answers for the socket.
pub(crate) fn sample_tcp(
    clock: RunClock,
    stream: u32,
    end: StreamEnd,
    socket: &Socket,
    is_full: bool,
) -> Option<TcpSample> {
    let mut bytes = [0; 512];
    let len = tcp_info(socket, &mut bytes).ok()?;
    let memory = mem_info(socket).ok();
    Some(TcpSample {
        t_us: clock.now().micros(),
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

/// What the scheduler has counted for a thread so far.
struct Scheduled {
    /// On a CPU.
    cpu_us: u64,
    /// Ready to run, without a CPU.
    wait_us: u64,
}

impl Scheduled {
    /// Of a thread of this process, from `/proc/self/task/ID/schedstat` (Documentation/scheduler/sched-stats.rst).
    fn of_thread(id: i32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/self/task/{id}/schedstat")).ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut nanos = text.split_whitespace().map(str::parse::<u64>);
        let mut micros = || Some(nanos.next()?.ok()? / 1_000);
        Some(Self { cpu_us: micros()?, wait_us: micros()? })
    }
}

/// What the calling thread has used in all.
fn cpu_of(role: ThreadRole) -> ThreadCpu {
    let wait_us = Scheduled::of_thread(thread::id()).map(|scheduled| scheduled.wait_us);
    ThreadCpu { wait_us, ..thread::cpu(role) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threads_time_on_a_cpu_and_its_wait_for_one() {
        let read = |text: &str| Scheduled::parse(text).map(|one| (one.cpu_us, one.wait_us));
        assert_eq!(read("5000000 1250999 17\n"), Some((5_000, 1_250)));
        assert_eq!([read(""), read("5000000"), read("x y z")], [None; 3]);
    }
}
