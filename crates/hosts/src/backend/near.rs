//! Runs between two network namespaces of this machine: the lab's own traffic and telemetry, at both ends by one clock.

use super::{Hosts, container, needs_leave};
use pipefill_core::backend::Watch;
use pipefill_core::cell::CellSpec;
use pipefill_core::hosts::{HostsSpec, Place};
use pipefill_core::plan::Run;
use pipefill_core::problem::Problem;
use pipefill_core::record::{Manifest, Sink};
use pipefill_lab::places::{self, NoPair, Pair};
use pipefill_lab::shaping::ShapedQueue;
use std::io;

/// Carries out a run; `queue` is that of an interface that is shaped meanwhile.
///
/// # Errors
/// [`Problem`].
pub(super) fn stream(
    backend: &Hosts,
    hosts: &HostsSpec,
    run: &Run,
    queue: Option<&ShapedQueue>,
    watch: &dyn Watch,
    sink: &mut dyn Sink,
) -> Result<Manifest, Problem> {
    // A container may have been started anew since the last run.
    let pair = pair(backend, hosts, &run.cell.spec)?;
    backend.lab.stream_between(&pair, run, queue, watch, sink)
}

/// Whether both ends are there, reach each other, and may be changed as the scenario asks.
///
/// # Errors
/// [`Problem`].
pub(super) fn check(backend: &Hosts, hosts: &HostsSpec, spec: &CellSpec) -> Result<(), Problem> {
    let [sender, receiver] = pair(backend, hosts, spec)?.unchangeable();
    let ends = [
        ("sender", sender, &hosts.sender, &spec.sender),
        ("receiver", receiver, &hosts.receiver, &spec.receiver),
    ];
    match ends.into_iter().find(|(_, is_fixed, _, host)| *is_fixed && !host.sysctl.is_empty()) {
        Some((end, _, place, _)) => Err(needs_leave(end, place)),
        None => Ok(()),
    }
}

fn pair(backend: &Hosts, hosts: &HostsSpec, spec: &CellSpec) -> Result<Pair, Problem> {
    let (sender, receiver) = (entered(&hosts.sender)?, entered(&hosts.receiver)?);
    let leave = backend.options.allows_sysctl;
    Pair::find(sender, receiver, hosts.address, spec.path.family, leave).map_err(|error| match error {
        NoPair::Same => Problem::usage(
            format!("{} and {}: {error}", hosts.sender, hosts.receiver),
            "choose ends with a network between them",
        ),
        NoPair::Unreachable(_) => Problem::usage(
            format!("{} and {}: {error}", hosts.sender, hosts.receiver),
            "name an address that answers: [hosts] address = \"192.0.2.7\"",
        ),
        NoPair::Io(error) => Problem::broken(format!("{} and {}: {error}", hosts.sender, hosts.receiver)),
    })
}

fn entered(place: &Place) -> Result<places::HostNamespace, Problem> {
    let found = match place {
        Place::Netns(name) => places::HostNamespace::named(name),
        Place::Container(name) => places::HostNamespace::of_process(container::process(name)?),
        _ => places::HostNamespace::own(),
    };
    found.map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => {
            Problem::machine(format!("entering {place}: {error}"), "run it as root")
        }
        io::ErrorKind::NotFound => {
            Problem::usage(format!("there is no {place}"), "`ip netns` lists what has a name")
        }
        _ => Problem::broken(format!("entering {place}: {error}")),
    })
}
