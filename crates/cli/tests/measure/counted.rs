//! Captures at the sender on this machine's kernel: what their packets tell of the socket, beside what the socket told.

mod agreement;

use crate::measuring::{Outcome, Test, is_quiet, lab, names, report, slow_test};
use agreement::{Agreement, follow};
use pipefill_core::record::{StreamEnd, TcpSample};
use pipefill_store::decode_table;
use std::fs::File;

/// Path, host, flow.
const SCENARIOS: [[&str; 3]; 26] = [
    ["rtt = \"20ms\"\nrate = \"20mbit\"\nloss = \"1%\"", "", ""],
    ["rtt = \"20ms\"\nrate = \"20mbit\"\nqueue = \"20p\"", "", "parallel = 2"],
    ["rtt = \"20ms\"\nrate = \"20mbit\"\nqueue = \"0.5bdp\"", "", ""],
    ["rtt = \"20ms\"\nrate = \"20mbit\"\nloss = \"1%\"", "congestion_control = \"bbr\"", ""],
    ["rtt = \"10ms\"\nrate = \"20mbit\"\nloss = \"0.5%\"", "congestion_control = \"reno\"", ""],
    ["rtt = \"20ms\"\nrate = \"20mbit\"\njitter = \"3ms\"\njitter_reorder = true", "", ""],
    ["rtt = \"20ms\"\nrate = \"20mbit\"\nloss = \"5%\"", "", ""],
    ["rtt = \"10ms\"\nrate = \"40mbit\"\nloss = \"0.2%\"", "", ""],
    ["rtt = \"40ms\"\nrate = \"20mbit\"\nloss = \"gilbert-elliott p=0.3% r=15%\"", "", ""],
    ["rtt = \"30ms\"\nrate = \"20mbit\"\nreorder = \"2%\"", "", ""],
    ["rtt = \"50ms\"\nrate = \"20mbit\"\nqueue = \"1bdp\"", "", ""],
    ["rtt = \"20ms\"\nrate = \"30mbit\"\nqueue = \"40p\"", "", "parallel = 4"],
    ["rtt = \"20ms\"\nrate = \"20mbit\"\nqueue = \"30p\"", "congestion_control = \"reno\"", ""],
    ["rtt = \"20ms\"\nrate = \"20mbit\"\nqueue = \"30p\"", "congestion_control = \"bbr\"", ""],
    ["rtt = \"30ms\"\nrate = \"20mbit\"\nreorder = \"2%\"\nloss = \"1%\"", "", ""],
    ["rtt = \"30ms\"\nrate = \"20mbit\"\njitter = \"5ms\"\njitter_reorder = true\nloss = \"0.5%\"", "", ""],
    ["rtt = \"30ms\"\nrate = \"20mbit\"\nreorder = \"2%\"", "congestion_control = \"bbr\"", ""],
    ["rtt = \"20ms\"\nrate = \"20mbit\"\nloss = \"1%\"\nreverse_loss = \"5%\"", "", ""],
    ["rtt = \"20ms\"\nrate = \"20mbit\"\nloss = \"1%\"\nfamily = \"ipv6\"", "", ""],
    ["rtt = \"20ms\"\nrate = \"20mbit\"\nloss = \"1%\"\nmtu = 9000", "", ""],
    ["rtt = \"20ms\"\nrate = \"20mbit\"\nloss = \"1%\"", "sysctl.\"net.ipv4.tcp_timestamps\" = \"0\"", ""],
    ["rtt = \"20ms\"\nrate = \"20mbit\"\nloss = \"1%\"", "tcp_rmem = \"4096 65536 65536\"", ""],
    ["rtt = \"20ms\"\nrate = \"20mbit\"\nloss = \"1%\"", "tcp_wmem = \"4096 16384 65536\"", ""],
    ["rtt = \"20ms\"\nrate = \"20mbit\"\nduplicate = \"1%\"\nloss = \"1%\"", "", ""],
    ["rtt = \"20ms\"\nrate = \"20mbit\"\nloss = \"1%\"", "", "bitrate = \"5mbit\""],
    ["rtt = \"10ms\"\nrate = \"20mbit\"\nloss = \"1%\"", "gso = false\ngro = false", "parallel = 3"],
];

/// So many are run unless `PIPEFILL_CAPTURE_RUNS` says how many. Those with `reorder` agree in 99.2 to 99.8 % of the samples.
const USUAL: usize = 6;
/// Share of the samples in which each figure agrees.
const SHARE: f64 = 0.99;

pub(crate) fn tests() -> Vec<Test> {
    let runs =
        std::env::var("PIPEFILL_CAPTURE_RUNS").map_or(USUAL, |runs| runs.parse().expect("a number of runs"));
    let tests = SCENARIOS.into_iter().enumerate().take(runs).map(|(at, scenario)| {
        slow_test(format!("packets_tell_what_the_socket_told_{at:02}"), move || agree(at, scenario))
    });
    tests.collect()
}

fn agree(at: usize, [path, host, flow]: [&str; 3]) -> Outcome {
    let folder = lab()?;
    let packets = if at.is_multiple_of(2) { "kept" } else { "split" };
    let text = format!(
        "name = \"counted\"\n[path]\n{path}\n[host]\n{host}\n[[flow]]\nduration = \"3s\"\n{flow}\n[run]\nrepeat = 1\n\
         sample = \"2ms\"\ncapture = true\ncapture_packets = \"{packets}\"\n"
    );
    folder.write("counted.toml", &text);
    report(&folder, &["counted.toml"])?;
    let runs = folder.path("lab/runs");
    let run = runs.join(&names(&runs)[0]);
    let capture = follow(&run.join("artifacts/sender.pcapng"));
    let rows = decode_table::<TcpSample>(File::open(run.join("tcp.jsonl.zst")).unwrap()).unwrap();
    let mut wrong = Vec::new();
    for (stream, states) in (0..).zip(&capture.connections) {
        let mut agreement = Agreement::default();
        let of_sender = |row: &&TcpSample| row.end == StreamEnd::Sender && row.stream == stream;
        rows.iter().filter(of_sender).for_each(|row| agreement.push(row, capture.zero_ns, states));
        println!(
            "{at:02} {packets} stream {stream}: {agreement}; {}",
            [path, host, flow].join(", ").replace('\n', ", ")
        );
        if !agreement.counts_hold(SHARE) || (is_quiet() && !agreement.round_trips_hold(SHARE)) {
            wrong.push(format!("stream {stream}: {agreement}"));
        }
    }
    assert!(!capture.connections.is_empty() && wrong.is_empty(), "{wrong:?}");
    Ok(())
}
