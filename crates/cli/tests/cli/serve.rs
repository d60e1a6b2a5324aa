//! `pipefill serve` and `pipefill test` over loopback, without any other program: what hostile clients do to a server, and what it refuses.

mod datagrams;
mod strangers;
mod warnings;

use crate::pipefill::Folder;
use pipefill_remote::iperf3::Cookie;
use pipefill_remote::key::Key;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Output};
use std::thread;
use std::time::{Duration, Instant};

/// What a server may use, however many clients are hostile.
const MEMORY_MAX_KIB: u64 = 50 << 10;
const COOKIE: &[u8; 37] = b"abcdefghijklmnopqrstuvwxyz2345670123\0";

/// A server in a folder of its own.
struct Server {
    folder: Folder,
    child: Child,
    port: u16,
    log: Option<thread::JoinHandle<String>>,
}

impl Server {
    fn start(words: &[&str]) -> Self {
        let folder = Folder::new();
        let mut child = folder.start(&[&["serve", "-p", "0"], words].concat());
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut greeting = String::new();
        log.read_line(&mut greeting).unwrap();
        let address =
            greeting.split(' ').find(|word| word.contains(':')).unwrap_or_else(|| panic!("{greeting}"));
        let port = address.trim_end_matches(',').rsplit(':').next().unwrap().parse().unwrap();
        let log = thread::spawn(move || {
            let mut text = String::new();
            let _broken = log.read_to_string(&mut text);
            text
        });
        Self { folder, child, port, log: Some(log) }
    }

    /// The most memory that it has had, KiB.
    fn memory_kib(&self) -> u64 {
        let text = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    }

    fn test(&self, words: &[&str]) -> Output {
        let port = self.port.to_string();
        let words = [&["test", "127.0.0.1", "-p", &port], words].concat();
        Folder::new().pipefill(&words).output().unwrap()
    }

    /// Ends it as a service manager does; its log.
    fn end(mut self) -> String {
        rustix::process::kill_process(
            rustix::process::Pid::from_child(&self.child),
            rustix::process::Signal::TERM,
        )
        .unwrap();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}");
        assert!(self.folder.names().is_empty(), "it wrote {:?}", self.folder.names());
        self.log.take().unwrap().join().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}

/// Whether a test came to its end. On a machine that is short of a CPU it is invalid.
fn went_well(output: &Output) -> bool {
    matches!(output.status.code(), Some(0 | 4))
}

/// What a test found, unless it is invalid.
fn unless_invalid<'a>(document: &'a Value, name: &str) -> Option<&'a Value> {
    let found = &document["pipefill"];
    found["invalid"].as_array().unwrap().is_empty().then(|| &found[name])
}

/// A client that may be hostile.
struct Client(TcpStream);

impl Client {
    fn connect(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        Self(stream)
    }

    /// What can't be sent was refused.
    fn send(&mut self, bytes: &[u8]) {
        let _refused = self.0.write_all(bytes);
    }

    /// A cookie that no other client has.
    fn cookie(port: u16, index: usize) -> [u8; 37] {
        let mut cookie = *COOKIE;
        let name = format!("{port:05}{index:05}");
        cookie[..name.len()].copy_from_slice(name.as_bytes());
        cookie
    }

    fn begin(port: u16, cookie: &[u8; 37]) -> Self {
        let mut client = Self::connect(port);
        client.send(cookie);
        assert_eq!(client.hear(), Some(9), "PARAM_EXCHANGE");
        client
    }

    fn document(&mut self, document: &[u8]) {
        self.send(&u32::try_from(document.len()).unwrap().to_be_bytes());
        self.send(document);
    }

    fn hear(&mut self) -> Option<i8> {
        let mut byte = [0];
        self.0.read_exact(&mut byte).ok().map(|()| byte[0] as i8)
    }

    /// A test with a stream that runs; both its connections.
    fn running(port: u16, cookie: &[u8; 37]) -> (Self, Self) {
        let mut control = Self::begin(port, cookie);
        control.document(br#"{"tcp":true,"time":5,"parallel":1,"len":1000}"#);
        assert_eq!(control.hear(), Some(10), "CREATE_STREAMS");
        let mut stream = Self::connect(port);
        stream.send(cookie);
        assert_eq!([control.hear(), control.hear()], [Some(1), Some(2)], "TEST_START, TEST_RUNNING");
        (control, stream)
    }
}

/// What is sent instead of a cookie.
fn first_bytes() -> Vec<Vec<u8>> {
    vec![
        vec![],
        vec![0; 37],
        vec![0; 10_000],
        vec![255; 37],
        b"abc".to_vec(),
        b"GET / HTTP/1.1\r\nHost: pipefill.example\r\nUser-Agent: x\r\n\r\n".to_vec(),
        b"SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\r\n".to_vec(),
        [&[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3][..], &[7; 500]].concat(),
        b"\x1b[2J\x1b]0;gone\x07 and then some more of it \n".to_vec(),
    ]
}

/// What is sent instead of parameters, with a length before it.
fn parameters() -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = [
        "",
        "[]",
        "null",
        "{",
        "{\"tcp\":true,",
        r#"{"parallel":1000000000}"#,
        r#"{"parallel":-1}"#,
        r#"{"len":1e300}"#,
        r#"{"udp":true,"len":4}"#,
        r#"{"time":1e12}"#,
        r#"{"time":"for ever"}"#,
        r#"{"omit":-5}"#,
        r#"{"window":1e18}"#,
        r#"{"MSS":1e9}"#,
        r#"{"sctp":true}"#,
        r#"{"congestion":"\u001b[2J"}"#,
        r#"{"num":1e400}"#,
        r#"{"authtoken":"AAAA","TOS":4096}"#,
    ]
    .iter()
    .map(|text| text.as_bytes().to_vec())
    .collect();
    all.push(vec![0xff; 200]);
    all.push("[".repeat(60_000).into_bytes());
    all.push(format!("{{\"parallel\":-1,\"streams\":[{}0]}}", "0,".repeat(30_000)).into_bytes());
    all.push(format!("{{{}\"parallel\":-1}}", "\"a\":{},".repeat(8_000)).into_bytes());
    all.push(format!("{{\"title\":{}1{}}}", "[".repeat(20_000), "]".repeat(20_000)).into_bytes());
    all.push(format!("{{\"congestion\":\"{}\"}}", "a".repeat(60_000)).into_bytes());
    all
}

/// Lengths of a document, with some of it or nothing behind it.
const LENGTHS: [u32; 6] = [u32::MAX, 1 << 31, (64 << 10) + 1, 64 << 10, 1, 0];

/// What a client of a running test says instead of its end.
const STATES: [u8; 6] = [12, 77, 16, 9, 0, 254];

#[test]
fn hostile_clients_leave_a_server_that_is_small_and_alive() {
    let server = Server::start(&[]);
    let port = server.port;
    let mut count = 0;
    let mut held = Vec::new();
    let mut next = || {
        count += 1;
        Client::cookie(port, count)
    };
    for bytes in first_bytes() {
        let mut client = Client::connect(port);
        client.send(&bytes);
        next();
    }
    for document in parameters() {
        let mut client = Client::begin(port, &next());
        client.document(&document);
        let _shut = client.0.shutdown(Shutdown::Write);
        assert_ne!(
            client.hear(),
            Some(10),
            "streams for {:?}",
            String::from_utf8_lossy(&document[..document.len().min(60)])
        );
    }
    for length in LENGTHS {
        let mut client = Client::begin(port, &next());
        client.send(&length.to_be_bytes());
        client.send(b"{\"tcp\":");
        held.push(client);
    }
    for state in STATES {
        let (mut control, stream) = Client::running(port, &next());
        control.send(&[state]);
        control.send(&[state; 100]);
        held.push(stream);
    }
    late_results(port, &mut next);
    wrong_times(port, &mut next, &mut held);
    scans(port, &mut next);
    let slow = slow_parameters(port, &next());
    wrong_streams(port, &mut next, &mut held);
    // Datagrams that no test waits for, and one that could be a hello.
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    for bytes in [&b""[..], b"9876", b"6789", &[0; 64], &[255; 1400]] {
        udp.send_to(bytes, ("127.0.0.1", port)).unwrap();
        next();
    }
    drop(held);
    slow.join().unwrap();
    assert!(count >= 60, "{count} clients");
    let output = server.test(&["-t", "1", "-J"]);
    assert!(went_well(&output), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(server.memory_kib() < MEMORY_MAX_KIB, "{} KiB", server.memory_kib());
    let log = server.end();
    assert!(!log.contains('\u{1b}'), "what a client sends reaches no terminal: {log}");
    assert!(log.contains("bytes of JSON, and 8192 are the most that is read"), "{log}");
    assert!(log.contains("its cookie is that of a test under way"), "{log}");
    assert!(log.lines().count() <= 3 * count, "a line each: {log}");
}

/// Questions for the time that are too many, of no use, never read or never asked.
fn wrong_times(port: u16, next: &mut impl FnMut() -> [u8; 37], held: &mut Vec<Client>) {
    let asked = br#"{"tcp":true,"time":5,"parallel":1,"pipefill":{"version":1,"clock":true}}"#;
    let mut begin = || {
        let mut client = Client::begin(port, &next());
        client.document(asked);
        assert_eq!(client.hear(), Some(-71), "a word about its clock");
        client
    };
    let mut often = begin();
    often.send(&[185; 1_000]);
    let answers = (0..1_000).take_while(|_| {
        let is_answer = often.hear() == Some(-71);
        is_answer && often.0.read_exact(&mut [0; 20]).is_ok()
    });
    assert!(answers.count() <= 66, "it answers for ever");
    for state in [9, 4, 0, 77] {
        let mut client = begin();
        client.send(&[state]);
        assert_eq!(client.hear(), None, "{state} is no question");
    }
    held.push(begin());
    // While the test runs it may be asked too; answers that nobody reads end the test, or the client does.
    let (mut control, stream) = Client::running(port, &next());
    control.send(&[185; 100]);
    assert_eq!(control.hear(), Some(-71));
    held.extend([control, stream]);
}

/// Connections that are made and closed, or reset, without a word.
fn scans(port: u16, next: &mut impl FnMut() -> [u8; 37]) {
    for index in 0..300 {
        let client = Client::connect(port);
        if index % 2 == 0 {
            let reset = nix::libc::linger { l_onoff: 1, l_linger: 0 };
            nix::sys::socket::setsockopt(&client.0, nix::sys::socket::sockopt::Linger, &reset).unwrap();
        }
        next();
    }
}

/// Parameters that come byte by byte, for as long as the server takes them.
fn slow_parameters(port: u16, cookie: &[u8; 37]) -> thread::JoinHandle<()> {
    let mut client = Client::begin(port, cookie);
    client.send(&8_000_u32.to_be_bytes());
    thread::spawn(move || {
        let began = Instant::now();
        while client.0.write_all(b" ").is_ok() {
            assert!(began.elapsed() < Duration::from_secs(15), "it reads for ever");
            thread::sleep(Duration::from_millis(100));
        }
    })
}

/// Results that are none, after a test that went well.
fn late_results(port: u16, next: &mut impl FnMut() -> [u8; 37]) {
    let many: Vec<Value> = (0..300).map(|id| json!({"id": id})).collect();
    let documents = [
        b"{".to_vec(),
        br#"{"streams":[{"id":1,"bytes":1e300}]}"#.to_vec(),
        br#"{"streams":{"id":1}}"#.to_vec(),
        json!({"streams": many}).to_string().into_bytes(),
    ];
    for document in documents {
        let (mut control, mut stream) = Client::running(port, &next());
        stream.send(&[0; 5_000]);
        control.send(&[4]);
        assert_eq!(control.hear(), Some(13), "EXCHANGE_RESULTS");
        control.document(&document);
        assert_eq!(control.hear(), None, "results that are none end a test");
    }
    let (mut control, _stream) = Client::running(port, &next());
    control.send(&[4]);
    control.send(&[255; 4]);
    assert_eq!([control.hear(), control.hear()], [Some(13), None]);
}

/// Streams that are too many, of another test, or never come.
fn wrong_streams(port: u16, next: &mut impl FnMut() -> [u8; 37], held: &mut Vec<Client>) {
    let own = next();
    let mut control = Client::begin(port, &own);
    control.document(br#"{"tcp":true,"time":5,"parallel":2}"#);
    assert_eq!(control.hear(), Some(10));
    let mut other = Client::connect(port);
    other.send(&next());
    held.push(other);
    for _ in 0..4 {
        let mut stream = Client::connect(port);
        stream.send(&own);
        held.push(stream);
    }
    held.push(control);
    // The same name twice: the second one is no test.
    let twice = next();
    let (control, stream) = Client::running(port, &twice);
    let mut again = Client::connect(port);
    again.send(&twice);
    assert_eq!(again.hear(), Some(-1), "ACCESS_DENIED");
    held.extend([control, stream, again]);
    let mut nobody = Client::begin(port, &next());
    nobody.document(br#"{"tcp":true,"time":5,"parallel":128}"#);
    held.push(nobody);
    let mut unknown = Client::begin(port, &next());
    unknown.document(br#"{"tcp":true,"time":1,"congestion":"no-such"}"#);
    held.push(unknown);
}

#[test]
fn connections_that_say_nothing_leave_room_for_a_test() {
    let server = Server::start(&[]);
    many_descriptors();
    let held: Vec<Client> = (0..1_200).map(|_| Client::connect(server.port)).collect();
    let began = Instant::now();
    let output = server.test(&["-n", "1M"]);
    assert!(went_well(&output), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert!(server.memory_kib() < MEMORY_MAX_KIB, "{} KiB", server.memory_kib());
    drop(held);
    let log = server.end();
    assert!(log.contains("too many connections wait"), "{log}");
}

/// Room for some thousand connections of this program's own.
fn many_descriptors() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, most.min(16_384), most).unwrap();
}

#[test]
fn a_client_that_is_slow_to_say_who_it_is_is_closed_in_time() {
    let server = Server::start(&[]);
    let mut client = Client::connect(server.port);
    client.0.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let began = Instant::now();
    let mut byte = [0];
    let closed = loop {
        client.send(b"a");
        match client.0.read(&mut byte) {
            Err(error)
                if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {}
            _ => break began.elapsed(),
        }
        assert!(began.elapsed() < Duration::from_secs(15), "it may speak for ever");
    };
    assert!(closed > Duration::from_secs(2), "{closed:?}");
    assert!(server.end().contains("did not say in time what it wants"));
}

#[test]
fn what_a_server_does_not_allow_is_refused_with_the_reason() {
    let server = Server::start(&["--max-duration", "2s", "--max-rate", "50mbit"]);
    let said = |words: &[&str]| {
        let output = server.test(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(said(&["-t", "3"]).contains("too long for it"));
    assert!(said(&["-u", "-b", "100M", "-t", "1"]).contains("rate is higher"));
    assert!(said(&["-C", "no-such", "-t", "1"]).contains("no-such"), "this host has none either");
    let output = server.test(&["-t", "2", "-J"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let bps = document["end"]["sum_received"]["bits_per_second"].as_f64().unwrap();
    assert!(bps < 60e6, "--max-rate slows TCP down: {bps}");
    let log = server.end();
    assert!(log.contains("longer than --max-duration"), "{log}");
    let server = Server::start(&["--allow", "192.0.2.0/24", "--allow", "2001:db8::/32"]);
    assert_eq!(server.test(&["-t", "1"]).status.code(), Some(2));
    assert!(server.end().contains("not within --allow"));
}

/// A stock client reads whole blocks until it has the server's results.
#[test]
fn a_stream_on_which_the_server_sends_ends_with_the_test() {
    let server = Server::start(&[]);
    let cookie = Client::cookie(server.port, 1);
    let mut control = Client::begin(server.port, &cookie);
    control.document(br#"{"tcp":true,"time":5,"parallel":1,"len":1000,"reverse":true,"bandwidth":8000000}"#);
    assert_eq!(control.hear(), Some(10), "CREATE_STREAMS");
    let mut stream = Client::connect(server.port);
    stream.send(&cookie);
    assert_eq!([control.hear(), control.hear()], [Some(1), Some(2)]);
    stream.0.read_exact(&mut [0; 10_000]).unwrap();
    control.send(&[4]);
    let mut rest = Vec::new();
    stream.0.read_to_end(&mut rest).expect("an end, while no results were sent");
    assert_eq!(control.hear(), Some(13), "EXCHANGE_RESULTS");
    control.document(br#"{"streams":[{"id":1,"bytes":10000}]}"#);
    let mut length = [0; 4];
    control.0.read_exact(&mut length).unwrap();
    let mut results = vec![0; u32::from_be_bytes(length) as usize];
    control.0.read_exact(&mut results).unwrap();
    let results: Value = serde_json::from_slice(&results).unwrap();
    assert_eq!(results["streams"][0]["bytes"], 10_000 + rest.len(), "{results:#}");
    assert_eq!(results["pipefill"], Value::Null, "a stock client is told nothing of ours");
    assert_eq!(control.hear(), Some(14), "DISPLAY_RESULTS");
    control.send(&[16]);
    assert!(server.end().contains("1 stream sent"));
}

#[test]
fn a_key_is_asked_for_and_nothing_else_will_do() {
    let keys = Folder::new();
    let write = |name: &str, text: &str, mode: u32| {
        keys.write(name, text);
        fs::set_permissions(keys.path(name), fs::Permissions::from_mode(mode)).unwrap();
        keys.path(name).to_str().unwrap().to_owned()
    };
    let right = write("right", "correct horse battery staple\n", 0o600);
    let wrong = write("wrong", "correct horse battery stable\n", 0o600);
    let (open, short) =
        (write("open", "correct horse battery staple\n", 0o644), write("short", "secret\n", 0o600));
    let server = Server::start(&["--key", &right]);
    let said = |words: &[&str]| {
        let output = server.test(&[&["-n", "1M"], words].concat());
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert!(matches!(said(&["--key", &right]).0, Some(0 | 4)));
    for (words, told) in [
        (&[][..], "the server wants a key"),
        (&["--key", &wrong], "another key"),
        (&["--key", &open], "chmod 600"),
        (&["--key", &short], "shorter than 16"),
        (&["--key", "nowhere"], "reading nowhere"),
    ] {
        let (code, text) = said(words);
        assert!(code == Some(2) && text.contains(told), "{words:?}: {text}");
    }
    // A question is asked once: an answer to another one is wrong, and so is no answer.
    let mut last = [0; 32];
    for index in 0..3 {
        let mut client = Client::connect(server.port);
        client.send(&Client::cookie(server.port, 7));
        assert_eq!(client.hear(), Some(-70), "a question");
        let mut question = [0; 32];
        client.0.read_exact(&mut question).unwrap();
        assert_ne!(question, last);
        last = question;
        client.send(&[index; 32]);
        assert_eq!(client.hear(), Some(-2), "SERVER_ERROR");
        drop(client);
        thread::sleep(Duration::from_millis(100));
    }
    replayed(server.port, &right);
    assert!(matches!(said(&["--key", &right]).0, Some(0 | 4)), "it serves on");
    let log = server.end();
    assert!(log.contains("it has another key") && !log.contains("horse"), "{log}");
    let server = Server::start(&[]);
    let output = server.test(&["-n", "1M", "--key", &right]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("does not ask for the key"));
}

/// An answer that was right once is so for its own question and its own test alone.
fn replayed(port: u16, file: &str) {
    let key = Key::read(&fs::read(file).unwrap()).unwrap();
    let asked = |index: usize| {
        let cookie = Client::cookie(port, index);
        let mut client = Client::connect(port);
        client.send(&cookie);
        assert_eq!(client.hear(), Some(-70), "a question");
        let mut question = [0; 32];
        client.0.read_exact(&mut question).unwrap();
        (client, key.answer(&question, &Cookie::read(cookie).unwrap()))
    };
    let (first, right) = asked(21);
    let (mut second, _) = asked(22);
    second.send(&right);
    assert_eq!(second.hear(), Some(-2), "another question's answer");
    drop(first);
    thread::sleep(Duration::from_millis(200));
    let (mut again, _) = asked(21);
    again.send(&right);
    assert_eq!(again.hear(), Some(-2), "an earlier question's answer of the same test");
    let (mut own, right) = asked(23);
    own.send(&right);
    assert_eq!(own.hear(), Some(9), "PARAM_EXCHANGE");
}

#[test]
fn clocks_and_one_way_delays_are_told_with_their_error() {
    let server = Server::start(&[]);
    for (words, of) in [
        (&["-b", "20M"][..], ["messages", "messages"]),
        (&["-u", "-b", "10M"], ["datagrams", "messages"]),
        (&["-u", "-b", "10M", "-R"], ["messages", "datagrams"]),
        (&["-u", "-b", "10M", "--bidir", "-O", "1"], ["datagrams", "datagrams"]),
    ] {
        let output = server.test(&[&["-t", "1", "-J"], words].concat());
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let (clock, delays) = (&document["pipefill"]["clock"], &document["pipefill"]["one_way_delay"]);
        let of_clock = |name: &str| clock[name].as_f64().unwrap_or_else(|| panic!("{words:?}: {clock:#}"));
        // Both ends have the same clock.
        assert!(of_clock("offset_us").abs() <= of_clock("offset_error_us") + 1.0, "{clock:#}");
        assert!(of_clock("drift_ppm").abs() <= of_clock("drift_error_ppm") + 1.0, "{clock:#}");
        assert!(2.0 * of_clock("offset_error_us") + 2.0 >= of_clock("round_trip_us"), "{clock:#}");
        for (way, of) in ["to_server", "to_client"].into_iter().zip(of) {
            let delay = &delays[way];
            assert_eq!(delay["of"], of, "{words:?}: {delays:#}");
            let [idle, middle, high] = ["idle_us", "loaded_us_p50", "loaded_us_p95"]
                .map(|name| delay[name].as_f64().unwrap_or_else(|| panic!("{words:?} {way}: {delays:#}")));
            let error = delays["error_us"].as_f64().unwrap();
            assert!(idle >= -error && middle >= -error && middle <= high, "{words:?}: {delays:#}");
            assert!(delay["samples"].as_u64() >= Some(3), "{words:?}: {delays:#}");
        }
    }
    let text = server.test(&["-t", "1", "-b", "10M"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(
        text.contains("One-way delay to the server") && text.contains("half of the round trip"),
        "{text}"
    );
}

#[test]
fn a_title_a_file_and_the_servers_own_words() {
    let server = Server::start(&[]);
    let folder = Folder::new();
    let port = server.port.to_string();
    let test = |words: &[&str]| {
        let words = [&["test", "127.0.0.1", "-p", &port, "-n", "1M"], words].concat();
        let output = folder.pipefill(&words).output().unwrap();
        assert!(went_well(&output), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    for _ in 0..2 {
        assert_eq!(test(&["-T", "A to B", "--logfile", "log", "--get-server-output"]), "");
    }
    let log = fs::read_to_string(folder.path("log")).unwrap();
    let lines: Vec<&str> = log.lines().filter(|line| !line.is_empty()).collect();
    assert!(lines.iter().all(|line| line.starts_with("A to B:  ")), "{log}");
    assert_eq!(log.matches("The server says:\nA to B:  | TCP, 1 stream received").count(), 2, "{log}");
    let document: Value =
        serde_json::from_str(&test(&["-T", "A to B", "-J", "--get-server-output"])).unwrap();
    assert_eq!(document["title"], "A to B");
    assert!(document["server_output_text"].as_str().unwrap().starts_with("TCP, 1 stream received"));
    let paced: Value = serde_json::from_str(&test(&["--fq-rate", "80M", "-J"])).unwrap();
    let seconds = paced["end"]["sum_received"]["seconds"].as_f64().unwrap();
    // The kernel lets a first burst go.
    assert!(seconds > 0.04, "1 MiB at 80 Mbit/s takes 0.1 s: {seconds}");
}

#[test]
fn a_server_for_one_test_ends_with_it() {
    let mut server = Server::start(&["--once"]);
    drop(Client::connect(server.port));
    let output = server.test(&["-n", "1M", "-J"]);
    assert!(went_well(&output), "{}", String::from_utf8_lossy(&output.stderr));
    let began = Instant::now();
    while server.child.try_wait().unwrap().is_none() {
        assert!(began.elapsed() < Duration::from_secs(5), "it goes on");
        thread::sleep(Duration::from_millis(20));
    }
    assert!(server.child.wait().unwrap().success());
}

#[test]
fn several_tests_at_a_time_go_well_and_records_are_read_like_any() {
    let server = Server::start(&[]);
    let folder = Folder::new();
    let port = server.port.to_string();
    let words = |more: &[&'static str]| -> Vec<String> {
        ["test", "127.0.0.1", "-p", &port, "-t", "2", "-b", "20M"]
            .iter()
            .chain(more)
            .map(|&word| word.to_owned())
            .collect()
    };
    let all = [
        words(&["-J"]),
        words(&["-R", "-J"]),
        words(&["-u", "-J"]),
        words(&["--bidir", "-P", "2", "--out", "kept"]),
    ];
    let children: Vec<Child> =
        all.iter().map(|words| folder.start(&words.iter().map(String::as_str).collect::<Vec<_>>())).collect();
    for (child, words) in children.into_iter().zip(&all) {
        let output = child.wait_with_output().unwrap();
        assert!(went_well(&output), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        if words.last().unwrap() == "-J" {
            let document: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(document["pipefill"]["server"], "pipefill", "{words:?}");
            let limited_by = unless_invalid(&document, "limited_by");
            // A sender of datagrams that has no CPU when its time ends still owes what was due meanwhile.
            let is_short = words.iter().any(|word| word == "-u")
                && document["end"]["sum_sent"]["bits_per_second"].as_f64().unwrap() < 0.98 * 20e6;
            let expected = if is_short { "unknown" } else { "app" };
            assert!(
                limited_by.is_none_or(|limit| limit == expected),
                "{words:?}: {:#}",
                document["pipefill"]
            );
        }
    }
    let report = folder.pipefill(&["report", "kept", "--json"]).output().unwrap();
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!(report["cells"].as_array().unwrap().len(), 4, "{report:#}");
    let cell = &report["cells"][0];
    assert!(cell["valid"] == 0 || cell["limited_by"] == "app", "{cell:#}");
    let taken = folder.pipefill(&["test", "127.0.0.1", "-p", &port, "--out", "kept"]).output().unwrap();
    assert_eq!(taken.status.code(), Some(2));
}

#[test]
fn wrong_words_and_servers_that_are_none_are_named() {
    let folder = Folder::new();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port().to_string();
    let silent = thread::spawn(move || {
        let (mut stream, _) = free.accept().unwrap();
        stream.write_all(b"220 mail.example ESMTP\r\n").unwrap();
        let mut rest = Vec::new();
        let _closed = stream.read_to_end(&mut rest);
    });
    for (words, told) in [
        (&["127.0.0.1", "-p", &port][..], "not a state of iperf3's protocol"),
        (&["127.0.0.1", "-p", "1"], "start a server there"),
        (&["127.0.0.1:70000"], "no host and port"),
        (&["127.0.0.1:5201", "-p", "5202"], "write it once"),
        (&["127.0.0.1", "-t", "1.5"], "whole seconds"),
        (&["127.0.0.1", "-t", "0"], "measures nothing"),
        (&["127.0.0.1", "-u", "-l", "8"], "-l 16 to -l 65507"),
        (&["127.0.0.1", "-R", "--bidir"], "cannot be used with"),
        (&["127.0.0.1", "-6"], "no address of the family"),
    ] {
        let output = folder.pipefill(&[&["test"], words].concat()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && text.contains(told), "{words:?}: {text}");
    }
    silent.join().unwrap();
    let server = Server::start(&[]);
    let port = server.port.to_string();
    let second = folder.pipefill(&["serve", "-p", &port]).output().unwrap();
    assert_eq!(second.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&second.stderr).contains("another server has this port"));
}

#[test]
fn the_json_is_what_its_schema_says() {
    let server = Server::start(&[]);
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/test.json");
    let schema = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    for words in [&["-t", "1", "-J", "-R"][..], &["-t", "1", "-J", "-u"]] {
        let document: Value = serde_json::from_slice(&server.test(words).stdout).unwrap();
        let problems: Vec<String> =
            schema.iter_errors(&document["pipefill"]).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{problems:#?}");
    }
}
