//! The bytes of the control connection (`iperf_api.h`).

use super::ProtocolError;
use std::fmt;

/// What comes next, or why nothing does. The server sends most of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestState {
    /// All streams are there.
    TestStart,
    /// Data is to flow.
    TestRunning,
    /// The client has sent or received all that it wants.
    TestEnd,
    /// The client is to send its parameters.
    ParamExchange,
    /// The client is to connect its streams.
    CreateStreams,
    /// The server gives the test up.
    ServerTerminate,
    /// The client gives the test up.
    ClientTerminate,
    /// Both are to send their results, the client first.
    ExchangeResults,
    /// The client may print them.
    DisplayResults,
    /// A client that has not been answered; never sent.
    IperfStart,
    /// The client is done.
    IperfDone,
    /// The server has another test to do.
    AccessDenied,
    /// The server can't do it; two numbers follow ([`super::refusal`]).
    ServerError,
    /// The server wants a proof of the key first: a question follows ([`crate::key`]). Ours alone.
    KeyQuestion,
    /// Before and after a test the server says that it tells its time; later the client asks for it, or the server answers
    /// ([`crate::clock`]). Ours alone.
    Clock,
    /// The client has asked for the time often enough. Ours alone.
    ClockDone,
}

/// Each state and its byte.
const BYTES: [(TestState, i8); 16] = [
    (TestState::TestStart, 1),
    (TestState::TestRunning, 2),
    (TestState::TestEnd, 4),
    (TestState::ParamExchange, 9),
    (TestState::CreateStreams, 10),
    (TestState::ServerTerminate, 11),
    (TestState::ClientTerminate, 12),
    (TestState::ExchangeResults, 13),
    (TestState::DisplayResults, 14),
    (TestState::IperfStart, 15),
    (TestState::IperfDone, 16),
    (TestState::AccessDenied, -1),
    (TestState::ServerError, -2),
    (TestState::KeyQuestion, -70),
    (TestState::Clock, -71),
    (TestState::ClockDone, -72),
];

impl TestState {
    /// What a byte says.
    ///
    /// # Errors
    /// [`ProtocolError::UnknownState`].
    pub fn read(byte: u8) -> Result<Self, ProtocolError> {
        let byte = byte.cast_signed();
        let found = BYTES.iter().find(|(_, known)| *known == byte);
        found.map(|(state, _)| *state).ok_or(ProtocolError::UnknownState(byte))
    }

    /// Its byte.
    pub fn byte(self) -> u8 {
        let found = BYTES.iter().find(|(state, _)| *state == self);
        found.map_or(0, |(_, byte)| byte.cast_unsigned())
    }
}

impl fmt::Display for TestState {
    /// iperf3's own name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TestStart => "TEST_START",
            Self::TestRunning => "TEST_RUNNING",
            Self::TestEnd => "TEST_END",
            Self::ParamExchange => "PARAM_EXCHANGE",
            Self::CreateStreams => "CREATE_STREAMS",
            Self::ServerTerminate => "SERVER_TERMINATE",
            Self::ClientTerminate => "CLIENT_TERMINATE",
            Self::ExchangeResults => "EXCHANGE_RESULTS",
            Self::DisplayResults => "DISPLAY_RESULTS",
            Self::IperfStart => "IPERF_START",
            Self::IperfDone => "IPERF_DONE",
            Self::AccessDenied => "ACCESS_DENIED",
            Self::ServerError => "SERVER_ERROR",
            Self::KeyQuestion => "a question for a key",
            Self::Clock => "a word about its clock",
            Self::ClockDone => "an end of questions for the time",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_a_state_and_back_or_an_error() {
        let known = (0..=u8::MAX).filter_map(|byte| Some((byte, TestState::read(byte).ok()?)));
        let known: Vec<(u8, TestState)> = known.collect();
        assert_eq!(known.len(), BYTES.len());
        assert!(known.iter().all(|(byte, state)| state.byte() == *byte));
        assert_eq!((TestState::AccessDenied.byte(), TestState::ServerError.byte()), (255, 254));
    }
}
