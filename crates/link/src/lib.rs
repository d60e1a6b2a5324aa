//! The path as pure state machines driven by `now`: loss, an inner MTU, a policer, marks, duplication, delay, and a queue in front of a
//! token bucket, drop-tail or with a discipline of its own, all of which may change over time.
//!
//! Two clocks drive this very code, the simulator's and the lab's, so that the two can't drift apart. [`OneWay`] is one
//! direction of a path; its parts can be used and tested on their own.
//!
//! Never: a clock, a socket, a thread, or chance that does not come from a named stream of the run's seed.
#![forbid(unsafe_code)]

mod aqm;
mod bottleneck;
mod burst;
mod counters;
mod delay;
mod duplicate;
mod element;
mod entry;
mod fifo;
mod ip_packet;
pub mod jiffies;
mod jitter;
mod limit;
mod loss;
mod managed;
mod one_way;
mod overtaking;
mod packet;
mod policer;
mod stages;
mod token_bucket;

pub use aqm::{AqmCounts, red_weight_log};
pub use bottleneck::{Bottleneck, FedBy};
pub use burst::BurstMeter;
pub use counters::{Backlog, Count, Counters};
pub use delay::Delay;
pub use duplicate::Duplicate;
pub use element::Element;
pub use ip_packet::{Ecn, IpPacket};
pub use jitter::Jitter;
pub use limit::{FULL_PACKET, Limit};
pub use loss::Loss;
pub use one_way::OneWay;
pub use packet::{Dropped, Packet, Released};
pub use policer::Policer;
