//! What a full path carries with IPv6, small and large packets, and what the keys of senders and writers change.

use pipefill_core::backend::{Backend, Unwatched};
use pipefill_core::record::{RunRecord, StreamEnd};
use pipefill_core::scenario::Scenario;
use pipefill_sim::Sim;

const FULL: &str = "rate = \"100mbit\"\nqueue = \"2bdp\"\n";

/// The record of one run over 10 ms.
fn record(path: &str, rest: &str) -> RunRecord {
    let text = format!("name = \"sizes\"\n[path]\nrtt = \"10ms\"\n{path}\n[run]\nrepeat = 1\n{rest}");
    let scenario = Scenario::parse(&text, "sizes.toml").unwrap_or_else(|error| panic!("{error}"));
    Sim::new().run(&scenario.plan().runs()[0], &Unwatched).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Payload bits per second of the fourth second: past slow start.
fn goodput_bps(path: &str, host: &str) -> f64 {
    let record = record(&format!("{FULL}{path}"), &format!("[[flow]]\nduration = \"4s\"\n{host}"));
    let at = |t_us: u64| {
        let row = record.delivery.iter().rfind(|row| row.t_us <= t_us).expect("samples");
        (row.t_us as f64, row.received_bytes as f64)
    };
    let ((from_us, from), (to_us, to)) = (at(3_000_000), at(3_990_000));
    (to - from) * 8e6 / (to_us - from_us)
}

/// `rate × mss / (mss + TCP + IP + 14)`, with timestamps.
#[test]
fn a_full_path_carries_what_the_headers_leave() {
    for (family, ip, mtu) in
        [("ipv4", 20.0, 576), ("ipv4", 20.0, 9000), ("ipv6", 40.0, 1500), ("ipv6", 40.0, 9000)]
    {
        let mss = f64::from(mtu) - ip - 32.0;
        let want = 100e6 * mss / (mss + 32.0 + ip + 14.0);
        for gso in [true, false] {
            let path = format!("family = \"{family}\"\nmtu = {mtu}");
            let got = goodput_bps(&path, &format!("[host]\ngso = {gso}\n"));
            assert!(
                (got / want - 1.0).abs() < 0.01,
                "{family}, MTU {mtu}, gso {gso}: {got:.0} instead of {want:.0} bit/s"
            );
        }
    }
}

/// A datagram that fills the packet is taken, and one byte more is refused.
#[test]
fn the_largest_datagram_follows_the_headers() {
    for (family, mtu, largest) in [("ipv4", 576, 548), ("ipv6", 1500, 1452), ("ipv4", 9000, 8972)] {
        let text = |length| {
            format!(
                "name = \"x\"\n[path]\nfamily = \"{family}\"\nmtu = {mtu}\nrate = \"10mbit\"\n[[flow]]\nprotocol = \"udp\"\n\
                 bitrate = \"1mbit\"\nlength = \"{length}B\"\nduration = \"1s\"\n[run]\nrepeat = 1\n"
            )
        };
        let run = |length| {
            let scenario = Scenario::parse(&text(length), "x.toml").unwrap_or_else(|error| panic!("{error}"));
            Sim::new().run(&scenario.plan().runs()[0], &Unwatched)
        };
        let record = run(largest).unwrap_or_else(|error| panic!("{error}"));
        assert!(record.manifest.streams[0].received_bytes > 0);
        let error = run(largest + 1).expect_err("too large").to_string();
        assert!(error.contains("fragment"), "{error}");
    }
}

/// All requests of every size come back in fragments.
#[test]
fn pings_are_cut_for_the_path() {
    for path in ["mtu = 576", "mtu = 9000", "family = \"ipv6\"", "family = \"ipv6\"\nmtu = 1280"] {
        let rest = "[[flow]]\nprotocol = \"ping\"\npayloads = \"1452B 1453B 65500B\"\nduration = \"1s\"\n";
        let record = record(&format!("{FULL}{path}"), rest);
        assert!(record.ping.len() >= 10, "{path}: {}", record.ping.len());
        assert!(record.ping.iter().all(|sample| sample.rtt_ns.is_some()), "{path}");
    }
}

/// A loss that takes a whole super-packet takes one segment where there are none.
#[test]
fn an_end_without_gso_or_tso_sends_single_segments() {
    let retransmits = |host: &str, direction: &str| {
        let path = "rate = \"1gbit\"\nreverse_rate = \"1gbit\"\nloss = \"packets 300\"\nreverse_loss = \"packets 300\"\n\
                    loss_unit = \"super-packet\"\n";
        let flow = format!("{host}\n[[flow]]\nduration = \"1s\"\ndirection = \"{direction}\"\n");
        let record = record(path, &flow);
        let ends = record.tcp.iter().filter(|row| row.end == StreamEnd::Sender);
        ends.map(|row| row.info.retransmits).max().expect("the sender's rows")
    };
    for off in ["[sender]\ngso = false", "[sender]\ntso = false", "[host]\ngso = false"] {
        assert_eq!(retransmits(off, "forward"), 1, "{off}");
    }
    assert_eq!(retransmits("[receiver]\ngso = false", "reverse"), 1);
    for on in ["", "[host]\ngso = true\ntso = true", "[receiver]\ngso = false", "[host]\ngro = false"] {
        assert!(retransmits(on, "forward") > 1, "{on}");
    }
}

/// Segments by themselves take more of the receive buffer than the super-packet that they came in.
#[test]
fn a_receiver_without_gro_takes_single_segments() {
    let rows = |host: &str| record("", &format!("{host}\n[[flow]]\nduration = \"200ms\"\n")).tcp;
    let usual = rows("");
    assert_ne!(rows("[receiver]\ngro = false"), usual);
    assert_eq!(rows("[sender]\ngro = false"), usual);
    assert_eq!(rows("[host]\ngro = true"), usual);
}

/// What waits in the buffer is less where the writer writes once each time that it is told of room.
#[test]
fn a_writer_that_writes_once_leaves_room_in_the_buffer() {
    let queued = |writer: &str| {
        let flow = format!("[[flow]]\nduration = \"2s\"\nsndbuf = \"1MiB\"\nlength = \"64KiB\"\n{writer}");
        let record = record(FULL, &flow);
        let ends = record.tcp.iter().filter(|row| row.end == StreamEnd::Sender && row.t_us > 1_000_000);
        let memory: Vec<u64> = ends.filter_map(|row| row.wmem_queued_bytes).collect();
        memory.iter().sum::<u64>() / memory.len() as u64
    };
    let usual = queued("");
    assert_eq!(queued("writer = \"blocking\"\n"), usual);
    let once = queued("writer = \"once-per-wake\"\n");
    assert!(once < usual * 9 / 10, "{once} bytes, blocking {usual}");
}
