//! The only `unsafe` of the project: thin, typed wrappers around system calls that no crate wraps well.
//!
//! Each function says what it asks of the kernel and why its `unsafe` is sound.

pub(crate) mod buffers;
pub(crate) mod datagram;
pub(crate) mod ethtool;
pub(crate) mod mapping;
mod messages;
pub(crate) mod packet;
pub(crate) mod received;
pub(crate) mod socket;
pub(crate) mod socket_list;
pub(crate) mod thread;
pub(crate) mod trace;
pub(crate) mod whole;
