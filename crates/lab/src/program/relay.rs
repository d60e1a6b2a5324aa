//! Carries TCP connections between the path and the uplink: the receiver's kernel ends each one, and this relay opens it again behind.
//!
//! pasta(1) has no congestion control, and sends again everything from the first missing byte on. So it is not to speak over the path: what
//! comes over the path is accepted here, by a socket of the receiver's kernel that has the address the command asked for (IP_TRANSPARENT,
//! ip(7)), and its bytes are handed on. All rules and routes are those of the receiver's own namespace, and gone with it.

use crate::namespace::Namespace;
use crate::netlink::{IsLocal, Rtnetlink};
use crate::sys::socket::set_option;
use crate::topology::{HOST_INTERFACE, address_b};
use pipefill_core::cell::Family;
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Writes the rules (nft(8)).
pub(super) const PROGRAM: &str = "nft";
/// Connections at a time; more are refused.
const MOST: usize = 1_000;
/// What is read at once.
const BLOCK: usize = 1 << 17;
const BACKLOG: i32 = 1024;
/// How long the other side may take to answer.
const PATIENCE: Duration = Duration::from_secs(75);

/// Relays, in the namespace of `receiver`, every TCP connection that comes over the path for another address than the receiver's, until this
/// process ends.
///
/// # Errors
/// Those of sockets and routes, and what nft says where the kernel can't do it.
pub(super) fn start(receiver: &Namespace) -> io::Result<()> {
    for family in [Family::Ipv4, Family::Ipv6] {
        let listener = receiver.enter(|| listen(family))?;
        let port = listener.local_addr()?.port();
        receiver.enter(|| redirect(family, port))?;
        // Its sockets have to be of that namespace.
        let receiver = receiver.try_clone()?;
        thread::Builder::new().name("relay".to_owned()).spawn(move || {
            let _none_left = receiver.enter(|| serve(&listener, address_b(family)));
        })?;
    }
    Ok(())
}

/// Accepts connections to any address.
fn listen(family: Family) -> io::Result<TcpListener> {
    const YES: i32 = 1;
    let (domain, any): (_, IpAddr) = match family {
        Family::Ipv4 => (Domain::IPV4, Ipv4Addr::UNSPECIFIED.into()),
        Family::Ipv6 => (Domain::IPV6, Ipv6Addr::UNSPECIFIED.into()),
    };
    let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
    match family {
        Family::Ipv4 => set_option(&socket, libc::SOL_IP, libc::IP_TRANSPARENT, &YES)?,
        Family::Ipv6 => {
            socket.set_only_v6(true)?;
            set_option(&socket, libc::SOL_IPV6, libc::IPV6_TRANSPARENT, &YES)?;
        }
    }
    socket.bind(&SocketAddr::new(any, 0).into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Every TCP packet that comes over the path is for this host, and belongs to the connection's socket or to the listener at `port`.
fn redirect(family: Family, port: u16) -> io::Result<()> {
    Rtnetlink::connect()?.take_as_local(IsLocal {
        interface: HOST_INTERFACE,
        family,
        protocol: libc::IPPROTO_TCP,
    })?;
    let (table, own) = match family {
        Family::Ipv4 => ("ip", address_b(family)),
        Family::Ipv6 => ("ip6", address_b(family)),
    };
    write_rules(&format!(
        "table {table} pipefill {{ chain relay {{ type filter hook prerouting priority mangle; \
         iifname {HOST_INTERFACE} {table} daddr != {own} meta l4proto tcp tproxy to :{port} accept; }}; }}"
    ))
}

fn write_rules(rules: &str) -> io::Result<()> {
    let mut command = Command::new(PROGRAM);
    command.args(["-f", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| io::Error::other(format!("{PROGRAM}: {error}")))?;
    child.stdin.take().map_or(Ok(()), |mut input| input.write_all(rules.as_bytes()))?;
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("{PROGRAM}: {}", said.lines().next().unwrap_or_default())))
}

/// Relays until the listener fails. `own` is the receiver's address, which is not relayed.
fn serve(listener: &TcpListener, own: IpAddr) -> io::Result<()> {
    let count = Arc::new(AtomicUsize::new(0));
    loop {
        let (near, _) = match listener.accept() {
            Ok(accepted) => accepted,
            // The connection ended before it was accepted, or there is no descriptor for it just now.
            Err(error) if error.raw_os_error() != Some(libc::EBADF) => {
                thread::sleep(Duration::from_millis(1));
                continue;
            }
            Err(error) => return Err(error),
        };
        let asked = near.local_addr()?;
        if asked.ip() == own || count.load(Ordering::Relaxed) >= MOST {
            reset(&near);
            continue;
        }
        count.fetch_add(1, Ordering::Relaxed);
        let ending = Arc::clone(&count);
        let relaying = thread::Builder::new().name("relay".to_owned()).spawn(move || {
            relay(&near, asked);
            ending.fetch_sub(1, Ordering::Relaxed);
        });
        if relaying.is_err() {
            count.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Opens the connection behind, and carries both ways until both have ended. An end that is not one of TCP's own (a refusal, a reset) is
/// handed on as a reset.
fn relay(near: &TcpStream, asked: SocketAddr) {
    let Ok(far) = TcpStream::connect_timeout(&asked, PATIENCE) else { return reset(near) };
    for socket in [near, &far] {
        let _delayed = socket.set_nodelay(true);
    }
    let whole = thread::scope(|scope| {
        let up = scope.spawn(|| carry(near, &far));
        let down = carry(&far, near);
        up.join().is_ok_and(|up| up.is_ok()) && down.is_ok()
    });
    if !whole {
        [near, &far].into_iter().for_each(reset);
    }
}

/// Hands on what `from` brings, and its end. Where that fails neither brings anything any more.
fn carry(mut from: &TcpStream, mut to: &TcpStream) -> io::Result<()> {
    let mut block = vec![0; BLOCK];
    let carried = loop {
        match from.read(&mut block) {
            Ok(0) => break to.shutdown(Shutdown::Write),
            Ok(count) => {
                if let Err(error) = to.write_all(&block[..count]) {
                    break Err(error);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => break Err(error),
        }
    };
    if carried.is_err() {
        for socket in [from, to] {
            let _gone = socket.shutdown(Shutdown::Read);
        }
    }
    carried
}

/// The end is a reset, at once (socket(7), SO_LINGER).
fn reset(socket: &TcpStream) {
    let _gone = SockRef::from(socket).set_linger(Some(Duration::ZERO));
}
