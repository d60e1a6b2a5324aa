//! Cells for observed connections, since an experiment on disk has a plan: the connections' flows, over an unspecified path.

use core::net::{IpAddr, SocketAddr};
use core::ops::Range;
use pipefill_core::cell::{
    Application, CapturePackets, CellSpec, Direction, Family, FlowSpec, HostSpec, Offloads, PathSpec,
    Protocol, RunSpec, Writer,
};
use pipefill_core::plan::{Cell, Run};
use pipefill_core::record::{Manifest, Observed, SOCKETS, StreamSummary, Subject};
use pipefill_core::units::Bytes;
use std::collections::BTreeMap;
use std::time::Duration;

/// The backend of records of observed sockets; others are `lab` and `sim`.
pub const BACKEND: &str = SOCKETS;

/// Cell `index` of a plan of connections, called `name`, with the `spec` that one of them has.
pub fn cell(index: usize, name: &str, spec: CellSpec) -> Cell {
    let axes = vec![("connection".to_owned(), name.to_owned())];
    Cell { index, id: format!("{index:012x}"), axes, deterministic: false, spec }
}

/// A cell that asks nothing of both hosts but `flows`, sampled so often. The judge reads no fact of the path from it.
pub(super) fn spec(
    observed: &Observed,
    congestion_control: &str,
    every: Duration,
    flows: Vec<FlowSpec>,
) -> CellSpec {
    let host = || HostSpec {
        congestion_control: congestion_control.to_owned(),
        sysctl: BTreeMap::new(),
        offloads: Offloads::default(),
    };
    CellSpec {
        path: PathSpec { family: family(observed), ..PathSpec::EMPTY },
        sender: host(),
        receiver: host(),
        flows,
        run: RunSpec {
            repeat: 1,
            seed: 0,
            sample: every,
            warmup: Some(Duration::ZERO),
            capture: false,
            capture_packets: CapturePackets::Kept,
        },
        expect: Vec::new(),
        hosts: None,
    }
}

/// The manifest of a run of such a cell.
pub(super) fn manifest(run: &Run, observed: &Observed, streams: Vec<StreamSummary>) -> Manifest {
    let subject = Subject::Observed(observed.clone());
    Manifest { backend: BACKEND.to_owned(), subject, streams, ..Manifest::expected(run, 0) }
}

/// A flow of which only its time is known, microseconds.
pub(super) const fn flow(protocol: Protocol, direction: Direction, time_us: Range<u64>) -> FlowSpec {
    FlowSpec {
        protocol,
        direction,
        start: Duration::from_micros(time_us.start),
        duration: Duration::from_micros(time_us.end - time_us.start),
        parallel: 1,
        bitrate: None,
        length: Bytes::new(0),
        read_rate: None,
        sndbuf: None,
        rcvbuf: None,
        max_pacing_rate: None,
        congestion_control: None,
        writer: Writer::Blocking,
        app: Application::Bulk,
        nodelay: false,
        table: None,
        ping: None,
    }
}

/// Which IP its packets have, by the socket's own address; IPv4 where that is not known, and where IPv6 only stands for it
/// (RFC 4291, 2.5.5.2).
pub(super) fn family(observed: &Observed) -> Family {
    match observed.local.parse().map(|address: SocketAddr| address.ip().to_canonical()) {
        Ok(IpAddr::V6(_)) => Family::Ipv6,
        Ok(IpAddr::V4(_)) | Err(_) => Family::Ipv4,
    }
}
