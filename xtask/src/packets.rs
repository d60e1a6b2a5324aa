//! Verdicts from packets alone beside those with all facts: every scenario in the simulator, captured at both ends.

use crate::program::{Program, scenarios};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The set on which the rules were made, and those on which they were not. The shares have to hold in the first.
const SETS: [&str; 3] = ["scenarios/catalogue", "testdata/held-out-verdicts", "testdata/wrong-verdicts"];
/// Verdicts that have to be those with all facts, near the sender and near the receiver.
const LEAST: [f64; 2] = [0.95, 0.85];
const VIEWS: [&str; 2] = ["sender", "receiver"];
/// Last part of the sending host's address in both families: that of data in forward and in reverse direction.
const HOSTS: [&str; 2] = ["1", "2"];

/// Of a flow with fewer than ten segments, or two round trips.
const TOO_SHORT: &str = "too short";
/// Of a path from which nothing comes back.
const SILENCE: &str = "path silence";

/// What came out of a set.
#[derive(Default)]
struct Share {
    flows: usize,
    /// Near the sender, near the receiver: not too short to judge.
    judged: [usize; 2],
    same: [usize; 2],
    unknown: [usize; 2],
}

/// Captures, judges, and prints what came of it; with the program at `path` where one is named.
///
/// # Errors
/// Too few verdicts are those with all facts, or the program can't be built or run.
pub(crate) fn run(root: &Path, path: Option<&String>) -> Result<(), String> {
    let program = Program::named_or_built(path, root, "packets")?;
    let mut is_enough = true;
    for set in SETS {
        let mut share = Share::default();
        for scenario in scenarios(&root.join(set))? {
            program.empty()?;
            share.add(&program, &scenario)?;
        }
        share.print(set);
        is_enough &= set != SETS[0] || share.is_enough();
    }
    program.leave();
    is_enough.then_some(()).ok_or_else(|| "too few verdicts from packets are right".to_owned())
}

impl Share {
    fn add(&mut self, program: &Program, scenario: &Path) -> Result<(), String> {
        let name = scenario.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let file = scenario.to_string_lossy();
        let once = ["--repeat", "1", "--capture", "--json", "--quiet", "--out", "run"];
        let report = json(&program.run(&[&["run", &file, "--on", "sim"][..], &once].concat())?.stdout);
        // Of a matrix the captures don't say which cell they are of.
        if report["cells"].as_array().is_none_or(|cells| cells.len() != 1) {
            return Ok(());
        }
        let captures = [flows_of(program, VIEWS[0])?, flows_of(program, VIEWS[1])?];
        let mut taken = [0; 2];
        for flow in report.pointer("/cells/0/flows").and_then(Value::as_array).into_iter().flatten() {
            let way = usize::from(flow["direction"] == "reverse");
            // Datagrams have no verdict from packets, and the path's own limits no packet tells.
            if flow["protocol"] != "tcp" || flow["limited_by"] == "testbed" {
                continue;
            }
            let streams = flow["streams"].as_u64().unwrap_or(1) as usize;
            self.flows += 1;
            for (view, named) in VIEWS.iter().enumerate() {
                // The host that sends in reverse is the scenario's receiver.
                let connections = sent_by(HOSTS[way], &captures[view ^ way]);
                let found = usual(connections.iter().skip(taken[way]).take(streams));
                let (is, cause) = (&flow["limited_by"], &flow["cwnd_cause"]);
                // Where no ACK comes back for three timers, its own packets do not show which way it is lost.
                let is_same = found == *is || (found == SILENCE && cause == "ack_path");
                self.judged[view] += usize::from(found != TOO_SHORT);
                self.same[view] += usize::from(is_same);
                self.unknown[view] += usize::from(found == "unknown");
                if !is_same {
                    println!("{name}, near the {named}: {found}, with all facts {is} {cause}");
                }
            }
            taken[way] += streams;
        }
        Ok(())
    }

    fn is_enough(&self) -> bool {
        (0..2).all(|view| self.same[view] as f64 >= LEAST[view] * self.judged[view] as f64)
    }

    fn print(&self, set: &str) {
        let of_all = |view: usize| {
            let (same, judged) = (self.same[view], self.judged[view]);
            format!("{same} of {judged} ({:.1} %)", 100.0 * same as f64 / judged as f64)
        };
        println!(
            "{set}: {} flows of TCP; as with all facts near the sender {}, near the receiver {}; unknown {} and {}",
            self.flows,
            of_all(0),
            of_all(1),
            self.unknown[0],
            self.unknown[1],
        );
    }
}

/// The flows of the capture at `end` of the only run.
fn flows_of(program: &Program, end: &str) -> Result<Vec<Value>, String> {
    let mut runs = fs::read_dir(program.records().join("run/runs")).map_err(|error| error.to_string())?;
    let run = runs.next().ok_or("there is no run")?.map_err(|error| error.to_string())?;
    let capture = run.path().join(format!("artifacts/{end}.pcapng"));
    let found = json(&program.run(&["pcap", &capture.to_string_lossy(), "--json"])?.stdout);
    Ok(found["flows"].as_array().cloned().unwrap_or_default())
}

/// The connections that carry data of `host`, in the order in which they were opened.
fn sent_by<'a>(host: &str, flows: &'a [Value]) -> Vec<&'a Value> {
    let ends = |flow: &Value| {
        let port = |key: &str| flow[key].as_str().and_then(|end| end.rsplit(':').next()?.parse::<u16>().ok());
        (port("src"), port("dst"))
    };
    let is_of_host = |flow: &&Value| {
        let address = flow["src"].as_str().and_then(|end| Some(end.rsplit_once(':')?.0));
        address.is_some_and(|address| address.trim_end_matches(']').rsplit(['.', ':']).next() == Some(host))
    };
    let mut found: Vec<&Value> = flows.iter().filter(is_of_host).collect();
    found.sort_by_key(|flow| ends(flow));
    found
}

/// What most of them are limited by.
fn usual<'a>(connections: impl Iterator<Item = &'a &'a Value>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for connection in connections {
        let name = match connection["limited_by"].as_str() {
            None if connection["rule"] == "too_short" => TOO_SHORT,
            None => "nothing",
            Some("path") if connection["cause"] == "silence" => SILENCE,
            Some(name) => name,
        };
        *counts.entry(name).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map_or("no connection", |(name, _)| name).to_owned()
}

fn json(text: &[u8]) -> Value {
    serde_json::from_slice(text).unwrap_or_default()
}
