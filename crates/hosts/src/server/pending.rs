//! Connections that have not said yet whose they are: read as they come, by one thread, and given up after a while.

use pipefill_remote::iperf3::Cookie;
use pipefill_remote::iperf3::cookie::LENGTH;
use rustix::event::{PollFd, PollFlags};
use std::collections::VecDeque;
use std::io::{self, Read};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// How many may wait: beyond it the oldest one is closed.
const PENDING_MAX: usize = 256;
/// How long one may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a connection said.
pub(super) enum Said {
    /// Whose it is.
    Cookie { cookie: Cookie, stream: TcpStream, peer: SocketAddr, order: u64 },
    /// Nothing of use, and why.
    Nothing(SocketAddr, &'static str),
}

struct One {
    stream: TcpStream,
    peer: SocketAddr,
    order: u64,
    since: Instant,
    bytes: [u8; LENGTH],
    got: usize,
}

/// All that wait, the oldest first.
#[derive(Default)]
pub(super) struct Pending {
    all: VecDeque<One>,
    accepted: u64,
}

impl Pending {
    /// Takes one more; returns whose connection was closed for want of room.
    pub(super) fn push(&mut self, stream: TcpStream, peer: SocketAddr) -> Option<SocketAddr> {
        self.accepted += 1;
        if stream.set_nonblocking(true).is_err() {
            return Some(peer);
        }
        let dropped = if self.all.len() >= PENDING_MAX { self.all.pop_front() } else { None };
        let (order, since) = (self.accepted, Instant::now());
        self.all.push_back(One { stream, peer, order, since, bytes: [0; LENGTH], got: 0 });
        dropped.map(|one| one.peer)
    }

    /// What to wait for.
    pub(super) fn waits(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.all.iter().map(|one| PollFd::new(&one.stream, PollFlags::IN))
    }

    /// Reads what has come; returns those that have said all, will say nothing, or took too long.
    pub(super) fn read(&mut self) -> Vec<Said> {
        let (mut said, mut left) = (Vec::new(), VecDeque::with_capacity(self.all.len()));
        for mut one in self.all.drain(..) {
            match one.read() {
                Err(why) => said.push(Said::Nothing(one.peer, why)),
                Ok(false) => left.push_back(one),
                Ok(true) => said.push(match Cookie::read(one.bytes) {
                    Some(cookie) => {
                        Said::Cookie { cookie, stream: one.stream, peer: one.peer, order: one.order }
                    }
                    None => Said::Nothing(one.peer, "closed: it does not begin with a cookie of iperf3"),
                }),
            }
        }
        self.all = left;
        said
    }
}

impl One {
    /// True once all has come.
    fn read(&mut self) -> Result<bool, &'static str> {
        while self.got < LENGTH {
            match self.stream.read(&mut self.bytes[self.got..]) {
                Ok(0) => return Err("closed by the client before it said what it wants"),
                Ok(count) => self.got += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => {
                    return Err("reset by the client before it said what it wants");
                }
                Err(_) if self.since.elapsed() >= PATIENCE => {
                    return Err("closed: it did not say in time what it wants");
                }
                Err(_) => return Ok(false),
            }
        }
        Ok(true)
    }
}
