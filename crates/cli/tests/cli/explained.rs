//! What `explain` and `fix` print for each cause of the catalogue, as it was looked at and found right, and the guide's pictures of them.
//!
//! `FIGURES=write cargo test -p pipefill --test cli explained` draws `docs/guide/causes` anew. Never: the only judge; that a verdict is right,
//! `catalogue.rs` says. A snapshot that changes is read before it is accepted.

use crate::pipefill::Folder;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// One scenario for each cause and refinement, and one with two.
const CAUSES: [&str; 15] = [
    "app-bitrate",
    "both-rwnd-path",
    "growth-cubic",
    "hystart-jitter",
    "loss-cubic",
    "pacing-bbr",
    "path-cubic",
    "path-udp-loss",
    "queue-reno",
    "receiver-slow",
    "rwnd-maximum",
    "rwnd-unscaled",
    "sndbuf-socket",
    "startup-short",
    "testbed-limit-udp",
];

/// A window that is opened, a window that grows faster and still fills no pipe, and a case without a remedy.
const FIXES: [&str; 3] = ["rwnd-unscaled", "growth-cubic", "app-bitrate"];

fn scenario(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/catalogue").join(format!("{name}.toml"))
}

/// The records of scenario `name` from the simulator, in the folder's `NAME`.
fn ran(folder: &Folder, name: &str) {
    let file = scenario(name);
    let words = ["run", file.to_str().unwrap(), "--on", "sim", "--out", name, "--quiet"];
    folder.pipefill(&words).assert().code(0);
}

/// What `words` print, without the version.
fn printed(folder: &Folder, words: &[&str]) -> String {
    let output = folder.pipefill(words).assert().code(0).get_output().stdout.clone();
    String::from_utf8(output).unwrap().replace(env!("CARGO_PKG_VERSION"), "VERSION")
}

/// The verdict on the only cell of `name`.
fn verdict(folder: &Folder, name: &str) -> String {
    let output = folder.pipefill(&["explain", name, "--json"]).assert().code(0).get_output().stdout.clone();
    let explained: Value = serde_json::from_slice(&output).unwrap();
    explained["cells"][0]["verdict"].as_str().unwrap().to_owned()
}

fn guide() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide")
}

/// The guide's picture of the run of `name` over time is the one that the tool draws.
fn pictured(folder: &Folder, name: &str) {
    let drawn = format!("{name}-pictures");
    folder.pipefill(&["report", name, "--format", "svg", "-o", &drawn]).assert().code(0);
    let of_run =
        crate::pipefill::names(&folder.path(&drawn)).into_iter().find(|file| file.contains("-over-time"));
    let drawn = std::fs::read_to_string(folder.path(&drawn).join(of_run.unwrap())).unwrap();
    let shown = guide().join("causes").join(format!("{name}.svg"));
    if std::env::var_os("FIGURES").is_some_and(|value| value == "write") {
        std::fs::create_dir_all(guide().join("causes")).unwrap();
        std::fs::write(&shown, &drawn).unwrap();
    }
    let shown = std::fs::read_to_string(shown).unwrap_or_default();
    assert!(shown == drawn, "docs/guide/causes/{name}.svg is not what the tool draws now: make figures");
}

/// Sentences that the guide shows as the tool's: paragraphs in italics that begin like one.
fn examples(page: &str) -> Vec<String> {
    let sentence = |part: &str| {
        let (sentence, _) = part.split_once("*\n")?;
        Some(format!("Limited by {}", sentence.replace('\n', " ")))
    };
    page.split("*Limited by ").skip(1).filter_map(sentence).collect()
}

#[test]
fn every_cause_is_explained_and_the_guide_shows_just_that() {
    let folder = Folder::new();
    let mut verdicts = Vec::new();
    for name in CAUSES {
        ran(&folder, name);
        insta::assert_snapshot!(format!("explain-{name}"), printed(&folder, &["explain", name]));
        verdicts.push(verdict(&folder, name));
        pictured(&folder, name);
    }
    let page = std::fs::read_to_string(guide().join("verdicts.md")).unwrap();
    for name in CAUSES {
        assert!(page.contains(&format!("(causes/{name}.svg)")), "the guide does not show {name}");
    }
    let examples = examples(&page);
    assert!(examples.len() >= 8, "{examples:#?}");
    for example in examples {
        assert!(verdicts.contains(&example), "the guide has {example:?}; there are {verdicts:#?}");
    }
}

#[test]
fn a_fix_says_before_predicted_after() {
    let folder = Folder::new();
    for name in FIXES {
        ran(&folder, name);
        let text = printed(&folder, &["fix", name, "--out", &format!("{name}-fixed")]);
        insta::assert_snapshot!(format!("fix-{name}"), text);
    }
}

/// CUBIC keeps a queue of four BDPs full: nothing makes the flow faster, FQ-CoDel on the same path makes its round trip shorter, and ECN then
/// loses nothing.
#[test]
fn fq_codel_and_ecn_are_proven_against_bufferbloat() {
    let folder = Folder::new();
    let path = "rtt = \"20ms\"\nrate = \"50mbit\"\nqueue = \"4bdp\"";
    folder.write("bloat.toml", &format!("name = \"bloat\"\n[path]\n{path}\n[[flow]]\nduration = \"6s\"\n"));
    let run = ["run", "bloat.toml", "--on", "sim", "--out", "bloat", "--quiet"];
    folder.pipefill(&run).assert().code(0);
    let text = printed(&folder, &["fix", "bloat", "--out", "fixed"]);
    assert!(text.contains("Round 1: path.aqm=fq_codel") && text.contains("Helped: "), "{text}");
    let fixed = std::fs::read_to_string(folder.path("fixed").join("fix.json")).unwrap();
    let fixed: Value = serde_json::from_str(&fixed).unwrap();
    let proof = &fixed["cells"][0];
    assert!(text.contains("Round 2: sender.tcp_ecn=1, receiver.tcp_ecn=1"), "{text}");
    let set = ["path.aqm=fq_codel", "sender.tcp_ecn=1", "receiver.tcp_ecn=1"];
    assert_eq!(proof["set"], serde_json::json!(set), "{text}");
    let resent = &proof["rounds"][1]["retransmits"];
    assert!(resent["before"].as_f64() > Some(0.0) && resent["after"] == 0.0, "{resent}");
    let rtt = &proof["rounds"][0]["loaded_rtt"];
    let [before, after] = ["before_us", "after_us"].map(|side| rtt[side].as_f64().unwrap());
    assert!(before > 60e3 && after < 30e3, "{rtt}");
}
