//! Marks, policers, small links and changes of the path, each beside a formula.

use pipefill_core::backend::{Backend, Unwatched};
use pipefill_core::cell::Direction;
use pipefill_core::record::{DropReason, PathCount, RunRecord, StreamEnd};
use pipefill_core::scenario::Scenario;
use pipefill_core::tcp_info::CaState;
use pipefill_sim::Sim;

/// The record of one run with these keys of `[path]`, and what follows it.
fn record(path: &str, rest: &str) -> RunRecord {
    let text = format!("name = \"hazards\"\n[path]\n{path}\n[run]\nrepeat = 1\n{rest}");
    let scenario = Scenario::parse(&text, "hazards.toml").unwrap_or_else(|error| panic!("{error}"));
    Sim::new().run(&scenario.plan().runs()[0], &Unwatched).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn forward(record: &RunRecord, count: PathCount) -> Option<u64> {
    record.manifest.path_count(Direction::Forward, count)
}

/// Bytes that the first stream's application had received `at_ms` after the traffic began.
fn received(record: &RunRecord, at_ms: u64) -> u64 {
    let at_us = record.manifest.streams[0].start_us + at_ms * 1000;
    let rows = record.delivery.iter().filter(|row| row.stream == 0);
    rows.take_while(|row| row.t_us <= at_us).last().map_or(0, |row| row.received_bytes)
}

fn goodput_bps(record: &RunRecord, from_ms: u64, to_ms: u64) -> f64 {
    (received(record, to_ms) - received(record, from_ms)) as f64 * 8000.0 / (to_ms - from_ms) as f64
}

const ECN: &str = "[host]\ntcp_ecn = 1\n";

/// Mathis et al. (1997): with a reduction to one half for one packet in 1/p, cwnd is √(3/(2p)) segments on average. The marks lose nothing.
#[test]
fn reno_reduces_for_marks_as_for_losses_and_retransmits_nothing() {
    let rest = format!("{ECN}congestion_control = \"reno\"\n[[flow]]\nduration = \"60s\"\n");
    let record = record("rtt = \"50ms\"\nmark = \"0.4%\"", &rest);
    let wanted = (1.5_f64 / 0.004).sqrt() * 1448.0 * 8.0 / 0.05;
    let got = goodput_bps(&record, 5_000, 60_000);
    assert!((0.8..1.2).contains(&(got / wanted)), "{got:.0} bit/s, {wanted:.0} by the formula");
    let marked = forward(&record, PathCount::MarkedRandomly).expect("counted");
    let sender = record.manifest.streams[0].tcp.expect("TCP");
    assert!(marked > 50, "{marked}");
    assert_eq!((sender.retransmits, sender.ecn_negotiated), (0, Some(true)));
    let receiver = record.tcp.iter().rfind(|row| row.end == StreamEnd::Receiver).expect("samples").info;
    assert_eq!((receiver.received_ce_segments, receiver.ecn_seen), (u32::try_from(marked).ok(), Some(true)));
    // Each is echoed for a round trip.
    let echoed = sender.delivered_ce_segments.expect("counted");
    assert!(u64::from(echoed) >= marked, "{echoed} of {marked}");
    let times = record.manifest.streams[0].ca_state_us.expect("exact");
    assert!(times.cwr > 1_000_000 && times.recovery == 0 && times.loss == 0, "{times:?}");
    assert!(record.tcp.iter().any(|row| row.info.ca_state == Some(CaState::Cwr)));
}

/// The kernel's default accepts ECN and does not ask for it: nothing may be marked.
#[test]
fn without_ecn_nothing_is_marked() {
    for host in ["", "[host]\ntcp_ecn = 2\n", "[sender]\ntcp_ecn = 1\n[receiver]\ntcp_ecn = 0\n"] {
        let record = record(
            "rtt = \"20ms\"\nrate = \"10mbit\"\nmark = \"50%\"",
            &format!("{host}[[flow]]\nduration = \"1s\"\n"),
        );
        assert_eq!(forward(&record, PathCount::MarkedRandomly), Some(0), "{host}");
        let sender = record.manifest.streams[0].tcp.expect("TCP");
        assert_eq!((sender.ecn_negotiated, sender.delivered_ce_segments), (None, None), "{host}");
    }
}

/// BBRv1 has no answer to a mark.
#[test]
fn bbr_ignores_marks() {
    let rest = format!("{ECN}congestion_control = \"bbr\"\n[[flow]]\nduration = \"6s\"\n");
    let of = |mark: &str| {
        let record = record(&format!("rtt = \"20ms\"\nrate = \"10mbit\"\nqueue = \"2bdp\"\n{mark}"), &rest);
        (
            goodput_bps(&record, 2_000, 5_900),
            record.manifest.streams[0].tcp.and_then(|info| info.delivered_ce_segments),
        )
    };
    let ((plain, none), (marked, some)) = (of(""), of("mark = \"5%\""));
    assert!((marked / plain - 1.0).abs() < 0.02, "{marked:.0} with marks, {plain:.0} without");
    assert!(none == Some(0) && some > Some(100), "{some:?}");
}

/// A policer lets `burst + rate × t` of frames pass.
#[test]
fn a_policer_drops_what_exceeds_rate_and_burst() {
    let policer = "policer = { rate = \"20mbit\", burst = \"128KiB\" }";
    let udp = "[[flow]]\nprotocol = \"udp\"\nbitrate = \"40mbit\"\nlength = \"1448B\"\nduration = \"2s\"\n";
    let record = record(policer, udp);
    let udp = record.manifest.streams[0].udp.expect("UDP");
    let frames = (20e6 / 8.0 * 2.0 + 131_072.0) / (1448.0 + 42.0);
    assert!((udp.received as f64 / frames - 1.0).abs() < 0.005, "{} instead of {frames:.0}", udp.received);
    assert_eq!(forward(&record, PathCount::Dropped(DropReason::Policed)), Some(udp.sent - udp.received));
    assert!(record.path.iter().all(|row| row.backlog_packets <= 1), "nothing waits");
}

/// Two seconds of 5 Mbit/s in the midst of 20 Mbit/s.
#[test]
fn a_rate_holds_for_its_time() {
    let change = "[[path.change]]\nat = \"1s\"\nfor = \"2s\"\nrate = \"5mbit\"\n";
    let udp = "[[flow]]\nprotocol = \"udp\"\nbitrate = \"30mbit\"\nlength = \"1448B\"\nduration = \"4s\"\n";
    let record = record("rate = \"20mbit\"\nqueue = \"20p\"", &format!("{change}{udp}"));
    for (from, to, rate) in [(200, 990, 20e6), (1_100, 2_990, 5e6), (3_100, 3_990, 20e6)] {
        let (got, wanted) = (goodput_bps(&record, from, to), rate * 1448.0 / (1448.0 + 42.0));
        assert!(
            (got / wanted - 1.0).abs() < 0.01,
            "{from} to {to} ms: {got:.0} instead of {wanted:.0} bit/s"
        );
    }
    let changes = &record.manifest.run.cell.spec.path.forward.changes;
    assert_eq!(
        changes
            .iter()
            .map(|change| (change.at.as_secs(), change.lasts.map(|span| span.as_secs())))
            .collect::<Vec<_>>(),
        [(1, Some(2))]
    );
}

/// Nothing passes in an outage, and a retransmission timeout brings the connection back to the full rate.
#[test]
fn a_connection_survives_an_outage() {
    let outage = "[[path.change]]\nat = \"1s\"\nfor = \"1500ms\"\nloss = \"100%\"\nreverse_loss = \"100%\"\n";
    let record =
        record("rtt = \"20ms\"\nrate = \"10mbit\"", &format!("{outage}[[flow]]\nduration = \"6s\"\n"));
    assert_eq!(received(&record, 1_150), received(&record, 2_490), "the queue is empty after 0.1 s");
    let sender = record.manifest.streams[0].tcp.expect("TCP");
    assert!(sender.rto_count >= Some(1), "{:?}", sender.rto_count);
    assert!(goodput_bps(&record, 5_000, 5_900) > 9e6);
}

/// The round trip of a ping follows at once, to the nanosecond of its frames.
#[test]
fn a_round_trip_changes_for_what_comes_later() {
    let change = "[[path.change]]\nat = \"500ms\"\nfor = \"300ms\"\nrtt = \"60ms\"\n";
    let ping = "[[flow]]\nprotocol = \"ping\"\npayloads = \"64B\"\nduration = \"1s\"\n";
    let record = record("rtt = \"20ms\"", &format!("{change}{ping}"));
    let start = record.manifest.streams[0].start_us;
    for sample in &record.ping {
        let at_ms = (sample.t_us - start) / 1000;
        let rtt_us = sample.rtt_ns.expect("answered") / 1000;
        match at_ms {
            0..480 | 800.. => assert!((20_000..20_100).contains(&rtt_us), "{at_ms} ms: {rtt_us} µs"),
            500..700 => assert!((60_000..60_100).contains(&rtt_us), "{at_ms} ms: {rtt_us} µs"),
            _ => {}
        }
    }
    assert!(record.ping.len() > 20);
}

/// With `mss + 66` bytes a frame the path carries `rate × mss / (mss + 66)`, and of a black hole only the handshake is heard.
#[test]
fn a_smaller_link_lowers_the_mss_where_icmp_comes_and_stops_all_data_where_it_does_not() {
    let path = "rtt = \"20ms\"\nrate = \"10mbit\"\nqueue = \"2bdp\"\ninner_mtu = 1000\n";
    let flow = "[[flow]]\nduration = \"8s\"\n";
    let told = record(path, flow);
    let sender = told.manifest.streams[0].tcp.expect("TCP");
    assert_eq!((sender.mss_bytes, sender.rto_count), (948, Some(0)));
    let wanted = 10e6 * 948.0 / (948.0 + 66.0);
    let got = goodput_bps(&told, 4_000, 7_900);
    assert!((got / wanted - 1.0).abs() < 0.01, "{got:.0} instead of {wanted:.0} bit/s");
    assert_eq!(forward(&told, PathCount::Dropped(DropReason::ExceedsMtu)), Some(10), "the first window");

    let silent = record(&format!("{path}pmtud = \"black-hole\"\n"), flow);
    let sender = silent.manifest.streams[0].tcp.expect("TCP");
    assert_eq!((received(&silent, 8_000), sender.mss_bytes, sender.bytes_acked), (0, 1448, Some(0)));
    // RFC 6298, 5.5: 0.2 s, doubled with each timeout.
    assert!((5..=6).contains(&sender.rto_count.expect("counted")), "{:?}", sender.rto_count);
}

#[test]
fn what_the_simulator_can_t_send_through_a_smaller_link_is_refused() {
    let of = |flow: &str| {
        let text = format!("name = \"x\"\n[path]\ninner_mtu = 1000\n[[flow]]\n{flow}\n[run]\nrepeat = 1\n");
        let scenario = Scenario::parse(&text, "x.toml").unwrap_or_else(|error| panic!("{error}"));
        Sim::new().check(&scenario.plan().runs()[0]).map_err(|problem| problem.to_string())
    };
    assert!(of("protocol = \"ping\"").is_err_and(|text| text.contains("inner_mtu")));
    let udp = "protocol = \"udp\"\nbitrate = \"1mbit\"\nlength =";
    assert!(of(&format!("{udp} \"973B\"")).is_err_and(|text| text.contains("fragment")));
    assert!(of(&format!("{udp} \"972B\"")).is_ok());
}
