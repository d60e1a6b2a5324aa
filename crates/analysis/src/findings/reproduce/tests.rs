//! What is fitted, how, and where it stops.

use super::*;
use crate::findings::verdict::Verdict;
use pipefill_core::limit::{CwndCause, LimitedBy};
use std::collections::BTreeMap;
use std::convert::Infallible;

/// A flow that its congestion window limits for `cause`, with so many segments sent again of ten thousand.
fn captured(cause: Option<CwndCause>, again: u64) -> Captured {
    let flow = CapturedFlow {
        src: "10.0.0.1:4000".to_owned(),
        dst: "10.0.0.2:80".to_owned(),
        segments: 10_000,
        bytes: 14_480_000,
        goodput_bps: Some(10_000_000),
        data_us: Some(11_584_000),
        retransmits: again,
        retransmits_by_kind: BTreeMap::from([("spurious".to_owned(), 0), ("rto".to_owned(), 0)]),
        min_rtt_us: Some(40_000),
        srtt_us: Some(60_000),
        acks: 4_000,
        in_flight_bytes: Some(100_000),
        fastest_bps: Some(50_000_000),
        verdict: Verdict { limited_by: Some(LimitedBy::Cwnd), cwnd_cause: cause, ..Verdict::default() },
        ..CapturedFlow::default()
    };
    Captured { flows: vec![flow], ..Captured::new() }
}

/// The number that `key` has in the scenario.
fn value(text: &str, key: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{key} = \"")))?;
    let end = line.find(|character: char| !(character.is_ascii_digit() || character == '.'))?;
    line[..end].parse().ok()
}

/// Fits `found` by a model of its goodput in Mbit/s; the fit, and the texts that were run.
fn fitted(found: &Captured, model: &dyn Fn(&str) -> f64) -> (Fit, Vec<String>) {
    let draft = Draft::of(found, "again").unwrap();
    let mut texts = Vec::new();
    let fit = fit(&draft, &mut |text: &str| {
        texts.push(text.to_owned());
        Ok::<_, Infallible>(Simulated { goodput_bps: 1e6 * model(text), bytes: 3 * 14_480_000 })
    });
    (fit.unwrap(), texts)
}

/// The scenario of `found` as `fit` has it.
fn text_of(found: &Captured, fit: &Fit) -> String {
    Draft::of(found, "again").unwrap().text(fit.setting, None)
}

fn key_of(fit: &Fit) -> Option<&'static str> {
    fit.setting.map(|setting| setting.knob.key())
}

/// Goodput falls with the root of the losses.
fn lossy(text: &str) -> f64 {
    3.0 / value(text, "loss").unwrap_or(1e-4).sqrt()
}

#[test]
fn losses_are_changed_until_the_goodput_is_the_captured_one() {
    let found = captured(Some(CwndCause::RandomLoss), 50);
    let (fit, texts) = fitted(&found, &lossy);
    let text = text_of(&found, &fit);
    let bps = lossy(&text);
    assert!((9.5..10.5).contains(&bps), "{bps}: {text}");
    assert_eq!(fit.runs as usize, texts.len());
    assert_eq!(fit.result, Some(FitResult { goodput_bps: 1e6 * bps, captured_bps: 1e7 }));
    assert_eq!(key_of(&fit), Some("loss"));
    assert_eq!(fitted(&found, &lossy).0, fit, "the same twice");
}

#[test]
fn what_is_close_as_packets_tell_it_stays() {
    let found = captured(Some(CwndCause::RandomLoss), 50);
    let (fit, _) = fitted(&found, &|_| 10.3);
    assert_eq!((fit.runs, fit.setting), (1, None));
}

/// Goodput that no value reaches, and one that jumps over it.
#[test]
fn it_stops_where_nothing_helps_and_keeps_what_came_closest() {
    for cause in [CwndCause::RandomLoss, CwndCause::QueueLoss, CwndCause::AckPath, CwndCause::HystartExit] {
        let found = captured(Some(cause), 50);
        for mbps in [0.0, 2.0, 200.0] {
            let (fit, _) = fitted(&found, &|_| mbps);
            assert!(fit.runs <= 14, "{cause:?} {mbps}: {}", fit.runs);
        }
    }
    let found = captured(Some(CwndCause::RandomLoss), 50);
    let jumps = |text: &str| if value(text, "loss").unwrap() < 0.03 { 16.0 } else { 5.0 };
    let (fit, texts) = fitted(&found, &jumps);
    assert!(texts.iter().any(|text| jumps(text) == 5.0), "both sides were tried");
    assert_eq!(jumps(&text_of(&found, &fit)), 16.0, "16 is nearer to 10 than 5 by ratio");
}

#[test]
fn work_is_bounded_by_packets() {
    let found = captured(Some(CwndCause::RandomLoss), 50);
    let draft = Draft::of(&found, "again").unwrap();
    let heavy = |_: &str| Ok::<_, Infallible>(Simulated { goodput_bps: 1e9, bytes: 8_000_000 * 1_448 });
    assert_eq!(
        fit(&draft, &mut { heavy }).unwrap().runs,
        2,
        "a third run would carry 24 million packets in all"
    );
    let mut long = found.clone();
    long.flows[0].bytes = 3_000_000 * 1_448;
    let fit = fit(&Draft::of(&long, "again").unwrap(), &mut { heavy }).unwrap();
    assert_eq!((fit.runs, fit.result), (0, None), "it would take too long");
}

#[test]
fn a_run_that_fails_ends_it() {
    let found = captured(Some(CwndCause::RandomLoss), 50);
    let draft = Draft::of(&found, "again").unwrap();
    assert_eq!(fit(&draft, &mut |_| Err("no room")), Err("no room"));
}

/// What is changed is what the verdict names: a path with that cause, and no other.
#[test]
fn the_cause_chooses_what_is_fitted() {
    for (cause, again, key, at_one) in [
        (Some(CwndCause::Policer), 50, "loss", 3.0),
        (None, 50, "loss", 3.0),
        (Some(CwndCause::HystartExit), 0, "jitter", 300.0),
    ] {
        let slower = |text: &str| value(text, key).map_or(30.0, |value| at_one / value.sqrt());
        let found = captured(cause, again);
        let (fit, _) = fitted(&found, &slower);
        assert_eq!(key_of(&fit), Some(key), "{cause:?}");
        let text = text_of(&found, &fit);
        assert!(value(&text, key).is_some(), "{text}");
    }
    let (fit, _) = fitted(&captured(Some(CwndCause::Growth), 0), &|_| 30.0);
    assert_eq!(fit.runs, 1, "nothing that packets show made it slower");
}

#[test]
fn reordering_is_as_much_as_was_sent_again_for_nothing() {
    let mut found = captured(Some(CwndCause::Reordering), 200);
    found.flows[0].retransmits_by_kind.insert("spurious".to_owned(), 190);
    let text = Draft::of(&found, "again").unwrap().text(None, None);
    assert_eq!((value(&text, "reorder"), value(&text, "rate")), (Some(1.9), None), "{text}");
    let (fit, _) = fitted(&found, &|text| 5.0 / value(text, "reorder").unwrap().sqrt());
    let text = text_of(&found, &fit);
    assert!((0.22..0.28).contains(&value(&text, "reorder").unwrap()), "{text}");
    assert!(text.contains("split = \"forward\""), "{text}");
}

/// 4000 ACKs of 66 bytes in 11.6 s, each of which waited 20 ms.
#[test]
fn acks_that_wait_have_a_slow_way_back() {
    let mut found = captured(Some(CwndCause::AckPath), 0);
    let text = Draft::of(&found, "again").unwrap().text(None, None);
    assert_eq!(value(&text, "reverse_rate"), Some(182_320.0), "{text}");
    assert_eq!(value(&text, "reverse_queue"), Some(1_514.0), "{text}");
    found.flows[0].retransmits_by_kind.insert("rto".to_owned(), 3);
    let text = Draft::of(&found, "again").unwrap().text(None, None);
    assert_eq!(value(&text, "reverse_rate"), None, "after timeouts they were lost, and not late: {text}");
    let arrive = |text: &str| 100.0 - value(text, "reverse_loss").unwrap_or(0.0);
    let (fit, _) = fitted(&found, &|text| 0.4 * arrive(text));
    let text = text_of(&found, &fit);
    assert!((73.0..77.0).contains(&value(&text, "reverse_loss").unwrap()), "{text}");
}

/// A window that was full for a while is the receiver's, whatever limited later.
#[test]
fn a_window_that_was_filled_is_written() {
    let mut found = captured(None, 0);
    let flow = &mut found.flows[0];
    flow.verdict.limited_by = Some(LimitedBy::Path);
    (flow.rwnd_bytes, flow.in_flight_bytes) = (Some(65_535), Some(65_160));
    flow.verdict.limited_fraction = Some(BTreeMap::from([(LimitedBy::Path, 0.6), (LimitedBy::Rwnd, 0.4)]));
    let text = |found: &Captured| Draft::of(found, "again").unwrap().text(None, None);
    assert!(text(&found).contains("tcp_window_scaling\" = 0"), "{}", text(&found));
    found.flows[0].in_flight_bytes = Some(40_000);
    assert!(!text(&found).contains("tcp_window_scaling"), "it grew later");
}

/// Every text that a fit may write is a scenario, also beside lossy data that go the other way.
#[test]
fn what_is_written_can_be_read() {
    let causes = CwndCause::ALL.iter().copied().map(Some).chain([None]);
    for (cause, again) in causes.flat_map(|cause| (0..4).map(move |again| (cause, again))) {
        let mut found = captured(cause, 50);
        found.flows[0].retransmits_by_kind.insert("spurious".to_owned(), 20);
        let back = CapturedFlow {
            src: "10.0.0.2:80".to_owned(),
            dst: "10.0.0.1:4000".to_owned(),
            loss_is_chance: true,
            ..found.flows[0].clone()
        };
        found.flows.extend((again % 2 == 1).then_some(back));
        found.flows[0].retransmits_by_kind.insert("rto".to_owned(), again / 2);
        for model in [lossy, |_: &str| 0.001, |_: &str| 1e4] {
            for text in fitted(&found, &model).1 {
                let read = pipefill_core::scenario::Scenario::parse(&text, "again.toml");
                assert!(read.is_ok(), "{cause:?}: {:?}\n{text}", read.err().map(|error| error.to_string()));
            }
        }
    }
}
