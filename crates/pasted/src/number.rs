//! Numbers of other programs' JSON: whatever stands in their place is a number or absent, never an error.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A finite number, or nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Number(pub(crate) Option<f64>);

impl Number {
    /// The number where it is at least 0.
    pub(crate) fn positive(self) -> Option<f64> {
        self.0.filter(|number| *number >= 0.0)
    }

    /// The same as an integer; what is larger than the type is absent.
    pub(crate) fn count(self) -> Option<u64> {
        self.positive().filter(|number| *number < LARGEST).map(|number| number.round() as u64)
    }

    /// See [`Self::count`].
    pub(crate) fn count32(self) -> Option<u32> {
        self.count().and_then(|count| u32::try_from(count).ok())
    }

    /// Whether it is there and not 0.
    pub(crate) fn is_set(self) -> bool {
        self.0.is_some_and(|number| number != 0.0)
    }
}

/// Counters and sizes of a transfer stay far below.
const LARGEST: f64 = 1e15;

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(match Value::deserialize(deserializer)? {
            Value::Number(number) => number.as_f64().filter(|number| number.is_finite()),
            Value::Bool(is_so) => Some(f64::from(u8::from(is_so))),
            Value::String(text) => text.trim().parse().ok().filter(|number: &f64| number.is_finite()),
            _ => None,
        }))
    }
}

/// A text, whatever stands in its place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Text(pub(crate) Option<String>);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(match Value::deserialize(deserializer)? {
            Value::String(text) => Some(text),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }))
    }
}
