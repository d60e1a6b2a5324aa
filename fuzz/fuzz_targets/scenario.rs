//! Any text is a scenario or an error that can be shown; never a panic. `cargo +nightly fuzz run scenario`
#![no_main]

use libfuzzer_sys::fuzz_target;
use pipefill_core::scenario::{Scenario, Style};

// The first line is a `--set`, the rest the file.
fuzz_target!(|text: &str| {
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
});
