//! From values to places in a picture, and where an axis has its ticks.

use crate::quantity::QuantityKind;

/// Ticks of a logarithmic axis at least; the script has the same.
const FEWEST: usize = 3;

/// Maps a range of values to a range of places.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    values: [f64; 2],
    places: [f64; 2],
    is_logarithmic: bool,
}

/// A labelled value of an axis.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tick {
    pub(super) value: f64,
    pub(super) text: String,
}

impl Scale {
    pub(super) fn linear(values: [f64; 2], places: [f64; 2]) -> Self {
        Self { values, places, is_logarithmic: false }
    }

    /// `values` are positive.
    pub(super) fn logarithmic(values: [f64; 2], places: [f64; 2]) -> Self {
        Self { values: values.map(f64::ln), places, is_logarithmic: true }
    }

    /// Where `value` stands.
    pub(super) fn at(&self, value: f64) -> f64 {
        let value = if self.is_logarithmic { value.ln() } else { value };
        let [low, high] = self.values;
        let share = if high > low { (value - low) / (high - low) } else { 0.5 };
        self.places[0] + share * (self.places[1] - self.places[0])
    }

    /// At most about `most` ticks, labelled as `kind` writes them.
    pub(super) fn ticks(&self, kind: QuantityKind, most: usize) -> Vec<Tick> {
        let values = self.places_of_ticks(kind, most);
        values.into_iter().map(|value| Tick { value, text: kind.on_axis(value) }).collect()
    }

    /// Of a logarithmic axis powers of ten, with parts of these where that is not too many; where it is too few, equal steps.
    fn places_of_ticks(&self, kind: QuantityKind, most: usize) -> Vec<f64> {
        if !self.is_logarithmic {
            return steps(self.values, kind, most);
        }
        for factors in [&[1.0, 2.0, 5.0][..], &[1.0, 3.0], &[1.0]] {
            let values = self.decades(factors);
            if (FEWEST..=most).contains(&values.len()) {
                return values;
            }
        }
        let powers = self.decades(&[1.0]);
        if powers.len() <= most {
            return steps(self.values.map(f64::exp), kind, most);
        }
        let every = powers.len().div_ceil(most.max(1));
        powers.into_iter().step_by(every).collect()
    }

    /// Powers of ten within the range, times each of `factors`.
    fn decades(&self, factors: &[f64]) -> Vec<f64> {
        let [low, high] = self.values.map(|value| value / std::f64::consts::LN_10);
        let powers = (low.floor() as i32..=high.ceil() as i32).map(|power| 10_f64.powi(power));
        let all = powers.flat_map(|power| factors.iter().map(move |factor| factor * power));
        all.filter(|value| (low - 1e-9..=high + 1e-9).contains(&value.log10())).collect()
    }
}

/// Multiples of 1, 2 or 5 times a power of ten from `low` to `high`; of bytes whole ones.
fn steps([low, high]: [f64; 2], kind: QuantityKind, most: usize) -> Vec<f64> {
    let rough = (high - low) / most.max(1) as f64;
    if rough <= 0.0 {
        return vec![low];
    }
    let step = if kind == QuantityKind::Bytes { round_above(rough).max(1.0) } else { round_above(rough) };
    let (first, last) = ((low / step - 1e-9).ceil() as i64, (high / step + 1e-9).floor() as i64);
    (first..=last).map(|number| number as f64 * step).collect()
}

/// The least of 1, 2 and 5 times a power of ten that is no less than `rough`.
fn round_above(rough: f64) -> f64 {
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0].into_iter().map(|factor| factor * power).find(|&step| step >= rough);
    step.unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(ticks: &[Tick]) -> Vec<&str> {
        ticks.iter().map(|tick| tick.text.as_str()).collect()
    }

    #[test]
    fn a_logarithmic_axis_has_decades_or_their_parts() {
        let wide = Scale::logarithmic([1e3, 1e12], [0.0, 100.0]).ticks(QuantityKind::Rate, 6);
        assert_eq!(texts(&wide), ["1 kbit/s", "100 kbit/s", "10 Mbit/s", "1 Gbit/s", "100 Gbit/s"]);
        let narrow = Scale::logarithmic([3e6, 40e6], [0.0, 100.0]).ticks(QuantityKind::Time, 6);
        assert_eq!(texts(&narrow), ["5 ms", "10 ms", "20 ms"]);
        let within = Scale::logarithmic([0.55, 1.6], [0.0, 100.0]).ticks(QuantityKind::Ratio, 4);
        assert_eq!(texts(&within), ["1", "1.5"]);
    }

    #[test]
    fn a_linear_axis_has_round_steps() {
        let ticks = Scale::linear([0.0, 956e6], [100.0, 0.0]).ticks(QuantityKind::Rate, 5);
        assert_eq!(texts(&ticks), ["0", "200 Mbit/s", "400 Mbit/s", "600 Mbit/s", "800 Mbit/s"]);
    }

    #[test]
    fn bytes_have_whole_steps() {
        let ticks = Scale::linear([0.0, 5e6], [100.0, 0.0]).ticks(QuantityKind::Bytes, 3);
        assert_eq!(texts(&ticks), ["0", "2 MB", "4 MB"]);
        assert_eq!(
            texts(&Scale::linear([0.0, 1.05], [1.0, 0.0]).ticks(QuantityKind::Bytes, 3)),
            ["0", "1 B"]
        );
    }

    #[test]
    fn the_ends_are_where_they_belong() {
        let scale = Scale::logarithmic([1.0, 100.0], [200.0, 0.0]);
        assert!((scale.at(10.0) - 100.0).abs() < 1e-9);
        assert_eq!(Scale::linear([5.0, 5.0], [0.0, 10.0]).at(5.0), 5.0);
    }
}
