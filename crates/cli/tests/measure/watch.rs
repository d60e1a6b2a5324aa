//! `pipefill watch` on other programs, unmodified, in two namespaces with a veth pair between them: iperf3, and a reader and a server in Python.
//!
//! The namespaces have no names; each lives as long as a process whose standard input this test holds, however the test ends.

mod once;
mod prometheus;

use crate::measuring::namespace::{Namespace, end, root_folder as folder, until};
use crate::measuring::{Folder, Outcome, Skip, Test, if_quiet, slow_test, test};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

const CLIENT: &str = "10.97.0.1";
const SERVER: &str = "10.97.0.2";

pub(crate) fn tests() -> Vec<Test> {
    let mut tests = vec![
        slow_test("iperf3_at_20_mbit_is_limited_by_its_application", || is_said(&["-b", "20M"], &["app"])),
        slow_test("records_count_from_the_first_look_and_bpf_tells_the_states", what_is_recorded),
        slow_test("a_namespace_with_a_name_is_found_by_it", a_namespace_with_a_name),
        // Over 50 µs a buffer empties as fast as it is filled: which of the two is slower, the scheduler decides; on a busy machine it is the limit.
        test("iperf3_with_a_small_buffer_is_its_own_limit", || {
            is_said(&["-w", "16K"], &["app", "cpu", "rwnd", "sndbuf"])
        }),
        test("iperf3_over_plain_veth_has_a_limit_and_no_path", iperf3_over_plain_veth),
        test("what_a_slow_reader_gets_is_seen_from_both_ends", what_a_slow_reader_gets),
    ];
    tests.extend(once::tests());
    tests.extend(prometheus::tests());
    tests
}

/// Two namespaces with a veth pair between them, and a server in the second one.
struct Stage {
    client: Namespace,
    server: Namespace,
    listening: Child,
}

impl Stage {
    fn new(server: &[&str], port: u16) -> Self {
        let (here, there) = (Namespace::new(), Namespace::new());
        here.join(CLIENT, &there, SERVER);
        let listening = there.command(server).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let stage = Self { client: here, server: there, listening };
        // Not by a connection: iperf3 would take it for a client.
        let filter = format!("sport = :{port}");
        let is_there = || {
            let output = stage.server.command(&["ss", "-Hltn", &filter]).output().unwrap();
            !output.stdout.is_empty()
        };
        until(is_there, "the server does not listen");
        stage
    }

    /// Begins a program of the client.
    fn begin(&self, words: &[&str]) -> Child {
        self.client.command(words).stdout(Stdio::null()).spawn().unwrap()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        end(&mut self.listening);
    }
}

/// What `watch --netns` says for three seconds of the busiest connection in `namespace`.
fn busiest(folder: &Folder, namespace: &str, filter: &str) -> Value {
    let words = ["watch", "--for", "3s", "--json", "--netns", namespace, filter];
    let output = folder.pipefill(&words).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let connection = found["connections"][0].clone();
    println!(
        "{} {}: {} bit/s: {}",
        connection["process"], connection["limited_by"], connection["rate_bps"], connection["verdict"]
    );
    connection
}

/// A client of iperf3 with `options`, as seen from its side.
fn iperf3(options: &[&str]) -> Result<Value, Skip> {
    let folder = folder(&["iperf3"])?;
    let stage = Stage::new(&["iperf3", "-s"], 5201);
    let mut client = stage.begin(&[&["iperf3", "-c", SERVER, "-t", "6"], options].concat());
    sleep(Duration::from_millis(1_500));
    let connection = busiest(&folder, &stage.client.file(), "dport = :5201");
    end(&mut client);
    assert_eq!(
        (&connection["process"], &connection["direction"]),
        (&"iperf3".into(), &"forward".into()),
        "{connection:#}"
    );
    assert_eq!(connection["remote"], format!("{SERVER}:5201"));
    Ok(connection)
}

/// The limit of iperf3 with `options` is one of `limits`.
fn is_said(options: &[&str], limits: &[&str]) -> Outcome {
    let connection = iperf3(options)?;
    assert!(limits.iter().any(|&limit| connection["limited_by"] == limit), "{connection:#}");
    Ok(())
}

/// The connection was two seconds old: what it carried before belongs to nobody.
fn what_is_recorded() -> Outcome {
    let folder = folder(&["iperf3"])?;
    let stage = Stage::new(&["iperf3", "-s"], 5201);
    let mut client = stage.begin(&["iperf3", "-c", SERVER, "-t", "8", "-b", "20M"]);
    sleep(Duration::from_secs(2));
    let namespace = stage.client.file();
    let words = ["watch", "--for", "3s", "--json", "--out", "seen", "--netns", &namespace, "dport = :5201"];
    let found: Value = serde_json::from_slice(&folder.pipefill(&words).output().unwrap().stdout).unwrap();
    end(&mut client);
    let output = folder.pipefill(&["report", "seen", "--format", "iperf3", "-o", "told"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // Its control connection may have said something too.
    let file = folder.path("told");
    let files =
        fs::read_dir(&file).map_or(vec![file], |all| all.map(|entry| entry.unwrap().path()).collect());
    let told = files.iter().map(|file| serde_json::from_slice::<Value>(&fs::read(file).unwrap()).unwrap());
    let told = told.max_by_key(|document| document["end"]["sum_sent"]["bytes"].as_u64()).unwrap();
    let rates = told["intervals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|interval| interval["sum"]["bits_per_second"].as_f64());
    for bps in rates.map(Option::unwrap) {
        assert!((if_quiet(10e6, 0.0)..if_quiet(30e6, f64::INFINITY)).contains(&bps), "{bps}: {told:#}");
    }
    // As root, where the kernel has its types, nothing is left but that somebody does not want it.
    let is_traced = Path::new("/sys/kernel/btf/vmlinux").exists()
        && std::env::var_os("PIPEFILL_BPF").is_none_or(|value| value != "0");
    let times = &found["connections"][0]["ca_state_us"];
    assert_eq!(times.is_object(), is_traced, "{found:#}");
    let total: u64 = times.as_object().into_iter().flatten().filter_map(|(_, us)| us.as_u64()).sum();
    assert!(!is_traced || (1_500_000..3_500_000).contains(&total), "{times}");
    Ok(())
}

/// Nothing but the machine limits it there: no bottleneck that would have a rate.
fn iperf3_over_plain_veth() -> Outcome {
    let connection = iperf3(&[])?;
    assert!(!["path", "unknown"].iter().any(|&limit| connection["limited_by"] == limit), "{connection:#}");
    assert!(connection["rate_bps"].as_f64().unwrap() > if_quiet(1e9, 0.0), "{connection:#}");
    Ok(())
}

/// Reads 2 MB/s at an even pace; `curl --limit-rate` may pause for seconds.
const SLOW_READER: &str = "import sys, time, urllib.request
answer = urllib.request.urlopen(sys.argv[1])
while answer.read(20_000): time.sleep(0.01)";

fn what_a_slow_reader_gets() -> Outcome {
    let folder = folder(&["python3"])?;
    let zeros = fs::File::create(folder.path("zeros")).unwrap();
    zeros.set_len(1 << 30).unwrap();
    let root = folder.root().to_str().unwrap().to_owned();
    let stage = Stage::new(&["/usr/bin/python3", "-m", "http.server", "8000", "-d", &root], 8000);
    // A buffer of many seconds would open its window too seldom.
    let mut rmem = stage.client.command(&["sysctl", "-qw", "net.ipv4.tcp_rmem=4096 131072 262144"]);
    assert!(rmem.status().unwrap().success());
    let url = format!("http://{SERVER}:8000/zeros");
    let mut reader = stage.begin(&["/usr/bin/python3", "-c", SLOW_READER, &url]);
    sleep(Duration::from_millis(1_500));
    let received = busiest(&folder, &stage.client.file(), "dport = :8000");
    let sent = busiest(&folder, &stage.server.file(), "sport = :8000");
    end(&mut reader);
    for (connection, direction) in [(&received, "reverse"), (&sent, "forward")] {
        assert_eq!(
            (&connection["process"], &connection["direction"]),
            (&"python3".into(), &direction.into()),
            "{connection:#}"
        );
        assert_eq!(connection["limited_by"], "receiver", "nobody reads faster: {connection:#}");
    }
    Ok(())
}

/// A name of `ip netns`, removed however the test ends.
struct Named(String);

impl Drop for Named {
    fn drop(&mut self) {
        let _removed = Command::new("ip").args(["netns", "del", &self.0]).status();
    }
}

fn a_namespace_with_a_name() -> Outcome {
    let folder = folder(&[])?;
    let named = Named(format!("pipefill-watch-{}", std::process::id()));
    assert!(Command::new("ip").args(["netns", "add", &named.0]).status().unwrap().success());
    let output = folder.pipefill(&["watch", "--once", "--json", "--netns", &named.0]).output().unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&found["idle"], &found["looks"]), (&0.into(), &3.into()), "{found:#}");
    Ok(())
}
