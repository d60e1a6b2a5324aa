//! Packets that the kernel holds while the path decides about them: NFQUEUE (`net/netfilter/nfnetlink_queue.c`). This process sees their
//! headers and says when each goes on.
//!
//! The middle's interfaces are ports of a bridge. `br_netfilter` shows what crosses it to the hooks of IP, where rules hand it to a
//! queue for each direction. Never: a decision about a packet's fate (that is `link`'s).

mod arrivals;
mod rules;
mod verdicts;

pub(crate) use arrivals::Arrivals;
pub(crate) use verdicts::Verdicts;

use crate::netlink::{Mac, Rtnetlink};
use crate::nfnetlink::{Message, Nfnetlink};
use crate::sys::packet::SNAP;
use crate::sys::socket::set_option;
use netlink_packet_core::DefaultNla;
use nix::sys::socket::{getsockopt, sockopt};
use pipefill_core::cell::Payload;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// Numbers of the queues: what A sends, what B sends; and of those whose packets are copied whole.
const COMING_FROM_A: u16 = 0;
const COMING_FROM_B: u16 = 1;
const COPIES: u16 = 2;
/// `NFNL_SUBSYS_QUEUE << 8 | NFQNL_MSG_*`.
const PACKET: u16 = 3 << 8;
const CONFIG: u16 = 3 << 8 | 2;
const VERDICTS: u16 = 3 << 8 | 3;
/// `NFQNL_CFG_CMD_BIND`, `NFQNL_COPY_PACKET`, `NFQA_CFG_F_GSO`.
const BIND: u8 = 1;
const COPY_PACKET: u8 = 2;
const WITH_SUPER_PACKETS: u32 = 4;
/// `NFQA_CFG_*`.
const CFG_COMMAND: u16 = 1;
const CFG_PARAMETERS: u16 = 2;
const CFG_LONGEST: u16 = 3;
const CFG_MASK: u16 = 4;
const CFG_FLAGS: u16 = 5;
/// Length of an Ethernet header, which the queue does not show.
const ETHERNET: usize = 14;
/// The largest payload of a netlink attribute.
const WHOLE: u32 = 0xffff - 4;
/// `NETLINK_NO_ENOBUFS`: a full buffer is counted by the queue, and no error.
const NO_ENOBUFS: i32 = 5;
/// Asked for as the socket's buffer, and the least that can wait a millisecond for its reader: about a kilobyte for each packet.
const RECEIVE_BUFFER: i32 = 32 << 20;
const NARROW: usize = 2 << 20;
/// Packets that a direction holds at most in a second of delay, and without any.
const PACKETS_A_SECOND: f64 = 1e6;
const PACKETS: u32 = 1 << 16;
/// There where bridges show their packets to the hooks of IP.
const BRIDGE_HOOKS: &str = "/proc/sys/net/bridge/bridge-nf-call-iptables";
/// What each queue of the calling thread's namespace counts (`seq_show()`).
const COUNTERS: &str = "/proc/thread-self/net/netfilter/nfnetlink_queue";

/// Ethernet addresses and MTU of one direction, which the queue does not show.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hop {
    pub(crate) source: Mac,
    pub(crate) destination: Mac,
    /// Largest IP packet, bytes.
    pub(crate) mtu: u16,
}

/// The packets of one direction, held by the kernel.
pub(crate) struct Queue {
    netfilter: Nfnetlink,
    number: u16,
    hop: Hop,
    /// Where whole packets are fetched from to be cut; `None` where payload is not kept.
    copies: Option<Nfnetlink>,
}

/// Holds what crosses between two interfaces of the calling thread's namespace: what comes from A, what comes from B.
///
/// # Errors
/// What is missing, before anything crosses.
pub(crate) fn hold(
    netlink: &Rtnetlink,
    ports: [(&str, u32, Hop); 2],
    payload: Payload,
    longest_delay: Duration,
) -> io::Result<[Queue; 2]> {
    if fs::metadata(BRIDGE_HOOKS).is_err() {
        return Err(io::Error::other("bridges do not show their packets to netfilter (br_netfilter)"));
    }
    let without = |what: &'static str| move |error| io::Error::other(format!("{what}: {error}"));
    fs::metadata(COUNTERS).map_err(without("netfilter's queues"))?;
    let [(name_a, index_a, hop_a), (name_b, index_b, hop_b)] = ports;
    let netfilter = Nfnetlink::connect().map_err(without("netfilter"))?;
    rules::set(&netfilter, [index_a, index_b]).map_err(without("nf_tables with the target NFQUEUE"))?;
    let longest = PACKETS.saturating_add((longest_delay.as_secs_f64() * PACKETS_A_SECOND) as u32);
    let queues = [
        Queue::open(COMING_FROM_A, hop_a, payload, longest)?,
        Queue::open(COMING_FROM_B, hop_b, payload, longest)?,
    ];
    netlink.add_bridge("path", &[name_a, name_b])?;
    Ok(queues)
}

impl Queue {
    fn open(number: u16, hop: Hop, payload: Payload, longest: u32) -> io::Result<Self> {
        let netfilter = bind(number, (SNAP - ETHERNET) as u32, longest)?;
        let copies = (payload == Payload::Kept).then(|| bind(COPIES + number, WHOLE, longest)).transpose()?;
        Ok(Self { netfilter, number, hop, copies })
    }

    /// Packets that were dropped for want of room, in the queues or on the way to this process; to be called in the middle's namespace.
    ///
    /// # Errors
    /// The kernel's counters can't be read.
    pub(crate) fn drops(&self) -> io::Result<u64> {
        let counters = fs::read_to_string(COUNTERS)?;
        Ok([self.number, COPIES + self.number].into_iter().map(|number| dropped(&counters, number)).sum())
    }

    /// Whether the socket's buffer is so small that each arrival has to be fetched at once.
    pub(crate) fn is_narrow(&self) -> bool {
        getsockopt(self.netfilter.socket(), sockopt::RcvBuf).is_ok_and(|size| size < NARROW)
    }

    /// The descriptor, for `poll(2)`.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.netfilter.socket().as_fd()
    }
}

/// Binds a queue, whose packets are shown up to `shown` bytes and which holds at most `longest` packets.
fn bind(number: u16, shown: u32, longest: u32) -> io::Result<Nfnetlink> {
    let netfilter = Nfnetlink::connect()?;
    let socket = netfilter.socket();
    set_option(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &RECEIVE_BUFFER)
        .or_else(|_| set_option(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &RECEIVE_BUFFER))?;
    set_option(socket, libc::SOL_NETLINK, NO_ENOBUFS, &1_i32)?;
    // Without it no packet has the instant at which the kernel saw it (`sock_needs_netstamp()`, `net_timestamp_check()`).
    set_option(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1_i32)?;
    let word = |kind, number: u32| DefaultNla::new(kind, number.to_be_bytes().into());
    let mut parameters = shown.to_be_bytes().to_vec();
    parameters.push(COPY_PACKET);
    let configure = |attributes: &[DefaultNla]| {
        netfilter.request(Message { kind: CONFIG, family: 0, resource: number, attributes })
    };
    configure(&[DefaultNla::new(CFG_COMMAND, vec![BIND, 0, 0, 0])])?;
    configure(&[
        DefaultNla::new(CFG_PARAMETERS, parameters),
        word(CFG_LONGEST, longest),
        word(CFG_MASK, WITH_SUPER_PACKETS),
        word(CFG_FLAGS, WITH_SUPER_PACKETS),
    ])?;
    Ok(netfilter)
}

/// `queue_dropped` and `queue_user_dropped` of a queue: columns 5 and 6.
fn dropped(counters: &str, number: u16) -> u64 {
    let mut lines = counters.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let line = lines.find(|columns| columns.first() == Some(&number.to_string().as_str()));
    let columns = line.unwrap_or_default();
    columns.iter().skip(5).take(2).filter_map(|column| column.parse::<u64>().ok()).sum()
}
