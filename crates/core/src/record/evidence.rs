//! Where a figure of a record was taken: the element of the path, the reason of a drop, the role of a thread. In JSON they are text.

use crate::cell::Direction;
use crate::record::{Counter, Environment, Manifest};
use crate::units::Rate;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// A part of the path that holds packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Element {
    /// The delay element.
    Delay,
    /// The bottleneck's queue.
    Queue,
}

impl Element {
    /// `delay` or `queue`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Delay => "delay",
            Self::Queue => "queue",
        }
    }
}

/// Why the path dropped a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DropReason {
    /// By the loss element, drawn or listed.
    RandomLoss,
    /// Larger than the inner link's MTU, and must not be fragmented.
    ExceedsMtu,
    /// The policer had no tokens for it.
    Policed,
    /// The delay element held as much as it may (netem's `limit`).
    DelayLimit,
    /// The queue before the token bucket was full (tbf's `limit`).
    QueueFull,
    /// The queue's discipline dropped it, though there was room (`path.aqm`).
    Aqm,
    /// The packet is larger than the bucket, so that it could never pass (tbf's `max_size`).
    ExceedsBurst,
}

impl DropReason {
    /// Every reason, in the order of the path.
    pub const ALL: [Self; 7] = [
        Self::RandomLoss,
        Self::ExceedsMtu,
        Self::Policed,
        Self::DelayLimit,
        Self::QueueFull,
        Self::Aqm,
        Self::ExceedsBurst,
    ];

    /// The word of the records: `random_loss`, `exceeds_mtu`, `policed`, `delay_limit`, `queue_full`, `aqm`, `exceeds_burst`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RandomLoss => "random_loss",
            Self::ExceedsMtu => "exceeds_mtu",
            Self::Policed => "policed",
            Self::DelayLimit => "delay_limit",
            Self::QueueFull => "queue_full",
            Self::Aqm => "aqm",
            Self::ExceedsBurst => "exceeds_burst",
        }
    }
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What one direction of the path counts, in packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathCount {
    /// Offered to the path.
    Offered,
    /// Let through.
    Delivered,
    /// Copies that the path added.
    Duplicated,
    /// Left the delay element after a packet that had reached it later (RFC 4737).
    Reordered,
    /// Marked CE by chance (`path.mark`).
    MarkedRandomly,
    /// Marked CE by the queue's discipline (`path.aqm`).
    MarkedByAqm,
    /// Dropped for this reason.
    Dropped(DropReason),
}

impl PathCount {
    /// Its name without the unit: `offered`, `dropped_queue_full`.
    pub fn name(self) -> Cow<'static, str> {
        match self {
            Self::Offered => "offered".into(),
            Self::Delivered => "delivered".into(),
            Self::Duplicated => "duplicated".into(),
            Self::Reordered => "reordered".into(),
            Self::MarkedRandomly => "marked_random".into(),
            Self::MarkedByAqm => "marked_aqm".into(),
            Self::Dropped(reason) => format!("{DROPPED}{reason}").into(),
        }
    }

    /// Whether `name` is [`Self::name`].
    fn has_name(self, name: &str) -> bool {
        match self {
            Self::Dropped(reason) => name.strip_prefix(DROPPED) == Some(reason.as_str()),
            count => count.name() == name,
        }
    }
}

/// What the name of a count of dropped packets begins with.
const DROPPED: &str = "dropped_";
/// What the place of a counter of the path begins with.
const PATH: &str = "path ";

impl Counter {
    /// The place of the path's counters of `direction`: `path forward`.
    pub fn path_place(direction: Direction) -> String {
        format!("{PATH}{}", direction.as_str())
    }

    /// Packets that the path counted in `direction`, by these of its counters; `None` where it did not count them: that is not 0.
    pub fn of_path(counters: &[Self], direction: Direction, count: PathCount) -> Option<u64> {
        let is_it = |counter: &&Self| {
            let name = counter.name.strip_suffix("_packets");
            counter.place.strip_prefix(PATH) == Some(direction.as_str())
                && name.is_some_and(|name| count.has_name(name))
        };
        counters.iter().find(is_it).map(Self::increase)
    }

    /// By how much it rose during the run.
    pub const fn increase(&self) -> u64 {
        self.after.saturating_sub(self.before)
    }
}

impl Manifest {
    /// See [`Counter::of_path`].
    pub fn path_count(&self, direction: Direction, count: PathCount) -> Option<u64> {
        Counter::of_path(&self.counters, direction, count)
    }
}

/// Where records of 0.1.0 told what a simulated host sends at most.
const HOST_RATE_FACT: &str = "host rate where the path has none, bit/s";

impl Environment {
    /// What a host sends at most where the path has no rate; `None` where only the hardware limits it.
    pub fn host_rate(&self) -> Option<Rate> {
        let by_fact = || self.facts.get(HOST_RATE_FACT)?.parse().ok();
        self.host_rate_bps.or_else(by_fact).map(Rate::from_bps)
    }
}

/// What a thread of a run does. Its text is `path forward`, `flow 0 sender`, `flow 1 stream 3 receiver`, `telemetry`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ThreadRole {
    /// Carries packets of one direction of the path.
    Path(Direction),
    /// Sends for all streams of a flow.
    Sender {
        /// Index of the flow in the cell.
        flow: u32,
    },
    /// Receives for a flow.
    Receiver {
        /// Index of the flow in the cell.
        flow: u32,
        /// The stream of the run that it receives; `None` where it receives all of the flow's.
        stream: Option<u32>,
    },
    /// Samples.
    Telemetry,
    /// Any other thread of the instrument, by its name.
    Other(String),
}

impl ThreadRole {
    /// The flow that the thread works for; `None` for the instrument's own threads.
    pub const fn flow(&self) -> Option<u32> {
        match self {
            Self::Sender { flow } | Self::Receiver { flow, .. } => Some(*flow),
            Self::Path(_) | Self::Telemetry | Self::Other(_) => None,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split(' ').collect();
        let number = |word: &str| word.parse().ok();
        Some(match words[..] {
            ["path", "forward"] => Self::Path(Direction::Forward),
            ["path", "reverse"] => Self::Path(Direction::Reverse),
            ["flow", flow, "sender"] => Self::Sender { flow: number(flow)? },
            ["flow", flow, "receiver"] => Self::Receiver { flow: number(flow)?, stream: None },
            ["flow", flow, "stream", stream, "receiver"] => {
                Self::Receiver { flow: number(flow)?, stream: Some(number(stream)?) }
            }
            ["telemetry"] => Self::Telemetry,
            _ => return None,
        })
    }
}

impl From<&str> for ThreadRole {
    fn from(text: &str) -> Self {
        Self::parse(text).unwrap_or_else(|| Self::Other(text.to_owned()))
    }
}

impl fmt::Display for ThreadRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(direction) => write!(f, "path {}", direction.as_str()),
            Self::Sender { flow } => write!(f, "flow {flow} sender"),
            Self::Receiver { flow, stream: None } => write!(f, "flow {flow} receiver"),
            Self::Receiver { flow, stream: Some(stream) } => {
                write!(f, "flow {flow} stream {stream} receiver")
            }
            Self::Telemetry => f.write_str("telemetry"),
            Self::Other(name) => f.write_str(name),
        }
    }
}

impl Serialize for ThreadRole {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ThreadRole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from(&*Cow::<'de, str>::deserialize(deserializer)?))
    }
}

impl JsonSchema for ThreadRole {
    fn schema_name() -> Cow<'static, str> {
        "ThreadRole".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_read_back_from_its_text() {
        let roles = [
            ThreadRole::Path(Direction::Reverse),
            ThreadRole::Sender { flow: 7 },
            ThreadRole::Receiver { flow: 0, stream: None },
            ThreadRole::Receiver { flow: 1, stream: Some(12) },
            ThreadRole::Telemetry,
            ThreadRole::Other("record".to_owned()),
        ];
        for role in roles {
            assert_eq!(ThreadRole::from(role.to_string().as_str()), role);
            let json = serde_json::to_string(&role).unwrap();
            assert_eq!(serde_json::from_str::<ThreadRole>(&json).unwrap(), role);
        }
        for odd in ["flow x sender", "flow 1 stream receiver", "path", "", "path forwards"] {
            assert_eq!(ThreadRole::from(odd), ThreadRole::Other(odd.to_owned()));
        }
    }

    #[test]
    fn a_flows_threads_are_its_own() {
        let of = |text: &str| ThreadRole::from(text).flow();
        assert_eq!(["flow 1 sender", "flow 2 receiver", "path forward"].map(of), [Some(1), Some(2), None]);
    }
}
