//! A control connection whose every step has a deadline, however slowly the other end sends.

use crate::clock::Answer;
use crate::iperf3::document;
use crate::iperf3::refusal::{self, Refusal};
use crate::iperf3::{ProtocolError, TestState};
use crate::key;
use serde_json::Value;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Why a step failed.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The other end does not keep to the protocol.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// It said nothing, or not enough, in time.
    #[error("the other end said nothing for {} s", .0.as_secs())]
    Late(Duration),
    /// It closed the connection.
    #[error("the other end closed the control connection")]
    Closed,
    /// The system's own error.
    #[error("the control connection: {0}")]
    Io(#[from] io::Error),
}

/// The connection.
#[derive(Debug)]
pub struct Control {
    stream: TcpStream,
    patience: Duration,
}

impl Control {
    /// Of a connected stream. A step takes no longer than `patience`.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn new(stream: TcpStream, patience: Duration) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, patience })
    }

    /// From now on a step takes no longer than `patience`.
    pub const fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    /// The stream itself.
    pub const fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Says `state`.
    ///
    /// # Errors
    /// [`ControlError::Late`] where the other end does not read.
    pub fn say(&mut self, state: TestState) -> Result<(), ControlError> {
        self.send(&[state.byte()])
    }

    /// Says that the test is refused.
    ///
    /// # Errors
    /// As [`Self::say`].
    pub fn refuse(&mut self, refusal: Refusal) -> Result<(), ControlError> {
        let mut bytes = vec![TestState::ServerError.byte()];
        bytes.extend(refusal.bytes());
        self.send(&bytes)
    }

    /// Sends a document.
    ///
    /// # Errors
    /// As [`Self::say`].
    pub fn send_document(&mut self, value: &Value) -> Result<(), ControlError> {
        self.send(&document::write(value))
    }

    /// Waits for a state.
    ///
    /// # Errors
    /// [`ControlError`].
    pub fn hear(&mut self) -> Result<TestState, ControlError> {
        let deadline = Instant::now() + self.patience;
        Ok(TestState::read(self.read::<1>(deadline)?[0])?)
    }

    /// Waits for a state, `span` at most; `None` where there was none.
    ///
    /// # Errors
    /// [`ControlError`].
    pub fn hear_within(&mut self, span: Duration) -> Result<Option<TestState>, ControlError> {
        match self.read::<1>(Instant::now() + span) {
            Ok([byte]) => Ok(Some(TestState::read(byte)?)),
            Err(ControlError::Late(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads a document of at most `most` bytes.
    ///
    /// # Errors
    /// [`ControlError`].
    pub fn read_document(&mut self, most: u32) -> Result<Value, ControlError> {
        let deadline = Instant::now() + self.patience;
        let length = document::length(self.read(deadline)?, most)?;
        let mut bytes = Vec::new();
        // What was announced is set aside as it comes.
        while bytes.len() < length {
            let mut piece = [0; 16 << 10];
            let wanted = piece.len().min(length - bytes.len());
            let got = self.read_some(&mut piece[..wanted], deadline)?;
            bytes.extend_from_slice(&piece[..got]);
        }
        Ok(document::parse(&bytes)?)
    }

    /// Reads a question for a key, or its answer.
    ///
    /// # Errors
    /// [`ControlError`].
    pub fn read_key_bytes(&mut self) -> Result<[u8; key::LENGTH], ControlError> {
        self.read(Instant::now() + self.patience)
    }

    /// Reads what follows an answer of the server's clock.
    ///
    /// # Errors
    /// [`ControlError`].
    pub fn read_clock(&mut self) -> Result<Answer, ControlError> {
        Ok(Answer::read(self.read(Instant::now() + self.patience)?))
    }

    /// Answers with the server's clock.
    ///
    /// # Errors
    /// As [`Self::say`].
    pub fn send_clock(&mut self, answer: Answer) -> Result<(), ControlError> {
        self.send(&[&[TestState::Clock.byte()][..], &answer.bytes()].concat())
    }

    /// Reads why the server refused.
    ///
    /// # Errors
    /// [`ControlError`].
    pub fn read_refusal(&mut self) -> Result<Refusal, ControlError> {
        let deadline = Instant::now() + self.patience;
        Ok(Refusal::read(self.read::<{ refusal::LENGTH }>(deadline)?))
    }

    /// Sends `bytes`.
    ///
    /// # Errors
    /// As [`Self::say`].
    pub fn send(&mut self, bytes: &[u8]) -> Result<(), ControlError> {
        let deadline = Instant::now() + self.patience;
        let mut sent = 0;
        while sent < bytes.len() {
            self.stream.set_write_timeout(Some(self.left(deadline)?))?;
            match self.stream.write(&bytes[sent..]) {
                Ok(0) => return Err(ControlError::Closed),
                Ok(count) => sent += count,
                Err(error) => self.bear(error)?,
            }
        }
        Ok(())
    }

    fn read<const N: usize>(&mut self, deadline: Instant) -> Result<[u8; N], ControlError> {
        let (mut bytes, mut got) = ([0; N], 0);
        while got < N {
            got += self.read_some(&mut bytes[got..], deadline)?;
        }
        Ok(bytes)
    }

    fn read_some(&mut self, into: &mut [u8], deadline: Instant) -> Result<usize, ControlError> {
        loop {
            self.stream.set_read_timeout(Some(self.left(deadline)?))?;
            match self.stream.read(into) {
                Ok(0) => return Err(ControlError::Closed),
                Ok(count) => return Ok(count),
                Err(error) => self.bear(error)?,
            }
        }
    }

    fn left(&self, deadline: Instant) -> Result<Duration, ControlError> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ControlError::Late(self.patience)) } else { Ok(left) }
    }

    /// What is tried again, since the deadline is looked at anyway; a connection that was reset is closed.
    fn bear(&self, error: io::Error) -> Result<(), ControlError> {
        use io::ErrorKind::{BrokenPipe, ConnectionReset, Interrupted, TimedOut, WouldBlock};
        match error.kind() {
            Interrupted | TimedOut | WouldBlock => Ok(()),
            BrokenPipe | ConnectionReset => Err(ControlError::Closed),
            _ => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::net::TcpListener;
    use std::thread;

    fn pair(patience: Duration) -> (Control, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let theirs = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (Control::new(listener.accept().unwrap().0, patience).unwrap(), theirs)
    }

    #[test]
    fn what_comes_byte_by_byte_is_late_as_a_whole() {
        let (mut control, mut theirs) = pair(Duration::from_millis(300));
        let sending = thread::spawn(move || {
            for _ in 0..20 {
                if theirs.write_all(&[0]).is_err() {
                    break;
                }
                thread::sleep(Duration::from_millis(100));
            }
        });
        let began = Instant::now();
        // Four zeros are a length of nothing, which is no JSON; so a longer one.
        let late = control.read::<37>(Instant::now() + Duration::from_millis(300));
        assert!(matches!(late, Err(ControlError::Late(_))), "{late:?}");
        assert!(began.elapsed() < Duration::from_secs(1));
        drop(control);
        sending.join().unwrap();
    }

    #[test]
    fn documents_and_states_come_as_they_were_sent() {
        let (mut control, theirs) = pair(Duration::from_secs(2));
        let mut other = Control::new(theirs, Duration::from_secs(2)).unwrap();
        other.send_document(&json!({"tcp": true})).unwrap();
        other.say(TestState::TestEnd).unwrap();
        assert_eq!(control.read_document(100).unwrap(), json!({"tcp": true}));
        assert_eq!(control.hear().unwrap(), TestState::TestEnd);
        assert_eq!(control.hear_within(Duration::from_millis(20)).unwrap(), None);
        control.refuse(Refusal { code: 7, errno: 0 }).unwrap();
        assert_eq!(other.hear().unwrap(), TestState::ServerError);
        assert_eq!(other.read_refusal().unwrap().code, 7);
        drop(other);
        assert!(matches!(control.hear(), Err(ControlError::Closed)));
    }

    #[test]
    fn a_length_of_four_gigabytes_is_refused_before_anything_is_set_aside() {
        let (mut control, mut theirs) = pair(Duration::from_secs(2));
        theirs.write_all(&[255; 4]).unwrap();
        assert!(matches!(
            control.read_document(100),
            Err(ControlError::Protocol(ProtocolError::TooLong { .. }))
        ));
    }
}
