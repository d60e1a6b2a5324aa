//! Plans: the size of the product, ids, seeds, directories; the scenario files of the project; garbage.

use pipefill_core::plan::Plan;
use pipefill_core::scenario::{Scenario, Style};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const RTT_STUDY: &str = include_str!("../../../scenarios/studies/rtt.toml");

fn study() -> Scenario {
    Scenario::parse(RTT_STUDY, "rtt.toml").unwrap_or_else(|error| panic!("{error}"))
}

/// Seconds of offered data over all runs.
fn offered_seconds(plan: &Plan) -> f64 {
    let of_run = |run: &pipefill_core::plan::Run| run.cell.spec.flows[0].duration.as_secs_f64();
    plan.runs().iter().map(of_run).sum()
}

fn check_runs(plan: &Plan) {
    let runs = plan.runs();
    let distinct = |names: Vec<String>| names.into_iter().collect::<BTreeSet<_>>().len();
    assert_eq!(distinct(runs.iter().map(|run| run.id.clone()).collect()), runs.len());
    assert_eq!(distinct(runs.iter().map(|run| run.seed.get().to_string()).collect()), runs.len());
    let directories: Vec<&str> = runs.iter().map(|run| run.directory.as_str()).collect();
    assert!(directories.is_sorted_by(|a, b| a < b), "{directories:?}");
    for name in directories {
        assert!(name.len() <= 80, "{name}");
        assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b)), "{name}");
    }
}

#[test]
fn study_one_has_its_cells_and_a_published_figure_for_each_published_row() {
    let study = study();
    let plan = study.plan();
    assert_eq!((plan.cells.len(), plan.runs().len()), (45, 5 * 3 + 40));
    assert_eq!(plan.published.len(), 25);
    let mut cells: Vec<usize> = plan.published.iter().map(|row| row.cell).collect();
    cells.sort_unstable();
    assert_eq!(cells, (0..25).collect::<Vec<_>>());
    let last = &plan.cells[24];
    let row = plan.published.iter().find(|row| row.cell == 24).expect("a figure");
    assert_eq!(last.axes[0], ("variant".to_owned(), "udp-1000p".to_owned()));
    assert_eq!((row.goodput_bps, row.lost_percent), (Some(8.49e6), Some(99.0)));
    assert_eq!(last.spec.path.reverse.delay, std::time::Duration::ZERO);
    check_runs(plan);
}

#[test]
fn study_one_is_quick_under_quick() {
    let study = study();
    let plan = study.quick_plan();
    assert_eq!(plan.runs().len(), 7);
    assert_eq!(plan.published.len(), 6);
    assert!(offered_seconds(plan) < 60.0, "{}", offered_seconds(plan));
    check_runs(plan);
}

/// Ids are names in other people's directories: a change of these is a change of the record format.
#[test]
fn ids_are_stable() {
    let first: Vec<String> = study().plan().cells.iter().map(|cell| cell.id.clone()).take(6).collect();
    let golden =
        ["3741419bfb18", "b442bc28a4be", "0a5c535e69a0", "d0e084e12077", "f85c8a1fdee0", "c14d3ecc322f"];
    assert_eq!(first, golden);
    let runs = study().plan().runs();
    assert_eq!(runs[0].id, format!("{}-1", golden[0]));
    assert_eq!(
        (runs[0].seed.get(), runs[1].seed.get()),
        (12_522_907_764_511_994_542, 9_396_794_114_404_649_729)
    );
    assert_eq!(runs[6].directory, "0002-tcp-rtt-10ms-r1");
}

#[test]
fn ids_leave_out_what_changes_no_run() {
    let id = |body: &str| {
        let text = format!("name = \"x\"\n[path]\nrate = \"1gbit\"\n{body}");
        let scenario = Scenario::parse(&text, "x.toml").unwrap_or_else(|error| panic!("{error}"));
        scenario.plan().cells[0].id.clone()
    };
    let plain = id("");
    assert_eq!(id("[run]\nrepeat = 9"), plain);
    assert_eq!(id("[expect]\ngoodput = \">= 1% of rate\""), plain);
    assert_eq!(id("burst = \"32KiB\""), plain);
    assert_ne!(id("burst = \"33KiB\""), plain);
    assert_ne!(id("[run]\nseed = 2"), plain);
}

#[test]
fn every_scenario_of_the_project_has_a_plan() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut files = Vec::new();
    collect(&root, &mut files);
    assert!(files.len() >= 4, "{files:?}");
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a readable file");
        let scenario =
            Scenario::parse(&text, &file.to_string_lossy()).unwrap_or_else(|error| panic!("{error}"));
        check_runs(scenario.plan());
        check_runs(scenario.quick_plan());
        assert!(!scenario.quick_plan().cells.is_empty(), "{}", file.display());
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_plan_is_the_product_of_its_axes(
        rtts in prop::collection::btree_set(0_u32..500, 1..5),
        losses in prop::collection::btree_set(0_u32..100, 1..4),
        bitrates in prop::collection::btree_set(1_u32..1000, 1..4),
        repeat in 1_usize..12,
    ) {
        let list = |numbers: &BTreeSet<u32>, unit: &str| {
            let texts: Vec<String> = numbers.iter().map(|n| format!("\"{n}{unit}\"")).collect();
            texts.join(", ")
        };
        let text = format!(
            "name = \"p\"\n[path]\nrtt = [{}]\nloss = [{}]\n[[flow]]\nbitrate = [{}]\n[run]\nrepeat = {repeat}\n",
            list(&rtts, "ms"), list(&losses, "%"), list(&bitrates, "mbit"),
        );
        let scenario = Scenario::parse(&text, "p.toml").unwrap_or_else(|error| panic!("{error}"));
        let plan = scenario.plan();
        prop_assert_eq!(plan.cells.len(), rtts.len() * losses.len() * bitrates.len());
        prop_assert_eq!(plan.runs().len(), plan.cells.len() * repeat);
        let again = Scenario::parse(&text, "p.toml").unwrap_or_else(|error| panic!("{error}"));
        prop_assert_eq!(plan, again.plan());
        check_runs(plan);
    }

    #[test]
    fn long_axes_still_make_names_that_fit(value in "[a-z]{1,15}", packets in 1_u32..40) {
        let list: Vec<String> = (1..=packets).map(|n| (n * 3).to_string()).collect();
        let text = format!(
            "name = \"p\"\n[path]\nloss = [\"packets {0}\", \"packets {0},999\"]\n[host]\ncongestion_control = [\"{value}\"]\n",
            list.join(","),
        );
        let scenario = Scenario::parse(&text, "p.toml").unwrap_or_else(|error| panic!("{error}"));
        check_runs(scenario.plan());
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,200}", set in "\\PC{0,40}") {
        survive(&text);
        let mut scenario = study();
        if let Err(error) = scenario.set(&set) {
            error.render(Style::Coloured);
        }
    }

    #[test]
    fn no_damaged_scenario_panics(at in any::<prop::sample::Index>(), length in 0_usize..60, filler in "[\\PC\n\t]{0,12}") {
        let start = at.index(RTT_STUDY.len());
        let end = (start + length).min(RTT_STUDY.len());
        if RTT_STUDY.is_char_boundary(start) && RTT_STUDY.is_char_boundary(end) {
            survive(&format!("{}{filler}{}", &RTT_STUDY[..start], &RTT_STUDY[end..]));
        }
    }

    #[test]
    fn no_value_panics(section in "path|host|flow|run|expect", key in "rtt|rate|queue|loss|jitter_distribution|tcp_rmem|parallel|seed|goodput|lost",
        value in "[0-9a-zA-Z%., =<>\\-\"\\[\\]]{0,30}")
    {
        let mut scenario = study();
        if let Err(error) = scenario.set(&format!("{section}.{key}={value}")) {
            error.render(Style::Plain);
        }
    }
}

fn survive(text: &str) {
    match Scenario::parse(text, "garbage.toml") {
        Ok(scenario) => check_runs(scenario.plan()),
        Err(error) => {
            assert!(!error.problems().is_empty());
            error.render(Style::Plain);
        }
    }
}
