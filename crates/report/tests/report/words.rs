//! Findings get their words: verdicts, commands, and the JSON in which both stand.

use pipefill_analysis::findings::connections::{Captured, CapturedFlow};
use pipefill_analysis::findings::experiment::{Experiment, ExperimentBuilder};
use pipefill_analysis::findings::finding::Latency;
use pipefill_analysis::findings::verdict::{Verdict, VerdictReason};
use pipefill_analysis::judge::{Diagnosis, Figures, HeldTime, JoinedEvidence};
use pipefill_core::cell::{Bound, Comparison, ExpectMetric, Expectation, Protocol};
use pipefill_core::limit::{Cause, CwndCause, LimitedBy};
use pipefill_core::plan::{Cell, Published};
use pipefill_core::record::{RunRecord, Waits};
use pipefill_core::units::{Rate, Ratio};
use pipefill_report::words::{complete_capture, complete_experiment, repeat_command, verdict_sentence};
use pipefill_testkit::builder::{Steady, cell, plan, record, run, spec as steady_spec};
use pipefill_testkit::judged::{PATH, bloated, diagnosis, judged, spec};
use std::collections::BTreeMap;

fn at(cell: &Cell, repeat: u32, mbit: u64) -> RunRecord {
    let steady = Steady { rate_bps: mbit * 1_000_000, ..Steady::default() };
    record(run(cell, repeat), &[steady])
}

fn tcp_cell() -> Cell {
    cell(0, &[("path.rtt", "10ms"), ("path.loss", "0%")], steady_spec(Protocol::Tcp, 10))
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
    complete_experiment(builder.finish(), "pipefill run rtt.toml")
}

#[test]
fn the_command_repeats_the_cell_in_a_shell() {
    let odd = cell(
        0,
        &[("path.rtt", "10ms"), ("host.tcp_rmem", "4096 131072 6MiB")],
        steady_spec(Protocol::Tcp, 10),
    );
    let got = repeat_command("pipefill run rtt.toml", &odd, Some("sim"));
    assert_eq!(got, "pipefill run rtt.toml --on sim --only 'path.rtt=10ms,host.tcp_rmem=4096 131072 6MiB'");
    let words = shlex::split(&got).unwrap();
    assert_eq!(words.last().unwrap(), "path.rtt=10ms,host.tcp_rmem=4096 131072 6MiB");
}

/// The contract: every name is there, in this form, null where nothing was measured.
#[test]
fn the_json_of_a_cell() {
    let experiment = three_runs();
    let mut json = serde_json::to_value(&experiment.cells[0]).unwrap();
    let runs = json["run_values"].as_array_mut().unwrap();
    assert_eq!(runs.len(), 3);
    runs.truncate(1);
    insta::assert_json_snapshot!(json);
}

#[test]
fn the_json_has_its_envelope_and_comes_back() {
    let experiment = three_runs();
    let text = serde_json::to_string(&experiment).unwrap();
    assert!(text.starts_with(r#"{"schema":1,"experiment":"synthetic","#), "{text}");
    assert_eq!(serde_json::from_str::<Experiment>(&text).unwrap(), experiment);
}

#[test]
fn a_queue_that_is_never_empty_has_its_own_sentence() {
    let spec = spec(&(PATH.replace("\"2p\"", "\"4bdp\"") + "[[flow]]\n"));
    let diagnosis = diagnosis(&spec, 0, LimitedBy::Path, None);
    let said = verdict_sentence(&judged(&spec, diagnosis, bloated(), 95_000_000));
    assert!(
        said.ends_with(
            "Bufferbloat: the queue (forward) holds 1.50 MB (3.0 BDP) and adds 120 ms to the round trip: 40.0 ms without load, 160 ms in \
             the median under it."
        ),
        "{said}"
    );
}

#[test]
fn a_bound_below_what_was_measured_is_not_told() {
    let spec = spec(&format!("{PATH}[[flow]]\n"));
    let of = |window: u64, acked: u64| {
        let base = diagnosis(&spec, 0, LimitedBy::Rwnd, None);
        let figures = Figures { rwnd_bytes: Some(window), acked_bps: Some(acked), ..base.figures };
        let diagnosis = Diagnosis { figures, ..base };
        verdict_sentence(&judged(&spec, diagnosis, Latency::default(), acked))
    };
    assert!(
        of(65_535, 13_000_000)
            .contains("65.5 kB per 40.0 ms round trip allows 13.1 Mbit/s; 13.0 Mbit/s were measured")
    );
    let above = of(65_535, 20_000_000);
    assert!(
        above.contains("the advertised window of 65.5 kB was used up; 20.0 Mbit/s were measured"),
        "{above}"
    );
}

#[test]
fn a_window_that_was_in_flight_before_may_be_measured_above_the_bound() {
    let spec = spec(&format!("{PATH}[[flow]]\n"));
    let of = |share: f64, us: u64, acked: u64| {
        let base = diagnosis(&spec, 0, LimitedBy::Rwnd, None);
        let figures = Figures { rwnd_bytes: Some(65_535), acked_bps: Some(acked), ..base.figures };
        let time = vec![HeldTime { limited_by: LimitedBy::Rwnd, cause: None, us, share }];
        let limited_fraction = BTreeMap::from([(LimitedBy::Rwnd, share)]);
        let diagnosis = Diagnosis { figures, time, limited_fraction, ..base };
        verdict_sentence(&judged(&spec, diagnosis, Latency::default(), acked))
    };
    // 65.5 kB in 2.6 s are 0.2 Mbit/s; in 26 s they are nothing to speak of.
    let said = of(0.9, 2_600_000, 13_400_000);
    assert!(said.contains("allows 13.1 Mbit/s; 13.4 Mbit/s were measured in that time"), "{said}");
    assert!(said.contains("up to 65.5 kB of it were in flight before"), "{said}");
    for (share, us, acked) in
        [(0.9, 2_600_000, 13_600_000), (0.9, 26_000_000, 13_400_000), (1.0, 2_600_000, 13_400_000)]
    {
        let said = of(share, us, acked);
        assert!(said.contains("the advertised window of 65.5 kB was used up"), "{said}");
    }
}

#[test]
fn a_cause_with_less_time_than_another_holder_has_that_of_its_holder_beside_it() {
    let spec = spec(&format!("{PATH}[[flow]]\n"));
    let held = |limited_by, cause, share: f64| HeldTime {
        limited_by,
        cause: Some(cause),
        us: (share * 1e6) as u64,
        share,
    };
    let of = |turns: f64, request: f64| {
        let base = diagnosis(&spec, 0, LimitedBy::App, None);
        let time = vec![
            held(LimitedBy::App, Cause::Turns, turns),
            held(LimitedBy::App, Cause::Request, request),
            held(LimitedBy::Cwnd, Cause::Timeout, 1.0 - turns - request),
        ];
        let figures = Figures { waits: Some(Waits { turns: 3, ..Waits::default() }), ..base.figures };
        let limited_fraction = [(LimitedBy::App, turns + request)].into();
        let diagnosis = Diagnosis { cause: Some(Cause::Turns), figures, time, limited_fraction, ..base };
        verdict_sentence(&judged(&spec, diagnosis, Latency::default(), 10_000))
    };
    let less = of(0.36, 0.16);
    let begins =
        "Limited by the application 52 % of the time (a round trip for each request 36 %): 3 turns of 120 ms";
    assert!(less.starts_with(begins), "{less}");
    let most = of(0.6, 0.1);
    let begins = "Limited by the application (a round trip for each request) 60 % of the time: 3 turns";
    assert!(most.starts_with(begins), "{most}");
}

#[test]
fn what_was_offered_is_told_beside_what_has_arrived() {
    let mut spec = spec(&format!("{PATH}[[flow]]\n"));
    spec.flows[0].bitrate = Some(Rate::from_bps(10_100_000));
    let diagnosis = diagnosis(&spec, 0, LimitedBy::App, None);
    let said = verdict_sentence(&judged(&spec, diagnosis, Latency::default(), 10_000_000));
    assert!(said.contains("the application offers 10.1 Mbit/s, 10.0 Mbit/s were measured"), "{said}");
}

#[test]
fn a_second_capture_says_what_it_shows() {
    let spec = spec("[[flow]]\n");
    let diagnosis = Diagnosis {
        limited_fraction: [(LimitedBy::Cwnd, 0.75)].into(),
        ..diagnosis(&spec, 0, LimitedBy::Cwnd, Some(CwndCause::AckPath))
    };
    let judged = Box::new(judged(&spec, diagnosis, Latency::default(), 0));
    let evidence = JoinedEvidence::AcksWait { acks_us: 30_000, data_us: 200 };
    let reason = Some(VerdictReason::BothCaptures(judged, evidence));
    let verdict = Verdict { reason, ..Verdict::default() };
    let flow = CapturedFlow { verdict, ..CapturedFlow::default() };
    let found = complete_capture(Captured { flows: vec![flow], ..Captured::new() });
    assert_eq!(
        found.flows[0].verdict.sentence.as_deref(),
        Some(
            "Limited by the congestion window (the path of the ACKs) 75 % of the time: both captures show that half of the ACKs waited \
             30.0 ms or more on their way back, and half of the data 200 µs or less."
        )
    );
}

#[test]
fn theory_of_a_steady_state_is_not_told_of_a_flow_that_was_much_faster() {
    let spec = spec(&format!("{PATH}loss = \"0.1%\"\n[[flow]]\n"));
    let diagnosis = || diagnosis(&spec, 0, LimitedBy::Cwnd, Some(CwndCause::RandomLoss));
    let of = |bps| verdict_sentence(&judged(&spec, diagnosis(), Latency::default(), bps));
    let theory = judged(&spec, diagnosis(), Latency::default(), 1).response_bps().unwrap();
    assert!(of(theory * 6 / 5).contains("for which theory gives"), "{}", of(theory * 6 / 5));
    let faster = of(theory * 8 / 5);
    assert!(faster.ends_with("0.10 % of the segments were sent again."), "{faster}");
}

#[test]
fn an_expectation_that_could_not_be_judged_says_why() {
    let mut cell = tcp_cell();
    let expect = |metric, bound| Expectation {
        metric,
        comparison: Comparison::AtLeast,
        bound,
        text: "the text".to_owned(),
    };
    cell.spec.path.forward.bottleneck = None;
    cell.spec.expect = vec![
        expect(ExpectMetric::Goodput, Bound::OfRate(Ratio::from_percent(95.0))),
        expect(ExpectMetric::Lost, Bound::Value(1.0)),
        expect(ExpectMetric::Goodput, Bound::Word("rwnd".to_owned())),
        expect(ExpectMetric::Goodput, Bound::Value(1.0)),
    ];
    let reasons = |builder: ExperimentBuilder| -> Vec<Option<String>> {
        let found = complete_experiment(builder.finish(), "pipefill run x.toml");
        found.cells[0].expectations.iter().map(|result| result.reason.clone()).collect()
    };
    let mut builder = ExperimentBuilder::new(plan(vec![cell.clone()]));
    assert_eq!(reasons(builder.clone())[0].as_deref(), Some("no valid run (0 recorded)"));
    builder.add(&at(&cell, 1, 80)).unwrap();
    let told = reasons(builder);
    let told: Vec<Option<&str>> = told.iter().map(Option::as_deref).collect();
    assert_eq!(
        told,
        [
            Some("the path has no rate to take a share of"),
            Some("lost_percent was not measured"),
            Some("a number and a word cannot be compared"),
            None,
        ]
    );
}
