//! In which order states may come: what each end may hear, and what it does then. Anything else is refused.

use super::{ProtocolError, TestState};

/// Where a client is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Client {
    /// It has sent its cookie.
    #[default]
    Asked,
    /// It has proved that it has the key.
    Proved,
    /// It has sent its parameters.
    Described,
    /// And asked for the server's time.
    Compared,
    /// It has connected its streams.
    Connected,
    /// All streams are there at the server.
    Ready,
    /// Data flows.
    Running,
    /// The results are exchanged.
    Exchanged,
    /// And the server's time was asked for again.
    ComparedAgain,
    /// Over.
    Done,
}

/// What a client does about a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Read the question, and answer it.
    ProveKey,
    /// Send the parameters.
    SendParameters,
    /// Ask for the time, then say that it was enough.
    AskTime,
    /// Connect the streams.
    ConnectStreams,
    /// Make ready.
    Prepare,
    /// Let data flow.
    Run,
    /// Send the results, then read the server's.
    ExchangeResults,
    /// Send [`TestState::IperfDone`], and end.
    Finish,
    /// The server is busy.
    Denied,
    /// The server gives up.
    Terminated,
    /// The server refuses: read why.
    Refused,
}

impl Client {
    /// Takes what the server says.
    ///
    /// # Errors
    /// [`ProtocolError::OutOfOrder`]: the server may say that only elsewhere, or never.
    pub const fn hear(&mut self, state: TestState) -> Result<Step, ProtocolError> {
        let (next, step) = match (*self, state) {
            (Self::Asked, TestState::KeyQuestion) => (Self::Proved, Step::ProveKey),
            (Self::Asked | Self::Proved | Self::Described, TestState::AccessDenied) => {
                (Self::Done, Step::Denied)
            }
            (Self::Asked | Self::Proved, TestState::ParamExchange) => (Self::Described, Step::SendParameters),
            (Self::Described, TestState::Clock) => (Self::Compared, Step::AskTime),
            (Self::Described | Self::Compared, TestState::CreateStreams) => {
                (Self::Connected, Step::ConnectStreams)
            }
            (Self::Connected, TestState::TestStart) => (Self::Ready, Step::Prepare),
            (Self::Ready, TestState::TestRunning) => (Self::Running, Step::Run),
            (Self::Running, TestState::ExchangeResults) => (Self::Exchanged, Step::ExchangeResults),
            (Self::Exchanged, TestState::Clock) => (Self::ComparedAgain, Step::AskTime),
            (Self::Exchanged | Self::ComparedAgain, TestState::DisplayResults) => (Self::Done, Step::Finish),
            (Self::Done, _) => return Err(ProtocolError::OutOfOrder { got: state, when: "after the end" }),
            (_, TestState::ServerError) => (Self::Done, Step::Refused),
            (_, TestState::ServerTerminate) => (Self::Done, Step::Terminated),
            _ => return Err(ProtocolError::OutOfOrder { got: state, when: self.place() }),
        };
        *self = next;
        Ok(step)
    }

    const fn place(self) -> &'static str {
        match self {
            Self::Asked | Self::Proved => "before it asked for the parameters",
            Self::Described | Self::Compared => "before it asked for streams",
            Self::Connected => "before all streams were there",
            Self::Ready => "before the test ran",
            Self::Running => "while the test ran",
            Self::Exchanged | Self::ComparedAgain | Self::Done => "after the results",
        }
    }
}

/// What a client of a running test may say to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// It has all that it wants.
    End,
    /// It gives up.
    GiveUp,
    /// It wants to know the time.
    Time,
}

/// What `state` of a client means while the test runs.
///
/// # Errors
/// [`ProtocolError::OutOfOrder`].
pub const fn while_running(state: TestState) -> Result<Wish, ProtocolError> {
    match state {
        TestState::TestEnd => Ok(Wish::End),
        TestState::ClientTerminate => Ok(Wish::GiveUp),
        TestState::Clock => Ok(Wish::Time),
        got => Err(ProtocolError::OutOfOrder { got, when: "while the test ran" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_goes_through_a_test_and_refuses_what_is_out_of_order() {
        let mut client = Client::default();
        let said = [
            TestState::ParamExchange,
            TestState::CreateStreams,
            TestState::TestStart,
            TestState::TestRunning,
            TestState::ExchangeResults,
            TestState::DisplayResults,
        ];
        let steps = said.map(|state| client.hear(state).unwrap());
        assert_eq!((steps[0], steps[3], steps[5]), (Step::SendParameters, Step::Run, Step::Finish));
        assert!(client.hear(TestState::TestRunning).is_err());
        let mut client = Client::default();
        assert!(client.hear(TestState::TestRunning).unwrap_err().to_string().contains("TEST_RUNNING before"));
        assert_eq!(client.hear(TestState::KeyQuestion), Ok(Step::ProveKey));
        assert!(client.hear(TestState::KeyQuestion).is_err(), "a key is proved once");
        assert_eq!(client.hear(TestState::AccessDenied), Ok(Step::Denied));
    }

    #[test]
    fn a_server_may_give_up_at_any_time_and_a_client_while_it_runs() {
        for at in [Client::Asked, Client::Described, Client::Connected, Client::Ready, Client::Running] {
            let mut client = at;
            assert_eq!(client.hear(TestState::ServerTerminate), Ok(Step::Terminated));
            assert_eq!(client, Client::Done);
        }
        assert_eq!(while_running(TestState::ClientTerminate), Ok(Wish::GiveUp));
        assert!(while_running(TestState::IperfStart).is_err());
    }
}
