//! What BPF says of a lossy flow, held against the kernel's own counter and the clock.

mod pipefill;

use pipefill::{machine_is_late, privileged_lab};
use pipefill_core::record::{
    CaStateSource, Manifest, Retransmit, RetransmitKind, decode_manifest, decode_table,
};
use std::fs::File;
use std::path::Path;

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

#[test]
fn state_times_fill_the_life_and_retransmits_equal_the_kernels_counter() {
    let Some(folder) = privileged_lab() else { return };
    folder.write("lossy.toml", SCENARIO);
    let output = folder.pipefill(&["run", "lossy.toml", "--out", "out", "--quiet"]).output().unwrap();
    if machine_is_late(&output) {
        return;
    }
    let run = folder.path("out/runs/0000-r1");
    let manifest = manifest(&run);
    let how = &manifest.environment.facts["congestion states"];
    if how != "bpf" {
        println!("skipped: no-bpf: {how}");
        return;
    }
    for stream in &manifest.streams {
        let times = stream.ca_state_us.expect("watched");
        assert_eq!(stream.ca_state_source, Some(CaStateSource::Bpf));
        let life = stream.stop_us - stream.start_us;
        assert!(times.total().abs_diff(life) < 1_000, "{times:?} in a life of {life} µs");
        assert!(times.open > 0 && times.recovery > 0, "{times:?}");
    }
    let rows: Vec<Retransmit> = decode_table(File::open(run.join("retransmits.jsonl.zst")).unwrap()).unwrap();
    let segments: u64 = rows.iter().map(|row| u64::from(row.segments)).sum();
    assert_eq!(manifest.instrument.trace_lost_events, Some(0));
    assert!(segments > 0);
    assert_eq!(segments, counted(&manifest));
    for row in &rows {
        let (bytes, segments) = (row.seq_to - row.seq_from, u64::from(row.segments));
        assert!(row.seq_from >= 1 && bytes > (segments - 1) * 1448 && bytes <= segments * 1448, "{row:?}");
    }
    assert!(rows.iter().any(|row| row.kind == RetransmitKind::Fast));
    let in_order = |stream| {
        let times: Vec<u64> = rows.iter().filter(|row| row.stream == stream).map(|row| row.t_us).collect();
        times.is_sorted()
    };
    assert!(in_order(0) && in_order(1));
}

#[test]
fn without_bpf_the_record_says_so_and_claims_nothing() {
    let Some(folder) = privileged_lab() else { return };
    folder.write("lossy.toml", SCENARIO);
    let words = ["run", "lossy.toml", "--out", "out", "--quiet"];
    let output = folder.pipefill(&words).env("PIPEFILL_BPF", "0").output().unwrap();
    if machine_is_late(&output) {
        return;
    }
    let run = folder.path("out/runs/0000-r1");
    let manifest = manifest(&run);
    assert_eq!(manifest.environment.facts["congestion states"], "sampled: switched off by PIPEFILL_BPF=0");
    for stream in &manifest.streams {
        assert_eq!((stream.ca_state_us, stream.ca_state_source), (None, Some(CaStateSource::Sampled)));
    }
    assert_eq!(manifest.instrument.trace_lost_events, None);
    assert!(!run.join("retransmits.jsonl.zst").exists());
}
