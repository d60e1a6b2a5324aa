//! Senders that are not ours, watched by BPF while they live: the time in each congestion state, and every retransmission.
//!
//! Never: a change to what is watched. Everything is gone with this value.

use crate::clock::RunClock;
use crate::kernel_types::ensure_permitted;
use crate::namespace::Namespace;
use crate::trace::Trace;
use pipefill_core::record::{CaStateTimes, Retransmit};
use pipefill_core::tcp_info::CaState;
use std::convert::Infallible;
use std::fmt;
use std::path::Path;

/// The namespace of the calling thread.
const OWN: &str = "/proc/thread-self/ns/net";

/// BPF's events of the senders in one network namespace. Times count from [`SenderTrace::start`].
pub struct SenderTrace {
    trace: Trace,
}

impl SenderTrace {
    /// Watches the namespace that `file` stands for, or the calling thread's own.
    ///
    /// # Errors
    /// Why the kernel does not let us, in a line.
    pub fn start(file: Option<&Path>) -> Result<Self, String> {
        let clock = RunClock::start();
        ensure_permitted()?;
        let namespace = Namespace::open(file.unwrap_or(Path::new(OWN))).map_err(|error| error.to_string())?;
        Ok(Self { trace: Trace::start(clock, [&namespace, &namespace])? })
    }

    /// Counts from now on for the socket with this cookie, which was in `state` and had sent `retransmits` segments again when it was
    /// looked at last. False where there is no room for one more.
    pub fn watch(&mut self, cookie: u64, state: CaState, retransmits: u32) -> bool {
        self.trace.watch_live(cookie, state, retransmits).is_ok()
    }

    /// Counts no longer for it.
    pub fn forget(&mut self, cookie: u64) {
        self.trace.forget(cookie);
    }

    /// Hands over what is known of retransmissions since the last call, each with its socket's cookie. One that belongs to a recovery comes
    /// when that ends.
    pub fn drain(&mut self, mut each: impl FnMut(u64, Retransmit)) {
        let Ok(()) = self.trace.drain_each(|cookie, row| -> Result<(), Infallible> {
            each(cookie, row);
            Ok(())
        });
    }

    /// Time in each congestion state since [`SenderTrace::watch`]; `None` for a socket that is not watched, and where the figures changed
    /// while they were read.
    pub fn state_times(&self, cookie: u64) -> Option<CaStateTimes> {
        self.trace.state_times_so_far(cookie)
    }

    /// Events that were lost because they were not drained in time.
    pub fn lost(&self) -> Option<u64> {
        self.trace.lost()
    }
}

impl fmt::Debug for SenderTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SenderTrace").finish_non_exhaustive()
    }
}
