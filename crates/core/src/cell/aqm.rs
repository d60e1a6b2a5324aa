//! How the bottleneck's queue is managed where it is not drop-tail. Defaults are those of Linux's qdiscs.

use super::nanos;
use crate::units::{Bytes, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The discipline of a bottleneck's queue. Drop-tail has none.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AqmSpec {
    /// A full queue drops its oldest packet (`pfifo_head_drop`).
    Drophead,
    /// CoDel (RFC 8289).
    Codel(CodelSpec),
    /// FQ-CoDel (RFC 8290).
    FqCodel(FqCodelSpec),
    /// PIE (RFC 8033).
    Pie(PieSpec),
    /// RED (Floyd and Jacobson, 1993), and adaptive RED (Floyd, Gummadi, Shenker, 2001).
    Red(RedSpec),
    /// DualPI2 (RFC 9332).
    Dualpi2(Dualpi2Spec),
}

impl AqmSpec {
    /// The word of the scenario: `fq_codel`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Drophead => "drophead",
            Self::Codel(_) => "codel",
            Self::FqCodel(_) => "fq_codel",
            Self::Pie(_) => "pie",
            Self::Red(_) => "red",
            Self::Dualpi2(_) => "dualpi2",
        }
    }

    /// The sojourn time that it aims at; `None` where it has none.
    pub const fn target(&self) -> Option<Duration> {
        match self {
            Self::Codel(codel) | Self::FqCodel(FqCodelSpec { codel, .. }) => Some(codel.target),
            Self::Pie(pie) => Some(pie.target),
            Self::Dualpi2(dualpi2) => Some(dualpi2.target),
            Self::Drophead | Self::Red(_) => None,
        }
    }

    /// Whether it marks packets that may be marked, in place of dropping them.
    pub const fn marks(&self) -> bool {
        match self {
            Self::Drophead => false,
            Self::Codel(codel) | Self::FqCodel(FqCodelSpec { codel, .. }) => codel.ecn,
            Self::Pie(pie) => pie.ecn,
            Self::Red(red) => red.ecn,
            Self::Dualpi2(_) => true,
        }
    }
}

/// Parameters of CoDel (`struct codel_params`).
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct CodelSpec {
    /// A standing sojourn time that is acceptable.
    #[serde(rename = "target_ns", with = "nanos")]
    #[schemars(with = "u64")]
    pub target: Duration,
    /// For how long the sojourn time has to stay above the target before it acts; a worst-case round trip.
    #[serde(rename = "interval_ns", with = "nanos")]
    #[schemars(with = "u64")]
    pub interval: Duration,
    /// Whether it marks in place of dropping.
    pub ecn: bool,
    /// A full frame: a queue that holds no more is left alone.
    #[serde(rename = "frame_bytes")]
    pub frame: Bytes,
}

/// Parameters of FQ-CoDel (`struct fq_codel_sched_data`).
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct FqCodelSpec {
    /// CoDel for each flow's queue.
    #[serde(flatten)]
    pub codel: CodelSpec,
    /// Number of queues that flows are hashed to.
    pub flows: u32,
    /// Bytes that a queue may send in its turn.
    #[serde(rename = "quantum_bytes")]
    pub quantum: Bytes,
    /// What all packets may take of memory, with the kernel's overhead.
    #[serde(rename = "memory_limit_bytes")]
    pub memory_limit: Bytes,
    /// Packets that an overflow drops at most.
    pub drop_batch: u32,
}

/// Parameters of PIE (`struct pie_params`).
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct PieSpec {
    /// The sojourn time that it aims at.
    #[serde(rename = "target_ns", with = "nanos")]
    #[schemars(with = "u64")]
    pub target: Duration,
    /// How often the probability is computed.
    #[serde(rename = "tupdate_ns", with = "nanos")]
    #[schemars(with = "u64")]
    pub tupdate: Duration,
    /// Weight of the distance to the target, in sixteenths per second.
    pub alpha: f64,
    /// Weight of the change, in sixteenths per second.
    pub beta: f64,
    /// Whether it marks in place of dropping, up to a probability of 10 %.
    pub ecn: bool,
    /// A full frame: a queue that holds less than two is left alone.
    #[serde(rename = "frame_bytes")]
    pub frame: Bytes,
}

/// Parameters of RED (`struct red_parms`).
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct RedSpec {
    /// Average queue from which on packets are dropped by chance.
    #[serde(rename = "min_bytes")]
    pub min: Bytes,
    /// Average queue from which on all packets are dropped.
    #[serde(rename = "max_bytes")]
    pub max: Bytes,
    /// Probability at `max`.
    pub probability: Ratio,
    /// An average packet, for the time that an empty queue counts.
    #[serde(rename = "avpkt_bytes")]
    pub avpkt: Bytes,
    /// Packets of a burst that the average lets pass.
    pub burst: u32,
    /// Whether `probability` adapts, so that the average stays between both thresholds.
    pub adaptive: bool,
    /// Whether it marks in place of dropping.
    pub ecn: bool,
    /// Whether it drops above `max` where it would mark.
    pub harddrop: bool,
}

/// Parameters of DualPI2 (`struct dualpi2_sched_data`; RFC 9332, appendix A).
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Dualpi2Spec {
    /// The sojourn time of the classic queue that it aims at.
    #[serde(rename = "target_ns", with = "nanos")]
    #[schemars(with = "u64")]
    pub target: Duration,
    /// How often the probability is computed.
    #[serde(rename = "tupdate_ns", with = "nanos")]
    #[schemars(with = "u64")]
    pub tupdate: Duration,
    /// Weight of the distance to the target, per second.
    pub alpha: f64,
    /// Weight of the change, per second.
    pub beta: f64,
    /// k: the marking probability of L4S packets over the base probability.
    pub coupling: f64,
    /// L4S packets that have waited longer are marked.
    #[serde(rename = "step_ns", with = "nanos")]
    #[schemars(with = "u64")]
    pub step: Duration,
    /// A full frame: queues that hold less than two are left alone.
    #[serde(rename = "frame_bytes")]
    pub frame: Bytes,
}
