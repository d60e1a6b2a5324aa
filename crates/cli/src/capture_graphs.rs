//! The graphs of a capture's connections as files: pictures (SVG), and what xplot draws.
//!
//! The capture is read twice: first to find which connections carried how much, then for what is drawn. Never: a directory of which
//! only some files are there.

#[cfg(test)]
mod tests;

use crate::failure::Failure;
use pipefill_capture::graphs::xpl::{self, Graph as Xpl};
use pipefill_capture::graphs::{Bins, Collector, Graphs, Series, Spans};
use pipefill_capture::read::Reader;
use pipefill_capture::tcp::{Connection, Ended, Observer, Reconstruction, Side, Vantage};
use pipefill_report::capture_graphs::{Graph, Layer, Mark, Shows, Subject};
use pipefill_store::files;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Connections that are drawn at most.
pub(crate) const MOST: usize = 10;
/// Marks of a layer of a picture: about ten for each point of a line across it. The files for xplot have more.
const MARKS: usize = 4000;
/// Rates of a picture.
const RATES: u64 = 100;
/// A rate is no mean of a shorter time than an RTT, unless there would be fewer than this many.
const RATES_LEAST: u64 = 10;

/// Which connections are drawn; where nothing is named, the one that carried most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Which {
    /// [`Connection::id`] of the only one.
    pub(crate) id: Option<u64>,
    /// A port of either end.
    pub(crate) port: Option<u16>,
    /// Payload in the direction that carried more, bytes: all connections with at least so much.
    pub(crate) at_least: Option<u64>,
}

impl Which {
    fn is_wanted(self, connection: &Connection, bytes: u64) -> bool {
        let has_port = |port| {
            let ends = [Side::A, Side::B].map(|side| connection.endpoint(side).port);
            ends.contains(&port)
        };
        self.id.is_none_or(|id| id == connection.id())
            && self.port.is_none_or(has_port)
            && bytes >= self.at_least.unwrap_or(1)
    }

    /// How many at most.
    fn most(self) -> usize {
        if self.id.is_none() && (self.port.is_some() || self.at_least.is_some()) { MOST } else { 1 }
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
    let found = fs::metadata(file).map_err(Failure::file("reading", file))?;
    if !found.is_file() {
        return Err(Failure::usage(
            format!("{} is no regular file, and graphs need to read the capture twice", file.display()),
            "write the capture into a file first",
        ));
    }
    let mut largest = Largest { which: *which, found: Vec::new() };
    observe(file, &mut largest)?;
    if largest.found.is_empty() {
        return Err(Failure::usage(
            format!("{} has no such connection with data", file.display()),
            "pipefill pcap lists its connections",
        ));
    }
    let wanted: Vec<(u64, Side)> = largest.found.iter().map(|found| (found.id, found.side)).collect();
    let mut collector = Collector::new(&wanted);
    let broke = observe(file, &mut collector)?;
    let made = Made::create(folder)?;
    let mut names = Vec::new();
    for (number, graphs) in (1..).zip(collector.into_graphs()) {
        names.extend(made.pictures(number, &graphs, broke.as_deref())?);
        names.extend(made.xpl(number, &graphs)?);
    }
    made.appear()?;
    Ok(names.iter().map(|name| folder.join(name)).collect())
}

/// Reads all of `file`, or what can be read: then it returns what is to be said of the rest.
fn observe<O: Observer>(file: &Path, observer: &mut O) -> Result<Option<String>, Failure> {
    let opened = File::open(file).map_err(Failure::file("reading", file))?;
    let is_none = |error| Failure::Other(format!("{}: {error}", file.display()));
    let mut reader = Reader::open(opened).map_err(is_none)?;
    let mut all = Reconstruction::default();
    let broke = loop {
        match reader.next_packet() {
            Ok(Some(packet)) => all.take(&packet, observer),
            Ok(None) => break None,
            Err(error) => break Some(format!("The capture could not be read to its end: {error}.")),
        }
    };
    all.finish(observer);
    Ok(broke)
}

/// A connection that may be drawn.
struct Found {
    id: u64,
    side: Side,
    bytes: u64,
}

/// Finds the largest connections of those that are wanted.
struct Largest {
    which: Which,
    found: Vec<Found>,
}

impl Observer for Largest {
    fn ended(&mut self, connection: &Connection, _why: Ended) {
        let bytes = |side: Side| connection.half(side).payload_bytes();
        let side = if bytes(Side::A) >= bytes(Side::B) { Side::A } else { Side::B };
        let found = Found { id: connection.id(), side, bytes: bytes(side) };
        if !self.which.is_wanted(connection, found.bytes) {
            return;
        }
        let place = self.found.partition_point(|other| other.bytes >= found.bytes);
        self.found.insert(place, found);
        self.found.truncate(self.which.most());
    }
}

/// A hidden directory beside the one that will be there. Removed when dropped.
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
        for (name, mut graph) in pictures(graphs) {
            graph.notes.extend(broke.map(str::to_owned));
            let Some(svg) = graph.svg() else { continue };
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

/// The pictures of a connection, with the names of their files.
fn pictures(graphs: &Graphs) -> Vec<(&'static str, Graph)> {
    let whole = [0, graphs.length_ns()];
    let graph = |subject, what: &str, (layers, merged): (Vec<Layer>, Option<String>)| Graph {
        subject,
        title: format!("{what}: {}", title(graphs)),
        shown_ns: whole,
        notes: [place(graphs.vantage()).to_owned()].into_iter().chain(merged).collect(),
        layers,
    };
    let sequence = |what, most| graph(Subject::TimeSequence, what, layers(graphs, &TIME_SEQUENCE, most));
    let windows = layers(graphs, &WINDOWS, MARKS);
    let mut pictures = vec![
        ("time-sequence", sequence("Time-sequence", MARKS)),
        ("window", graph(Subject::Windows, "Outstanding and window", windows)),
        ("rtt", graph(Subject::Rtt, "RTT", layers(graphs, &RTT, MARKS))),
        ("throughput", graph(Subject::Throughput, "Throughput", (rates(graphs), None))),
    ];
    if let Some(shown_ns) = detail(graphs) {
        let whole = sequence("Time-sequence, a part", usize::MAX);
        pictures.push(("time-sequence-detail", Graph { shown_ns, ..whole }));
    }
    pictures
}

/// Round trips that the detail has, and of these so many before what it is about.
const DETAIL_RTTS: u64 = 5;
const BEFORE_RTTS: u64 = 1;

/// A few round trips around the first retransmission or zero window, or from the middle of the connection, in which single segments can
/// be seen. `None` where the whole is no more, or the RTT is not known.
fn detail(graphs: &Graphs) -> Option<[u64; 2]> {
    let rtt_ns = u64::from(graphs.rtt_us()?) * 1000;
    let about = [Series::FastRetransmit, Series::RtoRetransmit, Series::TlpRetransmit, Series::ZeroWindow];
    let first =
        about.iter().filter_map(|&series| graphs.of(series).as_slice().first()).map(|span| span.from_ns);
    let around_ns = first.min().unwrap_or(graphs.length_ns() / 2);
    let from_ns = around_ns.saturating_sub(rtt_ns.saturating_mul(BEFORE_RTTS));
    let length_ns = rtt_ns.saturating_mul(DETAIL_RTTS);
    (length_ns > 0 && length_ns < graphs.length_ns() / 2).then(|| [from_ns, from_ns + length_ns])
}

fn title(graphs: &Graphs) -> String {
    let [from, to] = graphs.ends();
    format!("{from} → {to}")
}

/// What can be seen depends on it.
const fn place(vantage: Vantage) -> &'static str {
    match vantage {
        Vantage::NearA => "Captured near the end that opened the connection.",
        Vantage::NearB => "Captured near the end that accepted the connection.",
        Vantage::Between => "Captured between the ends.",
        Vantage::Unknown => "It is not known where on the path this was captured.",
    }
}

/// A series, and what it is in a picture; a later one is drawn over an earlier one.
type Part = (Series, Shows);

const TIME_SEQUENCE: [Part; 16] = [
    (Series::WindowEdge, Shows::WindowEdge),
    (Series::Ack, Shows::Ack),
    (Series::DuplicateAck, Shows::DuplicateAck),
    (Series::Sack, Shows::Sack),
    (Series::Data, Shows::Data),
    (Series::OutOfOrder, Shows::OutOfOrder),
    (Series::FastRetransmit, Shows::FastRetransmit),
    (Series::RtoRetransmit, Shows::RtoRetransmit),
    (Series::TlpRetransmit, Shows::TlpRetransmit),
    (Series::Dsack, Shows::Dsack),
    (Series::Spurious, Shows::Spurious),
    (Series::ZeroWindowProbe, Shows::ZeroWindowProbe),
    (Series::ZeroWindow, Shows::ZeroWindow),
    (Series::Syn, Shows::Syn),
    (Series::Fin, Shows::Fin),
    (Series::Reset, Shows::Reset),
];
const WINDOWS: [Part; 3] = [
    (Series::InFlight, Shows::InFlight),
    (Series::Outstanding, Shows::Outstanding),
    (Series::Window, Shows::Window),
];
const RTT: [Part; 2] = [(Series::Rtt, Shows::RttSample), (Series::Srtt, Shows::SmoothedRtt)];

/// The layers, and where something was merged a sentence that says so.
fn layers(graphs: &Graphs, parts: &[Part], most: usize) -> (Vec<Layer>, Option<String>) {
    let fewer: Vec<(Spans, Part)> = parts
        .iter()
        .map(|&part| {
            let most = if part.0.is_rare() { usize::MAX } else { most };
            (graphs.of(part.0).at_most(most), part)
        })
        .collect();
    let width_ns = fewer.iter().map(|(spans, _)| spans.width_ns()).max().unwrap_or(0);
    let layer = |(spans, (series, shows)): &(Spans, Part)| {
        // RTTs are in µs.
        let factor = if matches!(series, Series::Rtt | Series::Srtt) { 1000 } else { 1 };
        let mark = |span: &pipefill_capture::graphs::Span| Mark {
            from_ns: span.from_ns,
            to_ns: span.to_ns,
            low: span.low * factor,
            high: span.high * factor,
        };
        Layer { shows: *shows, marks: spans.as_slice().iter().map(mark).collect() }
    };
    (fewer.iter().map(layer).collect(), merged(graphs, parts, width_ns))
}

fn merged(graphs: &Graphs, parts: &[Part], width_ns: u64) -> Option<String> {
    if width_ns == 0 {
        return None;
    }
    let ms = width_ns.div_ceil(1_000_000);
    let rare = || parts.iter().filter(|(series, _)| series.is_rare());
    let rest = if rare().count() == 0 {
        ""
    } else if rare().all(|(series, _)| graphs.of(*series).width_ns() == 0) {
        " Retransmissions and zero windows are drawn each."
    } else {
        " So are retransmissions."
    };
    Some(format!("What came within {ms} ms is one mark, from the least to the largest value.{rest}"))
}

/// Means over whole round trips, so that bursts of a window's size do not look like a change of the rate. The last is left out where its
/// time is not over.
fn rates(graphs: &Graphs) -> Vec<Layer> {
    let length_ns = graphs.length_ns();
    let rtt_ns = u64::from(graphs.rtt_us().unwrap_or(0)) * 1000;
    let least_ns = (length_ns / RATES).max(1);
    let of_rtts_ns = least_ns.div_ceil(rtt_ns.max(1)).saturating_mul(rtt_ns);
    let width_ns = least_ns.max(of_rtts_ns.min(length_ns / RATES_LEAST));
    let layer = |shows, bins: &Bins| {
        let longer = bins.of_at_least(width_ns);
        let mark = |(from_ns, bps): (u64, u64)| {
            let to_ns = from_ns.saturating_add(longer.width_ns());
            Mark { from_ns, to_ns, low: bps, high: bps }
        };
        let is_over = |mark: &Mark| mark.to_ns <= length_ns || mark.from_ns == 0;
        Layer { shows, marks: longer.rates().map(mark).filter(is_over).collect() }
    };
    vec![layer(Shows::Goodput, graphs.acked()), layer(Shows::Throughput, graphs.sent())]
}
