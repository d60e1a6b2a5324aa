//! What hostile input is fed to: called by the fuzz targets, and by an ordinary test (`crates/core/tests/hostile.rs`), which needs
//! no nightly compiler. Any input is what it should be, or an error; never a panic.

use pipefill_core::plan::Plan;
use pipefill_core::scenario::{Scenario, Style};

/// The first line is a `--set`, the rest a scenario file. An error can be shown.
pub fn scenario(text: &str) {
    let (set, file) = text.split_once('\n').unwrap_or(("", text));
    match Scenario::parse(file, "fuzz.toml") {
        Ok(mut scenario) => {
            assert!(!scenario.plan().cells.is_empty());
            if let Err(error) = scenario.set(set) {
                error.render(Style::Plain);
            }
        }
        Err(error) => {
            error.render(Style::Coloured);
        }
    }
}

/// `experiment.json`'s plan. What was read has as many runs as it says.
pub fn plan(bytes: &[u8]) -> usize {
    let Ok(mut plan) = serde_json::from_slice::<Plan>(bytes) else { return 0 };
    let runs = plan.runs();
    assert_eq!(runs.len(), plan.run_count());
    plan.keep(|cell| cell.index % 2 == 0);
    runs.len()
}
