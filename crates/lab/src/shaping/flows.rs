//! Which packets are the test's, as keys of the u32 classifier: words of the IP packet under a mask.
//!
//! TCP, UDP and pings alone: neighbour discovery and routing are never shaped.

use netlink_packet_route::tc::TcU32Key;
use std::net::{IpAddr, Ipv6Addr};

/// The port of ssh (RFC 4253, 4).
const SSH: u16 = 22;

/// The packets that are shaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Flows {
    /// Packets to these ends.
    To(Vec<Peer>),
    /// All but ssh: port 22 at either end, and the session that we run in.
    AllButSsh {
        /// Its other end, where there is one.
        session: Option<(IpAddr, u16)>,
    },
}

/// Other ends of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// An address of theirs.
    pub address: IpAddr,
    /// How many of its first bits have to agree; 32 or 128 for the address alone.
    pub prefix_length: u8,
    /// The port at either end; `None` for all.
    pub port: Option<u16>,
}

/// What a filter looks for, and whether such packets are shaped.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Selector {
    pub(super) keys: Vec<TcU32Key>,
    pub(super) is_shaped: bool,
}

/// The packets that a filter matches, apart from addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Tcp(Option<Port>),
    Udp(Option<Port>),
    Ping,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Port {
    Source(u16),
    Destination(u16),
}

impl Flows {
    /// The filters, in the order in which they are asked.
    pub(super) fn selectors(&self) -> Vec<Selector> {
        match self {
            Self::To(peers) => peers.iter().flat_map(|peer| shaped(*peer)).collect(),
            Self::AllButSsh { session } => {
                let everybody = [IpAddr::V4([0; 4].into()), IpAddr::V6(Ipv6Addr::UNSPECIFIED)]
                    .map(|address| Peer { address, prefix_length: 0, port: None });
                let ssh = everybody.iter().map(|all| Peer { port: Some(SSH), ..*all });
                let own = session.map(|(address, port)| Peer::host(address, Some(port)));
                let passed = ssh.chain(own).flat_map(|peer| {
                    either_end(peer.port.unwrap_or(SSH)).map(move |port| (peer, What::Tcp(Some(port))))
                });
                let passed = passed.map(|(peer, what)| Selector { keys: keys(peer, what), is_shaped: false });
                passed.chain(everybody.iter().flat_map(|all| shaped(*all))).collect()
            }
        }
    }

    /// Whether some packets are sent past the filters that others may have there.
    pub(super) const fn passes_some(&self) -> bool {
        matches!(self, Self::AllButSsh { .. })
    }
}

impl Peer {
    /// One address.
    pub const fn host(address: IpAddr, port: Option<u16>) -> Self {
        let prefix_length = match address {
            IpAddr::V4(_) => 32,
            IpAddr::V6(_) => 128,
        };
        Self { address, prefix_length, port }
    }
}

fn shaped(peer: Peer) -> impl Iterator<Item = Selector> {
    let what = match peer.port {
        None => vec![What::Tcp(None), What::Udp(None), What::Ping],
        Some(port) => either_end(port)
            .into_iter()
            .flat_map(|port| [What::Tcp(Some(port)), What::Udp(Some(port))])
            .collect(),
    };
    what.into_iter().map(move |what| Selector { keys: keys(peer, what), is_shaped: true })
}

const fn either_end(port: u16) -> [Port; 2] {
    [Port::Destination(port), Port::Source(port)]
}

fn keys(peer: Peer, what: What) -> Vec<TcU32Key> {
    match peer.address {
        IpAddr::V4(address) => {
            let mut keys = ipv4(what);
            keys.extend(words_of(16, &[u32::from(address)], peer.prefix_length));
            keys
        }
        IpAddr::V6(address) => {
            let bits = u128::from(address);
            let words = [96, 64, 32, 0].map(|shift| (bits >> shift) as u32);
            let mut keys = ipv6(what);
            keys.extend(words_of(24, &words, peer.prefix_length));
            keys
        }
    }
}

/// RFC 791, 3.1: version and length of the header, fragment offset, protocol. Ports stand at 20 where there are no options, and in a first
/// fragment alone.
fn ipv4(what: What) -> Vec<TcU32Key> {
    let (protocol, port) = match what {
        What::Tcp(port) => (libc::IPPROTO_TCP, port),
        What::Udp(port) => (libc::IPPROTO_UDP, port),
        What::Ping => (libc::IPPROTO_ICMP, None),
    };
    let protocol = key(8, 0x00ff_0000, (protocol as u32) << 16);
    match port {
        None => vec![key(0, 0xf000_0000, 0x4000_0000), protocol],
        Some(port) => vec![key(0, 0xff00_0000, 0x4500_0000), protocol, key(4, 0x0000_1fff, 0), port.key(20)],
    }
}

/// RFC 8200, 3: version and next header. An ICMPv6 type of 128 or 129 is a ping (RFC 4443, 4).
fn ipv6(what: What) -> Vec<TcU32Key> {
    let (protocol, behind) = match what {
        What::Tcp(port) => (libc::IPPROTO_TCP, port.map(|port| port.key(40))),
        What::Udp(port) => (libc::IPPROTO_UDP, port.map(|port| port.key(40))),
        What::Ping => (libc::IPPROTO_ICMPV6, Some(key(40, 0xfe00_0000, 0x8000_0000))),
    };
    let fixed = [key(0, 0xf000_0000, 0x6000_0000), key(4, 0x0000_ff00, (protocol as u32) << 8)];
    fixed.into_iter().chain(behind).collect()
}

impl Port {
    /// In the word at `offset`: the source's port, then the destination's.
    fn key(self, offset: i32) -> TcU32Key {
        match self {
            Self::Source(port) => key(offset, 0xffff_0000, u32::from(port) << 16),
            Self::Destination(port) => key(offset, 0x0000_ffff, u32::from(port)),
        }
    }
}

/// The first `bits` of `words`, which begin at `offset`.
fn words_of(offset: i32, words: &[u32], bits: u8) -> Vec<TcU32Key> {
    let masked = words.iter().zip((0..).step_by(32)).zip((offset..).step_by(4));
    let with_mask = masked.map(|((word, before), offset)| {
        let left = u32::from(bits).saturating_sub(before).min(32);
        let mask = u32::MAX.checked_shl(32 - left).unwrap_or(0);
        key(offset, mask, word & mask)
    });
    with_mask.filter(|key| key.mask != 0).collect()
}

fn key(offset: i32, mask: u32, value: u32) -> TcU32Key {
    let mut key = TcU32Key::default();
    key.off = offset;
    key.mask = mask;
    key.val = value;
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(keys: &[TcU32Key]) -> Vec<(i32, u32, u32)> {
        keys.iter().map(|key| (key.off, key.mask, key.val)).collect()
    }

    #[test]
    fn an_address_and_a_port_are_words_of_the_packet() {
        let peer = Peer::host([10, 0, 0, 2].into(), Some(5201));
        let selectors = Flows::To(vec![peer]).selectors();
        assert_eq!(selectors.len(), 4, "both protocols, at either end");
        let tcp = of(&selectors[0].keys);
        assert!(tcp.contains(&(16, u32::MAX, 0x0a00_0002)), "{tcp:x?}");
        assert!(tcp.contains(&(8, 0x00ff_0000, 6 << 16)) && tcp.contains(&(20, 0xffff, 5201)), "{tcp:x?}");
        assert!(of(&selectors[2].keys).contains(&(20, 0xffff_0000, 5201 << 16)));
    }

    #[test]
    fn a_network_is_its_first_bits() {
        let words = |text: &str, length| {
            words_of(0, &[u32::from(text.parse::<std::net::Ipv4Addr>().unwrap())], length)
        };
        assert_eq!(of(&words("10.1.2.3", 12)), [(0, 0xfff0_0000, 0x0a00_0000)]);
        assert_eq!(of(&words("10.1.2.3", 0)), []);
        assert_eq!(of(&words_of(24, &[1, 2, 3, 4], 40)), [(24, u32::MAX, 1), (28, 0xff00_0000, 0)]);
    }

    #[test]
    fn ssh_is_asked_for_before_everything() {
        let selectors = Flows::AllButSsh { session: Some(([10, 0, 0, 9].into(), 40_000)) }.selectors();
        let first_shaped = selectors.iter().position(|selector| selector.is_shaped).unwrap();
        assert_eq!(first_shaped, 6, "port 22 at either end of both families, and the session");
        assert!(selectors[first_shaped..].iter().all(|selector| selector.is_shaped));
        assert!(of(&selectors[4].keys).contains(&(16, u32::MAX, 0x0a00_0009)));
    }
}
