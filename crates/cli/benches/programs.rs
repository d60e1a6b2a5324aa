//! Stock iperf3 behind a path, beside our own traffic on the same path and beside the simulator; and beside mahimahi's shells.
//!
//! 1. 24 cells of round trip, rate, loss, buffers and congestion control: `pipefill exec` with iperf3 against `pipefill run` with payload
//!    kept (to hold: a median difference of at most 3 %; each above 10 % is named), and against `run --on sim`.
//! 2. At 20 ms without a rate: iperf3 behind `pipefill exec` against iperf3 behind `mm-delay` (to hold: 10 times its rate).
//!
//! `cargo bench -p pipefill --bench programs`; some ten minutes. Needs iperf3; mahimahi where it is to be had.

use pipefill_testkit::goals::judge;
use serde_json::Value;
use std::error::Error;
use std::process::{Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::Duration;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Round trips with their rates.
const PATHS: [(&str, &str); 4] =
    [("5ms", "50mbit"), ("20ms", "100mbit"), ("50ms", "50mbit"), ("100ms", "20mbit")];
const CONTROLS: [&str; 2] = ["cubic", "bbr"];
/// Loss, and `tcp_rmem` where it is not the machine's.
const TROUBLES: [(&str, &str); 3] = [("0%", ""), ("0.5%", ""), ("0%", "4096 131072 256KiB")];
/// Median difference of goodput, and what has to be explained.
const MEDIAN: f64 = 0.03;
const LARGE: f64 = 0.10;
/// Of mahimahi's rate.
const TIMES: f64 = 10.0;

/// The same traffic as iperf3's: writes of 128 KiB for eight seconds after one that is left out.
const OWN: &str = "name = \"own\"\n[path]\npayload = \"kept\"\n[[flow]]\nduration = \"9s\"\nlength = \"128KiB\"\n[run]\nrepeat = 1\nwarmup = \"1s\"\n";

fn main() -> ExitCode {
    if !std::env::args().any(|argument| argument == "--bench") {
        return ExitCode::SUCCESS; // `cargo test` runs benches too; this one measures.
    }
    judge(|| -> Outcome<Vec<String>> {
        Ok(beside_our_own()?.into_iter().chain(beside_mahimahi()?).collect())
    })
}

/// The goal, where it is missed.
fn beside_our_own() -> Outcome<Option<String>> {
    println!("iperf3 behind pipefill exec, our own flow in the lab, the simulator: goodput in Mbit/s");
    let (mut lab, mut sim) = (Vec::new(), Vec::new());
    for ((rtt, rate), control) in PATHS.into_iter().flat_map(|path| CONTROLS.map(|control| (path, control))) {
        for (loss, rmem) in TROUBLES {
            let mut set =
                vec![format!("path.rtt={rtt}"), format!("path.rate={rate}"), format!("path.loss={loss}")];
            set.push(format!("host.congestion_control={control}"));
            set.extend((!rmem.is_empty()).then(|| format!("host.tcp_rmem={rmem}")));
            let words: Vec<&str> = set.iter().flat_map(|each| ["--set", each]).collect();
            // Where chance decides, the median of three.
            let times = if loss == "0%" { 1 } else { 3 };
            let [own, simulated] = ["lab", "sim"].map(|on| own(on, times, &words));
            let (own, simulated) = (own?, simulated?);
            let iperf3 = median_of(times, |seed| {
                let seed = format!("run.seed={seed}");
                behind_exec(&[&words[..], &["--set", &seed]].concat(), &["-t", "8", "-O", "1", "-C", control])
            })?;
            let (by_own, by_sim) = (iperf3 / own - 1.0, simulated / iperf3 - 1.0);
            println!(
                "  {rtt:>5} {rate:>7} {control:>5} loss {loss:>4} {:>6}: iperf3 {:6.2}, own {:6.2} ({:+5.1} %), sim {:6.2} ({:+5.1} %)",
                rmem.rsplit(' ').next().unwrap_or_default(),
                iperf3 / 1e6,
                own / 1e6,
                by_own * 100.0,
                simulated / 1e6,
                by_sim * 100.0
            );
            lab.push(by_own.abs());
            sim.push(by_sim.abs());
        }
    }
    let holds = tell("own flow", &lab);
    tell("simulator", &sim);
    Ok((!holds).then(|| "iperf3 beside our own flow".to_owned()))
}

fn tell(what: &str, differences: &[f64]) -> bool {
    let mut sorted = differences.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (median, large) = (sorted[sorted.len() / 2], sorted.iter().filter(|&&sample| sample > LARGE).count());
    println!(
        "  {what}: median difference {:.2} % (to hold: {:.0} %), {large} of {} above 10 %",
        median * 100.0,
        MEDIAN * 100.0,
        sorted.len()
    );
    median <= MEDIAN
}

/// Goodput of our own flow on a backend, bits per second.
fn own(on: &str, times: usize, words: &[&str]) -> Outcome<f64> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("own.toml");
    std::fs::write(&file, OWN)?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_pipefill"));
    command
        .arg("run")
        .arg(&file)
        .args(["--on", on, "--quiet", "--json", "--out"])
        .arg(folder.path().join("out"));
    command.args(["--repeat", &times.to_string()]);
    let report: Value = serde_json::from_slice(&command.args(words).output()?.stdout)?;
    report["cells"][0]["goodput_bps"].as_f64().ok_or_else(|| format!("no goodput on {on}: {report}").into())
}

fn median_of(times: usize, measure: impl Fn(usize) -> Outcome<f64>) -> Outcome<f64> {
    let mut all = (1..=times).map(measure).collect::<Outcome<Vec<f64>>>()?;
    all.sort_by(f64::total_cmp);
    Ok(all[all.len() / 2])
}

/// What iperf3's receiver got behind the path, bits per second.
fn behind_exec(words: &[&str], options: &[&str]) -> Outcome<f64> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pipefill"));
    command.args(["exec", "--quiet"]).args(words).args(["--server", "iperf3 -s -1 >/dev/null", "--"]);
    received(command.args(["iperf3", "-J", "-c", "{server}"]).args(options))
}

fn received(command: &mut Command) -> Outcome<f64> {
    let told: Value = serde_json::from_slice(&command.output()?.stdout)?;
    told["end"]["sum_received"]["bits_per_second"]
        .as_f64()
        .ok_or_else(|| format!("iperf3: {}", told["error"]).into())
}

/// The goal, where it is missed.
fn beside_mahimahi() -> Outcome<Option<String>> {
    println!("iperf3 at 20 ms without a rate, behind pipefill exec and behind mahimahi's mm-delay");
    if Command::new("mm-delay").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
        println!(
            "  skipped (program-missing: mm-delay; Debian 12 has no package mahimahi, neither binary nor source)"
        );
        return Ok(None);
    }
    let buffers = ["--set", "host.tcp_rmem=4096 131072 64MiB", "--set", "host.tcp_wmem=4096 16384 64MiB"];
    let ours = behind_exec(&[&["--rtt", "20ms"], &buffers[..]].concat(), &["-t", "5", "-O", "1"])?;
    let mut server = Command::new("iperf3").args(["-s", "-1"]).stdout(Stdio::null()).spawn()?;
    sleep(Duration::from_millis(500));
    let script = "exec iperf3 -J -c $MAHIMAHI_BASE -t 5 -O 1";
    let theirs = received(Command::new("mm-delay").args(["10", "sh", "-c", script]));
    let _ended = server.kill();
    server.wait()?;
    let theirs = theirs?;
    println!(
        "  pipefill {:.2} Gbit/s, mahimahi {:.2} Gbit/s: {:.1} times (to hold: {TIMES:.0})",
        ours / 1e9,
        theirs / 1e9,
        ours / theirs
    );
    Ok((ours < TIMES * theirs).then(|| format!("{TIMES} times mahimahi")))
}
