//! Network namespaces without names: each is held by an open file descriptor, so that the kernel removes it, and every
//! interface in it, when this process ends in whatever way (also by SIGKILL).
//!
//! Never: an entry in `/run/netns`, which would outlive us.

use crate::sys::socket::netns_cookie;
use crate::threads::{joined, start_thread};
use nix::sched::{CloneFlags, setns, unshare};
use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;

/// A network namespace, alive as long as this value (or a socket made in it).
#[derive(Debug)]
pub(crate) struct Namespace {
    handle: File,
}

impl Namespace {
    /// Makes a new, empty namespace. Needs `CAP_SYS_ADMIN` in the current user namespace.
    pub(crate) fn create() -> io::Result<Self> {
        let handle = on_a_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET)?;
            File::open("/proc/thread-self/ns/net")
        })?;
        Ok(Self { handle })
    }

    /// The namespace that `file` stands for: `/run/netns/NAME`, `/proc/PID/ns/net`.
    pub(crate) fn open(file: &Path) -> io::Result<Self> {
        Ok(Self { handle: File::open(file)? })
    }

    /// The namespace that an open file stands for.
    pub(crate) const fn of(handle: File) -> Self {
        Self { handle }
    }

    /// Another handle of the namespace.
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { handle: self.handle.try_clone()? })
    }

    /// Runs `work` on a thread inside this namespace. Sockets that it makes stay in the namespace wherever they go. To enter the namespace of
    /// the calling thread takes no privilege: its new thread is there already (setns(2) asks for `CAP_SYS_ADMIN` all the same).
    pub(crate) fn enter<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        on_a_thread(|| {
            if !self.is_of_this_thread()? {
                setns(self.handle.as_fd(), CloneFlags::CLONE_NEWNET)?;
            }
            work()
        })
    }

    /// Two files stand for one namespace where device and inode are the same (namespaces(7)).
    fn is_of_this_thread(&self) -> io::Result<bool> {
        let (own, this) = (fs::metadata("/proc/thread-self/ns/net")?, self.handle.metadata()?);
        Ok((own.dev(), own.ino()) == (this.dev(), this.ino()))
    }

    /// The number that the kernel knows it by (`net->ns.inum`): the inode of its file (namespaces(7)).
    pub(crate) fn inum(&self) -> io::Result<u32> {
        u32::try_from(self.handle.metadata()?.ino()).map_err(io::Error::other)
    }

    /// `SO_NETNS_COOKIE`: its number, unique on the machine until it is started again.
    ///
    /// # Errors
    /// A kernel before 5.14 knows none.
    pub(crate) fn cookie(&self) -> io::Result<u64> {
        self.enter(|| netns_cookie(&UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?))
    }

    /// A file that stands for it in this process.
    pub(crate) fn file(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.handle.as_raw_fd()))
    }

    /// The descriptor, for `IFLA_NET_NS_FD`.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

/// A namespace belongs to a thread: work that changes it runs on a thread of its own, which then ends.
fn on_a_thread<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    thread::scope(|scope| joined(start_thread(scope, "namespace", work)?, "a thread inside a namespace"))
}
