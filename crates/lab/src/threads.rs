//! The threads of a run: started with their errors told, known by what they do, and stopped whatever happens.
//!
//! A scope waits for its threads. Whoever leaves one early, by an error or a panic, has to stop them first, or waits for ever: a
//! [`StopOnDrop`] made before the first of them does.

use crate::sys::thread;
use pipefill_core::record::{ThreadCpu, ThreadRole};
use std::fs;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, Scope, ScopedJoinHandle};

/// Sets its flags when it goes.
pub(crate) struct StopOnDrop<'a, const N: usize>(pub(crate) [&'a AtomicBool; N]);

impl<const N: usize> Drop for StopOnDrop<'_, N> {
    fn drop(&mut self) {
        self.0.iter().for_each(|flag| flag.store(true, Ordering::Relaxed));
    }
}

/// Starts `work` on a thread of `scope`, called `name`.
///
/// # Errors
/// No thread was to be had; says which limits there are.
pub(crate) fn start_thread<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    Builder::new().name(name.to_owned()).spawn_scoped(scope, work).map_err(|error| {
        let limits = "raise the limit on processes and threads (`ulimit -u`, pids.max of the cgroup, or TasksMax= of the service)";
        io::Error::new(error.kind(), format!("no thread for \"{name}\": {error}; {limits}"))
    })
}

/// The result of a thread that says of `what` it was if it panicked.
pub(crate) fn joined<T>(handle: ScopedJoinHandle<'_, io::Result<T>>, what: &str) -> io::Result<T> {
    handle.join().unwrap_or_else(|_| Err(io::Error::other(format!("{what} panicked"))))
}

/// The threads of a run, by what they do.
#[derive(Default)]
pub(crate) struct Threads {
    alive: Mutex<Vec<(ThreadRole, i32)>>,
    ended: Mutex<Vec<ThreadCpu>>,
}

impl Threads {
    /// Starts `work` on a thread of `scope` as `role`: its CPU time is sampled meanwhile and noted at the end.
    ///
    /// # Errors
    /// Those of [`start_thread`].
    pub(crate) fn start<'scope, T: Send + 'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        role: ThreadRole,
        work: impl FnOnce() -> T + Send + 'scope,
    ) -> io::Result<ScopedJoinHandle<'scope, T>> {
        let name = role.to_string();
        start_thread(scope, &name, move || self.note(role, work))
    }

    /// Does `work` on this thread as `role`.
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

    /// The threads at work, each with what it has used so far.
    pub(crate) fn alive(&self) -> impl Iterator<Item = (ThreadRole, Scheduled)> {
        let alive = self.alive.lock().map(|alive| alive.clone()).unwrap_or_default();
        alive.into_iter().filter_map(|(role, id)| Some((role, Scheduled::of_thread(id)?)))
    }
}

/// What the scheduler has counted for a thread so far.
pub(crate) struct Scheduled {
    /// On a CPU.
    pub(crate) cpu_us: u64,
    /// Ready to run, without a CPU.
    pub(crate) wait_us: u64,
}

impl Scheduled {
    /// Of a thread of this process, from `/proc/self/task/ID/schedstat` (Documentation/scheduler/sched-stats.rst).
    fn of_thread(id: i32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/self/task/{id}/schedstat")).ok()?)
    }

    /// Of the text of a file `schedstat`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
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
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::mpsc;
    use std::time::Duration;

    #[test]
    fn a_threads_time_on_a_cpu_and_its_wait_for_one() {
        let read = |text: &str| Scheduled::parse(text).map(|scheduled| (scheduled.cpu_us, scheduled.wait_us));
        assert_eq!(read("5000000 1250999 17\n"), Some((5_000, 1_250)));
        assert_eq!([read(""), read("5000000"), read("x y z")], [None; 3]);
    }

    /// Whether a scope whose thread waits for the flag ends, where `body` leaves it early.
    fn ends(body: impl Fn() -> io::Result<()> + Send + 'static) -> bool {
        let (told, ended) = mpsc::channel();
        std::thread::spawn(move || {
            let (threads, stop) = (Threads::default(), AtomicBool::new(false));
            let _panicked = catch_unwind(AssertUnwindSafe(|| {
                std::thread::scope(|scope| {
                    let _stop = StopOnDrop([&stop]);
                    threads.start(scope, ThreadRole::Telemetry, || {
                        while !stop.load(Ordering::Relaxed) {
                            std::thread::sleep(Duration::from_millis(1));
                        }
                    })?;
                    body()
                })
            }));
            told.send(threads.ended().len()).unwrap();
        });
        ended.recv_timeout(Duration::from_secs(20)) == Ok(1)
    }

    #[test]
    fn a_scope_that_is_left_early_ends_its_threads() {
        assert!(ends(|| Ok(())));
        assert!(ends(|| Err(io::ErrorKind::WouldBlock.into())));
        assert!(ends(|| panic!("in the scope, on purpose")));
    }
}
