//! The graphs of a capture's connections as a page that goes from the whole down to single segments.
//!
//! A page makes no requests, so it contains everything that its reader may want to see, for captures of any size: the capture is read for
//! the connections' sizes, for levels of detail, and for every segment of the parts that are worth it.

use super::layers::{all_parts, layer, pictures, title, vantage_sentence};
use super::{DrawableConnection, Which, collect, find};
use pipefill_analysis::findings::connections::Captured;
use pipefill_capture::graphs::{Graphs, Wanted, choose, levels};
use pipefill_report::html::{CapturePage, render_capture};
use pipefill_report::segments::{Level, Payload, Segments};
use pipefill_report::words::quoted;
use pipefill_runs::Failure;
use pipefill_store::files;
use std::fs;
use std::path::{Path, PathBuf};

/// Connections of a page where none is named.
const UNNAMED: usize = 6;
/// Spans of a series at the finest level, of all connections of a page together; one has at most the second, at least the third.
const CELLS: [u64; 3] = [24_000, 8_000, 800];
/// Values of single segments of all connections of a page together.
const SINGLE: u64 = 600_000;
/// Rare events of all connections of a page together, each series.
const RARE: usize = 100_000;
/// Marks of a layer of a still picture.
const MARKS: usize = 600;

/// Writes the page of the capture `file`, whose flows were `found`, to `to`: graphs of the connections that `which` names.
///
/// # Errors
/// [`Failure`] where `to` is there, `file` is no regular file or has no such connection, or the page can't be written; nothing is left
/// then.
pub(crate) fn write(file: &Path, which: &Which, found: &Captured, to: &Path) -> Result<usize, Failure> {
    if fs::symlink_metadata(to).is_ok() {
        return Err(Failure::usage(
            format!("{} is there already", to.display()),
            "choose another file for the page",
        ));
    }
    let drawn = if found.flows.is_empty() { Vec::new() } else { drawn(file, which)? };
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let text = render_capture(&CapturePage {
        name: &name,
        found,
        drawn: &drawn,
        chosen: &chosen(which, drawn.len()),
        command: &made_by(file, which, to),
    });
    files::replace(to, text.map_err(Failure::json)?.as_bytes())?;
    Ok(drawn.len())
}

/// Runs whose captures are on the page of an experiment at most.
pub(crate) const RUNS: usize = 60;

/// The largest connection of the capture of a run, one of `pages` connections on a page.
///
/// # Errors
/// [`Failure`] where it can't be read or has none.
pub(crate) fn of_run(file: &Path, label: &str, pages: usize) -> Result<Segments, Failure> {
    let which = Which::default();
    let found = find(file, &which, 1)?;
    let mut all = segments(file, &which, &found, pages)?;
    let mut largest = all.swap_remove(0);
    label.clone_into(&mut largest.label);
    Ok(largest)
}

fn drawn(file: &Path, which: &Which) -> Result<Vec<Segments>, Failure> {
    let found = find(file, which, UNNAMED)?;
    segments(file, which, &found, found.len())
}

/// What a page with `pages` connections has of those `found`.
fn segments(
    file: &Path,
    which: &Which,
    found: &[DrawableConnection],
    pages: usize,
) -> Result<Vec<Segments>, Failure> {
    let [of_all, most, least] = CELLS;
    let cells = (of_all / pages.max(1) as u64).clamp(least, most);
    let wanted: Vec<Wanted> =
        found.iter().map(|connection| in_cells(which, connection, cells, pages)).collect();
    let (graphs, broke) = collect(file, &wanted)?;
    let share = SINGLE / pages.max(1) as u64;
    let every: Vec<Vec<[u64; 2]>> = graphs.iter().map(|graph| choose(graph, share)).collect();
    let singles = wanted.into_iter().zip(&every).map(|(wanted, ranges)| Wanted {
        // The collector needs one, and an empty one is as good as none.
        ranges: if ranges.is_empty() { vec![[0, 0]] } else { ranges.clone() },
        cell_ns: 0,
        common_max: 2 * share.max(1) as usize,
        rare_max: 2,
        ..wanted
    });
    let (singles, _) = collect(file, &singles.collect::<Vec<_>>())?;
    let all = graphs.iter().zip(&singles).zip(every);
    Ok(all.map(|((whole, single), every)| packed(file, whole, single, every, broke.as_deref())).collect())
}

fn in_cells(which: &Which, found: &DrawableConnection, cells: u64, pages: usize) -> Wanted {
    let whole = which.wanted(found);
    let from_ns = whole.ranges[0][0];
    let length_ns = whole.ranges[0][1].min(found.length_ns).saturating_sub(from_ns);
    Wanted {
        cell_ns: length_ns.div_ceil(cells).max(1),
        common_max: 2 * cells as usize,
        rare_max: RARE / pages.max(1),
        ..whole
    }
}

fn packed(
    file: &Path,
    whole: &Graphs,
    single: &Graphs,
    every_ns: Vec<[u64; 2]>,
    broke: Option<&str>,
) -> Segments {
    let level = |level: pipefill_capture::graphs::Level| {
        let of = |series| level.series.iter().find(|(of, _)| *of == series).map(|(_, spans)| spans);
        let layers = all_parts().filter_map(|part| Some(layer(part, of(part.0)?)));
        Level { cell_ns: level.cell_ns, layers: layers.collect() }
    };
    let rare = all_parts().filter(|(series, _)| series.is_rare());
    let common = all_parts().filter(|(series, _)| !series.is_rare());
    let word = quoted(&file.to_string_lossy());
    let notes = [vantage_sentence(whole.vantage()).to_owned()].into_iter().chain(broke.map(str::to_owned));
    Segments {
        label: title(whole),
        ends: whole.ends().map(|end| end.to_string()),
        range_ns: whole.range_ns(),
        every_ns,
        levels: levels(whole).into_iter().map(level).collect(),
        rare: rare.map(|part| layer(part, whole.of(part.0))).collect(),
        every: common.map(|part| layer(part, single.of(part.0))).collect(),
        payload: payload(whole),
        rtt_ns: whole.rtt_us().map(|us| u64::from(us) * 1000),
        notes: notes.collect(),
        command: format!("pipefill pcap {word} --connection {}", whole.connection()),
        stem: stem(file),
        pictures: pictures(whole, MARKS).into_iter().map(|(_, graph)| graph).collect(),
    }
}

/// Both in bins of the length of the longer ones: they begin together, and longer ones are whole multiples.
fn payload(graphs: &Graphs) -> Payload {
    let width_ns = graphs.sent().width_ns().max(graphs.acked().width_ns());
    let [sent, acked] =
        [graphs.sent(), graphs.acked()].map(|bins| bins.of_at_least(width_ns).bytes().to_vec());
    Payload { from_ns: graphs.sent().from_ns(), width_ns, sent, acked }
}

/// What the name of a page of a part begins with: letters, digits, hyphens.
fn stem(file: &Path) -> String {
    let stem = PathBuf::from(file.file_name().unwrap_or_default()).with_extension("");
    let plain = |letter: char| if letter.is_ascii_alphanumeric() || letter == '_' { letter } else { '-' };
    let name: String = stem.to_string_lossy().chars().map(plain).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "part".to_owned() } else { name.to_owned() }
}

fn chosen(which: &Which, drawn: usize) -> String {
    let largest = if drawn == 1 {
        "The largest connection".to_owned()
    } else {
        format!("The {drawn} largest connections")
    };
    let which = match (which.id, which.port) {
        (Some(id), _) => format!("Connection {id} of the capture"),
        (None, Some(port)) => format!("{largest} with port {port} (at most {} are drawn)", super::MOST),
        (None, None) => {
            format!("{largest} (at most {UNNAMED} are drawn; --port and --connection choose others)")
        }
    };
    format!("{which}, in the direction that carried more.")
}

fn made_by(file: &Path, which: &Which, to: &Path) -> String {
    let [file, to] = [file, to].map(|path| quoted(&path.to_string_lossy()));
    let mut words = vec![format!("pipefill pcap {file}")];
    words.extend(which.id.map(|id| format!("--connection {id}")));
    words.extend(which.port.map(|port| format!("--port {port}")));
    if let Some([from, to]) = which.range_ns {
        words.push(format!("--from {from}ns"));
        words.extend((to < u64::MAX).then(|| format!("--to {to}ns")));
    }
    words.push(format!("--page {to}"));
    words.join(" ")
}
