//! What `pipefill run` holds does not grow with the run's length, from the first packet to the JSON of its result.
//!
//! Never: pages of files. How many of the program's own are in memory depends on what else runs, and they are most of what is resident.

mod pipefill;

use pipefill::{Folder, command};
use std::fs;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

/// A longer run may meet a longer burst, and keeps up to 4096 distinct values for each median: some hundred kilobytes.
const MOST_GROWTH_KIB: u64 = 2048;

/// TCP beside UDP, sampled every 10 ms: one row would be 300 bytes, and 180 s are 200,000 of them.
const SCENARIO: &str = r#"
name = "memory"
[path]
rtt = "20ms"
rate = "20mbit"
queue = "1bdp"
[[flow]]
protocol = "tcp"
[[flow]]
protocol = "udp"
bitrate = "2mbit"
[run]
repeat = 1
"#;

/// The most memory of its own that `pipefill` with `words` had at any look, KiB (`RssAnon`, proc_pid_status(5)).
fn peak_kib(folder: &Folder, words: &[&str]) -> u64 {
    let mut command = command(folder.root(), folder.runtime(), words);
    // Of one heap: how much of the others their threads leave free differs from run to run (mallopt(3)).
    command.env("MALLOC_ARENA_MAX", "1").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut peak = 0;
    loop {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let own = status.lines().find_map(|line| line.strip_prefix("RssAnon:")?.split_whitespace().next());
        peak = peak.max(own.map_or(0, |kib| kib.parse().unwrap()));
        if let Some(ended) = child.try_wait().unwrap() {
            assert!(ended.success(), "{words:?}: {ended}");
            return peak;
        }
        sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_run_ten_times_as_long_needs_no_more_memory() {
    let folder = Folder::new();
    folder.write("memory.toml", SCENARIO);
    let run = |duration: &str| {
        let set = format!("flow.duration={duration}");
        peak_kib(&folder, &["run", "memory.toml", "--on", "sim", "--json", "--out", duration, "--set", &set])
    };
    let (short, long) = (run("20s"), run("200s"));
    assert!(short > 2048, "a process of {short} KiB");
    assert!(long < short + MOST_GROWTH_KIB, "{short} KiB for 20 s, {long} KiB for 200 s");
}
