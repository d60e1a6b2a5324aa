//! The process that undoes shaping, even after the death of its owner.
//!
//! It is this program again, in a session of its own, started before anything is changed. It undoes the shaping when the time is up, when its
//! owner ends in any way, when its owner does not answer for [`LEASE`], when somebody asks for it, and when it is told to end by a signal.
//! It listens at an address that tells the living from what is left: an abstract one (unix(7)), which goes with it and belongs to the
//! network namespace.

use super::tree::take_down;
use crate::netlink::Rtnetlink;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::SignalFd;
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::{geteuid, setsid};
use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Without a word of its owner for so long, the shaping is undone.
pub(super) const LEASE: Duration = Duration::from_secs(15);

/// First argument of this process; nothing that a user would write.
const SWITCH: &str = "--undo-shaping-of";
/// Words from the switch: it watches; it still does, now that all is up.
const READY: u8 = b'r';
const ARMED: u8 = b'a';
/// Words to it: all is up; go on; undo it now.
pub(super) const ARM: u8 = b'A';
pub(super) const RENEW: u8 = b'R';
pub(super) const END: u8 = b'E';
/// How long a word from the other side may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often and from when to when a removal that fails is tried again.
const TRIES: u32 = 60;
const BETWEEN_TRIES: Duration = Duration::from_secs(1);

/// Where this process was started as a switch: does its work and returns the exit code. To be called before anything else.
pub fn inside(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let _program = arguments.next()?;
    if arguments.next()?.as_os_str() != OsStr::new(SWITCH) {
        return None;
    }
    let words: Vec<String> = arguments.filter_map(|word| word.into_string().ok()).collect();
    Some(if watch(&words).is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A switch that watches over the interface `index` of this thread's network namespace, for `span` at most, and the connection to it.
pub(super) fn start(index: u32, span: Duration) -> io::Result<(Child, UnixStream)> {
    let (own, its) = UnixStream::pair()?;
    let switch = Command::new("/proc/self/exe")
        .args([SWITCH, &index.to_string(), &span.as_millis().to_string()])
        .stdin(Stdio::from(OwnedFd::from(its)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .current_dir("/")
        .spawn()?;
    own.set_read_timeout(Some(PATIENCE))?;
    expect(&own, READY)?;
    Ok((switch, own))
}

/// Reports to the switch that the shaping is set up, and waits for its answer.
pub(super) fn arm(connection: &UnixStream) -> io::Result<()> {
    (&mut &*connection).write_all(&[ARM])?;
    expect(connection, ARMED)
}

/// The switch of the interface `index` in this thread's network namespace: a connection to it and its process id.
pub(super) fn find(index: u32) -> Option<(UnixStream, u32)> {
    let connection = UnixStream::connect_addr(&address(index).ok()?).ok()?;
    let peer = getsockopt(&connection, PeerCredentials).ok()?;
    // Anybody may take an abstract address; only root's and our own count.
    is_trusted(peer.uid()).then(|| (connection, u32::try_from(peer.pid()).unwrap_or(0)))
}

fn expect(mut connection: &UnixStream, word: u8) -> io::Result<()> {
    let mut byte = [0];
    match connection.read(&mut byte)? {
        1 if byte[0] == word => Ok(()),
        _ => Err(io::Error::other("the process that is to undo the shaping has ended")),
    }
}

fn address(index: u32) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("pipefill-shape-{index}"))
}

fn is_trusted(uid: u32) -> bool {
    uid == 0 || uid == geteuid().as_raw()
}

fn watch(words: &[String]) -> io::Result<()> {
    let [index, span] = words else { return Err(io::ErrorKind::InvalidInput.into()) };
    let index: u32 = index.parse().map_err(io::Error::other)?;
    let span = Duration::from_millis(span.parse().map_err(io::Error::other)?);
    // Not a child of the owner's terminal, nor of its job.
    setsid()?;
    let signals = SigSet::from_iter([Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT]);
    signals.thread_block()?;
    let mut watched = Watched {
        owner: UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?),
        listener: UnixListener::bind_addr(&address(index)?)?,
        signals: SignalFd::new(&signals)?,
        last_word: now(ClockId::CLOCK_MONOTONIC)?,
        // Time in which the machine sleeps counts.
        ends: now(ClockId::CLOCK_BOOTTIME)? + span,
    };
    watched.owner.set_nonblocking(true)?;
    watched.listener.set_nonblocking(true)?;
    (&watched.owner).write_all(&[READY])?;
    let result = watched.until_it_ends();
    undo(index)?;
    result
}

/// What a switch looks at.
struct Watched {
    owner: UnixStream,
    listener: UnixListener,
    signals: SignalFd,
    /// On the monotonic clock.
    last_word: Duration,
    /// On the clock that counts sleep.
    ends: Duration,
}

impl Watched {
    /// Returns once the shaping is to be undone.
    fn until_it_ends(&mut self) -> io::Result<()> {
        loop {
            let left = self.left()?;
            if left.is_zero() {
                return Ok(());
            }
            let flags = PollFlags::POLLIN;
            let mut files = [
                PollFd::new(self.owner.as_fd(), flags),
                PollFd::new(self.listener.as_fd(), flags),
                PollFd::new(self.signals.as_fd(), flags),
            ];
            // Up to a millisecond more, so that it does not wake too early.
            let timeout = PollTimeout::try_from(left.as_millis() + 1).unwrap_or(PollTimeout::MAX);
            match poll(&mut files, timeout) {
                Err(Errno::EINTR) => continue,
                other => other?,
            };
            let [owner, caller, signal] = files.map(|file| file.any().unwrap_or(false));
            if signal || owner && self.owner_is_done()? || caller && self.caller_ends_it() {
                return Ok(());
            }
        }
    }

    /// Until the time is up or the owner has to be heard.
    fn left(&self) -> io::Result<Duration> {
        let of_time = self.ends.saturating_sub(now(ClockId::CLOCK_BOOTTIME)?);
        let silent = now(ClockId::CLOCK_MONOTONIC)?.saturating_sub(self.last_word);
        Ok(of_time.min(LEASE.saturating_sub(silent)))
    }

    fn owner_is_done(&mut self) -> io::Result<bool> {
        let mut words = [0; 64];
        let count = match (&self.owner).read(&mut words) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            // Its end, in whatever way.
            Err(_) | Ok(0) => return Ok(true),
            Ok(count) => count,
        };
        self.last_word = now(ClockId::CLOCK_MONOTONIC)?;
        let words = &words[..count];
        if words.contains(&ARM) && (&self.owner).write_all(&[ARMED]).is_err() {
            return Ok(true);
        }
        Ok(words.contains(&END))
    }

    /// Serves a caller, which ends the shaping or only tests whether there is a switch.
    fn caller_ends_it(&self) -> bool {
        let Ok((caller, _)) = self.listener.accept() else { return false };
        let trusted = getsockopt(&caller, PeerCredentials).is_ok_and(|peer| is_trusted(peer.uid()));
        let mut word = [0];
        let waits = caller.set_nonblocking(false).and_then(|()| caller.set_read_timeout(Some(BETWEEN_TRIES)));
        trusted && waits.is_ok() && (&caller).read(&mut word).is_ok_and(|count| count == 1) && word[0] == END
    }
}

/// Undoes the shaping, and tries again where that fails: no other process may do so.
fn undo(index: u32) -> io::Result<()> {
    let mut result = Ok(());
    for _ in 0..TRIES {
        result = Rtnetlink::connect().and_then(|netlink| take_down(&netlink, index)).map(drop);
        if result.is_ok() {
            break;
        }
        sleep(BETWEEN_TRIES);
    }
    result
}

fn now(clock: ClockId) -> io::Result<Duration> {
    Ok(clock_gettime(clock)?.into())
}
