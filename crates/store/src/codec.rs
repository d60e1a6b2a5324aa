//! Rows and manifests as bytes, and back: zstd-compressed line JSON, and pretty JSON with a version.
//!
//! Unknown fields are let pass (a newer minor record stays readable); a newer version is not.
//! What is read may come from anybody: no input makes a reader hold more than bounds that are fixed here.

mod ahead;
mod error;
mod rows;
mod unpack;

pub(crate) use ahead::TableRows;
pub use error::RecordError;
pub(crate) use rows::Rows;

use crate::field::field;
use error::{EMPTY_LINES_MAX, MANIFEST_MAX, ROW_MAX, io_error, row_error};
use pipefill_core::record::{Manifest, RECORD_VERSION, RECORD_VERSION_MIN};
use pipefill_rows::{Line, refuse_large};
use serde::Deserialize;
use std::io::{BufRead, BufReader, Read, Write};
use std::marker::PhantomData;
use unpack::Unpacker;
use zstd::stream::zio;

/// zstd's own default, and the point where its speed is well above that of the JSON.
const ZSTD_LEVEL: i32 = 3;
/// Who writes and who reads hold 2^18 bytes of text back; with the level's own 2^21 a table is hardly smaller.
const ZSTD_WINDOW_LOG: u32 = 18;
/// A table that somebody compressed again at the strongest ordinary level has 2^23; a frame that asks for more is refused.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;
/// Read from a table's file at once: more than all of a short one.
const PACKED_BYTES: usize = 32 << 10;

/// Writes one table as zstd-compressed line JSON, row by row.
pub struct TableWriter<R: Line, W: Write> {
    encoder: zstd::Encoder<'static, W>,
    /// The last row as text; kept for its memory.
    text: String,
    line: usize,
    rows: PhantomData<fn(&R)>,
}

impl<R: Line, W: Write> TableWriter<R, W> {
    /// A table without rows.
    ///
    /// # Errors
    /// [`RecordError::Io`].
    pub fn new(writer: W) -> Result<Self, RecordError> {
        let mut encoder =
            zstd::Encoder::new(writer, ZSTD_LEVEL).map_err(|source| io_error::<R>(1, source))?;
        encoder.window_log(ZSTD_WINDOW_LOG).map_err(|source| io_error::<R>(1, source))?;
        encoder.include_checksum(true).map_err(|source| io_error::<R>(1, source))?;
        Ok(Self { encoder, text: String::new(), line: 0, rows: PhantomData })
    }

    /// Writes the next row.
    ///
    /// # Errors
    /// [`RecordError`] with the table and the row's line.
    pub fn push(&mut self, row: &R) -> Result<(), RecordError> {
        self.line += 1;
        row.write(&mut self.text).map_err(|source| row_error::<R>(self.line, source))?;
        self.text.push('\n');
        self.encoder.write_all(self.text.as_bytes()).map_err(|source| io_error::<R>(self.line, source))
    }

    /// Rows written so far.
    pub fn rows(&self) -> u64 {
        self.line as u64
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
pub fn encode_table<'a, R: Line + 'a>(
    rows: impl IntoIterator<Item = &'a R>,
    writer: impl Write,
) -> Result<(), RecordError> {
    let mut table = TableWriter::new(writer)?;
    for row in rows {
        table.push(row)?;
    }
    table.finish().map(drop)
}

/// Reads one table row by row. A few empty lines are skipped; after an error there is nothing more.
pub struct TableReader<R: Line, D: Read> {
    lines: BufReader<zio::Reader<BufReader<D>, Unpacker>>,
    /// The last row as text; kept for its memory.
    text: String,
    line: usize,
    /// Rows read, and rows that there should be.
    count: u64,
    listed: Option<u64>,
    /// Empty lines read.
    empty: u64,
    is_over: bool,
    rows: PhantomData<fn() -> R>,
}

impl<R: Line, D: Read> TableReader<R, D> {
    /// The rows that `reader` has.
    ///
    /// # Errors
    /// [`RecordError::Io`].
    pub fn new(reader: D) -> Result<Self, RecordError> {
        let packed = BufReader::with_capacity(PACKED_BYTES, reader);
        let unpacker = Unpacker::new().map_err(|source| io_error::<R>(1, source))?;
        let lines = BufReader::new(zio::Reader::new(packed, unpacker));
        Ok(Self {
            lines,
            text: String::new(),
            line: 0,
            count: 0,
            listed: None,
            empty: 0,
            is_over: false,
            rows: PhantomData,
        })
    }

    /// Ends with [`RecordError::RowCount`] unless there are so many rows.
    #[must_use]
    pub fn listed(self, rows: u64) -> Self {
        Self { listed: Some(rows), ..self }
    }

    /// The next row; `None` after the last.
    fn read(&mut self) -> Result<Option<R>, RecordError> {
        loop {
            self.line += 1;
            if self.read_line()? == 0 {
                return self.counted(self.count).map(|()| None);
            }
            self.text.truncate(self.text.trim_end_matches(['\r', '\n']).len());
            if !self.text.is_empty() {
                let row = R::read(&mut self.text).map_err(|source| row_error::<R>(self.line, source))?;
                self.count += 1;
                if self.listed.is_some_and(|listed| self.count > listed) {
                    self.counted(self.count)?;
                }
                return Ok(Some(row));
            }
            self.empty += 1;
            if self.empty > EMPTY_LINES_MAX {
                return Err(RecordError::EmptyLines { table: R::TABLE, line: self.line });
            }
        }
    }

    /// The next line, of a bounded length: the bytes that it has.
    fn read_line(&mut self) -> Result<usize, RecordError> {
        self.text.clear();
        let mut bounded = (&mut self.lines).take(ROW_MAX as u64 + 1);
        let length = bounded.read_line(&mut self.text);
        match length.map_err(|source| io_error::<R>(self.line, source))? {
            length if length > ROW_MAX => Err(RecordError::LongRow { table: R::TABLE, line: self.line }),
            length => Ok(length),
        }
    }

    /// Whether `found` rows are as many as are listed, where that is known.
    fn counted(&self, found: u64) -> Result<(), RecordError> {
        match self.listed {
            Some(listed) if listed != found => Err(RecordError::RowCount { table: R::TABLE, listed, found }),
            _ => Ok(()),
        }
    }
}

impl<R: Line, D: Read> Iterator for TableReader<R, D> {
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

/// Reads a whole table. A few empty lines are skipped.
///
/// # Errors
/// [`RecordError`] with the table and the line.
pub fn decode_table<R: Line>(reader: impl Read) -> Result<Vec<R>, RecordError> {
    TableReader::new(reader)?.collect()
}

/// Writes a manifest as pretty JSON with a final line break.
///
/// # Errors
/// [`RecordError::ManifestIo`] where the writer fails.
pub fn encode_manifest(manifest: &Manifest, mut writer: impl Write) -> Result<(), RecordError> {
    let mut text = serde_json::to_vec_pretty(manifest).map_err(no_manifest)?;
    text.push(b'\n');
    writer.write_all(&text).map_err(RecordError::ManifestIo)
}

/// What every version of a manifest has.
#[derive(Deserialize)]
struct Head {
    version: Option<u64>,
    pipefill: Option<String>,
}

/// Reads a manifest. Where that fails, the version is looked at first, so that the error of a newer record is its version instead of a missing field.
///
/// # Errors
/// [`RecordError::Version`] for another version, [`RecordError::Manifest`] for text that isn't a manifest, with the field,
/// [`RecordError::LongManifest`] for one that nobody wrote.
pub fn decode_manifest(reader: impl Read) -> Result<Manifest, RecordError> {
    let mut text = Vec::new();
    reader.take(MANIFEST_MAX + 1).read_to_end(&mut text).map_err(RecordError::ManifestIo)?;
    if text.len() as u64 > MANIFEST_MAX {
        return Err(RecordError::LongManifest);
    }
    let manifest = serde_json::from_slice::<Manifest>(&text);
    let is_of_version =
        |manifest: &Manifest| (RECORD_VERSION_MIN..=RECORD_VERSION).contains(&manifest.version);
    if !manifest.as_ref().is_ok_and(is_of_version) {
        refuse_other_version(&text)?;
    }
    refuse_large(&text).map_err(no_manifest)?;
    manifest.map_err(|source| RecordError::Manifest { field: field::<Manifest>(&text, &source), source })
}

/// Refuses text that is no JSON, or of another version.
fn refuse_other_version(text: &[u8]) -> Result<(), RecordError> {
    let head: Head = serde_json::from_slice(text).map_err(no_manifest)?;
    if let Some(found) = head.version
        && !(u64::from(RECORD_VERSION_MIN)..=u64::from(RECORD_VERSION)).contains(&found)
    {
        let reader = match head.pipefill {
            Some(writer) => format!("pipefill {writer} or newer"),
            None => "a newer pipefill".to_owned(),
        };
        return Err(RecordError::Version { found, reader });
    }
    Ok(())
}

fn no_manifest(source: serde_json::Error) -> RecordError {
    RecordError::Manifest { field: String::new(), source }
}
