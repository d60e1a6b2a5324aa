//! Hosts that are there already: network namespaces of this machine, which threads of ours enter. No process of ours runs in a container, and no
//! file of ours lies there.

use crate::namespace::Namespace;
use crate::restoring::{Changes, Restorer};
use crate::sysctl::apply_for_a_while;
use nix::ifaddrs::getifaddrs;
use pipefill_core::cell::{Family, HostSpec};
use pipefill_core::record::Setting;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long an address may take to answer.
const PATIENCE: Duration = Duration::from_secs(3);
/// Where `ip netns` keeps its names.
const NAMED: &str = "/run/netns";

/// The file that stands for a network namespace: `name` itself where that is a path, else where `ip netns` keeps it.
pub fn namespace_file(name: &str) -> PathBuf {
    if name.contains('/') { PathBuf::from(name) } else { Path::new(NAMED).join(name) }
}

/// The network namespace of a host.
#[derive(Debug)]
pub struct HostNamespace {
    namespace: Namespace,
}

impl HostNamespace {
    /// The namespace of this process.
    ///
    /// # Errors
    /// There is no /proc.
    pub fn own() -> io::Result<Self> {
        Self::open(Path::new("/proc/self/ns/net"))
    }

    /// The namespace that `ip netns` knows by `name`, or whose file is at the absolute path `name`.
    ///
    /// # Errors
    /// There is none, or this process may not enter it.
    pub fn named(name: &str) -> io::Result<Self> {
        // An absolute path replaces the folder.
        Self::open(&Path::new(NAMED).join(name))
    }

    /// The namespace of a process.
    ///
    /// # Errors
    /// There is no such process, or this one may not enter its namespace.
    pub fn of_process(id: u32) -> io::Result<Self> {
        Self::open(&PathBuf::from(format!("/proc/{id}/ns/net")))
    }

    fn open(file: &Path) -> io::Result<Self> {
        let namespace = Namespace::open(file)?;
        namespace.enter(|| Ok(()))?;
        Ok(Self { namespace })
    }

    /// Whether it is the one of the machine itself: the kernel keeps this sysctl for its first namespace only (`net_core_table`). Where that can't be
    /// told, it is.
    pub fn is_machine(&self) -> bool {
        const OF_THE_MACHINE: &str = "/proc/sys/net/core/netdev_max_backlog";
        self.namespace.enter(|| Ok(Path::new(OF_THE_MACHINE).exists())).unwrap_or(true)
    }

    /// Sets the sysctls of `host` here, and what every host of a run has; `place` names it in the records. Without `may_change` they are only read.
    /// They are given back when the result goes.
    ///
    /// # Errors
    /// Those of processes and namespaces. What the kernel refuses is a setting that was not met.
    pub fn change(&self, place: &str, host: &HostSpec, may_change: bool) -> io::Result<Changed> {
        let mut restorer = may_change.then(|| Restorer::start(&[&self.namespace])).transpose()?;
        let changes = restorer.as_mut().map(|restorer| Changes { restorer, which: 0 });
        let settings = apply_for_a_while(&self.namespace, place, host, changes)?;
        Ok(Changed { settings, restorer })
    }

    /// Addresses of its interfaces that others may reach.
    fn addresses(&self, family: Family) -> io::Result<Vec<IpAddr>> {
        self.namespace.enter(|| {
            let found = getifaddrs()?.filter_map(|interface| interface.address);
            let found = found.filter_map(|address| {
                let v4 = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
                v4.or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())))
            });
            let is_wanted = |ip: &IpAddr| match ip {
                IpAddr::V4(ip) => family == Family::Ipv4 && !ip.is_loopback() && !ip.is_link_local(),
                IpAddr::V6(ip) => family == Family::Ipv6 && !ip.is_loopback() && !ip.is_unicast_link_local(),
            };
            Ok(found.filter(is_wanted).collect::<BTreeSet<_>>().into_iter().collect())
        })
    }
}

/// Settings of a host that are given back when this goes, or the process with it.
#[derive(Debug)]
pub struct Changed {
    /// As asked, and as read back.
    pub settings: Vec<Setting>,
    /// None where nothing may be changed.
    restorer: Option<Restorer>,
}

impl Changed {
    /// Restores the settings. Returns those that could not be restored.
    ///
    /// # Errors
    /// The process that restores them was killed.
    pub fn give_back(mut self) -> io::Result<Vec<String>> {
        self.restorer.as_mut().map_or(Ok(Vec::new()), Restorer::end)
    }
}

/// Two hosts that reach each other.
#[derive(Debug)]
pub struct Pair {
    pub(crate) sender: Namespace,
    pub(crate) receiver: Namespace,
    /// Of the sender, of the receiver.
    pub(crate) addresses: [IpAddr; 2],
    /// How long a connection took.
    pub(crate) rtt: Duration,
    is_changeable: [bool; 2],
}

/// Why two places can't be used as a pair.
#[derive(Debug, thiserror::Error)]
pub enum NoPair {
    /// Both are one.
    #[error("both ends are in one network namespace")]
    Same,
    /// There is no route from one to the other.
    #[error("the sender reaches no address of the receiver ({0})")]
    Unreachable(String),
    /// The system's own error.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Pair {
    /// Finds out how `sender` reaches `receiver`: at `address`, or at the first of its addresses that answers. Sysctls of a machine's own
    /// namespace stay as they are, unless `changes_machines`.
    ///
    /// # Errors
    /// [`NoPair`].
    pub fn find(
        sender: HostNamespace,
        receiver: HostNamespace,
        address: Option<IpAddr>,
        family: Family,
        changes_machines: bool,
    ) -> Result<Self, NoPair> {
        let (sender_id, receiver_id) = (sender.namespace.inum()?, receiver.namespace.inum()?);
        if sender_id == receiver_id {
            return Err(NoPair::Same);
        }
        let candidates = match address {
            Some(address) => vec![address],
            None => receiver.addresses(family)?,
        };
        let mut tried = Vec::new();
        for candidate in candidates {
            match reach(&sender, &receiver, candidate) {
                Ok((own, rtt)) => {
                    let is_changeable =
                        [&sender, &receiver].map(|place| changes_machines || !place.is_machine());
                    let (sender, receiver) = (sender.namespace, receiver.namespace);
                    return Ok(Self { sender, receiver, addresses: [own, candidate], rtt, is_changeable });
                }
                Err(error) => tried.push(format!("{candidate}: {error}")),
            }
        }
        let none = || "it has no address of this family but those that nobody else reaches".to_owned();
        Err(NoPair::Unreachable(if tried.is_empty() { none() } else { tried.join("; ") }))
    }

    /// Whose sysctls are the machine's own and have to stay: the sender's, the receiver's.
    pub fn unchangeable(&self) -> [bool; 2] {
        self.is_changeable.map(|is_it| !is_it)
    }

    /// Whether sysctls of the sender (0) or the receiver (1) may be changed.
    pub(crate) const fn is_changeable(&self, which: usize) -> bool {
        self.is_changeable[which]
    }

    /// Knows both hosts' settings.
    pub(crate) fn restorer(&self) -> io::Result<Restorer> {
        Restorer::start(&[&self.sender, &self.receiver])
    }
}

/// The sender's own address on its way to the receiver's `address`, and how long the way there and back takes.
fn reach(
    sender: &HostNamespace,
    receiver: &HostNamespace,
    address: IpAddr,
) -> io::Result<(IpAddr, Duration)> {
    let any: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let stream =
        || Socket::new(Domain::for_address(SocketAddr::new(address, 0)), Type::STREAM, Some(Protocol::TCP));
    let listener = receiver.namespace.enter(|| {
        let socket = stream()?;
        socket.bind(&SockAddr::from(SocketAddr::new(any, 0)))?;
        socket.listen(1)?;
        Ok(socket)
    })?;
    let port = listener.local_addr()?.as_socket().map_or(0, |local| local.port());
    let began = Instant::now();
    let socket = sender.namespace.enter(|| {
        let socket = stream()?;
        socket.connect_timeout(&SockAddr::from(SocketAddr::new(address, port)), PATIENCE)?;
        Ok(socket)
    })?;
    let own = socket.local_addr()?.as_socket().ok_or(io::ErrorKind::AddrNotAvailable)?.ip();
    Ok((own, began.elapsed()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::scenario::Scenario;
    use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
    use std::thread;

    const SCENARIO: &str = "name = \"a\"\n[[flow]]\nduration = \"1s\"\n";

    /// On a thread that has given all of its capabilities away.
    #[test]
    fn the_own_namespace_takes_no_privilege() {
        let plan = Scenario::parse(SCENARIO, "a.toml").unwrap().plan().clone();
        let host = plan.cells[0].spec.sender.clone();
        let none = CapabilitySet::empty();
        let work = || {
            set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
                .unwrap();
            assert!(Namespace::create().is_err(), "it is privileged all the same");
            let own = HostNamespace::own().unwrap();
            own.is_machine();
            let changed = own.change("sender", &host, false).unwrap();
            assert!(changed.settings.iter().any(|setting| setting.name == "net.ipv4.tcp_rmem"));
            assert_eq!(changed.give_back().unwrap(), Vec::<String>::new());
        };
        thread::scope(|scope| scope.spawn(work).join().unwrap());
    }
}
