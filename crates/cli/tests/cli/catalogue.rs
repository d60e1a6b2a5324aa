//! The catalogue in the simulator: every limit that was planted is found, and the guide shows just that.
//!
//! Never: a tolerance; what is wrong here is a wrong rule, or a scenario that does not plant what it says.

use crate::pipefill::Folder;
use std::fs;
use std::path::Path;

#[test]
fn every_verdict_is_right_and_the_guide_shows_it() {
    let folder = Folder::new();
    let output = folder.pipefill(&["catalogue", "--on", "sim", "--quiet"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/verdicts.md");
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains(&text), "run cargo run -p xtask -- catalogue; it is now:\n{text}");
    let folders = fs::read_dir(folder.path("pipefill-runs/catalogue")).unwrap();
    for scenario in folders.map(|entry| entry.unwrap().path()) {
        assert!(
            scenario.join("runs").is_dir() && !scenario.join("report.html").exists(),
            "{}",
            scenario.display()
        );
    }
}
