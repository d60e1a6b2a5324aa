//! Where the rows of a run go while it runs, so that what a run holds does not grow with its length.
//!
//! Never: a row held back until the end, or one that is lost without an error.

use super::{
    AqmSample, CpuSample, DatagramSample, DeliverySample, Manifest, PacketSample, PathSample, PingSample,
    Retransmit, RunRecord, TcpSample, UdpSample,
};
use crate::file_name::FileName;
use crate::problem::Problem;
use schemars::JsonSchema;
use serde::Serialize;
use std::error::Error;
use std::io::{self, Write};

/// Takes the rows of one run as they are measured. Rows of a table come in its order; tables come mixed.
pub trait Sink: Send {
    /// Takes one row.
    ///
    /// # Errors
    /// [`SinkError`] where it can't be kept; the run has to end then.
    fn push(&mut self, row: AnyRow) -> Result<(), SinkError>;

    /// Begins a file beside the tables, e.g. a capture. What was written to it by the end of the run belongs to the record. Where no files
    /// are kept, what is written goes nowhere.
    ///
    /// # Errors
    /// [`SinkError`] where it can't be made: the run has one of this name.
    fn artifact(&mut self, _name: &FileName) -> Result<Box<dyn Write + Send>, SinkError> {
        Ok(Box::new(io::sink()))
    }
}

/// Why a row could not be kept, in the words of what keeps it.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct SinkError(Box<dyn Error + Send + Sync>);

impl SinkError {
    /// Of `source`.
    pub fn new(source: impl Error + Send + Sync + 'static) -> Self {
        Self(Box::new(source))
    }
}

impl From<SinkError> for Problem {
    fn from(error: SinkError) -> Self {
        Self::broken(error.to_string())
    }
}

/// A row of any table.
#[expect(clippy::large_enum_variant, reason = "most rows are of the largest variant")]
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
#[serde(tag = "table", content = "row", rename_all = "lowercase")]
pub enum AnyRow {
    /// Of `tcp.jsonl.zst`.
    Tcp(TcpSample),
    /// Of `delivery.jsonl.zst`.
    Delivery(DeliverySample),
    /// Of `udp.jsonl.zst`.
    Udp(UdpSample),
    /// Of `ping.jsonl.zst`.
    Ping(PingSample),
    /// Of `path.jsonl.zst`.
    Path(PathSample),
    /// Of `cpu.jsonl.zst`.
    Cpu(CpuSample),
    /// Of `retransmits.jsonl.zst`.
    #[serde(rename = "retransmits")]
    Retransmit(Retransmit),
    /// Of `packets.jsonl.zst`.
    Packets(PacketSample),
    /// Of `datagrams.jsonl.zst`.
    Datagrams(DatagramSample),
    /// Of `aqm.jsonl.zst`.
    Aqm(AqmSample),
}

impl AnyRow {
    /// When it was read, microseconds since the run began.
    pub fn t_us(&self) -> u64 {
        match self {
            Self::Tcp(row) => row.t_us,
            Self::Delivery(row) => row.t_us,
            Self::Udp(row) => row.t_us,
            Self::Ping(row) => row.t_us,
            Self::Path(row) => row.t_us,
            Self::Cpu(row) => row.t_us,
            Self::Retransmit(row) => row.t_us,
            Self::Packets(row) => row.t_us,
            Self::Datagrams(row) => row.t_us,
            Self::Aqm(row) => row.t_us,
        }
    }
}

/// All rows in memory: for short runs and for tests.
#[derive(Debug, Default)]
pub struct InMemory {
    tcp: Vec<TcpSample>,
    delivery: Vec<DeliverySample>,
    udp: Vec<UdpSample>,
    ping: Vec<PingSample>,
    path: Vec<PathSample>,
    cpu: Vec<CpuSample>,
    retransmits: Vec<Retransmit>,
    packets: Vec<PacketSample>,
    datagrams: Vec<DatagramSample>,
    aqm: Vec<AqmSample>,
}

impl InMemory {
    /// The record with its `manifest`.
    pub fn into_record(self, manifest: Manifest) -> RunRecord {
        let Self { tcp, delivery, udp, ping, path, cpu, retransmits, packets, datagrams, aqm } = self;
        RunRecord { manifest, tcp, delivery, udp, ping, path, cpu, retransmits, packets, datagrams, aqm }
    }
}

impl Sink for InMemory {
    fn push(&mut self, row: AnyRow) -> Result<(), SinkError> {
        match row {
            AnyRow::Tcp(row) => self.tcp.push(row),
            AnyRow::Delivery(row) => self.delivery.push(row),
            AnyRow::Udp(row) => self.udp.push(row),
            AnyRow::Ping(row) => self.ping.push(row),
            AnyRow::Path(row) => self.path.push(row),
            AnyRow::Cpu(row) => self.cpu.push(row),
            AnyRow::Retransmit(row) => self.retransmits.push(row),
            AnyRow::Packets(row) => self.packets.push(row),
            AnyRow::Datagrams(row) => self.datagrams.push(row),
            AnyRow::Aqm(row) => self.aqm.push(row),
        }
        Ok(())
    }
}
