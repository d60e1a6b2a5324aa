//! A rate that follows a trace: what arrives follows it, second by second, and never exceeds it.

use pipefill_core::backend::{Backend, Unwatched};
use pipefill_core::cell::{Direction, RateOverTime, RateTrace};
use pipefill_core::record::RunRecord;
use pipefill_core::scenario::{Scenario, TRACE_MODELS};
use pipefill_sim::Sim;
use proptest::prelude::*;
use std::time::Duration;

/// Ethernet, IPv4, UDP beside the payload of a datagram.
const HEADERS: f64 = 14.0 + 20.0 + 8.0;
const PAYLOAD: f64 = 1448.0;
/// The bucket that each path here has.
const BURST: f64 = 4_000.0;

/// A run of `seconds` of datagrams, more of them than any rate here lets through, over `trace`, a name or a text.
fn record(trace: &str, seconds: u64) -> RunRecord {
    let text = format!(
        "name = \"trace\"\n[path]\nrtt = \"20ms\"\nrate_trace = \"it\"\nqueue = \"200p\"\nburst = \"4000B\"\n\
         [run]\nrepeat = 1\n[[flow]]\nprotocol = \"udp\"\nbitrate = \"300mbit\"\nlength = \"1448B\"\nduration = \"{seconds}s\"\n\
         [files]\nit = \"\"\"\n{trace}\"\"\"\n"
    );
    let text = match TRACE_MODELS.iter().find(|model| model.name == trace) {
        Some(model) => text.replace("\"it\"", &format!("\"{}\"", model.name)),
        None => text,
    };
    let scenario = Scenario::parse(&text, "trace.toml").unwrap_or_else(|error| panic!("{error}"));
    Sim::new().run(&scenario.plan().runs()[0], &Unwatched).unwrap_or_else(|error| panic!("{error}"))
}

/// Bytes of frames that had arrived `after_us` after the traffic began.
fn arrived(record: &RunRecord, after_us: u64) -> f64 {
    let at_us = record.manifest.streams[0].start_us + after_us;
    let rows = record.udp.iter().take_while(|row| row.t_us <= at_us);
    rows.last().map_or(0.0, |row| row.received as f64 * (PAYLOAD + HEADERS))
}

/// Each second's arrivals beside what the trace has for it.
fn check(record: &RunRecord, seconds: u64) -> Result<(), TestCaseError> {
    let rates: RateOverTime =
        record.manifest.run.cell.spec.path.way(Direction::Forward).rate_over_time().expect("a rate");
    for second in 1..seconds {
        let [from, to] = [second, second + 1].map(|second| second * 1_000_000);
        let got = arrived(record, to) - arrived(record, from);
        let wanted = rates.earned(from * 1_000, to * 1_000) as f64 / 8e9;
        prop_assert!(got <= wanted + BURST + 2.0 * (PAYLOAD + HEADERS), "second {second}: {got} of {wanted}");
        prop_assert!(got >= 0.98 * wanted - 2.0 * BURST, "second {second}: {got} of {wanted}");
    }
    Ok(())
}

#[test]
fn every_built_in_trace_is_followed_within_two_per_cent() {
    for model in TRACE_MODELS {
        let record = record(model.name, 12);
        check(&record, 12).unwrap_or_else(|error| panic!("{}: {error}", model.name));
    }
}

#[test]
fn a_trace_of_mahimahi_is_followed_and_begins_again() {
    // Two opportunities a millisecond for half a second, then one in ten.
    let text: String = (1..=1_000_u64)
        .flat_map(|millis| {
            std::iter::repeat_n(millis, if millis <= 500 { 2 } else { usize::from(millis % 10 == 0) })
        })
        .map(|millis| format!("{millis}\n"))
        .collect();
    let record = record(&text, 5);
    check(&record, 5).unwrap_or_else(|error| panic!("{error}"));
    let length = record.manifest.run.cell.spec.path.forward.rate_trace.as_ref().map(RateTrace::length);
    assert_eq!(length, Some(Duration::from_secs(1)));
}

/// A run of one flow over a path without a rate, with a text for the trace `it`.
fn over(path: &str, flow: &str, trace: &str) -> RunRecord {
    let text = format!(
        "name = \"trace\"\n[path]\n{path}\n[run]\nrepeat = 1\n[[flow]]\n{flow}\n[files]\nit = \"\"\"\n{trace}\"\"\"\n"
    );
    let scenario = Scenario::parse(&text, "trace.toml").unwrap_or_else(|error| panic!("{error}"));
    Sim::new().run(&scenario.plan().runs()[0], &Unwatched).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn round_trips_follow_their_trace_and_begin_again() {
    let ping = "protocol = \"ping\"\npayloads = \"64B\"\ninterval = \"10ms\"\nduration = \"7s\"";
    for split in ["even", "forward"] {
        let path = format!("rtt_trace = \"it\"\nsplit = \"{split}\"");
        let record = over(&path, ping, "0s 20ms\n1s 60ms\n2500ms 35ms\n3s repeat\n");
        let begin = record.manifest.streams[0].start_us;
        let mut seen = [0; 3];
        for row in &record.ping {
            let at_us = (row.t_us - begin) % 3_000_000;
            // A packet has the delay of the instant at which it enters its direction.
            let steps =
                [(0, 980_000, 20_000), (1_000_000, 2_440_000, 60_000), (2_500_000, 2_965_000, 35_000)];
            let step = steps.iter().position(|(from, to, _)| (*from..*to).contains(&at_us));
            if let Some(step) = step {
                assert_eq!(row.rtt_ns.map(|ns| ns / 1_000), Some(steps[step].2), "{split}, {at_us} µs");
                seen[step] += 1;
            }
        }
        // A ping waits for the answer to the one before: about as many as round trips fit.
        assert!(seen.iter().all(|count| *count > 15), "{seen:?}");
        assert_eq!(record.manifest.run.cell.spec.path.rtt(), Duration::from_millis(20));
    }
}

#[test]
fn losses_follow_their_trace_and_their_share() {
    let udp = "protocol = \"udp\"\nbitrate = \"10mbit\"\nlength = \"1000B\"\nduration = \"10s\"";
    let record = over("rtt = \"20ms\"\nloss_trace = \"it\"", udp, "0s 0%\n2s 100%\n2500ms 0%\n5s 10%\n");
    let received = |from_ms: u64, to_ms: u64| {
        let begin = record.manifest.streams[0].start_us + 10_000;
        let by = |ms: u64| {
            let rows = record.udp.iter().take_while(|row| row.t_us <= begin + ms * 1_000);
            rows.last().map_or(0, |row| row.received)
        };
        (by(to_ms) - by(from_ms)) as f64 / 1.25 / (to_ms - from_ms) as f64
    };
    let near = |share: f64, wanted: f64| (share - wanted).abs() < 0.04;
    assert!(near(received(0, 2_000), 1.0) && near(received(2_510, 5_000), 1.0));
    assert_eq!(received(2_010, 2_490), 0.0, "an outage");
    assert!(near(received(5_000, 9_900), 0.9), "{}", received(5_000, 9_900));
}

#[test]
fn built_in_delays_and_losses_run_under_a_transfer() {
    let path = "rate = \"50mbit\"\nrtt_trace = \"starlink\"\nloss_trace = \"lte-handover\"";
    let record = over(path, "duration = \"20s\"", "");
    let stream = &record.manifest.streams[0];
    let mbit = stream.received_bytes as f64 * 8.0 / (stream.end_us - stream.start_us) as f64;
    assert!((10.0..50.0).contains(&mbit), "{mbit} Mbit/s");
    assert!(stream.tcp.is_some_and(|tcp| tcp.retransmits > 0), "a handover loses what is under way");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn any_trace_is_followed(
        steps in prop::collection::vec((50..900_u64, 0..120_u64), 1..12), repeats: bool,
    ) {
        let mut text = String::new();
        let mut at = 0;
        for (lasts, mbit) in &steps {
            text += &format!("{at}ms {mbit}mbit\n");
            at += lasts;
        }
        text += &format!("{at}ms 5mbit\n");
        if repeats {
            text += &format!("{}ms repeat\n", at + 100);
        }
        check(&record(&text, 4), 4)?;
    }
}
