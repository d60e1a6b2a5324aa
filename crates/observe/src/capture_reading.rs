//! Reads a capture: its connections, what was left out, where it broke.

use pipefill_capture::join::Survey;
use pipefill_capture::read::{BackwardTimes, Problem as ReadProblem, ReadError, Reader};
use pipefill_capture::rows::Watched;
use pipefill_capture::tcp::Counts;
use pipefill_capture::udp::UdpFlow;
use pipefill_capture::whole::{Connections, Source, connections};
use pipefill_core::problem::Problem;
use pipefill_lab::mapped_file::MappedFile;
use std::fs::File;
use std::io;
use std::path::Path;

/// Standard input, in place of a file's name.
pub const STDIN: &str = "-";

/// What a capture has.
pub struct CaptureRead {
    /// What was counted.
    pub counts: Counts,
    /// Packets that the capturing program dropped, where the file has that count.
    pub dropped: Option<u64>,
    /// How often and how far its times ran backwards.
    pub backward: BackwardTimes,
    /// The resolution of its clock, nanoseconds, where that is coarse.
    pub clock_resolution_ns: Option<u64>,
    /// Where and why reading ended early.
    pub broken: Option<String>,
    /// Its connections with data.
    pub watched: Vec<Watched>,
    /// Smaller ones that were left out.
    pub left_out: u64,
    /// Its UDP flows.
    pub udp: Vec<UdpFlow>,
    /// Smaller ones that were left out.
    pub udp_left_out: u64,
    /// The comments of the capture.
    pub comments: Vec<String>,
}

impl CaptureRead {
    /// Packets that the snap length made unreadable.
    pub fn cut(&self) -> u64 {
        self.counts.others.iter().filter(|(other, _)| other.is_cut()).map(|(_, count)| count).sum()
    }
}

/// Reads `file`, or standard input; `survey` gets its packets too.
///
/// # Errors
/// [`Problem`] where it can't be opened or is no capture.
pub fn read_capture(file: &Path, survey: Option<&mut Survey>) -> Result<CaptureRead, Problem> {
    let (name, mut opened) = (capture_name(file), CaptureFile::open(file)?);
    let mut reader = opened.reader()?;
    let Connections { whole, watched, left_out, udp, udp_left_out } = connections(&mut reader, survey);
    let broken = whole.broken.map(|error| format!("{name}: {error}"));
    let comments = reader.comments().to_vec();
    Ok(CaptureRead {
        counts: whole.counts,
        dropped: reader.dropped(),
        backward: whole.backward,
        clock_resolution_ns: whole.clock_resolution_ns,
        broken,
        watched,
        left_out,
        udp,
        udp_left_out,
        comments,
    })
}

/// A capture that is open, from its first byte.
pub struct CaptureFile {
    name: String,
    source: Source,
    mapped: Option<MappedFile>,
}

impl CaptureFile {
    /// `file`, or standard input.
    ///
    /// # Errors
    /// [`Problem`] where it can't be opened.
    pub fn open(file: &Path) -> Result<Self, Problem> {
        let name = capture_name(file);
        if file == Path::new(STDIN) {
            return Ok(Self { name, source: Box::new(io::stdin().lock()), mapped: None });
        }
        let opened = File::open(file).map_err(|error| {
            Problem::usage(
                format!("{name}: {error}"),
                "name a capture: pcap or pcapng, also in gzip or zstd; - is standard input",
            )
        })?;
        let mapped = MappedFile::of(&opened);
        Ok(Self { name, source: Box::new(opened), mapped })
    }

    /// The reader of the capture; called once.
    ///
    /// # Errors
    /// [`Problem`] where it is no capture.
    pub fn reader(&mut self) -> Result<Reader<'_, Source>, Problem> {
        let source = std::mem::replace(&mut self.source, Box::new(io::empty()));
        let reader = match &self.mapped {
            Some(mapped) => Reader::of_mapped(mapped, source),
            None => Reader::open(source),
        };
        reader.map_err(|error| no_capture(&self.name, &error))
    }
}

/// How messages call it.
pub fn capture_name(file: &Path) -> String {
    if file == Path::new(STDIN) { "standard input".to_owned() } else { file.display().to_string() }
}

/// The problem of a file that is not a capture.
fn no_capture(name: &str, error: &ReadError) -> Problem {
    let remedy = match error.problem {
        ReadProblem::Foreign { .. } => "convert it: editcap -F pcap IN OUT (editcap is a part of Wireshark)",
        _ => {
            "name a capture as tcpdump -w or Wireshark write it: pcap or pcapng, also in gzip or zstd; editcap -F pcap IN OUT converts others"
        }
    };
    Problem::usage(format!("{name}: {error}"), remedy)
}
