//! Rows and manifests as bytes, and back: zstd-compressed line JSON, and pretty JSON with a version.
//!
//! Never: a file name or a file. Unknown fields are let pass (a newer minor record stays readable); a newer version is not.

use super::{Manifest, RECORD_VERSION, Row};
use std::io::{BufRead, BufReader, Read, Write};
use std::marker::PhantomData;

/// zstd's own default, and the point where its speed is well above that of the JSON.
const ZSTD_LEVEL: i32 = 3;
/// Who writes and who reads hold 2^18 bytes of text back; with the level's own 2^21 a table is hardly smaller.
const ZSTD_WINDOW_LOG: u32 = 18;

/// A record that can't be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// Writing or reading failed, or the compression is damaged or cut short.
    #[error("{table}.jsonl.zst, near line {line}: {source}")]
    Io {
        /// The table.
        table: &'static str,
        /// The line, from 1.
        line: usize,
        /// The cause.
        source: std::io::Error,
    },
    /// A line is not a row of its table.
    #[error("{table}.jsonl.zst, line {line}: {source}")]
    Row {
        /// The table.
        table: &'static str,
        /// The line, from 1.
        line: usize,
        /// The cause.
        source: serde_json::Error,
    },
    /// The time goes back from one row to the next.
    #[error("{table}.jsonl.zst: a row of {t_us} µs follows one of {before_us} µs")]
    Order {
        /// The table.
        table: &'static str,
        /// The row before, microseconds.
        before_us: u64,
        /// The row, microseconds.
        t_us: u64,
    },
    /// `manifest.json` can't be written or read.
    #[error("manifest.json: {0}")]
    Manifest(#[from] serde_json::Error),
    /// The record is of another version.
    #[error(
        "manifest.json: records of version {found}, and this pipefill reads version {RECORD_VERSION}; \
         read them with {reader}"
    )]
    Version {
        /// The version that the manifest states.
        found: u64,
        /// What reads it: the pipefill that wrote it, or a newer one.
        reader: String,
    },
}

/// Writes one table as zstd-compressed line JSON, row by row.
pub struct TableWriter<R: Row, W: Write> {
    encoder: zstd::Encoder<'static, W>,
    /// The last row as text; kept for its memory.
    text: Vec<u8>,
    line: usize,
    rows: PhantomData<fn(&R)>,
}

impl<R: Row, W: Write> TableWriter<R, W> {
    /// A table without rows.
    ///
    /// # Errors
    /// [`RecordError::Io`].
    pub fn new(writer: W) -> Result<Self, RecordError> {
        let mut encoder =
            zstd::Encoder::new(writer, ZSTD_LEVEL).map_err(|source| io_error::<R>(1, source))?;
        encoder.window_log(ZSTD_WINDOW_LOG).map_err(|source| io_error::<R>(1, source))?;
        Ok(Self { encoder, text: Vec::new(), line: 0, rows: PhantomData })
    }

    /// Writes the next row.
    ///
    /// # Errors
    /// [`RecordError`] with the table and the row's line.
    pub fn push(&mut self, row: &R) -> Result<(), RecordError> {
        self.line += 1;
        self.text.clear();
        serde_json::to_writer(&mut self.text, row).map_err(|source| row_error::<R>(self.line, source))?;
        self.text.push(b'\n');
        self.encoder.write_all(&self.text).map_err(|source| io_error::<R>(self.line, source))
    }

    /// Ends the frame and hands the writer back, not flushed. Without this call the table is cut short.
    ///
    /// # Errors
    /// [`RecordError::Io`] with the last row's line.
    pub fn finish(self) -> Result<W, RecordError> {
        self.encoder.finish().map_err(|source| io_error::<R>(self.line.max(1), source))
    }
}

/// Writes a whole table. The frame is complete when this returns; the writer is not flushed.
///
/// # Errors
/// [`RecordError`] with the table and the row's line.
pub fn encode_table<'a, R: Row + 'a>(
    rows: impl IntoIterator<Item = &'a R>,
    writer: impl Write,
) -> Result<(), RecordError> {
    let mut table = TableWriter::new(writer)?;
    for row in rows {
        table.push(row)?;
    }
    table.finish().map(drop)
}

/// Reads one table row by row. Empty lines are let pass; after an error there is nothing more.
pub struct TableReader<R: Row, D: Read> {
    lines: BufReader<zstd::Decoder<'static, BufReader<D>>>,
    /// The last row as text; kept for its memory.
    text: String,
    line: usize,
    is_over: bool,
    rows: PhantomData<fn() -> R>,
}

impl<R: Row, D: Read> TableReader<R, D> {
    /// The rows that `reader` has.
    ///
    /// # Errors
    /// [`RecordError::Io`].
    pub fn new(reader: D) -> Result<Self, RecordError> {
        let decoder = zstd::Decoder::new(reader).map_err(|source| io_error::<R>(1, source))?;
        let lines = BufReader::new(decoder);
        Ok(Self { lines, text: String::new(), line: 0, is_over: false, rows: PhantomData })
    }

    /// The next row; `None` after the last.
    fn read(&mut self) -> Result<Option<R>, RecordError> {
        loop {
            self.line += 1;
            self.text.clear();
            let length = self.lines.read_line(&mut self.text);
            if length.map_err(|source| io_error::<R>(self.line, source))? == 0 {
                return Ok(None);
            }
            let text = self.text.trim_end_matches(['\r', '\n']);
            if !text.is_empty() {
                let row = serde_json::from_str(text).map_err(|source| row_error::<R>(self.line, source));
                return row.map(Some);
            }
        }
    }
}

impl<R: Row, D: Read> Iterator for TableReader<R, D> {
    type Item = Result<R, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let row = self.read().transpose();
        self.is_over = !matches!(row, Some(Ok(_)));
        row
    }
}

/// Reads a whole table. Empty lines are let pass.
///
/// # Errors
/// [`RecordError`] with the table and the line.
pub fn decode_table<R: Row>(reader: impl Read) -> Result<Vec<R>, RecordError> {
    TableReader::new(reader)?.collect()
}

/// Writes a manifest as pretty JSON with a final line break.
///
/// # Errors
/// [`RecordError::Manifest`] where the writer fails.
pub fn encode_manifest(manifest: &Manifest, mut writer: impl Write) -> Result<(), RecordError> {
    serde_json::to_writer_pretty(&mut writer, manifest)?;
    writer.write_all(b"\n").map_err(|source| RecordError::Manifest(serde_json::Error::io(source)))
}

/// Reads a manifest. The version is judged first, so that a newer record says so instead of missing a field.
///
/// # Errors
/// [`RecordError::Version`] for another version, [`RecordError::Manifest`] for text that isn't a manifest.
pub fn decode_manifest(reader: impl Read) -> Result<Manifest, RecordError> {
    let value: serde_json::Value = serde_json::from_reader(BufReader::new(reader))?;
    if let Some(found) = value["version"].as_u64()
        && found != u64::from(RECORD_VERSION)
    {
        let reader = match value["pipefill"].as_str() {
            Some(writer) => format!("pipefill {writer} or newer"),
            None => "a newer pipefill".to_owned(),
        };
        return Err(RecordError::Version { found, reader });
    }
    Ok(serde_json::from_value(value)?)
}

fn io_error<R: Row>(line: usize, source: std::io::Error) -> RecordError {
    RecordError::Io { table: R::TABLE, line, source }
}

fn row_error<R: Row>(line: usize, source: serde_json::Error) -> RecordError {
    RecordError::Row { table: R::TABLE, line, source }
}
