//! The catalogue's cells through `pipefill test`: behind the same paths with payload kept, with our server and with a stock one, each way.
//!
//! `PIPEFILL_BETWEEN_CELLS=all` judges all cells that the letters of `test` can ask for, a number so many of them, spread over the list.

use crate::measuring::namespace::folder_with;
use crate::measuring::{Folder, Outcome};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::thread;
use toml_edit::{DocumentMut, Item, Table};

/// What says how many cells are judged.
pub(crate) const CELLS: &str = "PIPEFILL_BETWEEN_CELLS";

/// Whether all cells, or at least so many, are asked for.
pub(crate) fn asked() -> Option<usize> {
    let text = std::env::var(CELLS).ok()?;
    Some(if text == "all" {
        usize::MAX
    } else {
        text.parse().unwrap_or_else(|_| panic!("{CELLS} is {text}"))
    })
}

/// Who answers, and which way data goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TestKind {
    pub(crate) is_ours: bool,
    pub(crate) is_reverse: bool,
    /// Of all cells, so many verdicts are right, or `unknown`.
    pub(crate) right: f64,
    /// So many are wrong at most.
    pub(crate) wrong: f64,
    /// Whether `unknown` is as good as right.
    pub(crate) may_be_unknown: bool,
}

pub(crate) const KINDS: [(&str, TestKind); 4] = [
    ("serve", TestKind { is_ours: true, is_reverse: false, right: 0.95, wrong: 0.05, may_be_unknown: false }),
    (
        "serve -R",
        TestKind { is_ours: true, is_reverse: true, right: 0.95, wrong: 0.05, may_be_unknown: false },
    ),
    (
        "iperf3",
        TestKind { is_ours: false, is_reverse: false, right: 0.90, wrong: 0.10, may_be_unknown: false },
    ),
    (
        "iperf3 -R",
        TestKind { is_ours: false, is_reverse: true, right: 0.80, wrong: 0.05, may_be_unknown: true },
    ),
];

/// Tests at a time: each is a bulk transfer behind a path of its own.
const AT_ONCE: usize = 2;
/// Path keys that have a counterpart in the other direction.
const DIRECTED: [&str; 6] = ["rate", "queue", "burst", "loss", "jitter", "delay_limit"];

/// A scenario of one flow that `test` can ask for.
struct Cell {
    name: String,
    scenario: String,
    letters: Vec<String>,
    server_rate: Option<String>,
    limit: String,
}

/// Judges them, prints the confusion, and holds the shares.
pub(crate) fn judge(kind: TestKind, most: usize) -> Outcome {
    let folder = folder_with(&["iperf3"])?;
    let all = cells(kind);
    let step = all.len().div_ceil(most.min(all.len()).max(1));
    let chosen: Vec<Cell> = all.into_iter().step_by(step).collect();
    let (queue, found) = (Mutex::new(chosen.iter()), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(cell) = { queue.lock().unwrap().next() } {
                    let told = verdict(&folder, kind, cell);
                    let is_right = told["limited_by"] == *cell.limit;
                    let note = if is_right { String::new() } else { format!("  {}", told["verdict"]) };
                    println!("  {:<24} {:>8} -> {}{note}", cell.name, cell.limit, told["limited_by"]);
                    let found_limit = told["limited_by"].as_str().unwrap_or_default().to_owned();
                    found.lock().unwrap().push((cell.name.clone(), cell.limit.clone(), found_limit));
                }
            });
        }
    });
    hold(kind, &found.into_inner().unwrap());
    Ok(())
}

fn hold(kind: TestKind, found: &[(String, String, String)]) {
    let mut confusion: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (_, planted, told) in found {
        *confusion.entry((planted, told)).or_default() += 1;
    }
    let count = |is_so: fn(&str, &str) -> bool| {
        found.iter().filter(|(_, planted, told)| is_so(planted, told)).count() as f64 / found.len() as f64
    };
    let (right, unknown) = (count(|planted, told| planted == told), count(|_, told| told == "unknown"));
    let wrong = 1.0 - right - unknown;
    println!(
        "{} cells: {:.1} % right, {:.1} % unknown, {:.1} % wrong; {confusion:?}",
        found.len(),
        right * 100.0,
        unknown * 100.0,
        wrong * 100.0
    );
    let good = if kind.may_be_unknown { right + unknown } else { right };
    assert!(
        good >= kind.right && wrong <= kind.wrong + 1e-9,
        "{kind:?}: {right} right, {unknown} unknown, {wrong} wrong"
    );
}

fn verdict(folder: &Folder, kind: TestKind, cell: &Cell) -> Value {
    let program = assert_cmd::cargo::cargo_bin!("pipefill").to_str().unwrap();
    let file = format!("{}{}{}.toml", cell.name, u8::from(kind.is_ours), u8::from(kind.is_reverse));
    folder.write(&file, &cell.scenario);
    let rate = cell.server_rate.as_ref().map_or(String::new(), |rate| format!(" --max-rate {rate}"));
    let server =
        if kind.is_ours { format!("{program} serve --once{rate}") } else { "iperf3 -s -1".to_owned() };
    let mut words = vec!["exec", "--scenario", &file, "--quiet", "--server", &server, "--", program, "test"];
    words.extend(["{server}", "-J"]);
    words.extend(cell.letters.iter().map(String::as_str));
    let output = folder.pipefill(&words).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    match serde_json::from_slice::<Value>(&output.stdout) {
        Ok(document) => document["pipefill"].clone(),
        Err(_) => json!({"limited_by": "failed", "verdict": text.trim()}),
    }
}

fn cells(kind: TestKind) -> Vec<Cell> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/catalogue");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().filter_map(|file| cell(&fs::read_to_string(file).unwrap(), kind)).collect()
}

/// `None` where the letters can't ask for it: more flows than one, buffers of one end, times below a second, limits of the emulator itself; and
/// where the control connection, which shares the path, would lose most of its own segments.
fn cell(text: &str, kind: TestKind) -> Option<Cell> {
    let mut scenario: DocumentMut = text.parse().unwrap();
    let flows = scenario.get("flow")?.as_array_of_tables()?;
    if flows.len() != 1 {
        return None;
    }
    let flow = flows.get(0)?.clone();
    let text_of = |table: &Table, key: &str| table.get(key).and_then(Item::as_str).map(str::to_owned);
    let limit =
        text_of(scenario.get("expect")?.as_table()?, "limited_by")?.trim_start_matches("= ").to_owned();
    let is_reverse = match text_of(&flow, "direction").as_deref() {
        None => false,
        Some("reverse") => true,
        Some(_) => return None,
    };
    let read_rate = text_of(&flow, "read_rate");
    let is_server_slow = read_rate.is_some() && (!kind.is_ours || kind.is_reverse);
    if limit == "testbed" || is_server_slow || ["sndbuf", "rcvbuf"].iter().any(|key| flow.contains_key(key)) {
        return None;
    }
    // Shares of a rate have no meaning once the path is mirrored.
    scenario.remove("expect");
    // A stock server of 3.12 does not pace what it sends.
    if flow.contains_key("max_pacing_rate") && !kind.is_ours && kind.is_reverse {
        return None;
    }
    let path = scenario.get_mut("path")?.as_table_mut()?;
    if is_reverse != kind.is_reverse && !mirror(path) {
        return None;
    }
    let loses_most =
        |key| text_of(path, key).is_some_and(|loss| loss.contains("p=8") || loss.contains("p=9"));
    if ["loss", "reverse_loss"].into_iter().any(loses_most) {
        return None;
    }
    path["payload"] = toml_edit::value("kept");
    let seconds = text_of(&flow, "duration")?;
    let seconds = seconds.strip_suffix('s').filter(|text| text.parse::<u32>().is_ok())?;
    let mut letters = vec!["-t".to_owned(), seconds.to_owned()];
    let host = scenario.get("host").and_then(Item::as_table);
    let mut put = |letter: &str, value: Option<String>| {
        letters.extend(value.into_iter().flat_map(|value| [letter.to_owned(), value]));
    };
    put("-C", host.and_then(|host| text_of(host, "congestion_control")));
    put("-b", text_of(&flow, "bitrate"));
    put("--fq-rate", text_of(&flow, "max_pacing_rate"));
    put("-P", flow.get("parallel").and_then(Item::as_integer).map(|count| count.to_string()));
    if text_of(&flow, "protocol").as_deref() == Some("udp") {
        letters.retain(|word| word != "-C" && word != "cubic");
        letters.push("-u".to_owned());
    }
    letters.extend(kind.is_reverse.then(|| "-R".to_owned()));
    Some(Cell {
        name: scenario["name"].as_str()?.to_owned(),
        scenario: scenario.to_string(),
        letters,
        server_rate: read_rate,
        limit,
    })
}

/// The path with its directions exchanged; false where something has no counterpart.
fn mirror(path: &mut Table) -> bool {
    const ONE_WAY: [&str; 5] = ["split", "reorder", "duplicate", "forward_delay", "reverse_delay"];
    if ONE_WAY.iter().any(|key| path.contains_key(key)) {
        return false;
    }
    for key in DIRECTED {
        let other = format!("reverse_{key}");
        let (forward, reverse) = (path.remove(key), path.remove(&other));
        forward.map(|value| path.insert(&other, value));
        reverse.map(|value| path.insert(key, value));
    }
    true
}
