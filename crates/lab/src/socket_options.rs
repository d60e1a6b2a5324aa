//! What a program has set of its TCP socket. sock_diag(7) does not show it: a duplicate of the socket does, where the kernel lets us have one.
//!
//! Never: an option set. While there is a duplicate, a program that closes its socket closes the connection with us, some microseconds later.

use crate::sys::socket::{buffer_locks, nodelay};
use pipefill_core::record::OptionsSet;
use rustix::fs::fstat;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use std::os::fd::OwnedFd;

/// `SOCK_SNDBUF_LOCK`, `SOCK_RCVBUF_LOCK` (`include/uapi/linux/socket.h`).
const SNDBUF_LOCK: u32 = 1;
const RCVBUF_LOCK: u32 = 2;

/// Of the TCP socket with this inode, which is descriptor `fd` of process `pid`. `None` where that is another file by now, or where we may not
/// have it: `pidfd_getfd(2)` asks for the right to trace the process.
pub fn of_process(pid: u32, fd: i32, inode: u32) -> Option<OptionsSet> {
    let process = pidfd_open(Pid::from_raw(pid.try_into().ok()?)?, PidfdFlags::empty()).ok()?;
    let socket = pidfd_getfd(process, fd, PidfdGetfdFlags::empty()).ok()?;
    (fstat(&socket).ok()?.st_ino == u64::from(inode)).then(|| read(&socket))?
}

fn read(socket: &OwnedFd) -> Option<OptionsSet> {
    let locks = buffer_locks(socket).ok();
    Some(OptionsSet {
        sndbuf_set: locks.map(|locks| locks & SNDBUF_LOCK != 0),
        rcvbuf_set: locks.map(|locks| locks & RCVBUF_LOCK != 0),
        nodelay: Some(nodelay(socket).ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::socket::set_option;
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::fd::AsRawFd;

    fn of_own(socket: &impl AsRawFd, inode: u32) -> Option<OptionsSet> {
        of_process(std::process::id(), socket.as_raw_fd(), inode)
    }

    fn inode(socket: &impl std::os::fd::AsFd) -> u32 {
        fstat(socket).unwrap().st_ino.try_into().unwrap()
    }

    #[test]
    fn what_a_program_sets_is_read_and_what_it_leaves_alone() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let own = |socket: &TcpStream| of_own(socket, inode(socket)).expect("our own socket");
        let none = OptionsSet::of_buffers(false, Some(false));
        assert_eq!(own(&socket), none);
        socket.set_nodelay(true).unwrap();
        set_option(&socket, libc::SOL_SOCKET, libc::SO_SNDBUF, &65_536_i32).unwrap();
        assert_eq!(own(&socket), OptionsSet { sndbuf_set: Some(true), nodelay: Some(true), ..none });
        set_option(&socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &65_536_i32).unwrap();
        assert_eq!(own(&socket).rcvbuf_set, Some(true));
    }

    #[test]
    fn another_file_and_another_kind_of_socket_have_none() {
        let (listener, other) =
            (TcpListener::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        assert_eq!(of_own(&listener, inode(&other)), None);
        assert_eq!(of_own(&other, inode(&other)), None);
        assert_eq!(of_process(std::process::id(), i32::MAX, inode(&listener)), None);
        assert_eq!(of_process(0, listener.as_raw_fd(), inode(&listener)), None);
    }
}
