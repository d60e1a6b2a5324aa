//! Lets somebody who reads a busy socket in: its worker has the socket's lock again before who waits for it can run (`release_sock()`,
//! `lock_sock_fast()`).

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::yield_now;
use std::time::{Duration, Instant};

/// No worker waits longer for who reads.
const LONGEST: Duration = Duration::from_millis(1);

/// What one worker and one reader of a socket share.
#[derive(Debug, Default)]
pub(crate) struct GiveWay(AtomicBool);

/// The worker gives way until this is dropped.
#[derive(Debug)]
pub(crate) struct Asked<'a>(&'a AtomicBool);

impl GiveWay {
    /// Asks the worker to wait before its next call.
    pub(crate) fn ask(&self) -> Asked<'_> {
        self.0.store(true, Ordering::Relaxed);
        Asked(&self.0)
    }

    /// The worker, between two calls: waits where it was asked.
    #[inline]
    pub(crate) fn where_asked(&self) {
        if self.0.load(Ordering::Relaxed) {
            self.wait();
        }
    }

    #[cold]
    fn wait(&self) {
        let since = Instant::now();
        while self.0.load(Ordering::Relaxed) && since.elapsed() < LONGEST {
            yield_now();
        }
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn a_worker_waits_while_it_is_asked_and_not_for_ever() {
        let (way, calls) = (GiveWay::default(), AtomicU64::new(0));
        let asked = way.ask();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..20 {
                    way.where_asked();
                    calls.fetch_add(1, Ordering::Relaxed);
                }
            });
            let since = Instant::now();
            while calls.load(Ordering::Relaxed) < 5 {
                yield_now();
            }
            assert!(since.elapsed() >= 4 * LONGEST, "four waits at least: {:?}", since.elapsed());
            drop(asked);
        });
        assert_eq!(calls.load(Ordering::Relaxed), 20);
    }
}
