//! A connection whose bottleneck others share, judged by its own socket alone, as `watch` and `exec` do.

use crate::pipefill::Folder;
use pipefill_analysis::findings::connections::{
    Connection, ConnectionCpu, ConnectionPackets, judge_together,
};
use pipefill_analysis::findings::verdict::VerdictReason;
use pipefill_core::limit::{CwndCause, LimitedBy};
use pipefill_core::record::{Observed, StreamEnd, TcpSample};
use pipefill_report::words::verdict_sentence;
use pipefill_store::RecordReader;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// Each of these has the path for itself for 5 s, and shares it for 5 s with another one like it.
const SHARED: &str = r#"
name = "sharers"
[path]
rtt = ["10ms", "40ms", "80ms"]
rate = ["20mbit", "100mbit"]
[host]
tcp_rmem = "4096 131072 64MiB"
tcp_wmem = "4096 16KiB 64MiB"
[[flow]]
duration = "10s"
[[flow]]
start = "5s"
duration = "5s"
[run]
warmup = "0s"
repeat = 1
"#;

/// Slow start overflows the queue of the data once, and then 50 kbit/s carry the ACKs.
const SLOW_WAY_BACK: &str = r#"
name = "slow"
[path]
rtt = ["20ms", "40ms"]
rate = ["20mbit", "50mbit"]
queue = ["0.5bdp", "1bdp"]
reverse_rate = "50kbit"
reverse_queue = "200p"
[host]
tcp_rmem = "4096 131072 64MiB"
tcp_wmem = "4096 16KiB 64MiB"
[[flow]]
duration = "8s"
[run]
warmup = "0s"
repeat = 1
"#;

/// What is found of the first flow of a run by its own socket.
struct RunVerdict {
    run: String,
    limited_by: Option<LimitedBy>,
    cwnd_cause: Option<CwndCause>,
    verdict: String,
}

/// Of each cell of `scenario` in the simulator with `sets`, whose first flow is `planned` with all facts.
fn verdicts(scenario: &str, planned: &str, sets: &[&str]) -> Vec<RunVerdict> {
    let folder = Folder::new();
    folder.write("sharers.toml", scenario);
    let sets = sets.iter().flat_map(|&set| ["--set", set]);
    let words: Vec<&str> =
        ["run", "sharers.toml", "--on", "sim", "--out", "o", "--quiet"].into_iter().chain(sets).collect();
    assert!(folder.pipefill(&words).output().unwrap().status.success());
    let report = folder.pipefill(&["report", "o", "--format", "json"]).output().unwrap();
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    for cell in report["cells"].as_array().unwrap() {
        assert_eq!(cell["flows"][0]["limited_by"], planned, "with all facts: {cell:#}");
    }
    let runs = std::fs::read_dir(folder.path("o/runs")).unwrap();
    runs.map(|run| judged_alone(&run.unwrap().path())).collect()
}

fn judged_alone(directory: &Path) -> RunVerdict {
    let record = RecordReader::open(directory).unwrap().expect("a record");
    let samples = record.table::<TcpSample>().unwrap().map(Result::unwrap);
    let samples: Vec<TcpSample> =
        samples.filter(|sample| sample.stream == 0 && sample.end == StreamEnd::Sender).collect();
    let connection = Connection {
        observed: Observed::default(),
        congestion_control: record.manifest().run.cell.spec.sender.congestion_control.clone(),
        offered: None,
        every: Duration::from_millis(10),
        samples: &samples,
        peer_samples: &[],
        packets: ConnectionPackets::default(),
        exact: None,
        cpu: ConnectionCpu::default(),
    };
    let flow = judge_together(&[connection]).0.remove(0).remove(0).flow;
    RunVerdict {
        run: directory.display().to_string(),
        limited_by: flow.verdict.limited_by,
        cwnd_cause: flow.verdict.cwnd_cause,
        verdict: match flow.verdict.reason {
            Some(VerdictReason::Judged(judged)) => verdict_sentence(&judged),
            _ => String::new(),
        },
    }
}

#[test]
fn a_queue_that_overflows_is_the_paths_whoever_fills_it() {
    for congestion_control in ["cubic", "reno"] {
        let set = format!("host.congestion_control={congestion_control}");
        let all = verdicts(SHARED, "path", &[&set, "path.queue=[1bdp,2bdp]"]);
        for RunVerdict { run, limited_by, verdict, .. } in &all {
            assert_eq!(*limited_by, Some(LimitedBy::Path), "{congestion_control} {run}: {verdict}");
        }
        // Of a slow one the second connection takes little in 5 s.
        let told = all.iter().filter(|run| run.verdict.contains("others share")).count();
        let verdicts: Vec<&str> = all.iter().map(|found| found.verdict.as_str()).collect();
        assert!(2 * told >= all.len(), "{congestion_control}: {told} of {}: {verdicts:#?}", all.len());
    }
}

/// BBR fills a deep queue without a loss: then nothing tells others at the bottleneck from ACKs that wait.
#[test]
fn a_queue_that_loses_nothing_may_be_that_of_the_acks() {
    let all = verdicts(SHARED, "path", &["host.congestion_control=bbr", "path.queue=4bdp"]);
    let is_open = |run: &&RunVerdict| run.limited_by == Some(LimitedBy::Cwnd) && run.cwnd_cause.is_none();
    for RunVerdict { run, verdict, .. } in all.iter().filter(is_open) {
        assert!(verdict.contains("or ACKs wait"), "{run}: {verdict}");
    }
    for RunVerdict { run, limited_by, verdict, .. } in all.iter().filter(|run| !is_open(run)) {
        assert_eq!(*limited_by, Some(LimitedBy::Path), "{run}: {verdict}");
    }
    assert!(all.iter().filter(is_open).count() >= 3);
}

/// A round trip of several times that at which the queue dropped is not that queue's.
#[test]
fn acks_that_wait_are_told_from_a_queue_that_dropped_once() {
    for RunVerdict { run, limited_by, cwnd_cause, verdict } in verdicts(SLOW_WAY_BACK, "cwnd", &[]) {
        let told = (limited_by, cwnd_cause);
        assert_eq!(told, (Some(LimitedBy::Cwnd), Some(CwndCause::AckPath)), "{run}: {verdict}");
    }
}
