//! Whose socket it is, and what its program has set: inodes of sockets to processes, by what `/proc/PID/fd` shows of those that we may look into.

use pipefill_core::record::{OptionsSet, Process};
use pipefill_lab::socket_options::of_process;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::rc::Rc;

/// Where processes are.
const PROC: &str = "/proc";
/// The options of a socket are read again after so long, and then after twice as long each time: programs set most of them early.
const OPTIONS_EVERY_US: u64 = 1_000_000;

/// The processes that were found. A process that has ended is forgotten with its sockets.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    known: HashMap<u32, OwnedSocket>,
    /// Inodes of sockets whose process we are not permitted to look into.
    unknown: HashSet<u32>,
}

/// A socket whose process was found.
#[derive(Debug)]
struct OwnedSocket {
    process: Rc<Process>,
    fd: i32,
    options: Option<OptionsSet>,
    /// When its options are to be read next, and how long after the time before.
    due_us: u64,
    every_us: u64,
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
            let found: Vec<(i32, u32)> = sockets_of(pid).filter(|(_, inode)| missing.remove(inode)).collect();
            if found.is_empty() {
                continue;
            }
            let process = Rc::new(Process { pid, name: name_of(pid) });
            self.known.extend(found.into_iter().map(|(fd, inode)| {
                let process = Rc::clone(&process);
                (inode, OwnedSocket { process, fd, options: None, due_us: 0, every_us: OPTIONS_EVERY_US })
            }));
        }
        self.unknown.extend(missing);
    }

    /// Who owns the socket with this inode.
    pub(crate) fn of(&self, inode: u32) -> Option<&Rc<Process>> {
        self.known.get(&inode).map(|owned| &owned.process)
    }

    /// Reads the options of those of these sockets that are due at `t_us`; of one whose process we may not trace there are none.
    pub(crate) fn read_options(&mut self, inodes: impl Iterator<Item = u32>, t_us: u64) {
        for inode in inodes {
            let Some(owned) = self.known.get_mut(&inode).filter(|owned| owned.due_us <= t_us) else {
                continue;
            };
            owned.options = of_process(owned.process.pid, owned.fd, inode).or(owned.options);
            owned.due_us = t_us + owned.every_us;
            owned.every_us *= 2;
        }
    }

    /// What the program has set of the socket with this inode, when it was read last.
    pub(crate) fn options(&self, inode: u32) -> Option<OptionsSet> {
        self.known.get(&inode)?.options
    }

    /// Forgets whose a socket was that is gone: its inode may be another one's soon.
    pub(crate) fn forget(&mut self, inode: u32) {
        self.known.remove(&inode);
        self.unknown.remove(&inode);
    }
}

/// Inodes of the sockets that process `pid` has open; none where it has ended or we may not look.
pub(crate) fn inodes_of(pid: u32) -> impl Iterator<Item = u32> {
    sockets_of(pid).map(|(_, inode)| inode)
}

/// Descriptors and inodes of these.
fn sockets_of(pid: u32) -> impl Iterator<Item = (i32, u32)> {
    let entries = fs::read_dir(Path::new(PROC).join(pid.to_string()).join("fd"));
    entries.into_iter().flatten().flatten().filter_map(|entry| {
        let link = fs::read_link(entry.path()).ok()?;
        let inode = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()?;
        Some((entry.file_name().to_str()?.parse().ok()?, inode))
    })
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
        let options = |processes: &mut Processes, t_us| {
            processes.read_options([inode, u32::MAX].into_iter(), t_us);
            processes.options(inode).and_then(|options| options.nodelay).expect("our own")
        };
        assert!(!options(&mut processes, 0));
        rustix::net::sockopt::set_tcp_nodelay(&ours, true).unwrap();
        assert!(!options(&mut processes, OPTIONS_EVERY_US - 1), "not due");
        assert!(options(&mut processes, OPTIONS_EVERY_US));
        assert!(processes.options(u32::MAX).is_none());
        processes.forget(inode);
        processes.forget(u32::MAX);
        assert!(processes.of(inode).is_none() && processes.unknown.is_empty());
    }
}
