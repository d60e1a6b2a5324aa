//! What stood when, as spans in order of time: few of them, however often it changed.
//!
//! Never: a change left out while there is room for it, or time that no span covers.

/// A value that stood for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step<T> {
    /// Since when, microseconds.
    pub from_us: u64,
    /// Until when.
    pub to_us: u64,
    /// What stood.
    pub value: T,
}

/// The steps so far; neighbours of the same value are one.
#[derive(Debug, Clone)]
pub struct StepFunction<T> {
    steps: Vec<Step<T>>,
    most: usize,
}

impl<T: Copy + PartialEq> StepFunction<T> {
    /// A function of at most `most` steps, of two where that is less.
    pub fn of(most: usize) -> Self {
        Self { steps: Vec::new(), most: most.max(2) }
    }

    /// Adds the next step, which begins no earlier than the last one ended.
    pub fn push(&mut self, step: Step<T>) {
        if self.steps.len() == self.most {
            self.halve();
        }
        join(&mut self.steps, step);
    }

    /// The steps in order of time.
    pub fn into_steps(self) -> Vec<Step<T>> {
        self.steps
    }

    /// Of every two neighbours the longer one speaks for both.
    fn halve(&mut self) {
        let mut halved = Vec::with_capacity(self.most);
        for pair in self.steps.chunks(2) {
            let (first, last) = (pair[0], pair[pair.len() - 1]);
            let longer = if length(&first) >= length(&last) { first } else { last };
            join(&mut halved, Step { from_us: first.from_us, to_us: last.to_us, ..longer });
        }
        self.steps = halved;
    }
}

fn join<T: Copy + PartialEq>(steps: &mut Vec<Step<T>>, step: Step<T>) {
    match steps.last_mut().filter(|last| last.value == step.value) {
        Some(last) => last.to_us = step.to_us,
        None => steps.push(step),
    }
}

fn length<T>(step: &Step<T>) -> u64 {
    step.to_us.saturating_sub(step.from_us)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = 1000;

    /// Two values in turn, `long` and 1 µs long.
    fn in_turn(changes: u64, long: u64) -> Vec<Step<bool>> {
        let mut function = StepFunction::of(MOST);
        let mut from_us = 0;
        for number in 0..changes {
            let (length, value) = [(long, true), (1, false)][(number % 2) as usize];
            let to_us = from_us + length;
            function.push(Step { from_us, to_us, value });
            from_us = to_us;
        }
        function.into_steps()
    }

    #[test]
    fn every_change_is_kept_while_there_is_room() {
        assert_eq!(in_turn(999, 3).len(), 999);
    }

    #[test]
    fn of_more_changes_the_longer_stays_remain_and_no_time_is_left_out() {
        let steps = in_turn(100_001, 3);
        assert!(steps.len() <= MOST, "{}", steps.len());
        assert!(steps.windows(2).all(|pair| pair[0].to_us == pair[1].from_us));
        assert_eq!((steps[0].from_us, steps[steps.len() - 1].to_us), (0, 50_001 * 3 + 50_000));
        let of_true: u64 = steps.iter().filter(|step| step.value).map(length).sum();
        assert!(of_true >= 150_000, "{of_true}");
    }
}
