//! Whole packets from an `AF_PACKET` socket, several for one system call, each with the instant at which the kernel saw it.

use super::buffers::Buffers;
use super::received::{Packet, Received, VNET_LEN};
use super::socket::set_option;
use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, MultiHeaders, getsockopt, recvmmsg, sockopt};
use nix::sys::time::TimeSpec;
use std::collections::VecDeque;
use std::io::{self, IoSliceMut};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::rc::Rc;

/// Packets fetched in one system call.
const AT_ONCE: usize = 16;
/// Asked for as the socket's buffer: what arrives in some milliseconds at 10 Gbit/s, in the kernel's own memory for it.
const RECEIVE_BUFFER: i32 = 64 << 20;
/// A socket with less than this can't wait a millisecond for its reader.
const NARROW: usize = 4 << 20;

/// Receives whole packets.
pub(crate) struct Whole<'a> {
    socket: BorrowedFd<'a>,
    buffers: Rc<Buffers>,
    headers: MultiHeaders<()>,
    /// Where the kernel puts them: a virtio-net header, then the packet.
    landing: Vec<Vec<u8>>,
    /// Of those that have landed and were not taken: the place, the length, and when the kernel saw it.
    landed: VecDeque<(usize, usize, u64)>,
    drops: u64,
}

impl<'a> Whole<'a> {
    /// Timestamps, and as large a buffer as this process may have.
    pub(crate) fn prepare(socket: &OwnedFd) -> io::Result<()> {
        set_option(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1_i32)?;
        set_option(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &RECEIVE_BUFFER)
            .or_else(|_| set_option(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &RECEIVE_BUFFER))
    }

    /// Whether the buffer that it got holds too little for a reader that sleeps.
    pub(crate) fn is_narrow(socket: &OwnedFd) -> bool {
        getsockopt(socket, sockopt::RcvBuf).is_ok_and(|size| size < NARROW)
    }

    /// Receives from `socket` into at most `memory` bytes.
    pub(crate) fn new(socket: BorrowedFd<'a>, memory: usize) -> Self {
        Self {
            socket,
            buffers: Buffers::new(memory),
            headers: MultiHeaders::preallocate(AT_ONCE, Some(cmsg_space!(TimeSpec))),
            landing: (0..AT_ONCE).map(|_| Buffers::large()).collect(),
            landed: VecDeque::new(),
            drops: 0,
        }
    }

    /// Packets for which there was no memory.
    pub(crate) fn drops(&self) -> u64 {
        self.drops
    }

    /// Hands the next packet that there is memory for to `take`; false where none has arrived.
    pub(crate) fn next(&mut self, take: impl FnOnce(Received<'_>)) -> io::Result<bool> {
        loop {
            if self.landed.is_empty() {
                self.fetch()?;
            }
            let Some((place, length, realtime_ns)) = self.landed.pop_front() else { return Ok(false) };
            let landing = &mut self.landing[place];
            let Some(&vnet) = landing[..length].first_chunk::<VNET_LEN>() else { continue };
            let Some(whole) = self.buffers.keep(landing, VNET_LEN..length) else {
                self.drops += 1;
                continue;
            };
            let len = u32::try_from(whole.len()).unwrap_or(u32::MAX);
            take(Received { realtime_ns, is_outgoing: false, len, vnet, packet: Packet::Whole(whole) });
            return Ok(true);
        }
    }

    fn fetch(&mut self) -> io::Result<()> {
        let mut slices: Vec<[IoSliceMut<'_>; 1]> =
            self.landing.iter_mut().map(|bytes| [IoSliceMut::new(bytes)]).collect();
        let fetched =
            recvmmsg(self.socket.as_raw_fd(), &mut self.headers, &mut slices, MsgFlags::MSG_DONTWAIT, None);
        let messages = match fetched {
            Ok(messages) => messages,
            // The interface is down when a namespace goes; nothing arrives any more.
            Err(Errno::EAGAIN | Errno::EINTR | Errno::ENETDOWN) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        for (place, message) in messages.enumerate() {
            let stamp = message.cmsgs().ok().into_iter().flatten().find_map(|each| match each {
                ControlMessageOwned::ScmTimestampns(stamp) => Some(stamp),
                _ => None,
            });
            let realtime_ns = stamp.map_or(u64::MAX, nanos);
            self.landed.push_back((place, message.bytes, realtime_ns));
        }
        Ok(())
    }
}

fn nanos(stamp: TimeSpec) -> u64 {
    let part = |value: i64| u64::try_from(value).unwrap_or(0);
    part(stamp.tv_sec()) * 1_000_000_000 + part(stamp.tv_nsec())
}
