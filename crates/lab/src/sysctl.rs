//! Sysctls of a namespace: written, then read back, because a write can succeed and change nothing.
//!
//! Never: a write outside of our own namespaces that nobody gives back. What is global or read-only there is reported, not forced.

use crate::namespace::Namespace;
use crate::restoring::{Changes, sysctl_path};
use pipefill_core::cell::HostSpec;
use pipefill_core::record::{BufferLimits, Setting};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// Set in every host: a metrics cache must not carry one connection's ssthresh into the next.
const ALWAYS: [(&str, &str); 1] = [("net.ipv4.tcp_no_metrics_save", "1")];

/// Recorded in every host, asked or not: a result depends on them.
const RECORDED: [&str; 14] = [
    "net.core.rmem_max",
    "net.core.wmem_max",
    "net.ipv4.tcp_adv_win_scale",
    "net.ipv4.tcp_allowed_congestion_control",
    "net.ipv4.tcp_autocorking",
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_limit_output_bytes",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_recovery",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_wmem",
];

/// Global, and not to be set in a namespace: sockets of a run keep to them by themselves.
const KEPT_BY_SOCKETS: [&str; 2] = ["net.core.rmem_max", "net.core.wmem_max"];

const BUFFERS: [&str; 4] =
    ["net.core.rmem_max", "net.core.wmem_max", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"];

/// Applies the host's sysctls inside `namespace` and returns every setting as asked and as read back; `place` names the
/// host in the records.
pub(crate) fn apply(namespace: &Namespace, place: &str, host: &HostSpec) -> io::Result<Vec<Setting>> {
    namespace.enter(|| {
        let mut settings: Vec<Setting> = asked(host).map(|(name, value)| set(place, name, value)).collect();
        settings.extend(recorded(place, host));
        Ok(settings)
    })
}

/// The same in a namespace that is not our own: what it had before is given back. Without `changes` nothing is changed, and a host for which a
/// scenario asks for a sysctl has to have been refused before.
pub(crate) fn apply_for_a_while(
    namespace: &Namespace,
    place: &str,
    host: &HostSpec,
    changes: Option<Changes<'_>>,
) -> io::Result<Vec<Setting>> {
    namespace.enter(|| {
        let mut settings = Vec::new();
        if let Some(Changes { restorer, which }) = changes {
            for (name, value) in asked(host) {
                settings.push(match restorer.keep(which, name) {
                    Ok(()) => set(place, name, value),
                    Err(error) => refused(place, name, value, &error),
                });
            }
        }
        settings.extend(recorded(place, host));
        Ok(settings)
    })
}

/// `settings` of a host whose sockets are this run's own, which keep to what is global by themselves.
pub(crate) fn kept_by_sockets(settings: Vec<Setting>) -> impl Iterator<Item = Setting> {
    settings.into_iter().map(|setting| {
        if setting.met || !KEPT_BY_SOCKETS.contains(&setting.name.as_str()) {
            return setting;
        }
        let why = Some(
            "the kernel has one value for all namespaces; the sockets of this run keep to the scenario's"
                .to_owned(),
        );
        Setting { got: setting.asked.clone(), why, met: true, ..setting }
    })
}

/// What is set: what the scenario says, and what it would say.
fn asked(host: &HostSpec) -> impl Iterator<Item = (&str, &str)> {
    let always = ALWAYS.iter().copied().filter(|(name, _)| !host.sysctl.contains_key(*name));
    always.chain(host.sysctl.iter().map(|(name, value)| (name.as_str(), value.as_str())))
}

/// What the namespace in `netns`, or this thread's own, allows sockets to buffer; `None` where it can't be read.
pub fn buffer_limits(netns: Option<&Path>) -> Option<BufferLimits> {
    let all = || {
        let value = |name| Some((name, read(name).ok()?));
        let values: BTreeMap<&str, String> = BUFFERS.into_iter().filter_map(value).collect();
        BufferLimits::of(|name| values.get(name).map(String::as_str))
    };
    match netns {
        Some(file) => Namespace::open(file).ok()?.enter(|| Ok(all())).ok()?,
        None => all(),
    }
}

/// What nobody asks for, of the calling thread's namespace.
fn recorded(place: &str, host: &HostSpec) -> impl Iterator<Item = Setting> {
    let names = RECORDED.iter().filter(|name| !host.sysctl.contains_key(**name));
    names.map(move |name| Setting {
        place: place.to_owned(),
        name: (*name).to_owned(),
        asked: None,
        got: read(name).ok(),
        why: None,
        met: true,
    })
}

fn refused(place: &str, name: &str, value: &str, error: &io::Error) -> Setting {
    Setting {
        place: place.to_owned(),
        name: name.to_owned(),
        asked: Some(value.to_owned()),
        got: read(name).ok(),
        why: Some(refusal(name, error)),
        met: false,
    }
}

/// Makes `name` the congestion control of sockets in `namespace` that choose none. Only what `net.ipv4.tcp_allowed_congestion_control` of the
/// machine lists is allowed (`tcp_set_default_congestion_control()`).
pub(crate) fn set_congestion_control(namespace: &Namespace, place: &str, name: &str) -> io::Result<Setting> {
    namespace.enter(|| Ok(set(place, "net.ipv4.tcp_congestion_control", name)))
}

fn set(place: &str, name: &str, value: &str) -> Setting {
    let written = fs::write(sysctl_path(name), value);
    let got = read(name);
    let why = match (&written, &got) {
        (_, Ok(got)) if got == value => None,
        (Err(error), _) => Some(refusal(name, error)),
        (Ok(()), Ok(_)) => Some("the kernel took the write and kept its own value".to_owned()),
        (Ok(()), Err(error)) => Some(format!("written, but not readable: {error}")),
    };
    Setting {
        place: place.to_owned(),
        name: name.to_owned(),
        asked: Some(value.to_owned()),
        met: why.is_none(),
        got: got.ok(),
        why,
    }
}

fn refusal(name: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => {
            format!("{name} does not exist in a network namespace of this kernel: it is global or unknown")
        }
        io::ErrorKind::PermissionDenied if name.ends_with("tcp_congestion_control") => {
            "the machine's net.ipv4.tcp_allowed_congestion_control does not list it".to_owned()
        }
        io::ErrorKind::PermissionDenied => {
            format!("{name} is read-only in a network namespace: it is global, set it on the machine itself")
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            "/proc/sys is mounted read-only here (a container does that)".to_owned()
        }
        _ => format!("the kernel refused: {error}"),
    }
}

/// The value with single spaces, as scenarios write it.
fn read(name: &str) -> io::Result<String> {
    Ok(fs::read_to_string(sysctl_path(name))?.split_whitespace().collect::<Vec<_>>().join(" "))
}
