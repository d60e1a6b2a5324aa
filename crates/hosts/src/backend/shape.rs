//! Where the sender's interface is given the path of a scenario, for the packets to the receiver alone.

use super::container;
use pipefill_core::cell::Direction;
use pipefill_core::hosts::{HostsSpec, Place, Shape};
use pipefill_core::plan::Run;
use pipefill_core::problem::Problem;
use pipefill_core::record::AqmSummary;
use pipefill_lab::places::namespace_file;
use pipefill_lab::shaping::{Flows, Peer, Request, Shaped, ShapedDiscipline, ShapedQueue};
use std::net::{IpAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

/// Beyond the traffic of a run: its set-up, and the wait for what is still under way. Then the switch undoes it, whatever became of the run.
const BEYOND: Duration = Duration::from_secs(60);

/// Shapes the interface as the run's path asks, until it is given to [`end`] or dropped.
///
/// # Errors
/// As [`check`]; [`Problem`] where the kernel can't.
pub(super) fn begin(hosts: &HostsSpec, shape: &Shape, run: &Run) -> Result<Shaped, Problem> {
    let spec = &run.cell.spec;
    let netns = namespace(hosts, shape)?;
    let traffic = spec.flows.iter().map(|flow| flow.start + flow.duration).max().unwrap_or_default();
    Shaped::begin(&Request {
        interface: &shape.interface,
        netns: netns.as_deref(),
        path: &spec.path,
        flows: &Flows::To(peers(hosts, shape)?),
        span: traffic + BEYOND,
        seed: run.seed,
    })
}

/// The queue of its bottleneck, to be read during the run; `None` where it is drop-tail.
///
/// # Errors
/// [`Problem`] where the kernel does not answer.
pub(super) fn queue(shaped: &Shaped) -> Result<Option<ShapedQueue>, Problem> {
    shaped
        .queue()
        .map_err(|error| Problem::broken(format!("reading the queue of the shaped interface: {error}")))
}

/// Undoes it; what the discipline of the queue did, where it has one.
///
/// # Errors
/// [`Problem`] where something is left.
pub(super) fn end(shaped: Shaped) -> Result<Option<AqmSummary>, Problem> {
    let carried = shaped.end().map_err(|error| {
        Problem::broken(format!("the interface is still shaped: {error}; pipefill doctor undoes it"))
    })?;
    Ok(carried.and_then(|carried| carried.discipline).map(summary))
}

/// The kernel's qdiscs do not sum up how long packets waited.
fn summary(discipline: ShapedDiscipline) -> AqmSummary {
    AqmSummary {
        direction: Direction::Forward,
        kind: discipline.kind.to_owned(),
        packets: discipline.packets,
        counted: Some(discipline.counted),
        sojourn_us_p50: None,
        sojourn_us_p95: None,
        sojourn_us_p99: None,
        sojourn_us_max: None,
        flow_queues: None,
    }
}

/// Whether the interface's host is one whose interfaces we may change, and the other end has an address.
///
/// # Errors
/// [`Problem`] with what to write instead.
pub(super) fn check(hosts: &HostsSpec, shape: &Shape) -> Result<(), Problem> {
    namespace(hosts, shape)?;
    peers(hosts, shape).map(drop)
}

/// The file of the namespace in which the interface is; `None` for our own.
fn namespace(hosts: &HostsSpec, shape: &Shape) -> Result<Option<PathBuf>, Problem> {
    if !shape.at_sender {
        let help =
            "shape the sender's interface, which has the whole round trip: [hosts] shape = \"sender:eth0\"";
        return Err(Problem::usage(
            format!("hosts.shape = \"{shape}\": the receiver's interface is not shaped"),
            help,
        ));
    }
    match &hosts.sender {
        Place::Local => Ok(None),
        Place::Netns(name) => Ok(Some(namespace_file(name))),
        Place::Container(name) => Ok(Some(format!("/proc/{}/ns/net", container::process(name)?).into())),
        far => Err(Problem::usage(
            format!(
                "hosts.shape = \"{shape}\": the sender is {far}, and only this machine's interfaces are shaped"
            ),
            format!("run `pipefill shape {} --for 10min …` there, and leave [path] out", shape.interface),
        )),
    }
}

/// The receiver: all packets to it are the test's.
fn peers(hosts: &HostsSpec, shape: &Shape) -> Result<Vec<Peer>, Problem> {
    if let Some(address) = hosts.address {
        return Ok(vec![Peer::host(address, None)]);
    }
    let found: Vec<IpAddr> = match &hosts.receiver {
        Place::Pipefill(server) | Place::Iperf3(server) => (server.host.as_str(), server.port)
            .to_socket_addrs()
            .map_err(|error| {
                Problem::usage(format!("{}: {error}", hosts.receiver), "name its address: [hosts] address")
            })?
            .map(|end| end.ip())
            .collect(),
        _ => Vec::new(),
    };
    if found.is_empty() {
        let help = "name the address under which the sender reaches it: [hosts] address = \"192.0.2.7\"";
        return Err(Problem::usage(
            format!("hosts.shape = \"{shape}\": which packets go to {}?", hosts.receiver),
            help,
        ));
    }
    Ok(found.into_iter().map(|address| Peer::host(address, None)).collect())
}
