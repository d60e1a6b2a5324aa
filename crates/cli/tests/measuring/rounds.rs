//! Whose turn it is: in each round so many tests at a time, in their order; a round begins when all of those before have ended.
//!
//! What waits sleeps until its own turn: nobody wakes beside a test that measures.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// When a test is made, and beside how many others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Round {
    /// Slow tests: they wait most of the time, for a path that is slow.
    Slow,
    /// Those of them again whose run was late.
    Again,
    /// Each of the others, and what was late again.
    Alone,
}

impl Round {
    pub(super) const ALL: [Self; 3] = [Self::Slow, Self::Again, Self::Alone];

    /// So many tests run at a time.
    const fn at_once(self) -> usize {
        match self {
            Self::Slow => 5,
            Self::Again => 2,
            Self::Alone => 1,
        }
    }
}

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Slow => "beside others",
            Self::Again => "beside one other",
            Self::Alone => "alone",
        })
    }
}

/// Who waits, and who runs.
struct Turns {
    waiting: BTreeMap<(Round, usize), Sender<()>>,
    round: Round,
    running: usize,
}

static TURNS: Mutex<Turns> = Mutex::new(Turns { waiting: BTreeMap::new(), round: Round::Slow, running: 0 });

impl Turns {
    fn lock() -> MutexGuard<'static, Self> {
        TURNS.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins with those whose turn it is.
    fn give(&mut self) {
        while let Some(first) = self.waiting.first_entry() {
            let (round, _) = *first.key();
            let has_room = self.running == 0 || (round == self.round && self.running < round.at_once());
            if !has_room {
                return;
            }
            (self.round, self.running) = (round, self.running + 1);
            first.remove().send(()).expect("it waits");
        }
    }
}

/// A turn, until it is dropped.
pub(super) struct Turn(());

impl Drop for Turn {
    fn drop(&mut self) {
        let mut turns = Turns::lock();
        turns.running -= 1;
        turns.give();
    }
}

/// Waits until it is the turn of test `number` in this round.
pub(super) fn wait_for(round: Round, number: usize) -> Turn {
    let (begin, begun) = channel();
    let mut turns = Turns::lock();
    turns.waiting.insert((round, number), begin);
    turns.give();
    drop(turns);
    begun.recv().expect("who waits is never forgotten");
    Turn(())
}
