//! The calculator's screen and the plan.

use pipefill_analysis::ground::calculator::{Question, calculate};
use pipefill_core::cell::{Protocol, WIRE_OVERHEAD};
use pipefill_core::plan::Plan;
use pipefill_core::units::{Bytes, Rate, Ratio};
use pipefill_report::table::Style;
use pipefill_report::{calculator, json, plan};
use std::time::Duration;

fn question() -> Question {
    Question {
        buffer: Some(Bytes::new(512 << 10)),
        rate: Rate::from_bps(1_000_000_000),
        overhead: Bytes::new(0),
        rtt: Duration::from_millis(10),
        window: Some(Bytes::new(65_536)),
        loss: Some(Ratio::from_percent(1.0)),
        mss: Bytes::new(1_448),
    }
}

#[test]
fn the_calculators_screen() {
    insta::assert_snapshot!(calculator::render(&calculate(&question()).unwrap()));
}

#[test]
fn the_calculators_screen_for_a_rate_of_the_wire() {
    let asked = Question { overhead: WIRE_OVERHEAD, window: None, buffer: None, loss: None, ..question() };
    insta::assert_snapshot!(calculator::render(&calculate(&asked).unwrap()));
}

#[test]
fn the_screen_fits_a_terminal() {
    let rates = [1_000, 999_999_999_999, 400_000_000_000_000];
    let rtts = [Duration::ZERO, Duration::from_micros(20), Duration::from_secs(3)];
    for (rate, rtt) in rates.into_iter().flat_map(|rate| rtts.map(|rtt| (rate, rtt))) {
        let asked = Question { rate: Rate::from_bps(rate), overhead: WIRE_OVERHEAD, rtt, ..question() };
        let text = calculator::render(&calculate(&asked).unwrap());
        assert!(text.lines().count() <= 40, "{text}");
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= 80, "{widest} columns\n{text}");
    }
}

fn two_cells() -> Plan {
    let cells = [("10ms", 10), ("100ms", 100)];
    let cell = |(index, (text, ms))| {
        pipefill_testkit::builder::cell(
            index,
            &[("path.rtt", text)],
            pipefill_testkit::builder::spec(Protocol::Tcp, ms),
        )
    };
    pipefill_testkit::builder::plan(cells.into_iter().enumerate().map(cell).collect())
}

#[test]
fn a_plan() {
    insta::assert_snapshot!(plan::render(
        &two_cells(),
        Some(Duration::from_millis(61_500)),
        Style::default()
    ));
}

#[test]
fn every_run_of_a_plan_is_listed() {
    let plan = two_cells();
    let text = plan::render(&plan, None, Style::default());
    for run in plan.runs() {
        assert!(text.contains(run.directory.as_str()), "{text}");
    }
    assert!(text.ends_with("2 cells, 6 runs\n"), "{text}");
}

#[test]
fn a_plans_json_comes_back() {
    let plan = two_cells();
    let text = json::plan(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
}
