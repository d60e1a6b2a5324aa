//! Whose share of the server a connection uses: one address, or one network of IPv6, has a share and no more.

use std::net::{IpAddr, Ipv6Addr};

/// An IPv4 address, or the /64 of an IPv6 address: within it a host chooses its addresses itself (RFC 4291, section 2.5.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Share(IpAddr);

impl Share {
    pub(super) fn of(address: IpAddr) -> Self {
        const NETWORK: u128 = !0 << 64;
        Self(match address.to_canonical() {
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & NETWORK)),
            address @ IpAddr::V4(_) => address,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_one_share_whatever_its_addresses_are() {
        let share = |text: &str| Share::of(text.parse().unwrap());
        assert_eq!(share("2001:db8::1"), share("2001:db8::ffff:2"));
        assert_ne!(share("2001:db8::1"), share("2001:db8:0:1::1"));
        assert_eq!(share("::ffff:192.0.2.1"), share("192.0.2.1"));
        assert_ne!(share("192.0.2.1"), share("192.0.2.2"));
    }
}
