//! Two hosts joined by nothing but a veth pair, in which other programs can be run: the ground that `make bench`
//! compares on.

use crate::carrier::Carrier;
use crate::namespace::Namespace;
use crate::topology::{Topology, address_a, address_b};
use pipefill_core::cell::{Family, PathSpec};
use std::io;
use std::net::IpAddr;
use std::process::{Child, Command};

/// Two namespaces with one veth pair between them; gone when dropped (once the programs in it have ended).
pub struct Hosts {
    topology: Topology,
}

/// One of the two hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    /// 10.77.0.1.
    Sender,
    /// 10.77.0.2.
    Receiver,
}

impl Host {
    /// Its address.
    pub const fn address(self) -> IpAddr {
        match self {
            Self::Sender => address_a(Family::Ipv4),
            Self::Receiver => address_b(Family::Ipv4),
        }
    }
}

impl Hosts {
    /// Makes the hosts.
    ///
    /// # Errors
    /// `EPERM` where [`crate::privilege::acquire`] found no way to make namespaces.
    pub fn plain() -> io::Result<Self> {
        Ok(Self { topology: Topology::build(&PathSpec::EMPTY, Carrier::Copied)? })
    }

    /// Starts `command` on `host`.
    ///
    /// # Errors
    /// Those of [`Command::spawn`].
    pub fn spawn(&self, host: Host, command: &mut Command) -> io::Result<Child> {
        self.namespace(host).enter(|| command.spawn())
    }

    fn namespace(&self, host: Host) -> &Namespace {
        match host {
            Host::Sender => &self.topology.a,
            Host::Receiver => &self.topology.b,
        }
    }
}
