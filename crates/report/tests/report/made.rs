//! A synthetic experiment for pages and pictures: two round trips, under a title that would be markup somewhere.
#![allow(dead_code, unreachable_pub, reason = "test support, shared by several test crates")]

use pipefill_analysis::findings::experiment::{Experiment, ExperimentBuilder};
use pipefill_analysis::findings::finding::Advice;
use pipefill_analysis::findings::fix::{End, Proof, Round};
use pipefill_analysis::findings::paired_runs::Comparison;
use pipefill_analysis::findings::series::Drawing;
use pipefill_core::cell::{Direction, FlowSpec, PingSpec, Protocol};
use pipefill_core::record::{PingSample, RunRecord};
use pipefill_core::units::Bytes;
use pipefill_report::html::RunPart;
use pipefill_report::words::complete_experiment;
use pipefill_testkit::builder::{Steady, cell, flow, plan, record, run, spec};
use std::time::Duration;

pub const HURT: &str = "</script><script>hurt()</script> & \"it's\"";

/// So many runs of each cell, each somewhat faster than the one before, and 80 Mbit/s in the middle.
pub fn experiment(repeats: u32) -> (Experiment, Vec<RunPart>) {
    let cells = [("0ms", 0), ("100ms", 100)];
    let cells: Vec<_> = cells
        .iter()
        .enumerate()
        .map(|(index, &(rtt, ms))| cell(index, &[("path.rtt", rtt)], spec(Protocol::Tcp, ms)))
        .collect();
    let mut plan = plan(cells.clone());
    plan.title = Some(HURT.to_owned());
    let mut builder = ExperimentBuilder::new(plan);
    let mut parts = Vec::new();
    for cell in &cells {
        for repeat in 1..=repeats {
            let rate_bps = 80_000_000 + 2_000_000 * u64::from(repeat) - 1_000_000 * u64::from(repeats + 1);
            let record = record(run(cell, repeat), &[Steady { rate_bps, ..Steady::default() }]);
            parts.push(part(&record));
            builder.add(&record).unwrap();
        }
    }
    (complete_experiment(builder.finish(), "pipefill run synthetic.toml"), parts)
}

/// One run of TCP and UDP to the receiver, TCP back, and pings, half of which are sent before the others begin. The path is limited one way.
pub fn mixed() -> (Experiment, Vec<RunPart>) {
    let mut spec = spec(Protocol::Tcp, 10);
    let directed = |protocol, direction| FlowSpec { direction, ..flow(protocol) };
    spec.flows.push(directed(Protocol::Udp, Direction::Forward));
    spec.flows.push(directed(Protocol::Tcp, Direction::Reverse));
    spec.flows.push(directed(Protocol::Ping, Direction::Forward));
    spec.flows[3].ping =
        Some(PingSpec { payloads: vec![Bytes::new(56)], interval: Duration::from_millis(100) });
    let cell = cell(0, &[], spec);
    let stream = |flow, rate_bps| Steady { flow, rate_bps, ..Steady::default() };
    let streams = [stream(0, 800_000_000), stream(1, 10_000_000), stream(2, 20_000_000), stream(3, 0)];
    let mut record = record(run(&cell, 1), &streams);
    record.manifest.streams[..3].iter_mut().for_each(|stream| stream.start_us = 1_000_000);
    let ping = |number: u64| PingSample {
        t_us: number * 100_000,
        stream: 3,
        number,
        payload_bytes: 56,
        reply_bytes: 56,
        rtt_ns: Some(if number < 10 { 10_100_000 } else { 12_000_000 + number * 10_000 }),
    };
    record.ping = (0..90).map(ping).collect();
    let mut builder = ExperimentBuilder::new(plan(vec![cell]));
    builder.add(&record).unwrap();
    (complete_experiment(builder.finish(), "pipefill run synthetic.toml"), vec![part(&record)])
}

fn part(record: &RunRecord) -> RunPart {
    let mut drawing = Drawing::of(&record.manifest, 100);
    record.rows().iter().for_each(|row| drawing.push(row));
    record.ping.iter().for_each(|row| drawing.answer(row));
    let (settings, instrument) = (record.manifest.settings.clone(), record.manifest.instrument.clone());
    RunPart { series: drawing.finish(), settings, instrument }
}

/// A change of the first cell that doubled its goodput, as predicted.
pub fn proof(experiment: &Experiment) -> Proof {
    let cell = &experiment.cells[0];
    let advice = Advice {
        change: "receiver.tcp_rmem=\"4096 131072 <32MiB>\"".to_owned(),
        set: vec!["receiver.tcp_rmem=1".to_owned()],
        commands: Vec::new(),
        why: "because".to_owned(),
        predicted_bps: Some(160_000_000),
        ..Advice::default()
    };
    let pairs = [(80_000_000, 159_000_000), (80_500_000, 160_000_000), (81_000_000, 161_000_000)];
    let comparison = Comparison::of(&pairs, 3);
    let round = Round { comparison, kept: true, ..Round::of(Vec::new(), advice, cell, cell) };
    Proof {
        index: cell.index,
        id: cell.id.clone(),
        axes: cell.axes.clone(),
        backend: cell.backend.clone().unwrap(),
        set: round.advice.set.clone(),
        rounds: vec![round],
        path_goodput_bps: Some(200_000_000),
        end: End::NothingLeft,
        why: None,
        repeat_command: "pipefill fix DIR".to_owned(),
    }
}
