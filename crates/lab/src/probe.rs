//! What this machine can do, found by trying it: `pipefill doctor`.
//!
//! Every probe works in throw-away namespaces and changes nothing on the machine.

mod bpf;

use crate::carrier::Carrier;
use crate::clock::RunClock;
use crate::lateness::LatenessMeter;
use crate::namespace::Namespace;
use crate::netlink::Rtnetlink;
use crate::privilege::Privilege;
use crate::sys::socket::{set_option, tcp_info};
use crate::sys::thread as scheduling;
use crate::topology::Topology;
use crate::trace::Trace;
use pipefill_core::cell::PathSpec;
use pipefill_core::problem::Problem;
use socket2::{Domain, Socket, Type};
use std::fs;
use std::io;
use std::thread;
use std::time::Duration;

/// One thing that was tried.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Check {
    /// What was tried, e.g. `network namespaces`.
    pub name: String,
    /// How it went.
    pub state: CheckState,
    /// What was found, with figures.
    pub detail: String,
    /// What to do about it; `None` where nothing has to be done.
    pub remedy: Option<String>,
}

/// How a check went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckState {
    /// Works.
    Ok,
    /// The lab runs, with a limit that the detail names.
    Limited,
    /// The lab can't run without it.
    Missing,
}

impl Check {
    fn new(name: &str, state: CheckState, detail: impl Into<String>) -> Self {
        Self { name: name.to_owned(), state, detail: detail.into(), remedy: None }
    }

    fn remedy(self, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }
}

/// Tries everything that the lab needs or can use. Takes about half a second.
pub fn checks(privilege: &Result<Privilege, Problem>) -> Vec<Check> {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut checks = vec![Check::new("kernel", CheckState::Ok, format!("Linux {}", kernel.trim()))];
    match privilege {
        Ok(privilege) => {
            checks.push(privileged(*privilege));
            checks.extend(path());
            checks.extend([real_time(), congestion_states(*privilege), netem()]);
        }
        Err(denied) => {
            let remedy = denied.remedy.clone();
            checks.push(Check {
                remedy,
                ..Check::new("network namespaces", CheckState::Missing, &denied.what)
            });
        }
    }
    checks.extend([cpus(), timer(), congestion_controls(), socket_buffers(), tcp_info_length()]);
    checks
}

fn privileged(privilege: Privilege) -> Check {
    let detail = match privilege {
        Privilege::Root => "allowed",
        Privilege::UserNamespace => "allowed inside a user namespace, as for any user",
        Privilege::User => "not allowed",
    };
    Check::new("network namespaces", CheckState::Ok, detail)
}

/// The path itself, and how packets cross it.
fn path() -> Vec<Check> {
    let name = "emulated path";
    let topology = match Topology::build(&probe_path(), Carrier::Held) {
        Ok(topology) => topology,
        Err(error) => {
            let missing = Check::new(name, CheckState::Missing, format!("cannot be built: {error}"));
            return vec![missing.remedy("a kernel with CONFIG_VETH and CONFIG_PACKET, and CAP_NET_RAW")];
        }
    };
    let path = "veth pairs, AF_PACKET rings with virtio-net headers, static routes";
    vec![Check::new(name, CheckState::Ok, path), carrier(topology.middle.and_then(|middle| middle.refusal))]
}

fn carrier(refusal: Option<io::Error>) -> Check {
    let name = "packets held by the kernel";
    match refusal {
        None => Check::new(
            name,
            CheckState::Ok,
            "nfqueue, where a path only delays or loses packets; others copy them (af_packet)",
        ),
        Some(why) => {
            let detail = format!("{why}: paths without a rate copy packets too, and carry less");
            Check::new(name, CheckState::Limited, detail)
                .remedy("modprobe -a br_netfilter nfnetlink_queue nft_compat xt_NFQUEUE")
        }
    }
}

/// A path that needs the middle: 1 ms forward.
fn probe_path() -> PathSpec {
    let mut path = PathSpec::EMPTY;
    path.forward.delay = Duration::from_millis(1);
    path
}

fn real_time() -> Check {
    let granted = thread::spawn(scheduling::real_time).join().unwrap_or(false);
    if granted {
        return Check::new("real-time data path", CheckState::Ok, "SCHED_FIFO granted");
    }
    Check::new(
        "real-time data path",
        CheckState::Limited,
        "SCHED_FIFO refused: under load packets leave late, and more runs are invalid",
    )
    .remedy("run it as root, or keep this machine idle while it measures; --resume repeats invalid runs")
}

fn congestion_states(privilege: Privilege) -> Check {
    let name = "congestion states";
    match Trace::probe() {
        Ok(()) => {
            Check::new(name, CheckState::Ok, "exact, with a list of retransmits: BPF (tp_btf tracepoints)")
        }
        Err(why) => {
            let detail = format!("sampled from tcp_info, without a list of retransmits; BPF: {why}");
            Check::new(name, CheckState::Limited, detail)
                .remedy(bpf::remedy(bpf::Obstacles::of_process(privilege)))
        }
    }
}

fn netem() -> Check {
    let found = Namespace::create().and_then(|namespace| {
        namespace.enter(|| {
            let netlink = Rtnetlink::connect()?;
            netlink.set_up("lo")?;
            netlink.has_qdisc("lo", "netem")
        })
    });
    match found {
        Ok(true) => {
            Check::new("tc netem", CheckState::Ok, "present; the lab needs none, pipefill shape uses it")
        }
        Ok(false) => Check::new(
            "tc netem",
            CheckState::Ok,
            "absent; the lab needs none, and pipefill shape has only --rate without it",
        ),
        Err(error) => {
            Check::new("tc netem", CheckState::Ok, format!("unknown ({error}); the lab needs none"))
        }
    }
}

fn cpus() -> Check {
    let count = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let detail = format!("{count}");
    if count >= 2 {
        return Check::new("CPUs", CheckState::Ok, detail);
    }
    Check::new("CPUs", CheckState::Limited, "1: sender, receiver and path share it").remedy(
        "use two CPUs or more, or trust only rates well below what a path without a rate reaches here",
    )
}

fn timer() -> Check {
    const ROUNDS: u32 = 200;
    let measured = thread::spawn(|| {
        scheduling::without_timer_slack();
        let (clock, mut meter) = (RunClock::start(), LatenessMeter::new());
        for _ in 0..ROUNDS {
            let due = clock.now().after(Duration::from_millis(1));
            clock.sleep_until(due);
            meter.record(clock.now().since(due));
        }
        meter.summary()
    });
    let Some(late) = measured.join().ok().flatten() else {
        return Check::new("timer", CheckState::Limited, "not measured");
    };
    let detail = format!(
        "{} sleeps of 1 ms ended late by {} µs (median), {} µs (99th percentile)",
        late.count,
        late.p50_ns / 1_000,
        late.p99_ns / 1_000
    );
    let is_fine = late.p99_ns < 500_000;
    let check = Check::new("timer", if is_fine { CheckState::Ok } else { CheckState::Limited }, detail);
    if is_fine { check } else { check.remedy("stop other load on this machine before you measure") }
}

fn congestion_controls() -> Check {
    let read = |name: &str| {
        fs::read_to_string(format!("/proc/sys/net/ipv4/tcp_{name}_congestion_control")).unwrap_or_default()
    };
    let available = read("available");
    let check = Check::new("congestion control", CheckState::Ok, available.trim());
    if available.split_whitespace().any(|name| name == "cubic") {
        return check;
    }
    Check { state: CheckState::Limited, ..check }
        .remedy("modprobe tcp_cubic, or name another one in the scenario")
}

fn socket_buffers() -> Check {
    let read = |name: &str| fs::read_to_string(format!("/proc/sys/net/core/{name}")).unwrap_or_default();
    let (rmem, wmem) = (read("rmem_max"), read("wmem_max"));
    let detail = format!("rmem_max {}, wmem_max {}", rmem.trim(), wmem.trim());
    let forced = Socket::new(Domain::IPV4, Type::DGRAM, None)
        .and_then(|socket| set_option(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &(64_i32 << 20)));
    match forced {
        Ok(()) => {
            Check::new("socket buffers", CheckState::Ok, format!("{detail}; this process may exceed them"))
        }
        Err(_) => Check::new(
            "socket buffers",
            CheckState::Limited,
            format!("{detail}; larger sndbuf and rcvbuf are cut to these"),
        )
        .remedy("raise net.core.rmem_max and net.core.wmem_max with sysctl, or run it as root"),
    }
}

fn tcp_info_length() -> Check {
    let length = Socket::new(Domain::IPV4, Type::STREAM, None)
        .and_then(|socket| tcp_info(&socket, &mut [0; 512]))
        .map_err(|error: io::Error| error.to_string());
    match length {
        Ok(length) if length >= 232 => Check::new("tcp_info", CheckState::Ok, format!("{length} bytes")),
        Ok(length) => Check::new(
            "tcp_info",
            CheckState::Limited,
            format!(
                "{length} bytes: this kernel does not report the peer's window (tcpi_snd_wnd, Linux 5.4)"
            ),
        ),
        Err(error) => Check::new("tcp_info", CheckState::Missing, error),
    }
}
