//! What is said to be without chance: under another seed nothing is different.

use pipefill_core::backend::{Backend, Unwatched};
use pipefill_core::plan::Run;
use pipefill_core::record::RunRecord;
use pipefill_core::scenario::Scenario;
use pipefill_core::units::Seed;
use pipefill_sim::Sim;
use pipefill_sim::fuzz::scenario;

fn record(run: &Run, seed: u64) -> Option<RunRecord> {
    let mut record = Sim::new().run(&Run { seed: Seed::new(seed), ..run.clone() }, &Unwatched).ok()?;
    record.manifest.run.seed = Seed::new(0);
    Some(record)
}

fn run(text: &str) -> Option<Run> {
    let scenario = Scenario::parse(text, "chance.toml").unwrap_or_else(|error| panic!("{error}"));
    scenario.plan().runs().into_iter().next()
}

/// Random scenarios with all that can be asked of the simulator; large ones are left out.
#[test]
fn a_deterministic_cell_is_the_same_under_every_seed() {
    let mut compared = 0;
    for number in 1.. {
        let Some(mut run) = run(&scenario(number)) else { continue };
        // Few random paths are without chance: these lose what makes it.
        for way in [&mut run.cell.spec.path.forward, &mut run.cell.spec.path.reverse] {
            let certain = pipefill_core::cell::DirectionSpec::EMPTY;
            if number % 2 == 0 {
                (way.loss, way.jitter) = (certain.loss, certain.jitter);
                (way.duplicate, way.reorder) = (certain.duplicate, certain.reorder);
            }
        }
        let sim = Sim::new();
        if !sim.is_deterministic(&run.cell.spec) || sim.estimate(&run).as_millis() > 200 {
            continue;
        }
        let (first, second) = (record(&run, 1), record(&run, 2));
        assert!(first == second, "scenario {number} is not deterministic");
        compared += 1;
        if compared == 12 {
            return;
        }
    }
}

#[test]
fn what_draws_is_not_called_deterministic() {
    let is = |path: &str, control: &str| {
        let text = format!(
            "name = \"c\"\n[path]\nrtt = \"20ms\"\nrate = \"20mbit\"\n{path}\n[host]\n\
             congestion_control = \"{control}\"\n[[flow]]\nduration = \"2s\"\n"
        );
        Sim::new().is_deterministic(&run(&text).expect("a run").cell.spec)
    };
    assert!(is("", "cubic") && is("", "reno") && is("loss = \"packets 3,7\"", "cubic"));
    for path in [
        "loss = \"1%\"",
        "reverse_loss = \"1%\"",
        "jitter = \"1ms\"",
        "duplicate = \"1%\"",
        "reorder = \"1%\"",
    ] {
        assert!(!is(path, "cubic"), "{path}");
    }
    assert!(!is("loss = \"gilbert-elliott p=1% r=20%\"", "cubic") && !is("", "bbr"));
}
