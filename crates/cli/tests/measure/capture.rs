//! Captures on this machine's kernel, held against what the kernel's own sockets counted.

use crate::measuring::namespace::folder_with;
use crate::measuring::{Folder, Outcome, Test, lab, names, report, slow_test};
use pipefill_core::record::{Manifest, StreamEnd, TcpSample};
use pipefill_store::{decode_manifest, decode_table};
use pipefill_testkit::captures::dissected::{Capture, Checksums, read};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

pub(crate) fn tests() -> Vec<Test> {
    vec![
        slow_test("a_capture_has_what_the_kernel_counted", || has_what_the_kernel_counted("kept", "ipv4")),
        slow_test("so_has_one_that_is_split", || has_what_the_kernel_counted("split", "ipv4")),
        slow_test("so_has_one_over_ipv6", || has_what_the_kernel_counted("split", "ipv6")),
        slow_test("an_empty_path_is_captured", an_empty_path_is_captured),
        slow_test("programs_are_captured", programs_are_captured),
    ]
}

/// Nothing is captured for so long before and after a sample that is compared.
const QUIET_NS: u64 = 200_000;

fn capture(folder: &Path, host: &str) -> Capture {
    let path = folder.join(format!("{host}.pcapng"));
    read(&fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())), Checksums::Offloaded)
}

/// The one run of the folder's experiment.
fn record(folder: &Folder) -> (PathBuf, Manifest) {
    let runs = folder.path("lab/runs");
    let run = runs.join(&names(&runs)[0]);
    let manifest = decode_manifest(File::open(run.join("manifest.json")).unwrap()).unwrap();
    (run, manifest)
}

fn counter(manifest: &Manifest, place: &str, name: &str) -> u64 {
    let found = manifest.counters.iter().find(|counter| counter.place == place && counter.name == name);
    found.unwrap_or_else(|| panic!("no {place} {name}")).after
}

/// Payload of all data, and segments sent again, up to every packet: when, how much so far.
fn sent(capture: &Capture, mss: u64) -> Vec<(u64, u64, u64)> {
    let (mut isn, mut end, mut bytes, mut again) = (None, 1, 0, 0);
    let mut all = Vec::new();
    for packet in capture.packets.iter().filter(|packet| packet.is_outbound) {
        let Some((header, payload)) = packet.tcp() else { continue };
        let isn = *isn.get_or_insert(header.sequence_number);
        let (from, payload) = (u64::from(header.sequence_number.wrapping_sub(isn)), payload as u64);
        if payload > 0 {
            bytes += payload;
            again += if from < end { payload.div_ceil(mss) } else { 0 };
            end = end.max(from + payload);
        }
        all.push((packet.unix_ns, bytes, again));
    }
    all
}

fn has_what_the_kernel_counted(packets: &str, family: &str) -> Outcome {
    let folder = lab()?;
    let text = format!(
        "name = \"captured\"\n[path]\nrtt = \"20ms\"\nrate = \"20mbit\"\nloss = \"1%\"\nfamily = \"{family}\"\n\
         [[flow]]\nduration = \"4s\"\n[run]\nrepeat = 1\nsample = \"2ms\"\ncapture = true\ncapture_packets = \"{packets}\"\n"
    );
    folder.write("captured.toml", &text);
    report(&folder, &["captured.toml"])?;
    let (run, manifest) = record(&folder);
    for host in ["sender", "receiver"] {
        let capture = capture(&run.join("artifacts"), host);
        let place = format!("{host} capture");
        assert_eq!((counter(&manifest, &place, "dropped_packets"), capture.dropped), (0, 0));
        let captured = counter(&manifest, &place, "captured_packets");
        assert_eq!(captured, capture.packets.len() as u64);
        let largest = capture.packets.iter().map(|packet| packet.length).max();
        assert_eq!(largest > Some(1514), packets == "kept", "{host}: {largest:?}");
        assert!(capture.packets.iter().any(|packet| packet.is_outbound));
        assert!(capture.packets.iter().any(|packet| !packet.is_outbound));
    }
    let capture = capture(&run.join("artifacts"), "sender");
    let zero: u64 = capture.comment.rsplit("zero_unix_ns=").next().unwrap().parse().unwrap();
    let rows = decode_table::<TcpSample>(File::open(run.join("tcp.jsonl.zst")).unwrap()).unwrap();
    let rows: Vec<TcpSample> = rows.into_iter().filter(|row| row.end == StreamEnd::Sender).collect();
    let mss = u64::from(rows[0].info.mss_bytes);
    let sent = sent(&capture, mss);
    let mut compared = 0;
    for row in &rows {
        let at = zero + row.t_us * 1000;
        let before = sent.partition_point(|(unix_ns, _, _)| *unix_ns < at);
        let Some((last, bytes, again)) = before.checked_sub(1).map(|index| sent[index]) else { continue };
        let next = sent.get(before).map_or(u64::MAX, |(unix_ns, _, _)| *unix_ns);
        if at - last > QUIET_NS && next - at > QUIET_NS {
            assert_eq!(row.info.bytes_sent, Some(bytes), "{} us", row.t_us);
            assert_eq!(u64::from(row.info.retransmits), again, "{} us", row.t_us);
            compared += 1;
        }
    }
    let (_, bytes, again) = sent.last().expect("packets");
    println!("{compared} of {} samples equal; {bytes} bytes, {again} segments sent again", rows.len());
    assert!(compared > 100 && *again > 5, "{compared} samples, {again} segments");
    Ok(())
}

/// Without a path to emulate a pair of veth joins the hosts; both see the same packets.
fn an_empty_path_is_captured() -> Outcome {
    let folder = lab()?;
    let text = "name = \"captured\"\n[[flow]]\nduration = \"1s\"\nbitrate = \"20mbit\"\n\
                [[flow]]\nprotocol = \"udp\"\nbitrate = \"1mbit\"\nduration = \"1s\"\n[run]\nrepeat = 1\ncapture = true\n";
    folder.write("captured.toml", text);
    report(&folder, &["captured.toml"])?;
    let (run, _) = record(&folder);
    let [sender, receiver] = ["sender", "receiver"].map(|host| capture(&run.join("artifacts"), host));
    let left = sender.packets.iter().filter(|packet| packet.is_outbound).count();
    let arrived = receiver.packets.iter().filter(|packet| !packet.is_outbound).count();
    println!("{left} left, {arrived} arrived");
    assert!(left > 100 && left.abs_diff(arrived) <= 2, "{left} left, {arrived} arrived");
    Ok(())
}

/// Both ends of a download, beside the records.
fn programs_are_captured() -> Outcome {
    const FILE: usize = 3_000_000;
    let folder = folder_with(&["curl", "python3"])?;
    fs::write(folder.path("file"), vec![7_u8; FILE]).unwrap();
    let server = "python3 -m http.server --bind :: 8000 >/dev/null 2>&1";
    let words = ["exec", "--rtt", "20ms", "--capture", "--out", "kept", "--server", server, "--"];
    let curl = ["curl", "-sf", "-o", "copy", "http://{server}:8000/file"];
    let output = folder.pipefill(&[&words[..], &curl].concat()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(told.contains("packets: kept/near.pcapng") && !told.contains("no room"), "{told}");
    for (host, from_server) in [("near", false), ("far", true)] {
        let capture = capture(&folder.path("kept"), host);
        let data = capture.packets.iter().filter_map(|packet| {
            let (header, payload) = packet.tcp()?;
            (packet.is_outbound == from_server && header.source_port == 8000).then_some(payload)
        });
        let bytes = data.sum::<usize>();
        println!("{host}: {} packets, {bytes} bytes of the server", capture.packets.len());
        assert!((FILE..FILE + 2000).contains(&bytes), "{host}: {bytes}");
    }
    assert!(folder.names().iter().all(|name| !name.starts_with('.')), "{:?}", folder.names());
    folder.pipefill(&["explain", "kept"]).assert().success();
    Ok(())
}
