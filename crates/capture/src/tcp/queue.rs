//! Entries in one piece of memory that come at the end and go at the front, rarely in the middle.
//!
//! Invariant: room doubles only where three quarters of it are in use. What is moved to the front costs O(1) for each entry.

use std::ops::{Deref, DerefMut};

#[derive(Debug, Clone)]
pub(super) struct Queue<T> {
    all: Vec<T>,
    /// How many entries at the front of the memory are removed.
    gone: usize,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self { all: Vec::new(), gone: 0 }
    }
}

impl<T> Queue<T> {
    #[inline]
    pub(super) fn push(&mut self, entry: T) {
        if self.all.len() == self.all.capacity() {
            self.make_room();
        }
        self.all.push(entry);
    }

    /// Moves what is left to the front where a quarter is gone; else room doubles, from one entry on: most connections never have more.
    #[cold]
    fn make_room(&mut self) {
        if self.gone > 0 && 4 * self.gone >= self.all.len() {
            self.all.drain(..self.gone);
            self.gone = 0;
        } else {
            self.all.reserve_exact(self.all.len().max(1));
        }
    }

    /// The first entry goes; there has to be one.
    #[inline]
    pub(super) fn drop_first(&mut self) {
        self.drop_front(1);
    }

    /// Removes a number of entries at the front, of which there have to be at least as many.
    #[inline]
    pub(super) fn drop_front(&mut self, count: usize) {
        self.gone += count;
        if self.gone == self.all.len() {
            self.all.clear();
            self.gone = 0;
        }
    }

    pub(super) fn insert(&mut self, index: usize, entry: T) {
        self.all.insert(self.gone + index, entry);
    }

    /// Bytes on the heap.
    pub(super) fn memory(&self) -> usize {
        self.all.capacity() * size_of::<T>()
    }
}

impl<T> Deref for Queue<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.all[self.gone..]
    }
}

impl<T> DerefMut for Queue<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.all[self.gone..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn it_holds_what_a_deque_holds(steps in prop::collection::vec((0..5_u8, 0..100_usize), 0..2000)) {
            let (mut queue, mut deque) = (Queue::default(), VecDeque::new());
            for (at, (what, place)) in steps.into_iter().enumerate() {
                match what {
                    0 | 1 => {
                        queue.push(at);
                        deque.push_back(at);
                    }
                    2 | 3 if !deque.is_empty() => {
                        queue.drop_first();
                        deque.pop_front();
                    }
                    _ => {
                        let place = place % (deque.len() + 1);
                        queue.insert(place, at);
                        deque.insert(place, at);
                    }
                }
                prop_assert!(queue.iter().eq(&deque));
            }
        }
    }

    #[test]
    fn a_queue_that_stays_short_takes_no_more_room() {
        let mut queue = Queue::default();
        for at in 0..100_000_u64 {
            queue.push(at);
            if at >= 100 {
                assert_eq!(queue.first(), Some(&(at - 100)));
                queue.drop_first();
            }
        }
        assert!(queue.memory() <= 256 * 8, "{} bytes", queue.memory());
    }
}
