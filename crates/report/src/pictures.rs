//! Every chart of an experiment as a picture in a file: for papers, wikis, and the report in Markdown.
//!
//! Never: a name that a file system or a link could read as something else, or two files of one name.

use crate::capture_graphs::Graph;
use crate::charts::{self, Heat, RUNS};
use crate::curves;
use crate::limiters;
use crate::runs::{RunIndex, RunPart, why_invalid};
use crate::svg::{self, Picture};
use crate::visible::visible;
use pipefill_analysis::findings::experiment::{CellResult, Experiment};

/// Letters of a file's name.
const NAME: usize = 60;

/// A picture, not yet written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PictureFile {
    /// The file's name without its extension: digits, lower-case letters, hyphens.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// An SVG document with its style inside, on white.
    pub svg: String,
}

/// The charts of `experiment`, one run of each of its first cells, and their round trips, in the order of the page.
pub fn files(experiment: &Experiment, runs: &[RunPart]) -> Vec<PictureFile> {
    let all = charts::all(experiment);
    let plots = all.plots.iter().map(svg::plot);
    let along = all.along.iter().map(svg::along);
    let heats = all.heats.iter().flat_map(Heat::maps).map(|map| svg::heat(&map));
    let repeats = all.repeats.iter().map(svg::repeats);
    let losses = all.losses.iter().map(svg::losses);
    let timelines = timelines(experiment, runs).take(RUNS).map(|(_, picture)| picture);
    let left_out = || left_out(experiment);
    let (lines, heats): (Vec<Picture>, Vec<Picture>) = (plots.chain(along).collect(), heats.collect());
    let [first, second] = if all.are_many { [heats, lines] } else { [lines, heats] };
    let charts = first
        .into_iter()
        .chain(second)
        .chain(repeats)
        .chain(losses)
        .map(|picture| picture.warned(left_out()));
    let trips = all.trips.iter().map(|trips| svg::trips(trips).warned(left_out()));
    charts
        .chain(timelines)
        .chain(trips)
        .enumerate()
        .map(|(number, picture)| file(number + 1, &picture))
        .collect()
}

/// A graph of a capture as an SVG document with its style inside, on white; `None` where there is nothing to draw.
pub fn capture_graph(graph: &Graph) -> Option<String> {
    graph.has_marks().then(|| visible(&svg::capture(graph).document(), false).into_owned())
}

/// Of each cell the run that its verdict is about.
pub(crate) fn timelines<'a>(
    experiment: &'a Experiment,
    runs: &'a [RunPart],
) -> impl Iterator<Item = (&'a CellResult, Picture)> {
    let index = RunIndex::of(experiment, runs);
    experiment.cells.iter().filter_map(move |cell| {
        let part = index.of_verdict(cell)?;
        let metrics = index.figures(&part.series.directory).map(|(_, metrics)| metrics);
        let causes = metrics.map(|metrics| limiters::over_time(metrics, &part.series));
        let why = metrics.and_then(|metrics| why_invalid(&metrics.invalid));
        let invalid = if why.is_some() { " (invalid run)" } else { "" };
        let rates = curves::path_rates(&experiment.plan.cell(cell.index).spec, &part.series);
        let name = format!("Over time: {}{invalid}", called(experiment, cell));
        Some((cell, svg::timeline(&name, &part.series, &causes.unwrap_or_default(), &rates).warned(why)))
    })
}

/// How many runs a chart does not have because they are invalid; `None` where all are valid.
fn left_out(experiment: &Experiment) -> Option<String> {
    let runs: usize = experiment.cells.iter().map(|cell| cell.runs).sum();
    let valid: usize = experiment.cells.iter().map(|cell| cell.valid).sum();
    let invalid = runs - valid;
    (invalid > 0).then(|| format!("{invalid} of {runs} runs were invalid and are left out."))
}

/// What tells `cell` from the others; an only one is called as the experiment is.
fn called(experiment: &Experiment, cell: &CellResult) -> String {
    let only = || experiment.plan.title.clone().unwrap_or_else(|| experiment.plan.experiment.to_string());
    if cell.axes.is_empty() { only() } else { cell.coordinates() }
}

fn file(number: usize, picture: &Picture) -> PictureFile {
    let title = picture.name().to_owned();
    let svg = visible(&picture.document(), false).into_owned();
    PictureFile { name: format!("{number:02}-{}", plain(&title)), title, svg }
}

/// `title` in letters that mean nothing to anybody.
fn plain(title: &str) -> String {
    let words = title.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let name = words.collect::<Vec<_>>().join("-").to_ascii_lowercase();
    let end = name.len().min(NAME);
    name[..end].trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn a_name_is_letters_digits_and_hyphens() {
        assert_eq!(plain("TCP: goodput over rtt and 10 %"), "tcp-goodput-over-rtt-and-10");
        assert_eq!(plain("../<b> שלום 🚀 ]("), "b");
        assert_eq!(plain(&"ab ".repeat(60)).len(), 59);
    }
}
