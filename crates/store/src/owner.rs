//! A process, named so that no later one can be taken for it.
//!
//! Never: a guess. A process of another PID namespace or another boot, which may be another host's, is neither alive nor dead, as far
//! as can be told from here.

use crate::StoreError;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::Path;

/// A process of this or an earlier boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Its number.
    pub pid: u32,
    /// Field 22 of `/proc/PID/stat`: start, in clock ticks since the boot (proc_pid_stat(5)).
    pub start_time: u64,
    /// `/proc/sys/kernel/random/boot_id`.
    pub boot_id: String,
    /// `/proc/PID/ns/pid`: the number means nothing in another one.
    pub pid_namespace: String,
    /// The host's name: for a person, nothing is decided by it.
    #[serde(default)]
    pub host: Option<String>,
}

/// Whether a process still exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// It does.
    Alive,
    /// It does not.
    Dead,
    /// Can't be told from here.
    Unknown,
}

impl Owner {
    /// This process.
    ///
    /// # Errors
    /// [`StoreError::File`] where `/proc` can't be read.
    pub fn current() -> Result<Self, StoreError> {
        let path = Path::new("/proc/self");
        let read = || {
            let pid = std::process::id();
            Ok(Self {
                pid,
                start_time: start_time(pid)?
                    .ok_or_else(|| io::Error::other("stat has no start time of this process"))?,
                boot_id: boot_id()?,
                pid_namespace: pid_namespace()?,
                host: host(),
            })
        };
        read().map_err(StoreError::file("reading", path))
    }

    /// Whether it still exists: same number, same start. A zombie does not. Of another boot nothing is known: a directory may be
    /// shared with another host.
    pub fn life(&self) -> Life {
        let (Ok(boot_id), Ok(pid_namespace)) = (boot_id(), pid_namespace()) else {
            return Life::Unknown;
        };
        if self.boot_id != boot_id || self.pid_namespace != pid_namespace {
            return Life::Unknown;
        }
        match start_time(self.pid) {
            Ok(Some(start)) if start == self.start_time => Life::Alive,
            Ok(_) => Life::Dead,
            Err(_) => Life::Unknown,
        }
    }
}

impl Owner {
    /// Who it is, for a person of this machine.
    pub fn described(&self) -> String {
        let pid = self.pid;
        let host = self.host.as_deref().unwrap_or("another host").escape_debug().to_string();
        match (boot_id(), pid_namespace()) {
            (Ok(boot_id), _) if boot_id != self.boot_id => {
                format!("pid {pid} of {host} (another host, or this one before it was started again)")
            }
            (_, Ok(pid_namespace)) if pid_namespace != self.pid_namespace => {
                format!("pid {pid} of another PID namespace")
            }
            _ => format!("pid {pid}"),
        }
    }
}

/// `None` where there is no such process, or only its zombie.
fn start_time(pid: u32) -> io::Result<Option<u64>> {
    match fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => Ok(parse_start_time(&stat)),
        // ESRCH: it went while it was read.
        Err(error) if error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(3) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The name (field 2) may hold spaces and brackets, so fields count from behind its last bracket.
fn parse_start_time(stat: &str) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_ascii_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    fields.nth(22 - 4)?.parse().ok()
}

fn boot_id() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

fn host() -> Option<String> {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

fn pid_namespace() -> io::Result<String> {
    Ok(fs::read_link("/proc/self/ns/pid")?.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive() {
        assert_eq!(Owner::current().unwrap().life(), Life::Alive);
    }

    #[test]
    fn a_number_used_again_is_another_process() {
        let mut owner = Owner::current().unwrap();
        owner.start_time -= 1;
        assert_eq!(owner.life(), Life::Dead);
    }

    #[test]
    fn of_another_boot_or_namespace_nothing_is_known() {
        let mut owner = Owner::current().unwrap();
        owner.pid_namespace = "pid:[1]".to_owned();
        assert_eq!(owner.life(), Life::Unknown);
        assert!(owner.described().ends_with("of another PID namespace"));
        owner.boot_id = "00000000-0000-0000-0000-000000000000".to_owned();
        assert_eq!(owner.life(), Life::Unknown);
        owner.host = Some("node7".to_owned());
        assert!(owner.described().contains("of node7 (another host"), "{}", owner.described());
    }

    #[test]
    fn a_name_with_brackets_and_spaces_does_not_move_the_fields() {
        let fields: Vec<String> = (4..=52).map(|n| n.to_string()).collect();
        let stat = |state| format!("7 (a) b (c) {state} {}", fields.join(" "));
        assert_eq!(parse_start_time(&stat("S")), Some(22));
        assert_eq!(parse_start_time(&stat("Z")), None);
        assert_eq!(parse_start_time("7 (a) S 1"), None);
    }
}
