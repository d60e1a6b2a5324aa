//! Reads a capture: its connections, what was left out, where it broke.

use crate::failure::Failure;
use pipefill_capture::headers::Other;
use pipefill_capture::read::{ReadError, Reader};
use pipefill_capture::rows::{Sampling, Watched};
use pipefill_capture::tcp::{Counts, Observer, Reconstruction};
use std::fs::File;
use std::io::{self, Read};
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

/// Reads `file`, or standard input; `also` is told of every segment.
///
/// # Errors
/// [`Failure::Usage`] where it can't be opened or is no capture.
pub(crate) fn read<O: Observer>(file: &Path, also: &mut O) -> Result<CaptureRead, Failure> {
    if file == Path::new(STDIN) {
        return read_all(io::stdin().lock(), &name(file), also);
    }
    read_all(opened(file)?, &name(file), also)
}

/// The capture `file`, opened.
///
/// # Errors
/// [`Failure::Usage`] where that fails.
pub(crate) fn opened(file: &Path) -> Result<File, Failure> {
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
pub(crate) fn no_capture(name: &str, error: &ReadError) -> Failure {
    Failure::usage(
        format!("{name}: {error}"),
        "name a capture as tcpdump -w or Wireshark write it: pcap or pcapng, also in gzip or zstd",
    )
}

fn read_all<O: Observer>(input: impl Read, name: &str, also: &mut O) -> Result<CaptureRead, Failure> {
    let mut reader = Reader::open(input).map_err(|error| no_capture(name, &error))?;
    let (mut reconstruction, mut sampling) = (Reconstruction::default(), Sampling::default());
    let mut both = (&mut sampling, also);
    let broken = loop {
        match reader.next_packet() {
            Ok(Some(packet)) => reconstruction.take(&packet, &mut both),
            Ok(None) => break None,
            Err(error) => break Some(format!("{name}: {error}")),
        }
    };
    let counts = reconstruction.finish(&mut both);
    let (watched, left_out) = sampling.finish();
    let comments = reader.comments().to_vec();
    Ok(CaptureRead { counts, dropped: reader.dropped(), broken, watched, left_out, comments })
}
