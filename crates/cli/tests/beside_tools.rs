//! Retransmissions of every flow, beside what tcptrace and tshark count in the same captures: simulated ones, and where the lab runs also its.

mod measuring;

use measuring::namespace::installed;
use measuring::{Folder, Outcome, lab, names, report, run, slow_test, test};
use pipefill_capture::read::Reader;
use pipefill_capture::tcp::{Connection, Event, Observer, Reconstruction};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Path, host, flow.
const SCENARIOS: [[&str; 3]; 12] = [
    ["loss = \"1%\"", "", ""],
    ["loss = \"20%\"", "", ""],
    ["loss = \"gilbert-elliott p=0.3% r=15%\"", "", ""],
    ["queue = \"20p\"", "", "parallel = 2"],
    ["queue = \"30p\"", "congestion_control = \"bbr\"", ""],
    ["reorder = \"2%\"", "", ""],
    ["jitter = \"5ms\"\njitter_reorder = true", "", ""],
    ["reorder = \"2%\"\nloss = \"1%\"", "congestion_control = \"reno\"", ""],
    ["loss = \"1%\"\nreverse_loss = \"30%\"", "", ""],
    ["loss = \"1%\"\nfamily = \"ipv6\"", "", ""],
    ["loss = \"20%\"", "", "bitrate = \"100kbit\"\nlength = \"6000B\""],
    ["loss = \"2%\"", "sysctl.\"net.ipv4.tcp_timestamps\" = \"0\"", ""],
];
/// Of these, the lab's.
const MEASURED: [usize; 4] = [0, 3, 5, 7];

fn main() -> ExitCode {
    let simulated = test("simulated_captures_beside_tcptrace_and_tshark", simulated);
    let measured = MEASURED.map(|at| {
        slow_test(format!("measured_captures_beside_tcptrace_and_tshark_{at}"), move || {
            measured(SCENARIOS[at])
        })
    });
    run([("beside_tools", [simulated].into_iter().chain(measured).collect())])
}

fn text([path, host, flow]: [&str; 3], packets: &str) -> String {
    format!(
        "name = \"beside\"\n[path]\nrtt = \"20ms\"\nrate = \"20mbit\"\n{path}\n[host]\n{host}\n[[flow]]\nduration = \"3s\"\n{flow}\n\
         [run]\nrepeat = 1\ncapture = true\ncapture_packets = \"{packets}\"\n"
    )
}

fn simulated() -> Outcome {
    installed(&["tcptrace", "tshark"])?;
    for (at, scenario) in SCENARIOS.into_iter().enumerate() {
        let folder = Folder::new();
        folder.write("beside.toml", &text(scenario, if at.is_multiple_of(2) { "split" } else { "kept" }));
        folder.pipefill(&["run", "beside.toml", "--on", "sim", "--out", "sim", "--quiet"]).assert().success();
        compare(&capture(&folder, "sim"), scenario);
    }
    Ok(())
}

fn measured(scenario: [&str; 3]) -> Outcome {
    installed(&["tcptrace", "tshark"])?;
    let folder = lab()?;
    folder.write("beside.toml", &text(scenario, "kept"));
    report(&folder, &["beside.toml"])?;
    compare(&capture(&folder, "lab"), scenario);
    Ok(())
}

fn capture(folder: &Folder, experiment: &str) -> PathBuf {
    let runs = folder.path(experiment).join("runs");
    runs.join(&names(&runs)[0]).join("artifacts/sender.pcapng")
}

/// By the sender's port: packets that were sent again, and the segments in them.
#[derive(Default)]
struct Again(BTreeMap<u16, [u32; 2]>);

impl Observer for Again {
    fn segment(&mut self, connection: &Connection, event: &Event) {
        if event.payload > 0 {
            let [packets, segments] = self.0.entry(connection.endpoint(event.side).port).or_default();
            *packets += u32::from(event.kind.is_retransmit());
            *segments += if event.kind.is_retransmit() { event.segments } else { 0 };
        }
    }
}

fn compare(file: &Path, scenario: [&str; 3]) {
    let mut reader = Reader::open(File::open(file).unwrap()).unwrap();
    let (mut reconstruction, mut again) = (Reconstruction::default(), Again::default());
    while let Some(packet) = reader.next_packet().unwrap() {
        reconstruction.push(&packet, &mut again);
    }
    let (by_tcptrace, by_tshark) = (tcptrace(file), tshark(file));
    for (port, [packets, segments]) in again.0 {
        let tcptrace = by_tcptrace.get(&port).copied().unwrap_or(0);
        let [retransmissions, out_of_order] = by_tshark.get(&port).copied().unwrap_or_default();
        println!(
            "{segments} segments in {packets} packets; tcptrace {tcptrace}; tshark {retransmissions} and {out_of_order} out of order; {}",
            scenario.join(" ").replace('\n', " ")
        );
        assert!(packets > 0, "{scenario:?} loses nothing");
        assert_eq!(
            (packets, packets),
            (tcptrace, retransmissions + out_of_order),
            "{scenario:?} port {port}"
        );
    }
}

/// `rexmt data pkts` by the port of host a, which opened the connection.
fn tcptrace(file: &Path) -> BTreeMap<u16, u32> {
    let output = Command::new("tcptrace").args(["-l", "-n"]).arg(file).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    // host c:  10.77.0.1:32769 is the second one's, and rexmt data pkts:  15 that of its first host.
    let word = |part: &str, label: &str, at: usize| -> Option<String> {
        Some(part.split_once(label)?.1.split_whitespace().nth(at)?.to_owned())
    };
    let connections = text.split("\nTCP connection ").filter_map(|part| {
        let port = word(part, "host ", 1)?.rsplit(':').next()?.parse().ok()?;
        Some((port, word(part, "rexmt data pkts:", 0)?.parse().ok()?))
    });
    connections.collect()
}

/// Data that tshark calls a retransmission, and data that it calls out of order, by the sender's port.
fn tshark(file: &Path) -> BTreeMap<u16, [u32; 2]> {
    let mut counts: BTreeMap<u16, [u32; 2]> = BTreeMap::new();
    for (at, kind) in ["retransmission", "out_of_order"].into_iter().enumerate() {
        let wanted = format!("tcp.analysis.{kind} && tcp.len > 0");
        let command = ["-T", "fields", "-e", "tcp.srcport", "-Y", &wanted, "-r"];
        let output = Command::new("tshark").args(command).arg(file).output().unwrap();
        for port in String::from_utf8_lossy(&output.stdout).lines() {
            counts.entry(port.parse().unwrap()).or_default()[at] += 1;
        }
    }
    counts
}
