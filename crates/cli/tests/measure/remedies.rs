//! Slow transfers as people report them, with the programs that they used: the cause is named, and its advice is applied. What was predicted is
//! held against what is measured then.

mod cases;
pub(crate) mod conversation;
mod quantities;
mod table;

use crate::hosts::sshd::{self, Sshd};
use crate::measuring::namespace::{folder_with, root_folder};
use crate::measuring::{Folder, Outcome, Skip, Test, excused, test};
use cases::{Arithmetic, CASES, Case};
use pipefill_testkit::witness::Witness;
use quantities::quantities;
use serde_json::Value;
use std::fs;
use table::Row;

/// What is measured then is so near to what was predicted.
const NEAR: f64 = 0.2;
/// Figures of a sentence have three digits each.
const ROUNDED: f64 = 0.015;
/// Bytes by turns beside bytes by the kernel's counters: the first and the last turn are in one of them alone.
const COUNTED: f64 = 0.1;

/// Three of them; all where `PIPEFILL_REMEDIES=all`, and what is measured goes into the guide.
pub(crate) fn tests() -> Vec<Test> {
    let is_all = std::env::var("PIPEFILL_REMEDIES").is_ok_and(|value| value == "all");
    let wanted = CASES.into_iter().filter(|case| is_all || case.is_quick);
    wanted.map(|case| test(case.name, move || is_remedied(&case, is_all))).collect()
}

fn is_remedied(case: &Case, is_written: bool) -> Outcome {
    let needs_sshd = case.needs.contains(&sshd::PROGRAM);
    let folder = if needs_sshd { root_folder(case.needs) } else { folder_with(case.needs) }?;
    fs::write(folder.path("file"), vec![b'x'; case.bytes]).unwrap();
    let _server = needs_sshd.then(|| Sshd::prepare(&folder, "::\nListenAddress 0.0.0.0", "/usr/bin:/bin"));

    let [before, after] = ["before", "after"].map(|kept| Measured::of(&folder, case, kept));
    let (before, after) = (before?, after?);
    let first = &before.connections[0];
    let sentence = first["verdict"].as_str().unwrap();
    println!("{sentence}");
    assert_eq!((&first["limited_by"], &first["cause"]), (&"app".into(), &case.cause.into()), "{first:#}");
    check_arithmetic(case, first, sentence);

    let advice = first["advice"].as_array().unwrap();
    let found = advice.iter().find(|advice| advice["setting"] == case.setting);
    let found = found.unwrap_or_else(|| panic!("no advice for {}: {advice:#?}", case.setting));
    let predicted_bps = found["predicted_bps"].as_f64().unwrap_or_else(|| panic!("no prediction: {found:#}"));
    let row = Row { case, before_bps: before.rate_bps, predicted_bps, after_bps: after.rate_bps };
    println!("{row}");
    let differing = captured_otherwise(&folder, case);
    assert!(differing.is_empty(), "{} by its socket, but {differing:?} by packets", case.cause);
    assert!((row.error()).abs() <= NEAR, "predicted otherwise: {row}");
    if is_written {
        row.write();
    }
    Ok(())
}

/// What `exec` found of a program's connections.
struct Measured {
    /// Those in the direction of the fastest one, which is the first.
    connections: Vec<Value>,
    /// All that they carried.
    rate_bps: f64,
}

impl Measured {
    /// Of the case as `kept` names it, before or after the remedy.
    ///
    /// # Errors
    /// The path was late, and the machine was too.
    fn of(folder: &Folder, case: &Case, kept: &str) -> Result<Self, Skip> {
        let at = usize::from(kept == "after");
        let own = std::env::current_exe().unwrap();
        let command =
            |text: &str| text.replace("OWN", &format!("'{}' {}", own.display(), conversation::NAME));
        let (server, client) = (command(case.server[at]), command(case.client[at]));
        let path = ["--rtt", case.rtt, "--rate", case.rate, "--reverse-rate", case.rate];
        // Every kernel has it. BBR spreads each write by a rate that it learns from the writes before.
        let control = ["--set", "host.congestion_control=reno"];
        let ends = ["--json", "--capture", "--out", kept, "--server", &server, "--", "sh", "-c", &client];
        let witness = Witness::start();
        let words = [&["exec"], &path[..], &control, &ends].concat();
        let output = folder.pipefill(&words).output().unwrap();
        let seen = witness.stop();
        let printed = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{kept}: {printed}");
        let told: Value =
            serde_json::from_slice(&output.stderr).unwrap_or_else(|error| panic!("{error}: {printed}"));
        if told["invalid"].is_array() {
            return Err(excused(&seen, &told["invalid"].to_string()));
        }
        let mut connections = told["connections"].as_array().unwrap().clone();
        let direction = connections[0]["direction"].clone();
        connections.retain(|connection| connection["direction"] == direction);
        let rate_bps = connections.iter().filter_map(|connection| connection["rate_bps"].as_f64()).sum();
        Ok(Self { connections, rate_bps })
    }
}

/// The three figures of a sentence multiply out, and what they are about is what the program does.
fn check_arithmetic(case: &Case, connection: &Value, sentence: &str) {
    let (_, sum) = sentence.split_once("of the time: ").expect("a share of the time");
    let [first, second, product, ..] = quantities(sum)[..] else { panic!("three figures: {sentence}") };
    let is_near = |value: f64, wanted: f64, part: f64| (value - wanted).abs() <= part * wanted;
    match case.arithmetic {
        Arithmetic::Window { least, most } => {
            assert!(is_near(first * 8.0 / second, product, ROUNDED), "{sentence}");
            assert!((least..=most).contains(&first), "{first} bytes of {least} to {most}: {sentence}");
        }
        Arithmetic::Turns { each } => {
            assert!(is_near(first * second, product, ROUNDED), "{sentence}");
            let seconds = connection["data_us"].as_f64().unwrap() / 1e6;
            let carried = connection["rate_bps"].as_f64().unwrap() * seconds / 8.0;
            assert!(is_near(first * each, carried, COUNTED), "{carried} bytes: {sentence}");
        }
    }
}

/// The captures of the run before the remedy that name another cause, with what they name. Near the receiver a cause may be unknown.
fn captured_otherwise(folder: &Folder, case: &Case) -> Vec<String> {
    let of_end = |end: &str| {
        let output = folder.pipefill(&["pcap", &format!("before/{end}.pcapng"), "--json"]).output().unwrap();
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        let flows = told["flows"].as_array().unwrap().iter();
        let largest = flows.max_by_key(|flow| flow["bytes"].as_u64()).expect("a flow");
        println!("{end}: {}", largest["verdict"]);
        let causes = [Some(case.cause), case.captured];
        let is_same = largest["limited_by"] == "app" && causes.contains(&largest["cause"].as_str());
        let is_unknown = largest["limited_by"] == "unknown" && largest["vantage"] == "receiver";
        (!is_same && !is_unknown).then(|| format!("{end}: {} {}", largest["limited_by"], largest["cause"]))
    };
    ["near", "far"].into_iter().filter_map(of_end).collect()
}
