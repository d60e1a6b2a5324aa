//! A clock that was set ahead during a transfer: one capture alone shows a pause, two captures show a jump of one clock.

/// The difference of both clocks has to move by so much from one mark to the next, nanoseconds: packets wait less long in a queue. Packets still
/// match where it moves by less.
pub(super) const LEAST_NS: u64 = 500_000_000;
/// The pause between two packets is at least this part of the jump of the clock, since delays change too.
const PAUSE_PART: (u64, u64) = (3, 4);

/// A clock that was set during a transfer, as the difference to the other clock shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OffsetMove {
    /// When, by A's clock, nanoseconds since 1970; uncertain by the pause between two packets.
    pub at_ns: u64,
    /// How much farther B's clock is ahead from then on, nanoseconds.
    pub by_ns: i64,
}

/// A pause in one capture that the other does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SetAhead {
    /// The first packet behind it.
    at_ns: u64,
    by_ns: u64,
}

/// The jumps of each capture's clock. `marks` are times at which both captures have the same data, `pauses` the long pauses of each.
pub(super) fn clocks_set_ahead(marks: &[(u64, u64)], pauses: [&[(u64, u64)]; 2]) -> [Vec<SetAhead>; 2] {
    let mut found = [Vec::new(), Vec::new()];
    for pair in marks.windows(2) {
        let passed = [(pair[0].0, pair[1].0), (pair[0].1, pair[1].1)];
        let [mine, its] = passed.map(|(from, to)| to.saturating_sub(from));
        let (which, by_ns) = if mine > its { (0, mine - its) } else { (1, its - mine) };
        let (from_ns, to_ns) = passed[which];
        let is_it = |&&(last_ns, next_ns): &&(u64, u64)| {
            let (part, of) = PAUSE_PART;
            from_ns <= last_ns && next_ns <= to_ns && next_ns - last_ns >= by_ns / of * part
        };
        if by_ns >= LEAST_NS
            && let Some(&(_, at_ns)) = pauses[which].iter().find(is_it)
        {
            found[which].push(SetAhead { at_ns, by_ns });
        }
    }
    found
}

/// `time_ns` of a capture as if its clock had not been set `ahead`.
pub(super) fn corrected(ahead: &[SetAhead], time_ns: u64) -> u64 {
    let before = ahead.iter().take_while(|set| set.at_ns <= time_ns);
    before.fold(time_ns, |time_ns, set| time_ns.saturating_sub(set.by_ns))
}

/// How that moved the difference of the second clock to the first, at first.
pub(super) fn offset_move([first, second]: &[Vec<SetAhead>; 2]) -> Option<OffsetMove> {
    let moved = |set: &SetAhead, sign: i64| {
        let by_ns = i64::try_from(set.by_ns).unwrap_or(i64::MAX);
        OffsetMove { at_ns: set.at_ns, by_ns: by_ns.saturating_mul(sign) }
    };
    first.first().map(|set| moved(set, -1)).or_else(|| second.first().map(|set| moved(set, 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_pause_that_one_capture_alone_has_is_taken_out_of_its_times() {
        let marks = [(10, 15), (11, 16), (3_612, 17), (3_613, 18)]
            .map(|(from_s, to_s)| (from_s * SECOND, to_s * SECOND));
        let pauses = [(11 * SECOND + 5, 3_611 * SECOND + 5)];
        let ahead = clocks_set_ahead(&marks, [&pauses, &[]]);
        assert_eq!((ahead[0].len(), ahead[1].len()), (1, 0));
        let times = [11 * SECOND, 11 * SECOND + 5, 3_611 * SECOND + 5, 3_612 * SECOND];
        let times = times.map(|time| corrected(&ahead[0], time));
        assert_eq!(times, [11 * SECOND, 11 * SECOND + 5, 11 * SECOND + 5, 12 * SECOND]);
        assert_eq!(offset_move(&ahead).map(|moved| moved.by_ns), Some(-3_600_000_000_000));
    }

    #[test]
    fn where_packets_waited_in_between_nothing_was_set() {
        let marks = [(10 * SECOND, 10 * SECOND), (12 * SECOND, 11 * SECOND)];
        let pause = [(10 * SECOND, 10 * SECOND + LEAST_NS)];
        assert_eq!(clocks_set_ahead(&marks, [&pause, &[]]), [vec![], vec![]]);
    }
}
