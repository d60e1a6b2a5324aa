//! Medians of figures over runs, whatever their fields are.

use crate::ground::statistics::{median, rounded};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The median of each number in `all` by itself, over those that have it; of words the first. `None` of nothing.
pub(super) fn medians<'a, T: Clone + Serialize + DeserializeOwned + 'a>(
    all: impl Iterator<Item = &'a T>,
) -> Option<T> {
    let all: Vec<&T> = all.collect();
    if let [only] = all[..] {
        return Some(only.clone());
    }
    let values: Vec<Value> =
        all.into_iter().filter_map(|figures| serde_json::to_value(figures).ok()).collect();
    serde_json::from_value(median_of(&values.iter().collect::<Vec<_>>())).ok()
}

fn median_of(values: &[&Value]) -> Value {
    let known: Vec<&Value> = values.iter().copied().filter(|value| !value.is_null()).collect();
    match known.first() {
        Some(Value::Object(first)) => {
            let field = |name: &String| {
                let values: Vec<&Value> = known.iter().filter_map(|value| value.get(name)).collect();
                (name.clone(), median_of(&values))
            };
            Value::Object(first.keys().map(field).collect::<Map<_, _>>())
        }
        Some(Value::Array(first)) => {
            let place = |place: usize| {
                let values: Vec<&Value> = known.iter().filter_map(|value| value.get(place)).collect();
                median_of(&values)
            };
            Value::Array((0..first.len()).map(place).collect())
        }
        Some(Value::Number(_)) => median_of_numbers(&known),
        Some(&word) => word.clone(),
        None => Value::Null,
    }
}

/// Whole where all are.
fn median_of_numbers(known: &[&Value]) -> Value {
    let numbers: Vec<f64> = known.iter().filter_map(|value| value.as_f64()).collect();
    match median(&numbers) {
        None => Value::Null,
        Some(median) if known.iter().any(|value| value.is_f64()) => median.into(),
        Some(median) if median < 0.0 => (median.round() as i64).into(),
        Some(median) => rounded(median).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::metrics::{RetransmitCounts, TcpMetrics, UdpMetrics};

    #[test]
    fn each_number_is_a_median_of_those_that_have_it() {
        let run = |retransmits: u64, srtt_us_p50, fast: Option<u64>| TcpMetrics {
            retransmits: Some(retransmits),
            srtt_us_p50,
            retransmits_by_kind: fast.map(|fast| RetransmitCounts { fast, ..RetransmitCounts::default() }),
            ..TcpMetrics::default()
        };
        let runs = [run(1, None, None), run(2, Some(10), Some(4)), run(5, Some(21), Some(6))];
        assert_eq!(medians(runs.iter()), Some(run(2, Some(16), Some(5))));
        assert_eq!(medians::<TcpMetrics>([].iter()), None);
    }

    #[test]
    fn whole_numbers_stay_whole_and_may_be_negative() {
        let run = |lost, delay| UdpMetrics {
            lost_percent: Some(lost),
            one_way_delay_min_ns: Some(delay),
            ..UdpMetrics::default()
        };
        assert_eq!(medians([run(0.0, -3), run(0.5, -4)].iter()), Some(run(0.25, -4)));
    }
}
