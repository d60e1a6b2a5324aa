//! Hostile ends of a test: the entries of the fuzz target, fed for a few seconds without a nightly compiler.

#[path = "../../../fuzz/iperf3.rs"]
mod iperf3;

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
        Just("{\"version\":1,\"pipefill\":\"\",\"streams\":[]}".to_owned()),
    ];
    prop::collection::vec((name, value), 0..8).prop_map(|all| {
        let members: Vec<String> = all.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
        format!("{{{}}}", members.join(","))
    })
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
    fn any_states_are_in_order_or_refused(bytes in prop::collection::vec(prop::sample::select(vec![1, 2, 4, 9, 10, 11, 13, 14, 255, 254]), 0..12)) {
        prop_assert!(iperf3::states(&bytes) <= bytes.len());
    }
}

#[test]
fn a_whole_test_is_six_steps_and_one_for_a_key() {
    assert_eq!(iperf3::states(&[9, 10, 1, 2, 13, 14, 14]), 6);
    assert_eq!(iperf3::states(&[186, 9, 10, 1, 2, 13, 14, 14]), 7);
}
