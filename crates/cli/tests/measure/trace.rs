//! What BPF says of a lossy flow, held against the kernel's own counter and the clock.

use crate::measuring::{Folder, Outcome, Skip, Test, lab, names, slow_test, test};
use pipefill_core::record::{CaStateSource, Manifest, Retransmit, RetransmitKind, StreamSummary};
use pipefill_store::{decode_manifest, decode_table};
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

pub(crate) fn tests() -> Vec<Test> {
    vec![
        test(
            "state_times_fill_the_life_and_retransmits_equal_the_kernels_counter",
            state_times_fill_the_life_and_retransmits_equal_the_kernels_counter,
        ),
        test("a_killed_run_leaves_no_program_behind", a_killed_run_leaves_no_program_behind),
        slow_test(
            "without_bpf_the_record_says_so_and_claims_nothing",
            without_bpf_the_record_says_so_and_claims_nothing,
        ),
    ]
}

const SCENARIO: &str = r#"
name = "lossy"
[path]
rtt = "20ms"
rate = "50mbit"
loss = "1%"
[[flow]]
duration = "3s"
[[flow]]
duration = "2s"
start = "500ms"
[run]
repeat = 2
"#;

fn manifest(run: &Path) -> Manifest {
    decode_manifest(File::open(run.join("manifest.json")).unwrap()).unwrap()
}

/// What the sender's kernel counted during the run.
fn counted(manifest: &Manifest) -> u64 {
    let ours = |counter: &&pipefill_core::record::Counter| {
        counter.place == "sender nstat" && counter.name == "TcpRetransSegs"
    };
    manifest.counters.iter().find(ours).map_or(0, |counter| counter.after - counter.before)
}

/// The scenario's runs. Those that came too late to be believed have to count right all the same.
fn lossy_runs(folder: &Folder, bpf: &str) -> Vec<PathBuf> {
    folder.write("lossy.toml", SCENARIO);
    let words = ["run", "lossy.toml", "--out", "out", "--quiet"];
    let output = folder.pipefill(&words).env("PIPEFILL_BPF", bpf).output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 4)), "{output:?}");
    let runs = folder.path("out/runs");
    let runs: Vec<PathBuf> = names(&runs).iter().map(|name| runs.join(name)).collect();
    assert_eq!(runs.len(), 2);
    runs
}

fn state_times_fill_the_life_and_retransmits_equal_the_kernels_counter() -> Outcome {
    let folder = lab()?;
    has_bpf(&folder)?;
    for run in lossy_runs(&folder, "1") {
        let manifest = manifest(&run);
        assert_eq!(manifest.environment.facts["congestion states"], "bpf");
        assert_eq!(manifest.streams.len(), 2);
        manifest.streams.iter().for_each(assert_states);
        assert_retransmits(&run, &manifest);
    }
    Ok(())
}

fn assert_states(stream: &StreamSummary) {
    let times = stream.ca_state_us.expect("watched");
    assert_eq!(stream.ca_state_source, Some(CaStateSource::Bpf));
    let life = stream.stop_us - stream.start_us;
    assert!(times.total().abs_diff(life) < 1_000, "{times:?} in a life of {life} µs");
    assert!(times.open > 0 && times.recovery > 0, "{times:?}");
}

fn assert_retransmits(run: &Path, manifest: &Manifest) {
    let rows: Vec<Retransmit> = decode_table(File::open(run.join("retransmits.jsonl.zst")).unwrap()).unwrap();
    let segments: u64 = rows.iter().map(|row| u64::from(row.segments)).sum();
    assert_eq!(manifest.instrument.trace_lost_events, Some(0));
    assert!(segments > 0);
    assert_eq!(segments, counted(manifest));
    for row in &rows {
        let (bytes, segments) = (row.seq_to - row.seq_from, u64::from(row.segments - row.refused_segments));
        assert!(row.seq_from >= 1 && bytes > (segments - 1) * 1448 && bytes <= segments * 1448, "{row:?}");
    }
    assert!(rows.iter().any(|row| row.kind == RetransmitKind::Fast));
    for stream in [0, 1] {
        assert!(rows.iter().filter(|row| row.stream == stream).is_sorted_by_key(|row| row.t_us));
    }
}

/// Where the kernel has BPF and its types, and lets us look at programs, our object has to be taken: that it was refused is a failure.
///
/// # Errors
/// This kernel has no BPF for us.
fn has_bpf(folder: &Folder) -> Outcome {
    let doctor = folder.pipefill(&["doctor"]).output().unwrap();
    let doctor = String::from_utf8_lossy(&doctor.stdout);
    let Some(limited) = doctor.lines().find(|line| line.contains("sampled from tcp_info")) else {
        return Ok(());
    };
    let lacks = |what: &dyn std::fmt::Display| Err(Skip::NoBpf(format!("{what}; doctor says: {limited}")));
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return lacks(&"there is no /sys/kernel/btf/vmlinux");
    }
    if let Some(Err(error)) = aya::programs::loaded_programs().next() {
        return lacks(&error);
    }
    panic!("this kernel has BPF, and refused ours: {limited}");
}

/// The programs of `flows.bpf.c` that the kernel holds, by their numbers.
fn programs() -> BTreeSet<u32> {
    aya::programs::loaded_programs()
        .filter_map(Result::ok)
        .filter(|program| matches!(program.name_as_str(), Some("on_state" | "on_retransmit")))
        .map(|program| program.id())
        .collect()
}

/// Looks at the programs until they are as wanted, for ten seconds; returns how they were at last.
fn programs_when(is_wanted: impl Fn(&BTreeSet<u32>) -> bool) -> BTreeSet<u32> {
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        let found = programs();
        if is_wanted(&found) || Instant::now() > until {
            return found;
        }
        sleep(Duration::from_millis(50));
    }
}

fn a_killed_run_leaves_no_program_behind() -> Outcome {
    let folder = lab()?;
    has_bpf(&folder)?;
    folder.write("lossy.toml", SCENARIO);
    let before = programs();
    let mut child = folder.start(&["run", "lossy.toml", "--out", "out", "--quiet"]);
    let during = programs_when(|found| found.difference(&before).count() == 2);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(during.difference(&before).count(), 2, "{before:?}, then {during:?}");
    let after = programs_when(|found| found.is_disjoint(&(&during - &before)));
    assert!(after.is_disjoint(&(&during - &before)), "{before:?}, {during:?}, then {after:?}");
    Ok(())
}

fn without_bpf_the_record_says_so_and_claims_nothing() -> Outcome {
    let folder = lab()?;
    for run in lossy_runs(&folder, "0") {
        let manifest = manifest(&run);
        let how = &manifest.environment.facts["congestion states"];
        assert_eq!(how, "sampled: switched off by PIPEFILL_BPF=0");
        for stream in &manifest.streams {
            assert_eq!((stream.ca_state_us, stream.ca_state_source), (None, Some(CaStateSource::Sampled)));
        }
        assert_eq!(manifest.instrument.trace_lost_events, None);
        assert!(!run.join("retransmits.jsonl.zst").exists());
    }
    Ok(())
}
