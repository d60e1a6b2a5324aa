//! The machine on which a run is made, as a manifest keeps it.

use crate::privilege::Privilege;
use pipefill_core::record::Environment;
use std::collections::BTreeMap;
use std::fs;

/// Facts that bear on results: read once, before any run.
const FACTS: [(&str, &str); 6] = [
    ("net.core.rmem_max", "/proc/sys/net/core/rmem_max"),
    ("net.core.wmem_max", "/proc/sys/net/core/wmem_max"),
    ("net.core.netdev_max_backlog", "/proc/sys/net/core/netdev_max_backlog"),
    ("net.ipv4.tcp_available_congestion_control", "/proc/sys/net/ipv4/tcp_available_congestion_control"),
    ("net.ipv4.tcp_mem", "/proc/sys/net/ipv4/tcp_mem"),
    ("clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource"),
];

/// Describes this machine. What can't be read is left out.
pub(crate) fn describe(privilege: Privilege) -> Environment {
    let facts: BTreeMap<String, String> =
        FACTS.iter().filter_map(|&(name, path)| Some((name.to_owned(), line(path)?))).collect();
    Environment {
        kernel: line("/proc/sys/kernel/osrelease"),
        cpus: std::thread::available_parallelism().ok().and_then(|n| u32::try_from(n.get()).ok()),
        cpu_model: cpu_model(),
        privilege: Some(privilege.word().to_owned()),
        data_path: None,
        facts,
    }
}

fn line(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn cpu_model() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let model = text.lines().find_map(|line| line.strip_prefix("model name"))?;
    Some(model.trim_start_matches(['\t', ' ', ':']).to_owned())
}
