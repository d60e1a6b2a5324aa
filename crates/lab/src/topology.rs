//! The stage: namespaces A (sender), M (the middle) and B (receiver), joined by veth pairs.
//!
//! ```text
//!   A: path0 10.77.0.1 ──veth── M: a0   b0 ──veth── B: path0 10.77.0.2
//! ```
//!
//! M's interfaces have no addresses: nothing but the data path moves packets between them. Where the path asks for
//! nothing at all, A and B are joined by one veth pair and the kernel is the pipe. Neighbours and routes are static, so that
//! no ARP crosses the path.

use crate::namespace::Namespace;
use crate::netlink::{Mac, Rtnetlink, VethEnd};
use crate::sys::packet::PacketSocket;
use pipefill_core::cell::PathSpec;
use std::fs;
use std::io;
use std::net::Ipv4Addr;

/// Address of the sending host.
pub(crate) const A_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
/// Address of the receiving host.
pub(crate) const B_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
/// Name of the interface in A and in B.
pub(crate) const HOST_INTERFACE: &str = "path0";
const MIDDLE_A: &str = "a0";
const MIDDLE_B: &str = "b0";
const MAC_A: Mac = [0x02, 0x70, 0x66, 0, 0, 0x0a];
const MAC_B: Mac = [0x02, 0x70, 0x66, 0, 0, 0x0b];
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
}

impl Topology {
    /// Builds what `path` needs.
    ///
    /// # Errors
    /// `EPERM` without the capabilities that `pipefill doctor` names; otherwise those of netlink and sockets.
    pub(crate) fn build(path: &PathSpec) -> io::Result<Self> {
        let (a, b) = (Namespace::create()?, Namespace::create()?);
        prepare(&a)?;
        prepare(&b)?;
        let middle = if path.forward.is_empty() && path.reverse.is_empty() {
            join_directly(&a, &b)?;
            None
        } else {
            Some(join_through_middle(&a, &b)?)
        };
        a.enter(|| Rtnetlink::connect()?.attach(HOST_INTERFACE, A_ADDRESS, B_ADDRESS, MAC_B))?;
        b.enter(|| Rtnetlink::connect()?.attach(HOST_INTERFACE, B_ADDRESS, A_ADDRESS, MAC_A))?;
        Ok(Self { a, b, middle })
    }
}

/// Loopback up, and no IPv6: router solicitations and neighbour discovery must not take part. Where /proc/sys is read-only
/// they do; the data path carries IPv4 only.
fn prepare(namespace: &Namespace) -> io::Result<()> {
    namespace.enter(|| {
        for scope in ["all", "default"] {
            let key = format!("/proc/sys/net/ipv6/conf/{scope}/disable_ipv6");
            match fs::write(&key, "1") {
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

fn join_directly(a: &Namespace, b: &Namespace) -> io::Result<()> {
    a.enter(|| {
        let here = VethEnd { name: HOST_INTERFACE, mac: MAC_A };
        let there = VethEnd { name: HOST_INTERFACE, mac: MAC_B };
        Rtnetlink::connect()?.add_veth(here, there, b.fd())
    })
}

fn join_through_middle(a: &Namespace, b: &Namespace) -> io::Result<Middle> {
    let namespace = Namespace::create()?;
    prepare(&namespace)?;
    let (towards_a, towards_b) = namespace.enter(|| {
        let netlink = Rtnetlink::connect()?;
        let host = |mac| VethEnd { name: HOST_INTERFACE, mac };
        netlink.add_veth(VethEnd { name: MIDDLE_A, mac: MAC_MIDDLE_A }, host(MAC_A), a.fd())?;
        netlink.add_veth(VethEnd { name: MIDDLE_B, mac: MAC_MIDDLE_B }, host(MAC_B), b.fd())?;
        let towards_a = PacketSocket::open(netlink.set_up(MIDDLE_A)?)?;
        let towards_b = PacketSocket::open(netlink.set_up(MIDDLE_B)?)?;
        Ok((towards_a, towards_b))
    })?;
    Ok(Middle { namespace, towards_a, towards_b })
}
