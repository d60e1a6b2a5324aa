//! `pipefill watch --listen`: both forms, JSON and health, what hostile clients do not stop, and how it ends.

use super::{Work, connect, json, listen};
use crate::pipefill::Folder;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use predicates::str::contains;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

const OPEN_METRICS: &str = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5";

/// `watch --listen`, which has said where.
struct Served {
    child: Child,
    at: SocketAddr,
}

impl Served {
    fn start(words: &[&str]) -> Self {
        let (child, at) = Folder::new().serve_metrics(&[&["--interval", "200ms"], words].concat());
        Self { child, at }
    }

    /// Status, headers in small letters and body of the answer to a request.
    fn ask(&self, request: &str) -> (u16, String, String) {
        let mut stream = TcpStream::connect(self.at).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{request:?}: {answer:?}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head.to_ascii_lowercase(), body.to_owned())
    }

    fn get(&self, path: &str, accept: &str) -> (u16, String, String) {
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: {}\r\nAccept: {accept}\r\n\r\n", self.at))
    }

    fn text(&self) -> BTreeMap<String, f64> {
        let (status, _, body) = self.get("/metrics", "text/plain");
        assert_eq!(status, 200, "{body}");
        series(&body)
    }

    /// The metrics in the text form, once `is_so`.
    fn text_when(&self, is_so: impl Fn(&BTreeMap<String, f64>) -> bool) -> BTreeMap<String, f64> {
        let began = Instant::now();
        loop {
            let text = self.text();
            if is_so(&text) {
                return text;
            }
            assert!(began.elapsed() < Duration::from_secs(20), "{text:#?}");
            sleep(Duration::from_millis(100));
        }
    }

    fn end(mut self) {
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), Signal::SIGTERM).unwrap();
        assert!(self.child.wait().unwrap().success());
    }
}

/// Every sample of an exposition by its name with its labels.
fn series(text: &str) -> BTreeMap<String, f64> {
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    let of_line = |line: &str| {
        let line = line.split(" # ").next().unwrap();
        let (name, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
        (name.to_owned(), value.parse().unwrap_or_else(|_| panic!("{line}")))
    };
    let all: Vec<(String, f64)> = samples.map(of_line).collect();
    let by_name: BTreeMap<String, f64> = all.iter().cloned().collect();
    assert_eq!(by_name.len(), all.len(), "a series is there twice: {text}");
    by_name
}

/// The sum of the series of `name` whose labels contain all of `labels`.
fn sum(series: &BTreeMap<String, f64>, name: &str, labels: &[&str]) -> f64 {
    let is_one =
        |key: &&String| key.split('{').next() == Some(name) && labels.iter().all(|label| key.contains(label));
    series.iter().filter(|(key, _)| is_one(key)).map(|(_, value)| value).sum()
}

/// The latest look of a machine that has little else to do.
const LATE_SECONDS: f64 = 0.02;

/// One connection with a slow reader, seen from its sender.
#[test]
fn seconds_of_the_holder_and_bytes_grow_in_both_forms() {
    let (listener, filter) = listen();
    let (ours, theirs) = connect(&listener);
    let mut work = Work::default();
    work.write(ours.try_clone().unwrap(), 1 << 20, Duration::from_millis(1));
    work.read(theirs, 50_000, Duration::from_millis(10));
    let served = Served::start(&[&filter]);
    let seconds = |text: &BTreeMap<String, f64>| sum(text, "pipefill_limited_seconds_total", &[]);
    let (before, began) = (served.text_when(|text| seconds(text) > 0.5), Instant::now());
    let after = served.text_when(|text| seconds(text) > seconds(&before) + 2.0);
    let took = began.elapsed().as_secs_f64();
    let grown = |name, labels: &[&str]| sum(&after, name, labels) - sum(&before, name, labels);
    // One connection has one second in each second; a look and what it holds back may lie between.
    let held = grown("pipefill_limited_seconds_total", &[]);
    assert!(held < took + 1.5, "{held} s in {took} s");
    let by_receiver = ["receiver", "rwnd"].map(|holder| {
        grown(
            "pipefill_limited_seconds_total",
            &[&format!("limited_by=\"{holder}\""), "direction=\"forward\""],
        )
    });
    // Where looks are late, the programs wait for a CPU as well, and that takes a part of the time.
    let latest = sum(&after, "pipefill_look_late_max_seconds", &[]);
    let least = if latest <= LATE_SECONDS { 0.8 } else { 0.5 };
    let share = by_receiver.iter().sum::<f64>() / held;
    assert!(share > least, "{share} of the time with looks {latest} s late: {after:#?}");
    assert!(
        grown("pipefill_goodput_bytes_total", &["direction=\"forward\"", "remote=\"127.0.0.0/24\""]) > 1e6
    );
    assert!(grown("pipefill_rtt_seconds_count", &[]) >= 5.0, "{after:#?}");
    assert!(after.keys().any(|key| key.contains("le=\"+Inf\"")), "{after:#?}");
    assert_eq!(sum(&after, "pipefill_busy_connections", &[]), 1.0, "{after:#?}");
    assert_eq!(sum(&after, "pipefill_groups", &[]), 1.0);

    let (status, head, open) = served.get("/metrics", OPEN_METRICS);
    assert_eq!(status, 200);
    assert!(head.contains("content-type: application/openmetrics-text; version=1.0.0"), "{head}");
    assert!(
        open.ends_with("\n# EOF\n") && open.contains("# TYPE pipefill_limited_seconds counter\n"),
        "{open}"
    );
    let exemplar =
        format!(" # {{local=\"{}\",remote=\"{}\"}} ", ours.local_addr().unwrap(), ours.peer_addr().unwrap());
    for family in ["limited_seconds_total", "rtt_seconds_bucket"] {
        let mut lines = open.lines().filter(|line| line.starts_with(&format!("pipefill_{family}{{")));
        assert!(lines.any(|line| line.contains(&exemplar)), "{family} {exemplar}: {open}");
    }
    let names = |text: &BTreeMap<String, f64>| -> BTreeSet<String> {
        text.keys().map(|key| key.split('{').next().unwrap().to_owned()).collect()
    };
    let (_, head, text) = served.get("/metrics", "*/*");
    assert!(head.contains("content-type: text/plain; version=0.0.4"), "{head}");
    assert!(!text.contains(exemplar.as_str()) && !text.contains("# EOF"), "{text}");
    assert_eq!(names(&series(&open)), names(&series(&text)));
    served.end();
}

#[test]
fn findings_and_health_are_there_and_other_paths_and_methods_are_refused() {
    let (listener, filter) = listen();
    let (ours, theirs) = connect(&listener);
    let mut work = Work::default();
    work.write(ours.try_clone().unwrap(), 25_000, Duration::from_millis(10));
    work.read(theirs, 1 << 16, Duration::ZERO);
    let served = Served::start(&[&filter]);
    served.text_when(|text| sum(text, "pipefill_limited_seconds_total", &[]) > 1.0);
    let (status, head, body) = served.get("/connections", "*/*");
    assert_eq!(status, 200, "{body}");
    assert!(head.contains("content-type: application/json"), "{head}");
    let found = json(body.as_bytes());
    super::is_ours(super::only(&found), &ours);
    assert_eq!(served.get("/healthz", "*/*").2, "ok\n");
    assert_eq!(served.get("/metricsx", "*/*").0, 404);
    let (status, head, _) = served
        .ask(&format!("POST /metrics HTTP/1.1\r\nHost: {}\r\nContent-Length: 5\r\n\r\nhello", served.at));
    assert_eq!((status, head.contains("allow: get, head")), (405, true));
    let (status, _, body) = served.ask(&format!("HEAD /metrics HTTP/1.1\r\nHost: {}\r\n\r\n", served.at));
    assert_eq!((status, body.as_str()), (200, ""));
    served.end();
}

/// Idle connections, requests that never end, requests that are too large and no requests at all: whoever scrapes is answered, and looks go on.
#[test]
fn hostile_clients_stop_neither_scrapes_nor_looks() {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, most, most).unwrap();
    let (listener, filter) = listen();
    let (_ours, _theirs) = connect(&listener);
    let served = Served::start(&[&filter]);
    let looks = |text: &BTreeMap<String, f64>| sum(text, "pipefill_looks_total", &[]);
    let before = served.text_when(|text| looks(text) >= 2.0);
    let mut open: Vec<TcpStream> = Vec::new();
    for at in 0..1_000 {
        let mut stream = TcpStream::connect(served.at).unwrap();
        let started: &[u8] = [b"GET /metrics HTTP/1.1\r\nX: ".as_slice(), b"", b"\0\xff\r\n\r\n"][at % 3];
        let _cut = stream.write_all(started);
        open.push(stream);
    }
    let mut huge = TcpStream::connect(served.at).unwrap();
    huge.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let _cut = huge.write_all(&[b"GET /".as_slice(), &vec![b'a'; 1 << 20]].concat());
    let mut answer = Vec::new();
    let _reset = huge.read_to_end(&mut answer);
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 4"), "{}", String::from_utf8_lossy(&answer));
    let after = served.text_when(|text| looks(text) >= looks(&before) + 3.0);
    assert_eq!(served.get("/healthz", "*/*").0, 200);
    assert!(after["pipefill_look_late_max_seconds"] < 10.0);
    served.end();
}

/// Three prefixes and room for one: what the others add is counted as other, and so are they.
#[test]
fn groups_beyond_the_bound_are_counted_together() {
    let listeners = ["127.0.1.1:0", "127.0.2.1:0", "127.0.3.1:0"].map(|at| TcpListener::bind(at).unwrap());
    let filter = listeners.iter().map(|listener| format!("dport {}", listener.local_addr().unwrap().port()));
    let filter: Vec<String> = filter.collect();
    let mut work = Work::default();
    let mut sockets = Vec::new();
    for listener in &listeners {
        let (ours, theirs) = connect(listener);
        work.write(ours.try_clone().unwrap(), 10_000, Duration::from_millis(10));
        work.read(theirs, 1 << 16, Duration::ZERO);
        sockets.push(ours);
    }
    let served = Served::start(&["--group-by", "remote", "--groups", "1", &filter.join(" or ")]);
    let bytes = |text: &BTreeMap<String, f64>, group: &str| {
        sum(text, "pipefill_goodput_bytes_total", &[&format!("remote=\"{group}\""), "forward"])
    };
    let text = served.text_when(|text| bytes(text, "other") > 10_000.0);
    assert_eq!((text["pipefill_groups"], text["pipefill_groups_limit"]), (1.0, 1.0), "{text:#?}");
    assert_eq!(text["pipefill_folded_connections_total"], 2.0, "{text:#?}");
    let own: f64 = (1..=3).map(|net| bytes(&text, &format!("127.0.{net}.0/24"))).sum();
    assert!(own > 0.0, "{text:#?}");
    assert!(!text.keys().any(|key| key.contains("process=")), "{text:#?}");
    served.end();
}

/// All that a connection carries counts, although it opens after a look and closes before the next one but one.
#[test]
fn what_a_short_connection_carries_is_counted() {
    let (listener, filter) = listen();
    let served = Served::start(&[&filter]);
    served.text_when(|text| sum(text, "pipefill_looks_total", &[]) >= 2.0);
    let (mut ours, mut theirs) = connect(&listener);
    ours.write_all(&[0; 300_000]).and_then(|()| theirs.read_exact(&mut [0; 300_000])).unwrap();
    sleep(Duration::from_millis(500));
    drop((ours, theirs));
    let bytes = |text: &BTreeMap<String, f64>| sum(text, "pipefill_goodput_bytes_total", &["forward"]);
    let text = served.text_when(|text| bytes(text) > 0.0);
    // The kernel counts the SYN as a byte, and a FIN.
    assert!((300_000.0..=300_002.0).contains(&bytes(&text)), "{text:#?}");
    served.end();
}

#[test]
fn what_is_wrong_is_said_before_anything_is_watched() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for (words, told) in [
        (["--listen", "localhost:9466"].as_slice(), "names are not looked up: write 127.0.0.1:9466"),
        (&["--listen", "9466"], "there is no port"),
        (&["--listen", &taken], "another program listens at"),
        (&["--listen", "192.0.2.1:9466"], "is not an address of this host"),
        (&["--listen", ":0", "--group-by", "pid"], "groups no connections: write process, cgroup"),
        (&["--listen", ":0", "--groups", "0"], "1..=1000"),
        (&["--listen", ":0", "--once"], "cannot be used with"),
        (&["--group-by", "unit", "--once"], "cannot be used with"),
        (&["--groups", "9", "--for", "1s"], "--listen"),
    ] {
        let words = [&["watch"], words].concat();
        Folder::new().pipefill(&words).assert().code(2).stdout("").stderr(contains(told));
    }
}
