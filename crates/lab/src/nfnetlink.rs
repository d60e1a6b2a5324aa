//! Netlink of netfilter, in one namespace: requests, and the messages that they are made of (`include/uapi/linux/netfilter/nfnetlink.h`).

use crate::attributes::bytes;
use netlink_packet_core::{DefaultNla, Emitable, NLM_F_ACK, NLM_F_REQUEST, NetlinkBuffer, NetlinkHeader};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_NETFILTER};
use nix::sys::socket::{setsockopt, sockopt};
use nix::sys::time::{TimeVal, TimeValLike};
use std::io;
use std::os::fd::AsFd;

/// Length of `struct nlmsghdr`, and with `struct nfgenmsg` behind it.
const HEADER: usize = 16;
pub(crate) const GENERIC: usize = HEADER + 4;
/// `NLMSG_ERROR`: also the answer to what went well.
const ERROR: u16 = 2;
/// `NFNL_SUBSYS_NFTABLES`.
const NFTABLES: u16 = 10;
/// `NFNL_MSG_BATCH_BEGIN`, `_END`: what is between them is done as a whole or not at all.
const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;
/// The kernel answers at once; where it does not, nobody waits for ever.
const PATIENCE: i64 = 5;

/// A connection to netfilter in the namespace in which it was made.
pub(crate) struct Nfnetlink {
    socket: Socket,
}

impl Nfnetlink {
    /// Connects in the calling thread's namespace.
    ///
    /// # Errors
    /// A kernel without netfilter, or a sandbox that forbids it.
    pub(crate) fn connect() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_NETFILTER)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        setsockopt(&socket.as_fd(), sockopt::ReceiveTimeout, &TimeVal::seconds(PATIENCE))?;
        Ok(Self { socket })
    }

    /// Asks for a change and waits until it is made.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub(crate) fn request(&self, message: Message<'_>) -> io::Result<()> {
        self.socket.send(&message.emit(NLM_F_ACK, 1), 0)?;
        self.answer(1)
    }

    /// Makes all of these changes of nf_tables, or none.
    ///
    /// # Errors
    /// The first refusal.
    pub(crate) fn transaction(&self, changes: &[Message<'_>]) -> io::Result<()> {
        let mark = |kind| Message { kind, family: 0, resource: NFTABLES, attributes: &[] };
        let last = changes.len() as u32;
        let mut all = mark(BATCH_BEGIN).emit(0, 0);
        for (sequence, change) in (1..).zip(changes) {
            let flags = if sequence == last { NLM_F_ACK } else { 0 };
            all.extend(change.emit(flags | netlink_packet_core::NLM_F_CREATE, sequence));
        }
        all.extend(mark(BATCH_END).emit(0, last + 1));
        self.socket.send(&all, 0)?;
        self.answer(last)
    }

    /// Waits for the answer to the message with this number; refusals of those before it come first.
    fn answer(&self, sequence: u32) -> io::Result<()> {
        loop {
            let (reply, _) = self.socket.recv_from_full()?;
            let answer = NetlinkBuffer::new_checked(&reply[..]).map_err(io::Error::other)?;
            if answer.message_type() != ERROR {
                continue;
            }
            match answer.payload().first_chunk().map(|code| i32::from_ne_bytes(*code)) {
                Some(0) if answer.sequence_number() == sequence => return Ok(()),
                Some(0) => {}
                Some(code) => return Err(io::Error::from_raw_os_error(-code)),
                None => return Err(io::Error::other("a netlink error without its code")),
            }
        }
    }

    /// The socket, for what is neither asked for nor answered.
    pub(crate) const fn socket(&self) -> &Socket {
        &self.socket
    }
}

/// A message to the kernel.
#[derive(Clone, Copy)]
pub(crate) struct Message<'a> {
    /// Subsystem and type.
    pub(crate) kind: u16,
    /// `NFPROTO_*`.
    pub(crate) family: u8,
    /// `res_id`.
    pub(crate) resource: u16,
    pub(crate) attributes: &'a [DefaultNla],
}

impl Message<'_> {
    /// Its bytes, with these flags besides that of a request.
    pub(crate) fn emit(&self, flags: u16, sequence: u32) -> Vec<u8> {
        let attributes = bytes(self.attributes);
        let mut header = NetlinkHeader::default();
        header.length = (GENERIC + attributes.len()) as u32;
        header.message_type = self.kind;
        header.flags = NLM_F_REQUEST | flags;
        header.sequence_number = sequence;
        let mut message = vec![0; HEADER];
        header.emit(&mut message);
        message.extend([self.family, 0]);
        message.extend(self.resource.to_be_bytes());
        message.extend(attributes);
        message
    }
}
