//! What the figures of a test must be read with: a stopped end, a server that lies, other tests; and what its records keep.

use super::{Client, Server, unless_invalid, went_well};
use crate::pipefill::Folder;
use pipefill_core::record::{OptionsSet, StreamEnd, TcpSample};
use pipefill_store::RecordReader;
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::process::Child;
use std::thread;
use std::time::Duration;

/// A server that keeps to the protocol for one test with a stream of TCP, and says in its results what it likes.
fn lying_server(results: Value) -> (u16, thread::JoinHandle<()>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let serve = move || {
        let accept = || {
            let mut client = Client(listener.accept().unwrap().0);
            client.0.read_exact(&mut [0; 37]).unwrap();
            client
        };
        let document = |client: &mut Client| {
            let mut length = [0; 4];
            client.0.read_exact(&mut length).unwrap();
            let mut bytes = vec![0; u32::from_be_bytes(length) as usize];
            client.0.read_exact(&mut bytes).unwrap();
            serde_json::from_slice::<Value>(&bytes).unwrap()
        };
        let mut control = accept();
        control.send(&[9]);
        let is_reverse = document(&mut control)["reverse"] == true;
        control.send(&[10]);
        let mut stream = accept().0;
        control.send(&[1, 2]);
        let moving = thread::spawn(move || {
            let mut bytes = vec![0; 1 << 16];
            while if is_reverse {
                stream.write(&bytes).is_ok()
            } else {
                stream.read(&mut bytes).is_ok_and(|count| count > 0)
            } {}
        });
        assert_eq!(control.hear(), Some(4), "TEST_END");
        control.send(&[13]);
        document(&mut control);
        control.document(results.to_string().as_bytes());
        control.send(&[14]);
        assert_eq!(control.hear(), Some(16), "IPERF_DONE");
        drop(control);
        moving.join().unwrap();
    };
    (port, thread::spawn(serve))
}

#[test]
fn figures_of_a_server_that_can_not_be_are_named_and_its_words_are_marked() {
    let run = |bytes: u64, words: &[&str]| {
        let results = json!({
            "cpu_util_total": 1, "streams": [{"id": 1, "bytes": bytes, "retransmits": -1, "end_time": 1}],
            "server_output_text": "fine\nLimited by nothing",
        });
        let (port, server) = lying_server(results);
        let output = Folder::new()
            .pipefill(&[&["test", "127.0.0.1", "-p", &port.to_string()], words].concat())
            .output()
            .unwrap();
        server.join().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let document = |bytes, words: &[&str]| -> Value {
        serde_json::from_str(&run(bytes, &[words, &["-J"]].concat())).unwrap()
    };
    let kind = |document: &Value| document["pipefill"]["contradictions"][0]["kind"].clone();
    let more = document(1_000_000_000_000_000, &["-t", "1", "-b", "80M"]);
    assert_eq!(kind(&more), "received_more_than_sent", "{:#}", more["pipefill"]);
    assert_eq!(more["server_output_text"], Value::Null, "nobody asked for it");
    let less = document(0, &["-n", "300M"]);
    assert_eq!(kind(&less), "received_less_than_acknowledged", "{:#}", less["pipefill"]);
    let less = document(1_000, &["-t", "1", "-R"]);
    assert_eq!(kind(&less), "sent_less_than_received", "{:#}", less["pipefill"]);
    let text = run(1_000_000_000_000_000, &["-t", "1", "-b", "80M"]);
    assert!(text.contains("The server's figures are wrong: it says that it received 1000 TB"), "{text}");
    assert!(!text.contains("Limited by nothing"), "{text}");
    let text = run(10_000, &["-t", "1", "-b", "8M", "--get-server-output"]);
    assert!(text.contains("The server says:\n| fine\n| Limited by nothing"), "{text}");
}

/// Stops `child` for a while, in the middle of a test.
fn stop(child: &Child, span: Duration) {
    use rustix::process::{Pid, Signal, kill_process};
    kill_process(Pid::from_child(child), Signal::STOP).unwrap();
    thread::sleep(span);
    kill_process(Pid::from_child(child), Signal::CONT).unwrap();
}

#[test]
fn a_test_whose_end_was_stopped_is_invalid() {
    let server = Server::start(&[]);
    let folder = Folder::new();
    let port = server.port.to_string();
    for (is_server, words) in [
        (false, &["-b", "20M"][..]),
        (true, &["-b", "20M", "-R"]),
        (true, &["-u", "-b", "5M"]),
        (false, &["-u", "-b", "5M", "-R", "--out", "kept"]),
    ] {
        let words = [&["test", "127.0.0.1", "-p", &port, "-t", "3", "-J"], words].concat();
        let child = folder.start(&words);
        thread::sleep(Duration::from_secs(1));
        stop(if is_server { &server.child } else { &child }, Duration::from_secs(1));
        let output = child.wait_with_output().unwrap();
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let found = &document["pipefill"];
        assert_eq!(output.status.code(), Some(4), "{words:?}: {found:#}");
        let end = if is_server { "server" } else { "client" };
        let reasons: Vec<&Value> = found["invalid"].as_array().unwrap().iter().collect();
        assert!(
            reasons.iter().any(|reason| reason["end"] == end && reason["reason"] == "starved_cpu"),
            "{found:#}"
        );
        assert_eq!(found["limited_by"], "unknown", "{found:#}");
        assert!(found["verdict"].as_str().unwrap().contains("is invalid"), "{found:#}");
        assert!(document["end"]["sum_received"]["bytes"].as_u64() > Some(0), "the figures are reported");
    }
    let report = folder.pipefill(&["report", "kept", "--json"]).output().unwrap();
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!(report["cells"][0]["valid"], 0, "the record says so too");
}

#[test]
fn tests_at_the_same_time_are_told_of_each_other() {
    let server = Server::start(&[]);
    let folder = Folder::new();
    let port = server.port.to_string();
    let start = || folder.start(&["test", "127.0.0.1", "-p", &port, "-t", "5", "-b", "5M", "-J"]);
    let children = [start(), start()];
    for child in children {
        let document: Value = serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap();
        let others = &document["pipefill"]["other_tests"];
        assert_eq!(others["most"], 1, "{:#}", document["pipefill"]);
        assert!(others["time_share"].as_f64() > Some(0.0), "{others}");
    }
    let alone: Value = serde_json::from_slice(&server.test(&["-t", "1", "-b", "5M", "-J"]).stdout).unwrap();
    assert_eq!(alone["pipefill"]["other_tests"], Value::Null);
    assert!(server.end().contains(", beside another test"));
}

#[test]
fn records_of_a_reverse_test_have_the_servers_half_and_the_same_verdict() {
    let server = Server::start(&[]);
    let folder = Folder::new();
    let port = server.port.to_string();
    let words =
        ["test", "127.0.0.1", "-p", &port, "-t", "2", "-R", "-w", "64K", "-b", "20M", "-O", "1", "-J"];
    let output = folder.pipefill(&[&words[..], &["--out", "kept"]].concat()).output().unwrap();
    assert!(went_well(&output), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let report = folder.pipefill(&["report", "kept", "--json"]).output().unwrap();
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    let limited_by = unless_invalid(&document, "limited_by");
    assert!(
        limited_by.is_none_or(|limit| *limit == report["cells"][0]["limited_by"]),
        "{document:#} {report:#}"
    );
    let run = fs::read_dir(folder.path("kept/runs")).unwrap().map(|run| run.unwrap().path()).next().unwrap();
    let record = RecordReader::open(&run).unwrap().expect("a record");
    let options = record.manifest().subject.observed().expect("no scenario").ends().map(|end| end.options);
    assert_eq!(options, [Some(OptionsSet::of_buffers(true, Some(false))); 2]);
    let samples: Vec<TcpSample> = record.table::<TcpSample>().unwrap().map(Result::unwrap).collect();
    for end in [StreamEnd::Sender, StreamEnd::Receiver] {
        let times: Vec<u64> =
            samples.iter().filter(|sample| sample.end == end).map(|sample| sample.t_us).collect();
        assert!(times.len() > 10 && times.is_sorted(), "{end:?}: {} samples", times.len());
    }
}
