//! Why the server ended a test.

use pipefill_remote::control::ControlError;
use std::io;

/// Why a test did not come to its end.
#[derive(Debug)]
pub(super) enum Refused {
    /// The client is told why.
    Test {
        /// Of [`pipefill_remote::iperf3::refusal`].
        code: u32,
        why: String,
    },
    /// The client may try again later: a stock one knows that too.
    Busy(String),
    /// The client does not keep to the protocol, or has gone.
    Gone(String),
}

impl From<ControlError> for Refused {
    fn from(error: ControlError) -> Self {
        Self::Gone(error.to_string())
    }
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Self::Gone(error.to_string())
    }
}
