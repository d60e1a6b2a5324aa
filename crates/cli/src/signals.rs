//! Ctrl-C and SIGTERM: the first asks the run to stop and to tidy up, the second ends the process at once.
//!
//! Never: a thread; the lab may need the process to have one only.

use crate::failure::Failure;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Exit code of a process that a second signal ended.
const STOPPED: i32 = 2;

/// Whether the user asked to stop.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Set by SIGINT and SIGTERM from now on.
    pub(crate) fn on_signals() -> Result<Self, Failure> {
        let stop = Self::default();
        for signal in [SIGINT, SIGTERM] {
            // In this order: the shutdown looks at the flag before the same signal sets it.
            flag::register_conditional_shutdown(signal, STOPPED, Arc::clone(&stop.0))
                .and_then(|_| flag::register(signal, Arc::clone(&stop.0)))
                .map_err(|error| Failure::Other(format!("signals can't be watched: {error}")))?;
        }
        Ok(stop)
    }

    /// Asks to stop.
    #[cfg(test)]
    pub(crate) fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether somebody asked.
    pub(crate) fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
