//! `sendmmsg(2)` and `recvmmsg(2)` themselves: musl's function of that name makes a system call for each message.
#![allow(unsafe_code)]

use std::ffi::c_long;
use std::io;
use std::os::fd::AsRawFd;

/// Sends `messages`; returns how many the socket took.
///
/// # Safety
/// What the messages point to is valid, and as long as they say.
///
/// # Errors
/// Those of `sendmmsg(2)`.
pub(super) unsafe fn send_all(
    socket: &impl AsRawFd,
    messages: &mut [libc::mmsghdr],
    flags: i32,
) -> io::Result<usize> {
    // SAFETY: the caller's.
    unsafe { all(libc::SYS_sendmmsg, socket, messages, flags) }
}

/// Receives into `messages`, as many as there are; returns how many.
///
/// # Safety
/// What the messages point to is valid, borrowed by nobody else, and as long as they say.
///
/// # Errors
/// Those of `recvmmsg(2)`.
pub(super) unsafe fn receive_all(
    socket: &impl AsRawFd,
    messages: &mut [libc::mmsghdr],
    flags: i32,
) -> io::Result<usize> {
    // SAFETY: the caller's.
    unsafe { all(libc::SYS_recvmmsg, socket, messages, flags) }
}

unsafe fn all(
    call: c_long,
    socket: &impl AsRawFd,
    messages: &mut [libc::mmsghdr],
    flags: i32,
) -> io::Result<usize> {
    // How long recvmmsg waits: no longer than for the first message. sendmmsg takes no fifth argument.
    let timeout = std::ptr::null_mut::<libc::timespec>();
    // SAFETY: the callers'; unused bits of the headers are 0.
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
