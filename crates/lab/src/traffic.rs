//! The applications at both ends: what offers data and what reads it.
//!
//! A flow has one sending and one receiving thread, whatever its number of streams. Payload is zeros (the data path
//! relies on it), and nobody looks at it.

pub(crate) mod application;
mod awake;
pub(crate) mod connect;
pub(crate) mod counts;
pub(crate) mod give_way;
mod moderation;
pub(crate) mod ping;
pub(crate) mod tcp;
pub(crate) mod udp;
