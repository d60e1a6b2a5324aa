//! The tables of a run in the making: a row is compressed and on its way to the file as soon as it is measured.
//!
//! Never: a file before its first row, or rows that wait for the end of the run.

use crate::checksum::Hashing;
use crate::{RecordError, TableWriter};
use pipefill_core::record::{
    AnyRow, AqmSample, CpuSample, DatagramSample, DeliverySample, PacketSample, PathSample, PingSample,
    Retransmit, TableSummary, TcpSample, UdpSample,
};
use pipefill_rows::Line;
use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// All tables of one run.
#[derive(Debug)]
pub(super) struct Tables {
    tcp: Table<TcpSample>,
    delivery: Table<DeliverySample>,
    udp: Table<UdpSample>,
    ping: Table<PingSample>,
    path: Table<PathSample>,
    cpu: Table<CpuSample>,
    retransmits: Table<Retransmit>,
    packets: Table<PacketSample>,
    datagrams: Table<DatagramSample>,
    aqm: Table<AqmSample>,
}

impl Tables {
    /// Tables in `directory`; nothing is made yet.
    pub(super) fn in_directory(directory: &Path) -> Self {
        Self {
            tcp: Table::new(directory),
            delivery: Table::new(directory),
            udp: Table::new(directory),
            ping: Table::new(directory),
            path: Table::new(directory),
            cpu: Table::new(directory),
            retransmits: Table::new(directory),
            packets: Table::new(directory),
            datagrams: Table::new(directory),
            aqm: Table::new(directory),
        }
    }

    /// Ends every table that has rows, and brings it down to the disk.
    ///
    /// # Errors
    /// [`RecordError`] where what is left can't be written.
    pub(super) fn finish(&mut self) -> Result<Vec<TableSummary>, RecordError> {
        let tables = [
            self.tcp.finish()?,
            self.delivery.finish()?,
            self.udp.finish()?,
            self.ping.finish()?,
            self.path.finish()?,
            self.cpu.finish()?,
            self.retransmits.finish()?,
            self.packets.finish()?,
            self.datagrams.finish()?,
            self.aqm.finish()?,
        ];
        Ok(tables.into_iter().flatten().collect())
    }

    /// Takes one row.
    ///
    /// # Errors
    /// [`RecordError`] where it can't be written.
    pub(super) fn push(&mut self, row: AnyRow) -> Result<(), RecordError> {
        match row {
            AnyRow::Tcp(row) => self.tcp.push(&row),
            AnyRow::Delivery(row) => self.delivery.push(&row),
            AnyRow::Udp(row) => self.udp.push(&row),
            AnyRow::Ping(row) => self.ping.push(&row),
            AnyRow::Path(row) => self.path.push(&row),
            AnyRow::Cpu(row) => self.cpu.push(&row),
            AnyRow::Retransmit(row) => self.retransmits.push(&row),
            AnyRow::Packets(row) => self.packets.push(&row),
            AnyRow::Datagrams(row) => self.datagrams.push(&row),
            AnyRow::Aqm(row) => self.aqm.push(&row),
        }
    }
}

/// Name of a table's file.
pub(super) fn table_name<R: Line>() -> String {
    table_file(R::TABLE)
}

/// Name of the file of the table called `table`.
pub(super) fn table_file(table: &str) -> String {
    format!("{table}.jsonl.zst")
}

/// One table; its file is made with the first row.
struct Table<R: Line> {
    path: PathBuf,
    writer: Option<TableWriter<R, Hashing<BufWriter<File>>>>,
}

impl<R: Line> Table<R> {
    fn new(directory: &Path) -> Self {
        Self { path: directory.join(table_name::<R>()), writer: None }
    }

    fn push(&mut self, row: &R) -> Result<(), RecordError> {
        match &mut self.writer {
            Some(writer) => writer.push(row),
            None => {
                let file = File::create_new(&self.path).map_err(cannot_write::<R>)?;
                self.writer.insert(TableWriter::new(Hashing::new(BufWriter::new(file)))?).push(row)
            }
        }
    }

    fn finish(&mut self) -> Result<Option<TableSummary>, RecordError> {
        let Some(writer) = self.writer.take() else {
            return Ok(None);
        };
        let rows = writer.rows();
        let (mut file, bytes, sha256) = writer.finish()?.finish();
        file.flush().and_then(|()| file.get_ref().sync_all()).map_err(cannot_write::<R>)?;
        Ok(Some(TableSummary { table: R::TABLE.to_owned(), rows, bytes, sha256 }))
    }
}

impl<R: Line> fmt::Debug for Table<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("path", &self.path).finish_non_exhaustive()
    }
}

fn cannot_write<R: Line>(source: io::Error) -> RecordError {
    RecordError::Io { table: R::TABLE, line: 1, source }
}
