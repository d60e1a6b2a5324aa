//! Disciplines of the queue beside TCP: the round trip of a ping, marks in place of losses, DCTCP.

use pipefill_core::backend::{Backend, Unwatched};
use pipefill_core::cell::Direction;
use pipefill_core::record::{AqmSample, DropReason, Element, PathCount, RunRecord};
use pipefill_core::scenario::Scenario;
use pipefill_sim::Sim;

fn record(path: &str, rest: &str) -> RunRecord {
    let text = format!("name = \"aqm\"\n[path]\n{path}\n[run]\nrepeat = 1\n{rest}");
    let scenario = Scenario::parse(&text, "aqm.toml").unwrap_or_else(|error| panic!("{error}"));
    Sim::new().run(&scenario.plan().runs()[0], &Unwatched).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn forward(record: &RunRecord, count: PathCount) -> u64 {
    record.manifest.path_count(Direction::Forward, count).expect("counted")
}

/// 95th percentile of the pings from the third second on, milliseconds.
fn loaded_ms(record: &RunRecord) -> f64 {
    let from_us = record.manifest.streams[0].start_us + 3_000_000;
    let mut rtts: Vec<u64> =
        record.ping.iter().filter(|row| row.t_us >= from_us).filter_map(|row| row.rtt_ns).collect();
    rtts.sort_unstable();
    assert!(rtts.len() > 50, "{} pings", rtts.len());
    rtts[rtts.len() * 95 / 100] as f64 / 1e6
}

fn goodput_mbit(record: &RunRecord) -> f64 {
    let stream = &record.manifest.streams[0];
    stream.received_bytes as f64 * 8.0 / (stream.end_us - stream.start_us) as f64
}

const BULK_AND_PING: &str = "[[flow]]\nduration = \"10s\"\n[[flow]]\nprotocol = \"ping\"\npayloads = \"64B\"\ninterval = \"20ms\"\n\
                             duration = \"10s\"\n";

/// The promise of RFC 8290: a sparse flow beside a bulk flow waits for little more than the target.
#[test]
fn a_ping_beside_a_bulk_flow_waits_for_the_target_and_not_for_the_queue() {
    let path = |aqm: &str| format!("rtt = \"20ms\"\nrate = \"50mbit\"\n{aqm}");
    let droptail = record(&path("queue = \"4bdp\""), BULK_AND_PING);
    assert!(loaded_ms(&droptail) > 20.0 + 45.0, "{} ms", loaded_ms(&droptail));
    for (aqm, target) in [("fq_codel", 5.0), ("codel", 5.0), ("pie", 15.0), ("dualpi2", 15.0)] {
        let managed = record(&path(&format!("aqm = \"{aqm}\"")), BULK_AND_PING);
        let loaded = loaded_ms(&managed);
        assert!(loaded <= 20.0 + 3.0 * target, "{aqm}: {loaded} ms");
        assert!(goodput_mbit(&managed) > 0.85 * goodput_mbit(&droptail), "{aqm}: {}", goodput_mbit(&managed));
        assert!(forward(&managed, PathCount::Dropped(DropReason::Aqm)) > 0, "{aqm}");
        let summary = managed.manifest.aqm.first().expect("a discipline");
        assert_eq!(summary.kind, aqm);
        assert!(summary.sojourn_us_p50 <= summary.sojourn_us_p95, "{summary:?}");
    }
    let fq_codel = record(&path("aqm = \"fq_codel\""), BULK_AND_PING);
    assert!(loaded_ms(&fq_codel) < 22.0, "the ping is a flow of its own: {} ms", loaded_ms(&fq_codel));
}

#[test]
fn marks_lose_nothing_and_are_answered() {
    for congestion_control in ["cubic", "reno", "dctcp"] {
        let rest = format!(
            "[host]\ntcp_ecn = 1\ncongestion_control = \"{congestion_control}\"\n[[flow]]\nduration = \"10s\"\n"
        );
        for aqm in ["codel", "fq_codel"] {
            let path = format!("rtt = \"20ms\"\nrate = \"50mbit\"\naqm = \"{aqm}\"\necn = true");
            let record = record(&path, &rest);
            let marked = forward(&record, PathCount::MarkedByAqm);
            let name = format!("{congestion_control}, {aqm}");
            assert!(marked > 5, "{name}: {marked} marks");
            assert_eq!(forward(&record, PathCount::Dropped(DropReason::Aqm)), 0, "{name}");
            let sender = record.manifest.streams[0].tcp.expect("TCP");
            assert_eq!((sender.retransmits, sender.ecn_negotiated), (0, Some(true)), "{name}");
            assert!(goodput_mbit(&record) > 40.0, "{name}: {} Mbit/s", goodput_mbit(&record));
        }
    }
}

/// RFC 8257: the window follows the share of marks, so that the link is full behind a short queue, with many marks.
#[test]
fn dctcp_fills_a_link_behind_a_step() {
    let path = "rtt = \"10ms\"\nrate = \"100mbit\"\necn = true\nqueue = \"1000p\"\n\
                aqm = { kind = \"red\", min = \"30kB\", max = \"31kB\", avpkt = \"1500B\", burst = 21, probability = \"100%\" }";
    let of = |congestion_control: &str| {
        record(
            path,
            &format!(
                "[host]\ntcp_ecn = 1\ncongestion_control = \"{congestion_control}\"\n[[flow]]\nduration = \"10s\"\n"
            ),
        )
    };
    let (dctcp, reno) = (of("dctcp"), of("reno"));
    assert!(goodput_mbit(&dctcp) > 90.0, "{}", goodput_mbit(&dctcp));
    assert!(goodput_mbit(&dctcp) > goodput_mbit(&reno), "{}", goodput_mbit(&reno));
    assert!(forward(&dctcp, PathCount::MarkedByAqm) > 5 * forward(&reno, PathCount::MarkedByAqm));
}

/// `tcp_ecn_create_request()`: a SYN that is ECT is accepted by a socket that has DCTCP only; else both are without ECN.
#[test]
fn dctcp_needs_ecn_at_both_ends() {
    let negotiated = |host: &str| {
        let rest = format!("{host}[[flow]]\nduration = \"1s\"\n");
        let record = record("rtt = \"10ms\"\nrate = \"10mbit\"\naqm = \"codel\"\necn = true", &rest);
        record.manifest.streams[0].tcp.expect("TCP").ecn_negotiated
    };
    assert_eq!(negotiated("[host]\ncongestion_control = \"dctcp\"\n"), Some(true));
    assert_eq!(negotiated("[sender]\ncongestion_control = \"dctcp\"\n[receiver]\ntcp_ecn = 1\n"), None);
}

#[test]
fn how_a_discipline_stands_is_recorded_over_time() {
    for (aqm, has_probability, has_count) in [
        ("codel", false, true),
        ("fq_codel", false, true),
        ("pie", true, false),
        ("dualpi2", true, false),
        ("drophead", false, false),
    ] {
        let path = format!("rtt = \"20ms\"\nrate = \"20mbit\"\naqm = \"{aqm}\"");
        let record = record(&path, "[[flow]]\nduration = \"5s\"\n");
        let rows = &record.aqm;
        assert!(rows.len() > 400, "{aqm}: {} rows", rows.len());
        assert!(rows.iter().all(|row| row.direction == Direction::Forward), "{aqm}: the way back has none");
        let counts = |row: &AqmSample| {
            let waited_us = row.sojourn_sum_us.expect("the simulator sums them up");
            [row.packets, waited_us, row.dropped_packets, row.overflow_packets]
        };
        assert!(
            rows.windows(2).all(|pair| counts(&pair[0]).iter().zip(counts(&pair[1])).all(|(a, b)| *a <= b)),
            "{aqm}"
        );
        let last = rows.last().expect("rows");
        assert!(last.packets > 5_000 && last.sojourn_us.is_some(), "{aqm}: {last:?}");
        let dropped = [DropReason::Aqm, DropReason::QueueFull];
        let dropped = dropped.map(|reason| forward(&record, PathCount::Dropped(reason)));
        assert_eq!([last.dropped_packets, last.overflow_packets], dropped, "{aqm}");
        let of_path = record
            .path
            .iter()
            .filter(|row| (row.direction, row.element) == (Direction::Forward, Element::Queue));
        let of_path = of_path.map(|row| (row.t_us, Some(row.backlog_packets), Some(row.backlog_bytes)));
        assert!(
            rows.iter().map(|row| (row.t_us, row.backlog_packets, row.backlog_bytes)).eq(of_path),
            "{aqm}: the table `path` has another backlog"
        );
        let has = |row: &AqmSample| (row.probability_ppb.is_some(), row.drop_count.is_some());
        assert!(rows.iter().all(|row| has(row) == (has_probability, has_count)), "{aqm}");
        let acts = |row: &AqmSample| row.probability_ppb.max(row.drop_count) > Some(0);
        assert_eq!(rows.iter().any(acts), aqm != "drophead", "{aqm}");
    }
}

#[test]
fn a_record_repeats_byte_by_byte_and_has_nothing_of_an_aqm_without_one() {
    let path = "rtt = \"20ms\"\nrate = \"20mbit\"\naqm = \"pie\"";
    assert_eq!(record(path, BULK_AND_PING), record(path, BULK_AND_PING));
    let without = record("rtt = \"20ms\"\nrate = \"20mbit\"", "[[flow]]\nduration = \"1s\"\n");
    assert!(without.manifest.aqm.is_empty() && without.aqm.is_empty());
    assert_eq!(without.manifest.path_count(Direction::Forward, PathCount::MarkedByAqm), None);
}
