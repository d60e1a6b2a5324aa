//! `AF_PACKET` on one interface: a receive ring that keeps only the headers, or whole packets (see [`super::whole`]), and batched sending
//! with virtio-net headers, so that TSO super-packets cross the emulator whole (`Documentation/networking/packet_mmap.rst`).
//!
//! Where payload is not kept, a classic BPF filter cuts every packet to [`SNAP`] bytes: the kernel copies headers only. The sending
//! side gives the payload back as zeros (see `docs/adr/0003-header-only-data-path.md`).
#![allow(unsafe_code)]

use super::buffers::Buffer;
use super::messages::batch;
use super::received::{Packet, Received, VNET_LEN};
use super::whole::Whole;
use nix::sys::socket::{AddressFamily, SockFlag, SockProtocol, SockType, socket};
use pipefill_core::cell::Payload;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Bytes of headers kept of a packet: Ethernet 14 + IPv6 40 + TCP at most 60, or UDP 8 and the start of its payload.
pub(crate) const SNAP: usize = 160;
/// A slot holds `struct tpacket2_hdr` (32), `sockaddr_ll` (20), padding, the virtio-net header and [`SNAP`] bytes.
const SLOT: usize = 256;
const SLOTS: usize = 1 << 15;
/// Of a socket that looks on: its reader waits for a file, so that a second's packets at 100,000 a second have to fit.
const TAP_SLOTS: usize = 1 << 17;
const BLOCK: usize = 1 << 16;
/// The largest super-packet whose payload is given back.
const ZEROS_LEN: usize = 1 << 16;

static ZEROS: [u8; ZEROS_LEN] = [0; ZEROS_LEN];

/// A raw socket bound to one interface. Sending and receiving may happen on two threads.
pub(crate) struct PacketSocket {
    fd: OwnedFd,
    payload: Payload,
    /// Of the ring, where headers alone are received.
    slots: usize,
}

/// One packet to send: headers, and how long it is with its payload.
#[derive(Clone)]
pub(crate) struct Outgoing {
    pub(crate) vnet: [u8; VNET_LEN],
    pub(crate) head: [u8; SNAP],
    pub(crate) head_len: usize,
    pub(crate) len: usize,
    /// Where the payload is: a packet, and the place in it. Zeros where there is none.
    pub(crate) payload: Option<(Rc<Buffer>, usize)>,
    /// The packet that the kernel holds and this is or is a part of.
    pub(crate) held: Option<HeldPart>,
}

/// Segments of a packet that the kernel holds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HeldPart {
    /// The packet's number.
    pub(crate) id: u32,
    /// Whether it is all of it.
    pub(crate) is_whole: bool,
    /// Where in it the payload begins.
    pub(crate) payload_at: usize,
}

impl Outgoing {
    /// What follows the headers.
    pub(crate) fn payload(&self) -> &[u8] {
        let len = (self.len - self.head_len).min(ZEROS_LEN);
        match &self.payload {
            Some((packet, at)) => packet.get(*at..*at + len).unwrap_or(&[]),
            None => &ZEROS[..len],
        }
    }
}

/// Where packets come from.
pub(crate) enum Input<'a> {
    /// Headers alone, out of a mapped ring.
    Headers(Ring),
    /// Whole packets, with the memory that they may take.
    Whole(Whole<'a>),
}

impl Input<'_> {
    /// Hands the next packet to `take`, and tells whether there was one.
    pub(crate) fn next(&mut self, take: impl FnOnce(Received<'_>)) -> io::Result<bool> {
        match self {
            Self::Headers(ring) => Ok(ring.next(take)),
            Self::Whole(whole) => whole.next(take),
        }
    }

    /// Packets that were dropped for want of memory of ours.
    pub(crate) fn drops(&self) -> u64 {
        match self {
            Self::Headers(_) => 0,
            Self::Whole(whole) => whole.drops(),
        }
    }
}

impl PacketSocket {
    /// Opens a socket on the interface `index` of the calling thread's namespace.
    ///
    /// # Errors
    /// Those of `socket(2)`, `setsockopt(2)`, `bind(2)`; `EPERM` without `CAP_NET_RAW`.
    pub(crate) fn open(index: u32, payload: Payload) -> io::Result<Self> {
        let this = Self::unbound(payload, SLOTS)?;
        this.set(libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1_i32)?;
        this.set(libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, &1_i32)?;
        match payload {
            Payload::Zeros => this.prepare_ring()?,
            Payload::Kept => {
                this.filter(u32::MAX)?;
                Whole::prepare(&this.fd)?;
            }
        }
        this.bind(index, libc::ETH_P_ALL as u16)?;
        Ok(this)
    }

    /// Opens a socket that only sends, by the interface `index`.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub(crate) fn sender(index: u32) -> io::Result<Self> {
        let this = Self::unbound(Payload::Zeros, 0)?;
        this.set(libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1_i32)?;
        this.bind(index, 0)?;
        Ok(this)
    }

    /// Opens a socket that looks on: the headers of all that leaves by the interface `index` and arrives at it.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub(crate) fn tap(index: u32) -> io::Result<Self> {
        let this = Self::unbound(Payload::Zeros, TAP_SLOTS)?;
        this.prepare_ring()?;
        this.bind(index, libc::ETH_P_ALL as u16)?;
        Ok(this)
    }

    fn unbound(payload: Payload, slots: usize) -> io::Result<Self> {
        // Protocol 0: receives nothing until bound.
        let fd = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, None::<SockProtocol>)?;
        let this = Self { fd, payload, slots };
        this.set(libc::SOL_PACKET, libc::PACKET_VERSION, &libc::tpacket_versions::TPACKET_V2)?;
        this.set(libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1_i32)?;
        Ok(this)
    }

    fn prepare_ring(&self) -> io::Result<()> {
        self.filter(SNAP as u32)?;
        let ring = libc::tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: (SLOT * self.slots / BLOCK) as u32,
            tp_frame_size: SLOT as u32,
            tp_frame_nr: self.slots as u32,
        };
        self.set(libc::SOL_PACKET, libc::PACKET_RX_RING, &ring)
    }

    /// What is to be received, in at most `memory` bytes of packets that are kept. Call once.
    pub(crate) fn input(&self, memory: usize) -> io::Result<Input<'_>> {
        Ok(match self.payload {
            Payload::Zeros => Input::Headers(self.map_ring()?),
            Payload::Kept => Input::Whole(Whole::new(self.fd(), memory)),
        })
    }

    /// Whether the socket's own buffer is so small that each arrival has to be fetched at once.
    pub(crate) fn is_narrow(&self) -> bool {
        self.payload == Payload::Kept && Whole::is_narrow(&self.fd)
    }

    fn map_ring(&self) -> io::Result<Ring> {
        let len = SLOT * self.slots;
        // SAFETY: a fresh shared mapping of the ring that PACKET_RX_RING made; the result is checked.
        let base = unsafe {
            libc::mmap(
                ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_POPULATE,
                self.fd.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Ring { base: base.cast(), len, next: 0 })
    }

    /// Packets that the kernel saw and dropped for want of a free slot, since the last call (`PACKET_STATISTICS`).
    pub(crate) fn drops(&self) -> io::Result<u64> {
        let mut stats = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let mut len = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        // SAFETY: `stats` is a plain struct of the size passed in `len`, alive over the call.
        let result = unsafe {
            libc::getsockopt(
                self.fd.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut stats).cast(),
                &raw mut len,
            )
        };
        if result == 0 { Ok(u64::from(stats.tp_drops)) } else { Err(io::Error::last_os_error()) }
    }

    /// The descriptor, for `poll(2)`.
    pub(crate) fn fd(&self) -> std::os::fd::BorrowedFd<'_> {
        std::os::fd::AsFd::as_fd(&self.fd)
    }

    /// Sends `packets` in order; returns how many the kernel refused.
    pub(crate) fn send(&self, packets: &[Outgoing]) -> u64 {
        let mut refused = 0;
        for chunk in packets.chunks(BATCH) {
            refused += self.send_chunk(chunk);
        }
        refused
    }

    fn send_chunk(&self, packets: &[Outgoing]) -> u64 {
        let mut vectors = [[libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 }; 3]; BATCH];
        // SAFETY: `msghdr` is valid when all zero.
        let mut messages: [libc::mmsghdr; BATCH] = unsafe { std::mem::zeroed() };
        for (i, packet) in packets.iter().enumerate() {
            let payload = packet.payload();
            vectors[i] = [part(&packet.vnet), part(&packet.head[..packet.head_len]), part(payload)];
            messages[i].msg_hdr.msg_iov = vectors[i].as_mut_ptr();
            messages[i].msg_hdr.msg_iovlen = if payload.is_empty() { 2 } else { 3 };
        }
        let (mut done, mut refused) = (0, 0);
        while done < packets.len() {
            // SAFETY: the messages point into `vectors`, which point into `packets`, their payload and `ZEROS`; all outlive the call,
            // and the kernel only reads through them.
            match unsafe { batch(libc::SYS_sendmmsg, &self.fd, &mut messages[done..packets.len()], 0) } {
                Ok(sent) => done += sent,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    refused += 1;
                    done += 1;
                }
            }
        }
        refused
    }

    /// IPv4 and IPv6 packets for one host alone, cut to `length` bytes. What a host sends to many (MLD, router solicitations) is no traffic
    /// of anybody's.
    fn filter(&self, length: u32) -> io::Result<()> {
        // ldb [0]; jset 1, drop; ldh [12]; jeq IPv4, keep; jeq IPv6, keep, drop; keep: ret length; drop: ret 0.
        let mut code = [
            libc::sock_filter { code: 0x30, jt: 0, jf: 0, k: 0 },
            libc::sock_filter { code: 0x45, jt: 4, jf: 0, k: 1 },
            libc::sock_filter { code: 0x28, jt: 0, jf: 0, k: 12 },
            libc::sock_filter { code: 0x15, jt: 1, jf: 0, k: libc::ETH_P_IP as u32 },
            libc::sock_filter { code: 0x15, jt: 0, jf: 1, k: libc::ETH_P_IPV6 as u32 },
            libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: length },
            libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: 0 },
        ];
        let program = libc::sock_fprog { len: code.len() as u16, filter: code.as_mut_ptr() };
        self.set(libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
    }

    /// Receives what has this protocol, `ETH_P_*`; nothing where it is 0.
    fn bind(&self, index: u32, protocol: u16) -> io::Result<()> {
        // SAFETY: `sockaddr_ll` is valid when all zero.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = protocol.to_be();
        address.sll_ifindex = index as i32;
        // SAFETY: the address is a `sockaddr_ll` of the length passed.
        let result = unsafe {
            libc::bind(
                self.fd.as_raw_fd(),
                (&raw const address).cast(),
                size_of::<libc::sockaddr_ll>() as libc::socklen_t,
            )
        };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    fn set<T>(&self, level: i32, name: i32, value: &T) -> io::Result<()> {
        super::socket::set_option(&self.fd, level, name, value)
    }
}

/// `PACKET_IGNORE_OUTGOING` (`include/uapi/linux/if_packet.h`), not in the libc crate.
const PACKET_IGNORE_OUTGOING: i32 = 23;
/// Where the ring has the packet's `sockaddr_ll`: behind `struct tpacket2_hdr`, which `TPACKET_ALIGN()` leaves as it is.
const ADDRESS_AT: usize = 32;
/// Packets handed to the kernel in one system call.
const BATCH: usize = 32;

fn part(bytes: &[u8]) -> libc::iovec {
    libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() }
}

/// The mapped receive ring (`TPACKET_V2`). One reader.
pub(crate) struct Ring {
    base: *mut u8,
    len: usize,
    next: usize,
}

// SAFETY: the mapping is owned by this value alone; moving it to another thread moves the only reader.
unsafe impl Send for Ring {}

impl Ring {
    /// Hands the next packet to `take`, gives its slot back, and tells whether there was one.
    pub(crate) fn next(&mut self, take: impl FnOnce(Received<'_>)) -> bool {
        let slot = self.base.wrapping_add(self.next * SLOT);
        let header = slot.cast::<libc::tpacket2_hdr>();
        // SAFETY: `slot` is inside the mapping and aligned to 256; the kernel writes `tp_status` last, with release
        // semantics, so that an acquire load that sees TP_STATUS_USER makes the slot's other bytes visible.
        let status = unsafe { AtomicU32::from_ptr((&raw mut (*header).tp_status).cast()) };
        if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return false;
        }
        // SAFETY: the slot belongs to us until its status is reset below.
        let info = unsafe { &*header };
        let head_at = usize::from(info.tp_mac);
        let head_len = (info.tp_snaplen as usize).min(SLOT - head_at);
        // SAFETY: `sockaddr_ll` follows the aligned header (`tpacket_rcv()`), inside the slot.
        let address = unsafe { &*slot.add(ADDRESS_AT).cast::<libc::sockaddr_ll>() };
        // SAFETY: the kernel put the packet at `tp_mac` with the virtio-net header just before it
        // (`tpacket_rcv()`), both inside the slot.
        let (vnet, head) = unsafe {
            (
                slot.add(head_at - VNET_LEN).cast::<[u8; VNET_LEN]>().read_unaligned(),
                std::slice::from_raw_parts(slot.add(head_at), head_len),
            )
        };
        take(Received {
            realtime_ns: u64::from(info.tp_sec) * 1_000_000_000 + u64::from(info.tp_nsec),
            is_outgoing: address.sll_pkttype == libc::PACKET_OUTGOING,
            len: info.tp_len,
            vnet,
            packet: Packet::Head(head),
        });
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % (self.len / SLOT);
        true
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: unmaps what `map_ring` mapped; nothing borrows from it after this value is gone.
        unsafe { libc::munmap(self.base.cast(), self.len) };
    }
}
