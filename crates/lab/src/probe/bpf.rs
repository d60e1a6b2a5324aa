//! Why the kernel refuses BPF tracing, and what to do about it.
//!
//! Tracing programs need CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN which implies both, in the initial user namespace
//! (`bpf_prog_load()` and `bpf_token_capable()` in kernel/bpf). `kernel.unprivileged_bpf_disabled = 0` is not enough for them. Who has
//! CAP_BPF and CAP_PERFMON but not CAP_SYS_ADMIN loses them here: only a user namespace gives such a process network namespaces.

use crate::privilege::Privilege;
use std::fs;

/// What may stand in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Obstacles {
    /// The kernel has no BTF.
    no_types: bool,
    /// Pipefill runs in a user namespace that it made for an ordinary user.
    own_user_namespace: bool,
    /// It was started in a user namespace, as in a rootless container.
    foreign_user_namespace: bool,
    /// It did so though root started it: root without CAP_SYS_ADMIN, as in a container.
    started_by_root: bool,
    /// The kernel's lockdown forbids reading its memory.
    locked_down: bool,
}

impl Obstacles {
    /// The capabilities of this process, which may make namespaces by `privilege`.
    pub(super) fn of_process(privilege: Privilege) -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let uid_map = read("/proc/self/uid_map");
        let own_user_namespace = privilege == Privilege::UserNamespace;
        Self {
            no_types: fs::metadata("/sys/kernel/btf/vmlinux").is_err(),
            own_user_namespace,
            foreign_user_namespace: !own_user_namespace && !maps_every_id(&uid_map),
            started_by_root: own_user_namespace && maps_root_outside(&uid_map),
            locked_down: read("/sys/kernel/security/lockdown").contains("[confidentiality]"),
        }
    }
}

/// What to do, by what stands in the way first.
pub(super) const fn remedy(obstacles: Obstacles) -> &'static str {
    if obstacles.no_types {
        "use Linux 5.12 or later, built with CONFIG_DEBUG_INFO_BTF (/sys/kernel/btf/vmlinux)"
    } else if obstacles.started_by_root {
        "grant CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_NET_RAW (docker run --cap-add SYS_ADMIN --cap-add NET_ADMIN, or --privileged)"
    } else if obstacles.own_user_namespace {
        "run it as root: the kernel refuses BPF tracing in a user namespace (no sysctl changes that)"
    } else if obstacles.foreign_user_namespace {
        "run it as root outside of a user namespace; a container must not be rootless or remap user ids"
    } else if obstacles.locked_down {
        "boot without lockdown=confidentiality"
    } else {
        "a seccomp filter or a security module may refuse bpf(2); in a container try --privileged"
    }
}

/// Whether /proc/self/uid_map belongs to the initial user namespace.
fn maps_every_id(uid_map: &str) -> bool {
    uid_map.split_whitespace().eq(["0", "0", "4294967295"])
}

/// Whether a map of one id maps root of the user namespace around this one.
fn maps_root_outside(uid_map: &str) -> bool {
    uid_map.split_whitespace().nth(1) == Some("0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_obstacle_gives_the_remedy() {
        let none = Obstacles::default();
        for (obstacles, word) in [
            (Obstacles { no_types: true, own_user_namespace: true, ..none }, "CONFIG_DEBUG_INFO_BTF"),
            (Obstacles { own_user_namespace: true, ..none }, "run it as root"),
            (Obstacles { own_user_namespace: true, started_by_root: true, ..none }, "--cap-add SYS_ADMIN"),
            (Obstacles { foreign_user_namespace: true, ..none }, "rootless"),
            (Obstacles { locked_down: true, ..none }, "lockdown"),
            (none, "seccomp"),
        ] {
            assert!(remedy(obstacles).contains(word), "{obstacles:?}: {}", remedy(obstacles));
        }
    }

    #[test]
    fn the_initial_user_namespace_maps_every_id() {
        assert!(maps_every_id("         0          0 4294967295\n"));
        assert!(!maps_every_id("         0       1000          1\n"));
        assert!(!maps_every_id("         0     100000      65536\n"));
        assert!(maps_root_outside("0 0 1\n") && !maps_root_outside("0 1000 1\n") && !maps_root_outside(""));
    }
}
