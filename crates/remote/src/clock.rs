//! The offset between the clocks of two hosts and its error, from timestamps that they exchange as NTP does (RFC 5905, sections 8 and 10).
//!
//! Our own server says that it can ([`TestState::Clock`]), before the streams and again before the end. The client asks as often as it
//! likes, each time with that state, and ends with [`TestState::ClockDone`]; the server answers with the state and [`Answer`]. While the test runs
//! the client may ask too: then the answers tell how long a message takes each way beside the test's data.
//!
//! Nobody can tell an offset from a path that is longer one way than the other: half of the round trip is the error, and no less.
//!
//! [`TestState::Clock`]: crate::iperf3::TestState::Clock
//! [`TestState::ClockDone`]: crate::iperf3::TestState::ClockDone

/// Bytes of an [`Answer`].
pub const ANSWER: usize = 20;
/// Questions that a server answers before or after a test.
pub const ROUNDS_MAX: usize = 64;
/// How fast two clocks may run apart that nobody sets, parts per million: twice what the kernel's own clock discipline corrects at most (`MAXFREQ`).
const SLEW_PPM: f64 = 1_000.0;
/// What a clock is set by at least, nanoseconds: less is lost in the time that a message takes through both hosts.
const SET_NS: f64 = 1e6;
/// How far two clocks run apart unless they are measured to, parts per million (`PHI`, RFC 5905, section 7.2).
pub const PHI_PPM: f64 = 15.0;

/// What a server answers: its clock when the question came and when the answer went, nanoseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Answer {
    /// `T2`, the receive timestamp.
    pub heard_ns: u64,
    /// `T3`, the transmit timestamp.
    pub said_ns: u64,
    /// Segments that its control connection has sent again so far: an answer that was lost once tells nothing of the path's delay.
    pub retransmits: u32,
}

impl Answer {
    /// As it came.
    pub fn read(bytes: [u8; ANSWER]) -> Self {
        let number = |part: &[u8]| part.iter().fold(0_u64, |all, &byte| all << 8 | u64::from(byte));
        let retransmits = u32::try_from(number(&bytes[16..])).unwrap_or(u32::MAX);
        Self { heard_ns: number(&bytes[..8]), said_ns: number(&bytes[8..16]), retransmits }
    }

    /// As it is sent: three numbers in network order.
    pub fn bytes(self) -> [u8; ANSWER] {
        let mut bytes = [0; ANSWER];
        bytes[..8].copy_from_slice(&self.heard_ns.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.said_ns.to_be_bytes());
        bytes[16..].copy_from_slice(&self.retransmits.to_be_bytes());
        bytes
    }
}

/// A question and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// `T4`: when the answer came, by the client's clock.
    got_ns: u64,
    /// `T2 - T1`: the way there, and the offset.
    there_ns: i64,
    /// `T4 - T3`: the way back, less the offset.
    back_ns: i64,
}

impl Exchange {
    /// `None` where the times can't be: no time passes backwards at either end, and an answer takes no longer at the server than in all.
    pub fn of(asked_ns: u64, answer: Answer, got_ns: u64) -> Option<Self> {
        let at_server = answer.said_ns.checked_sub(answer.heard_ns)?;
        got_ns.checked_sub(asked_ns)?.checked_sub(at_server)?;
        let between = |to: u64, from: u64| i64::try_from(i128::from(to) - i128::from(from)).ok();
        Some(Self {
            got_ns,
            there_ns: between(answer.heard_ns, asked_ns)?,
            back_ns: between(got_ns, answer.said_ns)?,
        })
    }

    /// When the answer came, by the client's clock, nanoseconds since the Unix epoch.
    pub const fn at_ns(&self) -> u64 {
        self.got_ns
    }

    /// The server's clock less the client's (`theta`), nanoseconds.
    fn offset_ns(&self) -> i64 {
        // The mean of two numbers of 64 bits has 64 bits.
        ((i128::from(self.there_ns) - i128::from(self.back_ns)) / 2) as i64
    }

    /// The round trip (`delta`), nanoseconds.
    fn round_trip_ns(&self) -> u64 {
        u64::try_from(i128::from(self.there_ns) + i128::from(self.back_ns)).unwrap_or(0)
    }
}

/// What a series of exchanges says: that with the least round trip was disturbed least (the clock filter of RFC 5905, section 10).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offset {
    /// When, by the client's clock, nanoseconds since the Unix epoch.
    pub at_ns: u64,
    /// The server's clock less the client's, nanoseconds.
    pub offset_ns: i64,
    /// The round trip, nanoseconds. Half of it is the error.
    pub round_trip_ns: u64,
}

impl Offset {
    /// `None` of nothing.
    pub fn filtered(exchanges: &[Exchange]) -> Option<Self> {
        let best = exchanges.iter().min_by_key(|exchange| exchange.round_trip_ns())?;
        Some(Self { at_ns: best.got_ns, offset_ns: best.offset_ns(), round_trip_ns: best.round_trip_ns() })
    }

    /// How far it may be from the truth so long before or after it was taken, nanoseconds (the root distance of RFC 5905, appendix A.5.5.2).
    fn error_ns(&self, at_ns: u64) -> f64 {
        self.round_trip_ns as f64 / 2.0 + PHI_PPM * 1e-6 * at_ns.abs_diff(self.at_ns) as f64
    }
}

/// Both clocks over a test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clocks {
    before: Offset,
    after: Option<Offset>,
}

impl Clocks {
    /// Of the series before the test and the one after it.
    pub fn of(before: &[Exchange], after: &[Exchange]) -> Option<Self> {
        let before = Offset::filtered(before)?;
        let after = Offset::filtered(after).filter(|after| after.at_ns > before.at_ns);
        Some(Self { before, after })
    }

    /// How fast the server's clock gains on the client's, and the error, parts per million. `None` where there was no second series.
    pub fn drift_ppm(&self) -> Option<[f64; 2]> {
        let after = self.after?;
        let span = after.at_ns.saturating_sub(self.before.at_ns) as f64;
        let gained = after.offset_ns as f64 - self.before.offset_ns as f64;
        let error = (after.round_trip_ns as f64 + self.before.round_trip_ns as f64) / 2.0;
        Some([gained / span * 1e6, error / span * 1e6])
    }

    /// The offset at an instant of the client's clock, and its error, nanoseconds. The better one of the two series counts; where the clocks
    /// run apart faster than any should, what lies between the two.
    pub fn offset_ns(&self, at_ns: u64) -> (f64, f64) {
        let (before, Some(after)) = (self.before, self.after) else {
            return (self.before.offset_ns as f64, self.before.error_ns(at_ns));
        };
        if self.drift_ppm().is_some_and(|[drift, error]| drift.abs() - error > PHI_PPM) {
            let span = after.at_ns.saturating_sub(before.at_ns) as f64;
            let share = (at_ns.saturating_sub(before.at_ns) as f64 / span).clamp(0.0, 1.0);
            let between = |from: f64, to: f64| from + (to - from) * share;
            return (
                between(before.offset_ns as f64, after.offset_ns as f64),
                between(before.round_trip_ns as f64, after.round_trip_ns as f64) / 2.0,
            );
        }
        let better = if after.error_ns(at_ns) < before.error_ns(at_ns) { after } else { before };
        (better.offset_ns as f64, better.error_ns(at_ns))
    }

    /// By how much a clock was set, nanoseconds: the largest move of the offset from the one before the test, in `beside` or in the series after it,
    /// that errors and drift do not explain.
    pub fn set_by_ns(&self, beside: &[Exchange]) -> Option<i64> {
        let beside = beside.iter().filter_map(|exchange| Offset::filtered(std::slice::from_ref(exchange)));
        let moved = beside.chain(self.after).filter_map(|offset| {
            let moved = i128::from(offset.offset_ns) - i128::from(self.before.offset_ns);
            let errors = (offset.round_trip_ns as f64 + self.before.round_trip_ns as f64) / 2.0;
            let drift = SLEW_PPM * 1e-6 * offset.at_ns.abs_diff(self.before.at_ns) as f64;
            let is_set = moved.unsigned_abs() as f64 > errors + drift + SET_NS;
            is_set.then(|| moved.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
        });
        moved.max_by_key(|moved| moved.unsigned_abs())
    }

    /// The least round trip of both series, nanoseconds.
    pub fn round_trip_ns(&self) -> u64 {
        self.after.map_or(u64::MAX, |after| after.round_trip_ns).min(self.before.round_trip_ns)
    }

    /// How long `exchange` took there and back, nanoseconds. The error is that of the offset.
    pub fn one_way_ns(&self, exchange: &Exchange) -> [f64; 2] {
        let (offset, _) = self.offset_ns(exchange.got_ns);
        [exchange.there_ns as f64 - offset, exchange.back_ns as f64 + offset]
    }

    /// How long something took from the client to the server that seemed to take `transit_ns` by both clocks, nanoseconds; `at_ns` is the
    /// server's clock then.
    pub fn to_server_ns(&self, at_ns: u64, transit_ns: i64) -> f64 {
        let here = i128::from(at_ns) - i128::from(self.before.offset_ns);
        transit_ns as f64 - self.offset_ns(u64::try_from(here).unwrap_or(0)).0
    }

    /// The same from the server to the client; `at_ns` is the client's clock then.
    pub fn to_client_ns(&self, at_ns: u64, transit_ns: i64) -> f64 {
        transit_ns as f64 + self.offset_ns(at_ns).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const EPOCH: u64 = 1_700_000_000_000_000_000;
    const MS: u64 = 1_000_000;

    /// At `at`, over a path of so many milliseconds there and back, with a server whose clock is ahead by `ahead` nanoseconds.
    fn exchange(at: u64, there: u64, back: u64, ahead: i64) -> Exchange {
        let heard = (at + there * MS).saturating_add_signed(ahead);
        let answer = Answer { heard_ns: heard, said_ns: heard + MS, retransmits: 0 };
        Exchange::of(at, answer, at + (there + back + 1) * MS).unwrap()
    }

    #[test]
    fn the_least_round_trip_counts_and_the_truth_lies_within_the_error() {
        let ahead = -5_000_000_000;
        let all =
            [exchange(EPOCH, 30, 10, ahead), exchange(EPOCH, 12, 10, ahead), exchange(EPOCH, 10, 90, ahead)];
        let clocks = Clocks::of(&all, &[]).unwrap();
        let (offset, error) = clocks.offset_ns(all[1].got_ns);
        assert_eq!((offset, error), (ahead as f64 + 1e6, 11e6));
        assert_eq!(clocks.one_way_ns(&all[1]), [11e6, 11e6]);
        assert_eq!(clocks.one_way_ns(&all[2]), [9e6, 91e6], "what waits on the way back is seen there");
        assert_eq!((clocks.drift_ppm(), clocks.round_trip_ns()), (None, 22 * MS));
        assert_eq!(Clocks::of(&[], &all), None);
    }

    #[test]
    fn a_clock_that_runs_away_is_followed_and_one_that_does_not_keeps_its_better_offset() {
        let later = EPOCH + 10_000 * MS;
        let fast = Clocks::of(&[exchange(EPOCH, 1, 1, 0)], &[exchange(later, 1, 1, 10 * MS as i64)]).unwrap();
        let [drift, error] = fast.drift_ppm().unwrap();
        assert!((drift - 1_000.0).abs() < 1.0 && (error - 200.0).abs() < 1.0, "{drift} {error}");
        let (offset, _) = fast.offset_ns(EPOCH + 5_000 * MS);
        assert!((offset - 5e6).abs() < 1e4, "{offset}");
        let steady = Clocks::of(&[exchange(EPOCH, 1, 1, 0)], &[exchange(later, 90, 10, 0)]).unwrap();
        let (offset, error) = steady.offset_ns(later);
        assert!(offset == 0.0 && (error - 1.15e6).abs() < 1e3, "{offset} {error}");
    }

    #[test]
    fn a_clock_that_was_set_is_told_from_one_that_drifts_and_from_a_queue() {
        let later = EPOCH + 10_000 * MS;
        let before = [exchange(EPOCH, 10, 10, 0)];
        let set_by =
            |beside: &[Exchange], after: &[Exchange]| Clocks::of(&before, after).unwrap().set_by_ns(beside);
        assert_eq!(set_by(&[exchange(later, 300, 10, 0)], &[exchange(later, 10, 10, 0)]), None, "a queue");
        let drift = 5 * MS as i64;
        assert_eq!(set_by(&[], &[exchange(later, 10, 10, drift)]), None, "500 ppm");
        for hour in [3_600_000 * MS as i64, -3_600_000 * MS as i64] {
            let moved = set_by(&[exchange(later, 300, 10, hour)], &[]).unwrap();
            assert!((moved - hour).abs() <= 150 * MS as i64, "{moved}");
            assert_eq!(set_by(&[], &[exchange(later, 10, 10, hour)]), Some(hour));
        }
    }

    #[test]
    fn datagrams_are_put_right_by_the_same_offset() {
        let ahead = 7_000 * MS as i64;
        let clocks = Clocks::of(&[exchange(EPOCH, 10, 10, ahead)], &[]).unwrap();
        let there = clocks.to_server_ns(EPOCH + 7_000 * MS, ahead + 25 * MS as i64);
        assert_eq!([there, clocks.to_client_ns(EPOCH, 30 * MS as i64 - ahead)], [25e6, 30e6]);
    }

    #[test]
    fn times_that_can_not_be_are_none() {
        let answer = |heard_ns, said_ns| Answer { heard_ns, said_ns, retransmits: 0 };
        for (asked, answer, got) in [
            (10, answer(5, 4), 20),
            (20, answer(5, 5), 10),
            (10, answer(5, 50), 20),
            (0, answer(u64::MAX, u64::MAX), 1),
        ] {
            assert_eq!(Exchange::of(asked, answer, got), None, "{asked} {answer:?} {got}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_answer_and_any_answer_an_exchange_or_none(bytes: [u8; ANSWER], asked: u64, took: u64) {
            let answer = Answer::read(bytes);
            prop_assert_eq!(answer.bytes(), bytes);
            if let Some(exchange) = Exchange::of(asked, answer, asked.saturating_add(took)) {
                let clocks = Clocks::of(&[exchange], &[exchange]).unwrap();
                let ways = clocks.one_way_ns(&exchange);
                prop_assert!(ways.iter().all(|way| way.is_finite()));
                prop_assert!(exchange.round_trip_ns() <= took);
            }
        }
    }
}
