//! Waiting for a descriptor, with nanosecond time-outs.

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// Waits until one of `descriptors` is ready for `events`, at most `span`. A signal ends the wait early, without error.
pub(crate) fn until_ready<'a>(
    descriptors: impl IntoIterator<Item = BorrowedFd<'a>>,
    events: PollFlags,
    span: Duration,
) -> io::Result<()> {
    let mut polled: Vec<PollFd<'a>> = descriptors.into_iter().map(|fd| PollFd::new(fd, events)).collect();
    match ppoll(&mut polled, Some(TimeSpec::from(span)), None) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
