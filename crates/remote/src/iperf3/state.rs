//! The bytes of the control connection (`iperf_api.h`).

use super::ProtocolError;
use std::fmt;

/// What comes next, or why nothing does. The server sends most of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
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
const BYTES: [(State, i8); 16] = [
    (State::TestStart, 1),
    (State::TestRunning, 2),
    (State::TestEnd, 4),
    (State::ParamExchange, 9),
    (State::CreateStreams, 10),
    (State::ServerTerminate, 11),
    (State::ClientTerminate, 12),
    (State::ExchangeResults, 13),
    (State::DisplayResults, 14),
    (State::IperfStart, 15),
    (State::IperfDone, 16),
    (State::AccessDenied, -1),
    (State::ServerError, -2),
    (State::KeyQuestion, -70),
    (State::Clock, -71),
    (State::ClockDone, -72),
];

impl State {
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

impl fmt::Display for State {
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
        let known = (0..=u8::MAX).filter_map(|byte| Some((byte, State::read(byte).ok()?)));
        let known: Vec<(u8, State)> = known.collect();
        assert_eq!(known.len(), BYTES.len());
        assert!(known.iter().all(|(byte, state)| state.byte() == *byte));
        assert_eq!((State::AccessDenied.byte(), State::ServerError.byte()), (255, 254));
    }
}
