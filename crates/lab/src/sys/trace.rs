//! The two structs that the BPF programs of `bpf/flows.bpf.c` share with this process.
#![allow(unsafe_code)]

/// `struct sender`: a map's value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct SenderEntry {
    /// `CLOCK_MONOTONIC`, nanoseconds: what lies between the two is counted.
    pub(crate) from_ns: u64,
    pub(crate) until_ns: u64,
    pub(crate) in_state_ns: [u64; 5],
    pub(crate) since_ns: u64,
    pub(crate) state: u32,
    pub(crate) pad: u32,
}

// SAFETY: `repr(C)`, integers only, no padding but the named one: any bytes are a value.
unsafe impl aya::Pod for SenderEntry {}

/// `struct event`: what the ring carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Event {
    /// `CLOCK_MONOTONIC`, nanoseconds.
    pub(crate) at_ns: u64,
    pub(crate) cookie: u64,
    pub(crate) seq_from: u64,
    pub(crate) seq_to: u64,
    pub(crate) total_retrans: u32,
    /// 0 = a retransmission, 1 = a recovery's end.
    pub(crate) kind: u8,
    pub(crate) state: u8,
    pub(crate) undone: u8,
    pub(crate) pad: u8,
    /// Of this retransmission.
    pub(crate) segments: u32,
    pub(crate) pad_to_8: u32,
}

impl Event {
    /// From the ring's bytes; `None` where they are not as many as an event has.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        // SAFETY: the length is checked, the read may be unaligned, and any bytes are a value of integers.
        (bytes.len() == size_of::<Self>()).then(|| unsafe { bytes.as_ptr().cast::<Self>().read_unaligned() })
    }
}
