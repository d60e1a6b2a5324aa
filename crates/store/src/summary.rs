//! The runs of a large experiment in one file: the manifest of each and its figures, without rows.
//!
//! ```text
//! block  = a skippable frame of zstd with the length and the SHA-256 of the next frame · a frame of lines, one a run
//! line   = {"id": …, "valid": …, "started_unix_ms": …, "manifest": {…}, "figures": {…}}
//! ```
//! `zstdcat` prints the lines. A block is whole or not there: what a killed process left of one is cut off by the next that writes. A
//! later line of a run stands for an earlier one. Never: a line that is read before its block's hash was compared.

mod block;

use crate::damage::unreadable;
use crate::{Damage, SUMMARY, StoreError, decode_manifest, files};
use block::{Blocks, NextBlock, write_block};
use pipefill_core::prng::fnv1a;
use pipefill_core::record::Manifest;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Bytes of lines that make a block without waiting.
const BLOCK: usize = 4 << 20;
/// Longest time that a line waits for its block.
const WAIT: Duration = Duration::from_secs(1);

/// Adds runs to a file of summaries. To be used by who holds the experiment's lock.
#[derive(Debug)]
pub struct SummaryWriter {
    path: PathBuf,
    file: File,
    lines: Vec<u8>,
    since: Instant,
}

impl SummaryWriter {
    /// Opens the file of the experiment in `directory`, or makes it, and cuts off what is no whole block.
    ///
    /// # Errors
    /// [`StoreError`]; [`StoreError::Damaged`] for a file with a block that has changed.
    pub fn open(directory: &Path) -> Result<Self, StoreError> {
        let path = directory.join(SUMMARY);
        let failed = |doing| StoreError::file(doing, &path);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).custom_flags(files::careful());
        let mut file = options.open(&path).map_err(failed("opening"))?;
        files::regular(file.metadata().map_err(failed("reading"))?.file_type()).map_err(failed("opening"))?;
        let whole = whole_blocks(directory)?;
        file.set_len(whole).and_then(|()| file.seek(SeekFrom::End(0))).map_err(failed("writing"))?;
        files::sync_directory(directory).map_err(failed("writing"))?;
        Ok(Self { path, file, lines: Vec::new(), since: Instant::now() })
    }

    /// Adds a run with its `figures`. It is kept once this or a later call has returned with its block written, a second later at most;
    /// see [`SummaryWriter::flush`].
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn append(&mut self, manifest: &Manifest, figures: &impl Serialize) -> Result<(), StoreError> {
        let line = Written {
            id: &manifest.run.id,
            valid: manifest.invalid.is_empty(),
            started_unix_ms: manifest.started_unix_ms,
            manifest,
            figures,
        };
        serde_json::to_writer(&mut self.lines, &line).map_err(StoreError::Json)?;
        self.end_line()
    }

    /// Adds a run as another file has it.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn copy(&mut self, summary: &Summary) -> Result<(), StoreError> {
        self.lines.extend_from_slice(summary.line.as_bytes());
        self.end_line()
    }

    /// Writes what waits, down to the disk.
    ///
    /// # Errors
    /// [`StoreError::File`].
    pub fn flush(&mut self) -> Result<(), StoreError> {
        if !self.lines.is_empty() {
            let written = write_block(&mut self.file, &self.lines).and_then(|()| self.file.sync_data());
            written.map_err(StoreError::file("writing", &self.path))?;
            self.lines.clear();
        }
        self.since = Instant::now();
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), StoreError> {
        self.lines.push(b'\n');
        if self.lines.len() >= BLOCK || self.since.elapsed() >= WAIT { self.flush() } else { Ok(()) }
    }
}

/// A line as it is written.
#[derive(Serialize)]
struct Written<'a, Figures> {
    id: &'a str,
    valid: bool,
    started_unix_ms: Option<u64>,
    manifest: &'a Manifest,
    figures: &'a Figures,
}

/// What is asked of every line before it is read.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    valid: bool,
    started_unix_ms: Option<u64>,
    #[serde(borrow)]
    manifest: &'a RawValue,
    #[serde(borrow)]
    figures: &'a RawValue,
}

/// The summary of one run.
#[derive(Debug, Clone)]
pub struct Summary {
    /// The run's id.
    pub id: String,
    /// Whether it may be believed.
    pub valid: bool,
    /// When it began, where that is known.
    pub started_unix_ms: Option<u64>,
    line: String,
    path: PathBuf,
}

impl Summary {
    fn of(line: &str, path: &Path) -> Result<Self, StoreError> {
        let Line { id, valid, started_unix_ms, .. } = parsed(line, path)?;
        Ok(Self { id: id.into_owned(), valid, started_unix_ms, line: line.to_owned(), path: path.to_owned() })
    }

    /// The manifest, and the figures that its run was kept with.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] for what is none.
    pub fn read<Figures: DeserializeOwned>(&self) -> Result<(Manifest, Figures), StoreError> {
        let line = parsed(&self.line, &self.path)?;
        let manifest = decode_manifest(line.manifest.get().as_bytes());
        let manifest = manifest.map_err(|error| unreadable(&self.path, error))?;
        let figures = serde_json::from_str(line.figures.get());
        Ok((manifest, figures.map_err(|error| no_line(&self.path, &error))?))
    }
}

impl Summary {
    /// How good it is where a run has several; the least is the best, whatever their order: a valid one, then the older one.
    pub(super) fn rank(&self) -> (bool, Option<u64>, u64) {
        (!self.valid, self.started_unix_ms, fnv1a(self.line.as_bytes()))
    }
}

/// Takes the file of the experiment in `directory`, where a block of it has changed, out of the way to `kept`, and leaves the blocks that have
/// not in its place.
///
/// # Errors
/// [`StoreError::File`].
pub(super) fn mend(directory: &Path, kept: &Path) -> Result<(), StoreError> {
    let path = directory.join(SUMMARY);
    let failed = |error| StoreError::file("mending", &path)(error);
    files::copy(&path, kept).map_err(StoreError::file("writing", kept))?;
    let mut whole = Vec::new();
    for found in Blocks::open(&path).map_err(failed)? {
        if let NextBlock::Lines(text) = found.map_err(failed)? {
            write_block(&mut whole, text.as_bytes()).map_err(failed)?;
        }
    }
    files::replace(&path, &whole)
}

/// The summaries of the experiment in `directory`, block by block, as they were added: each run's last line alone. What a process was
/// writing when it was killed is not among them.
///
/// # Errors
/// [`StoreError::Damaged`] for a block that has changed, here or in place of a summary; [`StoreError`] for a file that can't be read.
pub fn summaries(
    directory: &Path,
) -> Result<impl Iterator<Item = Result<Summary, StoreError>> + use<>, StoreError> {
    let last = last_lines(directory)?;
    let all = all_lines(directory)?;
    Ok(all
        .enumerate()
        .filter(move |(at, summary)| {
            summary.as_ref().map_or(true, |summary| last.get(&summary.id) == Some(at))
        })
        .map(|(_, summary)| summary))
}

/// Where the last line of each run stands.
fn last_lines(directory: &Path) -> Result<BTreeMap<String, usize>, StoreError> {
    let all = all_lines(directory)?.enumerate();
    all.map(|(at, summary)| Ok((summary?.id, at))).collect()
}

/// Every line of whole blocks.
fn all_lines(
    directory: &Path,
) -> Result<impl Iterator<Item = Result<Summary, StoreError>> + use<>, StoreError> {
    let path = directory.join(SUMMARY);
    let blocks = Blocks::open(&path).map_err(StoreError::file("reading", &path))?;
    let lines = move |found: io::Result<NextBlock>| -> Vec<Result<Summary, StoreError>> {
        match found {
            Ok(NextBlock::Lines(text)) => text.lines().map(|line| Summary::of(line, &path)).collect(),
            Ok(NextBlock::Torn) => Vec::new(),
            Ok(NextBlock::Changed) => vec![Err(changed(&path))],
            Err(error) => vec![Err(StoreError::file("reading", &path)(error))],
        }
    };
    Ok(blocks.flat_map(lines))
}

/// Bytes of whole blocks at the beginning of the file.
fn whole_blocks(directory: &Path) -> Result<u64, StoreError> {
    let path = directory.join(SUMMARY);
    let mut blocks = Blocks::open(&path).map_err(StoreError::file("reading", &path))?;
    let mut whole = 0;
    while let Some(found) = blocks.next() {
        match found.map_err(StoreError::file("reading", &path))? {
            NextBlock::Lines(_) => whole = blocks.offset(),
            NextBlock::Torn => break,
            NextBlock::Changed => return Err(changed(&path)),
        }
    }
    Ok(whole)
}

fn parsed<'a>(line: &'a str, path: &Path) -> Result<Line<'a>, StoreError> {
    serde_json::from_str(line).map_err(|error| no_line(path, &error))
}

fn no_line(path: &Path, error: &serde_json::Error) -> StoreError {
    Damage::Summary(error.to_string()).of(path)
}

fn changed(path: &Path) -> StoreError {
    Damage::ChangedBlock.of(path)
}
