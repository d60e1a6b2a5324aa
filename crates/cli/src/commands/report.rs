//! `pipefill report`: the result of records of any backend.

use super::flows::{self, Form};
use crate::args::{End, Format, ReportArgs};
use crate::outcome::Outcome;
use crate::page::{self, RecordsLocation};
use crate::pictures::{self, PictureKind};
use crate::terminal::Terminal;
use pipefill_analysis::findings::experiment::Experiment;
use pipefill_core::record::AqmSample;
use pipefill_report::{csv, json, md, table};
use pipefill_runs::{Curves, Failure, Results, disciplines, results, without_rows};
use pipefill_store::{ExperimentDirectory, OutputFile, Records, StoreError, newest, write_output};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Reads the records and writes the report. Done is done: whether expectations hold is said by `run`, and in the report.
pub(super) fn report(args: &ReportArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let directory = &*named_or_newest(args.directory.as_deref(), terminal)?;
    let format = if args.json { Format::Json } else { args.format };
    let of_flows = match format {
        Format::Iperf3 => Some(Form::Iperf3),
        Format::Flent => Some(Form::Flent),
        _ => None,
    };
    if let Some(form) = of_flows {
        return flows::write(directory, form, args.output.as_deref(), terminal);
    }
    let curves = match format {
        Format::Html | Format::Svg | Format::Png => Curves::Drawn,
        Format::Md if args.output.is_some() => Curves::Drawn,
        _ => Curves::LeftOut,
    };
    let read = results(directory, args.blindfold.map(End::view), curves, terminal)?;
    let result = &read.evaluated.result;
    let text = match format {
        Format::Svg => return draw(directory, args, &read, PictureKind::Svg, terminal),
        Format::Png => return draw(directory, args, &read, PictureKind::Png, terminal),
        Format::Html => {
            let place = read.runs.as_deref().map_or(RecordsLocation::Run(directory), RecordsLocation::Runs);
            page::text(directory, place, read.scenario.as_deref(), &read.evaluated, terminal)?
        }
        Format::Parquet => return columns(args, result),
        Format::Json if args.output.is_some() => return document(args, result),
        Format::Json => json::render(result).map_err(Failure::json)?,
        Format::Csv => csv::render(result).map_err(|error| Failure::broken(error.to_string()))?,
        Format::CsvTime => csv::time(result).map_err(|error| Failure::broken(error.to_string()))?,
        Format::CsvAqm => csv::disciplines(result).map_err(|error| Failure::broken(error.to_string()))?,
        Format::CsvAqmSamples => discipline_samples(directory, &read)?,
        Format::Md => {
            let beside = |report: &PathBuf| pictures::beside(report, &read.pictures());
            md::render(result, &args.output.as_ref().map(beside).unwrap_or_default())
        }
        Format::Table | Format::Iperf3 | Format::Flent => {
            let in_file = args.output.is_some();
            table::render(result, if in_file { terminal.file_style() } else { terminal.table_style() })
        }
    };
    match &args.output {
        Some(path) => write_output(path, text.as_bytes()).map_err(Failure::file("writing", path))?,
        None => terminal.print_result(&text, format != Format::Table)?,
    }
    Ok(Outcome::Done)
}

/// The named records; without a name the newest experiment here, which is printed.
///
/// # Errors
/// There is no experiment.
pub(super) fn named_or_newest<'a>(
    named: Option<&'a Path>,
    terminal: &Terminal,
) -> Result<Cow<'a, Path>, Failure> {
    if let Some(named) = named {
        return Ok(Cow::Borrowed(named));
    }
    let Some(found) = newest(Path::new(""))? else {
        return Err(Failure::usage(
            "there is no experiment in pipefill-runs",
            "name the directory of one, or run a scenario first: pipefill run FILE",
        ));
    };
    terminal.say(&format!("the newest experiment: {}", found.display()));
    Ok(Cow::Owned(found))
}

/// Writes JSON into the file that was named.
fn document(args: &ReportArgs, result: &Experiment) -> Result<Outcome, Failure> {
    let path = args.output.as_deref().unwrap_or(Path::new(""));
    let mut file = OutputFile::create(path).map_err(Failure::file("writing", path))?;
    let written = json::write(result, &mut file).map_err(std::io::Error::from);
    written.and_then(|()| file.finish()).map_err(Failure::file("writing", path))?;
    Ok(Outcome::Done)
}

/// How the disciplines of the queues of each run stood.
fn discipline_samples(directory: &Path, read: &Results) -> Result<String, Failure> {
    let experiment = ExperimentDirectory::open(directory)?;
    if let Some(experiment) = experiment.filter(|experiment| experiment.stored.records == Records::Summary) {
        return Err(without_rows(&experiment, "this form has every sample"));
    }
    let runs = read.evaluated.result.cells.iter().flat_map(|cell| &cell.run_values);
    let samples = runs.map(|run| {
        let of_run =
            read.runs.as_ref().map_or_else(|| directory.to_owned(), |runs| runs.join(&run.directory));
        Ok((run.directory.clone(), disciplines(&of_run)?))
    });
    let samples: BTreeMap<String, Vec<AqmSample>> = samples.collect::<Result<_, StoreError>>()?;
    csv::discipline_samples(&read.evaluated.result, &samples)
        .map_err(|error| Failure::broken(error.to_string()))
}

/// Writes a Parquet file.
fn columns(args: &ReportArgs, result: &Experiment) -> Result<Outcome, Failure> {
    let Some(path) = &args.output else {
        return Err(Failure::usage("a Parquet file is binary", "name the file with -o FILE.parquet"));
    };
    write_columns(path, result)?;
    Ok(Outcome::Done)
}

#[cfg(feature = "parquet")]
fn write_columns(path: &Path, result: &Experiment) -> Result<(), Failure> {
    let mut file = OutputFile::create(path).map_err(Failure::file("writing", path))?;
    let written = pipefill_report::parquet::write(result, &mut file);
    written.map_err(|error| Failure::broken(format!("writing {}: {error}", path.display())))?;
    file.finish().map_err(Failure::file("writing", path))
}

#[cfg(not(feature = "parquet"))]
fn write_columns(_: &Path, _: &Experiment) -> Result<(), Failure> {
    let remedy = "write CSV with --format csv, or build it with its default features: cargo build --release";
    Err(Failure::usage("this program was built without Parquet", remedy))
}

/// Writes the pictures of what was read, and prints where they are.
fn draw(
    directory: &Path,
    args: &ReportArgs,
    read: &Results,
    kind: PictureKind,
    terminal: &Terminal,
) -> Result<Outcome, Failure> {
    let folder = match &args.output {
        Some(folder) => folder.clone(),
        None => pictures::folder(directory)?,
    };
    let written = pictures::write(&folder, &read.pictures(), kind)?;
    let lines: String = written.iter().map(|path| format!("{}\n", path.display())).collect();
    terminal.print(&lines)?;
    Ok(Outcome::Done)
}
