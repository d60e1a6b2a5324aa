//! The wish to stop, shared by who has it and who is at work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether somebody asked to stop.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    requested: Arc<AtomicBool>,
    /// Whether somebody has reacted to it.
    answered: Arc<AtomicBool>,
}

impl Stop {
    /// Asks once `flag` is set.
    pub fn when(flag: &Arc<AtomicBool>) -> Self {
        Self { requested: Arc::clone(flag), answered: Arc::default() }
    }

    /// Asks to stop.
    pub fn request(&self) {
        self.requested.store(true, Ordering::Relaxed);
    }

    /// Whether somebody asked.
    pub fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }

    /// True once, for whoever looks first after somebody asked: the one who has to answer.
    pub fn is_unanswered(&self) -> bool {
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
