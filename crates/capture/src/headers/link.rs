//! What stands before IP: Ethernet with its tags, Linux cooked, null/loopback, nothing.

use super::Other;
use crate::read::LinkType;

/// Link types: <https://www.tcpdump.org/linktypes.html>.
const NULL: u16 = 0;
pub(super) const ETHERNET: u16 = 1;
/// What BSDs and OpenBSD write for raw IP instead of 101.
const RAW_BSD: u16 = 12;
const RAW_OPENBSD: u16 = 14;
const RAW: u16 = 101;
const LOOP: u16 = 108;
const COOKED: u16 = 113;
const IPV4: u16 = 228;
const IPV6: u16 = 229;
const COOKED_2: u16 = 276;

pub(super) const TYPE_IPV4: u16 = 0x0800;
const TYPE_IPV6: u16 = 0x86dd;
const TYPE_ARP: u16 = 0x0806;
/// 802.1Q, 802.1ad (QinQ), and what QinQ was before its standard.
const TYPE_VLAN: [u16; 3] = [0x8100, 0x88a8, 0x9100];
/// Two addresses and the type.
pub(super) const ETHERNET_HEADER: usize = 14;
/// Tags that are followed.
const TAGS_MAX: usize = 4;

/// The IP packet in `bytes`, and where it begins.
#[inline(always)]
pub(super) fn ip(link: LinkType, bytes: &[u8]) -> Result<(&[u8], usize), Other> {
    match link.0 {
        ETHERNET => ethernet(bytes),
        RAW | RAW_BSD | RAW_OPENBSD | IPV4 | IPV6 => Ok((bytes, 0)),
        COOKED => tagged(bytes, 14, 16),
        COOKED_2 => tagged(bytes, 0, 20),
        NULL | LOOP => loopback(bytes),
        _ => Err(Other::UnknownLink),
    }
}

/// The IP packet in an Ethernet frame, and where it begins.
pub(super) fn ethernet(frame: &[u8]) -> Result<(&[u8], usize), Other> {
    tagged(frame, ETHERNET_HEADER - 2, ETHERNET_HEADER)
}

/// The type stands at `kind`, what it describes at `body`.
fn tagged(bytes: &[u8], kind: usize, body: usize) -> Result<(&[u8], usize), Other> {
    let (mut kind, mut body) = (kind, body);
    for _ in 0..=TAGS_MAX {
        let ethertype = match bytes.get(kind..kind + 2) {
            Some(found) => u16::from_be_bytes([found[0], found[1]]),
            None => return Err(Other::CutLink),
        };
        match ethertype {
            TYPE_IPV4 | TYPE_IPV6 => {
                return bytes.get(body..).map(|ip| (ip, body)).ok_or(Other::CutLink);
            }
            TYPE_ARP => return Err(Other::Arp),
            tag if TYPE_VLAN.contains(&tag) => (kind, body) = (body + 2, body + 4),
            _ => return Err(Other::NotIp),
        }
    }
    Err(Other::TooDeep)
}

/// Four bytes with the address family, in the order of the machine that captured (null) or of the network (loop). IPv6's number differs
/// from system to system, so both are told from each other by the version of what follows.
fn loopback(bytes: &[u8]) -> Result<(&[u8], usize), Other> {
    let (family, ip) = bytes.split_first_chunk::<4>().ok_or(Other::CutLink)?;
    let family = u32::from_le_bytes(*family).min(u32::from_be_bytes(*family));
    match family {
        // AF_INET; AF_INET6 of Linux, NetBSD and OpenBSD, FreeBSD, macOS.
        2 | 10 | 24 | 28 | 30 => Ok((ip, 4)),
        _ => Err(Other::NotIp),
    }
}
