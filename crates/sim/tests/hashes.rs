//! The same bytes on every machine, with overflow checks or without: the hash of each record of a table of scenarios, as it was.
//!
//! `HASHES=write cargo test -p pipefill-sim --test hashes` renews `hashes.txt`. It changes with the simulator's behaviour and with
//! nothing else: the commit that changes it says why. No scenario here has a normal jitter: its logarithm and cosine are the
//! platform's own (`Prng::next_normal()`); nothing else in a run calls one but the square root, which IEEE 754 fixes.

use pipefill_core::backend::{Backend, Unwatched};
use pipefill_core::prng::fnv1a;
use pipefill_core::scenario::Scenario;
use pipefill_sim::Sim;
use std::fmt::Write;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hashes.txt");

/// Name, path, host, flow.
const SCENARIOS: [[&str; 4]; 16] = [
    ["cubic", "rtt = \"20ms\"\nrate = \"50mbit\"\nqueue = \"1bdp\"", "cubic", ""],
    ["reno-loss", "rtt = \"10ms\"\nrate = \"20mbit\"\nloss = \"1%\"", "reno", ""],
    ["bbr-loss", "rtt = \"40ms\"\nrate = \"20mbit\"\nloss = \"2%\"", "bbr", ""],
    ["cubic-loss", "rtt = \"1ms\"\nrate = \"100mbit\"\nloss = \"5%\"", "cubic", ""],
    [
        "super-packets",
        "rtt = \"1ms\"\nrate = \"200mbit\"\nloss = \"1%\"\nloss_unit = \"super-packet\"",
        "cubic",
        "",
    ],
    [
        "jitter",
        "rtt = \"30ms\"\nrate = \"20mbit\"\njitter = \"5ms\"\njitter_reorder = true\nduplicate = \"1%\"",
        "cubic",
        "",
    ],
    ["reorder", "rtt = \"30ms\"\nrate = \"20mbit\"\nreorder = \"2%\"\nreverse_loss = \"3%\"", "bbr", ""],
    ["bursts", "rtt = \"20ms\"\nrate = \"20mbit\"\nloss = \"gilbert-elliott p=1% r=20%\"", "reno", ""],
    ["parallel", "rtt = \"20ms\"\nrate = \"30mbit\"\nqueue = \"40p\"", "cubic", "parallel = 4"],
    ["small-buffers", "rtt = \"50ms\"\nrate = \"20mbit\"", "cubic", "sndbuf = \"3000B\"\nrcvbuf = \"9000B\""],
    ["slow-reader", "rtt = \"20ms\"\nrate = \"20mbit\"", "bbr", "read_rate = \"300kbit\""],
    [
        "both-ways",
        "rtt = \"20ms\"\nrate = \"20mbit\"\nreverse_rate = \"2mbit\"",
        "cubic",
        "direction = \"both\"",
    ],
    [
        "requests",
        "rtt = \"20ms\"\nrate = \"20mbit\"\nloss = \"1%\"\nreverse_loss = \"2%\"",
        "cubic",
        "app = { kind = \"requests\", request = \"5kB\", response = \"20kB\", think = \"7ms\", outstanding = 3 }",
    ],
    [
        "writes",
        "rtt = \"20ms\"\nrate = \"20mbit\"",
        "reno",
        "app = { kind = \"writes\", sizes = [\"300B\", \"1200B\"], response = \"3kB\" }",
    ],
    [
        "app-window",
        "rtt = \"30ms\"\nrate = \"50mbit\"",
        "bbr",
        "app = { kind = \"window\", size = \"64KiB\" }",
    ],
    [
        "app-bursts",
        "rtt = \"20ms\"\nrate = \"20mbit\"\nqueue = \"1bdp\"",
        "cubic",
        "app = { kind = \"bursts\", size = \"300kB\", every = \"700ms\" }",
    ],
];

fn hash(path: &str, control: &str, flow: &str) -> u64 {
    let text = format!(
        "name = \"hash\"\n[path]\n{path}\n[host]\ncongestion_control = \"{control}\"\n\
         [[flow]]\nduration = \"2s\"\n{flow}\n\
         [[flow]]\nprotocol = \"udp\"\nbitrate = \"1mbit\"\nlength = \"700B\"\nstart = \"500ms\"\nduration = \"1s\"\n\
         [run]\nrepeat = 1\nsample = \"20ms\"\n"
    );
    let scenario = Scenario::parse(&text, "hash.toml").unwrap_or_else(|error| panic!("{error}"));
    let run = scenario.plan().runs().swap_remove(0);
    let record = Sim::new().run(&run, &Unwatched).unwrap_or_else(|error| panic!("{error}"));
    assert!(record.manifest.streams.iter().all(|stream| stream.received_bytes > 0), "{path}");
    fnv1a(&serde_json::to_vec(&record).expect("a record is JSON"))
}

#[test]
fn every_record_has_the_bytes_that_it_had() {
    let mut now = String::new();
    for [name, path, control, flow] in SCENARIOS {
        writeln!(now, "{name} {:016x}", hash(path, control, flow)).expect("a string takes it");
    }
    if std::env::var("HASHES").is_ok_and(|word| word == "write") {
        std::fs::write(FILE, &now).expect("the file can be written");
    }
    let known = std::fs::read_to_string(FILE).expect("the hashes are in the repository");
    assert_eq!(now, known, "if that is meant: HASHES=write cargo test -p pipefill-sim --test hashes");
}
