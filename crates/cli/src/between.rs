//! Tests between hosts: what both ends have in common, the server of `pipefill serve`, the client of `pipefill test`.

mod client;
mod end;
mod server;
mod time;

use crate::failure::Failure;
use pipefill_remote::control::{Control, ControlError};
use pipefill_remote::iperf3::State;
use pipefill_remote::key::{KEY_MIN, Key};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

pub(crate) use client::{Asked, EndedStream, Tested, measure, test};
pub(crate) use end::SAMPLE;
pub(crate) use server::{Listening, Policy, serve};

/// Bytes that nobody can guess.
///
/// # Errors
/// The system has none.
pub(crate) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// The key in `file`, which is its owner's alone.
///
/// # Errors
/// [`Failure`] where it can't be read, others can read it, or it is short.
pub(crate) fn key(file: &Path) -> Result<Key, Failure> {
    /// More is no key.
    const MOST: u64 = 4096;
    let read = || {
        let open = File::open(file)?;
        let mode = open.metadata()?.permissions().mode();
        let mut bytes = Vec::new();
        open.take(MOST).read_to_end(&mut bytes)?;
        Ok((mode, bytes))
    };
    let (mode, bytes) = read().map_err(Failure::file("reading", file))?;
    let name = file.display();
    if mode & 0o077 != 0 {
        return Err(Failure::usage(
            format!("others can read the key in {name}"),
            format!("chmod 600 {name}"),
        ));
    }
    Key::read(&bytes).ok_or_else(|| {
        Failure::usage(
            format!("the key in {name} is shorter than {KEY_MIN} characters"),
            format!("make one: (umask 077; head -c 32 /dev/urandom | base64 > {name})"),
        )
    })
}

/// Waits for a state, `span` at most, as exactly as the kernel's timers are: a time-out of a socket counts in its ticks.
///
/// # Errors
/// [`ControlError`].
fn heard_within(control: &mut Control, span: Duration) -> Result<Option<State>, ControlError> {
    /// Once there is something, it is a whole byte.
    const AT_ONCE: Duration = Duration::from_secs(1);
    let span = Timespec::try_from(span).ok();
    // A signal ends the wait early.
    let count = poll(&mut [PollFd::new(control.stream(), PollFlags::IN)], span.as_ref());
    if count.unwrap_or(0) == 0 { Ok(None) } else { control.hear_within(AT_ONCE) }
}
