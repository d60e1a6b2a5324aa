//! The running kernel's own types (BTF), by which BPF objects find the members that they read.

use aya::Btf;
use std::error::Error;
use std::fs;
use std::sync::OnceLock;

/// The running kernel's types; parsed once, since that takes longer than all the rest.
pub(crate) fn kernel_types() -> Result<&'static Btf, String> {
    static TYPES: OnceLock<Result<Btf, String>> = OnceLock::new();
    TYPES.get_or_init(|| Btf::from_sys_fs().map_err(|error| chain(&error))).as_ref().map_err(Clone::clone)
}

/// Why BPF programs can't be loaded for a process that watches what is not its own: asked before the types are read, which takes longer than
/// a look at all sockets.
///
/// # Errors
/// The variable `PIPEFILL_BPF` or a missing capability, in a line.
pub(crate) fn ensure_permitted() -> Result<(), String> {
    if std::env::var_os("PIPEFILL_BPF").is_some_and(|value| value == "0") {
        return Err("PIPEFILL_BPF=0".to_owned());
    }
    if is_permitted() { Ok(()) } else { Err("it needs CAP_BPF and CAP_PERFMON, or root".to_owned()) }
}

/// Whether `CapEff` of proc_pid_status(5) has both capabilities, or `CAP_SYS_ADMIN`, which includes them (capabilities(7)).
fn is_permitted() -> bool {
    const SYS_ADMIN: u64 = 1 << 21;
    const PERFMON_AND_BPF: u64 = 1 << 38 | 1 << 39;
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let hex = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let held = hex.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0);
    held & SYS_ADMIN != 0 || held & PERFMON_AND_BPF == PERFMON_AND_BPF
}

/// An error with its causes: aya's outermost ones say little.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let more = inner.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = inner.source();
    }
    text.lines().next().unwrap_or_default().to_owned()
}
