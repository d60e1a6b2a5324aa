//! The examples of the library, each run.

#[path = "../../examples/judge_capture.rs"]
#[expect(dead_code, reason = "its main is the example's")]
mod judge_capture;
#[path = "../../examples/run_scenario.rs"]
#[expect(dead_code, reason = "its main is the example's")]
mod run_scenario;
#[path = "../../examples/watch_sockets.rs"]
#[expect(dead_code, reason = "its main is the example's")]
mod watch_sockets;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fs, thread};

#[test]
fn a_scenario_is_run_and_its_capture_is_judged() {
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (folder.path().join("a.toml"), folder.path().join("out"));
    let text = "name = \"a\"\n[path]\nrtt = \"10ms\"\nrate = \"50mbit\"\n[[flow]]\nduration = \"2s\"\n[run]\nrepeat = 1\ncapture = true\n";
    fs::write(&file, text).unwrap();
    let verdicts = run_scenario::verdicts(&file, Some(out.clone())).unwrap();
    assert_eq!(verdicts.lines().count(), 1, "{verdicts}");
    assert!(verdicts.contains("Limited by the path"), "{verdicts}");
    let run = fs::read_dir(out.join("runs")).unwrap().next().unwrap().unwrap().path();
    let verdicts = judge_capture::verdicts(&run.join("artifacts/sender.pcapng")).unwrap();
    assert!(verdicts.contains("Limited by the path"), "{verdicts}");
}

#[test]
fn the_sockets_of_this_host_are_watched() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let is_judged = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let (mut from, _) = listener.accept().unwrap();
            while from.read(&mut [0; 4096]).is_ok_and(|count| count > 0) {}
        });
        let mut to = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let is_judged = &is_judged;
        scope.spawn(move || {
            while !is_judged.load(Ordering::Relaxed) && to.write_all(&[0; 4096]).is_ok() {
                thread::sleep(Duration::from_millis(1));
            }
        });
        let filter = ["dport", "=", &format!(":{port}")].map(str::to_owned);
        let verdicts = watch_sockets::verdicts(&filter, Duration::from_millis(600));
        // The threads end first, whatever was said.
        is_judged.store(true, Ordering::Relaxed);
        let verdicts = verdicts.unwrap();
        assert!(verdicts.contains(&format!("to 127.0.0.1:{port}: ")), "{verdicts}");
    });
}
