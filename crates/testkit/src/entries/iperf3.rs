//! What anybody may send to a test's control connection: fed to the parsers by the fuzz target and by an ordinary test
//! (`crates/remote/tests/hostile.rs`). Any bytes are what they should be, or an error; never a panic.

use pipefill_remote::iperf3::cookie::{self, Cookie};
use pipefill_remote::iperf3::datagram::Dialect;
use pipefill_remote::iperf3::order::Client;
use pipefill_remote::iperf3::{Parameters, Results, TestState, document};

/// A document with its length before it. What was read as parameters can be sent and read again.
pub fn document(bytes: &[u8]) {
    let Some((prefix, rest)) = bytes.split_first_chunk::<{ document::PREFIX }>() else { return };
    let Ok(length) = document::length(*prefix, document::PARAMETERS_MAX) else { return };
    let Ok(value) = document::parse(&rest[..length.min(rest.len())]) else { return };
    if let Ok(parameters) = Parameters::read(&value) {
        assert_eq!(Parameters::read(&parameters.document()), Ok(parameters));
    }
    if let Ok(results) = Results::read(&value) {
        assert!(Results::read(&results.document()).is_ok(), "{results:?}");
    }
}

/// Bytes of a server: each is a state in its place, or refused. A test has few steps.
pub fn states(bytes: &[u8]) -> usize {
    let mut client = Client::default();
    let steps = bytes.iter().map_while(|&byte| client.hear(TestState::read(byte).ok()?).ok()).count();
    assert!(steps <= 9, "{steps}");
    steps
}

/// The first bytes of a connection, and of a stream of UDP.
pub fn first(bytes: &[u8]) {
    if let Some(cookie) = bytes.first_chunk::<{ cookie::LENGTH }>().and_then(|bytes| Cookie::read(*bytes)) {
        assert!(!cookie.as_str().is_empty() && cookie.bytes().starts_with(cookie.as_str().as_bytes()));
    }
    if let Some(dialect) = Dialect::of_hello(bytes) {
        assert!(bytes.starts_with(&dialect.hello()));
    }
}
