//! The command line: names, values, help. Every command's help ends with examples that work.
//!
//! Never: what a command does.

mod examples;

use crate::terminal::ColorWhen;
use clap::{Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use examples::{
    BDP_EXAMPLES, CATALOGUE_EXAMPLES, COMPARE_EXAMPLES, COMPLETIONS_EXAMPLES, DOCTOR_EXAMPLES, EXAMPLES,
    EXPLAIN_EXAMPLES, FIX_EXAMPLES, FUZZ_EXAMPLES, MAN_EXAMPLES, PLAN_EXAMPLES, REPORT_EXAMPLES,
    RUN_EXAMPLES, STUDY_EXAMPLES,
};
use pipefill_core::parse;
use pipefill_core::units::{Bytes, Rate, Ratio};
use std::path::PathBuf;
use std::time::Duration;

/// A laboratory for TCP and UDP throughput: is the pipe full, and if not, why not?
#[derive(Debug, Parser)]
#[command(name = "pipefill", version, propagate_version = true, max_term_width = 100, after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Colours: auto means on a terminal and without NO_COLOR
    #[arg(long, global = true, value_enum, default_value = "auto", value_name = "WHEN")]
    pub(crate) color: ColorWhen,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Prints every run of a scenario's matrix; needs no privilege
    #[command(after_help = PLAN_EXAMPLES)]
    Plan(PlanArgs),
    /// Runs a scenario: progress, then the table
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArgs),
    /// Runs a built-in study, published figures beside measured ones
    #[command(after_help = STUDY_EXAMPLES)]
    Study(StudyArgs),
    /// Runs scenarios whose limit is known by construction, and counts how often the verdict names it
    #[command(after_help = CATALOGUE_EXAMPLES)]
    Catalogue(CatalogueArgs),
    /// Reports on the records of an experiment, or of a single run
    #[command(after_help = REPORT_EXAMPLES)]
    Report(ReportArgs),
    /// Says what limited each cell, when, and how that is known
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(ExplainArgs),
    /// Applies the advice, runs before and after in turn, and says whether it helped
    #[command(after_help = FIX_EXAMPLES)]
    Fix(FixArgs),
    /// Compares two experiments cell by cell: differences with their intervals; exit code 1 where one is a regression
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(CompareArgs),
    /// Says what this machine can do and why not, and removes what killed runs left behind
    #[command(after_help = DOCTOR_EXAMPLES)]
    Doctor(DoctorArgs),
    /// Calculates a path: BDP, window law, Mathis, PFTK, CUBIC, and the sysctls that it needs
    #[command(after_help = BDP_EXAMPLES)]
    Bdp(BdpArgs),
    /// Looks into the simulator itself
    #[command(subcommand)]
    Sim(SimCommand),
    /// Prints a script that completes pipefill's commands and options in a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions(CompletionsArgs),
    /// Prints the manual page, or writes those of all commands into a folder
    #[command(after_help = MAN_EXAMPLES)]
    Man(ManArgs),
}

/// Which part of a scenario, and with what laid over it.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Selection {
    #[arg(long, value_name = "KEY=VALUE", help = SET_HELP)]
    pub(crate) set: Vec<String>,
    /// Leaves only these cells: values as written, several axes with commas. Again for the same axis: either value
    #[arg(long, value_name = "AXIS=VALUE")]
    pub(crate) only: Vec<String>,
    /// The scenario's short version; where it has none, one run a cell and 2 s of measuring
    #[arg(long)]
    pub(crate) quick: bool,
}

/// How and where to run.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct RunOptions {
    /// What carries out the runs
    #[arg(long, value_enum, default_value = "lab", value_name = "BACKEND")]
    pub(crate) on: BackendName,
    /// Directory of the records; otherwise pipefill-runs/NAME, numbered where that is taken
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Runs at the same time. More than one disturb each other where they share CPUs
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) jobs: u16,
    /// Continues: skips runs that have a valid record, repeats invalid ones
    #[arg(long)]
    pub(crate) resume: bool,
    /// No progress, only the result
    #[arg(long)]
    pub(crate) quiet: bool,
    /// The result as JSON, schema 1
    #[arg(long)]
    pub(crate) json: bool,
    /// What happens as it happens, a JSON object a line, instead of the table
    #[arg(long, value_enum, value_name = "WHAT", num_args = 0..=1, require_equals = true,
          default_missing_value = "cells", conflicts_with = "json")]
    pub(crate) json_stream: Option<StreamOf>,
}

/// What a stream of JSON tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StreamOf {
    /// Runs and cells as they begin and end
    Cells,
    /// The same, and every row of the records
    Samples,
}

/// Where runs are carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackendName {
    /// The simulator: virtual time, no privilege, the same result every time
    Sim,
    /// This machine's real kernel
    Lab,
}

#[derive(Debug, clap::Args)]
pub(crate) struct PlanArgs {
    /// A scenario file, or the name of a built-in study
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// The plan as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// A scenario file
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) selection: Selection,
    #[command(flatten)]
    pub(crate) options: RunOptions,
}

#[derive(Debug, clap::Args)]
pub(crate) struct StudyArgs {
    /// The study's name, or all
    #[arg(required_unless_present = "list")]
    pub(crate) name: Option<String>,
    /// Lists the studies instead
    #[arg(long, conflicts_with = "name")]
    pub(crate) list: bool,
    #[command(flatten)]
    pub(crate) selection: Selection,
    #[command(flatten)]
    pub(crate) options: RunOptions,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CatalogueArgs {
    /// Only these scenarios, or groups of them: what stands before the first hyphen. Absent = all
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    #[command(flatten)]
    pub(crate) options: RunOptions,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ReportArgs {
    /// An experiment's directory, or a run's
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// What to write
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: Format,
    /// Into this file instead of standard output; with iperf3 also a folder, which is made; with svg and png the folder of
    /// the pictures, otherwise DIR/pictures
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    /// An experiment's directory, or a run's
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// Leaves only these cells: values as written, several axes with commas. Again for the same axis: either value
    #[arg(long, value_name = "AXIS=VALUE")]
    pub(crate) only: Vec<String>,
    /// The explanation as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct FixArgs {
    /// An experiment's directory, or that of one of its runs
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// Leaves only these cells: values as written, several axes with commas. Again for the same axis: either value
    #[arg(long, value_name = "AXIS=VALUE")]
    pub(crate) only: Vec<String>,
    /// Pairs of runs, before and after in turn, for each change
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,
    /// What carries out the runs; otherwise what made the records
    #[arg(long, value_enum, value_name = "BACKEND")]
    pub(crate) on: Option<BackendName>,
    /// Directory of the new records; otherwise pipefill-runs/NAME-fix, numbered where that is taken
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// No progress, only the result
    #[arg(long)]
    pub(crate) quiet: bool,
    /// The result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CompareArgs {
    /// An experiment's directory, or a run's: how it was
    #[arg(value_name = "BEFORE")]
    pub(crate) before: PathBuf,
    /// Another one: how it is now
    #[arg(value_name = "AFTER")]
    pub(crate) after: PathBuf,
    /// A change for the worse counts as a regression from this share of what was before
    #[arg(long, value_name = "SHARE", value_parser = parse::ratio, default_value = "5%")]
    pub(crate) threshold: Ratio,
    /// The comparison as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The form of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For the terminal
    Table,
    /// For programs, schema 1
    Json,
    /// For spreadsheets, a row for each cell
    Csv,
    /// Markdown; with -o it shows the pictures that stand beside FILE or in its folder `pictures`
    #[value(alias = "markdown")]
    Md,
    /// One self-contained page for a browser
    Html,
    /// Each flow of each run as `iperf3 -J` has it; of several, a file each into the folder -o
    Iperf3,
    /// Each flow of each run as a data file of Flent (.flent.gz): into the file or the folder -o
    Flent,
    /// Each chart as a picture in a file of its own
    Svg,
    /// The same in pixels, 1600 wide
    Png,
}

#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    /// The findings as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct BdpArgs {
    /// The bottleneck's rate, counting IP + 14 bytes, e.g. 1gbit
    #[arg(long, value_parser = parse::rate)]
    pub(crate) rate: Rate,
    /// The base round trip, e.g. 10ms
    #[arg(long, value_parser = parse::duration)]
    pub(crate) rtt: Duration,
    /// A fixed window, e.g. 64KiB
    #[arg(long, value_parser = parse::bytes)]
    pub(crate) window: Option<Bytes>,
    /// A socket buffer, the maximum of tcp_rmem or tcp_wmem, e.g. 6MiB
    #[arg(long, value_parser = parse::bytes)]
    pub(crate) buffer: Option<Bytes>,
    /// Random loss of segments, e.g. 1%
    #[arg(long, value_parser = parse::ratio)]
    pub(crate) loss: Option<Ratio>,
    /// Payload of a full segment
    #[arg(long, value_parser = mss, default_value = "1448")]
    pub(crate) mss: Bytes,
    /// The answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What to do with the simulator.
#[derive(Debug, Subcommand)]
pub(crate) enum SimCommand {
    /// Runs random scenarios and looks whether what must always hold does; exit code 1 where it doesn't
    #[command(after_help = FUZZ_EXAMPLES)]
    Fuzz(FuzzArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct FuzzArgs {
    /// The first scenario's number; alone, that scenario only. Absent = another one every time
    #[arg(long, value_name = "N", conflicts_with = "file")]
    pub(crate) seed: Option<u64>,
    /// How long to look, e.g. 10min
    #[arg(long = "for", value_name = "TIME", value_parser = parse::duration, conflicts_with_all = ["runs", "file"])]
    pub(crate) span: Option<Duration>,
    /// How many scenarios; 100 where nothing else is said
    #[arg(long, value_name = "N", value_parser = some, conflicts_with = "file")]
    pub(crate) runs: Option<u64>,
    /// Checks this scenario file instead
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Runs at the same time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) jobs: u16,
    /// The findings as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: Shell,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ManArgs {
    /// Writes a page for each command into this folder, which is made
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
}

/// Bytes, where a bare number is bytes too: an MSS has no other unit.
fn mss(text: &str) -> Result<Bytes, parse::ParseError> {
    parse::count(text).map(Bytes::new).or_else(|_| parse::bytes(text))
}

/// How many there are to be: one at least.
fn some(text: &str) -> Result<u64, parse::ParseError> {
    match parse::count(text)? {
        0 => Err(parse::ParseError::new(
            "no scenario shows nothing",
            "write 1 or more, or leave the option out",
        )),
        count => Ok(count),
    }
}

const SET_HELP: &str =
    "Lays a value over the scenario, e.g. path.rtt=50ms, or path.rtt=[10ms,50ms] for an axis";

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definitions_are_sound() {
        Args::command().debug_assert();
    }

    #[test]
    fn a_time_to_look_is_a_duration_and_a_number_of_scenarios_is_not_zero() {
        let fuzz =
            |option: &str, value: &str| Args::try_parse_from(["pipefill", "sim", "fuzz", option, value]);
        for time in ["60min", "1h", "90s", "1.5h", "250ms"] {
            assert!(fuzz("--for", time).is_ok(), "{time}");
        }
        assert!(fuzz("--for", "60").unwrap_err().to_string().contains("needs a unit"));
        assert!(fuzz("--runs", "1").is_ok());
        let refused = fuzz("--runs", "0").unwrap_err();
        assert_eq!(refused.exit_code(), 2);
        assert!(refused.to_string().contains("write 1 or more"), "{refused}");
    }

    #[test]
    fn an_mss_is_bytes_with_or_without_the_unit() {
        assert_eq!(mss("1448").unwrap(), mss("1448B").unwrap());
        assert!(mss("many").is_err());
    }
}
