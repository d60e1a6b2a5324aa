//! A curve with fewer points that looks the same: of every bucket of time its least and its largest value.
//!
//! Never: a point that was not measured, or an extreme that is not drawn.

use crate::ground::interval::TimeInterval;

/// A value at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// When, microseconds since the run began.
    pub t_us: u64,
    /// The value, in the curve's unit.
    pub value: u64,
}

/// Thins a curve whose points pass by once, in order of time.
#[derive(Debug, Clone)]
pub struct Downsampler {
    from_us: u64,
    width_us: u64,
    /// Number of the last bucket: what comes after the window falls into it.
    last: u64,
    /// Points of the buckets that have ended.
    kept: Vec<Point>,
    /// Of the bucket that has not: its number, its least and its largest point.
    open: Option<(u64, Point, Point)>,
}

impl Downsampler {
    /// Into `buckets` of `window`, of which each keeps two points at most.
    pub fn of(window: TimeInterval, buckets: usize) -> Self {
        let width_us = width_us(window, buckets);
        let last = window.length_us() / width_us;
        Self { from_us: window.from_us, width_us, last, kept: Vec::new(), open: None }
    }

    /// Takes the next point; what lies before the window falls into its first bucket, what lies behind it into one more.
    pub fn observe(&mut self, point: Point) {
        let number = (point.t_us.saturating_sub(self.from_us) / self.width_us).min(self.last);
        match &mut self.open {
            Some((open, least, largest)) if *open == number => {
                if point.value < least.value {
                    *least = point;
                }
                if point.value > largest.value {
                    *largest = point;
                }
            }
            _ => {
                self.close();
                self.open = Some((number, point, point));
            }
        }
    }

    /// The points that are left, in order of time.
    pub fn finish(mut self) -> Vec<Point> {
        self.close();
        self.kept
    }

    fn close(&mut self) {
        let Some((_, least, largest)) = self.open.take() else { return };
        let (first, last) = if least.t_us <= largest.t_us { (least, largest) } else { (largest, least) };
        self.kept.push(first);
        if last != first {
            self.kept.push(last);
        }
    }
}

/// How long a bucket is when `window` is cut into `buckets`: one microsecond at least.
pub fn width_us(window: TimeInterval, buckets: usize) -> u64 {
    window.length_us().div_ceil(u64::try_from(buckets).unwrap_or(u64::MAX).max(1)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WINDOW: TimeInterval = TimeInterval { from_us: 0, to_us: 1_000_000 };

    fn thinned(points: &[Point], buckets: usize) -> Vec<Point> {
        let mut downsampler = Downsampler::of(WINDOW, buckets);
        points.iter().for_each(|&point| downsampler.observe(point));
        downsampler.finish()
    }

    #[test]
    fn a_single_spike_among_a_million_points_is_kept() {
        let point =
            |t_us| Point { t_us, value: if t_us == 123_456 { 9 } else { 5 - u64::from(t_us == 654_321) } };
        let points: Vec<Point> = (0..1_000_000).map(point).collect();
        let kept = thinned(&points, 500);
        assert!(kept.len() <= 1000, "{}", kept.len());
        assert!(kept.contains(&point(123_456)) && kept.contains(&point(654_321)), "{kept:?}");
    }

    #[test]
    fn points_that_lie_far_apart_are_all_kept() {
        let points: Vec<Point> = (0..100).map(|n| Point { t_us: n * 10_000, value: n % 7 }).collect();
        assert_eq!(thinned(&points, 100), points);
        assert_eq!(thinned(&[], 100), []);
    }

    proptest! {
        #[test]
        fn what_is_kept_was_measured_lies_in_order_and_has_the_extremes(
            steps in prop::collection::vec((0_u64..5_000, 0_u64..1_000), 1..600), buckets in 1_usize..50
        ) {
            let mut t_us = 0;
            let points: Vec<Point> = steps.iter().map(|&(step, value)| { t_us += step; Point { t_us, value } }).collect();
            let kept = thinned(&points, buckets);
            prop_assert!(kept.iter().all(|point| points.contains(point)));
            prop_assert!(kept.windows(2).all(|pair| pair[0].t_us <= pair[1].t_us));
            let values = |points: &[Point]| (points.iter().map(|p| p.value).min(), points.iter().map(|p| p.value).max());
            prop_assert_eq!(values(&kept), values(&points));
            let in_window = kept.iter().filter(|point| point.t_us < WINDOW.to_us).count();
            prop_assert!(in_window <= 2 * buckets);
        }
    }
}
