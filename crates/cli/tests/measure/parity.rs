//! The simulator held against the machine's own kernel: the same scenarios on both, the same goodput, the same verdict. Each cell of the
//! scenario is a test.
//!
//! Never: a difference that is explained away; what is outside of the bounds is a bug in one of the two.

use crate::measuring::{Folder, Outcome, Test, cells, is_quiet, lab, read, report, tests_of};
use serde_json::Value;
use std::sync::OnceLock;

const SCENARIO: &str = include_str!("scenarios/parity.toml");
const CONVERSATIONS: &str = include_str!("scenarios/conversations.toml");

/// Cells that need a quiet machine: at a gigabit, where a queue of a quarter of a BDP shows each delay of the sender, and where the send buffer is the limit:
/// on a busy CPU packets are larger, of which more fit into it. And 18 s of few losses beside those of many.
const FAST: [&str; 4] = ["gigabit", "shallow", "small-send-buffer", "path.loss=0.1%"];
/// Cells that are left to a quiet machine, beside others: long ones, and those of which another one has the same elements.
const SELDOM: [&str; 9] = [
    "far-big-buffers",
    "lossy",
    "jumbo",
    "no-offloads",
    "ipv6",
    "once-per-wake",
    "requests-think",
    "requests-pipelined",
    "bursts",
];
/// Relative difference of the goodput that is allowed where nothing is lost at random, and where chance decides.
const WITHOUT_LOSS: f64 = 0.10;
const WITH_LOSS: f64 = 0.20;
/// Of conversations of about 100 ms a turn: an ACK that is delayed by 40 ms waits for a tick of a kernel of 250 Hz, 4 ms, and each of the
/// four packets of a turn for a process or an interrupt of this machine.
const OF_TURNS: f64 = 0.08;
/// A limit that holds for this share of the time on one of the two is the verdict on both. Below, two limits take turns, and which of
/// them leads may differ.
const MOST: f64 = 0.6;

pub(crate) fn tests() -> Vec<Test> {
    let mut tests = tests_of(often(SCENARIO), &FAST, agrees);
    tests.extend(tests_of(often(CONVERSATIONS), &[], takes_as_long));
    tests
}

/// The cells of a scenario that this machine measures.
fn often(scenario: &str) -> Vec<String> {
    let mut cells = cells(scenario);
    cells.retain(|cell| is_quiet() || !SELDOM.iter().any(|name| cell.contains(name)));
    cells
}

fn agrees(only: &str) -> Outcome {
    static SIMULATED: OnceLock<Value> = OnceLock::new();
    let [sim, real] = both(SCENARIO, only, &SIMULATED)?;
    goodput_agrees(&sim, &real, bound(&real["axes"]));
    verdict_agrees(&sim, &real);
    Ok(())
}

/// A conversation's turns: what is limited by whose waiting is the catalogue's.
fn takes_as_long(only: &str) -> Outcome {
    static SIMULATED: OnceLock<Value> = OnceLock::new();
    let [sim, real] = both(CONVERSATIONS, only, &SIMULATED)?;
    goodput_agrees(&sim, &real, OF_TURNS);
    Ok(())
}

/// The cell `only` of the simulator and of the lab. The simulator's report of all cells is made once, before anything is measured.
fn both(
    scenario: &str,
    only: &str,
    simulated: &OnceLock<Value>,
) -> Result<[Value; 2], crate::measuring::Skip> {
    let folder = lab()?;
    folder.write("parity.toml", scenario);
    let sim = simulated.get_or_init(|| {
        let folder = Folder::new();
        folder.write("parity.toml", scenario);
        let words = ["run", "parity.toml", "--on", "sim", "--out", "sim", "--quiet", "--json"];
        read(&folder.pipefill(&words).output().unwrap())
    });
    let real = report(&folder, &["parity.toml", "--only", only])?["cells"][0].clone();
    let is_same = |cell: &&Value| cell["axes"] == real["axes"];
    let sim = sim["cells"].as_array().unwrap().iter().find(is_same).expect("the same cell").clone();
    Ok([sim, real])
}

fn goodput_agrees(sim: &Value, real: &Value, bound: f64) {
    let goodput = |cell: &Value| cell["goodput_bps"].as_f64().unwrap_or_else(|| panic!("no goodput: {cell}"));
    let (sim_bps, real_bps) = (goodput(sim), goodput(real));
    let difference = sim_bps / real_bps - 1.0;
    println!("sim {sim_bps:.0}, lab {real_bps:.0} bit/s, {:+.1} %", 100.0 * difference);
    assert!(
        difference.abs() <= bound,
        "sim {sim_bps:.0}, lab {real_bps:.0} bit/s: {:+.1} %, allowed are {:.0} %",
        100.0 * difference,
        100.0 * bound
    );
}

fn bound(axes: &Value) -> f64 {
    let is_lossy = axes["variant"].as_str().is_some_and(|name| name.starts_with("lossy"));
    if is_lossy { WITH_LOSS } else { WITHOUT_LOSS }
}

fn verdict_agrees(sim: &Value, real: &Value) {
    let verdict = |cell: &Value| (cell["limited_by"].clone(), cell["cwnd_cause"].clone());
    let leads = |cell: &Value| {
        let shares = cell["limited_fraction"].as_object().unwrap_or_else(|| panic!("no shares: {cell}"));
        shares.values().any(|share| share.as_f64() >= Some(MOST))
    };
    println!("sim {}, lab {}", sim["verdict"], real["verdict"]);
    if leads(sim) || leads(real) {
        assert_eq!(verdict(sim), verdict(real), "sim: {}; lab: {}", sim["verdict"], real["verdict"]);
    }
}
