//! Reads a capture: its connections, what was left out, where it broke.

use crate::failure::Failure;
use pipefill_capture::headers::Other;
use pipefill_capture::join::Survey;
use pipefill_capture::read::{ReadError, Reader};
use pipefill_capture::rows::Watched;
use pipefill_capture::tcp::Counts;
use pipefill_capture::whole::{Connections, Source, connections};
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
    let (name, mut reader) = (name(file), reader(file)?);
    let Connections { whole, watched, left_out } = connections(&mut reader, survey);
    let broken = whole.broken.map(|error| format!("{name}: {error}"));
    let comments = reader.comments().to_vec();
    Ok(CaptureRead { counts: whole.counts, dropped: reader.dropped(), broken, watched, left_out, comments })
}

/// Of `file`, or of standard input.
///
/// # Errors
/// [`Failure::Usage`] where it can't be opened or is no capture.
pub(crate) fn reader(file: &Path) -> Result<Reader<Source>, Failure> {
    let source: Source =
        if file == Path::new(STDIN) { Box::new(io::stdin().lock()) } else { Box::new(opened(file)?) };
    Reader::open(source).map_err(|error| no_capture(&name(file), &error))
}

/// The capture `file`, opened.
///
/// # Errors
/// [`Failure::Usage`] where that fails.
fn opened(file: &Path) -> Result<File, Failure> {
    File::open(file).map_err(|error| {
        Failure::usage(
            format!("{}: {error}", file.display()),
            "name a capture: pcap or pcapng, also in gzip or zstd; - is standard input",
        )
    })
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
