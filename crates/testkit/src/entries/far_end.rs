//! What anybody may send in place of our own server's telemetry, its clock, or the proof of a key: fed to the parsers by the fuzz target and by
//! an ordinary test (`crates/remote/tests/hostile.rs`). Any bytes are what they should be, or nothing; never a panic.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use pipefill_remote::clock::{self, Answer, Clocks, Exchange};
use pipefill_remote::far_end::{self, FarEnd, FarStream};
use pipefill_remote::iperf3::cookie::{self, Cookie};
use pipefill_remote::key::{self, Key};
use serde_json::json;

/// JSON in the member's place, a compressed text in it, and JSON of its streams. What was read can be sent and read again.
pub fn telemetry(bytes: &[u8]) -> Option<FarEnd> {
    let members = [
        serde_json::from_slice(bytes).ok(),
        Some(json!({"version": far_end::VERSION, "pipefill": "", "streams": BASE64_STANDARD.encode(bytes)})),
    ];
    let read = members.iter().flatten().find_map(FarEnd::read);
    let streams = || FarStream::read_all(bytes).map(|streams| FarEnd { streams, ..FarEnd::default() });
    let far = read.or_else(streams)?;
    assert_eq!(FarEnd::read(&far.document()).as_ref(), Some(&far));
    Some(far)
}

/// Answers of a server's clock one after another, each to a question that was asked a moment after the last one: offsets and delays are numbers.
pub fn clock(bytes: &[u8]) {
    let (answers, _) = bytes.as_chunks::<{ clock::ANSWER }>();
    let exchange = |(index, bytes): (u64, &[u8; clock::ANSWER])| {
        let answer = Answer::read(*bytes);
        assert_eq!(answer.bytes(), *bytes);
        Exchange::of(answer.heard_ns.wrapping_sub(index), answer, answer.said_ns.wrapping_add(index))
    };
    let all: Vec<Exchange> = (0..).zip(answers).filter_map(exchange).collect();
    let (before, after) = all.split_at(all.len() / 2);
    let Some(clocks) = Clocks::of(before, after) else { return };
    for exchange in &all {
        assert!(clocks.one_way_ns(exchange).iter().all(|way| way.is_finite()));
    }
    for at_ns in [0, u64::MAX] {
        let (offset, error) = clocks.offset_ns(at_ns);
        assert!(offset.is_finite() && error >= 0.0, "{offset} {error}");
        assert!(
            clocks.to_server_ns(at_ns, i64::MIN).is_finite()
                && clocks.to_client_ns(at_ns, i64::MAX).is_finite()
        );
    }
}

/// A key, a question, a test's name and an answer: nobody guesses an answer, and the right one is one.
pub fn proof(bytes: &[u8]) {
    let Some((question, rest)) = bytes.split_first_chunk::<{ key::LENGTH }>() else { return };
    let Some((answer, rest)) = rest.split_first_chunk::<{ key::LENGTH }>() else { return };
    let Some((name, key)) = rest.split_first_chunk::<{ cookie::LENGTH }>() else { return };
    let (Some(cookie), Some(key)) = (Cookie::read(*name), Key::read(key)) else { return };
    let right = key.answer(question, &cookie);
    assert!(key.is_answer(&right, question, &cookie));
    assert_eq!(key.is_answer(answer, question, &cookie), *answer == right);
}
