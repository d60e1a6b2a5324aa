//! The catalogue in the simulator: every limit that was planted is found, and the guide shows just that.
//!
//! Never: a tolerance; what is wrong here is a wrong rule, or a scenario that does not plant what it says.

use crate::pipefill::{Folder, command, copy};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The catalogue's records, made once for all tests of this program, which only read them.
pub(crate) struct Records {
    pub(crate) folder: PathBuf,
    /// What was printed.
    text: String,
}

pub(crate) fn records() -> &'static Records {
    static ALL: LazyLock<Records> = LazyLock::new(run);
    &ALL
}

/// A copy of them in `folder`: two commands that resume the same records would refuse each other.
pub(crate) fn copied(folder: &Folder) -> PathBuf {
    let own = folder.path("catalogue");
    copy(&records().folder, &own);
    own
}

fn run() -> Records {
    let work = Path::new(env!("CARGO_TARGET_TMPDIR")).join("catalogue");
    if work.exists() {
        fs::remove_dir_all(&work).unwrap();
    }
    fs::create_dir(&work).unwrap();
    let output = command(&work, &work, &["catalogue", "--on", "sim", "--quiet"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    Records { folder: work.join("pipefill-runs/catalogue"), text }
}

#[test]
fn every_verdict_is_right_and_the_guide_shows_it() {
    let records = records();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/verdicts.md");
    let page = fs::read_to_string(page).unwrap();
    let text = &records.text;
    assert!(page.contains(text), "run cargo run -p xtask -- catalogue; it is now:\n{text}");
    for scenario in fs::read_dir(&records.folder).unwrap().map(|entry| entry.unwrap().path()) {
        assert!(
            scenario.join("runs").is_dir() && !scenario.join("report.html").exists(),
            "{}",
            scenario.display()
        );
    }
}

/// A margin is found by judging an interval again; here whole records are. With all facts and by one end's sockets, whose path is inferred.
/// `PIPEFILL_PERTURBED=all`: the records of five scenarios, two if nothing is said.
#[test]
fn thresholds_that_are_moved_change_just_the_time_that_margins_name() {
    let folder = Folder::new();
    let all = ["app-97-of-path", "both-app-path", "rwnd-bbr-4ms", "rwnd-maximum", "sndbuf-maximum"];
    // Judging 38 conversations 308 times takes a minute: `make proof` asks for all, with a sample each 10 ms.
    let is_whole = std::env::var("PIPEFILL_PERTURBED").is_ok_and(|which| which == "all");
    let chosen = if is_whole { &all[..] } else { &all[..2] };
    let applications: &[&str] = if is_whole { &["applications"] } else { &[] };
    let words = [&["catalogue"][..], chosen, applications].concat();
    let sample = if is_whole { "run.sample=10ms" } else { "run.sample=30ms" };
    let more = ["--on", "sim", "--set", sample, "--perturb", "10%", "--json", "--quiet", "--out", "out"];
    for blindfold in
        [&[][..], &["--resume", "--blindfold", "sender"], &["--resume", "--blindfold", "receiver"]]
    {
        let output = folder.pipefill(&[words.as_slice(), &more, blindfold].concat()).output().unwrap();
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        let perturbation = &found["perturbation"];
        let [span, moved, within] =
            ["span_us", "moved_us", "within_margin_us"].map(|name| perturbation[name].as_u64().unwrap());
        assert_eq!(moved, within, "{blindfold:?}: {perturbation}");
        assert!(moved > 0 && moved < span, "{blindfold:?}: {perturbation}");
        let hangs = perturbation["hanging"].as_array().unwrap().iter();
        let mut hangs = hangs.filter(|verdict| verdict["scenario"] == "app-97-of-path");
        assert!(
            !blindfold.is_empty() || hangs.any(|verdict| verdict["limited_by"] == "app"),
            "{perturbation}"
        );
    }
}
