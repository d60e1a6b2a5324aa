//! The difference of two clocks from packets of both directions, as a line over time.
//!
//! No delay is negative, so what the receiver's clock is ahead lies below every delay of one direction and above the negative of every delay of
//! the other: between these two clouds the line with most room is found (Moon, Skelly, Towsley 1999, for one direction). Half of that room is
//! the least delay of both directions, if the paths are symmetric; if they are not, the line may lie anywhere in it.

use super::set_ahead::OffsetMove;

/// Slopes count as equally good where their room differs by at most the larger of this, nanoseconds, and of this part of the room.
const SAME_NS: f64 = 1_000.0;
const SAME_PART: f64 = 0.01;
/// Times of captures are no more exact than this, nanoseconds.
const RESOLUTION_NS: f64 = 1_000.0;
/// A delay that is this far above the line is not a least delay, nanoseconds.
const NEAR_NS: f64 = 10_000.0;
/// The largest drift that is considered: clocks of computers differ by less than half of this.
const DRIFT_MAX: f64 = 1e-3;
/// Steps of a search that divides by three.
const STEPS: u32 = 80;
/// The drift is not estimated over a shorter time, nanoseconds.
const DRIFT_SPAN_NS: u64 = 1_000_000_000;

/// A move of the offset is looked for between what was so long before a time and after it: seconds at least, and this part of the whole time.
const AROUND_S: f64 = 0.5;
const AROUND_PART: f64 = 1.0 / 64.0;
/// So much before and after that time is left out, seconds: packets of one direction pass the clock that is set a round trip later than those of the
/// other. What is shorter than the round trip finds nothing.
const GUARDS_S: [f64; 3] = [0.025, 0.1, 0.4];
/// The moves of both directions differ by no more than this part of them.
const MOVED_PART: f64 = 1.0 / 16.0;

/// How the clocks of two captures differ: B's clock minus A's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clock {
    /// At this time, by A's clock, nanoseconds since 1970.
    pub at_ns: u64,
    /// How far B's clock is ahead at that time, nanoseconds.
    pub offset_ns: i64,
    /// How far that may be wrong, if the least delays of both directions are the same.
    pub offset_error_ns: u64,
    /// How far it may be wrong whatever the delays are: half of the least round trip.
    pub offset_bound_ns: u64,
    /// How much faster B's clock is: seconds per second; `None` where the time is too short for an estimate.
    pub drift: Option<f64>,
    /// How far that may be wrong.
    pub drift_error: Option<f64>,
    /// The least one-way delay, if both directions have the same.
    pub least_ns: i64,
}

/// Delays by two clocks: (time by A's clock, nanoseconds; the time in B's capture minus the time in A's).
#[derive(Debug)]
pub(super) struct Clouds {
    start_ns: u64,
    end_ns: u64,
    /// Seconds since the start, nanoseconds: from A to B they lie above the line, from B to A below it.
    above: Vec<(f64, f64)>,
    below: Vec<(f64, f64)>,
}

impl Clouds {
    /// `forward`: when a packet left A, and when it reached B less that. `reverse`: when one left B, by B's clock, and when it reached A less
    /// that. `None` where one of them is empty.
    pub(super) fn of(
        forward: impl Iterator<Item = (u64, i64)> + Clone,
        reverse: impl Iterator<Item = (u64, i64)> + Clone,
    ) -> Option<Self> {
        // A's clock said this when the packet reached A.
        let reverse = reverse.map(|(left_ns, delay)| (left_ns.saturating_add_signed(delay), delay));
        let times = forward.clone().chain(reverse.clone()).map(|(time, _)| time);
        let (start_ns, end_ns) = (times.clone().min()?, times.max()?);
        let since = |time: u64| time.saturating_sub(start_ns) as f64 / 1e9;
        let above: Vec<(f64, f64)> = forward.map(|(time, delay)| (since(time), delay as f64)).collect();
        let below: Vec<(f64, f64)> = reverse.map(|(time, delay)| (since(time), -delay as f64)).collect();
        let has_both = !above.is_empty() && !below.is_empty();
        has_both.then_some(Self { start_ns, end_ns, above, below })
    }

    /// The line with most room.
    pub(super) fn clock(&self) -> Clock {
        let span_s = (self.end_ns - self.start_ns) as f64 / 1e9;
        let tells_drift = self.end_ns - self.start_ns >= DRIFT_SPAN_NS;
        let (slope, slope_error) = if tells_drift { self.slope(span_s) } else { (0.0, 0.0) };
        let (low, high) = self.gap(slope);
        let spread = |cloud: Vec<f64>| fraction(cloud, 0.1) / 2.0;
        let spread = spread(self.heights(slope, high)).max(spread(self.depths(slope, low)));
        let bound = ((high - low) / 2.0).max(0.0);
        let middle_s = span_s / 2.0;
        let error = RESOLUTION_NS + spread + slope_error * middle_s;
        Clock {
            at_ns: self.start_ns + (self.end_ns - self.start_ns) / 2,
            offset_ns: (f64::midpoint(low, high) + slope * middle_s).round() as i64,
            offset_error_ns: error.min(bound.max(RESOLUTION_NS)) as u64,
            offset_bound_ns: bound as u64,
            drift: tells_drift.then_some(slope / 1e9),
            drift_error: tells_drift.then_some(slope_error / 1e9),
            least_ns: bound.round() as i64,
        }
    }

    /// Where the offset moves by more than its error, the largest such move: delays of one direction grow and those of the other shrink by the same,
    /// from one moment to the next, which no queue and no drift does.
    pub(super) fn offset_move(&self) -> Option<OffsetMove> {
        let times = self.above.iter().chain(&self.below).map(|&(time, _)| time);
        let moves = times.flat_map(|at| GUARDS_S.map(|guard| (at, self.moved_at(at, guard))));
        let found = moves.filter_map(|(at, moved)| Some((at, moved?)));
        let (at, by) = found.max_by(|left, right| left.1.abs().total_cmp(&right.1.abs()))?;
        Some(OffsetMove { at_ns: self.start_ns.saturating_add((at * 1e9) as u64), by_ns: by as i64 })
    }

    /// By how much the offset moves at a time, where it does: what passed less than `guard` seconds before or after it is left out.
    fn moved_at(&self, at: f64, guard: f64) -> Option<f64> {
        let span = ((self.end_ns - self.start_ns) as f64 / 1e9 * AROUND_PART).max(AROUND_S);
        let least = |cloud: &[(f64, f64)], sign: f64, from: f64| -> Option<f64> {
            let half = |from: f64| {
                let within = cloud.iter().filter(|&&(time, _)| from <= time && time < from + span / 2.0);
                within.map(|&(_, value)| value * sign).min_by(f64::total_cmp)
            };
            let (first, second) = (half(from)?, half(from + span / 2.0)?);
            Some(first.min(second))
        };
        let step = |cloud: &[(f64, f64)], sign: f64| -> Option<f64> {
            Some((least(cloud, sign, at + guard)? - least(cloud, sign, at - guard - span)?) * sign)
        };
        let (grown, shrunk) = (step(&self.above, 1.0)?, step(&self.below, -1.0)?);
        let by = f64::midpoint(grown, shrunk);
        let is_same = (grown - shrunk).abs() <= by.abs() * MOVED_PART;
        // A clock that drifts, or queues of which one grows while the other shrinks, move it within each of the two times too.
        let moves_before = self.moves_within(at - guard - span, span)?.abs();
        let moves_after = self.moves_within(at + guard, span)?.abs();
        let steady = moves_before.max(moves_after) / (span / 2.0) * (span + 2.0 * guard);
        let is_sudden = steady <= by.abs() / 4.0;
        let is_beyond_drift = by.abs() >= 2.0 * (span + guard) * DRIFT_MAX * 1e9;
        (is_same && is_sudden && is_beyond_drift).then_some(by)
    }

    /// By how much the middle between both clouds moves from the first half of a time to the second.
    fn moves_within(&self, from: f64, span: f64) -> Option<f64> {
        let middle = |from: f64| {
            let within = |&&(time, _): &&(f64, f64)| from <= time && time < from + span / 2.0;
            let high = self.above.iter().filter(within).map(|&(_, value)| value).min_by(f64::total_cmp)?;
            let low = self.below.iter().filter(within).map(|&(_, value)| value).max_by(f64::total_cmp)?;
            Some(f64::midpoint(low, high))
        };
        Some(middle(from + span / 2.0)? - middle(from)?)
    }

    /// Where lines of `slope` (nanoseconds a second) touch the clouds: below and above.
    fn gap(&self, slope: f64) -> (f64, f64) {
        let rest = |&(time, value): &(f64, f64)| value - slope * time;
        let high = self.above.iter().map(rest).fold(f64::INFINITY, f64::min);
        let low = self.below.iter().map(rest).fold(f64::NEG_INFINITY, f64::max);
        (low, high)
    }

    fn room(&self, slope: f64) -> f64 {
        let (low, high) = self.gap(slope);
        high - low
    }

    /// The slope, and how far it may be wrong.
    fn slope(&self, span_s: f64) -> (f64, f64) {
        let most = DRIFT_MAX * 1e9;
        // The room is a concave function of the slope.
        let (mut left, mut right) = (-most, most);
        for _ in 0..STEPS {
            let third = (right - left) / 3.0;
            if self.room(left + third) < self.room(right - third) { left += third } else { right -= third }
        }
        let best = f64::midpoint(left, right);
        let room = self.room(best);
        let enough = room - SAME_NS.max(SAME_PART * room);
        let (from, to) = (self.edge(best, -most, enough), self.edge(best, most, enough));
        let tried = self.slopes().into_iter().filter(|slope| (from..=to).contains(slope)).chain([best]);
        let slope = tried.min_by(|&left, &right| self.distance(left).total_cmp(&self.distance(right)));
        let slope = slope.unwrap_or(best);
        let (low, high) = self.gap(slope);
        let clean = fraction(self.heights(slope, high), 0.5).min(fraction(self.depths(slope, low), 0.5));
        let by_spread = 2.0 * (clean + RESOLUTION_NS) / span_s;
        let by_room = (to - slope).abs().max((slope - from).abs());
        (slope, by_spread.min(by_room.max(RESOLUTION_NS / span_s)))
    }

    /// The slope towards `end` from which on there is less room than `enough`.
    fn edge(&self, best: f64, end: f64, enough: f64) -> f64 {
        let (mut inside, mut outside) = (best, end);
        for _ in 0..STEPS {
            let middle = f64::midpoint(inside, outside);
            if self.room(middle) >= enough { inside = middle } else { outside = middle }
        }
        inside
    }

    /// The slopes of the edges that the two clouds turn to each other.
    fn slopes(&self) -> Vec<f64> {
        let upside_down: Vec<(f64, f64)> = self.below.iter().map(|&(time, value)| (time, -value)).collect();
        let of_below = lower_edges(upside_down).into_iter().map(|slope| -slope);
        lower_edges(self.above.clone()).into_iter().chain(of_below).collect()
    }

    /// How far all points are from the lines: many points at a line count more than a few that are far away.
    fn distance(&self, slope: f64) -> f64 {
        let (low, high) = self.gap(slope);
        let all = self.heights(slope, high).into_iter().chain(self.depths(slope, low));
        all.map(|height| (height / NEAR_NS).ln_1p()).sum()
    }

    fn heights(&self, slope: f64, high: f64) -> Vec<f64> {
        self.above.iter().map(|&(time, value)| value - slope * time - high).collect()
    }

    fn depths(&self, slope: f64, low: f64) -> Vec<f64> {
        self.below.iter().map(|&(time, value)| low - (value - slope * time)).collect()
    }
}

/// Slopes of the lower convex hull (Andrew's monotone chain).
fn lower_edges(mut points: Vec<(f64, f64)>) -> Vec<f64> {
    points.sort_by(|left, right| left.0.total_cmp(&right.0).then(left.1.total_cmp(&right.1)));
    let slope = |from: (f64, f64), to: (f64, f64)| (to.1 - from.1) / (to.0 - from.0).max(f64::MIN_POSITIVE);
    let mut hull: Vec<(f64, f64)> = Vec::new();
    for point in points {
        if hull.last().is_some_and(|last| last.0 >= point.0) {
            continue;
        }
        while let [.., before, last] = hull[..]
            && slope(last, point) <= slope(before, last)
        {
            hull.pop();
        }
        hull.push(point);
    }
    hull.windows(2).map(|pair| slope(pair[0], pair[1])).collect()
}

/// What `share` of the values do not exceed.
fn fraction(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get((values.len().saturating_sub(1) as f64 * share) as usize).copied().unwrap_or(0.0)
}

impl Clock {
    /// By how much B's clock is ahead at `time_ns` of A's.
    pub(super) fn ahead_ns(&self, time_ns: u64) -> i64 {
        let since = super::pairing::signed(time_ns, self.at_ns) as f64;
        self.offset_ns.saturating_add((self.drift.unwrap_or(0.0) * since).round() as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DELAY_NS: i64 = 20_000_000;

    /// Packets of both directions for ten seconds, with waits that `wait` gives for the forward one, by clocks that differ.
    fn clouds(offset_ns: i64, drift: f64, wait: impl Fn(u64) -> i64) -> Clock {
        let start_ns = 1_700_000_000_000_000_000_u64;
        let ahead = |true_ns: u64| offset_ns + (drift * (true_ns - start_ns) as f64) as i64;
        let forward = (0..1_000_u64).map(|at| {
            let left_ns = start_ns + at * 10_000_000;
            let took = DELAY_NS + wait(at);
            (left_ns, took + ahead(left_ns.saturating_add_signed(took)))
        });
        let reverse = (0..1_000_u64).map(|at| {
            let left_ns = start_ns + at * 10_000_000;
            let took = DELAY_NS + (at % 3) as i64 * 1_000;
            (left_ns.saturating_add_signed(ahead(left_ns)), took - ahead(left_ns))
        });
        Clouds::of(forward, reverse).expect("both").clock()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn offset_and_drift_are_found_within_the_error_said(
            offset_ms in -5_000_i64..5_000,
            ppm in -200_i32..200,
            queue_ms in 0_i64..40,
        ) {
            let (offset_ns, drift) = (offset_ms * 1_000_000, f64::from(ppm) / 1e6);
            // The queue fills and runs empty.
            let clock = clouds(offset_ns, drift, |at| queue_ms * 1_000_000 * (at % 50) as i64 / 50);
            let expected = offset_ns + (drift * 5e9) as i64;
            prop_assert!(clock.offset_ns.abs_diff(expected) <= clock.offset_error_ns, "{clock:?} {expected}");
            let found = clock.drift.expect("ten seconds");
            prop_assert!((found - drift).abs() <= clock.drift_error.expect("too"), "{clock:?} {drift}");
            prop_assert!(clock.drift_error.is_some_and(|error| error < 5e-6), "{clock:?}");
            prop_assert!(clock.least_ns.abs_diff(DELAY_NS) < 20_000, "{clock:?}");
        }
    }

    /// A queue that stands from the second packet to the end.
    #[test]
    fn the_other_direction_tells_the_drift_where_a_queue_stands_in_one() {
        let clock = clouds(3_000, 50e-6, |at| if at == 0 { 0 } else { 15_000_000 });
        let drift = clock.drift.expect("ten seconds");
        assert!((drift - 50e-6).abs() <= clock.drift_error.expect("too"), "{clock:?}");
        assert!((drift - 50e-6).abs() < 2e-6, "{clock:?}");
    }

    /// Delays of two seconds, each way, by clocks of which B's is set by `by_ns` after the first.
    fn set(by_ns: i64, wait: impl Fn(bool, u64) -> i64) -> Option<OffsetMove> {
        let delays = |is_forward: bool| -> Vec<(u64, i64)> {
            let offset = |at: u64| if at < 100 { 0 } else { by_ns };
            let sign = if is_forward { 1 } else { -1 };
            let sent_ns =
                |at: u64| 5_000_000_000_u64.saturating_add_signed(if is_forward { 0 } else { offset(at) });
            let all = 0..200_u64;
            all.map(|at| (sent_ns(at) + at * 10_000_000, DELAY_NS + wait(is_forward, at) + sign * offset(at)))
                .collect()
        };
        let [forward, reverse] = [delays(true), delays(false)];
        Clouds::of(forward.into_iter(), reverse.into_iter()).expect("both").offset_move()
    }

    #[test]
    fn a_clock_that_is_set_moves_the_offset() {
        for by_ms in [2, -2, 15, -15, 300, -300, 5_000] {
            let by_ns = by_ms * 1_000_000;
            let found = set(by_ns, |_, at| (at % 7) as i64 * 3_000).expect("a move");
            assert!(found.by_ns.abs_diff(by_ns) <= by_ns.unsigned_abs() / 16 + 20_000, "{found:?} {by_ms}");
        }
    }

    #[test]
    fn a_queue_that_fills_moves_no_offset() {
        assert_eq!(set(0, |_, _| 0), None);
        assert_eq!(set(0, |is_forward, at| if is_forward && at >= 100 { 40_000_000 } else { 0 }), None);
        // One queue runs empty while the other fills: the sum of the delays stays.
        let swap =
            |is_forward, at: u64| if is_forward { at as i64 * 200_000 } else { (200 - at as i64) * 200_000 };
        assert_eq!(set(0, |is_forward, at| swap(is_forward, at) + (at % 5) as i64 * 2_000_000), None);
    }

    #[test]
    fn one_direction_tells_nothing() {
        assert!(Clouds::of([(1, 1)].into_iter(), std::iter::empty()).is_none());
    }
}
