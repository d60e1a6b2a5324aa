//! Programs that are not ours, captured at both ends: bytes and retransmissions from packets alone, beside the kernel's counters of their sockets.

mod cases;

use crate::hosts::sshd::{self, Sshd};
use crate::measuring::namespace::{folder_with, installed};
use crate::measuring::{Folder, Outcome, Test, slow_test};
use cases::{CASES, Case, DISORDER, FILE, PATHS, Path, QUICK};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};

const SOCKETS: &str = include_str!("programs/sockets.py");
/// Near's command: sockets are watched before the first one opens, and until the last one is gone.
const NEAR: &str = "host=$1 in_url=${2#http://}
in_url=${in_url%:8000}
python3 sockets.py watch near.jsonl &
until [ -s near.jsonl ]; do sleep 0.01; done
(
CLIENT
) || exit 1
python3 sockets.py wait near.jsonl far.jsonl
";
const FAR: &str = "python3 sockets.py watch far.jsonl &
until [ -s far.jsonl ]; do sleep 0.01; done
SERVER
";

/// Where a super-packet ends within a segment and a part of it is sent again, the kernel counts the segments of the whole: its IP identification
/// goes on by two after a packet of one segment.
const SHORT_WRITES: &str = "redis_pipelined";

/// Ten of them; all with all paths where `PIPEFILL_PROGRAM_CAPTURES=all`.
pub(crate) fn tests() -> Vec<Test> {
    let is_all = std::env::var("PIPEFILL_PROGRAM_CAPTURES").is_ok_and(|value| value == "all");
    let is_wanted = |case: &Case, path: &Path| is_all || QUICK.contains(&(case.name, path.0));
    let all = CASES.into_iter().flat_map(|case| PATHS.map(|path| (case, path)));
    let wanted = all.filter(|(case, path)| is_wanted(case, path));
    wanted
        .map(|(case, path)| {
            slow_test(format!("{}_{}", case.name, path.0), move || is_as_counted(&case, path, is_all))
        })
        .collect()
}

/// What the kernel counted of a socket, by `sockets.py`.
#[derive(Debug)]
struct Socket {
    own: String,
    peer: String,
    retransmits: u64,
    /// Payload, each byte once.
    sent: u64,
    acked: u64,
    /// The least number of segments that the payload that was sent again fits in.
    least_retransmits: u64,
}

/// A flow of `pipefill pcap`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Counted {
    bytes: u64,
    retransmits: u64,
}

fn is_as_counted(case: &Case, (path_name, path): Path, is_all: bool) -> Outcome {
    let folder = folder_with(&["python3", "sh"])?;
    installed(case.needs)?;
    let _server = prepare(&folder, case);
    let words = ["--capture", "--out", "kept", "--server", "sh far.sh", "--", "sh", "near.sh"];
    let exec = [&["exec"], path, &words[..], &["{server}", "http://{server}:8000"]].concat();
    let output = folder.pipefill(&exec).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(!told.contains("no room"), "the capture is whole: {told}");
    let sockets = [sockets(&folder, "near"), sockets(&folder, "far")];
    let captures = [flows(&folder, "near"), flows(&folder, "far")];
    let mut largest = 0;
    for (end, of_end) in sockets.iter().enumerate() {
        for socket in of_end.iter().filter(|socket| socket.sent > 0) {
            let [own, other] = [end, 1 - end]
                .map(|end| captures[end].get(&(socket.own.clone(), socket.peer.clone())).copied());
            println!("{} {path_name}: {socket:?}, packets {own:?}, at the other end {other:?}", case.name);
            let own = own.expect("a flow near the sender");
            let most = socket.retransmits;
            let least = if case.name == SHORT_WRITES { socket.least_retransmits } else { most };
            assert_eq!(own.bytes, socket.sent, "near the sender: {socket:?}");
            assert!((least..=most).contains(&own.retransmits), "near the sender: {socket:?}, {own:?}");
            // What never arrived is acknowledged by nobody.
            let other = other.expect("a flow near the receiver");
            let is_whole = socket.acked >= socket.sent;
            assert!(other.bytes == socket.sent || !is_whole, "near the receiver: {socket:?}, {other:?}");
            assert!(other.retransmits <= socket.retransmits, "near the receiver: {socket:?}, {other:?}");
            largest = largest.max(socket.sent);
        }
    }
    assert!(largest >= case.least, "the largest flow has {largest} bytes of {}", case.least);
    check_application(&printed, &captures);
    if is_all { agrees_with_tshark(&folder) } else { Ok(()) }
}

/// Files, configurations, and scripts of both ends.
fn prepare(folder: &Folder, case: &Case) -> Option<Sshd> {
    let bytes: Vec<u8> = (0..FILE).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    fs::write(folder.path("file"), bytes).unwrap();
    folder.write("sockets.py", SOCKETS);
    folder.write("disorder.toml", DISORDER);
    folder.write("near.sh", &NEAR.replace("CLIENT", case.client));
    folder.write("far.sh", &FAR.replace("SERVER", case.server));
    let mut shell = Command::new("sh");
    shell.args(["-ec", case.prepare]).current_dir(folder.root()).stdin(Stdio::null());
    assert!(shell.status().unwrap().success(), "{}", case.prepare);
    case.needs
        .contains(&sshd::PROGRAM)
        .then(|| Sshd::prepare(folder, "::\nListenAddress 0.0.0.0", "/usr/bin:/bin"))
}

/// The sockets between both ends that are gone.
fn sockets(folder: &Folder, end: &str) -> Vec<Socket> {
    let text = fs::read_to_string(folder.path(&format!("{end}.jsonl"))).unwrap();
    // The first line says that the socket of the list is open.
    let lines = text.lines().skip(1).map(|line| serde_json::from_str::<Value>(line).unwrap());
    let all = lines.map(|line| {
        let number = |name: &str| line[name].as_u64().unwrap();
        let text = |name: &str| line[name].as_str().unwrap().to_owned();
        Socket {
            own: text("own"),
            peer: text("peer"),
            retransmits: number("total_retrans"),
            sent: number("bytes_sent") - number("bytes_retrans"),
            acked: number("bytes_acked"),
            least_retransmits: number("bytes_retrans").div_ceil(number("snd_mss").max(1)),
        }
    });
    let is_between = |socket: &Socket| !socket.own.starts_with("127.") && !socket.own.starts_with("[::1]");
    all.filter(is_between).collect()
}

/// By source and destination.
fn flows(folder: &Folder, end: &str) -> BTreeMap<(String, String), Counted> {
    let output = folder.pipefill(&["pcap", &format!("kept/{end}.pcapng"), "--json"]).output().unwrap();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let flows = told["flows"].as_array().unwrap().iter().map(|flow| {
        let text = |name: &str| flow[name].as_str().unwrap().to_owned();
        let number = |name: &str| flow[name].as_u64().unwrap();
        let counted = Counted { bytes: number("bytes"), retransmits: number("retransmits") };
        ((text("src"), text("dst")), counted)
    });
    flows.collect()
}

/// What the program says that it sent and received.
fn check_application(printed: &str, captures: &[BTreeMap<(String, String), Counted>; 2]) {
    let Some(line) = printed.lines().find_map(|line| line.strip_prefix("application ")) else { return };
    let counts: Vec<u64> = line.split(' ').map(|count| count.parse().unwrap()).collect();
    for (end, capture) in ["near", "far"].into_iter().zip(captures) {
        let of_way = |is_near: bool| -> u64 {
            let way = capture.iter().filter(|((source, _), _)| source.contains(":8000") != is_near);
            way.map(|(_, counted)| counted.bytes).sum()
        };
        assert_eq!([of_way(true), of_way(false)], [counts[0], counts[1]], "{end}: the application's bytes");
    }
}

/// Bytes and times as a script computes them from tshark's fields. Of retransmissions the kernel knows more.
fn agrees_with_tshark(folder: &Folder) -> Outcome {
    installed(&["tshark"])?;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/capture_figures.py");
    let program = assert_cmd::cargo::cargo_bin!("pipefill");
    let mut command = Command::new("python3");
    command.arg(script).arg("--program").arg(program).args(["--jobs", "1", "--differences", "differences"]);
    let output =
        command.args(["kept/near.pcapng", "kept/far.pcapng"]).current_dir(folder.root()).output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&output.stderr));
    let differences = fs::read_to_string(folder.path("differences")).unwrap();
    let wrong = differences.lines().filter(|line| {
        println!("differs: {line}");
        let differs: Value = serde_json::from_str(line).unwrap();
        ["bytes", "data_us", "flow"].iter().any(|figure| differs["figure"] == *figure)
    });
    assert_eq!(wrong.count(), 0, "{differences}");
    Ok(())
}
