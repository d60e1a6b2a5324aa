//! Hostile ends of a test: the entries of the fuzz targets, fed for a few seconds without a nightly compiler.

use pipefill_remote::far_end::FarEnd;
use pipefill_testkit::entries::{far_end, iperf3};
use proptest::prelude::*;

/// JSON that has the members of both documents, with anything in them.
fn members() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec![
        "tcp",
        "udp",
        "omit",
        "time",
        "num",
        "blockcount",
        "MSS",
        "nodelay",
        "parallel",
        "reverse",
        "bidirectional",
        "window",
        "len",
        "bandwidth",
        "fqrate",
        "TOS",
        "congestion",
        "udp_counters_64bit",
        "client_version",
        "cpu_util_total",
        "sender_has_retransmits",
        "streams",
        "pipefill",
    ]);
    let value = prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        (0_u32..200).prop_map(|number| number.to_string()),
        any::<f64>()
            .prop_filter("JSON has no infinity", |number| number.is_finite())
            .prop_map(|number| format!("{number:e}")),
        Just("true".to_owned()),
        Just("null".to_owned()),
        "\"[a-z]{0,9}\"",
        Just("[{\"id\":1,\"bytes\":2,\"retransmits\":-1,\"errors\":-5}]".to_owned()),
        // "[]", as it is sent.
        Just(format!(
            "{{\"version\":2,\"pipefill\":\"\",\"streams\":{}}}",
            FarEnd::default().document()["streams"]
        )),
        Just("{\"version\":2,\"clock\":true}".to_owned()),
    ];
    prop::collection::vec((name, value), 0..8).prop_map(|all| {
        let members: Vec<String> = all.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
        format!("{{{}}}", members.join(","))
    })
}

/// When, at which end, and a congestion window.
type Sample = (u64, &'static str, i32);

/// What a server of ours tells of its streams, with anything in it.
fn telemetry() -> impl Strategy<Value = String> {
    let sample = (any::<u64>(), prop::sample::select(vec!["sender", "receiver", "nobody"]), any::<i32>());
    let transit = (any::<u64>(), any::<i64>());
    let stream = (
        any::<u32>(),
        any::<u64>(),
        prop::collection::vec(sample, 0..4),
        prop::collection::vec(transit, 0..4),
    );
    let text = |(id, every, samples, transits): (u32, u64, Vec<Sample>, Vec<(u64, i64)>)| {
        let samples: Vec<String> = samples
            .iter()
            .map(|(t, end, cwnd)| format!(r#"{{"t_us":{t},"stream":0,"end":"{end}","cwnd_bytes":{cwnd}}}"#))
            .collect();
        let transits: Vec<String> = transits.iter().map(|(at, took)| format!("[{at},{took}]")).collect();
        let (samples, transits) = (samples.join(","), transits.join(","));
        format!(
            r#"{{"id":{id},"congestion_control":"x","every_us":{every},"samples":[{samples}],"transits":[{transits}]}}"#
        )
    };
    prop::collection::vec(stream.prop_map(text), 0..3).prop_map(|all| format!("[{}]", all.join(",")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_bytes_are_the_protocol_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        iperf3::document(&bytes);
        iperf3::states(&bytes);
        iperf3::first(&bytes);
    }

    #[test]
    fn any_members_are_read_or_refused(text in members()) {
        let length = u32::try_from(text.len()).unwrap().to_be_bytes();
        iperf3::document(&[&length, text.as_bytes()].concat());
    }

    #[test]
    fn any_bytes_of_our_own_are_telemetry_a_clock_and_a_proof_or_nothing(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        far_end::telemetry(&bytes);
        far_end::clock(&bytes);
        far_end::proof(&bytes);
    }

    #[test]
    fn any_telemetry_is_read_or_ignored(text in telemetry()) {
        far_end::telemetry(text.as_bytes());
    }

    #[test]
    fn any_states_are_in_order_or_refused(bytes in prop::collection::vec(prop::sample::select(vec![1, 2, 4, 9, 10, 11, 13, 14, 255, 254]), 0..12)) {
        prop_assert!(iperf3::states(&bytes) <= bytes.len());
    }
}

#[test]
fn a_whole_test_is_six_steps_one_for_a_key_and_two_for_the_clock() {
    assert_eq!(iperf3::states(&[9, 10, 1, 2, 13, 14, 14]), 6);
    assert_eq!(iperf3::states(&[186, 9, 10, 1, 2, 13, 14, 14]), 7);
    assert_eq!(iperf3::states(&[186, 9, 185, 10, 1, 2, 13, 185, 14, 14]), 9);
    assert_eq!(iperf3::states(&[9, 185, 185]), 2, "a series at a time");
}

#[test]
fn telemetry_that_is_right_is_read() {
    let right = r#"[{"id":1,"congestion_control":"","every_us":5,"samples":[],"transits":[[7,-3]]}]"#;
    assert_eq!(far_end::telemetry(right.as_bytes()).unwrap().streams[0].transits, [(7, -3)]);
}
