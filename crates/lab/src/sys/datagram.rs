//! Batches of datagrams: `sendmmsg(2)` and `recvmmsg(2)`, with the kernel's receive timestamps (`SO_TIMESTAMPNS`).
#![allow(unsafe_code)]

use super::messages::batch;
use std::io;
use std::os::fd::AsRawFd;

/// Datagrams handed over in one system call.
pub(crate) const BATCH: usize = 64;
const CONTROL: usize = 64;

/// Asks for receive timestamps on every datagram.
pub(crate) fn want_timestamps(socket: &impl AsRawFd) -> io::Result<()> {
    super::socket::set_option(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1_i32)
}

/// Asks the kernel to keep what ICMP says of this socket's datagrams ([`was_refused`]): an error that comes in while a batch is sent ends
/// the batch and is forgotten (`__sys_sendmmsg()`).
pub(crate) fn want_errors(socket: &impl AsRawFd) {
    for (level, name) in [(libc::IPPROTO_IP, libc::IP_RECVERR), (libc::IPPROTO_IPV6, libc::IPV6_RECVERR)] {
        // A socket of IPv4 has no option of IPv6.
        let _other_family = super::socket::set_option(socket, level, name, &1_i32);
    }
}

/// Takes what ICMP has said of this socket's datagrams; true where one was refused (`ECONNREFUSED`).
pub(crate) fn was_refused(socket: &impl AsRawFd) -> bool {
    let mut was_refused = false;
    while let Some(errno) = queued_error(socket) {
        was_refused |= errno == libc::ECONNREFUSED.unsigned_abs();
    }
    was_refused
}

/// The errno of the oldest message in the error queue; 0 where it has none.
fn queued_error(socket: &impl AsRawFd) -> Option<u32> {
    let mut control = [0_u64; 64];
    // SAFETY: `msghdr` is valid when all zero.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = size_of_val(&control) as _;
    let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
    // SAFETY: the header points to `control`, which outlives the call, and has no other buffers.
    if unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, flags) } < 0 {
        return None;
    }
    // SAFETY: the header was filled by recvmsg; the CMSG macros stay inside its control buffer, which is aligned to 8.
    unsafe {
        let mut message = libc::CMSG_FIRSTHDR(&raw const header);
        while !message.is_null() {
            let kind = ((*message).cmsg_level, (*message).cmsg_type);
            if kind == (libc::IPPROTO_IP, libc::IP_RECVERR)
                || kind == (libc::IPPROTO_IPV6, libc::IPV6_RECVERR)
            {
                return Some(
                    libc::CMSG_DATA(message).cast::<libc::sock_extended_err>().read_unaligned().ee_errno,
                );
            }
            message = libc::CMSG_NXTHDR(&raw const header, message);
        }
    }
    Some(0)
}

/// Sends `buffers` on a connected socket without waiting; returns how many the socket took.
///
/// # Errors
/// `WouldBlock` when it took none; otherwise those of `sendmmsg(2)`.
pub(crate) fn send(socket: &impl AsRawFd, buffers: &[&[u8]]) -> io::Result<usize> {
    let mut vectors = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; BATCH];
    // SAFETY: `mmsghdr` is valid when all zero.
    let mut messages: [libc::mmsghdr; BATCH] = unsafe { std::mem::zeroed() };
    let count = buffers.len().min(BATCH);
    for i in 0..count {
        vectors[i] =
            libc::iovec { iov_base: buffers[i].as_ptr().cast_mut().cast(), iov_len: buffers[i].len() };
        messages[i].msg_hdr.msg_iov = &raw mut vectors[i];
        messages[i].msg_hdr.msg_iovlen = 1;
    }
    // SAFETY: the messages point into `vectors` and `buffers`, which outlive the call; the kernel only reads them.
    unsafe { batch(libc::SYS_sendmmsg, socket, &mut messages[..count], libc::MSG_DONTWAIT) }
}

/// One received datagram.
pub(crate) struct Datagram<'a> {
    /// The first bytes of the payload, at most the receiver's slot size.
    pub(crate) head: &'a [u8],
    /// The kernel's receive timestamp, `CLOCK_REALTIME` nanoseconds; `None` where it gave none.
    pub(crate) realtime_ns: Option<u64>,
    /// Whole payload length.
    pub(crate) len: usize,
}

/// Buffers for receiving; only the head of each payload is kept (`MSG_TRUNC` tells the length).
pub(crate) struct Receiver<const HEAD: usize> {
    heads: Box<[[u8; HEAD]; BATCH]>,
    controls: Box<[[u64; CONTROL / 8]; BATCH]>,
}

impl<const HEAD: usize> Receiver<HEAD> {
    pub(crate) fn new() -> Self {
        Self { heads: Box::new([[0; HEAD]; BATCH]), controls: Box::new([[0; CONTROL / 8]; BATCH]) }
    }

    /// Receives what is there, at most [`BATCH`], without waiting; hands each datagram to `take`; returns their number.
    ///
    /// # Errors
    /// `WouldBlock` when there was none; otherwise those of `recvmmsg(2)`.
    pub(crate) fn receive(
        &mut self,
        socket: &impl AsRawFd,
        mut take: impl FnMut(Datagram<'_>),
    ) -> io::Result<usize> {
        let mut vectors = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; BATCH];
        // SAFETY: `mmsghdr` is valid when all zero.
        let mut messages: [libc::mmsghdr; BATCH] = unsafe { std::mem::zeroed() };
        for i in 0..BATCH {
            vectors[i] = libc::iovec { iov_base: self.heads[i].as_mut_ptr().cast(), iov_len: HEAD };
            messages[i].msg_hdr.msg_iov = &raw mut vectors[i];
            messages[i].msg_hdr.msg_iovlen = 1;
            messages[i].msg_hdr.msg_control = self.controls[i].as_mut_ptr().cast();
            messages[i].msg_hdr.msg_controllen = CONTROL as _;
        }
        let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
        // SAFETY: the messages point into `vectors`, `self.heads` and `self.controls`, which outlive the call and are
        // borrowed by nobody else.
        let count = unsafe { batch(libc::SYS_recvmmsg, socket, &mut messages, flags) }?;
        for (i, message) in messages.iter().enumerate().take(count) {
            let len = message.msg_len as usize;
            let realtime_ns = timestamp(&message.msg_hdr);
            take(Datagram { head: &self.heads[i][..len.min(HEAD)], realtime_ns, len });
        }
        Ok(count)
    }
}

fn timestamp(header: &libc::msghdr) -> Option<u64> {
    // SAFETY: the header was filled by recvmmsg; the CMSG macros stay inside its control buffer, which is aligned to 8.
    unsafe {
        let mut message = libc::CMSG_FIRSTHDR(header);
        while !message.is_null() {
            if ((*message).cmsg_level, (*message).cmsg_type) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) {
                let at = libc::CMSG_DATA(message).cast::<libc::timespec>().read_unaligned();
                return Some(at.tv_sec as u64 * 1_000_000_000 + at.tv_nsec as u64);
            }
            message = libc::CMSG_NXTHDR(header, message);
        }
    }
    None
}
