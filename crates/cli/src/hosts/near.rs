//! Runs between two network namespaces of this machine: the lab's own traffic and telemetry, at both ends by one clock.

use super::{Hosts, container, needs_leave, wrong};
use pipefill_core::backend::{BackendError, Watch};
use pipefill_core::cell::CellSpec;
use pipefill_core::hosts::{HostsSpec, Place};
use pipefill_core::plan::Run;
use pipefill_core::record::{Manifest, Sink};
use pipefill_lab::places::{self, NoPair, Pair};
use std::io;

/// Carries out a run.
///
/// # Errors
/// [`BackendError`].
pub(super) fn stream(
    backend: &Hosts,
    hosts: &HostsSpec,
    run: &Run,
    watch: &dyn Watch,
    sink: &mut dyn Sink,
) -> Result<Manifest, BackendError> {
    // A container may have been started anew since the last run.
    let pair = pair(backend, hosts, &run.cell.spec)?;
    backend.lab.stream_between(&pair, run, watch, sink)
}

/// Whether both ends are there, reach each other, and may be changed as the scenario asks.
///
/// # Errors
/// [`BackendError`].
pub(super) fn check(backend: &Hosts, hosts: &HostsSpec, spec: &CellSpec) -> Result<(), BackendError> {
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

fn pair(backend: &Hosts, hosts: &HostsSpec, spec: &CellSpec) -> Result<Pair, BackendError> {
    let (sender, receiver) = (entered(&hosts.sender)?, entered(&hosts.receiver)?);
    let leave = backend.options.allows_sysctl;
    Pair::find(sender, receiver, hosts.address, spec.path.family, leave).map_err(|error| match error {
        NoPair::Same => wrong(
            format!("{} and {}: {error}", hosts.sender, hosts.receiver),
            "choose ends with a network between them",
        ),
        NoPair::Unreachable(_) => wrong(
            format!("{} and {}: {error}", hosts.sender, hosts.receiver),
            "name an address that answers: [hosts] address = \"192.0.2.7\"",
        ),
        NoPair::Io(error) => {
            BackendError::Failed(format!("{} and {}: {error}", hosts.sender, hosts.receiver))
        }
    })
}

fn entered(place: &Place) -> Result<places::Place, BackendError> {
    let found = match place {
        Place::Netns(name) => places::Place::named(name),
        Place::Container(name) => places::Place::of_process(container::process(name)?),
        _ => places::Place::own(),
    };
    found.map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => BackendError::Unsupported {
            what: format!("entering {place}: {error}"),
            remedy: "run it as root".to_owned(),
        },
        io::ErrorKind::NotFound => wrong(format!("there is no {place}"), "`ip netns` lists what has a name"),
        _ => BackendError::Failed(format!("entering {place}: {error}")),
    })
}
