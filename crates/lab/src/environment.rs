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

/// Since this version `tcp_win_from_space()` computes the window's share of the buffer, and the sysctl is a memory.
const WITHOUT_ADV_WIN_SCALE: (u32, u32) = (6, 6);

/// Describes this machine. What can't be read is left out.
pub(crate) fn describe(privilege: Privilege) -> Environment {
    let mut facts: BTreeMap<String, String> =
        FACTS.iter().filter_map(|&(name, path)| Some((name.to_owned(), line(path)?))).collect();
    let kernel = kernel();
    if kernel.as_deref().and_then(version).is_some_and(|version| version >= WITHOUT_ADV_WIN_SCALE) {
        let (name, effect) = ("net.ipv4.tcp_adv_win_scale", "no effect: kernels since 6.6 ignore it");
        facts.insert(name.to_owned(), effect.to_owned());
    }
    Environment {
        kernel,
        cpus: std::thread::available_parallelism().ok().and_then(|n| u32::try_from(n.get()).ok()),
        cpu_model: cpu_model(),
        privilege: Some(privilege.word().to_owned()),
        data_path: None,
        host_rate_bps: None,
        facts,
    }
}

/// The kernel's release as `uname -r` has it.
pub(crate) fn kernel() -> Option<String> {
    line("/proc/sys/kernel/osrelease")
}

/// Major and minor of a release as `uname -r` has it.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

fn line(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn cpu_model() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let model = text.lines().find_map(|line| line.strip_prefix("model name"))?;
    Some(model.trim_start_matches(['\t', ' ', ':']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_tells_its_version() {
        assert_eq!(version("6.18.44-fc-v445"), Some((6, 18)));
        assert_eq!(version("4.18.0-147.el8.x86_64"), Some((4, 18)));
        assert_eq!((version("7"), version("linux")), (None, None));
        assert!(Some((6, 18)) >= Some(WITHOUT_ADV_WIN_SCALE) && (5, 10) < WITHOUT_ADV_WIN_SCALE);
    }
}
