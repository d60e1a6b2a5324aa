//! The way from the path's far end to the machine's own network: pasta(1), which speaks for the hosts behind it with sockets of its own, and
//! for TCP the [`relay`] before it.
//!
//! Nothing on the machine changes: no address, no route, no forwarding, no firewall. As root too.

use super::refusal::Refusal;
use super::relay;
use crate::namespace::Namespace;
use crate::netlink::Rtnetlink;
use crate::topology::{HOST_INTERFACE, Topology, address_b};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::wait::WaitStatus;
use nix::unistd::dup;
use pipefill_core::cell::Family;
use pipefill_core::problem::Problem;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const PROGRAM: &str = "pasta";
/// What its interface is made with.
const TUN: &str = "/dev/net/tun";
/// Its interface in the receiver's namespace.
const INTERFACE: &str = "up0";
/// The address of the resolver: pasta forwards its queries to the machine's own resolver.
const RESOLVER: &str = "10.77.0.53";
/// How long it may take to set up its interface.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whether this machine has what an uplink needs.
///
/// # Errors
/// [`Problem`] with what to install, or what is missing.
pub fn ensure_uplink() -> Result<(), Problem> {
    OpenOptions::new().read(true).write(true).open(TUN).map_err(|error| {
        Problem::machine(
            format!("the uplink needs {TUN}: {error}"),
            "modprobe tun; of a container: start it with --device /dev/net/tun",
        )
    })?;
    for (program, package) in [(PROGRAM, "passt"), (relay::PROGRAM, "nftables")] {
        let mut command = Command::new(program);
        command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        command.status().map_err(|error| {
            Problem::machine(
                format!("the uplink needs {program}: {error}"),
                format!("apt-get install {package}"),
            )
        })?;
    }
    Ok(())
}

/// Everything that is not on the path goes through the receiver, which hands it on.
pub(super) fn prepare(topology: &Topology) -> io::Result<()> {
    topology.b.enter(|| {
        fs::write("/proc/sys/net/ipv4/ip_forward", "1")?;
        fs::write("/proc/sys/net/ipv6/conf/all/forwarding", "1")
    })?;
    topology.a.enter(|| {
        let netlink = Rtnetlink::connect()?;
        [Family::Ipv4, Family::Ipv6]
            .into_iter()
            .try_for_each(|family| netlink.add_default_route(HOST_INTERFACE, address_b(family)))
    })
}

/// Starts pasta(1) between the network of this process and that of `receiver`, and waits until it is ready. It ends with this process. Returns its
/// process id.
pub(super) fn start(receiver: &Namespace) -> Result<u32, Refusal> {
    // Open in the program that is started now.
    let file = dup(receiver.fd()).map_err(io::Error::from)?;
    let namespace = format!("/proc/self/fd/{}", file.as_raw_fd());
    let mut command = Command::new(PROGRAM);
    command.args(["--foreground", "--quiet", "--config-net", "--netns-only", "--runas", "0", "--no-map-gw"]);
    // No port of the machine leads inside, and none of the inside to the machine.
    command.args(["-t", "none", "-u", "none", "-T", "none", "-U", "none"]);
    command.args(["--dns-forward", RESOLVER, "-I", INTERFACE, "--netns", &namespace]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    let began = Instant::now();
    while !receiver.enter(|| Ok(has_route()))? {
        if let Some(status) = child.try_wait()? {
            return Err(Refusal::of_machine(format!(
                "{PROGRAM} ended ({status}): is this machine on a network? See ip route"
            )));
        }
        if began.elapsed() > PATIENCE {
            return Err(Refusal::new(format!("{PROGRAM} is not ready after {} s", PATIENCE.as_secs())));
        }
        thread::sleep(Duration::from_millis(5));
    }
    relay::start(receiver).map_err(|error| Refusal::new(format!("the uplink's relay: {error}")))?;
    Ok(child.id())
}

/// Why a command whose pasta(1) has ended with `status` was ended too.
pub(super) fn is_gone(status: WaitStatus) -> Refusal {
    let how = match status {
        WaitStatus::Exited(_, code) => format!("exit code {code}"),
        WaitStatus::Signaled(_, signal, _) => signal.as_str().to_owned(),
        other => format!("{other:?}"),
    };
    Refusal::new(format!("{PROGRAM} ended ({how}): the command had no network without it, and was ended"))
}

/// Whether a default route leads through pasta's interface, in the calling thread's namespace (proc_net(5)): in IPv4 or in IPv6.
fn has_route() -> bool {
    let read = |name: &str| fs::read_to_string(format!("/proc/thread-self/net/{name}")).unwrap_or_default();
    let ipv4 = read("route").lines().any(|line| line.starts_with(&format!("{INTERFACE}\t00000000")));
    let is_default =
        |line: &str| line.starts_with(&format!("{:032x} 00", 0)) && line.trim_end().ends_with(INTERFACE);
    ipv4 || read("ipv6_route").lines().any(is_default)
}

/// In a mount namespace of its own: names are asked for at pasta's resolver. The file is in memory, and gone with the namespace.
pub(super) fn use_resolver() -> io::Result<()> {
    const FILE: &str = "/proc/resolv.conf";
    let none = None::<&str>;
    mount(Some("tmpfs"), "/proc", Some("tmpfs"), MsFlags::empty(), none)?;
    let written = fs::write(FILE, format!("nameserver {RESOLVER}\n"));
    let bound =
        written.and_then(|()| Ok(mount(Some(FILE), "/etc/resolv.conf", none, MsFlags::MS_BIND, none)?));
    umount2("/proc", MntFlags::MNT_DETACH)?;
    bound
}
