//! Any `--only` leaves cells of a plan or is refused. `cargo +nightly fuzz run only`
#![no_main]

use pipefill_core::plan::Plan;
use pipefill_core::scenario::Scenario;
use std::sync::LazyLock;

/// What the program says, which is not looked at here.
mod failure {
    pub(crate) struct Failure;

    impl Failure {
        pub(crate) fn usage(_what: impl Into<String>, _help: impl Into<String>) -> Self {
            Self
        }
    }
}

#[path = "../../crates/cli/src/select.rs"]
mod select;

static PLAN: LazyLock<Plan> = LazyLock::new(|| {
    let text = include_str!("../../scenarios/studies/rtt.toml");
    Scenario::parse(text, "rtt.toml").unwrap_or_else(|error| panic!("{error}")).plan().clone()
});

libfuzzer_sys::fuzz_target!(|text: &str| {
    let mut plan = PLAN.clone();
    let filters = [text.to_owned()];
    select::variants(&filters);
    if select::only(&mut plan, &filters).is_ok() {
        assert!(!plan.cells.is_empty());
    }
});
