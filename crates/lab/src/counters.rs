//! The kernel's own counters around a run: `nstat`'s tables, interfaces, and the per-CPU input queues.

use crate::namespace::Namespace;
use pipefill_core::record::Counter;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::Path;

/// Counters of one place at one time, by name.
pub(crate) type Snapshot = BTreeMap<String, u64>;

/// What `nstat` reads: `/proc/net/snmp` and `/proc/net/netstat` of a namespace, names joined as `nstat` joins them.
pub(crate) fn nstat(namespace: &Namespace) -> io::Result<Snapshot> {
    namespace.enter(|| {
        let mut counters = Snapshot::new();
        for table in ["snmp", "netstat"] {
            counters.extend(parse_nstat(&fs::read_to_string(format!("/proc/thread-self/net/{table}"))?));
        }
        Ok(counters)
    })
}

/// The UDP counters of a namespace, which stay readable from any thread.
#[derive(Debug)]
pub struct UdpCounters {
    tables: Vec<File>,
    before: Snapshot,
}

impl UdpCounters {
    /// The counters of the namespace in `netns`, counted from now on.
    ///
    /// # Errors
    /// There is no such file, or entering the namespace is not permitted.
    pub fn open(netns: &Path) -> io::Result<Self> {
        let open = || ["snmp", "snmp6"].map(|table| File::open(format!("/proc/thread-self/net/{table}")));
        // A kernel without IPv6 has no second table.
        let tables = Namespace::open(netns)?.enter(|| Ok(open()))?.into_iter().flatten().collect();
        let counters = Self { tables, before: Snapshot::new() };
        let before = counters.now();
        Ok(Self { before, ..counters })
    }

    /// Each that has moved or was not 0, at `place`: `UdpInDatagrams`, `UdpNoPorts`, `UdpRcvbufErrors`, `Udp6RcvbufErrors`, …
    pub fn so_far(&self, place: &str) -> Vec<Counter> {
        pair(place, &self.before, &self.now())
    }

    /// Datagrams that the namespace has sent and received since [`Self::open`], including loopback.
    pub fn datagrams(&self) -> u64 {
        self.increase(&["UdpInDatagrams", "UdpOutDatagrams", "Udp6InDatagrams", "Udp6OutDatagrams"])
    }

    /// Datagrams for which receiving sockets had no room since then (`RcvbufErrors` of IPv4 and IPv6).
    pub fn receive_buffer_errors(&self) -> u64 {
        self.increase(&["UdpRcvbufErrors", "Udp6RcvbufErrors"])
    }

    fn increase(&self, names: &[&str]) -> u64 {
        let now = self.now();
        let of = |counters: &Snapshot, name: &str| counters.get(name).copied().unwrap_or(0);
        names.iter().map(|name| of(&now, name).saturating_sub(of(&self.before, name))).sum()
    }

    fn now(&self) -> Snapshot {
        let mut text = String::new();
        let mut all = Snapshot::new();
        for mut table in &self.tables {
            text.clear();
            if table.rewind().and_then(|()| table.read_to_string(&mut text)).is_ok() {
                all.extend(parse_nstat(&text).into_iter().chain(parse_snmp6(&text)));
            }
        }
        all.retain(|name, _| name.starts_with("Udp") && !name.starts_with("UdpLite"));
        all
    }
}

/// `/proc/net/snmp6`: a name and a value in each line, unlike the other tables.
fn parse_snmp6(text: &str) -> Snapshot {
    let lines = text.lines().filter_map(|line| {
        let (name, value) = line.split_once(char::is_whitespace)?;
        Some((name.to_owned(), value.trim().parse().ok()?))
    });
    lines.collect()
}

/// How many TCP connections a namespace has opened: those that it asked for and those that it accepted, without the attempts that failed
/// (RFC 4022: tcpActiveOpens, tcpPassiveOpens, tcpAttemptFails).
#[derive(Debug)]
pub struct OpenedConnections {
    /// `/proc/net/snmp` of the namespace in which the file was opened (`single_open_net()`).
    table: File,
}

impl OpenedConnections {
    /// The counter of the namespace in `file`, or of this thread's own.
    ///
    /// # Errors
    /// There is no such file, or entering the namespace is not permitted.
    pub fn open(netns: Option<&Path>) -> io::Result<Self> {
        let open = || File::open("/proc/thread-self/net/snmp");
        let table = match netns {
            Some(file) => Namespace::open(file)?.enter(open),
            None => open(),
        };
        Ok(Self { table: table? })
    }

    /// The present count; `None` where the kernel does not give it.
    pub fn count(&self) -> Option<u64> {
        let mut text = String::new();
        (&self.table).rewind().ok()?;
        (&self.table).read_to_string(&mut text).ok()?;
        opened(&parse_nstat(&text))
    }
}

fn opened(counters: &Snapshot) -> Option<u64> {
    let of = |name: &str| counters.get(name).copied();
    let asked_for = of("TcpActiveOpens")?.saturating_add(of("TcpPassiveOpens")?);
    Some(asked_for.saturating_sub(of("TcpAttemptFails")?))
}

/// Packets, errors and drops of every interface of a namespace (`/proc/net/dev`), as `path0 rx_packets`.
pub(crate) fn interfaces(namespace: &Namespace) -> io::Result<Snapshot> {
    namespace.enter(|| Ok(parse_interfaces(&fs::read_to_string("/proc/thread-self/net/dev")?)))
}

/// Packets that the machine's per-CPU input queues had no room for, all CPUs (`/proc/net/softnet_stat`, second column).
/// Global: other programs' drops count too.
pub(crate) fn input_queue_drops() -> Option<u64> {
    let text = fs::read_to_string("/proc/net/softnet_stat").ok()?;
    text.lines().map(|line| u64::from_str_radix(line.split_whitespace().nth(1)?, 16).ok()).sum()
}

/// CPU time that the hypervisor gave to others since boot, all CPUs, in microseconds (`steal` of `/proc/stat`, `USER_HZ` = 100).
pub(crate) fn steal_us() -> Option<u64> {
    const TICK_US: u64 = 10_000;
    let text = fs::read_to_string("/proc/stat").ok()?;
    let ticks: u64 = text.lines().next()?.split_whitespace().nth(8)?.parse().ok()?;
    Some(ticks * TICK_US)
}

/// Pairs two snapshots of `place`; counters that are zero in both are left out.
pub(crate) fn pair(place: &str, before: &Snapshot, after: &Snapshot) -> Vec<Counter> {
    after
        .iter()
        .map(|(name, &after)| Counter {
            place: place.to_owned(),
            name: name.clone(),
            before: before.get(name).copied().unwrap_or(0),
            after,
        })
        .filter(|counter| counter.before != 0 || counter.after != 0)
        .collect()
}

/// Lines come in pairs: names, then values, both after the same prefix (`Tcp: …`). Negative values are limits, not counts.
fn parse_nstat(text: &str) -> Snapshot {
    let lines: Vec<&str> = text.lines().collect();
    let mut counters = Snapshot::new();
    for pair in lines.chunks_exact(2) {
        let (Some((prefix, names)), Some((_, values))) = (pair[0].split_once(':'), pair[1].split_once(':'))
        else {
            continue;
        };
        for (name, value) in names.split_whitespace().zip(values.split_whitespace()) {
            if let Ok(value) = value.parse() {
                counters.insert(format!("{prefix}{name}"), value);
            }
        }
    }
    counters
}

fn parse_interfaces(text: &str) -> Snapshot {
    const COLUMNS: [(usize, &str); 8] = [
        (0, "rx_bytes"),
        (1, "rx_packets"),
        (2, "rx_errors"),
        (3, "rx_dropped"),
        (8, "tx_bytes"),
        (9, "tx_packets"),
        (10, "tx_errors"),
        (11, "tx_dropped"),
    ];
    let mut counters = Snapshot::new();
    for (name, values) in text.lines().filter_map(|line| line.split_once(':')) {
        let values: Vec<&str> = values.split_whitespace().collect();
        for (at, column) in COLUMNS {
            if let Some(value) = values.get(at).and_then(|value| value.parse().ok()) {
                counters.insert(format!("{} {column}", name.trim()), value);
            }
        }
    }
    counters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_that_failed_opened_nothing() {
        let of = |values: &str| {
            opened(&parse_nstat(&format!("Tcp: ActiveOpens PassiveOpens AttemptFails\nTcp: {values}\n")))
        };
        assert_eq!(of("10 5 2"), Some(13));
        assert_eq!(of("1 0 9"), Some(0));
        assert_eq!(opened(&Snapshot::new()), None);
    }

    #[test]
    fn nstat_joins_prefix_and_name() {
        let text = "Tcp: RtoMin MaxConn RetransSegs\nTcp: 200 -1 7\nTcpExt: TCPTimeouts\nTcpExt: 3\n";
        let counters = parse_nstat(text);
        assert_eq!(counters.get("TcpRetransSegs"), Some(&7));
        assert_eq!(counters.get("TcpExtTCPTimeouts"), Some(&3));
        assert_eq!(counters.get("TcpMaxConn"), None);
    }

    #[test]
    fn interfaces_have_eight_counters_each() {
        let text = "Inter-|   Receive\n face |bytes\n path0: 1 2 3 4 0 0 0 0 5 6 7 8 0 0 0 0\n";
        let counters = parse_interfaces(text);
        assert_eq!(counters.get("path0 rx_dropped"), Some(&4));
        assert_eq!(counters.get("path0 tx_dropped"), Some(&8));
        assert_eq!(counters.len(), 8);
    }
}
