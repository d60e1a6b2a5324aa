//! Two experiments held against each other: matching of cells, intervals, regressions, notes.

use pipefill_analysis::findings::changes::{Changes, Finding};
use pipefill_analysis::findings::experiment::{Experiment, ExperimentBuilder};
use pipefill_core::cell::Protocol;
use pipefill_core::plan::{Cell, cell_id};
use pipefill_core::record::Invalid;
use pipefill_testkit::builder::{Steady, cell, plan, record, run, spec};

/// The cell of a round trip, under its real id.
fn at(index: usize, rtt_ms: u64) -> Cell {
    let text = format!("{rtt_ms}ms");
    let spec = spec(Protocol::Tcp, rtt_ms);
    Cell { id: cell_id(&spec), ..cell(index, &[("path.rtt", &text)], spec) }
}

/// An experiment of `cells`, each with a run for each of its rates in Mbit/s and round trips in µs.
fn experiment(cells: &[(Cell, &[(u64, u32)])]) -> Experiment {
    let mut builder = ExperimentBuilder::new(plan(cells.iter().map(|(cell, _)| cell.clone()).collect()));
    for (cell, runs) in cells {
        for (repeat, &(mbit, srtt_us)) in (1..).zip(*runs) {
            let steady = Steady { rate_bps: mbit * 1_000_000, srtt_us, ..Steady::default() };
            builder.add(&record(run(cell, repeat), &[steady])).unwrap();
        }
    }
    builder.finish()
}

fn changes(before: &Experiment, after: &Experiment) -> Changes {
    Changes::of(("one", before), ("two", after), 0.05)
}

const STEADY: &[(u64, u32)] = &[(80, 10_000), (81, 10_100), (79, 9_900)];

#[test]
fn a_cell_that_lost_goodput_is_a_regression_and_one_that_did_not_is_none() {
    let before = experiment(&[(at(0, 10), STEADY), (at(1, 20), STEADY)]);
    let slower = [(60, 10_000), (61, 10_100), (59, 9_900)];
    let after = experiment(&[(at(0, 10), STEADY), (at(1, 20), &slower)]);
    let got = changes(&before, &after);
    assert_eq!((got.cells.len(), got.regressions, got.improvements), (2, 1, 0));
    let [same, worse] = &got.cells[..] else { panic!("{got:?}") };
    assert_eq!(same.goodput_bps.unwrap().finding, Finding::NotShown);
    let change = worse.goodput_bps.unwrap();
    assert_eq!((change.finding, worse.regression), (Finding::Worse, true));
    assert!((change.difference_fraction.unwrap() + 0.25).abs() < 0.001, "{change:?}");
    let (low, high) = (change.difference_low.unwrap(), change.difference_high.unwrap());
    assert!(low < change.difference && change.difference < high && high < -15e6, "{change:?}");
    let turned = changes(&after, &before);
    assert_eq!((turned.regressions, turned.improvements), (0, 1));
}

#[test]
fn a_difference_below_the_threshold_is_told_and_is_no_regression() {
    let before = experiment(&[(at(0, 10), &[(1_000, 10_000); 3])]);
    let after = experiment(&[(at(0, 10), &[(980, 10_000); 3])]);
    let got = changes(&before, &after);
    assert_eq!((got.cells[0].goodput_bps.unwrap().finding, got.regressions), (Finding::Worse, 0));
    assert_eq!(Changes::of(("one", &before), ("two", &after), 0.01).regressions, 1);
}

#[test]
fn a_longer_round_trip_is_a_regression_too() {
    let before = experiment(&[(at(0, 10), STEADY)]);
    let after = experiment(&[(at(0, 10), &[(80, 30_000), (81, 31_000), (79, 29_000)])]);
    let got = changes(&before, &after);
    let cell = &got.cells[0];
    assert_eq!(cell.goodput_bps.unwrap().finding, Finding::NotShown);
    assert_eq!((cell.srtt_us_p95.unwrap().finding, cell.regression), (Finding::Worse, true));
}

#[test]
fn more_goodput_for_a_longer_round_trip_is_a_trade_off() {
    let before = experiment(&[(at(0, 10), STEADY)]);
    let after = experiment(&[(at(0, 10), &[(160, 30_000), (161, 31_000), (159, 29_000)])]);
    let cell = &changes(&before, &after).cells[0];
    assert_eq!((cell.trade_off, cell.regression, cell.improvement), (true, false, false));
    let turned = &changes(&after, &before).cells[0];
    assert_eq!((turned.trade_off, turned.regression, turned.improvement), (false, true, false));
}

#[test]
fn two_runs_give_no_verdict() {
    let before = experiment(&[(at(0, 10), &[(80, 10_000); 2])]);
    let after = experiment(&[(at(0, 10), &[(8, 10_000); 2])]);
    let change = changes(&before, &after).cells[0].goodput_bps.unwrap();
    assert_eq!((change.finding, change.difference_low), (Finding::TooFewRuns, None));
    assert_eq!((change.detectable_difference, change.detectable_fraction), (None, None));
    assert_eq!(changes(&before, &after).regressions, 0);
}

/// One run far off moves a mean, and what was called goodput here was another figure than the report's.
#[test]
fn a_figure_is_the_one_that_a_report_has() {
    let before = experiment(&[(at(0, 10), &[(12, 10_000), (13, 11_000), (40, 30_000), (11, 9_000)])]);
    let after = experiment(&[(at(0, 10), &[(12, 10_000), (11, 11_000), (10, 12_000)])]);
    let got = &changes(&before, &after).cells[0];
    let of = |side: &Experiment| {
        let cell = &side.cells[0];
        (cell.goodput_bps.unwrap() as f64, cell.tcp.srtt_us_p95.unwrap() as f64)
    };
    let (goodput, trip) = (got.goodput_bps.unwrap(), got.srtt_us_p95.unwrap());
    assert!(
        (goodput.before - of(&before).0).abs() < 1.0 && (goodput.after - of(&after).0).abs() < 1.0,
        "{goodput:?}"
    );
    assert!((trip.before - of(&before).1).abs() < 1.0 && (trip.after - of(&after).1).abs() < 1.0, "{trip:?}");
    assert_eq!(goodput.difference, goodput.after - goodput.before);
}

/// Wider than half of the interval: it has to be seen in spite of chance. Runs that spread more see less.
#[test]
fn what_could_have_been_seen_goes_with_the_spread() {
    let of = |spread: u64| {
        let runs = [(800 - spread, 10_000), (800, 10_000), (800 + spread, 10_000)];
        let side = || experiment(&[(at(0, 10), &runs)]);
        changes(&side(), &side()).cells[0].goodput_bps.unwrap()
    };
    let (narrow, wide) = (of(10), of(100));
    for change in [narrow, wide] {
        let half = (change.difference_high.unwrap() - change.difference_low.unwrap()) / 2.0;
        let seen = change.detectable_difference.unwrap();
        assert!(seen > half && seen < 2.0 * half, "{change:?}");
        assert!((change.detectable_fraction.unwrap() - seen / change.before).abs() < 1e-9, "{change:?}");
    }
    let ratio = wide.detectable_difference.unwrap() / narrow.detectable_difference.unwrap();
    assert!((ratio - 10.0).abs() < 0.5, "{ratio}");
    assert_eq!(of(0).detectable_difference, Some(0.0));
}

#[test]
fn cells_of_one_side_are_listed_and_those_that_nobody_ran_are_of_neither() {
    let before = experiment(&[(at(0, 10), STEADY), (at(1, 20), STEADY), (at(2, 30), &[])]);
    let after = experiment(&[(at(0, 20), STEADY), (at(1, 30), STEADY), (at(2, 40), STEADY)]);
    let got = changes(&before, &after);
    let value = |axes: &indexmap::IndexMap<String, String>| axes["path.rtt"].clone();
    assert_eq!(got.cells.iter().map(|cell| value(&cell.axes)).collect::<Vec<_>>(), ["20ms"]);
    assert_eq!(got.only_before.iter().map(value).collect::<Vec<_>>(), ["10ms"]);
    assert_eq!(got.only_after.iter().map(value).collect::<Vec<_>>(), ["30ms", "40ms"]);
    assert!(got.cells[0].same_cell && got.notes.is_empty(), "{:?}", got.notes);
}

/// An axis on one side, a fixed value on the other.
#[test]
fn a_cell_is_known_by_what_it_is_where_its_coordinates_are_others() {
    let before = experiment(&[(at(0, 10), STEADY), (at(1, 20), STEADY)]);
    let mut fixed = at(0, 20);
    fixed.axes.clear();
    let after = experiment(&[(fixed, STEADY), (at(1, 40), STEADY)]);
    let got = changes(&before, &after);
    assert_eq!((got.cells.len(), got.cells[0].axes["path.rtt"].as_str()), (1, "20ms"));
}

#[test]
fn what_else_differs_is_noted() {
    let before = experiment(&[(at(0, 10), STEADY), (at(1, 20), STEADY)]);
    let [mut first, mut second] = [at(0, 10), at(1, 20)];
    for cell in [&mut first, &mut second] {
        cell.spec.receiver.sysctl.insert("net.ipv4.tcp_rmem".to_owned(), "4096 131072 262144".to_owned());
        cell.spec.run.repeat = 5;
        cell.id = cell_id(&cell.spec);
    }
    let mut after = experiment(&[(first, STEADY), (second, STEADY)]);
    after.environment.pipefill = ["0.2.0".to_owned()].into();
    let got = changes(&before, &after);
    assert_eq!(
        got.notes,
        ["pipefill: 0.1.0 → 0.2.0", "receiver.sysctl.net.ipv4.tcp_rmem: not set → 4096 131072 262144"]
    );
    assert!(got.cells.iter().all(|cell| !cell.same_cell));
}

#[test]
fn invalid_runs_do_not_count_and_a_cell_without_others_can_not_be_judged() {
    let cell = at(0, 10);
    let before = experiment(&[(cell.clone(), STEADY)]);
    let mut builder = ExperimentBuilder::new(plan(vec![cell.clone()]));
    let mut bad = record(run(&cell, 1), &[Steady::default()]);
    let invalid = Invalid { reason: "ring_drops".to_owned(), detail: "7 packets".to_owned() };
    bad.manifest.invalid.push(invalid);
    builder.add(&bad).unwrap();
    let got = changes(&before, &builder.finish());
    assert_eq!((got.cells[0].goodput_bps, got.cells[0].valid_after), (None, 0));
    assert!(got.cells[0].is_unusable() && got.regressions == 0);
}

#[test]
fn two_single_cells_are_held_against_each_other_whatever_they_are() {
    let (before, after) = (experiment(&[(at(0, 10), STEADY)]), experiment(&[(at(0, 20), STEADY)]));
    let got = changes(&before, &after);
    assert_eq!(got.cells.len(), 1);
    assert!(
        got.notes.iter().any(|note| note.starts_with("path.forward.delay_ns: 5000000 → ")),
        "{:?}",
        got.notes
    );
}
