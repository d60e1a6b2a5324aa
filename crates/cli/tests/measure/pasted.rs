//! `pipefill explain` of what iperf3 and ss print while something known limits them, on the sender's side.

use crate::measuring::namespace::{folder_with, installed};
use crate::measuring::{Folder, Outcome, Test, is_quiet, slow_test};
use serde_json::Value;
use std::fs;

/// The near end's command: iperf3, and ss meanwhile. What is in the file `near` is done before. No client comes before it: iperf3 closes its socket
/// behind one, and resets who came meanwhile.
const NEAR: &str = "set -e
server=$1; shift
. ./near
(sleep 1.5; ss -tinm dst $server dport = :5201 >one.ss
for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do date +%s.%N; ss -tinm dst $server dport = :5201; sleep 0.15; done >timed.ss
grep -v '^[0-9.]*$' timed.ss >untimed.ss) &
iperf3 -c $server -J -t 6 \"$@\" >iperf3.json
wait
";
const FAR: &str = ". ./far\nexec iperf3 -s\n";

/// What limits, and how it is planted.
struct Case {
    name: &'static str,
    /// The holder.
    limited_by: &'static str,
    /// Of `exec`.
    path: &'static [&'static str],
    /// Of iperf3.
    words: &'static [&'static str],
    /// What is set at the near and at the far end.
    near: &'static str,
    far: &'static str,
}

/// Reno leaves slow start for a loss alone. CUBIC may do so for a round trip that was late (HyStart), with a window no larger than the buffer that was
/// to hold it.
const PLAIN: Case = Case { name: "", limited_by: "", path: &[], words: &["-C", "reno"], near: "", far: "" };

const WINDOW: &str = "echo 4096 131072 262144 >/proc/sys/net/ipv4/tcp_rmem";
const BUFFER: &str = "echo 4096 16384 131072 >/proc/sys/net/ipv4/tcp_wmem";
const FAST: &[&str] = &["--rtt", "40ms", "--rate", "100mbit"];
const SLOW: &[&str] = &["--rtt", "20ms", "--rate", "10mbit"];

const CASES: [Case; 11] = [
    Case { name: "rwnd_40ms", limited_by: "rwnd", path: FAST, far: WINDOW, ..PLAIN },
    Case { name: "rwnd_100ms", limited_by: "rwnd", path: &["--rtt", "100ms"], far: WINDOW, ..PLAIN },
    Case {
        name: "rwnd_parallel",
        limited_by: "rwnd",
        path: FAST,
        words: &["-C", "reno", "-P", "2"],
        far: WINDOW,
        ..PLAIN
    },
    Case { name: "path_20ms", limited_by: "path", path: SLOW, ..PLAIN },
    Case { name: "path_40ms", limited_by: "path", path: &["--rtt", "40ms", "--rate", "20mbit"], ..PLAIN },
    Case { name: "app_5mbit", limited_by: "app", path: FAST, words: &["-C", "reno", "-b", "5M"], ..PLAIN },
    Case { name: "app_20mbit", limited_by: "app", path: FAST, words: &["-C", "reno", "-b", "20M"], ..PLAIN },
    Case { name: "cwnd_1percent", limited_by: "cwnd", path: &["--rtt", "40ms", "--loss", "1%"], ..PLAIN },
    Case { name: "cwnd_3percent", limited_by: "cwnd", path: &["--rtt", "20ms", "--loss", "3%"], ..PLAIN },
    Case {
        name: "pacing_10mbit",
        limited_by: "pacing",
        path: FAST,
        words: &["-C", "reno", "--fq-rate", "10M"],
        ..PLAIN
    },
    Case { name: "sndbuf_40ms", limited_by: "sndbuf", path: FAST, near: BUFFER, ..PLAIN },
];

/// Cases of `make test`: what holds them does not depend on the machine.
const QUICK: [&str; 3] = ["rwnd_40ms", "app_5mbit", "sndbuf_40ms"];

/// What each case leaves.
const OUTPUTS: [&str; 4] = ["iperf3.json", "one.ss", "timed.ss", "untimed.ss"];
/// Outputs in which the holder has to be named, and may be named wrong.
const RIGHT_LEAST: f64 = 0.85;
const WRONG_MOST: f64 = 0.05;

pub(crate) fn tests() -> Vec<Test> {
    vec![slow_test("the_planted_holder_is_named_by_what_programs_print", planted_holders)]
}

/// All of them where the machine has nothing else to do, as only a share of many can be asserted; else a few, none of which is named wrong.
fn planted_holders() -> Outcome {
    installed(&["iperf3", "ss"])?;
    let (mut right, mut wrong, mut all) = (0, 0, 0);
    for case in CASES.iter().filter(|case| is_quiet() || QUICK.contains(&case.name)) {
        let folder = folder_with(&["iperf3", "ss", "sh"])?;
        if !printed(&folder, case) {
            continue;
        }
        for output in OUTPUTS {
            let found = named(&folder, output);
            let says = found.as_deref().unwrap_or("unknown");
            println!("{} {output}: {says}, planted {}", case.name, case.limited_by);
            all += 1;
            right += u32::from(says == case.limited_by);
            if says != case.limited_by && says != "unknown" {
                wrong += 1;
                println!("{}", fs::read_to_string(folder.path(output)).unwrap_or_default());
            }
        }
    }
    println!("{right} of {all} right, {wrong} wrong");
    if !is_quiet() {
        assert!(right > 0 && wrong == 0, "{right} of {all} right, {wrong} wrong");
        return Ok(());
    }
    assert!(all >= 40, "{all} outputs");
    let share = |count: u32| f64::from(count) / f64::from(all);
    assert!(
        share(right) >= RIGHT_LEAST && share(wrong) <= WRONG_MOST,
        "{right} of {all} right, {wrong} wrong"
    );
    Ok(())
}

/// Whether the path was what it should be, and all outputs are there.
fn printed(folder: &Folder, case: &Case) -> bool {
    for (name, text) in [("near.sh", NEAR), ("far.sh", FAR), ("near", case.near), ("far", case.far)] {
        folder.write(name, text);
    }
    let words = ["--quiet", "--server", "sh far.sh", "--", "sh", "near.sh", "{server}"];
    let exec = [&["exec"], case.path, &words[..], case.words].concat();
    let output = folder.pipefill(&exec).output().unwrap();
    assert!(output.status.success(), "{}: {}", case.name, String::from_utf8_lossy(&output.stderr));
    OUTPUTS.iter().all(|name| fs::metadata(folder.path(name)).is_ok_and(|file| file.len() > 0))
}

/// The holder of the connection that carried most.
fn named(folder: &Folder, output: &str) -> Option<String> {
    let explained = folder.pipefill(&["explain", output, "--json"]).output().unwrap();
    let text = String::from_utf8_lossy(&explained.stderr).into_owned();
    assert!(explained.status.success(), "{output}: {text}");
    let found: Value = serde_json::from_slice(&explained.stdout).unwrap();
    Some(found["connections"][0]["limited_by"].as_str()?.to_owned())
}
