//! Types that carry their unit, so that a rate can't be added to a size.
//!
//! Never: a `From<u64>` (the unit would be a guess), a float where the kernel counts integers,
//! or text without a unit (see [`crate::parse`] for the strict forms).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Nanoseconds in a second.
pub const NANOS_PER_SEC: u64 = 1_000_000_000;

/// A rate in bits per second. Which layer is counted is stated where the value stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rate(u64);

impl Rate {
    /// `bps` bits per second.
    #[inline]
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }

    /// Bits per second.
    #[inline]
    pub const fn bps(self) -> u64 {
        self.0
    }

    /// Time to serialise `bytes` at this rate, rounded *up* to the nanosecond: a link never beats its rate.
    /// A zero rate takes for ever (`Duration::MAX`); scenarios refuse it.
    #[inline]
    pub fn time_to_send(self, bytes: Bytes) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        let nanos = (u128::from(bytes.get()) * 8 * u128::from(NANOS_PER_SEC)).div_ceil(u128::from(self.0));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Bytes that fit into `time` at this rate, rounded *down*.
    #[inline]
    pub fn bytes_in(self, time: Duration) -> Bytes {
        let bits = u128::from(self.0).saturating_mul(time.as_nanos()) / u128::from(NANOS_PER_SEC);
        Bytes::new(u64::try_from(bits / 8).unwrap_or(u64::MAX))
    }

    /// The bandwidth-delay product, `rate × rtt`, rounded down to bytes.
    #[inline]
    pub fn bdp(self, rtt: Duration) -> Bytes {
        self.bytes_in(rtt)
    }
}

/// A number of bytes. Which headers are counted is stated where the value stands.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, JsonSchema, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(u64);

impl Bytes {
    /// `bytes` bytes.
    #[inline]
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The number of bytes.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// A full frame on the path: Ethernet without its FCS (IP + 14) at an MTU of 1500.
pub const FULL_FRAME: Bytes = Bytes::new(1514);

/// A point in time: nanoseconds since the run began. Spans are [`std::time::Duration`].
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, JsonSchema, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Time(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than everything that happens.
    pub const MAX: Self = Self(u64::MAX);

    /// `nanos` nanoseconds after the run began.
    #[inline]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the run began.
    #[inline]
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// Whole microseconds since the run began, rounded down.
    #[inline]
    pub const fn micros(self) -> u64 {
        self.0 / 1_000
    }

    /// The span from `earlier` to here; zero where `earlier` is later.
    #[inline]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// This point plus `span`, saturating at [`Time::MAX`].
    #[inline]
    pub const fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(nanos(span)))
    }

    /// This point less `span`, saturating at [`Time::ZERO`].
    #[inline]
    pub const fn before(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(span)))
    }

    /// The earlier of two points, where there are any.
    #[inline]
    pub fn earliest(a: Option<Self>, b: Option<Self>) -> Option<Self> {
        match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }
}

/// Nanoseconds of `span`, saturating; without the 128 bits of [`Duration::as_nanos`].
#[inline]
const fn nanos(span: Duration) -> u64 {
    span.as_secs().saturating_mul(NANOS_PER_SEC).saturating_add(span.subsec_nanos() as u64)
}

/// A share or probability, 0 to 1. Scenario text is in per cent.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, JsonSchema, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ratio(f64);

impl Ratio {
    /// Nothing.
    pub const ZERO: Self = Self(0.0);
    /// Everything.
    pub const ONE: Self = Self(1.0);

    /// A share of one, clamped to 0..=1; `NaN` becomes 0.
    #[inline]
    pub fn from_fraction(fraction: f64) -> Self {
        if fraction.is_nan() { Self(0.0) } else { Self(fraction.clamp(0.0, 1.0)) }
    }

    /// A share in per cent, clamped to 0..=100.
    #[inline]
    pub fn from_percent(percent: f64) -> Self {
        Self::from_fraction(percent / 100.0)
    }

    /// The share of one.
    #[inline]
    pub const fn fraction(self) -> f64 {
        self.0
    }

    /// The share in per cent.
    #[inline]
    pub fn percent(self) -> f64 {
        self.0 * 100.0
    }
}

/// The seed of a run; every element derives its own named stream from it (see [`crate::prng`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seed(u64);

impl Seed {
    /// The seed `value`.
    #[inline]
    pub const fn new(value: u64) -> Self {
        Self(value)
    }

    /// The seed as a number.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// What a queue may hold (`queue`, `delay_limit`).
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueLimit {
    /// Bytes of Ethernet frames without their FCS (IP + 14).
    Bytes(Bytes),
    /// Packets of at most one MTU.
    Packets(u64),
    /// Multiples of `rate × rtt` of the path.
    Bdp(f64),
}
