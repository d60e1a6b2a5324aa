//! What `pipefill run` holds does not grow with the run's length, from the first packet to the JSON of its result.
//!
//! Never: two measurements at once; the kernel tells the peak of the largest child only.

mod pipefill;

use nix::sys::resource::{UsageWho, getrusage};
use pipefill::Folder;

/// A longer run may meet a longer burst, and keeps up to 4096 distinct values for each median: some hundred kilobytes.
const MOST_GROWTH_KIB: i64 = 2048;

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

/// Peak of the resident memory of the largest child so far, KiB (`ru_maxrss`).
fn peak_kib() -> i64 {
    getrusage(UsageWho::RUSAGE_CHILDREN).unwrap().max_rss()
}

#[test]
fn a_run_ten_times_as_long_needs_no_more_memory() {
    let folder = Folder::new();
    folder.write("memory.toml", SCENARIO);
    let run = |duration: &str| {
        let words = ["run", "memory.toml", "--on", "sim", "--json", "--out", duration];
        let set = format!("flow.duration={duration}");
        // Of one heap: how much of the others their threads leave free differs from run to run (mallopt(3)).
        let mut command = folder.pipefill(&[&words[..], &["--set", &set]].concat());
        command.env("MALLOC_ARENA_MAX", "1").assert().success();
        peak_kib()
    };
    let (short, long) = (run("20s"), run("200s"));
    assert!(short > 4096, "a process of {short} KiB");
    assert!(long - short < MOST_GROWTH_KIB, "{short} KiB for 20 s, {long} KiB for 200 s");
}
