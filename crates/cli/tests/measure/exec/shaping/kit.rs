//! Shaping in a guest whose kernel has netem: User-Mode Linux in virtual time, from a kit that `PIPEFILL_LINUX_KIT` names.
//!
//! The kit is a folder with `setup.sh DIR`, which makes DIR/linux and DIR/root; its init mounts a folder of ours at /out and runs the script
//! /out/env. The program in it is this one, linked statically.

use super::{json, rate};
use crate::measuring::{Folder, Outcome, Skip};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const KIT: &str = "PIPEFILL_LINUX_KIT";
const TARGET: &str = "x86_64-unknown-linux-gnu";
const SCRIPT: &str = include_str!("guest.sh");

pub(super) fn in_a_kernel_with_netem() -> Outcome {
    let kit = std::env::var_os(KIT)
        .map(PathBuf::from)
        .ok_or_else(|| Skip::NoKernelKit(format!("{KIT} names no folder with a kernel that has netem")))?;
    let folder = Folder::new();
    let seen = folder.path("out");
    boot(&kit, &folder.path("guest"), &seen);
    let text = |name: &str| {
        fs::read_to_string(seen.join(name))
            .unwrap_or_else(|error| panic!("{name}: {error}: {}", printed(&seen)))
    };
    let read = |name: &str| json(text(name).as_bytes());

    let (shaped, other) = (read("test.json"), read("other.json"));
    assert!((18.0..20.0).contains(&rate(&shaped)), "{} Mbit/s of 20", rate(&shaped));
    let min_rtt = min_rtt_ms(&shaped);
    assert!((50.0..52.0).contains(&min_rtt), "{min_rtt} ms of 50");
    assert!((49.0..51.0).contains(&rate(&other)), "{} Mbit/s of 50 beside it", rate(&other));
    assert!(min_rtt_ms(&other) < 1.0, "{} ms beside it", min_rtt_ms(&other));
    let told = read("shape.json");
    assert!(told["carried"]["queue_dropped_packets"].as_u64().unwrap() > 0, "{told:#}");
    assert_eq!(told["carried"]["lost_packets"], 0, "{told:#}");
    let qdiscs = text("qdiscs");
    assert!(qdiscs.contains("netem 2: parent 1:1 limit ") && qdiscs.contains(" delay 50ms"), "{qdiscs}");

    // 2 % of some 2,590 datagrams, and five standard deviations around it.
    let lost = read("loss.json")["end"]["sum"]["lost_percent"].as_f64().unwrap();
    assert!((0.6..3.4).contains(&lost), "{lost} % of 2 %");
    assert!(read("loss-shape.json")["carried"]["lost_packets"].as_u64().unwrap() > 0);

    assert!(text("fq-before").contains("qdisc fq 10:") && text("htb-before").contains("class htb 1:20"));
    for (before, after) in [
        ("fq-before", "fq-after"),
        ("htb-before", "htb-after"),
        ("htb-before", "time-after"),
        ("htb-before", "killed-after"),
        ("htb-before", "hung-after"),
    ] {
        assert_eq!(text(before), text(after), "{before}, {after}");
    }
    for meanwhile in ["killed-meanwhile", "hung-meanwhile"] {
        assert!(text(meanwhile).contains("netem"), "{}", text(meanwhile));
    }
    assert!(text("time").contains("goes on without it"), "{}", text("time"));
    assert_eq!(text("switches").lines().count(), 1);
    assert!(text("killed").lines().count() >= 2, "{}", text("killed"));
    Ok(())
}

/// The smallest round trip that the sender's kernel has seen.
fn min_rtt_ms(test: &Value) -> f64 {
    let connection = &test["pipefill"]["connections"][0];
    connection["min_rtt_us"].as_f64().unwrap_or_else(|| panic!("{connection:#}")) / 1e3
}

/// Runs the script in the guest, with the folder `seen` as its /out.
fn boot(kit: &Path, guest: &Path, seen: &Path) {
    fs::create_dir(seen).unwrap();
    fs::copy(static_program(), seen.join("pipefill")).unwrap();
    fs::write(seen.join("env"), SCRIPT).unwrap();
    let made = Command::new(kit.join("setup.sh")).arg(guest).stdout(Stdio::null()).status().unwrap();
    assert!(made.success(), "the kit's setup.sh failed");
    let (root, out) = (guest.join("root"), seen.display());
    let console = fs::File::create(seen.join("console")).unwrap();
    // A process that spins would stop virtual time.
    let ended = Command::new("timeout")
        .arg("300")
        .arg(guest.join("linux"))
        .args(["mem=1024M", "rootfstype=hostfs", "ro", "time-travel=inf-cpu", "time-travel-start=1700000000"])
        .args(["um_seed=1", "norandmaps", "init=/init", "con=none", "con0=null", "ssl=none", "quiet"])
        .args([format!("rootflags={}", root.display()), format!("UMLOUT={out}")])
        .env_clear()
        .envs([("GLIBC_TUNABLES", "glibc.pthread.rseq=0"), ("TMPDIR", "/dev/shm")])
        .env("HOME", seen)
        .stdin(Stdio::null())
        .stderr(console.try_clone().unwrap())
        .stdout(console)
        .status()
        .unwrap();
    assert!(ended.success(), "{}", printed(seen));
}

/// What the guest printed.
fn printed(seen: &Path) -> String {
    ["out", "console", "serve"].map(|name| fs::read_to_string(seen.join(name)).unwrap_or_default()).concat()
}

/// This program without a shared library, built for the guest.
fn static_program() -> PathBuf {
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "-q", "-p", "pipefill", "--target", TARGET])
        .env("RUSTFLAGS", "-C target-feature=+crt-static")
        .status()
        .unwrap();
    assert!(status.success(), "the static program was not built");
    let own = assert_cmd::cargo::cargo_bin!("pipefill");
    own.ancestors().nth(2).unwrap().join(TARGET).join("debug/pipefill")
}
