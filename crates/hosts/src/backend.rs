//! The backend `hosts`: runs between hosts that are there already, on a path that nobody builds.
//!
//! Namespaces and containers of this machine are entered by threads of ours ([`near`]). Other machines have a server of tests at the far end
//! ([`far`]), which ssh may start for us ([`ssh`], [`agent`]).

mod agent;
mod container;
mod far;
mod near;
mod rows;
mod shape;
mod ssh;

pub use agent::far_end;

use pipefill_core::backend::{Backend, Watch};
use pipefill_core::cell::{CellSpec, Offloads, PathSpec};
use pipefill_core::hosts::{self, HostsSpec, Place};
use pipefill_core::plan::Run;
use pipefill_core::problem::Problem;
use pipefill_core::record::{Manifest, Sink};
use pipefill_lab::Lab;
use pipefill_lab::privilege;
use pipefill_remote::key::Key;
use ssh::Agent;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

/// What the user says beside the scenario.
#[derive(Debug, Clone, Default)]
pub struct HostsOptions {
    /// Whether sysctls of a machine's own namespace may be changed.
    pub allows_sysctl: bool,
    /// The executable that is sent by ssh; this one where none is named.
    pub executable: Option<PathBuf>,
    /// What a server wants a proof of.
    pub key: Option<Key>,
}

/// The backend.
#[derive(Debug)]
pub struct Hosts {
    options: HostsOptions,
    lab: Lab,
    /// The far end that ssh has started, and where; it stays for the next run.
    agent: Mutex<Option<(String, Agent)>>,
}

impl Hosts {
    /// Nothing is begun yet.
    pub fn new(options: HostsOptions) -> Self {
        Self { options, lab: Lab::new(privilege::current()), agent: Mutex::default() }
    }

    /// Both ends of `spec`.
    fn ends(spec: &CellSpec) -> Result<&HostsSpec, Problem> {
        spec.hosts.as_ref().ok_or_else(|| {
            Problem::usage(
                "the scenario does not say where its hosts are",
                "write e.g. [hosts] receiver = \"ssh:user@b.example\"; docs/guide/between-hosts.md has all places",
            )
        })
    }
}

impl Backend for Hosts {
    fn name(&self) -> &'static str {
        hosts::BACKEND
    }

    fn stream(&self, run: &Run, watch: &dyn Watch, sink: &mut dyn Sink) -> Result<Manifest, Problem> {
        let hosts = Self::ends(&run.cell.spec)?;
        let shaped = hosts.shape.as_ref().map(|shape| shape::begin(hosts, shape, run)).transpose()?;
        let queue = shaped.as_ref().map(shape::queue).transpose()?.flatten();
        let outcome = match hosts.far() {
            None => near::stream(self, hosts, run, queue.as_ref(), watch, sink),
            Some(far) => far::stream(self, (hosts, far), run, queue.as_ref(), watch, sink),
        };
        let aqm = shaped.map(shape::end).transpose()?.flatten();
        let manifest = outcome?;
        Ok(Manifest { aqm: aqm.into_iter().collect(), ..manifest })
    }

    fn check(&self, run: &Run) -> Result<(), Problem> {
        let spec = &run.cell.spec;
        let hosts = Self::ends(spec)?;
        check_path(spec, hosts)?;
        check_interfaces(spec)?;
        match hosts.far() {
            None => near::check(self, hosts, spec),
            Some(far) => far::check(self, hosts, far, run),
        }
    }

    fn estimate(&self, run: &Run) -> Duration {
        const SET_UP: Duration = Duration::from_secs(1);
        let traffic = run.cell.spec.flows.iter().map(|flow| flow.start + flow.duration).max();
        SET_UP + traffic.unwrap_or_default()
    }
}

/// The path is what is there.
fn check_path(spec: &CellSpec, hosts: &HostsSpec) -> Result<(), Problem> {
    let path = &spec.path;
    if let Some(shape) = &hosts.shape {
        return shape::check(hosts, shape);
    }
    if *path == (PathSpec { family: path.family, payload: path.payload, ..PathSpec::EMPTY }) {
        return Ok(());
    }
    Err(Problem::usage(
        "[path] asks for a path, and between hosts it is there already",
        "leave the keys of [path] out, all but family; or shape an interface: [hosts] shape = \"sender:eth0\"",
    ))
}

/// Interfaces of hosts stay as they are, and nobody listens at them.
fn check_interfaces(spec: &CellSpec) -> Result<(), Problem> {
    if [&spec.sender, &spec.receiver].iter().any(|host| host.offloads != Offloads::default()) {
        let help = "leave gso, gro and tso out; switch them with ethtool(8) on the hosts";
        return Err(Problem::usage(
            "[host] asks for offloads, and interfaces of hosts stay as they are",
            help,
        ));
    }
    if spec.run.capture {
        let help = "leave run.capture out; capture with tcpdump(8), and read it with pipefill pcap";
        return Err(Problem::usage("runs between hosts are not captured", help));
    }
    Ok(())
}

/// The sysctls of a machine itself are everybody's.
fn needs_leave(end: &str, place: &Place) -> Problem {
    Problem::usage(
        format!(
            "[{end}] asks for sysctls, and {place} is a machine itself: they are for all of its connections"
        ),
        "allow it with --allow-sysctl: they are given back after each run; or use a network namespace there",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::scenario::Scenario;

    #[test]
    fn a_scenario_without_hosts_is_told_what_to_write() {
        let text = "name = \"a\"\n[[flow]]\nduration = \"1s\"\n";
        let run = Scenario::parse(text, "a.toml").unwrap().plan().runs().remove(0);
        let problem = Hosts::new(HostsOptions::default()).check(&run).unwrap_err();
        assert_eq!(problem.what, "the scenario does not say where its hosts are");
        assert!(problem.remedy.unwrap().contains("[hosts] receiver = "));
    }
}
