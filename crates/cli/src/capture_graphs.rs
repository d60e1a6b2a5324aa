//! The graphs of a capture's connections as files: pictures (SVG), and what xplot draws.
//!
//! The capture is read twice: first to find which connections carried how much, then for what is drawn. Never: a directory of which
//! only some files are there.

mod layers;
pub(crate) mod page;
#[cfg(test)]
mod tests;

use crate::args::PcapArgs;
use layers::pictures;
use pipefill_capture::graphs::xpl::{self, Graph as Xpl};
use pipefill_capture::graphs::{Collector, Graphs, Series, Wanted};
use pipefill_capture::tcp::{Connection, Ended, Observer, Side};
use pipefill_capture::whole::follow;
use pipefill_core::parse::duration_text;
use pipefill_observe::CaptureFile;
use pipefill_report::pictures::capture_graph;
use pipefill_runs::Failure;
use pipefill_store::files;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Connections that are drawn at most.
pub(crate) const MOST: usize = 10;
/// Marks of a layer of a picture: about ten for each point of a line across it. The files for xplot have more.
const MARKS: usize = 4000;
/// Which connections are drawn; by default the connection that carried most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Which {
    /// [`Connection::id`] of the only one.
    pub(crate) id: Option<u64>,
    /// A port of either end.
    pub(crate) port: Option<u16>,
    /// Draws all connections with at least this payload in their larger direction, bytes.
    pub(crate) at_least: Option<u64>,
    /// What is drawn of them, nanoseconds from their first packets: from, and up to but without; `None` for all.
    pub(crate) range_ns: Option<[u64; 2]>,
}

impl Which {
    /// What the command asks for.
    ///
    /// # Errors
    /// [`Failure`] for times of which nothing is between.
    pub(crate) fn of(args: &PcapArgs) -> Result<Self, Failure> {
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let range_ns = [args.from.map_or(0, ns), args.to.map_or(u64::MAX, ns)];
        if range_ns[0] >= range_ns[1] {
            let [from, to] = range_ns.map(|ns| duration_text(Duration::from_nanos(ns)));
            return Err(Failure::usage(
                format!("nothing is between --from {from} and --to {to}"),
                "name a later time with --to",
            ));
        }
        let is_part = args.from.is_some() || args.to.is_some();
        let range_ns = is_part.then_some(range_ns);
        Ok(Self { id: args.connection, port: args.port, at_least: None, range_ns })
    }

    fn is_wanted(self, connection: &Connection, bytes: u64) -> bool {
        let has_port = |port| {
            let ends = [Side::A, Side::B].map(|side| connection.endpoint(side).port);
            ends.contains(&port)
        };
        self.id.is_none_or(|id| id == connection.id())
            && self.port.is_none_or(has_port)
            && bytes >= self.at_least.unwrap_or(1)
    }

    /// How many at most; `unnamed` where nothing is named.
    fn most(self, unnamed: usize) -> usize {
        match (self.id, self.port.is_some() || self.at_least.is_some()) {
            (Some(_), _) => 1,
            (None, true) => MOST,
            (None, false) => unnamed,
        }
    }

    /// What is collected of `found`.
    fn wanted(self, found: &DrawableConnection) -> Wanted {
        let whole = Wanted::whole(found.id, found.side);
        Wanted { ranges: self.range_ns.map_or(whole.ranges, |range| vec![range]), ..whole }
    }
}

/// Draws the connections of the capture `file` that `which` names into the new directory `folder`: for each, the largest first, pictures
/// like `1-time-sequence.svg` and files like `1_tsg.xpl`. A graph without anything to show has no files; of a capture that breaks off
/// the pictures say so. Returns the paths.
///
/// # Errors
/// [`Failure`] where `file` is no regular file, no capture, or has no such connection, or `folder` is there or can't be written; nothing is
/// left there then.
pub(crate) fn draw(file: &Path, which: &Which, folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    if fs::symlink_metadata(folder).is_ok() {
        return Err(Failure::usage(
            format!("{} is there already", folder.display()),
            "choose another directory for the graphs",
        ));
    }
    let found = find(file, which, 1)?;
    let wanted: Vec<Wanted> = found.iter().map(|found| which.wanted(found)).collect();
    let (graphs, broke) = collect(file, &wanted)?;
    let made = Made::create(folder)?;
    let mut names = Vec::new();
    for (number, graphs) in (1..).zip(graphs) {
        names.extend(made.pictures(number, &graphs, broke.as_deref())?);
        names.extend(made.xpl(number, &graphs)?);
    }
    made.appear()?;
    Ok(names.iter().map(|name| folder.join(name)).collect())
}

/// The connections of `file` that `which` names, the largest first; where it names none, at most `unnamed`.
fn find(file: &Path, which: &Which, unnamed: usize) -> Result<Vec<DrawableConnection>, Failure> {
    let there = fs::metadata(file).map_err(Failure::file("reading", file))?;
    if !there.is_file() {
        return Err(Failure::usage(
            format!("{} is not a regular file: graphs need to read the capture twice", file.display()),
            "write the capture into a file first",
        ));
    }
    let mut largest = Largest { which: *which, most: which.most(unnamed), found: Vec::new() };
    observe(file, &mut largest)?;
    if largest.found.is_empty() {
        return Err(Failure::usage(
            format!("{} has no such connection with data", file.display()),
            "pipefill pcap lists its connections",
        ));
    }
    let Some([from_ns, _]) = which.range_ns else { return Ok(largest.found) };
    let longest_ns = largest.found.iter().map(|found| found.length_ns).max().unwrap_or(0);
    largest.found.retain(|found| found.length_ns > from_ns);
    if largest.found.is_empty() {
        return Err(Failure::usage(
            format!(
                "nothing was captured {} after the first packet of the connection",
                duration_text(Duration::from_nanos(from_ns))
            ),
            format!(
                "--from counts from there; the last packet is at {}",
                duration_text(Duration::from_nanos(longest_ns))
            ),
        ));
    }
    Ok(largest.found)
}

/// What is wanted of the connections of `file`, and what is to be said where it could not be read to its end.
fn collect(file: &Path, wanted: &[Wanted]) -> Result<(Vec<Graphs>, Option<String>), Failure> {
    let mut collector = Collector::new(wanted);
    let broke = observe(file, &mut collector)?;
    Ok((collector.into_graphs(), broke))
}

/// Reads all of `file`, or what can be read: then it returns what is to be said of the rest.
fn observe(file: &Path, observer: &mut dyn Observer) -> Result<Option<String>, Failure> {
    let mut opened = CaptureFile::open(file)?;
    let broken = follow(&mut opened.reader()?, observer).broken;
    Ok(broken.map(|error| format!("The capture could not be read to its end: {error}.")))
}

/// A connection that may be drawn.
struct DrawableConnection {
    id: u64,
    side: Side,
    bytes: u64,
    /// From its first packet to its last.
    length_ns: u64,
}

/// Finds the largest connections of those that are wanted.
struct Largest {
    which: Which,
    most: usize,
    found: Vec<DrawableConnection>,
}

impl Observer for Largest {
    fn ended(&mut self, connection: &Connection, _why: Ended) {
        let bytes = |side: Side| connection.half(side).payload_bytes();
        let side = if bytes(Side::A) >= bytes(Side::B) { Side::A } else { Side::B };
        let length_ns = connection.last_ns().saturating_sub(connection.first_ns());
        let found = DrawableConnection { id: connection.id(), side, bytes: bytes(side), length_ns };
        if !self.which.is_wanted(connection, found.bytes) {
            return;
        }
        let place = self.found.partition_point(|other| other.bytes >= found.bytes);
        self.found.insert(place, found);
        self.found.truncate(self.most);
    }
}

/// A hidden directory next to the final one. Removed when dropped.
struct Made {
    path: PathBuf,
    target: PathBuf,
}

impl Made {
    fn create(target: &Path) -> Result<Self, Failure> {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let path = target.with_file_name(format!(".{name}.new-{}", std::process::id()));
        fs::create_dir(&path).map_err(Failure::file("making", target))?;
        Ok(Self { path, target: target.to_owned() })
    }

    fn pictures(&self, number: usize, graphs: &Graphs, broke: Option<&str>) -> Result<Vec<String>, Failure> {
        let mut names = Vec::new();
        for (name, mut graph) in pictures(graphs, MARKS) {
            graph.notes.extend(broke.map(str::to_owned));
            let Some(svg) = capture_graph(&graph) else { continue };
            let name = format!("{number}-{name}.svg");
            let path = self.path.join(&name);
            files::create(&path, svg.as_bytes()).map_err(Failure::file("writing", &path))?;
            names.push(name);
        }
        Ok(names)
    }

    fn xpl(&self, number: usize, graphs: &Graphs) -> Result<Vec<String>, Failure> {
        let is_there = |graph: &Xpl| *graph != Xpl::Rtt || !graphs.of(Series::Rtt).is_empty();
        let write = |graph: Xpl| {
            let name = format!("{number}{}", graph.ending());
            let path = self.path.join(&name);
            let write = || {
                let mut file = BufWriter::new(File::create_new(&path)?);
                xpl::write(graph, graphs, &mut file)?;
                file.flush()?;
                file.get_ref().sync_all()
            };
            write().map_err(Failure::file("writing", &path))?;
            Ok(name)
        };
        Xpl::ALL.into_iter().filter(is_there).map(write).collect()
    }

    fn appear(self) -> Result<(), Failure> {
        fs::rename(&self.path, &self.target).map_err(Failure::file("making", &self.target))
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        // Gone where it has appeared; what can't be removed is hidden.
        let _gone_or_left = fs::remove_dir_all(&self.path);
    }
}
