use super::*;
use proptest::prelude::*;

#[test]
fn good_texts_mean_what_tc_and_iec_say() {
    assert_eq!(rate("100mbit").map(Rate::bps), Ok(100_000_000));
    assert_eq!(rate("1.5gbit").map(Rate::bps), Ok(1_500_000_000));
    assert_eq!(rate("500bit").map(Rate::bps), Ok(500));
    assert_eq!(rate("1tbit").map(Rate::bps), Ok(1_000_000_000_000));
    assert_eq!(bytes("1448B").map(Bytes::get), Ok(1448));
    assert_eq!(bytes("1.5MiB").map(Bytes::get), Ok(1_572_864));
    assert_eq!(bytes("6MB").map(Bytes::get), Ok(6_000_000));
    assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
    assert_eq!(duration("1min"), Ok(Duration::from_secs(60)));
    assert_eq!(duration("1.5h"), Ok(Duration::from_secs(5_400)));
    assert_eq!(duration("0ms"), Ok(Duration::ZERO));
    assert_eq!(ratio("0.01%").map(Ratio::fraction), Ok(0.0001));
    assert_eq!(queue_limit("1000p"), Ok(QueueLimit::Packets(1000)));
    assert_eq!(queue_limit("0.5bdp"), Ok(QueueLimit::Bdp(0.5)));
    assert_eq!(queue_limit("256KiB"), Ok(QueueLimit::Bytes(Bytes::new(262_144))));
    assert_eq!(sysctl_triple("4096 131072 6MiB").as_deref(), Ok("4096 131072 6291456"));
}

/// Text, a part of what is wrong, a part of what to write instead.
type Bad = (&'static str, &'static str, &'static str);

fn check<T: std::fmt::Debug>(parse: fn(&str) -> Result<T, ParseError>, table: &[Bad]) {
    for (text, message, help) in table {
        let error = parse(text).expect_err(text);
        assert!(error.message.contains(message), "{text}: {}", error.message);
        assert!(error.help.contains(help), "{text}: {}", error.help);
    }
}

#[test]
fn bad_rates_say_what_to_write() {
    check(
        rate,
        &[
            ("100", "needs a unit", "\"100mbit\""),
            ("100Mbit", "not a unit", "\"100mbit\""),
            ("100Mbps", "not a unit", "\"100mbit\""),
            ("1gibit", "not a unit", "\"1.073741824gbit\""),
            ("100 mbit", "not a unit", "\"100mbit\""),
            ("0mbit", "zero", "above zero"),
            ("-1mbit", "negative", "\"10mbit\""),
            ("nan", "does not begin", "\"10mbit\""),
            ("inf", "does not begin", "\"10mbit\""),
            ("1e9bit", "not a unit", "the units are"),
            ("0.5bit", "whole number", "bit"),
            ("1.2.3mbit", "not a decimal", "10mbit"),
            ("99999999tbit", "too large", "2^64"),
            ("", "does not begin", "10mbit"),
        ],
    );
}

#[test]
fn bad_sizes_durations_shares_and_queues_say_what_to_write() {
    check(
        bytes,
        &[
            ("64", "needs a unit", "\"64B\""),
            ("64K", "not a unit", "\"64KiB\""),
            ("64KB", "not a unit", "\"64kB\""),
            ("0.5B", "whole number", "whole number of B"),
        ],
    );
    check(
        duration,
        &[
            ("10", "needs a unit", "\"10ms\""),
            ("10sec", "not a unit", "\"10s\""),
            ("1m", "not a unit", "\"1min\""),
            ("10µs", "not a unit", "\"10us\""),
            ("0.5ns", "whole number", "ns"),
            ("600000000000s", "too large", "2^64"),
        ],
    );
    check(
        ratio,
        &[
            ("1", "per cent sign", "\"1%\""),
            ("101%", "more than 100%", "100%"),
            ("-1%", "not a share", "1%"),
            ("NaN%", "not a share", "1%"),
        ],
    );
    check(
        queue_limit,
        &[
            ("1000", "needs a unit", "\"1000p\""),
            ("0p", "at least one packet", "1p"),
            ("0bdp", "at least one packet", "1p"),
            ("1.5p", "whole number of packets", "1000p"),
            ("ten", "not a queue", "1bdp"),
            ("10packets", "not a unit", "1000p"),
        ],
    );
    check(
        sysctl_triple,
        &[
            ("4096 6MiB", "2 of 3", "minimum"),
            ("4096 8192 4096", "must be ascending", "minimum"),
            ("4096 8192 6M", "not a unit", "6MiB"),
            ("0 1 2", "each value must be", "minimum"),
            ("1 2 4GiB", "each value must be", "minimum"),
        ],
    );
}

#[test]
fn near_words_are_proposed() {
    let error = one_of("segmnet", &[("segment", 1), ("super-packet", 2)]).expect_err("a typo");
    assert!(error.help.starts_with("did you mean \"segment\"?"), "{}", error.help);
    assert_eq!(nearest("zzzz", &["segment", "rtt"]), None);
}

proptest! {
    #[test]
    fn rates_round_trip(bps in 1_u64..) {
        let value = Rate::from_bps(bps);
        prop_assert_eq!(rate(&value.to_string()), Ok(value));
    }

    #[test]
    fn bytes_round_trip(n in any::<u64>(), shift in 0_u32..40) {
        let value = Bytes::new((n >> shift) << shift);
        prop_assert_eq!(bytes(&value.to_string()), Ok(value));
    }

    #[test]
    fn durations_round_trip(n in any::<u64>(), zeros in 0_u32..12) {
        let unit = 10_u64.pow(zeros);
        let value = Duration::from_nanos(n / unit * unit);
        prop_assert_eq!(duration(&duration_text(value)), Ok(value));
    }

    #[test]
    fn ratios_round_trip(n in 0_u64..=1_000_000_000) {
        #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
        let value = Ratio::from_fraction(n as f64 / 1e9);
        prop_assert_eq!(ratio(&value.to_string()), Ok(value));
    }

    #[test]
    fn queue_limits_round_trip(n in 1_u64.., tenths in 1_u32..1000) {
        for value in [
            QueueLimit::Bytes(Bytes::new(n)),
            QueueLimit::Packets(n),
            QueueLimit::Bdp(f64::from(tenths) / 10.0),
        ] {
            prop_assert_eq!(queue_limit(&value.to_string()), Ok(value));
        }
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,20}", digits in "[0-9.]{0,30}[a-zA-Z%/]{0,6}") {
        for text in [text, digits] {
            let _ = (rate(&text), bytes(&text), duration(&text), ratio(&text));
            let _ = (queue_limit(&text), count(&text), sysctl_triple(&text));
        }
    }
}
