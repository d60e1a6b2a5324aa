//! TCP as Linux 6.12 does it by default: an end has a half that sends and a half that receives, each a state machine driven by `now`.
//!
//! Each module cites the kernel function or the RFC section that it follows.

pub(crate) mod ack;
pub(crate) mod ack_policy;
pub(crate) mod chrono;
pub(crate) mod cwnd_use;
mod ecn;
mod ecn_receiver;
mod ecn_sender;
pub(crate) mod endpoint;
pub(crate) mod info;
pub(crate) mod limits;
mod mtu;
pub(crate) mod output;
pub(crate) mod packet_memory;
pub(crate) mod paws;
pub(crate) mod process;
pub(crate) mod rack;
pub(crate) mod rate;
pub(crate) mod reassembly;
pub(crate) mod receive_window;
pub(crate) mod receiver;
pub(crate) mod recovery;
pub(crate) mod rtt;
pub(crate) mod sack;
pub(crate) mod scoreboard;
pub(crate) mod send_queue;
pub(crate) mod sender;
pub(crate) mod sender_trace;
pub(crate) mod timers;
pub(crate) mod undo;

#[cfg(test)]
mod tests;
