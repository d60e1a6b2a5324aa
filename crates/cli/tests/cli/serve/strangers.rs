//! Clients without a key, or without anything to say, beside a test; shares of an address; the log.

use super::{Client, Server, many_descriptors, went_well};
use crate::pipefill::Folder;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Connections that send the name of a test and nothing more, made again whenever the server closes them.
struct Strangers {
    is_over: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Strangers {
    fn begin(port: u16, count: usize) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let (over, (all_are_there, wait)) = (Arc::clone(&is_over), std::sync::mpsc::channel());
        let work = move || {
            let connect = |index: usize| {
                let mut client = Client::connect(port);
                client.send(&Client::cookie(port, index));
                client.0.set_nonblocking(true).unwrap();
                client
            };
            let mut next = count;
            let mut all: Vec<Client> = (0..count).map(connect).collect();
            all_are_there.send(()).unwrap();
            while !over.load(Ordering::Relaxed) {
                for client in &mut all {
                    let is_open = match client.0.read(&mut [0; 64]) {
                        Ok(length) => length > 0,
                        Err(error) => error.kind() == std::io::ErrorKind::WouldBlock,
                    };
                    if !is_open {
                        next += 1;
                        *client = connect(next);
                    }
                }
                thread::sleep(Duration::from_millis(5));
            }
        };
        let thread = Some(thread::spawn(work));
        wait.recv().unwrap();
        Self { is_over, thread }
    }
}

impl Drop for Strangers {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _ended = self.thread.take().map(thread::JoinHandle::join);
    }
}

#[test]
fn who_has_no_key_does_not_shut_out_who_has_it() {
    many_descriptors();
    let keys = Folder::new();
    keys.write("key", "correct horse battery staple\n");
    fs::set_permissions(keys.path("key"), fs::Permissions::from_mode(0o600)).unwrap();
    let key = keys.path("key").to_str().unwrap().to_owned();
    let server = Server::start(&["--key", &key]);
    for count in [17, 100, 1_000] {
        let _strangers = Strangers::begin(server.port, count);
        for own in ["127.0.0.1", "127.0.0.1", "127.0.0.2", "127.0.0.3"] {
            let began = Instant::now();
            let output = server.test(&["-n", "1M", "--key", &key, "-B", own]);
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            eprintln!("{count} strangers, {own}: {:.2} s", began.elapsed().as_secs_f64());
            assert!(went_well(&output), "{count} strangers, from {own}: {text}");
        }
    }
    let mut stranger = Client::connect(server.port);
    stranger.0.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stranger.send(&Client::cookie(server.port, 1));
    assert_eq!(stranger.hear(), Some(-70), "a question");
    stranger.0.read_exact(&mut [0; 32]).unwrap();
    assert_eq!(stranger.hear(), None, "it is closed");
    let log = server.end();
    assert!(log.contains("did not prove in time that it has the key"), "{log}");
}

#[test]
fn who_says_no_more_than_a_cookie_does_not_shut_out_a_test() {
    many_descriptors();
    let server = Server::start(&[]);
    for count in [17, 1_000] {
        let _strangers = Strangers::begin(server.port, count);
        for own in ["127.0.0.1", "127.0.0.2"] {
            let output = server.test(&["-n", "1M", "-B", own]);
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(went_well(&output), "{count} strangers, from {own}: {text}");
        }
    }
}

/// Tests of one address, without a key, leave room for another address.
#[test]
fn an_address_has_a_share_of_the_tests() {
    let server = Server::start(&[]);
    let begin = |index: usize| {
        let mut client = Client::connect(server.port);
        client.send(&Client::cookie(server.port, index));
        let heard = client.hear();
        if heard == Some(9) {
            client.document(br#"{"tcp":true,"time":5,"parallel":1}"#);
            assert_eq!(client.hear(), Some(10), "CREATE_STREAMS");
        }
        (heard, client)
    };
    let tests: Vec<(Option<i8>, Client)> = (0..20).map(begin).collect();
    let begun = tests.iter().filter(|(heard, _)| *heard == Some(9)).count();
    let denied = tests.iter().filter(|(heard, _)| *heard == Some(-1)).count();
    assert_eq!([begun, denied], [8, 12], "PARAM_EXCHANGE, ACCESS_DENIED");
    let other = server.test(&["-n", "1M", "-B", "127.0.0.2"]);
    assert!(went_well(&other), "{}", String::from_utf8_lossy(&other.stderr));
    drop(tests);
    assert!(server.end().contains("8 tests of its address are under way"));
}

#[test]
fn what_repeats_is_a_line_a_second_in_the_log() {
    const COUNT: u64 = 3_000;
    let server = Server::start(&[]);
    let began = Instant::now();
    for _ in 0..COUNT {
        let mut client = Client::connect(server.port);
        client.send(&[0; 37]);
        let _closed = client.hear();
    }
    let seconds = began.elapsed().as_secs() as usize;
    let log = server.end();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("does not begin with a cookie")).collect();
    assert!(lines.len() <= seconds + 3, "{} lines in {seconds} s", lines.len());
    let number =
        |line: &&str| line.split_once(" more times").map_or(1, |(count, _)| count.parse::<u64>().unwrap());
    assert_eq!(lines.iter().map(number).sum::<u64>(), COUNT, "{log}");
}
