//! Hostile pasted text: the entry of the fuzz target, fed for some seconds without a nightly compiler, and the sizes that the readers are bounded for.

use pipefill_pasted::{BYTES_MAX, QDISCS_MAX, ReadError, read, read_context};
use pipefill_testkit::entries::pasted;
use proptest::prelude::*;

/// JSON in the form of iperf3's, with anything in its members.
fn interval() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec![
        "socket",
        "start",
        "end",
        "seconds",
        "bytes",
        "retransmits",
        "snd_cwnd",
        "snd_wnd",
        "rtt",
        "rttvar",
        "pmtu",
        "omitted",
        "sender",
        "packets",
        "lost_packets",
        "jitter_ms",
        "out_of_order",
    ]);
    let value = prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        (0_u32..100).prop_map(|number| number.to_string()),
        any::<f64>()
            .prop_filter("JSON has no infinity", |number| number.is_finite())
            .prop_map(|number| format!("{number:e}")),
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("\"5\"".to_owned()),
        Just("[{}]".to_owned()),
    ];
    prop::collection::vec((name, value), 0..12).prop_map(|all| {
        let members: Vec<String> = all.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
        format!("{{{}}}", members.join(","))
    })
}

/// A line of ss with anything behind the names.
fn socket() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec![
        "rtt",
        "rto",
        "mss",
        "cwnd",
        "ssthresh",
        "bytes_acked",
        "bytes_received",
        "unacked",
        "retrans",
        "lost",
        "sacked",
        "minrtt",
        "snd_wnd",
        "notsent",
        "busy",
        "rwnd_limited",
        "skmem",
        "wscale",
        "backoff",
        "lastrcv",
        "delivered",
        "app_limited",
    ]);
    let value = prop::sample::select(vec![
        "0",
        "1",
        "-1",
        "4294967295",
        "18446744073709551615",
        "99999999999999999999",
        "nan",
        "1e308",
        "1/2",
        "7,7",
        "8ms(3.4%)",
        "(r0,rb1,t0,tb65536,f0,w99999999999,o0,bl0,d0)",
        "",
        ":",
        "ü",
    ]);
    prop::collection::vec((name, value), 0..20).prop_map(|all| {
        let words: Vec<String> = all.iter().map(|(name, value)| format!("{name}:{value}")).collect();
        format!("ESTAB 0 9 10.0.0.1:5 10.0.0.2:6\n\t cubic wscale:7,7 rto:1 mss:1448 {}\n", words.join(" "))
    })
}

/// An event of a qlog with anything in its members.
fn event() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec![
        "transport:packet_sent",
        "transport:packet_received",
        "recovery:packet_lost",
        "recovery:metrics_updated",
        "quic:recovery_metrics_updated",
        "quic:congestion_state_updated",
        "transport:parameters_set",
        "connectivity:connection_started",
    ]);
    let number = prop::sample::select(vec![
        "0",
        "1",
        "7",
        "-1",
        "1200",
        "65535",
        "4294967296",
        "1e15",
        "1e300",
        "-1e300",
        "null",
        "\"9\"",
        "[]",
        "{}",
    ]);
    let numbers = prop::collection::vec(number, 12);
    let kind = prop::sample::select(vec!["stream", "ack", "max_data", "max_stream_data", "padding", "x"]);
    (name, kind, numbers).prop_map(|(name, kind, n)| {
        format!(
            "{{\"time\":{},\"name\":\"{name}\",\"data\":{{\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":{}}},\"raw\":{{\"length\":{}}},\
             \"owner\":\"remote\",\"initial_max_data\":{},\"congestion_window\":{},\"smoothed_rtt\":{},\"min_rtt\":{},\"new\":\"recovery\",\"frames\":[{{\
             \"frame_type\":\"{kind}\",\"stream_id\":{},\"offset\":{},\"length\":{},\"maximum\":{},\"acked_ranges\":[[{},{}],[{}]]}}]}}}}",
            n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], n[9], n[10], n[11], n[0], n[1]
        )
    })
}

/// A line of tc, nstat or netperf.
fn counted() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "qdisc",
        "tbf",
        "1:",
        "dev",
        "eth0",
        "rate",
        "10Mbit",
        "1Tibit",
        "Sent",
        "bytes",
        "pkt",
        "(dropped",
        "overlimits",
        "backlog",
        "9Kb",
        "9p",
        "marks",
        "ecn_mark",
        "TcpExtTCPTimeouts",
        "18446744073709551615",
        "99999999999999999999",
        "-1",
        "nan",
        "0.0",
        "1e308",
        "Interim",
        "result:",
        "10^6bits/s",
        "over",
        "seconds",
        "tcpi_rtt",
        "tpci_snd_cwnd",
        "THROUGHPUT=1",
        "ELAPSED_TIME=1e300",
        "MIGRATED",
        "TCP",
        "STREAM",
        "TEST",
        "ü",
        "=",
    ]);
    prop::collection::vec(word, 0..12).prop_map(|words| words.join(" ") + "\n")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_bytes_are_connections_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        pasted::output(&bytes);
    }

    #[test]
    fn any_intervals_are_connections_or_an_error(
        intervals in prop::collection::vec(prop::collection::vec(interval(), 0..3), 0..6),
        end in interval(),
        cut in 0_usize..4_000,
    ) {
        let all: Vec<String> = intervals.iter().map(|streams| format!("{{\"streams\":[{}]}}", streams.join(","))).collect();
        for protocol in ["TCP", "UDP"] {
            let text = format!(
                "{{\"start\":{{\"test_start\":{{\"protocol\":\"{protocol}\"}}}},\"intervals\":[{}],\"end\":{{\"streams\":[{{\"sender\":{end},\"receiver\":{end},\"udp\":{end}}}]}}}}",
                all.join(",")
            );
            pasted::output(text.as_bytes());
            pasted::output(&text.as_bytes()[..cut.min(text.len())]);
        }
    }

    #[test]
    fn any_readings_are_connections_or_an_error(sockets in prop::collection::vec(socket(), 0..6)) {
        pasted::output(sockets.concat().as_bytes());
    }

    #[test]
    fn any_events_are_connections_or_an_error(events in prop::collection::vec(event(), 0..12), cut in 0_usize..6_000) {
        let text = format!("{{\"qlog_version\":\"0.3\",\"traces\":[{{\"events\":[{}]}}]}}", events.join(","));
        pasted::output(text.as_bytes());
        pasted::output(&text.as_bytes()[..cut.min(text.len())]);
        let sequence = format!("\u{1e}{{\"qlog_version\":\"0.3\",\"trace\":{{}}}}\n\u{1e}{}", events.join("\n\u{1e}"));
        pasted::output(sequence.as_bytes());
    }

    #[test]
    fn any_counters_are_a_context_or_an_error(lines in prop::collection::vec(counted(), 0..12)) {
        pasted::context(lines.concat().as_bytes());
        pasted::output(lines.concat().as_bytes());
    }

    #[test]
    fn any_table_is_connections_or_an_error(words in prop::collection::vec("[0-9.\\-/()%]{1,9}|sec|MBytes|K?Bytes|Mbits/sec|ms|us", 0..40)) {
        for program in ["iperf3", "Client connecting to 10.0.0.2, TCP port 5001"] {
            let table = format!("{program}\n[ ID] Interval Bitrate\n[  5] 0.00-1.00 sec {}\n", words.join(" "));
            pasted::output(table.as_bytes());
        }
    }
}

/// A generator without a seed of its own: the same bytes each time.
fn garbage(count: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..count).map(|_| next()).collect()
}

#[test]
fn a_million_bytes_of_garbage_are_an_error() {
    assert_eq!(read(&garbage(1_000_000)).unwrap_err(), ReadError::Unknown);
    assert_eq!(read_context(&garbage(1_000_000), "file").unwrap_err(), ReadError::Unknown);
}

#[test]
fn nothing_larger_than_the_bound_is_parsed() {
    let large = vec![b'['; BYTES_MAX + 1];
    assert_eq!(read(&large).unwrap_err(), ReadError::TooLarge { bytes: BYTES_MAX + 1 });
    assert_eq!(read_context(&large, "file").unwrap_err(), ReadError::TooLarge { bytes: BYTES_MAX + 1 });
}

#[test]
fn deep_nesting_is_an_error() {
    for text in [
        "[".repeat(1_000_000),
        "{\"start\":".repeat(200_000),
        "{\"intervals\":[".repeat(100_000),
        "{\"qlog_version\":\"0.3\",\"traces\":[{\"events\":[".repeat(50_000),
    ] {
        assert!(pasted::output(text.as_bytes()).is_none());
    }
}

#[test]
fn times_that_are_negative_or_no_numbers_are_left_out() {
    for time in ["-1", "null", "\"nan\"", "1e300", "-1e300"] {
        let interval = format!(
            "{{\"start\":{time},\"end\":1,\"bytes\":1000000,\"rtt\":1000,\"snd_cwnd\":100000,\"snd_wnd\":100000}}"
        );
        let text = format!("{{\"start\":{{}},\"intervals\":[{{\"streams\":[{interval}]}}],\"end\":{{}}}}");
        assert!(pasted::output(text.as_bytes()).is_none(), "{time}");
    }
}

/// Each of many intervals is kept up to the bound.
#[test]
fn a_long_test_is_bounded() {
    let interval = |at: usize| {
        format!(
            "{{\"streams\":[{{\"socket\":5,\"start\":{at},\"end\":{},\"bytes\":1000,\"rtt\":1000}}]}}",
            at + 1
        )
    };
    let all: Vec<String> = (0..50_000).map(interval).collect();
    let text = format!("{{\"start\":{{}},\"intervals\":[{}],\"end\":{{}}}}", all.join(","));
    let output = pasted::output(text.as_bytes()).unwrap();
    assert_eq!(output.connections[0].samples.len(), pipefill_pasted::SAMPLES_MAX);
}

/// Events without end, on one connection or each on one of its own, at times that leave no room for a sample each.
#[test]
fn a_long_qlog_is_bounded() {
    for (group, span_ms) in [("", 1.0), ("", 3e9), ("g", 1.0)] {
        let event = |at: usize| {
            let group = if group.is_empty() { String::new() } else { format!("{group}{at}") };
            let time = span_ms * at as f64 / 20_000.0;
            format!(
                "{{\"time\":{time:e},\"group_id\":\"{group}\",\"name\":\"quic:packet_sent\",\"data\":{{\"header\":{{\"packet_number\":{at}}},\
                 \"frames\":[{{\"frame_type\":\"stream\",\"stream_id\":{at},\"length\":9}}]}}}}"
            )
        };
        let all: Vec<String> = (0..20_000).map(event).collect();
        let text = format!("{{\"qlog_version\":\"0.4\",\"traces\":[{{\"events\":[{}]}}]}}", all.join(","));
        let output = pasted::output(text.as_bytes());
        // A connection with a single event carried nothing that can be judged; a month is longer than any transfer.
        assert_eq!(output.is_some(), group.is_empty(), "{group} {span_ms}");
    }
}

#[test]
fn a_long_list_of_disciplines_is_bounded() {
    let text = "qdisc tbf 1: dev eth0 root rate 10Mbit\n backlog 9Kb 9p\n".repeat(QDISCS_MAX + 1);
    assert_eq!(pasted::context(text.as_bytes()).unwrap().qdiscs.len(), QDISCS_MAX);
}
