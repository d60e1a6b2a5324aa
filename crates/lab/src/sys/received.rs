//! A packet that was received, whichever way.

use super::buffers::Buffer;

/// `struct virtio_net_hdr`.
pub(crate) const VNET_LEN: usize = 10;

/// What the kernel says of a packet.
pub(crate) struct Received<'a> {
    /// The kernel's receive timestamp, `CLOCK_REALTIME` nanoseconds.
    pub(crate) realtime_ns: u64,
    /// Whether the host sends it; else it arrives.
    pub(crate) is_outgoing: bool,
    /// Full length of the packet, Ethernet header included.
    pub(crate) len: u32,
    /// `struct virtio_net_hdr`.
    pub(crate) vnet: [u8; VNET_LEN],
    /// Its bytes.
    pub(crate) packet: Packet<'a>,
}

impl Received<'_> {
    /// What is kept of its bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.packet {
            Packet::Head(bytes) | Packet::Held(_, bytes) => bytes,
            Packet::Whole(packet) => packet,
        }
    }
}

/// What is kept of a packet.
pub(crate) enum Packet<'a> {
    /// The first bytes, at most [`super::packet::SNAP`].
    Head(&'a [u8]),
    /// All of it.
    Whole(Buffer),
    /// The first bytes; the kernel holds the packet under this number.
    Held(u32, &'a [u8]),
}
