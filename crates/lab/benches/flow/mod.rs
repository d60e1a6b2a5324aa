//! The run of one flow in the lab, as every benchmark makes it.

use pipefill_core::backend::{Backend, Unwatched};
use pipefill_core::cell::{
    Application, CellSpec, Direction, FlowSpec, HostSpec, Offloads, PathSpec, Protocol, RunSpec, Writer,
};
use pipefill_core::file_name::FileName;
use pipefill_core::plan::{Cell, Run};
use pipefill_core::record::RunRecord;
use pipefill_core::units::{Bytes, Seed};
use pipefill_lab::Lab;
use std::collections::BTreeMap;
use std::error::Error;
use std::time::Duration;

pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;

/// Runs `flow` over `path`, both hosts with CUBIC and these sysctls.
pub(crate) fn run(
    lab: &Lab,
    path: PathSpec,
    sysctl: BTreeMap<String, String>,
    flow: FlowSpec,
    sample: Duration,
) -> Outcome<RunRecord> {
    let host = HostSpec { congestion_control: "cubic".to_owned(), sysctl, offloads: Offloads::default() };
    let spec = CellSpec {
        path,
        sender: host.clone(),
        receiver: host,
        flows: vec![flow],
        run: RunSpec {
            repeat: 1,
            seed: 1,
            sample,
            warmup: None,
            capture: false,
            capture_packets: Default::default(),
        },
        expect: Vec::new(),
        hosts: None,
    };
    let cell = Cell { index: 0, id: "bench".to_owned(), axes: Vec::new(), deterministic: false, spec };
    let run = Run {
        experiment: FileName::cleaned("bench"),
        cell,
        repeat: 1,
        id: "bench-1".to_owned(),
        seed: Seed::new(1),
        directory: FileName::cleaned("bench"),
    };
    Ok(lab.run(&run, &Unwatched)?)
}

/// A bulk flow in writes of 512 KiB.
pub(crate) fn tcp(duration: Duration) -> FlowSpec {
    FlowSpec {
        protocol: Protocol::Tcp,
        direction: Direction::Forward,
        start: Duration::ZERO,
        duration,
        parallel: 1,
        bitrate: None,
        length: Bytes::new(512 << 10),
        read_rate: None,
        sndbuf: None,
        rcvbuf: None,
        max_pacing_rate: None,
        ping: None,
        congestion_control: None,
        writer: Writer::default(),
        app: Application::Bulk,
        nodelay: false,
        table: None,
    }
}
