//! Waiting for the other end's word.

use pipefill_remote::control::{Control, ControlError};
use pipefill_remote::iperf3::TestState;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::time::Duration;

/// Waits for a state, `span` at most, as exactly as the kernel's timers are: a time-out of a socket counts in its ticks.
///
/// # Errors
/// [`ControlError`].
pub(crate) fn heard_within(control: &mut Control, span: Duration) -> Result<Option<TestState>, ControlError> {
    /// Once there is something, it is a whole byte.
    const AT_ONCE: Duration = Duration::from_secs(1);
    let span = Timespec::try_from(span).ok();
    // A signal ends the wait early.
    let count = poll(&mut [PollFd::new(control.stream(), PollFlags::IN)], span.as_ref());
    if count.unwrap_or(0) == 0 { Ok(None) } else { control.hear_within(AT_ONCE) }
}
