//! Connections that have proved nothing yet: read as they come, by one thread, and given up after a while.
//!
//! None of them is a test. Each first sends the name of its test; then it proves that it has the key, or, where no key is wanted, sends what
//! it asks for. Until then it uses a descriptor and a few bytes, of which an address has a share.

use super::share::Share;
use pipefill_remote::control::ControlError;
use pipefill_remote::iperf3::document::{self, PARAMETERS_MAX, PREFIX};
use pipefill_remote::iperf3::refusal;
use pipefill_remote::iperf3::{Cookie, ProtocolError, TestState, cookie};
use pipefill_remote::key::{self, Key};
use rustix::event::{PollFd, PollFlags};
use std::collections::{HashMap, VecDeque};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// How many may wait in all: beyond it the oldest one of the address that has most of them is closed.
const PENDING_MAX: usize = 2_048;
/// How many of one address may wait: beyond it its oldest one is closed.
const OF_ADDRESS_MAX: usize = 1_024;
/// How long each step may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// Why a connection is closed that is one too many.
pub(super) const TOO_MANY: &str = "closed, since too many connections wait";

/// A connection that has proved nothing yet.
pub(super) struct PendingConnection {
    pub(super) stream: TcpStream,
    pub(super) peer: SocketAddr,
    /// In which order connections were accepted.
    pub(super) order: u64,
    share: Share,
    /// When the step began.
    since: Instant,
    step: Step,
    /// What has come of this step.
    bytes: Vec<u8>,
}

/// What it is to send next.
enum Step {
    /// The name of its test.
    Name,
    /// The answer to a question for the key.
    Answer { name: Cookie, question: [u8; key::LENGTH] },
    /// The parameters of its test.
    Parameters { name: Cookie },
}

/// What a connection has done.
pub(super) enum PendingEvent {
    /// It has sent the name of its test.
    Named(PendingConnection, Cookie),
    /// It has proved that it has the key, or sent what it asks for.
    Proved { name: Cookie, stream: TcpStream, peer: SocketAddr, parameters: Option<Vec<u8>> },
    /// It is refused, and told why.
    Refused { stream: TcpStream, peer: SocketAddr, code: u32, why: String },
    /// It has closed the connection, or it was closed, and why.
    Closed(SocketAddr, &'static str),
}

/// All that wait, the oldest first.
#[derive(Default)]
pub(super) struct Pending {
    all: VecDeque<PendingConnection>,
    shares: HashMap<Share, usize>,
    accepted: u64,
}

impl Pending {
    /// Takes one more; returns whose connection was closed for want of room.
    pub(super) fn accept(&mut self, stream: TcpStream, peer: SocketAddr) -> Option<SocketAddr> {
        self.accepted += 1;
        if stream.set_nonblocking(true).is_err() {
            return Some(peer);
        }
        let connection = PendingConnection {
            stream,
            peer,
            order: self.accepted,
            share: Share::of(peer.ip()),
            since: Instant::now(),
            step: Step::Name,
            bytes: Vec::new(),
        };
        self.push(connection)
    }

    fn push(&mut self, connection: PendingConnection) -> Option<SocketAddr> {
        let of_address = self.shares.get(&connection.share).copied().unwrap_or(0);
        let closed = if of_address >= OF_ADDRESS_MAX {
            self.close_oldest(connection.share)
        } else if self.all.len() >= PENDING_MAX {
            self.make_room()
        } else {
            None
        };
        *self.shares.entry(connection.share).or_default() += 1;
        self.all.push_back(connection);
        closed
    }

    /// Closes the oldest connection of the address that has most of them.
    pub(super) fn make_room(&mut self) -> Option<SocketAddr> {
        let most = self.shares.iter().max_by_key(|(_, count)| **count)?;
        self.close_oldest(*most.0)
    }

    fn close_oldest(&mut self, share: Share) -> Option<SocketAddr> {
        let oldest = self.all.iter().position(|connection| connection.share == share)?;
        let closed = self.all.remove(oldest)?;
        self.give_back(share);
        Some(closed.peer)
    }

    fn give_back(&mut self, share: Share) {
        if let Some(count) = self.shares.get_mut(&share) {
            *count -= 1;
            if *count == 0 {
                self.shares.remove(&share);
            }
        }
    }

    /// Asks a connection that has sent its name for a proof of the key, or, without one, for its parameters. Returns whose connection was closed for
    /// want of room.
    ///
    /// # Errors
    /// Its socket has no room for a few bytes, or the system has no random ones.
    pub(super) fn ask(
        &mut self,
        mut connection: PendingConnection,
        name: Cookie,
        key: Option<&Key>,
    ) -> io::Result<Option<SocketAddr>> {
        let (step, bytes) = if key.is_some() {
            let question = crate::random::random::<{ key::LENGTH }>()?;
            (Step::Answer { name, question }, [&[TestState::KeyQuestion.byte()][..], &question].concat())
        } else {
            (Step::Parameters { name }, vec![TestState::ParamExchange.byte()])
        };
        if connection.stream.write(&bytes)? < bytes.len() {
            return Err(io::ErrorKind::WriteZero.into());
        }
        (connection.step, connection.since) = (step, Instant::now());
        connection.bytes.clear();
        Ok(self.push(connection))
    }

    /// What to wait for.
    pub(super) fn waits(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.all.iter().map(|connection| PollFd::new(&connection.stream, PollFlags::IN))
    }

    /// Reads what has come on those of the first connections that `are_ready`; returns what each did that goes no further here.
    pub(super) fn read(&mut self, are_ready: &[bool], key: Option<&Key>) -> Vec<PendingEvent> {
        let now = Instant::now();
        let mut events = Vec::new();
        let mut left = VecDeque::with_capacity(self.all.len());
        for (index, mut connection) in std::mem::take(&mut self.all).into_iter().enumerate() {
            let is_ready = are_ready.get(index).copied().unwrap_or(false);
            let is_late = now.saturating_duration_since(connection.since) >= PATIENCE;
            let share = connection.share;
            let has_all = if is_ready { connection.read() } else { Ok(false) };
            match has_all {
                Ok(true) => events.push(connection.event(key)),
                Ok(false) if is_late => {
                    events.push(PendingEvent::Closed(connection.peer, connection.step.too_late()));
                }
                Ok(false) => {
                    left.push_back(connection);
                    continue;
                }
                Err(Unread::Closed(why)) => events.push(PendingEvent::Closed(connection.peer, why)),
                Err(Unread::TooLong(error)) => events.push(connection.refused(error)),
            }
            self.give_back(share);
        }
        self.all = left;
        events
    }
}

/// Why nothing more is read.
enum Unread {
    Closed(&'static str),
    TooLong(ProtocolError),
}

impl PendingConnection {
    /// True once all of a step has come.
    fn read(&mut self) -> Result<bool, Unread> {
        loop {
            let missing = self.wanted().map_err(Unread::TooLong)?.saturating_sub(self.bytes.len());
            if missing == 0 {
                return Ok(true);
            }
            let mut piece = [0; 1 << 10];
            let wanted = missing.min(piece.len());
            match self.stream.read(&mut piece[..wanted]) {
                Ok(0) => return Err(Unread::Closed("closed by the client before it said what it wants")),
                Ok(count) => self.bytes.extend_from_slice(&piece[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(_) => return Err(Unread::Closed("reset by the client before it said what it wants")),
            }
        }
    }

    /// Bytes of its step, as far as they are known.
    fn wanted(&self) -> Result<usize, ProtocolError> {
        match (&self.step, self.bytes.first_chunk::<PREFIX>()) {
            (Step::Name, _) => Ok(cookie::LENGTH),
            (Step::Answer { .. }, _) => Ok(key::LENGTH),
            (Step::Parameters { .. }, None) => Ok(PREFIX),
            (Step::Parameters { .. }, Some(prefix)) => {
                Ok(PREFIX + document::length(*prefix, PARAMETERS_MAX)?)
            }
        }
    }

    /// What it has done by sending all of a step.
    fn event(mut self, key: Option<&Key>) -> PendingEvent {
        match self.step {
            Step::Name => {
                let name =
                    <[u8; cookie::LENGTH]>::try_from(self.bytes.as_slice()).ok().and_then(Cookie::read);
                match name {
                    Some(name) => PendingEvent::Named(self, name),
                    None => {
                        PendingEvent::Closed(self.peer, "closed: it does not begin with a cookie of iperf3")
                    }
                }
            }
            Step::Answer { name, question } => {
                let answer = <[u8; key::LENGTH]>::try_from(self.bytes.as_slice()).unwrap_or_default();
                if key.is_some_and(|key| key.is_answer(&answer, &question, &name)) {
                    return PendingEvent::Proved {
                        name,
                        stream: self.stream,
                        peer: self.peer,
                        parameters: None,
                    };
                }
                PendingEvent::Refused {
                    stream: self.stream,
                    peer: self.peer,
                    code: refusal::KEY,
                    why: "it has another key".to_owned(),
                }
            }
            Step::Parameters { name } => {
                let parameters = Some(self.bytes.split_off(PREFIX));
                PendingEvent::Proved { name, stream: self.stream, peer: self.peer, parameters }
            }
        }
    }

    fn refused(self, error: ProtocolError) -> PendingEvent {
        let why = ControlError::from(error).to_string();
        PendingEvent::Refused { stream: self.stream, peer: self.peer, code: refusal::PARAMETERS, why }
    }
}

impl Step {
    const fn too_late(&self) -> &'static str {
        match self {
            Self::Name | Self::Parameters { .. } => "closed: it did not say in time what it wants",
            Self::Answer { .. } => "closed: it did not prove in time that it has the key",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn an_address_closes_its_own_connections_and_no_other_ones() {
        crate::server::more_descriptors();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near: Vec<TcpStream> =
            (0..4).map(|_| TcpStream::connect(listener.local_addr().unwrap()).unwrap()).collect();
        let mut pending = Pending::default();
        let accept = |pending: &mut Pending, address: [u8; 4], port: u16| {
            let stream = near[usize::from(port) % near.len()].try_clone().unwrap();
            pending.accept(stream, SocketAddr::from((address, port)))
        };
        assert_eq!(accept(&mut pending, [192, 0, 2, 9], 9), None);
        for port in 0..OF_ADDRESS_MAX as u16 {
            assert_eq!(accept(&mut pending, [192, 0, 2, 1], port), None);
        }
        for port in 0..3 {
            let closed = accept(&mut pending, [192, 0, 2, 1], 5_000);
            assert_eq!(closed, Some(SocketAddr::from(([192, 0, 2, 1], port))), "its own oldest one");
        }
        // Others until all is full: again that address loses one.
        for port in 0..(PENDING_MAX - OF_ADDRESS_MAX - 1) as u16 {
            assert_eq!(accept(&mut pending, [10, 0, (port >> 8) as u8, port as u8], port), None);
        }
        let closed = accept(&mut pending, [10, 1, 0, 0], 1);
        assert_eq!(closed, Some(SocketAddr::from(([192, 0, 2, 1], 3))));
        assert_eq!(pending.all.len(), PENDING_MAX);
        assert_eq!(pending.shares.values().sum::<usize>(), PENDING_MAX);
        let before = pending.all.len();
        assert!(pending.make_room().is_some() && pending.all.len() == before - 1);
    }
}
