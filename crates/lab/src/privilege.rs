//! What this process may do: root, or an ordinary user inside a user namespace of their own.
//!
//! Never: a change to the machine. A user namespace is private to this process and ends with it.

use crate::namespace::Namespace;
use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getgid, getuid};
use pipefill_core::problem::Problem;
use std::fs;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

/// How the lab came by the right to make network namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privilege {
    /// `CAP_SYS_ADMIN` and `CAP_NET_ADMIN` in the initial user namespace, or wherever this process was started.
    Root,
    /// Root inside an own user namespace: everything but SCHED_FIFO, forced socket buffers and BPF.
    UserNamespace,
    /// None: an ordinary user, who can make no namespace as they are. Enough between hosts.
    User,
}

impl Privilege {
    /// The word in manifests.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::UserNamespace => "user-namespace",
            Self::User => "user",
        }
    }
}

/// What this process may do as it is: unlike [`acquire`], it enters no user namespace, in which the machine's own network would be another one's.
pub fn current() -> Privilege {
    if Namespace::create().is_ok() { Privilege::Root } else { Privilege::User }
}

/// Finds a way to make network namespaces, entering a user namespace where that is needed.
///
/// Must be called while the process has one thread: `unshare(CLONE_NEWUSER)` is refused otherwise (unshare(2)).
///
/// # Errors
/// [`Problem`], with the remedy, where neither way is open.
pub fn acquire() -> Result<Privilege, Problem> {
    if Namespace::create().is_ok() {
        return Ok(Privilege::Root);
    }
    enter_user_namespace().map_err(|error| denied(&error))?;
    match Namespace::create() {
        Ok(_) => Ok(Privilege::UserNamespace),
        Err(error) => Err(denied(&error)),
    }
}

/// User and group id of the user who started us, outside of the user namespace that [`acquire`] entered; `None` for root.
pub(crate) fn outer_ids() -> Option<(u32, u32)> {
    let outside = |file: &str| -> Option<u32> {
        let map = fs::read_to_string(file).ok()?;
        let mut words = map.split_whitespace();
        let (inside, outside, count) = (words.next()?, words.next()?, words.next()?);
        (inside == "0" && count == "1").then(|| outside.parse().ok()).flatten()
    };
    outside("/proc/self/uid_map").zip(outside("/proc/self/gid_map"))
}

/// Maps the caller to root of a new user namespace (user_namespaces(7)).
fn enter_user_namespace() -> io::Result<()> {
    let (uid, gid) = (getuid(), getgid());
    unshare_user()?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {uid} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {gid} 1"))
}

/// A thread that was joined leaves its thread group a moment later; until then the kernel says `EINVAL`.
fn unshare_user() -> io::Result<()> {
    const LONGEST: Duration = Duration::from_millis(500);
    let began = Instant::now();
    loop {
        match unshare(CloneFlags::CLONE_NEWUSER) {
            Err(Errno::EINVAL) if began.elapsed() < LONGEST => thread::sleep(Duration::from_millis(1)),
            result => return Ok(result?),
        }
    }
}

fn denied(error: &io::Error) -> Problem {
    let remedy =
        if fs::read_to_string("/proc/sys/kernel/unprivileged_userns_clone").is_ok_and(|v| v.trim() == "0") {
            "sysctl kernel.unprivileged_userns_clone=1, or run it as root"
        } else if fs::read_to_string("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
            .is_ok_and(|v| v.trim() == "1")
        {
            "sysctl kernel.apparmor_restrict_unprivileged_userns=0, or run it as root"
        } else if fs::read_to_string("/proc/sys/user/max_user_namespaces").is_ok_and(|v| v.trim() == "0") {
            "sysctl user.max_user_namespaces=10000, or run it as root"
        } else {
            "run it as root, or in a container started with --privileged"
        };
    Problem::machine(
        format!("network namespaces can't be made here, neither directly nor in a user namespace: {error}"),
        remedy,
    )
}
