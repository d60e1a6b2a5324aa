//! `pipefill watch --once` on connections of known limits, young and old: what limits them or "too short", never another word.

use crate::measuring::namespace::folder_with;
use crate::measuring::{Folder, Outcome, Test, slow_test};
use serde_json::Value;

/// From this age on, in seconds, a connection's limit is to be found.
const OLD: f64 = 3.0;
/// The least share of the readings of old connections in which it is found, where there are at least [`FEWEST`].
const FOUND: f64 = 0.8;
/// Of fewer readings at least one finds it: one late sample in four is no share.
const FEWEST: usize = 20;
/// When a connection is read, in seconds after its begin, or as soon as the reading before it has ended.
const READ_AT: [f64; 7] = [0.5, 1.5, 3.2, 4.5, 6.0, 7.5, 9.0];
/// How long the program transfers, seconds.
const TIME: u32 = 14;
/// What a reading takes at most, and some more: a connection is read while it lasts at least as long, seconds.
const LEFT: u32 = 4;

/// Connections with one limit.
#[derive(Debug)]
struct Case {
    name: &'static str,
    path: &'static [&'static str],
    /// Of iperf3's client.
    options: &'static [&'static str],
    /// What limits it, by congestion control.
    limits: fn(&str) -> &'static [&'static str],
}

const FULL_PATH: &[&str] = &["--rtt", "40ms", "--rate", "50mbit"];

const CASES: [Case; 4] = [
    Case { name: "full path", path: FULL_PATH, options: &[], limits: |_| &["path"] },
    // The option sets both buffers.
    Case { name: "window", path: FULL_PATH, options: &["-w", "32K"], limits: |_| &["rwnd", "sndbuf"] },
    Case { name: "application", path: FULL_PATH, options: &["-b", "5M"], limits: |_| &["app"] },
    // BBR fills the path all the same, once its estimate of it has grown: a loss early in slow start ends that too soon.
    Case {
        name: "loss",
        path: &["--rtt", "40ms", "--rate", "200mbit", "--loss", "1%"],
        options: &[],
        limits: |control| if control == "bbr" { &["path", "pacing"] } else { &["cwnd"] },
    },
];

pub(super) fn tests() -> [Test; 1] {
    [slow_test("one_reading_names_the_limit_or_says_that_it_is_too_short", names_the_limit)]
}

/// Each case with CUBIC and BBR, one and three flows, in `PIPEFILL_ONCE_RUNS` connections; without it one of them once.
fn names_the_limit() -> Outcome {
    let folder = folder_with(&["iperf3"])?;
    let runs = std::env::var("PIPEFILL_ONCE_RUNS").ok().and_then(|runs| runs.parse::<usize>().ok());
    let (cases, controls, flows, runs) = runs.map_or((&CASES[1..2], &["cubic"][..], &[1][..], 1), |runs| {
        (&CASES[..], &["cubic", "bbr"][..], &[1, 3][..], runs)
    });
    let (mut wrong, mut scarce) = (Vec::new(), Vec::new());
    for case in cases {
        for control in controls {
            for &flows in flows {
                let (mut found, mut old) = (0_usize, 0_usize);
                for _ in 0..runs {
                    for reading in read(&folder, case, control, flows) {
                        let limit = reading.connection["limited_by"].as_str();
                        let is_right = limit.is_some_and(|limit| (case.limits)(control).contains(&limit));
                        if !is_right && limit.is_some() {
                            let told = &reading.connection;
                            wrong.push(format!(
                                "{}, {control}, {flows} at once, {} s old: {}: {}",
                                case.name, reading.age_s, told["rule"], told["verdict"]
                            ));
                        }
                        if !is_right {
                            let told = &reading.connection;
                            println!("{:.2} s old: {}: {}", reading.age_s, told["rule"], told["verdict"]);
                        }
                        if reading.age_s >= OLD {
                            old += 1;
                            found += usize::from(is_right);
                        }
                    }
                }
                let told = format!(
                    "{}, {control}, {flows} at once: {found} of {old} old connections are right",
                    case.name
                );
                println!("{told}");
                let is_enough = if old < FEWEST { found > 0 } else { found as f64 >= FOUND * old as f64 };
                if !is_enough {
                    scarce.push(told);
                }
            }
        }
    }
    assert!(
        scarce.is_empty() && wrong.is_empty(),
        "too few are judged: {}\n{} are wrong:\n{}",
        scarce.join(", "),
        wrong.len(),
        wrong.join("\n")
    );
    Ok(())
}

/// What was said of one connection.
struct Reading {
    /// Of the connection when it was read, at least.
    age_s: f64,
    connection: Value,
}

/// Readings of iperf3's connections behind the case's path.
fn read(folder: &Folder, case: &Case, control: &str, flows: usize) -> Vec<Reading> {
    let _none = std::fs::remove_dir_all(folder.path("readings"));
    std::fs::create_dir(folder.path("readings")).unwrap();
    let program = env!("CARGO_BIN_EXE_pipefill");
    let last = TIME - LEFT;
    let times = READ_AT.map(|time| time.to_string()).join(" ");
    let script = format!(
        "iperf3 -c $PIPEFILL_SERVER -t {TIME} -C {control} -P {flows} {} >/dev/null & \
         until [ \"$(ss -Htn state established dport = :5201 | wc -l)\" -gt {flows} ]; do sleep 0.02; done; \
         began=$(date +%s.%N); \
         for time in {times}; do \
             sleep $(echo \"$began $time $(date +%s.%N)\" | awk '{{ left = $1 + $2 - $3; print (left > 0 ? left : 0) }}'); \
             age=$(echo \"$began $(date +%s.%N)\" | awk '{{ print $2 - $1 }}'); \
             if [ ${{age%.*}} -ge {last} ]; then break; fi; \
             '{program}' watch --once --json 'dport = :5201' >readings/$age; \
         done; wait",
        case.options.join(" "),
    );
    let ends = ["--quiet", "--server", "iperf3 -s -1 >/dev/null", "--", "sh", "-c", &script];
    let mut command = folder.pipefill(&[&["exec"], case.path, &ends].concat());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{case:?}: {}", String::from_utf8_lossy(&output.stderr));
    let files = std::fs::read_dir(folder.path("readings")).unwrap().map(Result::unwrap);
    let readings = files.flat_map(|file| {
        let age_s = file.file_name().to_str().unwrap().parse().unwrap();
        let told: Value = serde_json::from_slice(&std::fs::read(file.path()).unwrap()).unwrap();
        let connections = told["connections"].as_array().unwrap().clone();
        // iperf3's control connection says a word at the begin and at the end.
        let transfers =
            connections.into_iter().filter(|connection| connection["rate_bps"].as_f64() > Some(100e3));
        transfers.map(move |connection| Reading { age_s, connection })
    });
    readings.collect()
}
