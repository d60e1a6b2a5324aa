//! Waiting for a descriptor, with nanosecond time-outs.

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// Waits until one of `descriptors` is ready for `events`, at most `span`; says of each whether it is. A signal ends the wait
/// early, without error, and nothing is ready then.
pub(crate) fn until_ready<'a>(
    descriptors: impl IntoIterator<Item = BorrowedFd<'a>>,
    events: PollFlags,
    span: Duration,
) -> io::Result<Vec<bool>> {
    let ready = until_any(descriptors.into_iter().map(|descriptor| (descriptor, events)), span)?;
    Ok(ready.into_iter().map(|events| !events.is_empty()).collect())
}

/// The same, each descriptor for events of its own; returns those that have come, and errors as all events.
pub(crate) fn until_any<'a>(
    descriptors: impl IntoIterator<Item = (BorrowedFd<'a>, PollFlags)>,
    span: Duration,
) -> io::Result<Vec<PollFlags>> {
    let mut polled: Vec<PollFd<'a>> =
        descriptors.into_iter().map(|(descriptor, events)| PollFd::new(descriptor, events)).collect();
    match ppoll(&mut polled, Some(TimeSpec::from(span)), None) {
        Ok(_) => {
            Ok(polled.iter().map(|descriptor| descriptor.revents().unwrap_or_else(PollFlags::all)).collect())
        }
        Err(Errno::EINTR) => Ok(vec![PollFlags::empty(); polled.len()]),
        Err(error) => Err(error.into()),
    }
}
