//! Socket options and batched datagrams that neither std nor socket2 wraps.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::AsRawFd;

/// `SO_MEMINFO` (`include/uapi/asm-generic/socket.h`).
const SO_MEMINFO: i32 = 55;
/// Number of values that `SO_MEMINFO` returns (`SK_MEMINFO_VARS`).
const MEMINFO_VARS: usize = 9;

/// `SO_MEMINFO`: the socket's memory, in bytes of truesize.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MemInfo {
    pub(crate) rmem_alloc: u32,
    pub(crate) rcvbuf: u32,
    pub(crate) sndbuf: u32,
    pub(crate) wmem_queued: u32,
    /// Datagrams that the receive buffer had no room for (`sk_drops`, also told by `SO_RXQ_OVFL`).
    pub(crate) drops: u32,
}

/// Sets a socket option to a plain value.
pub(crate) fn set_option<T>(socket: &impl AsRawFd, level: i32, name: i32, value: &T) -> io::Result<()> {
    // SAFETY: the pointer and length describe `value`, which outlives the call; the kernel copies from it.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reads `TCP_INFO` into `buffer`; returns how many bytes this kernel filled.
pub(crate) fn tcp_info(socket: &impl AsRawFd, buffer: &mut [u8; 512]) -> io::Result<usize> {
    get_option(socket, libc::IPPROTO_TCP, libc::TCP_INFO, buffer)
}

/// Reads `SO_MEMINFO` (`sk_get_meminfo()`).
pub(crate) fn mem_info(socket: &impl AsRawFd) -> io::Result<MemInfo> {
    let mut values = [0_u32; MEMINFO_VARS];
    get_option(socket, libc::SOL_SOCKET, SO_MEMINFO, &mut values)?;
    Ok(MemInfo {
        rmem_alloc: values[0],
        rcvbuf: values[1],
        sndbuf: values[3],
        wmem_queued: values[5],
        drops: values[8],
    })
}

/// `SO_COOKIE` (`sock_gen_cookie()`): the socket's number, unique on the machine until it is started again.
pub(crate) fn cookie(socket: &impl AsRawFd) -> io::Result<u64> {
    let mut cookie = [0_u64; 1];
    get_option(socket, libc::SOL_SOCKET, libc::SO_COOKIE, &mut cookie)?;
    Ok(cookie[0])
}

/// `SO_NETNS_COOKIE` (`include/uapi/asm-generic/socket.h`): the number of the socket's network namespace, likewise.
pub(crate) fn netns_cookie(socket: &impl AsRawFd) -> io::Result<u64> {
    const SO_NETNS_COOKIE: i32 = 71;
    let mut cookie = [0_u64; 1];
    get_option(socket, libc::SOL_SOCKET, SO_NETNS_COOKIE, &mut cookie)?;
    Ok(cookie[0])
}

/// `SO_MAX_PACING_RATE` as it is set, bytes per second.
pub(crate) fn max_pacing_rate(socket: &impl AsRawFd) -> io::Result<u64> {
    let mut rate = [0_u64; 1];
    get_option(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &mut rate)?;
    Ok(rate[0])
}

/// `SO_BUF_LOCK` (Linux 5.14): which buffers are as a program has set them (`SOCK_SNDBUF_LOCK` = 1, `SOCK_RCVBUF_LOCK` = 2).
pub(crate) fn buffer_locks(socket: &impl AsRawFd) -> io::Result<u32> {
    const SO_BUF_LOCK: i32 = 72;
    let mut locks = [0_u32; 1];
    get_option(socket, libc::SOL_SOCKET, SO_BUF_LOCK, &mut locks)?;
    Ok(locks[0])
}

/// `TCP_NODELAY`: whether Nagle's algorithm is off.
pub(crate) fn nodelay(socket: &impl AsRawFd) -> io::Result<bool> {
    let mut nodelay = [0_u32; 1];
    get_option(socket, libc::IPPROTO_TCP, libc::TCP_NODELAY, &mut nodelay)?;
    Ok(nodelay[0] != 0)
}

/// Fills `value` from a socket option; returns the length that the kernel wrote. `T` must be valid for any bytes.
fn get_option<T: Copy>(socket: &impl AsRawFd, level: i32, name: i32, value: &mut T) -> io::Result<usize> {
    let mut len = size_of::<T>() as libc::socklen_t;
    // SAFETY: the pointer and length describe `value`; callers pass arrays of integers, valid for any bytes.
    let result = unsafe {
        libc::getsockopt(socket.as_raw_fd(), level, name, std::ptr::from_mut(value).cast(), &raw mut len)
    };
    if result == 0 { Ok(len as usize) } else { Err(io::Error::last_os_error()) }
}
