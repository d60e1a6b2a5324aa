//! Which of a stream's numbers have been seen: one bit each, in memory that does not grow with the stream's length. What lies further behind
//! the highest than [`SPAN`] is forgotten.

/// Numbers that are remembered: at 10 Gbit/s of full datagrams about five seconds of them.
const SPAN: u64 = 1 << 22;

/// Bits of a word.
const WORD: u64 = u64::BITS as u64;
/// Words of the ring.
const RING: u64 = SPAN / WORD;

/// The numbers seen of one stream.
#[derive(Debug)]
pub(super) struct SeenNumbers {
    ring: Vec<u64>,
    /// One more than the highest word that is in the ring.
    end: u64,
}

impl Default for SeenNumbers {
    fn default() -> Self {
        Self { ring: vec![0; RING as usize], end: 0 }
    }
}

impl SeenNumbers {
    /// Notes `number`; false if it was seen before. One that is too old to be known counts as new.
    pub(super) fn insert(&mut self, number: u64) -> bool {
        let word = number / WORD;
        if word + RING < self.end {
            return true;
        }
        self.reach(word);
        let bits = &mut self.ring[(word % RING) as usize];
        let bit = 1 << (number % WORD);
        let is_new = *bits & bit == 0;
        *bits |= bit;
        is_new
    }

    /// Moves the ring on to `word`, clearing what falls out of it.
    fn reach(&mut self, word: u64) {
        for new in self.end.max(word.saturating_sub(RING))..=word {
            self.ring[(new % RING) as usize] = 0;
        }
        self.end = self.end.max(word + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_new_once() {
        let mut seen = SeenNumbers::default();
        for number in [0, 5, 63, 64, 3, 1000, 999] {
            assert!(seen.insert(number), "{number}");
            assert!(!seen.insert(number), "{number}");
        }
    }

    #[test]
    fn the_ring_forgets_what_is_far_behind_and_nothing_else() {
        let mut seen = SeenNumbers::default();
        for number in 0..3 * SPAN {
            assert!(seen.insert(number), "{number}");
        }
        assert!((2 * SPAN..3 * SPAN).all(|number| !seen.insert(number)));
        assert!(seen.insert(0) && seen.insert(2 * SPAN - 1));
    }

    #[test]
    fn a_leap_leaves_no_old_bits() {
        let mut seen = SeenNumbers::default();
        assert!((0..200).all(|number| seen.insert(number)));
        assert!(seen.insert(5 * SPAN + 100));
        assert!((5 * SPAN..5 * SPAN + 100).all(|number| seen.insert(number)));
        assert!(!seen.insert(5 * SPAN + 100));
    }
}
