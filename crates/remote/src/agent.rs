//! What is said to a far end of ours that somebody started for a few runs, and what it answers: a line of JSON each, over its standard streams.
//!
//! It ends when its standard input ends, or when nobody has said for how long it is still wanted.

use pipefill_core::cell::HostSpec;
use pipefill_core::record::Setting;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, Write};
use std::net::IpAddr;

/// The version of these messages. An end that has another one is of no use.
pub const VERSION: u32 = 1;
/// The longest line, bytes.
pub const LINE_MAX: usize = 256 << 10;

/// What is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "lowercase")]
pub enum Request {
    /// To serve tests, for whoever has this key.
    Begin {
        /// The key, as text.
        key: String,
        /// At which address; absent = at the one that was reached, or at all.
        address: Option<IpAddr>,
        /// How long it is wanted unless somebody says more, seconds.
        wanted_s: u64,
    },
    /// To set the host's sysctls for a run.
    Set {
        /// What they are to be.
        host: Box<HostSpec>,
        /// What the records call the host.
        place: String,
        /// Whether the settings of a machine's own namespace may be changed.
        changes_machine: bool,
        /// As in [`Self::Begin`].
        wanted_s: u64,
    },
    /// To give them back.
    Restore,
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "lowercase")]
pub enum Answer {
    /// It is there. Said before anything is asked.
    Ready {
        /// [`VERSION`].
        version: u32,
        /// Version of its pipefill.
        pipefill: String,
        /// `uname -r`.
        kernel: Option<String>,
        /// Whether it is in the network namespace of the machine itself.
        is_machine: bool,
    },
    /// It serves tests.
    Serving {
        /// At this port.
        port: u16,
        /// Under which address it was reached, where it knows.
        address: Option<IpAddr>,
    },
    /// The sysctls as asked and as read back.
    Settings {
        /// One each.
        settings: Vec<Setting>,
    },
    /// The sysctls are as they were, but for these.
    Restored {
        /// Name, value and why.
        left: Vec<String>,
    },
    /// It can't.
    Failed {
        /// Why.
        why: String,
    },
}

/// Writes a message.
///
/// # Errors
/// Those of the stream.
pub fn write<T: Serialize>(to: &mut impl Write, message: &T) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}

/// Reads a message; `None` at the end of the stream.
///
/// # Errors
/// Those of the stream; `InvalidData` for a line that is too long, or no message.
pub fn read<T: DeserializeOwned>(from: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    let got = io::Read::take(from, LINE_MAX as u64).read_until(b'\n', &mut line)?;
    match line.last() {
        None => Ok(None),
        Some(b'\n') => Ok(Some(serde_json::from_slice(&line)?)),
        Some(_) if got >= LINE_MAX => Err(io::Error::new(io::ErrorKind::InvalidData, "the line is too long")),
        // It ended in the middle of a line.
        Some(_) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn messages_are_lines() {
        let asked = Request::Begin { key: "k".repeat(64), address: None, wanted_s: 60 };
        let answered = Answer::Failed { why: "two\nlines".to_owned() };
        let mut bytes = Vec::new();
        write(&mut bytes, &asked).unwrap();
        write(&mut bytes, &answered).unwrap();
        assert_eq!(bytes.iter().filter(|byte| **byte == b'\n').count(), 2);
        let mut from = bytes.as_slice();
        assert_eq!(read(&mut from).unwrap(), Some(asked));
        assert_eq!(read(&mut from).unwrap(), Some(answered));
        assert_eq!(read::<Answer>(&mut from).unwrap(), None);
    }

    #[test]
    fn a_line_without_an_end_is_bounded() {
        let mut endless = io::BufReader::new(io::repeat(b'x'));
        assert_eq!(read::<Answer>(&mut endless).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_message_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _request = read::<Request>(&mut bytes.as_slice());
            let _answer = read::<Answer>(&mut bytes.as_slice());
        }
    }
}
