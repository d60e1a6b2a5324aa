//! Drawing the connections of a small capture: which, where, and nothing where it can't be.

use super::{Which, draw};
use pipefill_runs::Failure;
use std::fs;
use std::path::PathBuf;

const SYN: u8 = 2;
const ACK: u8 = 16;

/// A record of a pcap of raw IPv4: headers only, `payload` bytes were on the wire.
fn record(at_ms: u32, ports: (u16, u16), seq: u32, ack: u32, flags: u8, payload: u16) -> Vec<u8> {
    let total = 40 + payload;
    let time = [(at_ms / 1000).to_le_bytes(), (at_ms % 1000 * 1000).to_le_bytes()].concat();
    let lengths = [40_u32.to_le_bytes(), u32::from(total).to_le_bytes()].concat();
    let total = total.to_be_bytes();
    let host = |port: u16| if port > 1000 { 1 } else { 2 };
    let ip = [
        &[0x45, 0, total[0], total[1], 0, at_ms as u8, 0x40, 0, 64, 6, 0, 0][..],
        &[192, 0, 2, host(ports.0), 192, 0, 2, host(ports.1)],
    ]
    .concat();
    let numbers = [seq.to_be_bytes(), ack.to_be_bytes()].concat();
    let ends = [ports.0.to_be_bytes(), ports.1.to_be_bytes()].concat();
    [time, lengths, ip, ends, numbers, vec![0x50, flags, 0x20, 0, 0, 0, 0, 0]].concat()
}

/// A small connection from port 2001, and one of ten segments to port 2002, of which the fifth is sent again.
fn capture() -> Vec<u8> {
    let mut file = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 101, 0, 0, 0];
    for (client, server) in [(2001, 80), (2002, 81)] {
        file.extend(record(0, (client, server), 0, 0, SYN, 0));
        file.extend(record(20, (server, client), 0, 1, SYN | ACK, 0));
        file.extend(record(21, (client, server), 1, 1, ACK, 100));
        file.extend(record(41, (server, client), 1, 101, ACK, 0));
    }
    for number in 0..10 {
        let (at, seq) = (50 + number * 40, 1 + number * 1000);
        file.extend(record(at, (81, 2002), seq, 101, ACK, 1000));
        if number == 5 {
            file.extend(record(at + 10, (81, 2002), seq, 101, ACK, 1000));
        }
        file.extend(record(at + 20, (2002, 81), 101, seq + 1000, ACK, 0));
    }
    file
}

struct Scene(tempfile::TempDir);

impl Scene {
    fn new(capture: &[u8]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("a.pcap"), capture).expect("a capture");
        Self(folder)
    }

    fn draw(&self, which: Which) -> Result<Vec<String>, Failure> {
        let paths = draw(&self.0.path().join("a.pcap"), &which, &self.0.path().join("graphs"))?;
        let name = |path: &PathBuf| {
            assert!(path.is_file(), "{}", path.display());
            path.file_name().unwrap_or_default().to_string_lossy().into_owned()
        };
        Ok(paths.iter().map(name).collect())
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.path().join("graphs").join(name)).expect("a file")
    }

    /// Whether there is nothing but the capture.
    fn is_untouched(&self) -> bool {
        fs::read_dir(self.0.path()).expect("the folder").count() == 1
    }
}

#[test]
fn the_largest_connection_is_drawn_in_its_larger_direction() {
    let scene = Scene::new(&capture());
    let names = scene.draw(Which::default()).expect("graphs");
    for name in [
        "1-time-sequence.svg",
        "1-window.svg",
        "1-rtt.svg",
        "1-throughput.svg",
        "1_tsg.xpl",
        "1_owin.xpl",
        "1_rtt.xpl",
        "1_tput.xpl",
    ] {
        assert!(names.iter().any(|there| there == name), "{name} in {names:?}");
    }
    let there = fs::read_dir(scene.0.path().join("graphs")).expect("a directory").count();
    assert_eq!((there, names.len()), (names.len(), there));
    let picture = scene.read("1-time-sequence.svg");
    assert!(picture.contains("192.0.2.2:81 → 192.0.2.1:2002") && picture.contains(" retransmit</text>"));
    assert!(scene.read("1_tsg.xpl").contains("192.0.2.2:81_==>_192.0.2.1:2002 (time sequence graph)"));
    assert_eq!(fs::read_dir(scene.0.path()).expect("the folder").count(), 2, "nothing else is left");
}

#[test]
fn connections_are_chosen_by_number_port_and_bytes() {
    let titles = |which: Which| -> Vec<bool> {
        let scene = Scene::new(&capture());
        scene.draw(which).expect("graphs");
        let title = |number: u8| {
            let name = format!("{number}-time-sequence.svg");
            let is_there = scene.0.path().join("graphs").join(&name).is_file();
            is_there.then(|| scene.read(&name).contains(":2002"))
        };
        [1, 2].into_iter().filter_map(title).collect()
    };
    assert_eq!(titles(Which { id: Some(0), ..Which::default() }), [false]);
    assert_eq!(titles(Which { port: Some(80), ..Which::default() }), [false]);
    assert_eq!(titles(Which { at_least: Some(50), ..Which::default() }), [true, false]);
    assert_eq!(titles(Which { at_least: Some(5000), ..Which::default() }), [true]);
}

#[test]
fn what_cannot_be_drawn_leaves_nothing() {
    let missing = Scene::new(&capture());
    assert!(missing.draw(Which { port: Some(4), ..Which::default() }).is_err() && missing.is_untouched());
    let other = Scene::new(b"a letter, not a capture");
    assert!(other.draw(Which::default()).is_err() && other.is_untouched());
    let folder = Scene::new(&capture());
    let no_file = draw(folder.0.path(), &Which::default(), &folder.0.path().join("graphs"));
    assert!(no_file.is_err() && folder.is_untouched());
    let there = Scene::new(&capture());
    fs::create_dir(there.0.path().join("graphs")).expect("a directory");
    let refused = there.draw(Which::default()).expect_err("it is there");
    assert!(refused.to_string().ends_with("is there already"), "{refused}");
    assert!(there.0.path().join("graphs").read_dir().expect("it").next().is_none());
}

#[test]
fn of_a_capture_that_breaks_off_the_rest_is_drawn_and_said_so() {
    let whole = capture();
    let scene = Scene::new(&whole[..whole.len() - 30]);
    scene.draw(Which::default()).expect("graphs");
    assert!(scene.read("1-window.svg").contains("The capture could not be read to its end"));
}
