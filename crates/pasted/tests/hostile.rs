//! Hostile pasted text: the entry of the fuzz target, fed for some seconds without a nightly compiler, and the sizes that the readers are bounded for.

use pipefill_pasted::{BYTES_MAX, ReadError, read};
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
}

#[test]
fn nothing_larger_than_the_bound_is_parsed() {
    let large = vec![b'['; BYTES_MAX + 1];
    assert_eq!(read(&large).unwrap_err(), ReadError::TooLarge { bytes: BYTES_MAX + 1 });
}

#[test]
fn deep_nesting_is_an_error() {
    for text in ["[".repeat(1_000_000), "{\"start\":".repeat(200_000), "{\"intervals\":[".repeat(100_000)] {
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
