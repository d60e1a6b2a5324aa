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
pub(crate) struct Stop {
    requested: Arc<AtomicBool>,
    /// Whether somebody has reacted to it.
    answered: Arc<AtomicBool>,
}

impl Stop {
    /// Set by SIGINT and SIGTERM from now on.
    pub(crate) fn on_signals() -> Result<Self, Failure> {
        let stop = Self::default();
        for signal in [SIGINT, SIGTERM] {
            // In this order: the shutdown looks at the flag before the same signal sets it.
            flag::register_conditional_shutdown(signal, STOPPED, Arc::clone(&stop.requested))
                .and_then(|_| flag::register(signal, Arc::clone(&stop.requested)))
                .map_err(|error| Failure::Other(format!("cannot handle signals: {error}")))?;
        }
        Ok(stop)
    }

    /// Asks to stop, as the first signal does.
    pub(crate) fn request(&self) {
        self.requested.store(true, Ordering::Relaxed);
    }

    /// Whether somebody asked.
    pub(crate) fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }

    /// True once, for whoever looks first after somebody asked: the one who has to answer.
    pub(crate) fn is_unanswered(&self) -> bool {
        self.is_requested() && !self.answered.swap(true, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_answered_once() {
        let stop = Stop::default();
        assert!(!stop.is_unanswered());
        stop.request();
        let same = stop.clone();
        assert_eq!([stop.is_unanswered(), same.is_unanswered(), stop.is_requested()], [true, false, true]);
    }
}
