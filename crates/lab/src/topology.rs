//! The stage: namespaces A (sender), M (the middle) and B (receiver), joined by veth pairs.
//!
//! ```text
//!   A: path0 10.77.0.1 ──veth── M: a0   b0 ──veth── B: path0 10.77.0.2
//!            fd77::1                                         fd77::2
//! ```
//!
//! M's interfaces have no addresses: nothing but the data path moves packets between them. Where the path asks for
//! nothing at all, A and B are joined by one veth pair and the kernel is the pipe. Neighbours and routes are static, so that
//! no ARP crosses the path.

use crate::carrier::Carrier;
use crate::namespace::Namespace;
use crate::netlink::{Mac, Rtnetlink, VethEnd};
use crate::nfqueue::{self, Hop, Queue};
use crate::sys::ethtool::Offloads;
use crate::sys::packet::PacketSocket;
pub(crate) use pipefill_core::address::{
    INTERFACE as HOST_INTERFACE, of_receiver as address_b, of_sender as address_a,
};
use pipefill_core::address::{RECEIVER_MAC as MAC_B, SENDER_MAC as MAC_A};
use pipefill_core::cell::{Family, PathSpec};
use std::fs;
use std::io;

const MIDDLE_A: &str = "a0";
const MIDDLE_B: &str = "b0";
const MAC_MIDDLE_A: Mac = [0x02, 0x70, 0x66, 0, 1, 0x0a];
const MAC_MIDDLE_B: Mac = [0x02, 0x70, 0x66, 0, 1, 0x0b];

/// Both hosts and, where there is something to emulate, the middle.
pub(crate) struct Topology {
    pub(crate) a: Namespace,
    pub(crate) b: Namespace,
    pub(crate) middle: Option<Middle>,
}

/// The middle namespace and a packet socket on each of its interfaces.
pub(crate) struct Middle {
    pub(crate) namespace: Namespace,
    pub(crate) towards_a: PacketSocket,
    pub(crate) towards_b: PacketSocket,
    /// Where the kernel holds the packets that come from A, and from B; the sockets only send then. `None` where they receive.
    pub(crate) queues: Option<[Queue; 2]>,
    /// Why the kernel can't hold them, where it was to.
    pub(crate) refusal: Option<io::Error>,
}

impl Topology {
    /// Hosts that are there already, with whatever is between them.
    pub(crate) const fn of_hosts(a: Namespace, b: Namespace) -> Self {
        Self { a, b, middle: None }
    }

    /// Builds what `path` needs, with addresses of the family that it names.
    ///
    /// # Errors
    /// `EPERM` without the capabilities that `pipefill doctor` names; otherwise those of netlink and sockets.
    pub(crate) fn build(path: &PathSpec, carrier: Carrier) -> io::Result<Self> {
        Self::with_families(path, &[path.family], carrier)
    }

    /// The same with addresses of these families.
    ///
    /// # Errors
    /// As [`Self::build`].
    pub(crate) fn with_families(path: &PathSpec, families: &[Family], carrier: Carrier) -> io::Result<Self> {
        let (a, b) = (Namespace::create()?, Namespace::create()?);
        prepare(&a, families)?;
        prepare(&b, families)?;
        let middle = if path.forward.is_empty() && path.reverse.is_empty() {
            join_directly(&a, &b, path.mtu)?;
            None
        } else {
            Some(join_through_middle(&a, &b, path, carrier)?)
        };
        for &family in families {
            let (at_a, at_b) = (address_a(family), address_b(family));
            a.enter(|| Rtnetlink::connect()?.attach(HOST_INTERFACE, at_a, at_b, MAC_B))?;
            b.enter(|| Rtnetlink::connect()?.attach(HOST_INTERFACE, at_b, at_a, MAC_A))?;
        }
        if middle.is_some() {
            a.enter(segment_in_software)?;
            b.enter(segment_in_software)?;
        }
        Ok(Self { a, b, middle })
    }

    /// What carries the packets, as a manifest names it.
    pub(crate) const fn data_path(&self) -> &'static str {
        match &self.middle {
            None => "veth",
            Some(Middle { queues: None, .. }) => "af_packet",
            Some(_) => "nfqueue",
        }
    }
}

/// What a host hands over in one piece, the path has to be able to cut: TCP over IP alone. The rest the host's own stack cuts.
fn segment_in_software() -> io::Result<()> {
    const OTHERS: [&str; 8] = [
        "tx-udp-segmentation",
        "tx-sctp-segmentation",
        "tx-gre-segmentation",
        "tx-gre-csum-segmentation",
        "tx-ipxip4-segmentation",
        "tx-ipxip6-segmentation",
        "tx-udp_tnl-segmentation",
        "tx-udp_tnl-csum-segmentation",
    ];
    let offloads = Offloads::of(HOST_INTERFACE)?;
    OTHERS.iter().try_for_each(|name| offloads.switch(name, false).map(drop))
}

/// Loopback up, and no IPv6 but what is asked for: router solicitations, neighbour discovery and addresses that the kernel chooses must not
/// take part. Where /proc/sys is read-only they do; the data path carries nothing that goes to many.
fn prepare(namespace: &Namespace, families: &[Family]) -> io::Result<()> {
    let settings: &[(&str, &str)] = match families.contains(&Family::Ipv6) {
        // No link-local address: `IN6_ADDR_GEN_MODE_NONE`.
        true => &[("accept_ra", "0"), ("autoconf", "0"), ("accept_dad", "0"), ("addr_gen_mode", "1")],
        false => &[("disable_ipv6", "1")],
    };
    namespace.enter(|| {
        let scopes = ["all", "default"].iter();
        for (scope, (name, value)) in scopes.flat_map(|scope| settings.iter().map(move |each| (scope, each)))
        {
            let key = format!("/proc/sys/net/ipv6/conf/{scope}/{name}");
            match fs::write(&key, value) {
                Err(error)
                    if !matches!(
                        error.kind(),
                        io::ErrorKind::NotFound | io::ErrorKind::ReadOnlyFilesystem
                    ) =>
                {
                    return Err(io::Error::new(error.kind(), format!("cannot write {key}: {error}")));
                }
                _ => {}
            }
        }
        Rtnetlink::connect()?.set_up("lo").map(|_| ())
    })
}

fn join_directly(a: &Namespace, b: &Namespace, mtu: u16) -> io::Result<()> {
    a.enter(|| {
        let here = VethEnd { name: HOST_INTERFACE, mac: MAC_A, mtu };
        let there = VethEnd { name: HOST_INTERFACE, mac: MAC_B, mtu };
        Rtnetlink::connect()?.add_veth(here, there, b.fd())
    })
}

fn join_through_middle(
    a: &Namespace,
    b: &Namespace,
    path: &PathSpec,
    carrier: Carrier,
) -> io::Result<Middle> {
    let namespace = Namespace::create()?;
    prepare(&namespace, &[])?;
    let (towards_a, towards_b, held) = namespace.enter(|| {
        let netlink = Rtnetlink::connect()?;
        let end = |name, mac| VethEnd { name, mac, mtu: path.mtu };
        netlink.add_veth(end(MIDDLE_A, MAC_MIDDLE_A), end(HOST_INTERFACE, MAC_A), a.fd())?;
        netlink.add_veth(end(MIDDLE_B, MAC_MIDDLE_B), end(HOST_INTERFACE, MAC_B), b.fd())?;
        let (index_a, index_b) = (netlink.set_up(MIDDLE_A)?, netlink.set_up(MIDDLE_B)?);
        let held = (carrier == Carrier::Held).then(|| hold(&netlink, path, [index_a, index_b]));
        let open = |index| match &held {
            Some(Ok(_)) => PacketSocket::sender(index),
            _ => PacketSocket::open(index, path.payload),
        };
        Ok((open(index_a)?, open(index_b)?, held))
    })?;
    let (queues, refusal) = match held {
        Some(Ok(queues)) => (Some(queues), None),
        Some(Err(error)) => (None, Some(error)),
        None => (None, None),
    };
    Ok(Middle { namespace, towards_a, towards_b, queues, refusal })
}

/// Holds what crosses the middle, in whose namespace this is called.
fn hold(netlink: &Rtnetlink, path: &PathSpec, indices: [u32; 2]) -> io::Result<[Queue; 2]> {
    let hop = |source, destination| Hop { source, destination, mtu: path.mtu };
    let ports = [(MIDDLE_A, indices[0], hop(MAC_A, MAC_B)), (MIDDLE_B, indices[1], hop(MAC_B, MAC_A))];
    nfqueue::hold(netlink, ports, path.payload, path.forward.delay.max(path.reverse.delay))
}
