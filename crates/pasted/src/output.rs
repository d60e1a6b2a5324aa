//! What an output shows: its connections with their samples, and its flows of datagrams.

use crate::{CONNECTIONS_MAX, SAMPLES_MAX};
use pipefill_core::record::{Gap, Observed, ReadFrom, TcpSample};
use pipefill_core::units::Rate;
use std::time::Duration;
use thiserror::Error;

/// Why nothing was read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReadError {
    /// It is too large.
    #[error("it has {bytes} bytes, and at most 64 MiB are read")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// It is JSON that does not parse.
    #[error("it begins like JSON and is none: {message}")]
    Json {
        /// serde_json's message.
        message: String,
    },
    /// No known program prints such text.
    #[error("it is not the output of a known program")]
    Unknown,
    /// The program's output is known, and has no connection that was measured.
    #[error("this output of {program} shows no connection that carried data")]
    NoConnection {
        /// The program.
        program: String,
    },
    /// The program reports why it failed.
    #[error("{program} failed: {message}")]
    Failed {
        /// The program.
        program: String,
        /// Its own message.
        message: String,
    },
}

/// The output of a program.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Output {
    /// The program and what it printed, e.g. `iperf3 -J`.
    pub program: String,
    /// Its version, where the output names it.
    pub version: Option<String>,
    /// Whether it breaks off, or holds the program's own message of a failure after data.
    pub is_cut_off: bool,
    /// Connections of TCP or QUIC, each with at least two samples.
    pub connections: Vec<OutputConnection>,
    /// Flows of datagrams.
    pub datagrams: Vec<OutputDatagrams>,
    /// Connections beyond [`CONNECTIONS_MAX`].
    pub left_out: usize,
}

/// A connection.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OutputConnection {
    /// Its ends, and what the output does not show of it ([`Observed::read_from`]).
    pub observed: Observed,
    /// Its congestion control; empty where the output does not name it.
    pub congestion_control: String,
    /// What its program was to send at most, bits per second of payload.
    pub offered: Option<Rate>,
    /// From one sample to the next.
    pub every: Duration,
    /// In order of time, from 0.
    pub samples: Vec<TcpSample>,
    /// Shares of one CPU that the test used at this end and at the peer's.
    pub cpu: [Option<f64>; 2],
    /// What the test set both socket buffers to, bytes.
    pub buffers: Option<u64>,
}

/// A flow of datagrams: what both ends counted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OutputDatagrams {
    /// Its ends.
    pub observed: Observed,
    /// Whether this host sent.
    pub sends: bool,
    /// What was asked for, bits per second of payload; `None` where that is as much as possible, or not shown.
    pub asked: Option<Rate>,
    /// How long it lasted, microseconds.
    pub span_us: u64,
    /// Payload of a datagram, bytes.
    pub length: u64,
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams that did not arrive.
    pub lost: u64,
    /// Datagrams that came after a later one.
    pub reordered: u64,
    /// RFC 3550 jitter, nanoseconds.
    pub jitter_ns: Option<u64>,
}

impl Output {
    /// No more connections and samples than are judged.
    pub(crate) fn bounded(mut self) -> Self {
        self.connections.sort_by_key(|connection| std::cmp::Reverse(connection.carried()));
        self.left_out += self.connections.len().saturating_sub(CONNECTIONS_MAX)
            + self.datagrams.len().saturating_sub(CONNECTIONS_MAX);
        self.connections.truncate(CONNECTIONS_MAX);
        self.datagrams.truncate(CONNECTIONS_MAX);
        let (program, version, is_cut_off) = (self.program.clone(), self.version.clone(), self.is_cut_off);
        let named = |observed: &mut Observed| {
            let read_from = observed.read_from.get_or_insert_with(ReadFrom::default);
            (read_from.program, read_from.version) = (program.clone(), version.clone());
            if is_cut_off {
                read_from.gaps.push(Gap::Rest);
            }
            read_from.gaps.sort_unstable();
            read_from.gaps.dedup();
        };
        for connection in &mut self.connections {
            connection.samples.truncate(SAMPLES_MAX);
            named(&mut connection.observed);
        }
        self.datagrams.iter_mut().for_each(|flow| named(&mut flow.observed));
        self
    }
}

impl OutputConnection {
    /// Payload in the direction with more of it, from the first sample to the last.
    pub(crate) fn carried(&self) -> u64 {
        let Some((first, last)) = self.samples.first().zip(self.samples.last()) else { return 0 };
        let grown =
            |now: Option<u64>, before: Option<u64>| now.unwrap_or(0).saturating_sub(before.unwrap_or(0));
        grown(last.info.bytes_acked, first.info.bytes_acked)
            .max(grown(last.info.bytes_received, first.info.bytes_received))
    }
}
