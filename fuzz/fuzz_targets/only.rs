//! Any `--only` leaves cells of a plan or is refused. `RUSTC_BOOTSTRAP=1 cargo fuzz run only`
#![no_main]

use pipefill_core::plan::{Plan, Selection};
use pipefill_core::scenario::Scenario;
use std::sync::LazyLock;

static PLAN: LazyLock<Plan> = LazyLock::new(|| {
    let text = include_str!("../../scenarios/studies/rtt.toml");
    Scenario::parse(text, "rtt.toml").unwrap_or_else(|error| panic!("{error}")).plan().clone()
});

libfuzzer_sys::fuzz_target!(|text: &str| {
    let mut plan = PLAN.clone();
    let selection = Selection { only: vec![text.to_owned()], ..Selection::default() };
    selection.variants();
    if plan.select(&selection.only).is_ok() {
        assert!(!plan.cells.is_empty());
    }
});
