//! Runs joined to cells: medians, validity, the JSON contract, expectations.

use pipefill_analysis::findings::expect;
use pipefill_analysis::findings::experiment::{CellResult, Experiment, ExperimentBuilder, FlowResult};
use pipefill_analysis::findings::verdict::Verdict;
use pipefill_core::cell::{Bound, Comparison, ExpectMetric, Expectation, Protocol};
use pipefill_core::limit::{Cause, CwndCause, LimitedBy};
use pipefill_core::plan::{Cell, Published};
use pipefill_core::record::{Invalid, RunRecord, Setting};
use pipefill_core::units::Ratio;
use pipefill_testkit::builder::{Steady, capped, cell, plan, record, run, spec};

fn at(cell: &Cell, repeat: u32, mbit: u64) -> RunRecord {
    let steady = Steady { rate_bps: mbit * 1_000_000, ..Steady::default() };
    record(run(cell, repeat), &[steady])
}

fn spoilt(mut record: RunRecord) -> RunRecord {
    let invalid = |detail: &str| Invalid { reason: "ring_drops".to_owned(), detail: detail.to_owned() };
    record.manifest.invalid = vec![invalid("12 packets lost"), invalid("and again")];
    record
}

fn tcp_cell() -> Cell {
    cell(0, &[("path.rtt", "10ms"), ("path.loss", "0%")], spec(Protocol::Tcp, 10))
}

fn three_runs() -> Experiment {
    let cell = tcp_cell();
    let mut plan = plan(vec![cell.clone()]);
    plan.published.push(Published {
        cell: 0,
        goodput_bps: Some(82e6),
        lost_percent: None,
        retransmits: None,
        ca_state_us: None,
    });
    let mut builder = ExperimentBuilder::new(plan);
    for (repeat, mbit) in [(2, 80), (1, 60), (3, 90)] {
        builder.add(&at(&cell, repeat, mbit)).unwrap();
    }
    builder.finish()
}

#[test]
fn a_cell_is_the_median_of_its_valid_runs() {
    let cell = tcp_cell();
    let mut builder = ExperimentBuilder::new(plan(vec![cell.clone()]));
    builder.add(&at(&cell, 1, 60)).unwrap();
    builder.add(&at(&cell, 2, 80)).unwrap();
    builder.add(&spoilt(at(&cell, 3, 900))).unwrap();
    let got = &builder.finish().cells[0];
    assert_eq!((got.runs, got.valid), (3, 2));
    assert_eq!(got.goodput_bps, Some(70_000_000));
    assert_eq!((got.goodput_bps_low, got.goodput_bps_high), (Some(60_000_000), Some(80_000_000)));
    assert_eq!(got.goodput_coverage, Some(0.5));
    assert_eq!(got.invalid.len(), 1);
    assert_eq!((got.invalid[0].runs, got.invalid[0].detail.as_str()), (1, "12 packets lost"));
}

#[test]
fn a_refused_setting_is_told_once_and_a_granted_one_not() {
    let cell = tcp_cell();
    let mut builder = ExperimentBuilder::new(plan(vec![cell.clone()]));
    for repeat in 1..=3 {
        let mut record = at(&cell, repeat, 80);
        let doubled = Setting { met: true, name: "SO_SNDBUF".to_owned(), ..capped("stream 0 sender") };
        record.manifest.settings = vec![doubled, capped("stream 0 receiver"), capped("stream 1 receiver")];
        builder.add(&record).unwrap();
    }
    let got = builder.finish();
    let places: Vec<&str> = got.cells[0].unmet_settings.iter().map(|unmet| unmet.place.as_str()).collect();
    assert_eq!(places, ["stream 0 receiver", "stream 1 receiver"]);
    assert_eq!(got.cells[0].run_values[2].unmet_settings, got.cells[0].unmet_settings);
    let json = serde_json::to_value(&got.cells[0]).unwrap();
    let expected = serde_json::json!({
        "place": "stream 0 receiver", "name": "SO_RCVBUF", "asked": "4194304", "got": "425984",
        "why": "capped by net.core.rmem_max"
    });
    assert_eq!(json["unmet_settings"][0], expected);
}

#[test]
fn one_run_has_no_interval_and_none_has_no_figure() {
    let (run_once, never) = (tcp_cell(), cell(1, &[("path.rtt", "20ms")], spec(Protocol::Tcp, 20)));
    let mut builder = ExperimentBuilder::new(plan(vec![run_once.clone(), never]));
    builder.add(&at(&run_once, 1, 60)).unwrap();
    let got = builder.finish();
    assert_eq!(got.cells[0].goodput_bps, Some(60_000_000));
    assert_eq!((got.cells[0].goodput_bps_low, got.cells[0].goodput_bps_high), (None, None));
    assert_eq!(got.cells[0].goodput_coverage, None);
    assert_eq!((got.cells[1].runs, got.cells[1].goodput_bps), (0, None));
    assert_eq!(got.cells[1].backend, None);
}

#[test]
fn backends_are_kept_apart_and_strangers_refused() {
    let cell = tcp_cell();
    let mut builder = ExperimentBuilder::new(plan(vec![cell.clone()]));
    builder.add(&at(&cell, 1, 60)).unwrap();
    let mut simulated = at(&cell, 1, 80);
    simulated.manifest.backend = "sim".to_owned();
    builder.add(&simulated).unwrap();
    let mut stranger = at(&cell, 1, 80);
    stranger.manifest.run.cell.id = "somewhere else".to_owned();
    assert!(builder.add(&stranger).is_err());
    let cells = builder.finish().cells;
    let got: Vec<_> = cells.iter().map(|c| (c.backend.as_deref(), c.goodput_bps)).collect();
    assert_eq!(got, [(Some("lab"), Some(60_000_000)), (Some("sim"), Some(80_000_000))]);
}

#[test]
fn a_cell_is_found_by_its_id_where_the_plan_has_grown() {
    let cell = tcp_cell();
    let mut moved = cell.clone();
    moved.index = 1;
    let first = Cell { index: 0, ..pipefill_testkit::builder::cell(7, &[], spec(Protocol::Tcp, 1)) };
    let mut builder = ExperimentBuilder::new(plan(vec![first, moved]));
    builder.add(&at(&cell, 1, 60)).unwrap();
    let got = builder.finish();
    assert_eq!((got.cells[0].runs, got.cells[1].runs), (0, 1));
}

#[test]
fn every_name_of_the_contract_is_there_even_where_nothing_ran() {
    let empty = ExperimentBuilder::new(plan(vec![tcp_cell()])).finish();
    let json = serde_json::to_value(&empty.cells[0]).unwrap();
    let names = "axes backend runs valid goodput_bps goodput_bps_low goodput_bps_high goodput_coverage sender_bps retransmits \
                 min_rtt_us srtt_us_p50 cwnd_bytes_p50 rwnd_bytes_p50 in_flight_bytes_p50 limited_by limited_fraction \
                 ca_state_us lost_percent predicted_bps verdict advice repeat_command";
    for name in names.split_whitespace() {
        assert!(json.get(name).is_some(), "{name} is missing");
    }
    assert!(json["goodput_bps"].is_null() && json["verdict"].is_null());
}

fn judged(result: &CellResult, metric: ExpectMetric, comparison: Comparison, bound: Bound) -> Option<bool> {
    let mut spec = spec(Protocol::Tcp, 10);
    spec.expect.push(Expectation { metric, comparison, bound, text: "the text".to_owned() });
    let results = expect::evaluate(&spec, result);
    assert_eq!(results.len(), 1);
    assert_eq!(results[0].failed(), results[0].held != Some(true));
    results[0].held
}

#[test]
fn expectations_hold_or_fail_at_their_bounds() {
    let result = &three_runs().cells[0];
    let goodput = |comparison, bound| judged(result, ExpectMetric::Goodput, comparison, bound);
    let of_rate = |percent| Bound::OfRate(Ratio::from_percent(percent));
    assert_eq!(goodput(Comparison::AtLeast, of_rate(8.0)), Some(true));
    assert_eq!(goodput(Comparison::AtLeast, of_rate(8.1)), Some(false));
    assert_eq!(goodput(Comparison::AtMost, Bound::Value(80e6)), Some(true));
    assert_eq!(goodput(Comparison::AtMost, Bound::Value(79.9e6)), Some(false));
    let within = |percent| Comparison::Within(Ratio::from_percent(percent));
    assert_eq!(goodput(within(10.0), Bound::Value(88e6)), Some(true));
    assert_eq!(goodput(within(9.0), Bound::Value(88e6)), Some(false));
    assert_eq!(goodput(within(9.0), Bound::Value(73.5e6)), Some(true));
    let retransmits =
        |count| judged(result, ExpectMetric::Retransmits, Comparison::Equal, Bound::Value(count));
    assert_eq!((retransmits(7.0), retransmits(8.0)), (Some(true), Some(false)));
    assert_eq!(judged(result, ExpectMetric::MinRtt, Comparison::AtMost, Bound::Value(10_000.0)), Some(true));
    assert_eq!(judged(result, ExpectMetric::Srtt, Comparison::AtMost, Bound::Value(10_000.0)), Some(false));
    assert_eq!(judged(result, ExpectMetric::Sender, Comparison::AtLeast, Bound::Value(80e6)), Some(true));
}

#[test]
fn what_cannot_be_judged_fails() {
    let result = &three_runs().cells[0];
    let nothing = CellResult::default();
    let at_most = Comparison::AtMost;
    assert_eq!(judged(result, ExpectMetric::Lost, at_most, Bound::Value(1.0)), None);
    assert_eq!(judged(&nothing, ExpectMetric::Goodput, at_most, Bound::Value(1.0)), None);
    let word = || Bound::Word("rwnd".to_owned());
    assert_eq!(judged(&nothing, ExpectMetric::LimitedBy, Comparison::Equal, word()), None);
    assert_eq!(judged(result, ExpectMetric::Goodput, Comparison::Equal, word()), None);
    let verdict = Verdict { limited_by: Some(LimitedBy::Rwnd), ..Verdict::default() };
    let diagnosed = CellResult { verdict, ..CellResult::default() };
    assert_eq!(judged(&diagnosed, ExpectMetric::LimitedBy, Comparison::Equal, word()), Some(true));
    let other = Bound::Word("cwnd".to_owned());
    assert_eq!(judged(&diagnosed, ExpectMetric::LimitedBy, Comparison::Equal, other), Some(false));
}

/// A flow that waits for round trips, and one whose window starts again after an idle time, which `cwnd_cause` has no word for.
#[test]
fn expectations_know_causes_and_words_of_cwnd_cause() {
    let of = |limited_by, cause, cwnd_cause| Verdict {
        limited_by: Some(limited_by),
        cause: Some(cause),
        cwnd_cause,
        ..Verdict::default()
    };
    let turns = of(LimitedBy::App, Cause::Turns, None);
    let restart = of(LimitedBy::Cwnd, Cause::IdleRestart, Some(CwndCause::HystartExit));
    let flow =
        |verdict: &Verdict| FlowResult { verdict: verdict.clone(), ..three_runs().cells[0].flows[0].clone() };
    let cell = CellResult {
        verdict: turns.clone(),
        flows: vec![flow(&turns), flow(&restart)],
        ..CellResult::default()
    };
    let is = |metric, word: &str| judged(&cell, metric, Comparison::Equal, Bound::Word(word.to_owned()));
    assert_eq!(is(ExpectMetric::Cause, "turns"), Some(true));
    assert_eq!(is(ExpectMetric::Cause, "request|turns"), Some(true));
    assert_eq!(is(ExpectMetric::Cause, "request"), Some(false));
    for (wanted, held) in [
        ("app turns, cwnd idle_restart", true),
        ("app, cwnd", true),
        ("app turns, cwnd hystart_exit", true),
        ("app response|app turns, cwnd", true),
        ("app response, cwnd", false),
        ("app turns, cwnd startup", false),
        ("app turns", false),
    ] {
        assert_eq!(is(ExpectMetric::Flows, wanted), Some(held), "{wanted}");
    }
    let undiagnosed = CellResult::default();
    let cause = Bound::Word("turns".to_owned());
    assert_eq!(judged(&undiagnosed, ExpectMetric::Cause, Comparison::Equal, cause), None);
}

#[test]
fn a_path_without_a_rate_has_no_share_of_it() {
    let mut unlimited = spec(Protocol::Tcp, 10);
    unlimited.path.forward.bottleneck = None;
    unlimited.expect.push(Expectation {
        metric: ExpectMetric::Goodput,
        comparison: Comparison::AtLeast,
        bound: Bound::OfRate(Ratio::from_percent(95.0)),
        text: "goodput >= 95% of rate".to_owned(),
    });
    let got = expect::evaluate(&unlimited, &three_runs().cells[0]);
    assert_eq!((got[0].held, &got[0].bound), (None, &None));
}
