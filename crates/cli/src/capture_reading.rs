//! Reads a capture: its connections, what was left out, where it broke.

use crate::failure::Failure;
use pipefill_capture::headers::Other;
use pipefill_capture::join::Survey;
use pipefill_capture::read::{ReadError, Reader};
use pipefill_capture::rows::Watched;
use pipefill_capture::tcp::Counts;
use pipefill_capture::whole::{Connections, Source, connections};
use pipefill_lab::mapped_file::MappedFile;
use std::fs::File;
use std::io;
use std::path::Path;

/// Standard input, in place of a file's name.
pub(crate) const STDIN: &str = "-";

/// What a capture has.
pub(crate) struct CaptureRead {
    /// What was counted.
    pub(crate) counts: Counts,
    /// Packets that it dropped itself, where it tells.
    pub(crate) dropped: Option<u64>,
    /// Where and why reading ended early.
    pub(crate) broken: Option<String>,
    /// Its connections with data.
    pub(crate) watched: Vec<Watched>,
    /// Smaller ones that were left out.
    pub(crate) left_out: u64,
    /// What it says of itself.
    pub(crate) comments: Vec<String>,
}

impl CaptureRead {
    /// Packets that the snap length made unreadable.
    pub(crate) fn cut(&self) -> u64 {
        [Other::CutLink, Other::CutIp, Other::CutTcp].map(|kind| self.counts.other(kind)).into_iter().sum()
    }
}

/// Reads `file`, or standard input; `survey` is told of it too.
///
/// # Errors
/// [`Failure::Usage`] where it can't be opened or is no capture.
pub(crate) fn read(file: &Path, survey: Option<&mut Survey>) -> Result<CaptureRead, Failure> {
    let (name, mut opened) = (name(file), CaptureFile::open(file)?);
    let mut reader = opened.reader()?;
    let Connections { whole, watched, left_out } = connections(&mut reader, survey);
    let broken = whole.broken.map(|error| format!("{name}: {error}"));
    let comments = reader.comments().to_vec();
    Ok(CaptureRead { counts: whole.counts, dropped: reader.dropped(), broken, watched, left_out, comments })
}

/// A capture that is open, from its first byte.
pub(crate) struct CaptureFile {
    name: String,
    source: Source,
    mapped: Option<MappedFile>,
}

impl CaptureFile {
    /// `file`, or standard input.
    ///
    /// # Errors
    /// [`Failure::Usage`] where it can't be opened.
    pub(crate) fn open(file: &Path) -> Result<Self, Failure> {
        let name = name(file);
        if file == Path::new(STDIN) {
            return Ok(Self { name, source: Box::new(io::stdin().lock()), mapped: None });
        }
        let opened = File::open(file).map_err(|error| {
            Failure::usage(
                format!("{name}: {error}"),
                "name a capture: pcap or pcapng, also in gzip or zstd; - is standard input",
            )
        })?;
        let mapped = MappedFile::of(&opened);
        Ok(Self { name, source: Box::new(opened), mapped })
    }

    /// Reads it; once.
    ///
    /// # Errors
    /// [`Failure::Usage`] where it is no capture.
    pub(crate) fn reader(&mut self) -> Result<Reader<'_, Source>, Failure> {
        let source = std::mem::replace(&mut self.source, Box::new(io::empty()));
        let reader = match &self.mapped {
            Some(mapped) => Reader::of_mapped(mapped, source),
            None => Reader::open(source),
        };
        reader.map_err(|error| no_capture(&self.name, &error))
    }
}

/// How messages call it.
pub(crate) fn name(file: &Path) -> String {
    if file == Path::new(STDIN) { "standard input".to_owned() } else { file.display().to_string() }
}

/// What is to be said of what is no capture.
fn no_capture(name: &str, error: &ReadError) -> Failure {
    Failure::usage(
        format!("{name}: {error}"),
        "name a capture as tcpdump -w or Wireshark write it: pcap or pcapng, also in gzip or zstd",
    )
}
