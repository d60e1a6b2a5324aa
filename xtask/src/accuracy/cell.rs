//! A golden's cell in the words of the plan, so that the simulator runs what Linux ran.
//!
//! Never: a setting that the oracle's script (`cell.sh`) did not make.

use super::golden::{AqmCell, Golden};
use pipefill_core::cell::{
    Application, BottleneckSpec, CellSpec, Direction, DirectionSpec, FlowSpec, HostSpec, JitterDistribution,
    JitterSpec, LossSpec, Offloads, PathSpec, Protocol, RunSpec, Writer,
};
use pipefill_core::file_name::FileName;
use pipefill_core::plan::{Cell, Plan, Run, cell_id};
use pipefill_core::scenario::Scenario;
use pipefill_core::units::{Bytes, QueueLimit, Rate, Ratio};
use std::collections::BTreeMap;
use std::time::Duration;

/// `tg -w`: what the oracle's sender writes at once.
const WRITE: Bytes = Bytes::new(262_144);
/// `tg -i`.
const SAMPLE: Duration = Duration::from_millis(10);

/// The run of `golden`'s cell with the golden's seed.
pub(crate) fn run(golden: &Golden) -> Run {
    let spec = spec(golden);
    let cell = Cell { index: 0, id: cell_id(&spec), axes: Vec::new(), deterministic: false, spec };
    let plan = Plan {
        experiment: FileName::cleaned("accuracy"),
        title: None,
        cells: vec![cell],
        published: Vec::new(),
        published_source: None,
        conclusions: Vec::new(),
    };
    plan.runs().swap_remove(0)
}

fn spec(golden: &Golden) -> CellSpec {
    let host = host(golden);
    CellSpec {
        path: PathSpec { forward: forward(golden), reverse: direction(golden), ..PathSpec::EMPTY },
        sender: host.clone(),
        receiver: host,
        flows: vec![flow(golden)],
        run: RunSpec {
            repeat: 1,
            seed: golden.seed,
            sample: SAMPLE,
            warmup: None,
            capture: false,
            capture_packets: Default::default(),
        },
        expect: Vec::new(),
        hosts: None,
    }
}

fn forward(golden: &Golden) -> DirectionSpec {
    if let Some(aqm) = &golden.aqm {
        return managed(golden, aqm);
    }
    DirectionSpec {
        loss: match golden.loss_percent {
            0.0 => LossSpec::None,
            percent => LossSpec::Independent(Ratio::from_percent(percent)),
        },
        bottleneck: Some(BottleneckSpec {
            rate: Rate::from_bps(golden.rate_bps),
            overhead: Bytes::new(0),
            queue: QueueLimit::Bytes(Bytes::new(golden.queue_bytes)),
            burst: Bytes::new(golden.tbf_burst_bytes),
        }),
        ..direction(golden)
    }
}

/// As a scenario of the same words has it, with the oracle's bucket.
fn managed(golden: &Golden, aqm: &AqmCell) -> DirectionSpec {
    let AqmCell { text, ecn, queue, .. } = aqm;
    let scenario = format!(
        "name = \"accuracy\"\n[path]\nrate = \"{}bit\"\nburst = \"{}B\"\nqueue = \"{queue}\"\naqm = \"{text}\"\necn = {ecn}\n\
         [[flow]]\n",
        golden.rate_bps, golden.tbf_burst_bytes
    );
    let scenario = Scenario::parse(&scenario, "aqm.toml")
        .unwrap_or_else(|error| panic!("cell {}: {error}", golden.cell));
    let DirectionSpec { bottleneck, aqm, .. } = scenario.plan().cells[0].spec.path.forward.clone();
    DirectionSpec { bottleneck, aqm, ..direction(golden) }
}

/// netem with half of the round trip, as in the oracle on both sides.
fn direction(golden: &Golden) -> DirectionSpec {
    let jitter = (golden.jitter_ms > 0.0).then(|| JitterSpec {
        spread: milliseconds(golden.jitter_ms),
        distribution: JitterDistribution::Uniform,
        reorder: true,
    });
    DirectionSpec {
        delay: milliseconds(golden.rtt_ms / 2.0),
        jitter,
        delay_limit: None,
        ..DirectionSpec::EMPTY
    }
}

fn host(golden: &Golden) -> HostSpec {
    let triple = |[least, default, most]: [u64; 3]| format!("{least} {default} {most}");
    let mut sysctl = BTreeMap::from([
        ("net.ipv4.tcp_rmem".to_owned(), triple(golden.tcp_rmem)),
        ("net.ipv4.tcp_wmem".to_owned(), triple(golden.tcp_wmem)),
    ]);
    if golden.aqm.as_ref().is_some_and(|aqm| aqm.ecn) {
        sysctl.insert("net.ipv4.tcp_ecn".to_owned(), "1".to_owned());
    }
    HostSpec { congestion_control: golden.congestion_control.clone(), sysctl, offloads: Offloads::default() }
}

fn flow(golden: &Golden) -> FlowSpec {
    FlowSpec {
        protocol: Protocol::Tcp,
        direction: Direction::Forward,
        start: Duration::ZERO,
        duration: Duration::from_secs_f64(golden.duration_s),
        parallel: golden.flows,
        bitrate: None,
        length: WRITE,
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

fn milliseconds(ms: f64) -> Duration {
    Duration::from_secs_f64(ms / 1000.0)
}
