//! `pipefill watch` on sockets of this test over loopback, without any privilege: what it says of them, and that none of them makes it fail.

mod endpoint;

use crate::pipefill::Folder;
use nix::sys::socket::{setsockopt, sockopt};
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::{Child, ChildStdout, Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

/// Threads that go on until this is dropped.
#[derive(Default)]
struct Work {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Work {
    /// Does `step` again and again.
    fn repeat(&mut self, mut step: impl FnMut() + Send + 'static) {
        let is_over = Arc::clone(&self.is_over);
        self.threads.push(thread::spawn(move || {
            // Ahead of the tests that run beside this one, where that is permitted: whoever waits for a CPU is its own limit.
            let _permitted = rustix::process::nice(-10);
            while !is_over.load(Ordering::Relaxed) {
                step();
            }
        }));
    }

    /// Writes `block` every `pause` at most, and never waits for room. What it was late for is not made up for: it would be offered faster.
    fn write(&mut self, mut to: TcpStream, block: usize, pause: Duration) {
        to.set_nonblocking(true).unwrap();
        let bytes = vec![0; block];
        let mut due = Instant::now();
        self.repeat(move || {
            let _full = to.write(&bytes);
            due = due.max(Instant::now()) + pause;
            sleep(due.saturating_duration_since(Instant::now()));
        });
    }

    /// Reads up to `block` every `pause`.
    fn read(&mut self, mut from: TcpStream, block: usize, pause: Duration) {
        from.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let mut bytes = vec![0; block];
        self.repeat(move || {
            let _none = from.read(&mut bytes);
            sleep(pause);
        });
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| thread.join().unwrap());
    }
}

/// Both ends of a connection to `listener`: the one that connects first.
fn connect(listener: &TcpListener) -> (TcpStream, TcpStream) {
    let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (ours, listener.accept().unwrap().0)
}

/// A listener, and the filter for sockets that connect to it.
fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let filter = format!("dport = :{}", listener.local_addr().unwrap().port());
    (listener, filter)
}

fn json(output: &[u8]) -> Value {
    serde_json::from_slice(output).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(output)))
}

fn succeeded(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    json(&output.stdout)
}

/// What `watch --json` with `words` says.
fn watched(words: &[&str]) -> Value {
    let words = [&["watch", "--json"], words].concat();
    succeeded(&Folder::new().pipefill(&words).output().unwrap())
}

/// The only connection that was found.
fn only(found: &Value) -> &Value {
    let [connection] = found["connections"].as_array().unwrap().as_slice() else {
        panic!("not one: {found:#}")
    };
    connection
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

/// The connection is this test's, with these ends, and everything that a table needs is said.
fn is_ours(connection: &Value, local: &TcpStream) {
    assert_eq!(connection["local"], local.local_addr().unwrap().to_string(), "{connection:#}");
    assert_eq!(connection["remote"], local.peer_addr().unwrap().to_string());
    assert_eq!(connection["pid"], std::process::id());
    assert_eq!(connection["process"], fs::read_to_string("/proc/self/comm").unwrap().trim_end());
    assert!(
        number(&connection["rtt_us"]) < 1e6 && number(&connection["retransmits"]) < 1e3,
        "{connection:#}"
    );
    assert!(connection["verdict"].as_str().is_some_and(|verdict| verdict.ends_with('.')), "{connection:#}");
}

#[test]
fn an_application_that_offers_20_mbit_is_its_own_limit() {
    alone("an_application_that_offers_20_mbit_is_its_own_limit", offers_20_mbit);
}

fn offers_20_mbit() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let Ok(listener) = TcpListener::bind(address) else {
            assert!(address.contains("::"), "IPv4 is everywhere");
            continue;
        };
        let (ours, theirs) = connect(&listener);
        let mut work = Work::default();
        work.write(ours.try_clone().unwrap(), 25_000, Duration::from_millis(10));
        work.read(theirs, 1 << 16, Duration::ZERO);
        let found = watched(&["--once", "dport", &listener.local_addr().unwrap().port().to_string()]);
        let connection = only(&found);
        is_ours(connection, &ours);
        assert_eq!(
            (&connection["limited_by"], &connection["direction"]),
            (&"app".into(), &"forward".into()),
            "{connection:#}"
        );
        let rate = number(&connection["rate_bps"]);
        assert!((10e6..22e6).contains(&rate), "{rate}");
    }
}

/// Set in the process of [`alone`].
const ALONE: &str = "PIPEFILL_TEST_ALONE";

/// Runs the test of this module that has `name` in a process of its own. Which thread of a process reads a socket nobody tells: a busy one of another
/// test would be taken for the reader.
fn alone(name: &str, test: impl FnOnce()) {
    if std::env::var_os(ALONE).is_some() {
        return test();
    }
    let mut own = Command::new(std::env::current_exe().unwrap());
    let own = own.args(["--exact", &format!("watch::{name}"), "--nocapture"]).env(ALONE, "1");
    let output = own.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn a_slow_reader_is_the_limit_and_its_sender_sees_a_closed_window() {
    alone("a_slow_reader_is_the_limit_and_its_sender_sees_a_closed_window", slow_reader);
}

fn slow_reader() {
    let (listener, _) = listen();
    let (ours, theirs) = connect(&listener);
    let port = listener.local_addr().unwrap().port();
    let mut work = Work::default();
    work.write(ours.try_clone().unwrap(), 1 << 20, Duration::from_millis(1));
    work.read(theirs.try_clone().unwrap(), 50_000, Duration::from_millis(10));
    sleep(Duration::from_millis(500));
    let found = watched(&["--for", "2s", &format!("dport {port} or sport {port}")]);
    let connections = found["connections"].as_array().unwrap();
    assert_eq!(connections.len(), 2, "{found:#}");
    for (end, direction) in [(&ours, "forward"), (&theirs, "reverse")] {
        let local = end.local_addr().unwrap().to_string();
        let connection = connections.iter().find(|listed| listed["local"] == local).unwrap();
        is_ours(connection, end);
        assert_eq!(connection["direction"], direction, "{connection:#}");
        // The sender sees a closed window, and that a reader is the reason only where the window was much larger before.
        let may_be: &[&str] = if direction == "forward" { &["receiver", "rwnd"] } else { &["receiver"] };
        assert!(may_be.contains(&connection["limited_by"].as_str().unwrap()), "{connection:#}");
    }
}

#[test]
fn a_small_receive_buffer_is_the_limit() {
    alone("a_small_receive_buffer_is_the_limit", small_receive_buffer);
}

fn small_receive_buffer() {
    let (listener, filter) = listen();
    setsockopt(&listener, sockopt::RcvBuf, &4_096).unwrap();
    let (ours, theirs) = connect(&listener);
    let mut work = Work::default();
    work.write(ours.try_clone().unwrap(), 1 << 20, Duration::from_millis(1));
    work.read(theirs, 1 << 20, Duration::ZERO);
    let found = watched(&["--for", "2s", &filter]);
    let connection = only(&found);
    is_ours(connection, &ours);
    assert_eq!(connection["limited_by"], "rwnd", "{connection:#}");
}

#[test]
fn an_idle_connection_is_listed_as_idle() {
    let (listener, filter) = listen();
    let (ours, _theirs) = connect(&listener);
    let found = watched(&["--once", &filter]);
    let connection = only(&found);
    is_ours(connection, &ours);
    assert_eq!(
        (&found["idle"], &connection["rate_bps"], &connection["limited_by"]),
        (&1.into(), &0.into(), &"app".into())
    );
    assert!(connection["verdict"].as_str().unwrap().starts_with("Idle"), "{connection:#}");
    assert!(connection["direction"].is_null() && found["looks"] == 3, "{found:#}");
    Folder::new()
        .pipefill(&["watch", "--once", &filter])
        .assert()
        .success()
        .stdout(contains("No connection carried anything.").and(contains("1 idle")));
}

/// Nobody reads it: what finds no room is dropped, and the socket counts that. Another one shows nothing.
#[test]
fn a_udp_socket_that_drops_is_limited_by_its_receiver() {
    let [unread, quiet] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
    setsockopt(&unread, sockopt::RcvBuf, &8_192).unwrap();
    let port = |socket: &UdpSocket| socket.local_addr().unwrap().port();
    let (sender, to) = (UdpSocket::bind("127.0.0.1:0").unwrap(), unread.local_addr().unwrap());
    let mut work = Work::default();
    work.repeat(move || {
        sender.send_to(&[0; 1_000], to).unwrap();
        sleep(Duration::from_millis(1));
    });
    let found = watched(&["--once", &format!("udp sport = :{}", port(&unread))]);
    let socket = only(&found);
    assert_eq!((&socket["protocol"], &socket["remote"]), (&"udp".into(), &"*".into()), "{socket:#}");
    assert_eq!(socket["local"], unread.local_addr().unwrap().to_string(), "{socket:#}");
    assert_eq!(
        (&socket["limited_by"], &socket["rule"]),
        (&"receiver".into(), &"receiver.socket_drops".into())
    );
    assert_eq!(socket["pid"], std::process::id(), "{socket:#}");
    assert!(
        number(&socket["udp_socket"]["socket_drops"]) > 0.0 && socket["rate_bps"].is_null(),
        "{socket:#}"
    );
    let filter = format!("udp sport = :{}", port(&quiet));
    let found = watched(&["--once", &filter]);
    assert_eq!((found["connections"].as_array().unwrap().len(), &found["quiet_udp_sockets"]), (0, &1.into()));
    Folder::new()
        .pipefill(&["watch", "--once", &filter])
        .assert()
        .success()
        .stdout(contains("1 UDP socket without a queue or drops"));
}

/// Carries something, pauses, and carries something again: what it did before the pause counts.
#[test]
fn a_pause_makes_nobody_forget_what_was_carried() {
    let (listener, filter) = listen();
    let (mut ours, mut theirs) = connect(&listener);
    let watch = Watching::start(&["--for", "3s", &filter]);
    ours.write_all(&[0; 100_000]).unwrap();
    theirs.read_exact(&mut [0; 100_000]).unwrap();
    let found = watch.last_line();
    let connection = only(&found);
    let carried = number(&connection["rate_bps"]) * number(&found["span_us"]) / 8e6;
    assert!((80_000.0..125_000.0).contains(&carried), "{carried} bytes: {found:#}");
}

/// `watch --json-stream`, which has looked for the first time.
struct Watching(Child, BufReader<ChildStdout>);

impl Watching {
    fn start(words: &[&str]) -> Self {
        let mut child = Folder::new().start(&[&["watch", "--json-stream"], words].concat());
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut watching = Self(child, lines);
        watching.line();
        watching
    }

    /// The next line.
    fn line(&mut self) -> Value {
        let mut text = String::new();
        self.1.read_line(&mut text).unwrap();
        json(text.as_bytes())
    }

    /// What it says at last.
    fn last_line(mut self) -> Value {
        let mut text = String::new();
        self.1.read_to_string(&mut text).unwrap();
        assert!(self.0.wait().unwrap().success());
        json(text.lines().last().unwrap_or_default().as_bytes())
    }
}

#[test]
fn a_connection_that_closes_meanwhile_is_judged_and_counted() {
    let (listener, filter) = listen();
    let (ours, theirs) = connect(&listener);
    let mut work = Work::default();
    work.write(ours.try_clone().unwrap(), 25_000, Duration::from_millis(10));
    work.read(theirs, 1 << 16, Duration::ZERO);
    let watch = Watching::start(&["--for", "3s", &filter]);
    sleep(Duration::from_millis(2_500));
    drop((work, ours));
    let found = watch.last_line();
    let connection = only(&found);
    assert_eq!((&found["closed"], &connection["limited_by"]), (&1.into(), &"app".into()), "{found:#}");
}

/// Closes at once, without `TIME_WAIT`: ports are for other tests too.
fn reset(stream: TcpStream) {
    let at_once = nix::libc::linger { l_onoff: 1, l_linger: 0 };
    setsockopt(&stream, sockopt::Linger, &at_once).unwrap();
    drop(stream);
}

#[test]
fn connections_of_20_ms_are_too_short_and_counted() {
    let (listener, filter) = listen();
    let mut work = Work::default();
    work.repeat(move || {
        let (mut ours, theirs) = connect(&listener);
        ours.write_all(&[0; 1_000]).unwrap();
        sleep(Duration::from_millis(20));
        reset(ours);
        drop(theirs);
    });
    let found = watched(&["--for", "3s", &filter]);
    assert!((1..=4).contains(&found["too_short"].as_u64().unwrap()), "{found:#}");
    assert_eq!(found["closed"], 0, "{found:#}");
}

/// The kernel counts each end, and those of other tests too.
#[test]
fn connections_that_no_look_sees_are_counted_and_said_to_be_unknown_behind_a_filter() {
    const COUNT: u64 = 400;
    let (listener, filter) = listen();
    let watch = Watching::start(&["--for", "2s", "--interval", "1s"]);
    for _ in 0..COUNT {
        let (ours, theirs) = connect(&listener);
        reset(ours);
        drop(theirs);
    }
    let last = watch.last_line();
    let of = |name: &str| last[name].as_u64().unwrap_or_else(|| panic!("{last:#}"));
    assert!(of("unseen") + of("too_short") + of("closed") >= 2 * COUNT, "{last:#}");
    assert!(of("unseen") >= COUNT, "few of them were there at a look: {last:#}");
    assert_eq!(watched(&["--for", "1s", &filter])["unseen"], Value::Null);
    let said = Folder::new().pipefill(&["watch", "--for", "1s", &filter]).output().unwrap();
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.contains("opened and closed between two looks is unknown"), "{said}");
}

#[test]
fn thousands_that_come_and_go_make_nothing_fail() {
    let (listener, filter) = listen();
    let (_one, _other) = connect(&listener);
    let mut work = Work::default();
    work.repeat(move || {
        let pairs: Vec<_> = (0..100).map(|_| connect(&listener)).collect();
        for (ours, theirs) in pairs {
            reset(ours);
            drop(theirs);
        }
        sleep(Duration::from_millis(10));
    });
    let found = watched(&["--for", "2s", &filter]);
    assert!(found["looks"].as_u64().unwrap() >= 3, "{found:#}");
    let lasting =
        found["connections"].as_array().unwrap().iter().filter(|connection| connection["rate_bps"] == 0);
    assert_eq!(lasting.count(), 1, "{found:#}");
}

#[test]
fn a_process_that_ends_takes_its_connections_along() {
    let (listener, _) = listen();
    let port = listener.local_addr().unwrap().port();
    let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port}; echo >&3; read -u 3");
    let mut process = Command::new("bash").args(["-c", &script]).spawn().unwrap();
    let (mut theirs, _) = listener.accept().unwrap();
    let (_stays, _other) = connect(&listener);
    let watch = Watching::start(&["--for", "3s", "--pid", &process.id().to_string()]);
    theirs.write_all(b"\n").unwrap();
    assert!(process.wait().unwrap().success());
    let found = watch.last_line();
    assert_eq!(found["closed"].as_u64().unwrap() + found["too_short"].as_u64().unwrap(), 1, "{found:#}");
    assert_eq!((&found["idle"], &found["looks"]), (&0.into(), &4.into()), "{found:#}");
}

#[test]
fn what_is_wrong_is_exit_code_2_and_named() {
    let folder = Folder::new();
    fs::create_dir(folder.path("taken")).unwrap();
    for (words, told) in [
        (["--pid", "4194305"].as_slice(), "no process 4194305"),
        (&["--netns", "nowhere"], "no network namespace nowhere"),
        (&["dst", "1.2.3.4", "prot", "80"], "\"prot\""),
        (&["--out", "taken"], "taken is there already"),
        (&["--interval", "10ms"], "at least 100ms"),
        (&["--json", "--json-stream"], "cannot be used with"),
    ] {
        let words = [&["watch", "--once"], words].concat();
        folder.pipefill(&words).assert().code(2).stdout("").stderr(contains(told));
    }
    assert_eq!(
        (folder.names(), crate::pipefill::names(&folder.path("taken"))),
        (vec!["taken".to_owned()], vec![])
    );
}

#[test]
fn a_stream_is_a_line_of_json_for_each_look() {
    let (listener, filter) = listen();
    let (ours, theirs) = connect(&listener);
    let (_idle, _other) = connect(&listener);
    let mut work = Work::default();
    work.write(ours.try_clone().unwrap(), 25_000, Duration::from_millis(10));
    work.read(theirs, 1 << 16, Duration::ZERO);
    let folder = Folder::new();
    let stream = folder.pipefill(&["watch", "--json-stream", "--for", "2s", &filter]).output().unwrap();
    let text = String::from_utf8(stream.stdout).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| json(line.as_bytes())).collect();
    let looks: Vec<u64> = lines.iter().map(|line| line["looks"].as_u64().unwrap()).collect();
    assert_eq!(looks, [1, 2, 3], "{text}");
    for line in &lines[1..] {
        is_ours(only(line), &ours);
        assert_eq!(line["idle"], 1, "{text}");
    }
}

#[test]
fn an_interval_longer_than_the_time_still_has_two_looks() {
    let (listener, filter) = listen();
    let (_ours, _theirs) = connect(&listener);
    assert_eq!(watched(&["--for", "100ms", "--interval", "500ms", &filter])["looks"], 2);
}

#[test]
fn records_are_read_like_those_of_any_experiment() {
    let (listener, filter) = listen();
    let (ours, theirs) = connect(&listener);
    let mut work = Work::default();
    work.write(ours.try_clone().unwrap(), 25_000, Duration::from_millis(10));
    work.read(theirs, 1 << 16, Duration::ZERO);
    let folder = Folder::new();
    let run = |words: &[&str]| {
        let output = folder.pipefill(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let said = run(&["watch", "--for", "2s", "--json", "--out", "slow", &filter]);
    let peer = ours.peer_addr().unwrap().to_string();
    let explained = run(&["explain", "slow"]);
    assert!(explained.contains(&peer), "{explained}");
    let report = json(run(&["report", "slow", "--json"]).as_bytes());
    let flow = &report["cells"][0]["flows"][0];
    assert_eq!(flow["limited_by"], only(&json(said.as_bytes()))["limited_by"], "{report:#}");
    let page = run(&["report", "slow", "--format", "html"]);
    assert!(page.contains(&peer) && page.contains("</html>"));
    assert!(!run(&["compare", "slow", "slow"]).is_empty());
    let again = folder.pipefill(&["watch", "--once", "--out", "slow", &filter]).output().unwrap();
    assert_eq!(again.status.code(), Some(2));
}
