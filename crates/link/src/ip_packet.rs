//! What the path reads and changes of an IP header, and what it tells the packet's driver.

use pipefill_core::record::DropReason;

/// The ECN field of an IP header (RFC 3168, section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ecn {
    /// Not-ECT: may not be marked.
    #[default]
    NotEct,
    /// ECT(1): an L4S packet (RFC 9331, section 4.1).
    Ect1,
    /// ECT(0).
    Ect0,
    /// CE: it is marked.
    Ce,
}

impl Ecn {
    /// Of the two bits of the header.
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }
}

/// What a driver attaches to a packet, as far as it has an IP header. A bare number, as tests and benches attach it, has none.
pub trait IpPacket: Clone {
    /// Its ECN field.
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }

    /// Whether its ECN field is ECT(0) or ECT(1), so that it may be marked (RFC 3168, section 5).
    fn is_ect(&self) -> bool {
        matches!(self.ecn(), Ecn::Ect0 | Ecn::Ect1)
    }

    /// A number of its flow: equal for packets of equal protocol, addresses and ports, and for few others.
    fn flow(&self) -> u64 {
        0
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
