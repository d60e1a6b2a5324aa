//! What the emulated path and the traffic generator cost, as ratios measured in one run, alternating:
//!
//! 1. a single TCP flow through the emulator (10 ms, no rate limit), with zeros for payload and with payload kept, against the same flow
//!    over a plain veth pair (to hold: 0.45 and 0.22);
//! 2. the generator against iperf3, TCP, over a plain veth pair;
//! 3. the highest loss-free UDP rate with 1448-byte datagrams, generator against iperf3, over a plain veth pair.
//!
//! Each generator with its own defaults (writes of 512 KiB against 128 KiB, a UDP receive buffer of 8 MiB against the
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
use pipefill_testkit::goals::judge;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

/// Of what a plain veth pair carries, so much goes through the path at least: with zeros for payload, with payload kept.
const ZEROS_RATIO: f64 = 0.45;
const KEPT_RATIO: f64 = 0.22;
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
    judge(measure)
}

/// The goals that were missed.
fn measure() -> Outcome<Vec<String>> {
    let lab = Lab::new(pipefill_lab::privilege::acquire()?);
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
    println!("single TCP flow, CUBIC, no rate limit, {ROUNDS} alternating rounds of {SPAN:?}");
    let kinds = [("zeros", Payload::Zeros, ZEROS_RATIO), ("payload kept", Payload::Kept, KEPT_RATIO)];
    let (mut through, mut plain, mut cores) =
        ([Vec::new(), Vec::new()], Vec::new(), [Vec::new(), Vec::new()]);
    for _ in 0..ROUNDS {
        for (place, (_, payload, _)) in kinds.iter().enumerate() {
            let record = run(lab, Duration::from_millis(10), *payload, &flow::tcp(SPAN))?;
            through[place].push(goodput(&record));
            cores[place].push(path_cores(&record));
        }
        plain.push(goodput(&run(lab, Duration::ZERO, Payload::Zeros, &flow::tcp(SPAN))?));
    }
    show("plain veth", &plain);
    let mut missed = Vec::new();
    for (place, (name, _, least)) in kinds.iter().enumerate() {
        show(&format!("path, 10 ms RTT, {name}"), &through[place]);
        let ratio = ratio(&through[place], &plain);
        let cores = median(&cores[place]);
        println!("  ratio {ratio:.2} (to hold: {least:.2}); the path's threads took {cores:.2} cores\n");
        missed.extend((ratio < *least).then(|| format!("{least} of plain veth, {name}: {ratio:.2}")));
    }
    Ok(missed)
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
        [("net.ipv4.tcp_rmem", "4096 131072 67108864"), ("net.ipv4.tcp_wmem", "4096 16384 67108864")]
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

/// CPU of the emulator's threads, in cores.
fn path_cores(record: &RunRecord) -> f64 {
    let threads =
        record.manifest.instrument.threads.iter().filter(|cpu| matches!(cpu.thread, ThreadRole::Path(_)));
    threads.map(|cpu| (cpu.user_us + cpu.system_us) as f64).sum::<f64>() / 1e6 / SPAN.as_secs_f64()
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
