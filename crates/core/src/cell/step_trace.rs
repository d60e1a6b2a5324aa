//! A delay or a loss that follows a list of steps, and begins again or stays at its last one.

use super::trace_times::{BadTrace, TraceTimes};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// A value over time, each from its step's beginning on. It has at least one step. Copies share the steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    try_from = "ValueSteps<V>",
    into = "ValueSteps<V>",
    bound(serialize = "V: Clone + Serialize", deserialize = "V: Deserialize<'de>")
)]
pub struct StepTrace<V>(Arc<ValueSteps<V>>);

/// Such a trace as it is recorded.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ValueSteps<V> {
    /// When each step begins, microseconds after the traffic's start: ascending, the first at 0.
    pub at_us: Vec<u64>,
    /// The value of each, in the unit that the trace's name says.
    pub values: Vec<V>,
    /// When the trace begins again, after the last step's beginning; null = the last value stays.
    pub period_us: Option<u64>,
}

impl<V> StepTrace<V> {
    /// The trace of these steps.
    ///
    /// # Errors
    /// [`BadTrace::Steps`] and [`BadTrace::Order`].
    pub fn new(steps: ValueSteps<V>) -> Result<Self, BadTrace> {
        TraceTimes::checked(&steps.at_us, steps.period_us, steps.values.len())?;
        Ok(Self(Arc::new(steps)))
    }

    /// Its values, in the order of the steps.
    pub fn values(&self) -> &[V] {
        &self.0.values
    }

    /// As it is recorded.
    pub fn steps(&self) -> &ValueSteps<V> {
        &self.0
    }
}

impl<V: Copy> StepTrace<V> {
    /// The value at `nanos` after the traffic's start.
    #[inline]
    pub fn at(&self, nanos: u64) -> V {
        let times = TraceTimes::new(&self.0.at_us, self.0.period_us);
        let (_, within) = times.within(nanos);
        self.0.values[times.step_at(within)]
    }

    /// The same steps with other values.
    #[must_use]
    pub fn map<W>(&self, value: impl Fn(V) -> W) -> StepTrace<W> {
        let ValueSteps { at_us, values, period_us } = &*self.0;
        let values = values.iter().map(|old| value(*old)).collect();
        StepTrace(Arc::new(ValueSteps { at_us: at_us.clone(), values, period_us: *period_us }))
    }
}

impl<V> TryFrom<ValueSteps<V>> for StepTrace<V> {
    type Error = BadTrace;

    fn try_from(steps: ValueSteps<V>) -> Result<Self, BadTrace> {
        Self::new(steps)
    }
}

impl<V: Clone> From<StepTrace<V>> for ValueSteps<V> {
    fn from(trace: StepTrace<V>) -> Self {
        trace.steps().clone()
    }
}

impl<V: JsonSchema> JsonSchema for StepTrace<V> {
    fn schema_name() -> Cow<'static, str> {
        ValueSteps::<V>::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        ValueSteps::<V>::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(at_us: &[u64], period_us: Option<u64>) -> Result<StepTrace<u64>, BadTrace> {
        let values = at_us.iter().map(|at| at + 100).collect();
        StepTrace::new(ValueSteps { at_us: at_us.to_vec(), values, period_us })
    }

    #[test]
    fn a_value_holds_until_the_next_step_and_the_steps_begin_again() {
        let once = trace(&[0, 10, 30], None).unwrap();
        assert_eq!(
            [0, 9_999, 10_000, 30_000, u64::MAX].map(|nanos| once.at(nanos)),
            [100, 100, 110, 130, 130]
        );
        let again = trace(&[0, 10, 30], Some(40)).unwrap();
        assert_eq!([39_999, 40_000, 50_000, 70_001].map(|nanos| again.at(nanos)), [130, 100, 110, 130]);
        assert_eq!(again.map(|value| value / 10).values(), [10, 11, 13]);
    }

    #[test]
    fn what_is_no_trace_is_refused_in_records_too() {
        assert_eq!(trace(&[], None), Err(BadTrace::Steps));
        assert_eq!(trace(&[5], None), Err(BadTrace::Order));
        assert_eq!(trace(&[0, 7, 7], None), Err(BadTrace::Order));
        assert_eq!(trace(&[0, 7], Some(7)), Err(BadTrace::Order));
        let text = "{\"at_us\":[0,7],\"values\":[1],\"period_us\":null}";
        assert!(serde_json::from_str::<StepTrace<u64>>(text).is_err());
        let good = trace(&[0, 7], Some(9)).unwrap();
        let written = serde_json::to_string(&good).unwrap();
        assert_eq!(written, "{\"at_us\":[0,7],\"values\":[100,107],\"period_us\":9}");
        assert_eq!(serde_json::from_str::<StepTrace<u64>>(&written).unwrap(), good);
    }
}
