//! Packets without a TCP segment: what they are, by name.

use std::borrow::Cow;
use std::collections::BTreeMap;

/// Why a packet brought no TCP segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Other {
    /// UDP, and no tunnel.
    Udp,
    /// ICMP and ICMPv6.
    Icmp,
    /// Another protocol over IP, by its number.
    Protocol(u8),
    /// Another protocol than IP, by its Ethernet type.
    EtherType(u16),
    /// Another protocol behind LLC, by its service access point.
    Llc(u8),
    /// Another protocol of PPP, by its number.
    Ppp(u16),
    /// Another address family in a loopback header.
    AddressFamily,
    /// A frame of FDDI without LLC: tokens, station management.
    Fddi,
    /// Beacons, probes, associations.
    WirelessManagement,
    /// ACKs, RTS, CTS.
    WirelessControl,
    /// A data frame of 802.11 without data: power management.
    WirelessWithoutData,
    /// An encrypted data frame of 802.11.
    WirelessProtected,
    /// Several frames in one of 802.11 (A-MSDU).
    WirelessAggregate,
    /// A frame of 802.11 that was received with errors.
    WirelessBadFcs,
    /// A radiotap header that can't be.
    WirelessBroken,
    /// A fragment of an IP packet that it does not complete.
    Fragment,
    /// A fragment behind the first one, of a packet that is not put together: it has no ports.
    LaterFragment,
    /// A link type that is not read.
    Link(u16),
    /// More tags, labels or extension headers than are followed.
    TooDeep,
    /// Tunnels in tunnels, more than are followed.
    NestedTunnel,
    /// Too few bytes were captured for the link header.
    CutLink,
    /// Too few bytes were captured for the IP header.
    CutIp,
    /// Too few bytes were captured for the fields of TCP.
    CutTcp,
    /// Too few bytes were captured for the header of UDP.
    CutUdp,
    /// A version, length or extension that can't be.
    BadIp,
    /// A length of TCP's header that can't be.
    BadTcp,
    /// A length of UDP that can't be.
    BadUdp,
    /// One of more kinds than are counted by name.
    More,
}

impl Other {
    /// The kind of an IP packet that carries neither TCP nor UDP.
    pub(super) const fn of_protocol(number: u8) -> Self {
        const ICMP: u8 = 1;
        const ICMP_V6: u8 = 58;
        match number {
            ICMP | ICMP_V6 => Self::Icmp,
            other => Self::Protocol(other),
        }
    }

    /// Its name, for a table.
    pub fn name(self) -> Cow<'static, str> {
        let name = match self {
            Self::Udp => "UDP",
            Self::Icmp => "ICMP",
            Self::Protocol(number) => return numbered(protocol(number), "IP protocol", u64::from(number)),
            Self::EtherType(number) => match ether_type(number) {
                Some(name) => name,
                None => return Cow::Owned(format!("Ethernet type 0x{number:04x}")),
            },
            Self::Llc(service) => match llc(service) {
                Some(name) => name,
                None => return Cow::Owned(format!("LLC service 0x{service:02x}")),
            },
            Self::Ppp(number) => match ppp(number) {
                Some(name) => name,
                None => return Cow::Owned(format!("PPP protocol 0x{number:04x}")),
            },
            Self::AddressFamily => "other address families",
            Self::Fddi => "FDDI without LLC",
            Self::WirelessManagement => "802.11 management",
            Self::WirelessControl => "802.11 control",
            Self::WirelessWithoutData => "802.11 without data",
            Self::WirelessProtected => "802.11 protected",
            Self::WirelessAggregate => "802.11 aggregates (A-MSDU)",
            Self::WirelessBadFcs => "802.11 with a bad checksum",
            Self::WirelessBroken => "radiotap headers that can't be",
            Self::Fragment => "IP fragments before the last of their packet",
            Self::LaterFragment => "fragments behind the first",
            Self::Link(number) => {
                return Cow::Owned(match link(number) {
                    Some(name) => format!("link type {name} ({number})"),
                    None => format!("link type {number}"),
                });
            }
            Self::TooDeep => "too many tags or extension headers",
            Self::NestedTunnel => "tunnels in tunnels",
            Self::CutLink => "link headers cut by the snap length",
            Self::CutIp => "IP headers cut by the snap length",
            Self::CutTcp => "TCP headers cut by the snap length",
            Self::CutUdp => "UDP headers cut by the snap length",
            Self::BadIp => "IP headers that can't be",
            Self::BadTcp => "TCP headers that can't be",
            Self::BadUdp => "UDP headers that can't be",
            Self::More => "other kinds",
        };
        Cow::Borrowed(name)
    }

    /// Whether too few bytes of the packet were captured.
    pub const fn is_cut(self) -> bool {
        matches!(self, Self::CutLink | Self::CutIp | Self::CutTcp | Self::CutUdp)
    }
}

fn numbered(name: Option<&'static str>, class: &str, number: u64) -> Cow<'static, str> {
    name.map_or_else(|| Cow::Owned(format!("{class} {number}")), Cow::Borrowed)
}

/// <https://www.iana.org/assignments/protocol-numbers>: what captures have.
const fn protocol(number: u8) -> Option<&'static str> {
    Some(match number {
        2 => "IGMP",
        33 => "DCCP",
        46 => "RSVP",
        47 => "GRE of another protocol",
        50 => "ESP (IPsec)",
        88 => "EIGRP",
        89 => "OSPF",
        103 => "PIM",
        112 => "VRRP",
        115 => "L2TP",
        132 => "SCTP",
        136 => "UDP-Lite",
        _ => return None,
    })
}

/// <https://www.iana.org/assignments/ieee-802-numbers>, and the numbers of Linux in cooked captures.
const fn ether_type(number: u16) -> Option<&'static str> {
    Some(match number {
        0x0806 => "ARP",
        0x8035 => "RARP",
        0x809b => "AppleTalk",
        0x8137 => "IPX",
        0x8809 => "slow protocols (LACP)",
        0x8863 => "PPPoE discovery",
        0x888e => "EAPOL",
        0x88cc => "LLDP",
        0x88e5 => "MACsec",
        0x88f7 => "PTP",
        0x8892 => "PROFINET",
        0x8906 => "FCoE",
        0x9000 => "Ethernet loopback test",
        _ => return None,
    })
}

const fn llc(service: u8) -> Option<&'static str> {
    Some(match service {
        0x42 => "spanning tree",
        0xaa => "SNAP of another organisation",
        0xe0 | 0xff => "IPX",
        0xf0 => "NetBIOS over LLC",
        0xfe => "OSI over LLC",
        _ => return None,
    })
}

/// <https://www.iana.org/assignments/ppp-numbers>.
const fn ppp(number: u16) -> Option<&'static str> {
    Some(match number {
        0x003d => "PPP multilink",
        0x00fd => "PPP compressed",
        0x002d | 0x002f => "PPP with compressed TCP headers",
        0x8000..=0xbfff => "PPP network control",
        0xc000..=0xffff => "PPP link control",
        _ => return None,
    })
}

/// Link types that are not read, and are not rare: <https://www.tcpdump.org/linktypes.html>.
const fn link(number: u16) -> Option<&'static str> {
    Some(match number {
        3 => "AX25",
        7 => "ARCNET_BSD",
        8 => "SLIP",
        122 => "IP_OVER_FC",
        129 => "ARCNET_LINUX",
        140 => "MTP2",
        141 => "MTP3",
        143 => "DOCSIS",
        147..=162 => "USER",
        166 => "PPP_PPPD",
        187 => "BLUETOOTH_HCI_H4",
        189 => "USB_LINUX",
        195 => "IEEE802_15_4_WITHFCS",
        197 => "ERF",
        201 => "BLUETOOTH_HCI_H4_WITH_PHDR",
        220 => "USB_LINUX_MMAPPED",
        226 => "IPNET",
        227 => "CAN_SOCKETCAN",
        242 => "INFINIBAND",
        247 => "INFINIBAND",
        249 => "USBPCAP",
        251 => "BLUETOOTH_LE_LL",
        253 => "NETLINK",
        274 => "ETHERNET_MPACKET",
        _ => return None,
    })
}

/// Packets by what they are, of a bounded number of kinds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Others(BTreeMap<Other, u64>);

impl Others {
    /// Kinds that are counted by name: what a capture made to break readers has more are one.
    const KINDS_MAX: usize = 256;

    #[cold]
    pub(crate) fn count(&mut self, other: Other) {
        let is_new = self.0.len() >= Self::KINDS_MAX && !self.0.contains_key(&other);
        *self.0.entry(if is_new { Other::More } else { other }).or_insert(0) += 1;
    }

    /// Packets of one kind.
    pub fn of(&self, other: Other) -> u64 {
        self.0.get(&other).copied().unwrap_or(0)
    }

    /// Each kind, and how many packets.
    pub fn iter(&self) -> impl Iterator<Item = (Other, u64)> {
        self.0.iter().map(|(&other, &count)| (other, count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_read_has_a_name() {
        let table = [
            (Other::EtherType(0x0806), "ARP"),
            (Other::EtherType(0x1234), "Ethernet type 0x1234"),
            (Other::Protocol(132), "SCTP"),
            (Other::Protocol(33), "DCCP"),
            (Other::Protocol(200), "IP protocol 200"),
            (Other::Llc(0x42), "spanning tree"),
            (Other::Ppp(0xc021), "PPP link control"),
            (Other::Link(147), "link type USER (147)"),
            (Other::Link(60_000), "link type 60000"),
        ];
        for (other, name) in table {
            assert_eq!(other.name(), name);
        }
    }

    #[test]
    fn however_many_kinds_there_are_all_packets_are_counted() {
        let mut others = Others::default();
        for number in 0..=u16::MAX {
            others.count(Other::EtherType(number));
        }
        assert!(others.iter().count() <= Others::KINDS_MAX + 1);
        assert_eq!(others.iter().map(|(_, count)| count).sum::<u64>(), 1 << 16);
    }
}
