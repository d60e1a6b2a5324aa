//! Programs that wait for each other: the time of their turns, and the bytes of both directions.

use pipefill_core::backend::{Backend, Unwatched};
use pipefill_core::record::{RunRecord, StreamEnd};
use pipefill_core::scenario::Scenario;
use pipefill_sim::Sim;
use proptest::prelude::*;

/// The record of one flow, with every check on.
fn record(path: &str, flow: &str) -> RunRecord {
    let text = format!("name = \"t\"\n[path]\n{path}\n[[flow]]\n{flow}\n[run]\nrepeat = 1\nseed = 3\n");
    let scenario = Scenario::parse(&text, "test.toml").unwrap_or_else(|error| panic!("{error}"));
    let run = scenario.plan().runs().remove(0);
    Sim::new().checked().run(&run, &Unwatched).unwrap_or_else(|error| panic!("{error}"))
}

/// Goodput over the flow's duration, bits per second.
fn goodput(record: &RunRecord) -> f64 {
    let stream = &record.manifest.streams[0];
    stream.received_bytes as f64 * 8e6 / (stream.stop_us - stream.start_us) as f64
}

/// Milliseconds from one of `count` equal exchanges to the next.
fn turn_ms(record: &RunRecord, bytes: u64) -> f64 {
    bytes as f64 * 8e3 / goodput(record)
}

#[test]
fn a_turn_is_a_round_trip_and_the_time_to_think() {
    let path = "rtt = \"40ms\"\nrate = \"1gbit\"";
    for (more, want) in
        [("", 40.0), (", think = \"15ms\"", 55.0), (", think = \"15ms\", pause = \"30ms\"", 85.0)]
    {
        let flow = format!("duration = \"20s\"\napp = {{ kind = \"requests\", response = \"4KiB\"{more} }}");
        let took = turn_ms(&record(path, &flow), 4096);
        assert!((took - want).abs() < 0.5, "{more}: {took} ms");
    }
}

#[test]
fn requests_that_are_open_together_share_their_round_trips() {
    let path = "rtt = \"40ms\"\nrate = \"1gbit\"";
    let flow = "duration = \"20s\"\nnodelay = true\napp = { kind = \"requests\", response = \"1KiB\", outstanding = 4 }";
    let took = turn_ms(&record(path, flow), 4096);
    assert!((took - 40.0).abs() < 0.5, "{took} ms for four");
    let held = turn_ms(&record(path, &flow.replace("true", "false")), 4096);
    assert!(held > 80.0, "Nagle holds three of the four: {held} ms");
}

/// Of 300 and 1200 bytes the second waits for an ACK that the other end delays: 15 ms there, 40 ms and a tick, 15 back, and a round trip
/// for the rest and its answer. With `TCP_NODELAY` both leave at once.
#[test]
fn nagle_and_a_delayed_ack_cost_forty_milliseconds() {
    for (nodelay, want) in [(false, 100.5), (true, 30.2)] {
        let flow = format!(
            "duration = \"20s\"\nnodelay = {nodelay}\napp = {{ kind = \"writes\", sizes = [\"300B\", \"1200B\"] }}"
        );
        let took = turn_ms(&record("rtt = \"30ms\"\nrate = \"100mbit\"", &flow), 1500);
        assert!((took - want).abs() < 0.7, "nodelay = {nodelay}: {took} ms");
    }
}

/// A window of the application, here of three credits, is sent once a round trip, and no more than it is ever unread.
#[test]
fn a_window_of_the_application_is_the_window_law() {
    let flow = "duration = \"20s\"\nnodelay = true\napp = { kind = \"window\", size = \"288KiB\" }";
    let record = record("rtt = \"50ms\"\nrate = \"1gbit\"", flow);
    let most = (288 << 10) as f64 * 8.0 / 0.05;
    let measured = goodput(&record);
    assert!(measured <= most && measured > 0.9 * most, "{measured} of {most} bit/s");
    for sample in &record.delivery {
        assert!(sample.sent_bytes - sample.received_bytes <= 288 << 10);
    }
}

#[test]
fn bursts_come_at_their_intervals() {
    for protocol in ["tcp", "udp"] {
        let flow = format!(
            "protocol = \"{protocol}\"\nduration = \"10s\"\napp = {{ kind = \"bursts\", size = \"100kB\", every = \"1s\" }}"
        );
        let record = record("rtt = \"20ms\"\nrate = \"20mbit\"", &flow);
        let stream = &record.manifest.streams[0];
        assert_eq!((stream.sent_bytes, stream.received_bytes), (1_000_000, 1_000_000), "{protocol}");
        let quiet = record.delivery.iter().find(|sample| sample.t_us > stream.start_us + 900_000);
        assert_eq!(quiet.map(|sample| sample.received_bytes), Some(100_000), "{protocol}");
    }
}

/// The last sample of an end: bytes sent without repetitions, and received.
fn totals(record: &RunRecord, end: StreamEnd) -> [u64; 2] {
    let last = record.tcp.iter().rev().find(|sample| sample.end == end).expect("samples");
    let info = last.info;
    let sent = info.bytes_sent.expect("kept") - info.bytes_retrans.expect("kept");
    [sent, info.bytes_received.expect("kept")]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever the path does, every request is answered once, in order, and no byte appears or vanishes either way.
    #[test]
    fn bytes_are_conserved_both_ways(
        rtt_ms in 1_u64..80,
        loss in 0_u64..6,
        reverse_loss in 0_u64..6,
        request in 1_u64..20_000,
        response in 1_u64..100_000,
        outstanding in 1_u64..5,
        count in 1_u64..20,
        nodelay: bool,
        control in prop_oneof![Just("cubic"), Just("reno"), Just("bbr")],
    ) {
        let path = format!(
            "rtt = \"{rtt_ms}ms\"\nrate = \"50mbit\"\nloss = \"{loss}%\"\nreverse_loss = \"{reverse_loss}%\"\n\
             jitter = \"{}us\"\njitter_reorder = true",
            rtt_ms * 100
        );
        let flow = format!(
            "duration = \"300s\"\nnodelay = {nodelay}\ncongestion_control = \"{control}\"\napp = {{ kind = \"requests\", \
             request = \"{request}B\", response = \"{response}B\", outstanding = {outstanding}, count = {count} }}"
        );
        let record = record(&path, &flow);
        let stream = &record.manifest.streams[0];
        prop_assert_eq!((stream.sent_bytes, stream.received_bytes), (count * response, count * response));
        prop_assert_eq!(totals(&record, StreamEnd::Sender), [count * response, count * request]);
        prop_assert_eq!(totals(&record, StreamEnd::Receiver), [count * request, count * response]);
    }
}
