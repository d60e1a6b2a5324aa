//! The few rtnetlink requests that a topology needs, spoken directly (no `ip` binary, no name in `/run/netns`).
//!
//! Every function acts in the calling thread's network namespace.

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REQUEST, NetlinkBuffer, NetlinkHeader,
    NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::link::{
    InfoBridge, InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage};
use netlink_packet_route::{AddressFamily, IpProtocol, RouteNetlinkMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use pipefill_core::cell::Family;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd, BorrowedFd};

/// An Ethernet address.
pub(crate) type Mac = [u8; 6];

/// One end of a veth pair: its name, address, and largest IP packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VethEnd<'a> {
    pub(crate) name: &'a str,
    pub(crate) mac: Mac,
    pub(crate) mtu: u16,
}

/// Packets that are this host's, whatever address they are for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IsLocal<'a> {
    /// Where they come in.
    pub(crate) interface: &'a str,
    pub(crate) family: Family,
    /// `IPPROTO_*`.
    pub(crate) protocol: i32,
}

/// Message types of `include/uapi/linux/netlink.h`.
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
/// A table for routes of [`IsLocal`]; main is 254.
const LOCAL_FOR_ALL: u8 = 100;

/// A connection to the kernel's routing subsystem in one namespace.
pub(crate) struct Rtnetlink {
    socket: Socket,
}

impl Rtnetlink {
    /// Connects in the calling thread's namespace.
    pub(crate) fn connect() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Self { socket })
    }

    /// Makes a veth pair: `here` in this namespace, `there` in the namespace of `peer_namespace`.
    pub(crate) fn add_veth(
        &self,
        here: VethEnd<'_>,
        there: VethEnd<'_>,
        peer_namespace: BorrowedFd<'_>,
    ) -> io::Result<()> {
        let mut peer = end_message(there);
        peer.attributes.push(LinkAttribute::NetNsFd(peer_namespace.as_raw_fd()));
        let mut link = end_message(here);
        link.attributes.push(LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
        ]));
        self.request(RouteNetlinkMessage::NewLink(link), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Makes a bridge of these links, and sets it up. It shows what crosses it to the hooks of IP.
    pub(crate) fn add_bridge(&self, name: &str, ports: &[&str]) -> io::Result<()> {
        let mut link = LinkMessage::default();
        let shows = vec![InfoBridge::NfCallIpTables(true), InfoBridge::NfCallIp6Tables(true)];
        link.attributes = vec![
            LinkAttribute::IfName(name.to_owned()),
            LinkAttribute::LinkInfo(vec![
                LinkInfo::Kind(InfoKind::Bridge),
                LinkInfo::Data(InfoData::Bridge(shows)),
            ]),
        ];
        self.request(RouteNetlinkMessage::NewLink(link), NLM_F_CREATE | NLM_F_EXCL)?;
        let bridge = self.set_up(name)?;
        for port in ports {
            let mut link = LinkMessage::default();
            link.header.index = index_of(port)?;
            link.attributes = vec![LinkAttribute::Controller(bridge)];
            self.request(RouteNetlinkMessage::SetLink(link), 0)?;
        }
        Ok(())
    }

    /// Sets a link up, with a transmit queue of 1000 packets and no ARP traffic of its own.
    pub(crate) fn set_up(&self, name: &str) -> io::Result<u32> {
        let index = index_of(name)?;
        let mut link = LinkMessage::default();
        link.header.index = index;
        link.header.flags = LinkFlags::Up;
        link.header.change_mask = LinkFlags::Up;
        self.request(RouteNetlinkMessage::SetLink(link), 0)?;
        Ok(index)
    }

    /// Gives `name` the host address `local` (/32 or /128), a route to `peer`, and `peer`'s Ethernet address for good.
    pub(crate) fn attach(&self, name: &str, local: IpAddr, peer: IpAddr, peer_mac: Mac) -> io::Result<()> {
        let index = self.set_up(name)?;
        let mut address = AddressMessage::default();
        address.header.family = family(local);
        address.header.prefix_len = length(local);
        // No other host is there that could have the address.
        address.header.flags = AddressHeaderFlags::Nodad;
        address.header.index = index;
        address.attributes = vec![AddressAttribute::Local(local), AddressAttribute::Address(local)];
        self.request(RouteNetlinkMessage::NewAddress(address), NLM_F_CREATE | NLM_F_EXCL)?;
        self.add_neighbour(index, peer, peer_mac)?;
        self.add_route(index, peer, length(peer), None)
    }

    /// How many segments a super-packet of `name` may have.
    pub(crate) fn set_gso_max_segs(&self, name: &str, segments: u32) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = index_of(name)?;
        link.attributes = vec![LinkAttribute::GsoMaxSegs(segments)];
        self.request(RouteNetlinkMessage::SetLink(link), 0)
    }

    /// Sends everything else through `gateway`, a neighbour on `name`.
    pub(crate) fn add_default_route(&self, name: &str, gateway: IpAddr) -> io::Result<()> {
        let everything = match gateway {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        self.add_route(index_of(name)?, everything, 0, Some(gateway))
    }

    /// Hands packets to this host's sockets (`ip rule add iif … ipproto … lookup 100`, `ip route add local default dev lo table 100`).
    pub(crate) fn take_as_local(&self, which: IsLocal<'_>) -> io::Result<()> {
        let mut route = RouteMessage::default();
        route.header.address_family = address_family(which.family);
        route.header.table = LOCAL_FOR_ALL;
        route.header.protocol = RouteProtocol::Static;
        route.header.scope = RouteScope::Host;
        route.header.kind = RouteType::Local;
        route.attributes = vec![RouteAttribute::Oif(index_of("lo")?)];
        self.request(RouteNetlinkMessage::NewRoute(route), NLM_F_CREATE | NLM_F_EXCL)?;
        let mut rule = RuleMessage::default();
        rule.header.family = address_family(which.family);
        rule.header.table = LOCAL_FOR_ALL;
        rule.header.action = RuleAction::ToTable;
        rule.attributes = vec![
            RuleAttribute::Iifname(which.interface.to_owned()),
            RuleAttribute::IpProtocol(IpProtocol::from(which.protocol)),
        ];
        self.request(RouteNetlinkMessage::NewRule(rule), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Whether the kernel has the queueing discipline `kind`: adds one without its options and looks at the refusal.
    /// An unknown kind is `ENOENT`, a known one `EINVAL` for the missing options.
    pub(crate) fn has_qdisc(&self, interface: &str, kind: &str) -> io::Result<bool> {
        let mut message =
            TcMessage::with_index(i32::try_from(index_of(interface)?).map_err(io::Error::other)?);
        message.header.parent = TcHandle::ROOT;
        message.attributes = vec![TcAttribute::Kind(kind.to_owned())];
        match self.request(RouteNetlinkMessage::NewQueueDiscipline(message), NLM_F_CREATE | NLM_F_EXCL) {
            Ok(()) => Ok(true),
            Err(error) => match error.raw_os_error() {
                Some(libc::ENOENT) => Ok(false),
                Some(libc::EINVAL) => Ok(true),
                _ => Err(error),
            },
        }
    }

    fn add_neighbour(&self, index: u32, peer: IpAddr, mac: Mac) -> io::Result<()> {
        let mut neighbour = NeighbourMessage::default();
        neighbour.header.family = family(peer);
        neighbour.header.ifindex = index;
        neighbour.header.state = NeighbourState::Permanent;
        neighbour.header.kind = RouteType::Unicast;
        let destination = match peer {
            IpAddr::V4(peer) => NeighbourAddress::Inet(peer),
            IpAddr::V6(peer) => NeighbourAddress::Inet6(peer),
        };
        neighbour.attributes = vec![
            NeighbourAttribute::Destination(destination),
            NeighbourAttribute::LinkLayerAddress(mac.to_vec()),
        ];
        self.request(RouteNetlinkMessage::NewNeighbour(neighbour), NLM_F_CREATE | NLM_F_EXCL)
    }

    fn add_route(&self, index: u32, to: IpAddr, length: u8, gateway: Option<IpAddr>) -> io::Result<()> {
        let mut route = RouteMessage::default();
        route.header.address_family = family(to);
        route.header.destination_prefix_length = length;
        route.header.table = libc::RT_TABLE_MAIN;
        route.header.protocol = RouteProtocol::Static;
        route.header.scope = if gateway.is_some() { RouteScope::Universe } else { RouteScope::Link };
        route.header.kind = RouteType::Unicast;
        route.attributes = vec![RouteAttribute::Oif(index)];
        if length > 0 {
            route.attributes.push(RouteAttribute::Destination(route_address(to)));
        }
        route.attributes.extend(gateway.map(|gateway| RouteAttribute::Gateway(route_address(gateway))));
        self.request(RouteNetlinkMessage::NewRoute(route), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Asks for a change and waits until it is made.
    pub(crate) fn request(&self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.send(message, NLM_F_ACK | flags)?;
        let (reply, _) = self.socket.recv_from_full()?;
        match NetlinkMessage::<RouteNetlinkMessage>::deserialize(&reply).map_err(io::Error::other)?.payload {
            NetlinkPayload::Error(error) if error.code.is_some() => Err(error.to_io()),
            _ => Ok(()),
        }
    }

    /// Asks for all of a kind and hands each answer to `each` as bytes: what other programs have set up may be of any kind.
    pub(crate) fn dump(&self, message: RouteNetlinkMessage, mut each: impl FnMut(&[u8])) -> io::Result<()> {
        self.send(message, NLM_F_DUMP)?;
        loop {
            let (reply, _) = self.socket.recv_from_full()?;
            let mut rest = &reply[..];
            while let Ok(answer) = NetlinkBuffer::new_checked(rest) {
                let length = usize::try_from(answer.length()).map_err(io::Error::other)?;
                match answer.message_type() {
                    NLMSG_DONE => return Ok(()),
                    NLMSG_ERROR => return Err(refusal(answer.payload())),
                    _ => each(answer.payload()),
                }
                rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
            }
        }
    }

    fn send(&self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | flags;
        header.sequence_number = 1;
        let mut request = NetlinkMessage::new(header, NetlinkPayload::from(message));
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        Ok(())
    }
}

/// The error in `struct nlmsgerr`.
fn refusal(message: &[u8]) -> io::Error {
    match message.first_chunk() {
        Some(code) => io::Error::from_raw_os_error(-i32::from_ne_bytes(*code)),
        None => io::Error::other("a netlink error without its code"),
    }
}

/// The interface index of `name` in the calling thread's namespace.
pub(crate) fn index_of(name: &str) -> io::Result<u32> {
    Ok(nix::net::if_::if_nametoindex(name)?)
}

const fn address_family(family: Family) -> AddressFamily {
    match family {
        Family::Ipv4 => AddressFamily::Inet,
        Family::Ipv6 => AddressFamily::Inet6,
    }
}

const fn family(address: IpAddr) -> AddressFamily {
    match address {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    }
}

/// Length of a prefix that is one address.
const fn length(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

const fn route_address(address: IpAddr) -> RouteAddress {
    match address {
        IpAddr::V4(address) => RouteAddress::Inet(address),
        IpAddr::V6(address) => RouteAddress::Inet6(address),
    }
}

fn end_message(end: VethEnd<'_>) -> LinkMessage {
    let mut link = LinkMessage::default();
    link.attributes = vec![
        LinkAttribute::IfName(end.name.to_owned()),
        LinkAttribute::Address(end.mac.to_vec()),
        LinkAttribute::TxQueueLen(1000),
        LinkAttribute::Mtu(end.mtu.into()),
    ];
    link
}
