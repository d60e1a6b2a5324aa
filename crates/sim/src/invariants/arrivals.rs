//! A list of its own of what arrived, so that no receiver can claim a byte that never came.

use super::{Verdict, holds};
use crate::segment::{Body, Range};
use crate::tcp::limits::FIRST_BYTE;
use crate::tcp::receiver::Receiver;

/// Ranges of bytes that reached the receiving end.
#[derive(Debug)]
pub(super) struct Arrivals {
    /// Everything below came, without a hole.
    contiguous: u64,
    /// Beyond a hole; in order, apart from each other.
    beyond: Vec<Range>,
}

impl Default for Arrivals {
    fn default() -> Self {
        Self { contiguous: FIRST_BYTE, beyond: Vec::new() }
    }
}

impl Arrivals {
    pub(super) fn note(&mut self, body: &Body) {
        let Body::Data(data) = body else { return };
        let mut range = data.range();
        if range.start > self.contiguous {
            let from = self.beyond.partition_point(|known| known.end < range.start);
            let until = self.beyond.partition_point(|known| known.start <= range.end);
            for known in self.beyond.drain(from..until) {
                range = Range { start: range.start.min(known.start), end: range.end.max(known.end) };
            }
            self.beyond.insert(from, range);
            return;
        }
        self.contiguous = self.contiguous.max(range.end);
        let reached = self.beyond.partition_point(|known| known.start <= self.contiguous);
        for known in self.beyond.drain(..reached) {
            self.contiguous = self.contiguous.max(known.end);
        }
    }

    /// Whether all that `receiver` says it has did come.
    pub(super) fn cover(&self, receiver: &Receiver) -> Verdict {
        let (taken, came) = (receiver.rcv_nxt, self.contiguous);
        holds(taken <= came, || format!("the receiver is at {taken}, but only {came} came without a hole"))?;
        let holds_all = receiver.reassembly.ranges().all(|range| self.has(range));
        holds(holds_all, || "a range is told of that never came".to_owned())
    }

    fn has(&self, range: Range) -> bool {
        let at = self.beyond.partition_point(|known| known.end < range.end);
        let is_beyond = self.beyond.get(at).is_some_and(|known| known.start <= range.start);
        range.end <= self.contiguous || is_beyond
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::{Data, Header};

    #[test]
    fn ranges_grow_together_and_holes_stay() {
        let mut arrivals = Arrivals::default();
        let mut note = |seq, len| {
            let header = Header { seq, ..Header::default() };
            arrivals.note(&Body::Data(Data { header, len, push: false }));
            (arrivals.contiguous, arrivals.beyond.len())
        };
        assert_eq!(note(21, 10), (1, 1));
        assert_eq!(note(41, 10), (1, 2));
        assert_eq!(note(31, 10), (1, 1));
        assert_eq!(note(1, 10), (11, 1));
        assert_eq!(note(5, 16), (51, 0));
        assert!(arrivals.has(Range { start: 20, end: 51 }));
        assert!(!arrivals.has(Range { start: 20, end: 52 }));
    }
}
