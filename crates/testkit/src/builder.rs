//! Synthetic plans and records: a steady stream with known figures, so that a metric's true value is known.
//!
//! Shared by the tests of `analysis` and `report`; each uses only a part.

use pipefill_core::cell::*;
use pipefill_core::file_name::FileName;
use pipefill_core::plan::{Cell, Plan, Run};
use pipefill_core::record::*;
use pipefill_core::tcp_info::{CaState, TcpInfo};
use pipefill_core::units::{Bytes, QueueLimit, Rate, Seed};
use std::collections::BTreeMap;
use std::time::Duration;

/// A scenario of two cells, two runs each.
pub const TINY: &str = r#"
name = "tiny"
[path]
rtt = ["1ms", "10ms"]
rate = "100mbit"
[[flow]]
duration = "10s"
[run]
repeat = 2
"#;

pub const SECOND: u64 = 1_000_000;
const SAMPLE_US: u64 = 100_000;

fn direction(delay: Duration, rate: Option<u64>) -> DirectionSpec {
    DirectionSpec {
        delay,
        bottleneck: rate.map(|bps| BottleneckSpec {
            rate: Rate::from_bps(bps),
            overhead: Bytes::new(0),
            queue: QueueLimit::Bdp(1.0),
            burst: Bytes::new(65_536),
        }),
        ..DirectionSpec::EMPTY
    }
}

pub fn flow(protocol: Protocol) -> FlowSpec {
    FlowSpec {
        protocol,
        direction: Direction::Forward,
        start: Duration::ZERO,
        duration: Duration::from_secs(10),
        parallel: 1,
        bitrate: (protocol == Protocol::Udp).then(|| Rate::from_bps(100_000_000)),
        length: Bytes::new(1_448),
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

fn host() -> HostSpec {
    HostSpec {
        congestion_control: "cubic".to_owned(),
        sysctl: BTreeMap::new(),
        offloads: Offloads::default(),
    }
}

/// A 1 Gbit/s path with `rtt_ms` of base RTT, split evenly; one forward flow of ten seconds; a warm-up of one second.
pub fn spec(protocol: Protocol, rtt_ms: u64) -> CellSpec {
    let one_way = Duration::from_micros(rtt_ms * 500);
    CellSpec {
        path: PathSpec {
            forward: direction(one_way, Some(1_000_000_000)),
            reverse: direction(one_way, None),
            ..PathSpec::EMPTY
        },
        sender: host(),
        receiver: host(),
        flows: vec![flow(protocol)],
        run: RunSpec {
            repeat: 3,
            seed: 1,
            sample: Duration::from_millis(100),
            warmup: Some(Duration::from_secs(1)),
            capture: false,
            capture_packets: Default::default(),
        },
        expect: Vec::new(),
        hosts: None,
    }
}

pub fn cell(index: usize, axes: &[(&str, &str)], spec: CellSpec) -> Cell {
    Cell {
        index,
        id: format!("{index:012x}"),
        axes: axes.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect(),
        deterministic: false,
        spec,
    }
}

pub fn plan(cells: Vec<Cell>) -> Plan {
    Plan {
        experiment: FileName::cleaned("synthetic"),
        title: Some("A synthetic experiment".to_owned()),
        cells,
        published: Vec::new(),
        published_source: None,
        conclusions: Vec::new(),
    }
}

pub fn run(cell: &Cell, repeat: u32) -> Run {
    Run {
        experiment: FileName::cleaned("synthetic"),
        cell: cell.clone(),
        repeat,
        id: format!("{}-{repeat}", cell.id),
        seed: Seed::new(u64::from(repeat)),
        directory: FileName::cleaned(&format!("{:03}-{repeat}", cell.index)),
    }
}

/// What a steady stream does.
#[derive(Debug, Clone, Copy)]
pub struct Steady {
    /// Which flow it belongs to.
    pub flow: u32,
    /// Nothing is delivered before this.
    pub first_us: u64,
    /// Payload rate from then on, both ends.
    pub rate_bps: u64,
    /// How long data is under way.
    pub one_way_us: u64,
    pub cwnd_bytes: u64,
    pub rwnd_bytes: u32,
    pub in_flight_bytes: u64,
    pub srtt_us: u32,
    pub retransmits: u32,
    /// Share of UDP datagrams lost, per mille.
    pub lost_permille: u64,
}

impl Default for Steady {
    fn default() -> Self {
        Self {
            flow: 0,
            first_us: 0,
            rate_bps: 80_000_000,
            one_way_us: 5_000,
            cwnd_bytes: 200_000,
            rwnd_bytes: 3_000_000,
            in_flight_bytes: 100_000,
            srtt_us: 10_400,
            retransmits: 7,
            lost_permille: 0,
        }
    }
}

/// A record of `run` with one stream for each of `streams`.
pub fn record(run: Run, streams: &[Steady]) -> RunRecord {
    let spec = run.cell.spec.clone();
    let mut record = RunRecord {
        manifest: manifest(run),
        tcp: Vec::new(),
        delivery: Vec::new(),
        udp: Vec::new(),
        ping: Vec::new(),
        path: Vec::new(),
        cpu: Vec::new(),
        retransmits: Vec::new(),
        packets: Vec::new(),
        datagrams: Vec::new(),
        aqm: Vec::new(),
    };
    for (number, steady) in (0_u32..).zip(streams) {
        let flow = &spec.flows[steady.flow as usize];
        let stop_us = u64::try_from(flow.duration.as_micros()).unwrap();
        let summary = summary(number, steady, flow, stop_us);
        for t_us in (0..=summary.end_us).step_by(SAMPLE_US as usize) {
            record.delivery.push(DeliverySample {
                t_us,
                stream: number,
                sent_bytes: steady.bytes_by(t_us.min(stop_us)),
                received_bytes: received_by(steady, flow, t_us, stop_us),
            });
            if flow.protocol == Protocol::Tcp {
                record.tcp.push(sample(number, steady, t_us));
            }
        }
        record.manifest.streams.push(summary);
    }
    record
}

impl Steady {
    fn bytes_by(&self, t_us: u64) -> u64 {
        t_us.saturating_sub(self.first_us) * self.rate_bps / 8 / SECOND
    }
}

fn received_by(steady: &Steady, flow: &FlowSpec, t_us: u64, stop_us: u64) -> u64 {
    let arrived = steady.bytes_by(t_us.saturating_sub(steady.one_way_us).min(stop_us));
    match flow.protocol {
        Protocol::Tcp | Protocol::Ping => arrived,
        Protocol::Udp => arrived * (1_000 - steady.lost_permille) / 1_000,
    }
}

fn summary(number: u32, steady: &Steady, flow: &FlowSpec, stop_us: u64) -> StreamSummary {
    let end_us = stop_us + steady.one_way_us;
    let sent = steady.bytes_by(stop_us);
    let datagrams = sent / flow.length.get();
    let udp = UdpTotals {
        sent: datagrams,
        received: datagrams * (1_000 - steady.lost_permille) / 1_000,
        duplicates: 0,
        reordered: 2,
        socket_drops: Some(3),
        jitter_ns: Some(12_000),
        one_way_delay_min_ns: Some(steady.one_way_us as i64 * 1_000),
        one_way_delay_p50_ns: Some(steady.one_way_us as i64 * 1_000 + 500),
        one_way_delay_p99_ns: Some(steady.one_way_us as i64 * 1_000 + 90_000),
        one_way_delay_max_ns: Some(steady.one_way_us as i64 * 1_000 + 100_000),
    };
    StreamSummary {
        stream: number,
        flow: steady.flow,
        start_us: 0,
        stop_us,
        end_us,
        sent_bytes: sent,
        received_bytes: received_by(steady, flow, end_us, stop_us),
        tcp: (flow.protocol == Protocol::Tcp).then(|| sample(number, steady, end_us).info),
        udp: (flow.protocol == Protocol::Udp).then_some(udp),
        packets: None,
        bucket: None,
        repetition: None,
        datagrams: None,
        ca_state_us: None,
        ca_state_source: None,
    }
}

/// In recovery for the third of every four samples, otherwise open.
pub fn sample(number: u32, steady: &Steady, t_us: u64) -> TcpSample {
    let recovery = (t_us / SAMPLE_US) % 4 == 2;
    TcpSample {
        t_us,
        stream: number,
        end: StreamEnd::Sender,
        info: TcpInfo {
            ca_state: Some(if recovery { CaState::Recovery } else { CaState::Open }),
            mss_bytes: 1_448,
            cwnd_bytes: Some(steady.cwnd_bytes),
            in_flight_bytes: Some(steady.in_flight_bytes),
            notsent_bytes: Some(0),
            bytes_acked: Some(0),
            rwnd_bytes: Some(steady.rwnd_bytes),
            srtt_us: Some(steady.srtt_us),
            min_rtt_us: Some(steady.srtt_us - 400),
            retransmits: steady.retransmits,
            ..TcpInfo::default()
        },
        wmem_queued_bytes: Some(steady.in_flight_bytes * 2),
        sndbuf_bytes: Some(4_194_304),
        rmem_alloc_bytes: None,
        rcvbuf_bytes: None,
        raw: None,
    }
}

fn lateness(p50_ns: u64, p99_ns: u64) -> Lateness {
    Lateness {
        count: 1_000,
        mean_ns: p50_ns,
        p50_ns,
        p99_ns,
        p999_ns: p99_ns * 2,
        max_ns: p99_ns * 3,
        histogram: Vec::new(),
    }
}

fn manifest(run: Run) -> Manifest {
    let counter = |place: &str, name: &str, before, after| Counter {
        place: place.to_owned(),
        name: name.to_owned(),
        before,
        after,
    };
    Manifest {
        version: RECORD_VERSION,
        pipefill: "0.1.0".to_owned(),
        backend: "lab".to_owned(),
        run,
        subject: Subject::Planned,
        started_unix_ms: None,
        wall_ms: None,
        environment: Environment {
            kernel: Some("6.12.0".to_owned()),
            cpus: Some(2),
            data_path: Some("af_packet".to_owned()),
            ..Environment::default()
        },
        settings: Vec::new(),
        streams: Vec::new(),
        counters: vec![
            counter("path forward", "dropped_queue_full_packets", 10, 15),
            counter("path forward", "dropped_queue_full_bytes", 0, 7_570),
            counter("path forward", "delivered_packets", 0, 99),
            counter("path reverse", "dropped_random_loss_packets", 0, 0),
            counter("path interface", "rx_dropped", 0, 4),
        ],
        aqm: Vec::new(),
        instrument: Instrument {
            release_lateness_forward: Some(lateness(20_000, 60_000)),
            release_lateness_reverse: Some(lateness(25_000, 50_000)),
            threads: vec![ThreadCpu {
                thread: ThreadRole::Path(Direction::Forward),
                user_us: 100,
                system_us: 23,
                wait_us: None,
            }],
            ..Instrument::default()
        },
        invalid: Vec::new(),
        tables: None,
        artifacts: Vec::new(),
    }
}

/// A buffer of `place` that the kernel capped.
pub fn capped(place: &str) -> Setting {
    Setting {
        place: place.to_owned(),
        name: "SO_RCVBUF".to_owned(),
        asked: Some("4194304".to_owned()),
        got: Some("425984".to_owned()),
        why: Some("capped by net.core.rmem_max".to_owned()),
        met: false,
    }
}
