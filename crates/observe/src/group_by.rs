//! By what the connections of a host are put together: the process, its cgroup or systemd unit, and the prefix of the peer's address.

use ipnet::IpNet;
use pipefill_core::record::Process;
use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::net::IpAddr;
use std::str::FromStr;

/// Length of a prefix where none is asked for: what the Internet's routing tables have as the longest of either family.
const PREFIX_V4: u8 = 24;
const PREFIX_V6: u8 = 48;
/// Processes whose cgroup is kept; beyond these all are read again.
const CGROUPS_MAX: usize = 4_096;
const KEYS: &str = "write process, cgroup, unit, remote (remote/16 for prefixes of 16 bits, remote/16/32 for IPv6 too), \
                    separated by commas";

/// The keys of a group, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupBy(Vec<GroupKey>);

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GroupKey {
    /// Name of the process.
    Process,
    /// Path of its cgroup.
    Cgroup,
    /// The systemd service or scope that the cgroup belongs to.
    Unit,
    /// So many bits of the peer's address.
    Remote { v4: u8, v6: u8 },
}

impl GroupKey {
    const fn name(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Cgroup => "cgroup",
            Self::Unit => "unit",
            Self::Remote { .. } => "remote",
        }
    }
}

impl FromStr for GroupKey {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let (name, lengths) = word.split_once('/').map_or((word, None), |(name, rest)| (name, Some(rest)));
        match (name, lengths) {
            ("process", None) => Ok(Self::Process),
            ("cgroup", None) => Ok(Self::Cgroup),
            ("unit", None) => Ok(Self::Unit),
            ("remote", None) => Ok(Self::Remote { v4: PREFIX_V4, v6: PREFIX_V6 }),
            ("remote", Some(lengths)) => {
                let (v4, v6) = lengths.split_once('/').map_or((lengths, None), |(v4, v6)| (v4, Some(v6)));
                let length = |text: &str, most: u8| {
                    let length = text.parse().ok().filter(|length| *length <= most);
                    length.ok_or_else(|| format!("the length of a prefix is 0 to {most} bits, not {text:?}"))
                };
                let v6 = v6.map_or(Ok(PREFIX_V6), |v6| length(v6, 128))?;
                Ok(Self::Remote { v4: length(v4, 32)?, v6 })
            }
            _ => Err(format!("{word:?} groups no connections: {KEYS}")),
        }
    }
}

impl FromStr for GroupBy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut keys: Vec<GroupKey> = Vec::new();
        for word in text.split(',') {
            let key: GroupKey = word.trim().parse()?;
            if keys.iter().any(|other| other.name() == key.name()) {
                return Err(format!("{} is there twice: name each key once", key.name()));
            }
            keys.push(key);
        }
        Ok(Self(keys))
    }
}

impl fmt::Display for GroupBy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, key) in self.0.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(out, "{comma}{}", key.name())?;
            if let GroupKey::Remote { v4, v6 } = key {
                write!(out, "/{v4}/{v6}")?;
            }
        }
        Ok(())
    }
}

impl GroupBy {
    /// The names of the labels, in order.
    pub fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|key| key.name()).collect()
    }

    /// The labels of a connection, in the same order; empty ones where a process is not ours to know.
    pub(crate) fn labels(
        &self,
        process: Option<&Process>,
        remote: Option<IpAddr>,
        cgroups: &mut Cgroups,
    ) -> Vec<String> {
        let mut cgroup = || process.map(|process| cgroups.of(process).to_owned()).unwrap_or_default();
        let label = |key: &GroupKey| match *key {
            GroupKey::Process => process.map(|process| process.name.clone()).unwrap_or_default(),
            GroupKey::Cgroup => cgroup(),
            GroupKey::Unit => unit(&cgroup()).to_owned(),
            GroupKey::Remote { v4, v6 } => remote.map(|remote| prefix(remote, v4, v6)).unwrap_or_default(),
        };
        self.0.iter().map(label).collect()
    }
}

/// The network of `address` as text; an IPv4 address in an IPv6 one counts as IPv4.
fn prefix(address: IpAddr, v4: u8, v6: u8) -> String {
    let address = address.to_canonical();
    let length = if address.is_ipv4() { v4 } else { v6 };
    IpNet::new(address, length).map(|net| net.trunc().to_string()).unwrap_or_default()
}

/// The innermost service or scope in the path of a cgroup; empty where there is none.
fn unit(cgroup: &str) -> &str {
    let is_unit = |part: &&str| part.ends_with(".service") || part.ends_with(".scope");
    cgroup.rsplit('/').find(is_unit).unwrap_or_default()
}

/// The cgroups of processes that were asked for.
#[derive(Debug, Default)]
pub(crate) struct Cgroups {
    /// By number and name of a process: a number may be another process's later.
    known: HashMap<(u32, String), String>,
}

impl Cgroups {
    /// Of `process`; empty where it has ended before it was asked for.
    fn of(&mut self, process: &Process) -> &str {
        if self.known.len() >= CGROUPS_MAX {
            self.known.clear();
        }
        self.known.entry((process.pid, process.name.clone())).or_insert_with(|| {
            let file = format!("/proc/{}/cgroup", process.pid);
            fs::read_to_string(file).map(|text| cgroup_of(&text).to_owned()).unwrap_or_default()
        })
    }
}

/// The path of the cgroup in `/proc/PID/cgroup` (cgroups(7)): of version 2, or else of the hierarchy that systemd names.
fn cgroup_of(text: &str) -> &str {
    let path = |hierarchy: &str| {
        text.lines().find_map(|line| line.split_once(':')?.1.strip_prefix(hierarchy)?.strip_prefix(':'))
    };
    path("name=systemd").or_else(|| path("")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(by: &str, remote: &str) -> Vec<String> {
        let process = Process { pid: std::process::id(), name: "nginx".to_owned() };
        let by: GroupBy = by.parse().unwrap();
        by.labels(Some(&process), Some(remote.parse().unwrap()), &mut Cgroups::default())
    }

    #[test]
    fn a_prefix_has_the_length_that_was_asked_for() {
        for (by, remote, expected) in [
            ("remote", "203.0.113.77", "203.0.113.0/24"),
            ("remote/16", "203.0.113.77", "203.0.0.0/16"),
            ("remote/32", "203.0.113.77", "203.0.113.77/32"),
            ("remote/0", "203.0.113.77", "0.0.0.0/0"),
            ("remote", "2001:db8:1:2::3", "2001:db8:1::/48"),
            ("remote/24/32", "2001:db8:1:2::3", "2001:db8::/32"),
            ("remote", "::ffff:203.0.113.77", "203.0.113.0/24"),
        ] {
            assert_eq!(labels(by, remote), [expected], "{by} {remote}");
        }
        assert_eq!(labels("remote,process", "192.0.2.1"), ["192.0.2.0/24", "nginx"]);
    }

    #[test]
    fn what_groups_nothing_is_refused_with_what_to_write() {
        for (text, told) in [
            ("", "\"\" groups no connections: write process"),
            ("process,pid", "\"pid\" groups no connections"),
            ("process/8", "\"process/8\" groups no connections"),
            ("remote/33", "0 to 32 bits, not \"33\""),
            ("remote/24/129", "0 to 128 bits, not \"129\""),
            ("remote/-1", "0 to 32 bits"),
            ("remote/16,remote", "remote is there twice"),
        ] {
            let error = text.parse::<GroupBy>().unwrap_err();
            assert!(error.contains(told), "{text}: {error}");
        }
        let by: GroupBy = "unit, remote/16".parse().unwrap();
        assert_eq!(by.to_string(), "unit,remote/16/48");
        assert_eq!(by.to_string().parse(), Ok(by));
    }

    #[test]
    fn the_unit_is_the_innermost_service_or_scope_of_the_cgroup() {
        for (text, cgroup, named) in [
            ("0::/system.slice/nginx.service\n", "/system.slice/nginx.service", "nginx.service"),
            ("0::/user.slice/user@1.service/app.slice/x.service/y\n", "", "x.service"),
            (
                "4:cpu,cpuacct:/a\n1:name=systemd:/system.slice/b.scope\n0::/\n",
                "/system.slice/b.scope",
                "b.scope",
            ),
            ("4:memory:/docker/0123\n0::/docker/0123\n", "/docker/0123", ""),
            ("", "", ""),
        ] {
            let of_text = cgroup_of(text);
            assert!(cgroup.is_empty() || of_text == cgroup, "{of_text}");
            assert_eq!(unit(of_text), named);
        }
    }

    #[test]
    fn labels_of_an_unknown_process_are_empty() {
        let by: GroupBy = "process,cgroup,unit,remote".parse().unwrap();
        assert_eq!(by.labels(None, None, &mut Cgroups::default()), [""; 4]);
        assert_eq!(by.names(), ["process", "cgroup", "unit", "remote"]);
    }
}
