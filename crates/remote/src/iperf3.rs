//! The protocol of iperf3 3.1 to 3.18 (`iperf_api.h`, `iperf_api.c`, `iperf_udp.c`), as values and bytes: nothing here reads a socket.
//!
//! A test has one control connection, on which the server says by single bytes what comes next ([`TestState`]), and documents of JSON with
//! their length before them ([`document`]) say what is asked and what was counted. Each stream of data is a connection of its own.

pub mod cookie;
pub mod datagram;
pub mod document;
mod member;
pub mod order;
pub mod parameters;
pub mod refusal;
pub mod results;
pub mod state;

pub use cookie::Cookie;
pub use parameters::{Parameters, TestDirection, Transport};
pub use results::{Results, StreamResult};
pub use state::TestState;

/// The port of a server that was told none.
pub const PORT: u16 = 5201;
/// Streams that one test may have in one direction (`MAX_STREAMS`).
pub const STREAMS_MAX: u32 = 128;

/// Something from the network that is not iperf3's protocol, or not within its bounds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// A byte on the control connection that is no state.
    #[error("the other end sent the byte {0}, which is not a state of iperf3's protocol")]
    UnknownState(i8),
    /// A state that does not follow the last one.
    #[error("the other end sent {got} {when}")]
    OutOfOrder {
        /// What came.
        got: TestState,
        /// E.g. `before the parameters`.
        when: &'static str,
    },
    /// A document longer than it may be.
    #[error("the other end announced {length} bytes of JSON, and {most} are the most that is read")]
    TooLong {
        /// What was announced, bytes.
        length: u32,
        /// What is read at most, bytes.
        most: u32,
    },
    /// A document that is none.
    #[error("the other end sent no valid JSON: {0}")]
    NotJson(String),
    /// A member of a document.
    #[error("\"{member}\" in the other end's JSON {why}")]
    Member {
        /// Its name.
        member: &'static str,
        /// What is wrong with it.
        why: String,
    },
}

/// The number of stream `index`: iperf3 counts 1, 3, 4, 5, … (`iperf_add_stream()`), and results name streams by it.
pub const fn stream_id(index: u32) -> u32 {
    if index == 0 { 1 } else { index + 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_counted_as_iperf3_counts_them() {
        assert_eq!([0, 1, 2, 3].map(stream_id), [1, 3, 4, 5]);
    }
}
