//! What holds in every run: the same bytes twice, no flow faster than its path, nothing read that was not written, loss as
//! the path counts it.

use pipefill_core::backend::{Backend, Unwatched};
use pipefill_core::plan::Run;
use pipefill_core::record::RunRecord;
use pipefill_core::scenario::Scenario;
use pipefill_sim::{Sim, SimOptions};
use proptest::prelude::*;

fn first_run(text: &str) -> Run {
    let scenario = Scenario::parse(text, "test.toml").unwrap_or_else(|error| panic!("{error}"));
    scenario.plan().runs().remove(0)
}

fn record(text: &str) -> RunRecord {
    Sim::new().run(&first_run(text), &Unwatched).unwrap_or_else(|error| panic!("{error}"))
}

fn counter(record: &RunRecord, place: &str, name: &str) -> u64 {
    let mut counters = record.manifest.counters.iter();
    counters.find(|counter| counter.place == place && counter.name == name).map_or(0, |counter| counter.after)
}

fn tcp(rtt_ms: u64, rate_mbit: u64, loss: f64, queue: u64, control: &str, more: &str) -> String {
    format!(
        "name = \"t\"\n[path]\nrtt = \"{rtt_ms}ms\"\nrate = \"{rate_mbit}mbit\"\nloss = \"{loss}%\"\nqueue = \"{queue}p\"\n\
         [host]\ncongestion_control = \"{control}\"\n[[flow]]\nprotocol = \"tcp\"\nduration = \"3s\"\n{more}\n[run]\nseed = 7\n"
    )
}

fn judge(record: &RunRecord, rate_mbit: u64) {
    assert!(record.manifest.invalid.is_empty(), "{:?}", record.manifest.invalid);
    for stream in &record.manifest.streams {
        assert!(stream.received_bytes <= stream.sent_bytes);
        let info = stream.tcp.expect("TCP");
        assert!(info.bytes_acked.expect("kept") <= stream.sent_bytes);
    }
    let delivered = counter(record, "path forward", "delivered_bytes");
    let span_us = record.delivery.last().map_or(0, |sample| sample.t_us);
    assert!(delivered * 8 <= rate_mbit * span_us + 8 * 100_000, "{delivered} bytes in {span_us} us");
    for direction in ["path forward", "path reverse"] {
        let lost: u64 = ["random_loss", "delay_limit", "queue_full", "exceeds_burst"]
            .iter()
            .map(|reason| counter(record, direction, &format!("dropped_{reason}_packets")))
            .sum();
        let offered = counter(record, direction, "offered_packets");
        assert!(counter(record, direction, "delivered_packets") + lost <= offered);
    }
    let mut last = vec![0; record.manifest.streams.len()];
    for sample in &record.delivery {
        let before = &mut last[sample.stream as usize];
        assert!(sample.received_bytes >= *before);
        *before = sample.received_bytes;
    }
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let text = tcp(20, 50, 0.5, 100, "cubic", "parallel = 3");
    let bytes = |record: &RunRecord| serde_json::to_string(record).expect("JSON");
    assert_eq!(bytes(&record(&text)), bytes(&record(&text)));
}

#[test]
fn udp_loss_is_what_the_path_dropped() {
    let text = "name = \"t\"\n[path]\nrtt = \"10ms\"\nrate = \"10mbit\"\nloss = \"2%\"\nqueue = \"50p\"\n\
                [[flow]]\nprotocol = \"udp\"\nbitrate = \"12mbit\"\nlength = \"1200B\"\nduration = \"5s\"\n";
    let record = record(text);
    let udp = record.manifest.streams[0].udp.expect("UDP");
    let dropped = counter(&record, "path forward", "dropped_random_loss_packets")
        + counter(&record, "path forward", "dropped_queue_full_packets");
    assert!(dropped > 0);
    assert_eq!(udp.sent - udp.received, dropped);
}

#[test]
fn applications_keep_their_rates() {
    for more in ["bitrate = \"5mbit\"", "read_rate = \"5mbit\""] {
        let record = record(&tcp(20, 50, 0.0, 200, "cubic", more));
        let stream = &record.manifest.streams[0];
        let rate = stream.received_bytes as f64 * 8e6 / (stream.end_us - stream.start_us) as f64;
        assert!((rate / 5e6 - 1.0).abs() < 0.05, "{more}: {rate} bit/s");
    }
}

/// What the schedule still owes at the stop is never written; nobody may wait for it.
#[test]
fn an_application_that_asks_for_more_than_the_path_has_ends() {
    let record = record(&tcp(20, 5, 0.0, 200, "cubic", "bitrate = \"7mbit\""));
    let stream = &record.manifest.streams[0];
    let rate = stream.received_bytes as f64 * 8e6 / (stream.end_us - stream.start_us) as f64;
    assert!(rate > 4.5e6 && rate < 4.9e6, "{rate} bit/s");
}

#[test]
fn a_path_without_rate_or_delay_ends() {
    let record =
        record("name = \"t\"\n[path]\nrtt = \"0ms\"\n[[flow]]\nprotocol = \"tcp\"\nduration = \"20ms\"\n");
    assert!(record.manifest.streams[0].received_bytes > 1_000_000);
}

#[test]
fn max_pacing_rate_is_kept() {
    let record = record(&tcp(20, 100, 0.0, 400, "cubic", "max_pacing_rate = \"20mbit\""));
    let stream = &record.manifest.streams[0];
    let rate = stream.received_bytes as f64 * 8e6 / (stream.end_us - stream.start_us) as f64;
    assert!(rate < 20e6 && rate > 15e6, "{rate} bit/s");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn bytes_and_rates_are_conserved(
        rtt_ms in 1_u64..120,
        rate_mbit in 1_u64..60,
        loss in prop_oneof![Just(0.0), 0.01_f64..15.0],
        queue in 2_u64..300,
        control in prop_oneof![Just("cubic"), Just("reno"), Just("bbr")],
        parallel in 1_u32..4,
    ) {
        let loss = (loss * 100.0).round() / 100.0;
        let text = tcp(rtt_ms, rate_mbit, loss, queue, control, &format!("parallel = {parallel}"));
        judge(&record(&text), rate_mbit);
    }
}

/// The virtual Linux 6.12 with a send buffer of 4 MB and super-packets: 186.8, 99.6 and 65.2 Mbit/s at 100, 200 and 300 ms.
#[test]
fn a_send_buffer_holds_memory_and_super_packets_spend_it_well() {
    for (rtt_ms, want) in [(100, 186.8), (200, 99.6), (300, 65.2)] {
        let text = format!(
            "name = \"t\"\n[path]\nrtt = \"{rtt_ms}ms\"\nrate = \"200mbit\"\nqueue = \"5000000B\"\n\
             [host]\ncongestion_control = \"cubic\"\ntcp_rmem = \"4096 131072 6000000\"\ntcp_wmem = \"4096 16384 4000000\"\n\
             [[flow]]\nprotocol = \"tcp\"\nduration = \"30s\"\n"
        );
        let record = record(&text);
        let stream = &record.manifest.streams[0];
        let rate = stream.received_bytes as f64 * 8.0 / (stream.end_us - stream.start_us) as f64;
        assert!((rate / want - 1.0).abs() < 0.05, "{rtt_ms} ms: {rate} instead of {want} Mbit/s");
    }
}

#[test]
fn a_lost_opening_is_tried_again_with_a_chance_of_its_own() {
    let path =
        "[path]\nrtt = \"1ms\"\nrate = \"100mbit\"\nloss = \"packets 1-6\"\nloss_unit = \"super-packet\"\n";
    let record = record(&format!("name = \"t\"\n{path}[[flow]]\nduration = \"1s\"\n"));
    assert!(record.manifest.invalid.is_empty(), "{:?}", record.manifest.invalid);
    // SYNs at 0, 1, 2, 3, 4, 5 and 7 s (`tcp_syn_linear_timeouts`, then RFC 6298, 5.5).
    let start_us = record.manifest.streams[0].start_us;
    assert!((7_000_000..7_200_000).contains(&start_us), "{start_us}");
}

/// The virtual Linux 6.12 has 12.6 Mbit/s in its first three seconds (cell 1052). If the bucket's 21 packets counted as room it
/// would be 77; if a process answered at the interrupt's own instant, 9.6.
#[test]
fn a_burst_of_one_instant_has_to_fit_into_the_queue() {
    let sim = Sim::with_options(SimOptions { gso: false, remakes_packets: false, ..SimOptions::default() });
    let run = first_run(&tcp(10, 100, 0.0, 10, "reno", ""));
    let record = sim.run(&run, &Unwatched).unwrap_or_else(|error| panic!("{error}"));
    judge(&record, 100);
    let received = record.manifest.streams[0].received_bytes;
    assert!((4_300_000..=5_100_000).contains(&received), "{received}");
}
