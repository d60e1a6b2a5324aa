//! The addresses of both hosts, the same on every backend.

use crate::cell::Family;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Link-layer address of the sending host: locally administered.
pub const SENDER_MAC: [u8; 6] = [0x02, 0x70, 0x66, 0, 0, 0x0a];
/// Link-layer address of the receiving host.
pub const RECEIVER_MAC: [u8; 6] = [0x02, 0x70, 0x66, 0, 0, 0x0b];
/// Name of either host's interface on the path.
pub const INTERFACE: &str = "path0";

/// Address of the sending host.
pub const fn of_sender(family: Family) -> IpAddr {
    address(family, 1)
}

/// Address of the receiving host.
pub const fn of_receiver(family: Family) -> IpAddr {
    address(family, 2)
}

/// Address of the router between both hosts, from which ICMP messages about packets come.
pub const fn of_gateway(family: Family) -> IpAddr {
    address(family, 254)
}

const fn address(family: Family, host: u8) -> IpAddr {
    match family {
        Family::Ipv4 => IpAddr::V4(Ipv4Addr::new(10, 77, 0, host)),
        Family::Ipv6 => IpAddr::V6(Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, host as u16)),
    }
}
