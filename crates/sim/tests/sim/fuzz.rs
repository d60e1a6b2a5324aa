//! Random scenarios with every check on; `pipefill sim fuzz` runs more of them.

use pipefill_core::backend::Unwatched;
use pipefill_sim::fuzz::{Examined, examine, scenario};
use std::panic::catch_unwind;

/// The first and how many; others than these to look for more.
fn seeds() -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let first = number("FUZZ_SEED").unwrap_or(1);
    first..first + number("FUZZ_RUNS").unwrap_or(60)
}

#[test]
fn what_must_always_hold_holds_in_random_scenarios() {
    let (mut sum, mut findings) = (Examined::default(), Vec::new());
    let seeds = seeds();
    for seed in seeds.clone() {
        let text = scenario(seed);
        match catch_unwind(|| examine(&text, &Unwatched)) {
            Ok(Ok(examined)) => {
                sum.packets += examined.packets;
                sum.unconnected += examined.unconnected;
            }
            Ok(Err(error)) => findings.push(format!("seed {seed}: {error}")),
            Err(_) => findings.push(format!("seed {seed}: a panic, told above")),
        }
    }
    println!("{} packets, {} runs without a connection", sum.packets, sum.unconnected);
    assert!(
        findings.is_empty(),
        "{}\npipefill sim fuzz --seed N shows one and shrinks it",
        findings.join("\n")
    );
    assert!(sum.packets > 1000 * (seeds.end - seeds.start), "too little happens to find anything");
}
