//! What `exec` says of programs that send datagrams: bursts, more than the rate, a reader that is too slow, all that arrives.

use super::{judged, text};
use crate::measuring::namespace::folder_with;
use crate::measuring::{Folder, Outcome, Skip, Test, slow_test};
use serde_json::Value;

/// Binds, then reads a datagram now and then from a small buffer.
const SLOW_READER: &str = "
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 20000)
s.bind(('', 5000))
while True:
    s.recv(2000)
    time.sleep(0.02)
";
/// 500 datagrams in a second, one by one.
const SENDER: &str = "
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect((sys.argv[1], 5000))
for n in range(500):
    s.send(b'x' * 1000)
    time.sleep(0.002)
time.sleep(0.3)
";
/// 300 datagrams that begin like those of QUIC's version 1.
const QUIC_LIKE: &str = "
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect((sys.argv[1], 5000))
s.send(bytes([0xc0, 0, 0, 0, 1, 8]) + bytes(1194))
for n in range(300):
    s.send(b'@' * 1200)
    time.sleep(0.002)
";
const READER: &str = "
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('', 5000))
while True: s.recv(2000)
";

pub(super) fn tests() -> Vec<Test> {
    vec![
        slow_test("bursts_that_overflow_the_queue_are_named_and_the_advice_helps", bursts),
        slow_test("datagrams_above_the_rate_fill_the_path", above_the_rate),
        slow_test("a_reader_that_is_too_slow_is_the_receiver", slow_reader),
        slow_test("quic_is_named_by_its_first_datagrams", quic),
    ]
}

/// What `exec` says of the flow from here, which has the most datagrams.
fn flow(folder: &Folder, words: &[&str]) -> Result<Value, Skip> {
    let told = judged(folder, words)?;
    let flows = told["connections"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|flow| flow["protocol"] == "udp" && flow["direction"] == "forward");
    let sent = |flow: &&Value| flow["datagrams"]["datagrams_sent"].as_u64();
    let found = flows.max_by_key(sent).unwrap_or_else(|| panic!("{told:#}"));
    println!("{}", found["verdict"]);
    // Whatever limits it, nothing of TCP's is advised.
    assert!(!found["advice"].to_string().contains("tcp"), "{found:#}");
    Ok(found.clone())
}

fn iperf3<'a>(path: &[&'a str], flags: &[&'a str]) -> Vec<&'a str> {
    let server = ["--json", "--server", "iperf3 -s -1 >/dev/null", "--", "iperf3", "-c", "{server}", "-u"];
    [path, &server[..], flags].concat()
}

fn bursts() -> Outcome {
    let folder = folder_with(&["iperf3"])?;
    let path = |queue| ["--rtt", "1ms", "--rate", "100mbit", "--queue", queue];
    let every = ["-b", "10m", "-l", "1400", "-t", "4", "--pacing-timer", "100000"];
    let kept = [&path("30p")[..], &["--out", "kept"]].concat();
    let found = flow(&folder, &iperf3(&kept, &every))?;
    assert_eq!((&found["limited_by"], &found["cause"]), (&"path".into(), &"bursts".into()), "{found:#}");
    assert_eq!(found["rule"], "path.bursts.datagrams", "{found:#}");
    let lost = found["lost_percent"].as_f64().unwrap();
    let report = &found["datagrams"];
    // A timer of 100 ms at 10 Mbit/s: 89 datagrams of 1,400 bytes.
    assert!(report["burst_datagrams"].as_u64() >= Some(80), "{report:#}");
    // How much has no room follows from how fast the program gets its datagrams out, which a busy machine changes.
    assert!(report["dropped"]["queue_full"].as_u64() > Some(0) && lost > 0.0, "{found:#}");
    assert!(report["needed_queue_packets"].as_u64() > Some(30), "{report:#}");
    let said = found["verdict"].as_str().unwrap();
    assert!(said.contains("but it holds 30 packets"), "{said}");
    let advice = found["advice"].as_array().unwrap();
    let settings: Vec<&str> = advice.iter().filter_map(|advice| advice["setting"].as_str()).collect();
    assert_eq!(settings, ["spacing", "queue"], "{advice:#?}");
    let records = folder.pipefill(&["explain", "kept", "--json"]).output().unwrap();
    assert!(text(&records.stdout).contains("path.bursts.datagrams"), "{}", text(&records.stdout));

    let queue = advice[1]["value"].as_str().unwrap();
    let longer = flow(&folder, &iperf3(&path(queue), &every))?["lost_percent"].as_f64().unwrap();
    let evenly = ["-b", "10m", "-l", "1400", "-t", "4", "--pacing-timer", "1000"];
    let paced = flow(&folder, &iperf3(&path("30p"), &evenly))?["lost_percent"].as_f64().unwrap();
    println!("lost: {lost} %, with a queue of {queue} {longer} %, evenly {paced} %");
    assert!(longer < lost && paced < lost);
    Ok(())
}

fn above_the_rate() -> Outcome {
    let folder = folder_with(&["iperf3"])?;
    let path = ["--rtt", "10ms", "--rate", "10mbit"];
    let found = flow(&folder, &iperf3(&path, &["-b", "30m", "-l", "1400", "-t", "3"]))?;
    assert_eq!((&found["limited_by"], &found["cause"]), (&"path".into(), &"full".into()), "{found:#}");
    let lost = found["lost_percent"].as_f64().unwrap();
    assert!((50.0..75.0).contains(&lost), "{found:#}");
    let said = found["verdict"].as_str().unwrap();
    assert!(said.contains("of it has no room"), "{said}");

    let found = flow(&folder, &iperf3(&path, &["-b", "2m", "-l", "1400", "-t", "2"]))?;
    assert_eq!((&found["limited_by"], &found["cause"]), (&"app".into(), &"rate".into()), "{found:#}");
    Ok(())
}

fn slow_reader() -> Outcome {
    let folder = folder_with(&["python3"])?;
    folder.write("read.py", SLOW_READER);
    folder.write("send.py", SENDER);
    let path = ["--rtt", "2ms", "--rate", "100mbit", "--json", "--out", "kept"];
    let ends = ["--server", "exec python3 read.py", "--", "python3", "send.py", "{server}"];
    let found = flow(&folder, &[&path[..], &ends].concat())?;
    assert_eq!(found["limited_by"], "receiver", "{found:#}");
    let report = &found["datagrams"];
    assert_eq!(report["dropped"], serde_json::json!({}), "{report:#}");
    // It reads 50 a second of 500.
    assert!(report["socket_drops"].as_u64() > Some(200) && report["rcvbuf_bytes"].is_u64(), "{report:#}");
    let why = found["advice"][0]["why"].as_str().unwrap();
    assert!(why.contains("a faster reader helps, a larger buffer does not"), "{why}");
    let records = folder.pipefill(&["report", "kept", "--json"]).output().unwrap();
    let records: Value = serde_json::from_slice(&records.stdout).unwrap();
    assert_eq!(records["cells"][0]["limited_by"], "receiver", "{records:#}");
    Ok(())
}

fn quic() -> Outcome {
    let folder = folder_with(&["python3"])?;
    folder.write("read.py", READER);
    folder.write("send.py", QUIC_LIKE);
    let path = ["--rtt", "2ms", "--rate", "100mbit", "--json"];
    let ends = ["--server", "exec python3 read.py", "--", "python3", "send.py", "{server}"];
    let found = flow(&folder, &[&path[..], &ends].concat())?;
    assert_eq!(found["datagrams"]["quic"], "1", "{found:#}");
    assert_eq!(
        (&found["limited_by"], &found["rule"]),
        (&"unknown".into(), &"unknown.quic".into()),
        "{found:#}"
    );
    Ok(())
}
