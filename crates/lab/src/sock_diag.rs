//! The TCP and UDP sockets of a network namespace, as the kernel tells anybody who asks: sock_diag(7) over netlink, no privilege needed.
//!
//! `struct inet_diag_req_v2`, `inet_diag_msg` and its attributes are those of `include/uapi/linux/inet_diag.h`. Every function acts on
//! the namespace in which [`SockDiag::connect`] was called.

use crate::namespace::Namespace;
use netlink_packet_core::{NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_REQUEST, NetlinkBuffer};
use netlink_sys::{Socket, SocketAddr as NetlinkAddr, protocols::NETLINK_SOCK_DIAG};
use nix::sys::socket::{MsgFlags, recv, setsockopt, sockopt};
use nix::sys::time::{TimeVal, TimeValLike};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

/// `SOCK_DIAG_BY_FAMILY`.
const BY_FAMILY: u16 = 20;
/// `NLMSG_ERROR` and `NLMSG_DONE`.
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// Length of `struct nlmsghdr`, `inet_diag_req_v2` and `inet_diag_msg`.
const HEADER: usize = 16;
const REQUEST: usize = 56;
const MESSAGE: usize = 72;
/// Attributes: `INET_DIAG_INFO`, `INET_DIAG_CONG`, `INET_DIAG_SKMEMINFO`.
const INFO: u16 = 2;
const CONG: u16 = 4;
const SKMEMINFO: u16 = 7;
/// The same as bits of `idiag_ext`: bit n − 1 asks for attribute n.
const EXTENSIONS: u8 = 1 << (INFO - 1) | 1 << (CONG - 1) | 1 << (SKMEMINFO - 1);
/// What the kernel sends at most in one piece is 32 KiB, or what the receiver's buffer was large enough for before.
const BUFFER: usize = 1 << 18;
/// Sockets that are asked for in one system call: the answers, of some 2 KiB each in the kernel's memory, have to fit the receive buffer.
const AT_ONCE: usize = 32;
/// The kernel answers at once; where it does not, nobody waits for ever.
const PATIENCE: i64 = 5;
/// TCP states with data to look at: all but LISTEN, TIME_WAIT and NEW_SYN_RECV (`include/net/tcp_states.h`).
pub const CONNECTED: u32 = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11;

/// A connection to the kernel's socket diagnosis in one namespace.
#[derive(Debug)]
pub struct SockDiag {
    socket: Socket,
    buffer: Vec<u8>,
    sequence: u32,
}

/// One socket, for as long as its message is looked at.
#[derive(Debug, Clone, Copy)]
pub struct SocketReport<'a> {
    /// Number that the kernel gives a socket once: it tells a new socket on the same ports from the old one.
    pub cookie: u64,
    /// This host's address and port.
    pub local: SocketAddr,
    /// The peer's.
    pub remote: SocketAddr,
    /// `include/net/tcp_states.h`: 1 = ESTABLISHED.
    pub state: u8,
    /// User who owns it.
    pub uid: u32,
    /// Inode of the socket's file, by which `/proc/PID/fd` names it; 0 where no process has it open.
    pub inode: u32,
    /// `struct tcp_info`, as long as this kernel makes it.
    pub info: &'a [u8],
    /// Name of the congestion control.
    pub congestion_control: Option<&'a str>,
    /// Its memory.
    pub memory: Option<Memory>,
}

/// `SK_MEMINFO_*`: bytes of memory, not of payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// `sk_rmem_alloc`: received and not read.
    pub rmem_alloc: u32,
    /// `sk_rcvbuf`.
    pub rcvbuf: u32,
    /// `sk_sndbuf`.
    pub sndbuf: u32,
    /// `sk_wmem_queued`.
    pub wmem_queued: u32,
    /// `sk_drops`: what arrived and was dropped, packets; 0 where the kernel does not tell.
    pub drops: u32,
}

/// A UDP socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UdpSocket {
    /// Number that the kernel gives a socket once.
    pub cookie: u64,
    /// This host's address, unspecified where it takes datagrams to any, and port.
    pub local: SocketAddr,
    /// The peer's, where it is connected; else port 0.
    pub remote: SocketAddr,
    /// Inode of the socket's file; 0 where no process has it open.
    pub inode: u32,
    /// `udp_rqueue_get()`: memory of what was received and not read, bytes.
    pub receive_queue: u32,
    /// `sk_wmem_alloc_get()`: memory of what was sent and has not left the host, bytes.
    pub send_queue: u32,
    /// Its memory.
    pub memory: Option<Memory>,
}

/// What a look at all sockets was like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dump {
    /// Sockets that were told.
    pub sockets: usize,
    /// Sockets came and went meanwhile, so that one may be missing or told twice (`NLM_F_DUMP_INTR`).
    pub is_interrupted: bool,
    /// Messages that made no sense.
    pub malformed: usize,
}

impl SockDiag {
    /// Connects in the calling thread's network namespace.
    ///
    /// # Errors
    /// The kernel has no sock_diag (`CONFIG_INET_DIAG`), or a sandbox forbids it.
    pub fn connect() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_SOCK_DIAG)?;
        socket.bind_auto()?;
        socket.connect(&NetlinkAddr::new(0, 0))?;
        setsockopt(&socket.as_fd(), sockopt::ReceiveTimeout, &TimeVal::seconds(PATIENCE))?;
        Ok(Self { socket, buffer: vec![0; BUFFER], sequence: 0 })
    }

    /// Connects in the namespace that `file` stands for: `/run/netns/NAME`, `/proc/PID/ns/net`.
    ///
    /// # Errors
    /// The file can't be opened, is no namespace, or entering it is not permitted (`CAP_SYS_ADMIN`).
    pub fn connect_in(file: &Path) -> io::Result<Self> {
        Namespace::open(file)?.enter(Self::connect)
    }

    /// Tells `each` every TCP socket of IPv4 or IPv6 in one of `states`, a bit each.
    ///
    /// # Errors
    /// The kernel refuses, or does not answer.
    pub fn dump(&mut self, states: u32, mut each: impl FnMut(&SocketReport<'_>)) -> io::Result<Dump> {
        let mut all = Dump::default();
        for family in [libc::AF_INET, libc::AF_INET6] {
            let asked = Asked { family: family as u8, protocol: libc::IPPROTO_TCP as u8, states };
            let mut take = |message: &[u8]| socket(message).map(|seen| each(&seen)).is_some();
            self.dump_family(asked, &mut all, &mut take)?;
        }
        Ok(all)
    }

    /// Tells `each` every UDP socket of IPv4 or IPv6, connected or not.
    ///
    /// # Errors
    /// The kernel refuses (`CONFIG_INET_UDP_DIAG`), or does not answer.
    pub fn dump_udp(&mut self, mut each: impl FnMut(&UdpSocket)) -> io::Result<Dump> {
        let mut all = Dump::default();
        for family in [libc::AF_INET, libc::AF_INET6] {
            let asked = Asked { family: family as u8, protocol: libc::IPPROTO_UDP as u8, states: u32::MAX };
            let mut take = |message: &[u8]| udp_socket(message).map(|seen| each(&seen)).is_some();
            self.dump_family(asked, &mut all, &mut take)?;
        }
        Ok(all)
    }

    /// Tells `each` those of `sockets` that are still there, by cookie, local and remote address. The requests go to the kernel in few
    /// system calls.
    ///
    /// # Errors
    /// The kernel refuses for another reason than a socket that is gone, or does not answer.
    pub fn look_at(
        &mut self,
        sockets: &[(u64, SocketAddr, SocketAddr)],
        mut each: impl FnMut(&SocketReport<'_>),
    ) -> io::Result<()> {
        for some in sockets.chunks(AT_ONCE) {
            self.sequence = self.sequence.wrapping_add(1);
            let request = |&(cookie, local, remote): &_| request_one(cookie, local, remote, self.sequence);
            let requests: Vec<u8> = some.iter().flat_map(request).collect();
            self.socket.send(&requests, 0)?;
            // Each is answered by a datagram of its own, in this order.
            for _ in some {
                self.answer(&mut each)?;
            }
        }
        Ok(())
    }

    /// Takes the answer to a request for one socket.
    fn answer(&mut self, each: &mut impl FnMut(&SocketReport<'_>)) -> io::Result<()> {
        let length = recv(self.socket.as_raw_fd(), &mut self.buffer, MsgFlags::empty())?;
        let mut take = |message: &[u8]| socket(message).map(|seen| each(&seen)).is_some();
        match read(&self.buffer[..length], self.sequence, &mut Dump::default(), &mut take) {
            Err(error) if !matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ESTALE)) => Err(error),
            _ => Ok(()),
        }
    }

    fn dump_family(
        &mut self,
        asked: Asked,
        all: &mut Dump,
        take: &mut impl FnMut(&[u8]) -> bool,
    ) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        self.socket.send(&request(asked, self.sequence), 0)?;
        loop {
            let length = recv(self.socket.as_raw_fd(), &mut self.buffer, MsgFlags::MSG_TRUNC)?;
            if length > self.buffer.len() {
                return Err(io::Error::other("a netlink message is longer than its buffer"));
            }
            if read(&self.buffer[..length], self.sequence, all, take)? {
                return Ok(());
            }
        }
    }
}

/// Which sockets a request is for; states are a bit each.
#[derive(Clone, Copy)]
struct Asked {
    family: u8,
    protocol: u8,
    states: u32,
}

/// A request for all sockets that are `asked` for, as bytes.
fn request(asked: Asked, sequence: u32) -> [u8; HEADER + REQUEST] {
    let mut bytes = [0; HEADER + REQUEST];
    let mut message = NetlinkBuffer::new(&mut bytes[..]);
    message.set_length((HEADER + REQUEST) as u32);
    message.set_message_type(BY_FAMILY);
    message.set_flags(NLM_F_REQUEST | NLM_F_DUMP);
    message.set_sequence_number(sequence);
    let body = message.payload_mut();
    body[0] = asked.family;
    body[1] = asked.protocol;
    body[2] = EXTENSIONS;
    body[4..8].copy_from_slice(&asked.states.to_ne_bytes());
    bytes
}

/// A request for one socket. An IPv4 connection of an IPv6 socket is asked for with mapped addresses, as it was told.
fn request_one(cookie: u64, local: SocketAddr, remote: SocketAddr, sequence: u32) -> [u8; HEADER + REQUEST] {
    let family = if local.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let asked = Asked { family: family as u8, protocol: libc::IPPROTO_TCP as u8, states: u32::MAX };
    let mut bytes = request(asked, sequence);
    let mut message = NetlinkBuffer::new(&mut bytes[..]);
    message.set_flags(NLM_F_REQUEST);
    let id = &mut message.payload_mut()[8..];
    id[..2].copy_from_slice(&local.port().to_be_bytes());
    id[2..4].copy_from_slice(&remote.port().to_be_bytes());
    for (at, address) in [(4, local.ip()), (20, remote.ip())] {
        match address {
            IpAddr::V4(address) => id[at..at + 4].copy_from_slice(&address.octets()),
            IpAddr::V6(address) => id[at..at + 16].copy_from_slice(&address.octets()),
        }
    }
    id[40..48].copy_from_slice(&cookie.to_ne_bytes());
    bytes
}

/// Reads the messages of one datagram; `take` says whether one makes sense. True once the dump is done.
fn read(
    mut bytes: &[u8],
    sequence: u32,
    all: &mut Dump,
    take: &mut impl FnMut(&[u8]) -> bool,
) -> io::Result<bool> {
    while bytes.len() >= HEADER {
        let Ok(message) = NetlinkBuffer::new_checked(bytes) else {
            all.malformed += 1;
            return Ok(false);
        };
        let length = (message.length() as usize).max(HEADER);
        all.is_interrupted |= message.flags() & NLM_F_DUMP_INTR != 0;
        match message.message_type() {
            // What an earlier dump, that somebody gave up, has left over.
            _ if message.sequence_number() != sequence => {}
            DONE => return Ok(true),
            ERROR => return refused(message.payload()),
            BY_FAMILY if take(message.payload()) => all.sockets += 1,
            _ => all.malformed += 1,
        }
        // Messages begin at multiples of four.
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or(&[]);
    }
    Ok(false)
}

/// `struct nlmsgerr`: a negative errno, or 0 for an acknowledgement.
fn refused(payload: &[u8]) -> io::Result<bool> {
    match u32_at(payload, 0).map(u32::cast_signed) {
        Some(0) => Ok(true),
        Some(code) => Err(io::Error::from_raw_os_error(code.saturating_neg())),
        None => Err(io::Error::other("a netlink error without its number")),
    }
}

/// `struct inet_diag_msg` with its attributes; `None` for what is none.
pub fn socket(bytes: &[u8]) -> Option<SocketReport<'_>> {
    let (&family, &state) = (bytes.first()?, bytes.get(1)?);
    let address = |at: usize| -> Option<IpAddr> {
        let octets: [u8; 16] = bytes.get(at..at + 16)?.try_into().ok()?;
        match i32::from(family) {
            libc::AF_INET => Some(Ipv4Addr::new(octets[0], octets[1], octets[2], octets[3]).into()),
            // An IPv4 connection of an IPv6 socket.
            libc::AF_INET6 => Some(IpAddr::from(Ipv6Addr::from(octets)).to_canonical()),
            _ => None,
        }
    };
    let port = |at: usize| Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let mut seen = SocketReport {
        cookie: u64::from(u32_at(bytes, 44)?) | u64::from(u32_at(bytes, 48)?) << 32,
        local: SocketAddr::new(address(8)?, port(4)?),
        remote: SocketAddr::new(address(24)?, port(6)?),
        state,
        uid: u32_at(bytes, 64)?,
        inode: u32_at(bytes, 68)?,
        info: &[],
        congestion_control: None,
        memory: None,
    };
    for (kind, value) in attributes(bytes.get(MESSAGE..)?) {
        match kind {
            INFO => seen.info = value,
            CONG => seen.congestion_control = name(value),
            SKMEMINFO => seen.memory = memory(value),
            _ => {}
        }
    }
    Some(seen)
}

/// The same of a UDP socket.
fn udp_socket(bytes: &[u8]) -> Option<UdpSocket> {
    let SocketReport { cookie, local, remote, inode, memory, .. } = socket(bytes)?;
    let (receive_queue, send_queue) = (u32_at(bytes, 56)?, u32_at(bytes, 60)?);
    Some(UdpSocket { cookie, local, remote, inode, receive_queue, send_queue, memory })
}

/// Kinds and values of `struct nlattr`, up to the first one that is none. Own code: with ten of them for each of thousands of sockets, the
/// iterator of netlink-packet-core took half of what a look costs outside of the kernel.
fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let half = |at: usize| Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
        let (length, kind) = (usize::from(half(0)?), half(2)?);
        let value = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        Some((kind, value))
    })
}

fn name(value: &[u8]) -> Option<&str> {
    std::str::from_utf8(value.split(|&byte| byte == 0).next()?).ok()
}

fn memory(value: &[u8]) -> Option<Memory> {
    Some(Memory {
        rmem_alloc: u32_at(value, 0)?,
        rcvbuf: u32_at(value, 4)?,
        sndbuf: u32_at(value, 12)?,
        wmem_queued: u32_at(value, 20)?,
        // Since Linux 4.12.
        drops: u32_at(value, 32).unwrap_or(0),
    })
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::tcp_info;
    use proptest::prelude::*;
    use std::io::{Read, Write};
    use std::net::{self, TcpListener, TcpStream};

    #[test]
    fn a_connection_of_our_own_is_seen_with_what_it_sent() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else {
                assert!(address.contains("::"), "IPv4 is everywhere");
                continue;
            };
            let mut ours = TcpStream::connect(listener.local_addr().expect("an address")).expect("connects");
            let (mut theirs, _) = listener.accept().expect("accepts");
            ours.write_all(&[0; 1000]).expect("writes");
            theirs.read_exact(&mut [0; 1000]).expect("reads");
            let (local, remote) = (ours.local_addr().expect("local"), ours.peer_addr().expect("peer"));
            let mut found = Vec::new();
            let dump = SockDiag::connect()
                .and_then(|mut diag| {
                    diag.dump(CONNECTED, |seen| {
                        if seen.local == local && seen.remote == remote {
                            let info = tcp_info::decode(seen.info).expect("tcp_info");
                            found.push((seen.state, info.bytes_sent, seen.memory.is_some(), seen.inode > 0));
                            assert!(seen.congestion_control.is_some_and(|name| !name.is_empty()));
                        }
                    })
                })
                .expect("a dump");
            assert_eq!(found, [(1, Some(1000), true, true)]);
            assert!(dump.sockets >= 2 && dump.malformed == 0);
        }
    }

    #[test]
    fn a_udp_socket_that_nobody_reads_shows_its_queue_and_its_drops() {
        let ours = net::UdpSocket::bind("127.0.0.1:0").expect("binds");
        let unread = net::UdpSocket::bind("0.0.0.0:0").expect("binds");
        let port = unread.local_addr().expect("an address").port();
        setsockopt(&unread, sockopt::RcvBuf, &4_096).expect("a small buffer");
        (0..100).for_each(|_| {
            ours.send_to(&[0; 1_000], ("127.0.0.1", port)).expect("sends");
        });
        let mut found = Vec::new();
        let mut diag = SockDiag::connect().expect("sock_diag");
        let dump = diag.dump_udp(|socket| found.extend((socket.local.port() == port).then_some(*socket)));
        assert_eq!(dump.expect("a dump").malformed, 0);
        let [socket] = found[..] else { panic!("{found:?}") };
        let memory = socket.memory.expect("its memory");
        assert!(socket.local.ip().is_unspecified() && socket.remote.port() == 0, "{socket:?}");
        assert!(memory.drops > 80 && memory.drops < 100, "{socket:?}");
        assert!(socket.receive_queue > 0 && memory.rmem_alloc > 0 && memory.rcvbuf >= 4_096, "{socket:?}");
        assert!(socket.inode > 0 && socket.cookie > 0, "{socket:?}");
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_fail(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _seen = socket(&bytes);
            let mut all = Dump::default();
            let _udp = udp_socket(&bytes);
            let _done = read(&bytes, 0, &mut all, &mut |message: &[u8]| {
                socket(message).is_some_and(|seen| tcp_info::decode(seen.info).is_some())
            });
        }
    }
}
