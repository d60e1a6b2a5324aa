//! What the path reads and changes of an IP header, and what it tells the packet's driver.

use pipefill_core::record::DropReason;

/// What a driver attaches to a packet, as far as it has an IP header. A bare number, as tests and benches attach it, has none.
pub trait IpPacket: Clone {
    /// Whether its ECN field is ECT(0) or ECT(1), so that it may be marked (RFC 3168, section 5).
    fn is_ect(&self) -> bool {
        false
    }

    /// Sets its ECN field to CE.
    fn set_ce(&mut self) {}

    /// Whether no router may fragment it: IPv4 with DF (RFC 791), and IPv6 (RFC 8200, section 5).
    fn has_df(&self) -> bool {
        false
    }

    /// The path drops it for `reason`: a driver that counts the packets of each flow does so here.
    fn dropped(&self, _reason: DropReason) {}
}

impl IpPacket for u32 {}
impl IpPacket for usize {}
