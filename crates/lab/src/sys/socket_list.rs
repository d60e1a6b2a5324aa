//! The struct that the BPF program of `bpf/sockets.bpf.c` keeps between its passes.
#![allow(unsafe_code)]

/// `struct passes`: a map's value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Passes {
    /// Whether the next pass tells every socket.
    pub(crate) wants_all: u32,
    pub(crate) is_in_one: u32,
    /// The pass that is under way, and the one before it, in jiffies.
    pub(crate) began: u32,
    pub(crate) began_before: u32,
    pub(crate) connected: u64,
}

// SAFETY: `repr(C)`, integers only, no padding: any bytes are a value.
unsafe impl aya::Pod for Passes {}
