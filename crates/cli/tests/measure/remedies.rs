//! Slow transfers as people report them, with the programs that they used: the cause is named, and its advice is applied. What was predicted is
//! held against what is measured then.

mod cases;
pub(crate) mod conversation;
mod planned;
mod quantities;
mod table;

use crate::hosts::sshd::{self, Sshd};
use crate::measuring::namespace::{folder_with, root_folder};
use crate::measuring::{Folder, Outcome, Skip, Test, excused, test};
use cases::{Arithmetic, CASES, Case, Measure, Remedy};
use pipefill_testkit::witness::Witness;
use quantities::quantities;
use serde_json::Value;
use std::fs;
use table::{Figure, NEAR, Row};

/// Figures of a sentence have three digits each.
const ROUNDED: f64 = 0.015;
/// What [`Case`]s call `PYTHON`.
const TRANSFER: &str = include_str!("remedies/transfer.py");
/// Waits of a program: the limit that a change lifts is then the next one.
const WAITS: [&str; 3] = ["request", "response", "rate"];
/// Bytes by turns beside bytes by the kernel's counters: the first and the last turn are in one of them alone.
const COUNTED: f64 = 0.1;

/// Six of all; all where `PIPEFILL_REMEDIES=all`, and what is measured goes into the guide.
pub(crate) fn tests() -> Vec<Test> {
    let is_all = std::env::var("PIPEFILL_REMEDIES").is_ok_and(|value| value == "all");
    let wanted = CASES.iter().filter(|case| is_all || case.is_quick);
    let programs = wanted.map(|case| test(case.name, move || is_remedied(case, is_all)));
    programs.chain(planned::tests(is_all)).collect()
}

fn is_remedied(case: &Case, is_written: bool) -> Outcome {
    let needs_sshd = case.needs.contains(&sshd::PROGRAM);
    // What a host does not allow, root alone may choose.
    let needs_root = needs_sshd || case.client[0].ends_with("cubic");
    let folder = if needs_root { root_folder(case.needs) } else { folder_with(case.needs) }?;
    if case.control == "bbr" || matches!(case.remedy, Remedy::CongestionControl) {
        has_bbr()?;
    }
    fs::write(folder.path("file"), vec![b'x'; case.bytes]).unwrap();
    folder.write("transfer.py", TRANSFER);
    let _server = needs_sshd.then(|| Sshd::prepare(&folder, "::\nListenAddress 0.0.0.0", "/usr/bin:/bin"));

    let before = Measured::of(&folder, case, 0, &[])?;
    let first = &before.connections[0];
    let sentence = first["verdict"].as_str().unwrap();
    println!("{sentence}");
    println!("{}", first["time"]);
    assert_eq!(limit(first), case.limit, "{first:#}");
    check_arithmetic(case, first, sentence);
    let differing = captured_otherwise(&folder, case);
    assert!(differing.is_empty(), "{:?} by its socket, but {differing:?} by packets", case.limit);

    let advice = first["advice"].as_array().unwrap();
    let advice = advised(case.remedy, advice).unwrap_or_else(|| panic!("{:?}: {advice:#?}", case.remedy));
    let after = Measured::of(&folder, case, 1, &settings(case.remedy, advice))?;
    println!("then: {}", after.connections[0]["verdict"]);
    if case.remedy == Remedy::Nothing {
        let unchanged = predicted(advice, "predicted_bps") / before.rate_bps;
        assert!((unchanged - 1.0).abs() <= COUNTED, "{} before: {advice:#}", before.rate_bps);
        assert!(after.rate_bps > before.rate_bps * (1.0 + NEAR), "the program was the limit");
        return Ok(());
    }
    let figures = match case.measure {
        Measure::Rate => {
            [before.rate_bps, predicted(advice, "predicted_bps"), after.rate_bps].map(Figure::Rate)
        }
        Measure::Time => {
            [before.seconds, predicted(advice, "predicted_us") / 1e6, after.seconds].map(Figure::Time)
        }
    };
    let row = Row { report: case.report, rtt: case.rtt, cause: case.limit.1, applied: case.applied, figures };
    println!("{row}");
    row.check();
    if is_written {
        row.write();
    }
    Ok(())
}

/// BBR is a module that a kernel need not have.
fn has_bbr() -> Outcome {
    let available =
        fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    match available.split_whitespace().any(|name| name == "bbr") {
        true => Ok(()),
        false => Err(Skip::LabUnavailable("this kernel has no BBR loaded".to_owned())),
    }
}

/// What holds most of the time, without waits of a program.
fn limit(connection: &Value) -> (&str, &str) {
    let time = connection["time"].as_array().unwrap().iter();
    let mut held = time.map(|held| {
        (held["limited_by"].as_str().unwrap_or_default(), held["cause"].as_str().unwrap_or_default())
    });
    held.find(|(holder, cause)| *holder != "app" || !WAITS.contains(cause)).expect("a limit that is no wait")
}

/// The advice that is applied.
fn advised(remedy: Remedy, advice: &[Value]) -> Option<&Value> {
    let setting = match remedy {
        Remedy::Programs(setting) | Remedy::Sysctl(setting) => setting,
        Remedy::CongestionControl => "net.ipv4.tcp_congestion_control",
        Remedy::Nothing => return advice.iter().find(|_| advice.len() == 1 && advice[0]["target"].is_null()),
    };
    advice.iter().find(|advice| advice["setting"] == setting)
}

/// It as `exec` sets it on the hosts behind the path.
fn settings(remedy: Remedy, advice: &Value) -> Vec<String> {
    let value = advice["value"].as_str().unwrap_or_default();
    match remedy {
        Remedy::Programs(_) | Remedy::Nothing => Vec::new(),
        Remedy::CongestionControl => vec![format!("host.congestion_control={value}")],
        Remedy::Sysctl(name) => {
            ["sender", "receiver"].map(|host| format!("{host}.sysctl.{name}={value}")).into()
        }
    }
}

fn predicted(advice: &Value, member: &str) -> f64 {
    advice[member].as_f64().unwrap_or_else(|| panic!("no {member}: {advice:#}"))
}

/// What `exec` found of a program's connections.
struct Measured {
    /// Those in the direction of the fastest one, which is the first.
    connections: Vec<Value>,
    /// All that they carried.
    rate_bps: f64,
    /// From the first's first payload to its last.
    seconds: f64,
}

impl Measured {
    /// Of the case `at` 0 before the remedy, 1 after it, with `settings`.
    ///
    /// # Errors
    /// The path was late, and the machine was too.
    fn of(folder: &Folder, case: &Case, at: usize, settings: &[String]) -> Result<Self, Skip> {
        let kept = ["before", "after"][at];
        let own = std::env::current_exe().unwrap();
        let own = format!("'{}' {}", own.display(), conversation::NAME);
        let command = |text: &str| text.replace("OWN", &own).replace("PYTHON", "exec python3 transfer.py");
        let (server, client) = (command(case.server[at]), command(case.client[at]));
        let path = ["--rtt", case.rtt, "--rate", case.rate, "--reverse-rate", case.rate];
        let control = format!("host.congestion_control={}", case.control);
        let set = std::iter::once(&control).chain(settings).flat_map(|set| ["--set", set]);
        let ends = ["--json", "--capture", "--out", kept, "--server", &server, "--", "sh", "-c", &client];
        let witness = Witness::start();
        let options = case.options.iter().copied();
        let words: Vec<&str> =
            ["exec"].into_iter().chain(path).chain(options).chain(set).chain(ends).collect();
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
        let seconds = connections[0]["data_us"].as_f64().unwrap_or_default() / 1e6;
        Ok(Self { connections, rate_bps, seconds })
    }
}

/// Figures of a sentence that stand behind each other multiply out, and what they are about is what the program does.
fn check_arithmetic(case: &Case, connection: &Value, sentence: &str) {
    let quantities = quantities(sentence);
    let mut triples = quantities.windows(3).map(|three| (three[0], three[1], three[2]));
    let is_near = |value: f64, wanted: f64, part: f64| (value - wanted).abs() <= part * wanted;
    match case.arithmetic {
        Arithmetic::Window { least, most } => {
            let is_window =
                |&(bytes, seconds, rate): &(f64, f64, f64)| is_near(bytes * 8.0 / seconds, rate, ROUNDED);
            let (bytes, ..) =
                triples.find(is_window).unwrap_or_else(|| panic!("bytes / time = rate: {sentence}"));
            assert!((least..=most).contains(&bytes), "{bytes} bytes of {least} to {most}: {sentence}");
        }
        Arithmetic::Turns { each } => {
            let is_sum = |&(turns, seconds, all): &(f64, f64, f64)| is_near(turns * seconds, all, ROUNDED);
            let (turns, ..) = triples.find(is_sum).unwrap_or_else(|| panic!("turns × time: {sentence}"));
            let seconds = connection["data_us"].as_f64().unwrap() / 1e6;
            let carried = connection["rate_bps"].as_f64().unwrap() * seconds / 8.0;
            assert!(is_near(turns * each, carried, COUNTED), "{carried} bytes: {sentence}");
        }
        Arithmetic::Words(words) => {
            let missing: Vec<_> = words.iter().filter(|word| !sentence.contains(**word)).collect();
            assert!(missing.is_empty(), "{missing:?} are not in {sentence}");
        }
    }
}

/// The captures of the run before the remedy that name another limit, with what they name. Near the receiver it may be unknown.
fn captured_otherwise(folder: &Folder, case: &Case) -> Vec<String> {
    let of_end = |end: &str| {
        let output = folder.pipefill(&["pcap", &format!("before/{end}.pcapng"), "--json"]).output().unwrap();
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        let flows = told["flows"].as_array().unwrap().iter();
        let largest = flows.max_by_key(|flow| flow["bytes"].as_u64()).expect("a flow");
        println!("{end}: {}", largest["verdict"]);
        let found = (largest["limited_by"].as_str().unwrap_or_default(), largest["cause"].as_str());
        let (holder, cause) = case.limit;
        // Who has set a buffer, packets need not show.
        let is_same = found.0 == holder && found.1.is_none_or(|found| found == cause);
        let is_unknown = ["unknown", ""].contains(&found.0) && largest["vantage"] == "receiver";
        (!is_same && !case.captured.contains(&found) && !is_unknown).then(|| format!("{end}: {found:?}"))
    };
    ["near", "far"].into_iter().filter_map(of_end).collect()
}
