//! `sendmmsg(2)` and `recvmmsg(2)` themselves: musl's function of the first name makes a system call for each message.
#![allow(unsafe_code)]

use std::ffi::c_long;
use std::io;
use std::os::fd::AsRawFd;

/// Makes `call`, `SYS_sendmmsg` or `SYS_recvmmsg`, with all `messages`; returns how many were sent or received.
///
/// # Safety
/// What the messages point to is valid, and as long as they say; to receive, nobody else has borrowed it.
///
/// # Errors
/// Those of the call.
pub(super) unsafe fn batch(
    call: c_long,
    socket: &impl AsRawFd,
    messages: &mut [libc::mmsghdr],
    flags: i32,
) -> io::Result<usize> {
    // How long recvmmsg waits: no longer than for the first message. sendmmsg takes no fifth argument.
    let timeout = std::ptr::null_mut::<libc::timespec>();
    // SAFETY: the caller's; unused bits of the headers are 0.
    let count = unsafe {
        libc::syscall(
            call,
            socket.as_raw_fd(),
            messages.as_mut_ptr(),
            messages.len() as c_long,
            flags,
            timeout,
        )
    };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}
