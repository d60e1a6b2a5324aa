//! `pipefill exec` while it is stopped, or short of a CPU: never a verdict about the path that only the disturbance explains.

use super::{Outcome, pid, text};
use crate::measuring::namespace::{folder_with, until};
use crate::measuring::{Folder, Test, slow_test};
use nix::sys::signal::{Signal, kill};
use serde_json::Value;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// What the path carries, of which a flow that nothing disturbs takes nearly all.
const RATE_BPS: f64 = 20e6;
/// From this part of it on the path was full.
const FULL: f64 = 0.85;
/// How long a command transfers, seconds.
const TIME: &str = "4";

/// What happens to `exec` after its first second.
#[derive(Debug, Clone, Copy)]
enum Disturbance {
    /// So many stops of so long, as far apart.
    Stops { count: u32, each: Duration },
    /// Two loops at nice -20, all the time.
    Loops,
}

const ALL: [Disturbance; 4] = [
    Disturbance::Stops { count: 8, each: Duration::from_millis(150) },
    Disturbance::Stops { count: 1, each: Duration::from_millis(300) },
    Disturbance::Stops { count: 1, each: Duration::from_millis(1_500) },
    Disturbance::Loops,
];

pub(super) fn tests() -> [Test; 1] {
    [slow_test("a_disturbed_exec_names_no_limit_of_the_path", names_no_limit)]
}

/// Each disturbance `PIPEFILL_EXEC_TRIES` times, with data either way in turn; without it the first one once.
fn names_no_limit() -> Outcome {
    let folder = folder_with(&["iperf3", "nice"])?;
    let tries = std::env::var("PIPEFILL_EXEC_TRIES").ok().and_then(|count| count.parse::<usize>().ok());
    let (disturbances, tries) = tries.map_or((&ALL[..1], 1), |tries| (&ALL[..], tries));
    let mut invalid = 0;
    for disturbance in disturbances {
        for attempt in 0..tries {
            let told = disturbed(&folder, *disturbance, attempt % 2 == 1);
            let fastest = &told["connections"][0];
            println!("{disturbance:?}: {} bit/s, {}", fastest["rate_bps"], fastest["verdict"]);
            if told["invalid"].as_array().is_some_and(|reasons| !reasons.is_empty()) {
                invalid += 1;
                assert!(fastest["limited_by"].is_null(), "{told:#}");
            } else {
                // Where it was not late enough to matter, the path was full all the same.
                let rate = fastest["rate_bps"].as_f64().unwrap_or_default();
                assert!(
                    fastest["limited_by"] == "path" && rate >= FULL * RATE_BPS,
                    "{disturbance:?}: {told:#}"
                );
            }
        }
    }
    println!("{invalid} of {} were invalid", disturbances.len() * tries);
    Ok(())
}

/// What `exec` says of iperf3 behind 20 ms and 20 Mbit/s.
fn disturbed(folder: &Folder, disturbance: Disturbance, is_reverse: bool) -> Value {
    let path = ["exec", "--rtt", "20ms", "--rate", "20mbit", "--reverse-rate", "20mbit", "--json"];
    let way = if is_reverse { "-R" } else { "" };
    let command = format!("touch begun; exec iperf3 -c $PIPEFILL_SERVER -t {TIME} {way}");
    let _none = std::fs::remove_file(folder.path("begun"));
    let loops = matches!(disturbance, Disturbance::Loops).then(|| [busy_loop(), busy_loop()]);
    let ends = ["--server", "iperf3 -s -1 >/dev/null", "--", "sh", "-c", &command];
    let child = folder.start(&[&path[..], &ends].concat());
    until(|| folder.path("begun").exists(), "the command does not start");
    if let Disturbance::Stops { count, each } = disturbance {
        sleep(Duration::from_secs(1));
        for _ in 0..count {
            kill(pid(child.id()), Signal::SIGSTOP).unwrap();
            sleep(each);
            kill(pid(child.id()), Signal::SIGCONT).unwrap();
            sleep(each);
        }
    }
    let output = child.wait_with_output().unwrap();
    for mut busy in loops.into_iter().flatten() {
        busy.kill().unwrap();
        busy.wait().unwrap();
    }
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stderr).unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)))
}

/// At nice -20 where that is permitted.
fn busy_loop() -> Child {
    let mut command = Command::new("nice");
    command.args(["-n", "-20", "sh", "-c", "while :; do :; done"]).stderr(Stdio::null()).spawn().unwrap()
}
