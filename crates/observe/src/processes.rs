//! Whose socket it is: inodes of sockets to processes, by what `/proc/PID/fd` shows of those that we may look into.

use pipefill_core::record::Process;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::rc::Rc;

/// Where processes are.
const PROC: &str = "/proc";

/// The processes that were found. A process that has ended is forgotten with its sockets.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    known: HashMap<u32, Rc<Process>>,
    /// Inodes of sockets whose process we are not permitted to look into.
    unknown: HashSet<u32>,
}

impl Processes {
    /// Looks for inodes of `wanted` that are not known yet: once, since going through all processes takes long. Then it looks for inodes of
    /// `others` too, so that they need no time of their own.
    pub(crate) fn find(&mut self, mut wanted: impl Iterator<Item = u32>, others: impl Iterator<Item = u32>) {
        let is_new =
            |inode: &u32| *inode != 0 && !self.known.contains_key(inode) && !self.unknown.contains(inode);
        let Some(first) = wanted.find(is_new) else { return };
        let mut missing: HashSet<u32> =
            std::iter::once(first).chain(wanted.chain(others).filter(is_new)).collect();
        for pid in pids() {
            if missing.is_empty() {
                break;
            }
            let found: Vec<u32> = inodes_of(pid).filter(|inode| missing.remove(inode)).collect();
            if found.is_empty() {
                continue;
            }
            let process = Rc::new(Process { pid, name: name_of(pid) });
            self.known.extend(found.into_iter().map(|inode| (inode, Rc::clone(&process))));
        }
        self.unknown.extend(missing);
    }

    /// Who owns the socket with this inode.
    pub(crate) fn of(&self, inode: u32) -> Option<&Rc<Process>> {
        self.known.get(&inode)
    }

    /// Forgets whose a socket was that is gone: its inode may be another one's soon.
    pub(crate) fn forget(&mut self, inode: u32) {
        self.known.remove(&inode);
        self.unknown.remove(&inode);
    }
}

/// Inodes of the sockets that process `pid` has open; none where it has ended or we may not look.
pub(crate) fn inodes_of(pid: u32) -> impl Iterator<Item = u32> {
    let entries = fs::read_dir(Path::new(PROC).join(pid.to_string()).join("fd"));
    let links = entries.into_iter().flatten().flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
    links.filter_map(|link| link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok())
}

fn pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir(PROC).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn name_of(pid: u32) -> String {
    let text = fs::read_to_string(Path::new(PROC).join(pid.to_string()).join("comm"));
    text.map(|name| name.trim_end().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::fd::AsFd;

    #[test]
    fn our_own_socket_is_ours_and_one_that_nobody_has_is_not_looked_for_again() {
        let ours = TcpListener::bind("127.0.0.1:0").unwrap();
        let inode = u32::try_from(rustix::fs::fstat(ours.as_fd()).unwrap().st_ino).unwrap();
        let mut processes = Processes::default();
        processes.find([0, u32::MAX].into_iter(), std::iter::once(inode));
        assert_eq!(processes.of(inode).map(|process| process.pid), Some(std::process::id()));
        assert!(processes.of(u32::MAX).is_none() && processes.unknown.contains(&u32::MAX));
        processes.forget(inode);
        processes.forget(u32::MAX);
        assert!(processes.of(inode).is_none() && processes.unknown.is_empty());
    }
}
