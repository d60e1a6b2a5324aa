//! What the emulated path and the traffic generator cost, as ratios measured in one run, alternating:
//!
//! 1. a single TCP flow through the emulator (10 and 100 ms, no rate limit), with zeros for payload and with payload kept, against the same
//!    flow over a plain veth pair (to hold: 0.55 and 0.50), in the last three seconds; with `PIPEFILL_NFQUEUE=0` as packets are copied;
//! 2. the generator against iperf3, TCP, over a plain veth pair;
//! 3. the highest loss-free UDP rate with 1448-byte datagrams, generator against iperf3, over a plain veth pair.
//!
//! Each generator of 2 and 3 with its own defaults (writes of 512 KiB against 128 KiB, a UDP receive buffer of 8 MiB against the
//! kernel's default), both with CUBIC.
//!
//! `cargo bench -p pipefill-lab --bench throughput`; needs iperf3.

mod flow;

use flow::Outcome;
use pipefill_core::cell::{DirectionSpec, FlowSpec, PathSpec, Payload, Protocol};
use pipefill_core::record::RunRecord;
use pipefill_core::record::ThreadRole;
use pipefill_core::units::{Bytes, Rate};
use pipefill_lab::Lab;
use pipefill_lab::hosts::{Host, Hosts};
use pipefill_lab::privilege::{Privilege, acquire};
use pipefill_testkit::goals::judge;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

/// Of what a plain veth pair carries, so much goes through the path at least: with zeros for payload, with payload kept.
const ZEROS_RATIO: f64 = 0.55;
const KEPT_RATIO: f64 = 0.50;
/// Round trips, each with the time that slow start and autotuning take there.
const ROUND_TRIPS: [(Duration, Duration); 2] = [
    (Duration::from_millis(10), Duration::from_millis(500)),
    (Duration::from_millis(100), Duration::from_secs(4)),
];
/// Alternating rounds of every comparison.
const ROUNDS: usize = 5;
const SPAN: Duration = Duration::from_secs(3);
/// Rates tried for UDP, Gbit/s.
const UDP_LADDER: [f64; 11] = [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0];
const DATAGRAM: u64 = 1448;

fn main() -> ExitCode {
    if !std::env::args().any(|argument| argument == "--bench") {
        return ExitCode::SUCCESS; // `cargo test` runs benches too; this one measures.
    }
    // A user namespace can be entered by a single thread alone: before what watches the machine has its own.
    let privilege = acquire();
    judge(|| measure(privilege?))
}

/// The goals that were missed.
fn measure(privilege: Privilege) -> Outcome<Vec<String>> {
    let lab = Lab::new(privilege);
    let missed = path_against_plain_veth(&lab)?;
    if Command::new("iperf3").arg("--version").stdout(Stdio::null()).status().is_err() {
        return Err("iperf3 is not installed: apt-get install iperf3".into());
    }
    tcp_against_iperf3(&lab)?;
    udp_against_iperf3(&lab)?;
    Ok(missed)
}

/// The goals that were missed.
fn path_against_plain_veth(lab: &Lab) -> Outcome<Vec<String>> {
    println!("single TCP flow, Reno, no rate limit, {ROUNDS} alternating rounds, the last {SPAN:?} of each");
    let kinds = [("zeros", Payload::Zeros, ZEROS_RATIO), ("payload kept", Payload::Kept, KEPT_RATIO)];
    let ways: Vec<_> =
        ROUND_TRIPS.iter().flat_map(|round_trip| kinds.iter().map(move |kind| (round_trip, kind))).collect();
    let (mut plain, mut through) = (Vec::new(), vec![Vec::new(); ways.len()]);
    for _ in 0..ROUNDS {
        for (((rtt, before), (_, payload, _)), measured) in ways.iter().zip(&mut through) {
            let record = run(lab, *rtt, *payload, &reno(*before + SPAN))?;
            measured.push(Measured::of(&record));
        }
        plain.push(Measured::of(&run(lab, Duration::ZERO, Payload::Zeros, &reno(SPAN))?).goodput_bps);
    }
    show("plain veth", &plain);
    let mut missed = Vec::new();
    for (((rtt, _), (name, _, least)), measured) in ways.iter().zip(&through) {
        let of = |figure: fn(&Measured) -> f64| measured.iter().map(figure).collect::<Vec<f64>>();
        let rates = of(|each| each.goodput_bps);
        show(&format!("path, {rtt:?}, {name}, {}", measured[0].data_path), &rates);
        let ratio = ratio(&rates, &plain);
        let cores = median(&of(|each| each.path_cores));
        let late_us = median(&of(|each| each.late_p99_us));
        println!(
            "  ratio {ratio:.2} (to hold: {least:.2}); the path's threads took {cores:.2} cores, {:.1} ms of CPU for a Gbit; 99 % of the packets left at most {late_us:.0} µs late\n",
            cores * 1e12 / median(&rates)
        );
        missed
            .extend((ratio < *least).then(|| format!("{least} of plain veth, {rtt:?}, {name}: {ratio:.2}")));
    }
    Ok(missed)
}

/// What a run through the path shows.
#[derive(Clone)]
struct Measured {
    /// In its last [`SPAN`].
    goodput_bps: f64,
    /// CPU of the path's threads, in cores, in all of the time.
    path_cores: f64,
    /// Of the data's direction.
    late_p99_us: f64,
    data_path: String,
}

impl Measured {
    fn of(record: &RunRecord) -> Self {
        let late = record.manifest.instrument.release_lateness_forward.as_ref();
        Self {
            goodput_bps: steady_goodput(record),
            path_cores: path_cores(record),
            late_p99_us: late.map_or(0.0, |late| late.p99_ns as f64 / 1e3),
            data_path: record.manifest.environment.data_path.clone().unwrap_or_default(),
        }
    }
}

/// Bytes that the receiver read in the last [`SPAN`], in bits/s.
fn steady_goodput(record: &RunRecord) -> f64 {
    let Some(last) = record.delivery.last() else { return 0.0 };
    let begins_us = last.t_us.saturating_sub(SPAN.as_micros() as u64);
    let first = record.delivery.iter().find(|sample| sample.t_us >= begins_us).unwrap_or(last);
    let bits = last.received_bytes.saturating_sub(first.received_bytes) as f64 * 8.0;
    bits * 1e6 / last.t_us.saturating_sub(first.t_us).max(1) as f64
}

/// A bulk flow that fills the path soon: HyStart, which CUBIC has, ends slow start at any late ACK.
fn reno(duration: Duration) -> FlowSpec {
    FlowSpec { congestion_control: Some("reno".to_owned()), ..flow::tcp(duration) }
}

fn tcp_against_iperf3(lab: &Lab) -> Outcome<()> {
    println!("TCP over a plain veth pair, {ROUNDS} alternating rounds of {SPAN:?}");
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(goodput(&run(lab, Duration::ZERO, Payload::Zeros, &flow::tcp(SPAN))?));
        theirs.push(iperf3(&[])?.0);
    }
    show("pipefill", &ours);
    show("iperf3", &theirs);
    println!("  ratio {:.2} (to hold: 1.0)\n", ratio(&ours, &theirs));
    Ok(())
}

fn udp_against_iperf3(lab: &Lab) -> Outcome<()> {
    println!("UDP, {DATAGRAM}-byte datagrams, plain veth pair: rate received, and share lost");
    let (mut ours, mut theirs) = (0.0_f64, 0.0_f64);
    for gbit in UDP_LADDER {
        let rate = Rate::from_bps((gbit * 1e9) as u64);
        let record = run(lab, Duration::ZERO, Payload::Zeros, &udp_flow(rate))?;
        let (own, own_lost) = (goodput(&record), udp_lost(&record));
        let length = DATAGRAM.to_string();
        let (their, their_lost) = iperf3(&["-u", "-b", &rate.bps().to_string(), "-l", &length])?;
        println!(
            "  asked {gbit:.1} G: pipefill {:.2} G, lost {own_lost}; iperf3 {:.2} G, lost {their_lost}",
            own / 1e9,
            their / 1e9
        );
        ours = if own_lost == 0 { ours.max(own) } else { ours };
        theirs = if their_lost == 0 { theirs.max(their) } else { theirs };
    }
    println!("  highest loss-free: pipefill {:.2} G, iperf3 {:.2} G", ours / 1e9, theirs / 1e9);
    match theirs {
        0.0 => println!("  ratio: none, iperf3 lost datagrams at every rate tried (to hold: 1.0)"),
        _ => println!("  ratio {:.2} (to hold: 1.0)", ours / theirs),
    }
    Ok(())
}

/// Goodput and lost datagrams of one iperf3 run between two fresh hosts.
fn iperf3(extra: &[&str]) -> Outcome<(f64, u64)> {
    let hosts = Hosts::plain()?;
    let mut server = hosts.spawn(
        Host::Receiver,
        Command::new("iperf3").args(["-s", "-1"]).stdout(Stdio::null()).stderr(Stdio::null()),
    )?;
    std::thread::sleep(Duration::from_millis(300));
    let seconds = SPAN.as_secs().to_string();
    let client = hosts.spawn(
        Host::Sender,
        Command::new("iperf3")
            .args(["-c", &Host::Receiver.address().to_string(), "-J", "-C", "cubic", "-t", &seconds])
            .args(extra)
            .stdout(Stdio::piped()),
    )?;
    let output = client.wait_with_output()?;
    server.wait()?;
    let json: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let sums = &json["end"];
    if extra.contains(&"-u") {
        let (rate, lost) = (&sums["sum"]["bits_per_second"], &sums["sum"]["lost_packets"]);
        let share = 1.0 - sums["sum"]["lost_percent"].as_f64().unwrap_or(100.0) / 100.0;
        return Ok((
            rate.as_f64().ok_or("iperf3 gave no rate")? * share,
            lost.as_u64().ok_or("iperf3 gave no loss")?,
        ));
    }
    Ok((sums["sum_received"]["bits_per_second"].as_f64().ok_or("iperf3 gave no rate")?, 0))
}

fn run(lab: &Lab, rtt: Duration, payload: Payload, flow: &FlowSpec) -> Outcome<RunRecord> {
    let direction = DirectionSpec { delay: rtt / 2, ..DirectionSpec::EMPTY };
    let sysctl =
        [("net.ipv4.tcp_rmem", "4096 131072 1073741824"), ("net.ipv4.tcp_wmem", "4096 16384 1073741824")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
    let path = PathSpec { forward: direction.clone(), reverse: direction, payload, ..PathSpec::EMPTY };
    flow::run(lab, path, sysctl, flow.clone(), Duration::from_millis(100))
}

fn udp_flow(rate: Rate) -> FlowSpec {
    FlowSpec { protocol: Protocol::Udp, bitrate: Some(rate), length: Bytes::new(DATAGRAM), ..flow::tcp(SPAN) }
}

/// Bytes that the receiver read over the whole flow, in bits/s.
fn goodput(record: &RunRecord) -> f64 {
    let bytes: u64 = record.manifest.streams.iter().map(|stream| stream.received_bytes).sum();
    bytes as f64 * 8.0 / SPAN.as_secs_f64()
}

fn udp_lost(record: &RunRecord) -> u64 {
    record.manifest.streams.iter().filter_map(|stream| stream.udp).map(|udp| udp.sent - udp.received).sum()
}

/// CPU of the emulator's threads, in cores, while the flow ran.
fn path_cores(record: &RunRecord) -> f64 {
    let threads =
        record.manifest.instrument.threads.iter().filter(|cpu| matches!(cpu.thread, ThreadRole::Path(_)));
    let span =
        record.manifest.run.cell.spec.flows.iter().map(|flow| flow.duration.as_secs_f64()).sum::<f64>();
    threads.map(|cpu| (cpu.user_us + cpu.system_us) as f64).sum::<f64>() / 1e6 / span
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

fn ratio(a: &[f64], b: &[f64]) -> f64 {
    median(a) / median(b)
}

fn show(what: &str, bps: &[f64]) {
    let each: Vec<String> = bps.iter().map(|bps| format!("{:.1}", bps / 1e9)).collect();
    println!("  {what}: median {:.1} Gbit/s (rounds: {})", median(bps) / 1e9, each.join(", "));
}
