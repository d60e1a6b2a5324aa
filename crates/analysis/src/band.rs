//! What stood when, as spans in order of time: few of them, however often it changed.
//!
//! Never: a change left out while there is room for it, or time that no span covers.

/// A value that stood for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stay<T> {
    /// Since when, microseconds.
    pub from_us: u64,
    /// Until when.
    pub to_us: u64,
    /// What stood.
    pub value: T,
}

/// The stays so far; neighbours of the same value are one.
#[derive(Debug, Clone)]
pub struct Band<T> {
    stays: Vec<Stay<T>>,
    most: usize,
}

impl<T: Copy + PartialEq> Band<T> {
    /// A band of at most `most` stays, of two where that is less.
    pub fn of(most: usize) -> Self {
        Self { stays: Vec::new(), most: most.max(2) }
    }

    /// Adds the next stay, which begins no earlier than the last one ended.
    pub fn push(&mut self, stay: Stay<T>) {
        if self.stays.len() == self.most {
            self.halve();
        }
        join(&mut self.stays, stay);
    }

    /// The stays in order of time.
    pub fn into_stays(self) -> Vec<Stay<T>> {
        self.stays
    }

    /// Of every two neighbours the longer one speaks for both.
    fn halve(&mut self) {
        let mut halved = Vec::with_capacity(self.most);
        for pair in self.stays.chunks(2) {
            let (first, last) = (pair[0], pair[pair.len() - 1]);
            let longer = if length(&first) >= length(&last) { first } else { last };
            join(&mut halved, Stay { from_us: first.from_us, to_us: last.to_us, ..longer });
        }
        self.stays = halved;
    }
}

fn join<T: Copy + PartialEq>(stays: &mut Vec<Stay<T>>, stay: Stay<T>) {
    match stays.last_mut().filter(|last| last.value == stay.value) {
        Some(last) => last.to_us = stay.to_us,
        None => stays.push(stay),
    }
}

fn length<T>(stay: &Stay<T>) -> u64 {
    stay.to_us - stay.from_us
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = 1000;

    /// Two values in turn, `long` and 1 µs long.
    fn in_turn(changes: u64, long: u64) -> Vec<Stay<bool>> {
        let mut band = Band::of(MOST);
        let mut from_us = 0;
        for number in 0..changes {
            let (length, value) = [(long, true), (1, false)][(number % 2) as usize];
            let to_us = from_us + length;
            band.push(Stay { from_us, to_us, value });
            from_us = to_us;
        }
        band.into_stays()
    }

    #[test]
    fn every_change_is_kept_while_there_is_room() {
        assert_eq!(in_turn(999, 3).len(), 999);
    }

    #[test]
    fn of_more_changes_the_longer_stays_remain_and_no_time_is_left_out() {
        let stays = in_turn(100_001, 3);
        assert!(stays.len() <= MOST, "{}", stays.len());
        assert!(stays.windows(2).all(|pair| pair[0].to_us == pair[1].from_us));
        assert_eq!((stays[0].from_us, stays[stays.len() - 1].to_us), (0, 50_001 * 3 + 50_000));
        let of_true: u64 = stays.iter().filter(|stay| stay.value).map(length).sum();
        assert!(of_true >= 150_000, "{of_true}");
    }
}
