//! Judged against real Linux 6.12 in virtual time: `testdata/goldens/grid.jsonl`.
//!
//! Without loss the median error of goodput is at most 1 % and the 95th percentile at most 5 %; with loss 10 % and, at the
//! 90th percentile, 25 %.

use pipefill_core::backend::{Backend, Watch};
use pipefill_core::cell::{
    BottleneckSpec, CellSpec, Direction, DirectionSpec, FlowSpec, HostSpec, LossSpec, LossUnit, PathSpec,
    Protocol, RunSpec,
};
use pipefill_core::plan::{Cell, Run};
use pipefill_core::units::{Bytes, QueueLimit, Rate, Ratio, Seed, Time};
use pipefill_sim::{Options, Sim, WindowRule, WriterHabit};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

struct Quiet;

impl Watch for Quiet {
    fn progress(&self, _: Time) {}
    fn stop_requested(&self) -> bool {
        false
    }
}

/// A golden cell and what the simulator made of it.
struct Judged {
    loss: f64,
    /// Relative error of goodput.
    error: f64,
}

#[test]
fn goodput_agrees_with_linux() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/goldens/grid.jsonl");
    let text = std::fs::read_to_string(path).expect("the goldens are in the repository");
    let goldens: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let only: Option<u64> = std::env::var("GOLDEN").ok().and_then(|cell| cell.parse().ok());
    let is_wanted = |golden: &&Value| only.is_none_or(|cell| golden["cell"] == cell);
    let judged: Vec<Judged> = goldens.iter().filter(is_wanted).map(judge).collect();
    let errors = |lossy: bool| -> Vec<f64> {
        let mut errors: Vec<f64> =
            judged.iter().filter(|one| (one.loss > 0.0) == lossy).map(|one| one.error.abs()).collect();
        errors.sort_by(f64::total_cmp);
        errors
    };
    let at = |errors: &[f64], share: f64| {
        let rank = (errors.len() as f64 * share).ceil() as usize;
        errors.get(rank.max(1) - 1).copied().unwrap_or(0.0)
    };
    let (clean, lossy) = (errors(false), errors(true));
    println!("without loss: median {:.4}, p95 {:.4}", at(&clean, 0.5), at(&clean, 0.95));
    println!("with loss: median {:.4}, p90 {:.4}", at(&lossy, 0.5), at(&lossy, 0.9));
    assert!(at(&clean, 0.5) <= 0.01 && at(&clean, 0.95) <= 0.05);
    assert!(at(&lossy, 0.5) <= 0.10 && at(&lossy, 0.9) <= 0.25);
}

fn judge(golden: &Value) -> Judged {
    let run = run(golden);
    let sim = Sim::with_options(Options {
        gso: false,
        window_rule: WindowRule::ScalingRatio,
        writer: WriterHabit::OncePerWake,
    });
    let began = std::time::Instant::now();
    let record = sim.run(&run, &Quiet).expect("the simulator runs it");
    let wall = began.elapsed();
    let start = record.manifest.streams[0].start_us;
    let stop = record.manifest.streams[0].stop_us;
    let at_stop = record.delivery.iter().rev().find(|sample| sample.t_us <= stop).expect("samples");
    let goodput = at_stop.received_bytes as f64 * 8e6 / (stop - start) as f64;
    let want = golden["result"]["goodput_bps"].as_f64().expect("a goodput");
    let loss = golden["loss_percent"].as_f64().expect("a loss");
    let error = goodput / want - 1.0;
    let info = record.manifest.streams[0].tcp.expect("TCP");
    let dropped = |name: &str| {
        let mut counters = record.manifest.counters.iter();
        counters.find(|c| c.place == "path forward" && c.name == name).map_or(0, |c| c.after)
    };
    println!(
        "{:>3} {:>5} Mbit/s {:>3} ms {:>5} % {:<6} q {:>8} {:<10} linux {:>9.3} sim {:>9.3} error {:>7.2} % retransmits {} / {} queue drops {} / {} rto {} / {} wall {:.2}",
        golden["cell"],
        golden["rate_bps"].as_u64().unwrap_or(0) / 1_000_000,
        golden["rtt_ms"],
        loss,
        golden["congestion_control"].as_str().unwrap_or(""),
        golden["queue_bytes"],
        golden["buffers"].as_str().unwrap_or(""),
        want / 1e6,
        goodput / 1e6,
        error * 100.0,
        golden["result"]["retransmits"],
        info.retransmits,
        golden["result"]["tbf_dropped"],
        dropped("dropped_queue_full_packets"),
        golden["result"]["timeouts"],
        info.rto_count.unwrap_or(0),
        wall.as_secs_f64(),
    );
    if std::env::var("SERIES").is_ok() {
        print_series(golden, &record, start);
    }
    Judged { loss, error }
}

/// Linux's series beside the simulator's; for finding out where they part.
fn print_series(golden: &Value, record: &pipefill_core::record::RunRecord, start: u64) {
    for row in golden["series"]["rows"].as_array().expect("rows") {
        let t_us = start + row[0].as_u64().unwrap_or(0) * 1000;
        let sample = record
            .tcp
            .iter()
            .rfind(|sample| sample.t_us <= t_us && sample.end == pipefill_core::record::StreamEnd::Sender);
        let delivery = record.delivery.iter().rfind(|sample| sample.t_us <= t_us);
        let (Some(sample), Some(delivery)) = (sample, delivery) else { continue };
        println!(
            "t {:>6} received {:>10} / {:>10} cwnd {:>6} / {:>6} srtt {:>7} / {:>7} wnd {:>9} / {:>9} flight {} sndbuf {} {:?}",
            row[0],
            row[1],
            delivery.received_bytes,
            row[2],
            sample.info.cwnd_bytes / u64::from(sample.info.mss_bytes),
            row[3],
            sample.info.srtt_us.unwrap_or(0),
            row[4],
            sample.info.rwnd_bytes.unwrap_or(0),
            sample.info.in_flight_bytes / u64::from(sample.info.mss_bytes),
            sample.sndbuf_bytes.unwrap_or(0),
            sample.info.ca_state,
        );
    }
}

fn run(golden: &Value) -> Run {
    let number = |key: &str| golden[key].as_u64().expect("a number");
    let delay = Duration::from_micros(number("rtt_ms") * 500);
    let percent = golden["loss_percent"].as_f64().expect("a loss");
    let loss =
        if percent > 0.0 { LossSpec::Independent(Ratio::from_percent(percent)) } else { LossSpec::None };
    let direction = |bottleneck, loss| DirectionSpec {
        delay,
        jitter: None,
        delay_limit: None,
        loss,
        loss_unit: LossUnit::Segment,
        duplicate: Ratio::ZERO,
        reorder: Ratio::ZERO,
        bottleneck,
    };
    let bottleneck = BottleneckSpec {
        rate: Rate::from_bps(number("rate_bps")),
        queue: QueueLimit::Bytes(Bytes::new(number("queue_bytes"))),
        burst: Bytes::new(number("tbf_burst_bytes")),
    };
    let sizes = |key: &str| {
        let sizes: Vec<String> =
            golden[key].as_array().expect("sizes").iter().map(Value::to_string).collect();
        sizes.join(" ")
    };
    let host = HostSpec {
        congestion_control: golden["congestion_control"].as_str().expect("a name").to_owned(),
        sysctl: BTreeMap::from([
            ("net.ipv4.tcp_rmem".to_owned(), sizes("tcp_rmem")),
            ("net.ipv4.tcp_wmem".to_owned(), sizes("tcp_wmem")),
        ]),
    };
    let flow = FlowSpec {
        protocol: Protocol::Tcp,
        direction: Direction::Forward,
        start: Duration::ZERO,
        duration: Duration::from_secs(number("duration_s")),
        parallel: 1,
        bitrate: None,
        length: Bytes::new(262_144),
        read_rate: None,
        sndbuf: None,
        rcvbuf: None,
        max_pacing_rate: None,
        congestion_control: None,
    };
    let spec = CellSpec {
        path: PathSpec {
            forward: direction(Some(bottleneck), loss),
            reverse: direction(None, LossSpec::None),
        },
        sender: host.clone(),
        receiver: host,
        flows: vec![flow],
        run: RunSpec {
            repeat: 1,
            seed: number("seed"),
            sample: Duration::from_millis(10),
            warmup: None,
            capture: false,
        },
        expect: Vec::new(),
    };
    let cell = Cell { index: 0, id: format!("golden-{}", golden["cell"]), axes: Vec::new(), spec };
    let seed = Seed::new(number("seed")).derive(&cell.id);
    Run {
        experiment: "goldens".to_owned(),
        id: cell.id.clone(),
        directory: cell.id.clone(),
        cell,
        repeat: 1,
        seed,
    }
}
