//! The command line: names, values, help. Every command's help ends with examples that work.
#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "the comments are help texts, in which brackets are brackets"
)]

mod between;
mod examples;
mod hosts;
mod letters;
mod path;
mod shape;
mod sweep;
mod words;

use crate::terminal::ColorWhen;
pub(crate) use between::{ServeArgs, TestArgs};
use clap::{Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use examples::{
    BDP_EXAMPLES, CATALOGUE_EXAMPLES, COMPARE_EXAMPLES, COMPLETIONS_EXAMPLES, DOCTOR_EXAMPLES, EXAMPLES,
    EXEC_EXAMPLES, EXPLAIN_EXAMPLES, FIX_EXAMPLES, FUZZ_EXAMPLES, MAN_EXAMPLES, MERGE_EXAMPLES,
    PCAP_EXAMPLES, PLAN_EXAMPLES, REPORT_EXAMPLES, RUN_EXAMPLES, SERVE_EXAMPLES, SHAPE_EXAMPLES,
    STUDY_EXAMPLES, TEST_EXAMPLES, WATCH_EXAMPLES,
};
use hosts::HostsOptions;
pub(crate) use path::{PathOption, typed, typed_change, typed_policer};
use pipefill_analysis::infer::View;
use pipefill_core::cell::WIRE_OVERHEAD;
use pipefill_core::parse;
use pipefill_core::plan::{Selection, Shard};
use pipefill_core::units::{Bytes, Rate, Ratio};
use pipefill_endpoint::ListenAddress;
use pipefill_observe::GroupBy;
use pipefill_runs::Options;
pub(crate) use shape::ShapeArgs;
use std::path::PathBuf;
use std::time::Duration;
pub(crate) use sweep::{Engine, SweepArgs};
use words::{profile_words, set_words, study_words, trace_words};

/// A laboratory for TCP and UDP throughput: is the pipe full, and if not, why not?
#[derive(Debug, Parser)]
#[command(name = "pipefill", version, propagate_version = true, max_term_width = 100, after_help = EXAMPLES)]
pub(crate) struct Args {
    /// When to use colours
    #[arg(long, global = true, value_enum, default_value = "auto", value_name = "WHEN", help_heading = GLOBAL)]
    pub(crate) color: ColorWhen,
    /// End when this process, which started this one, ends: for programs that start pipefill
    #[arg(long, hide = true, value_name = "PID")]
    pub(crate) ends_with: Option<u32>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print every run of a scenario; needs no privilege
    #[command(after_help = PLAN_EXAMPLES)]
    Plan(PlanArgs),
    /// Run a scenario, then print the table
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArgs),
    /// Put the shards of an experiment together
    #[command(after_help = MERGE_EXAMPLES)]
    Merge(MergeArgs),
    /// Run a built-in study and compare it with its published figures
    #[command(after_help = STUDY_EXAMPLES)]
    Study(StudyArgs),
    /// Run scenarios with a known limit, and count the right verdicts
    #[command(after_help = CATALOGUE_EXAMPLES)]
    Catalogue(CatalogueArgs),
    /// Report on the records of an experiment or of a single run
    #[command(after_help = REPORT_EXAMPLES)]
    Report(ReportArgs),
    /// Show what limited each cell, when, and the evidence
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(ExplainArgs),
    /// Apply the advice, run before and after in turn, and show whether it helped
    #[command(after_help = FIX_EXAMPLES)]
    Fix(FixArgs),
    /// Compare two experiments cell by cell; exit code 1 if one got worse
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(CompareArgs),
    /// Show what limits the connections of this host, live
    #[command(after_help = WATCH_EXAMPLES)]
    Watch(WatchArgs),
    /// Show what limits the connections of a capture
    #[command(after_help = PCAP_EXAMPLES)]
    Pcap(PcapArgs),
    /// Run any program behind a path, and show what limits its connections
    #[command(after_help = EXEC_EXAMPLES)]
    Exec(ExecArgs),
    /// Serve tests between hosts: for pipefill test, and for iperf3 clients
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(ServeArgs),
    /// Test the way to another host, which runs pipefill serve or an iperf3 server, and show what limits it
    #[command(after_help = TEST_EXAMPLES)]
    Test(TestArgs),
    /// Make a real interface a path for a test, for a time: delay, rate, loss
    #[command(after_help = SHAPE_EXAMPLES)]
    Shape(ShapeArgs),
    /// Run a scenario on a cluster: a matrix in shards, by Slurm, Kubernetes, Ray, or processes
    Sweep(SweepArgs),
    /// Check what this machine can do, and remove what killed runs left behind
    #[command(after_help = DOCTOR_EXAMPLES)]
    Doctor(DoctorArgs),
    /// Calculate for a path: BDP, window limit, Mathis, PFTK, CUBIC, and the sysctls that it needs
    #[command(after_help = BDP_EXAMPLES)]
    Bdp(BdpArgs),
    /// Test the simulator itself
    #[command(subcommand)]
    Sim(SimCommand),
    /// Print a completion script for a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions(CompletionsArgs),
    /// Print the manual page, or write the pages of all commands to a folder
    #[command(after_help = MAN_EXAMPLES)]
    Man(ManArgs),
}

/// Which part of a scenario to run, and with which values.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct SelectionArgs {
    /// Override a scenario value, e.g. path.rtt=50ms; path.rtt=[10ms,50ms] makes an axis. May be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = set_words(), hide_possible_values = true)]
    pub(crate) set: Vec<String>,
    /// Run only matching cells; values as in the scenario, axes separated by commas. If repeated, any value of an axis matches
    #[arg(long, value_name = "AXIS=VALUE")]
    pub(crate) only: Vec<String>,
    /// Run each cell N times, instead of run.repeat in the scenario
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: Option<u32>,
    /// Use the scenario's [quick] values; without them, run each cell once for 2 s
    #[arg(long)]
    pub(crate) quick: bool,
}

impl SelectionArgs {
    /// The selection; `has_capture` is an assignment too.
    pub(crate) fn with_capture(&self, has_capture: bool) -> Selection {
        const CAPTURE: &str = "run.capture=true";
        let set = self.set.iter().cloned().chain(has_capture.then(|| CAPTURE.to_owned())).collect();
        Selection { set, only: self.only.clone(), repeat: self.repeat, quick: self.quick }
    }
}

/// How and where to run.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct RunOptions {
    /// Where to run
    #[arg(long, value_enum, default_value = "lab", value_name = "BACKEND")]
    pub(crate) on: BackendName,
    /// Directory for the records [default: pipefill-runs/NAME, with a number if that exists]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Number of runs at the same time; in the lab, runs that share CPUs disturb each other [default: as many as there are CPUs with --on sim, else 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=JOBS_MAX.into()))]
    pub(crate) jobs: Option<u16>,
    /// Continue: skip runs that have a valid record, repeat invalid ones
    #[arg(long)]
    pub(crate) resume: bool,
    /// Print no progress: only the result, and the chosen directory on standard error
    #[arg(long)]
    pub(crate) quiet: bool,
    /// Print the result as JSON, schema 1
    #[arg(long)]
    pub(crate) json: bool,
    /// Stream events as JSON lines instead of the table
    #[arg(long, value_enum, value_name = "WHAT", num_args = 0..=1, require_equals = true,
          default_missing_value = "cells", conflicts_with = "json")]
    pub(crate) json_stream: Option<StreamOf>,
    /// What `--on hosts` needs beside
    #[command(flatten)]
    pub(crate) hosts: HostsOptions,
}

impl RunOptions {
    /// Runs at the same time. A simulation has its own clock and disturbs no other.
    pub(crate) fn jobs(&self) -> u16 {
        self.jobs.unwrap_or_else(|| match self.on {
            BackendName::Sim => {
                let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
                u16::try_from(cpus).unwrap_or(JOBS_MAX).min(JOBS_MAX)
            }
            BackendName::Lab | BackendName::Hosts => 1,
        })
    }

    /// What the runs themselves need to know.
    pub(crate) fn of_runs(&self) -> Options {
        Options { out: self.out.clone(), jobs: self.jobs(), resume: self.resume }
    }
}

/// What a stream of JSON contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StreamOf {
    /// Start and end of runs and cells
    Cells,
    /// The same, and every row of the records
    Samples,
}

/// Where to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackendName {
    /// The simulator: virtual time, no privilege, the same result every time
    Sim,
    /// This machine's real kernel
    Lab,
    /// Between existing hosts, which `[hosts]` in the scenario names
    Hosts,
}

/// Whose sockets are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum End {
    /// Those that the data comes from
    Sender,
    /// Those that the data goes to
    Receiver,
}

impl End {
    pub(crate) const fn view(self) -> View {
        match self {
            Self::Sender => View::Sender,
            Self::Receiver => View::Receiver,
        }
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct PlanArgs {
    /// A scenario file, - for standard input, or the name of a built-in study
    #[arg(required_unless_present_any = ["profile", "from_tc"])]
    pub(crate) file: Option<PathBuf>,
    /// Print what a named path stands for, with the sources of its numbers
    #[arg(long, value_name = "NAME", value_parser = profile_words(), hide_possible_values = true, conflicts_with_all = ["file", "set", "only", "repeat", "quick"])]
    pub(crate) profile: Option<String>,
    /// Write the scenario for what `tc -s qdisc show` printed: the text itself, a file that has it, or - for standard input
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with_all = ["profile", "file", "set", "only", "repeat", "quick"])]
    pub(crate) from_tc: Option<String>,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// Print the plan as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// A scenario file, or - for standard input
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// Capture packets at both ends, as run.capture=true does: sender.pcapng and receiver.pcapng in each run's artifacts
    #[arg(long)]
    pub(crate) capture: bool,
    /// Run only this part of the plan: the I-th of N, from 1, balanced by estimated time. Cells keep their numbers and seeds
    #[arg(long, value_name = "I/N")]
    pub(crate) shard: Option<Shard>,
    /// What to keep of each run: every row in a directory of its own, or its manifest and figures in one file with all others
    #[arg(long, value_enum, value_name = "WHAT", default_value = "rows")]
    pub(crate) records: RecordsOf,
    #[command(flatten)]
    pub(crate) options: RunOptions,
}

/// What is kept of each run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecordsOf {
    /// Manifest and figures, in one file: for very many runs
    Summary,
    /// Every row, in a directory for each run
    Rows,
}

#[derive(Debug, clap::Args)]
pub(crate) struct MergeArgs {
    /// Directories of all shards, in any order; duplicates are ignored
    #[arg(value_name = "DIR", required = true)]
    pub(crate) shards: Vec<PathBuf>,
    /// Directory for the whole experiment. One that holds a part of it already is completed
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Print what was put together as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct StudyArgs {
    /// The study's name, or all
    #[arg(required_unless_present = "list", value_parser = study_words(), hide_possible_values = true)]
    pub(crate) name: Option<String>,
    /// List the studies
    #[arg(long, conflicts_with = "name")]
    pub(crate) list: bool,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// Capture packets at both ends, as run.capture=true does; the page shows the graphs of the sender's capture of each cell
    #[arg(long, conflicts_with = "list")]
    pub(crate) capture: bool,
    #[command(flatten)]
    pub(crate) options: RunOptions,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CatalogueArgs {
    /// Run only these scenarios, groups of scenarios (the word before the first hyphen) or sets (limits, applications) [default: all]
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Override a value of every scenario, e.g. run.sample=100ms. May be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = set_words(), hide_possible_values = true)]
    pub(crate) set: Vec<String>,
    /// Judge a second time by the sockets of this end alone, without the scenario and the path's counters
    #[arg(long, value_enum, value_name = "END")]
    pub(crate) blindfold: Option<End>,
    /// Judge the records again with each threshold moved by this part, up and down, one at a time, and list the verdicts that change; with
    /// --blindfold those of that end
    #[arg(long, value_name = "PART", value_parser = parse::ratio)]
    pub(crate) perturb: Option<Ratio>,
    #[command(flatten)]
    pub(crate) options: RunOptions,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ReportArgs {
    /// Directory of an experiment or of a run [default: the newest experiment in pipefill-runs]
    #[arg(value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    /// Format of the report
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: Format,
    /// Write to this file instead of standard output. With iperf3 and flent it may be a folder, which is created; with svg
    /// and png it is the folder of the pictures [default: DIR/pictures]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
    /// Judge by the sockets of this end alone, without the scenario and the path's counters
    #[arg(long, value_enum, value_name = "END")]
    pub(crate) blindfold: Option<End>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    /// Directory of an experiment or of a run; a capture: pcap or pcapng, also in gzip or zstd; what iperf3 (-J or text), iperf, netperf,
    /// ss -tinm or an NDT7 client printed; or a qlog; - is standard input [default: the newest experiment in pipefill-runs]
    #[arg(value_name = "DIR|FILE")]
    pub(crate) directory: Option<PathBuf>,
    /// Explain only matching cells; values as in the scenario, axes separated by commas. If repeated, any value of an axis matches
    #[arg(long, value_name = "AXIS=VALUE")]
    pub(crate) only: Vec<String>,
    /// Print the explanation as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// With another program's output: what `tc -s qdisc` or `nstat -az` printed on the same host, to support or contradict each verdict. May be
    /// repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) context: Vec<PathBuf>,
    /// With another program's output: keep the connections as records in this new directory, for explain, report and compare
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Judge by the sockets of this end alone, without the scenario and the path's counters
    #[arg(long, value_enum, value_name = "END")]
    pub(crate) blindfold: Option<End>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct WatchArgs {
    /// Which sockets, in the words of ss: dst, src, dport, sport, state, tcp, udp, and, or, not, brackets [default: all]
    #[arg(value_name = "FILTER", allow_hyphen_values = true)]
    pub(crate) filter: Vec<String>,
    /// Sample each busy connection for ten round trips (1 to 3 s), then print a table
    #[arg(long, conflicts_with = "span")]
    pub(crate) once: bool,
    /// Sample for this long, then print a table
    #[arg(long = "for", value_name = "TIME", value_parser = parse::duration)]
    pub(crate) span: Option<Duration>,
    /// Sampling interval for all sockets; busy ones are sampled up to ten times as often
    #[arg(long, value_name = "TIME", value_parser = interval, default_value = "1s")]
    pub(crate) interval: Duration,
    /// Only sockets of this process
    #[arg(long, value_name = "PID")]
    pub(crate) pid: Option<u32>,
    /// Watch this network namespace: a name of ip netns, or a file such as /proc/PID/ns/net
    #[arg(long, value_name = "NAME")]
    pub(crate) netns: Option<String>,
    /// Keep records in this new directory, for explain, report and compare
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print one JSON line per sample: connections active in the last 3 s or closed since the previous line, judged over the last 5 s
    #[arg(long, conflicts_with = "json")]
    pub(crate) json_stream: bool,
    /// Serve metrics for Prometheus (/metrics) and JSON (/connections) at this address, without a screen: 127.0.0.1:9466, [::1]:9466, or :9466 for all addresses
    #[arg(long, value_name = "ADDR:PORT", conflicts_with_all = ["once", "json", "json_stream"])]
    pub(crate) listen: Option<ListenAddress>,
    /// Group connections in the metrics by these labels: process, cgroup, unit, remote (remote/16: prefixes of the peers' addresses of 16 bits; remote/16/32: and of 32 for IPv6)
    #[arg(long, value_name = "KEY,KEY", requires = "listen", conflicts_with_all = ["once", "json", "json_stream"], default_value = "process,remote")]
    pub(crate) group_by: GroupBy,
    /// Largest number of groups in the metrics; connections of further groups are counted as other
    #[arg(long, value_name = "N", requires = "listen", conflicts_with_all = ["once", "json", "json_stream"], default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    pub(crate) groups: u16,
}

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("drawn").args(["graphs", "page"]).multiple(true))]
pub(crate) struct PcapArgs {
    /// A capture: pcap or pcapng, also in gzip or zstd; - is standard input. Two of the same transfer, made at both ends, are joined
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Write a scenario that reproduces the largest flow and those beside it, for run and fix: a new file
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) scenario: Option<PathBuf>,
    /// Write that scenario as the packets show it, without simulator runs that fit it to the captured goodput
    #[arg(long, requires = "scenario")]
    pub(crate) no_fit: bool,
    /// Draw the largest connection into this new directory: SVG, and files for xplot
    #[arg(long, value_name = "DIR")]
    pub(crate) graphs: Option<PathBuf>,
    /// Write a page of the flows and the graphs of the largest connections, down to single segments: a new file
    #[arg(long, value_name = "FILE.html")]
    pub(crate) page: Option<PathBuf>,
    /// Draw the connections with this port instead, at most ten
    #[arg(long, value_name = "PORT", requires = "drawn")]
    pub(crate) port: Option<u16>,
    /// Draw this connection instead: its number by the order of first packets, from 0, as a page has it
    #[arg(long, value_name = "N", requires = "drawn", conflicts_with = "port")]
    pub(crate) connection: Option<u64>,
    /// Draw only what came at least this long after a connection's first packet, e.g. 12.3s
    #[arg(long, value_name = "TIME", requires = "drawn", value_parser = parse::duration)]
    pub(crate) from: Option<Duration>,
    /// Draw only what came before that time, e.g. 12.5s
    #[arg(long, value_name = "TIME", requires = "drawn", value_parser = parse::duration)]
    pub(crate) to: Option<Duration>,
    /// Largest number of flows to show, the largest flows first; JSON and CSV have all
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) most: usize,
    /// Show all flows, and each that is too short to judge by itself
    #[arg(long, conflicts_with_all = ["most", "json", "csv"])]
    pub(crate) all: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print CSV: a row for each flow, or with --csv=time a row for each holder of each flow's time
    #[arg(long, value_enum, value_name = "TABLE", num_args = 0..=1, require_equals = true, default_missing_value = "flows", conflicts_with = "json")]
    pub(crate) csv: Option<CsvTable>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ExecArgs {
    /// A named path with the command at the subscriber's end, e.g. lte; other options override it. `plan --profile NAME` shows it
    #[arg(long, value_name = "NAME", value_parser = profile_words(), hide_possible_values = true, help_heading = PATH)]
    pub(crate) profile: Option<String>,
    /// Base round trip, half of it in each direction, e.g. 80ms
    #[arg(long, value_name = "TIME", help_heading = PATH)]
    pub(crate) rtt: Option<String>,
    /// Bottleneck from the command to the server, e.g. 50mbit [default: no limit]
    #[arg(long, value_name = "RATE", help_heading = PATH)]
    pub(crate) rate: Option<String>,
    /// The same over time: a built-in trace, e.g. lte-driving, or a file
    #[arg(long, value_name = "TRACE", value_parser = trace_words(), hide_possible_values = true, conflicts_with = "rate", help_heading = PATH)]
    pub(crate) rate_trace: Option<String>,
    /// Bottleneck from the server to the command [default: no limit]
    #[arg(long, value_name = "RATE", help_heading = PATH)]
    pub(crate) reverse_rate: Option<String>,
    /// The same over time: a built-in trace, or a file
    #[arg(long, value_name = "TRACE", value_parser = trace_words(), hide_possible_values = true, conflicts_with = "reverse_rate", help_heading = PATH)]
    pub(crate) reverse_rate_trace: Option<String>,
    /// What may wait at the bottleneck, e.g. 1bdp, 256KiB, 100p [default: one BDP, at least 100 frames]
    #[arg(long, value_name = "SIZE", help_heading = PATH)]
    pub(crate) queue: Option<String>,
    /// Random loss in each direction, e.g. 1%
    #[arg(long, value_name = "SHARE", help_heading = PATH)]
    pub(crate) loss: Option<String>,
    /// Spread of the delay in each direction, e.g. 2ms
    #[arg(long, value_name = "TIME", help_heading = PATH)]
    pub(crate) jitter: Option<String>,
    /// How the queue is managed: droptail, drophead, codel, fq_codel, pie, red or dualpi2, e.g. fq_codel or "codel target=5ms" [default: droptail]
    #[arg(long, value_name = "AQM", help_heading = PATH)]
    pub(crate) aqm: Option<String>,
    /// The AQM marks packets in place of dropping them where they may be marked; both hosts ask for ECN (tcp_ecn = 1)
    #[arg(long, requires = "aqm", help_heading = PATH)]
    pub(crate) ecn: bool,
    /// Mark this share of the packets CE in each direction, e.g. 1%; both hosts ask for ECN (tcp_ecn = 1)
    #[arg(long, value_name = "SHARE", help_heading = PATH)]
    pub(crate) mark: Option<String>,
    /// Drop what exceeds a rate in each direction, without a queue, e.g. 20mbit:64KiB [default burst: 64KiB]
    #[arg(long, value_name = "RATE[:BURST]", help_heading = PATH)]
    pub(crate) policer: Option<String>,
    /// Largest IP packet of a link between the command and the server, bytes, e.g. 1400
    #[arg(long, value_name = "BYTES", help_heading = PATH)]
    pub(crate) inner_mtu: Option<String>,
    /// What the sender of a larger packet hears: icmp, or nothing (black-hole) [default: icmp]
    #[arg(long, value_name = "WORD", requires = "inner_mtu", help_heading = PATH)]
    pub(crate) pmtud: Option<String>,
    /// Change the path this long after the first packet, e.g. 5s,for=2s,loss=100% or 10s,rate=5mbit. loss is for each direction. May be repeated
    #[arg(long, value_name = "AT,KEY=VALUE,…", help_heading = PATH)]
    pub(crate) change: Vec<String>,
    /// The path and the hosts of this scenario, which has one cell; its flows do not matter
    #[arg(long, value_name = "FILE", help_heading = PATH)]
    pub(crate) scenario: Option<PathBuf>,
    /// Override a scenario value, e.g. path.mtu=9000 or path.family=ipv6. May be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = set_words(), hide_possible_values = true, help_heading = PATH)]
    pub(crate) set: Vec<String>,
    /// Start this shell command at the far end first, and wait until it listens. Its output goes to standard error
    #[arg(long, value_name = "CMD")]
    pub(crate) server: Option<std::ffi::OsString>,
    /// Let the command reach this machine's own network, through the path; needs pasta (Debian: passt)
    #[arg(long)]
    pub(crate) uplink: bool,
    /// Keep records of the connections in this new directory, for explain, report and compare
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Capture packets at both ends, into near.pcapng and far.pcapng of the directory that --out names
    #[arg(long, requires = "out")]
    pub(crate) capture: bool,
    /// Print nothing of our own: only what the command prints
    #[arg(long, conflicts_with = "json")]
    pub(crate) quiet: bool,
    /// Print the connections as JSON, on standard error
    #[arg(long)]
    pub(crate) json: bool,
    /// The command and its arguments; {server} stands for the far end's address, which is in PIPEFILL_SERVER too
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<std::ffi::OsString>,
}

/// Not so short that looking is all that a CPU does.
fn interval(text: &str) -> Result<Duration, String> {
    let least = Duration::from_millis(100);
    match parse::duration(text) {
        Ok(span) if span >= least => Ok(span),
        Ok(_) => Err("at least 100ms".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct FixArgs {
    /// Directory of an experiment or of one of its runs [default: the newest experiment in pipefill-runs]
    #[arg(value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    /// Fix only matching cells; values as in the scenario, axes separated by commas. If repeated, any value of an axis matches
    #[arg(long, value_name = "AXIS=VALUE")]
    pub(crate) only: Vec<String>,
    /// Number of pairs of runs (before, after) for each change; a verdict needs three
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,
    /// Where to run [default: where the records were made]
    #[arg(long, value_enum, value_name = "BACKEND")]
    pub(crate) on: Option<BackendName>,
    /// Directory for the new records [default: pipefill-runs/NAME-fix, with a number if that exists]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print no progress: only the result, and the chosen directory on standard error
    #[arg(long)]
    pub(crate) quiet: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CompareArgs {
    /// Directory of an experiment or a run: before the change
    #[arg(value_name = "BEFORE")]
    pub(crate) before: PathBuf,
    /// Directory of another one: after the change
    #[arg(value_name = "AFTER")]
    pub(crate) after: PathBuf,
    /// Smallest change for the worse that counts as a regression
    #[arg(long, value_name = "SHARE", value_parser = parse::ratio, default_value = "5%")]
    pub(crate) threshold: Ratio,
    /// Print the comparison as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What the rows of a capture's CSV are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CsvTable {
    /// Flows
    Flows,
    /// Where the time of each flow went
    Time,
}

/// The form of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For the terminal
    Table,
    /// JSON, schema 1
    Json,
    /// CSV, a row for each cell
    Csv,
    /// CSV of where the time went: a row for each holder of each flow's time
    CsvTime,
    /// CSV of what the disciplines of the queues did: a row for each of each cell
    CsvAqm,
    /// CSV of how they stood over time: a row for each sample of each run
    CsvAqmSamples,
    /// Parquet, a row for each run; needs -o
    Parquet,
    /// Markdown; with -o it links the pictures found beside FILE or in the folder `pictures`
    #[value(alias = "markdown")]
    Md,
    /// One self-contained page for a browser
    Html,
    /// Each flow of each run as `iperf3 -J` prints it; several flows need a folder for -o
    Iperf3,
    /// Each flow of each run as a Flent data file (.flent.gz); needs -o
    Flent,
    /// Each chart as an SVG file
    Svg,
    /// Each chart as a PNG file, 1600 pixels wide
    Png,
}

#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    /// Print the findings as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct BdpArgs {
    /// Rate of the bottleneck, e.g. 1gbit
    #[arg(long, value_parser = parse::rate)]
    pub(crate) rate: Rate,
    /// What the rate counts, as path.rate_layer of a scenario
    #[arg(long, value_enum, default_value = "frame", value_name = "LAYER")]
    pub(crate) rate_layer: RateLayer,
    /// Round-trip time without queues, e.g. 10ms
    #[arg(long, value_parser = parse::duration)]
    pub(crate) rtt: Duration,
    /// A fixed window, e.g. 64KiB
    #[arg(long, value_parser = parse::bytes)]
    pub(crate) window: Option<Bytes>,
    /// A socket buffer: the maximum of tcp_rmem or tcp_wmem, e.g. 6MiB
    #[arg(long, value_parser = parse::bytes)]
    pub(crate) buffer: Option<Bytes>,
    /// Random loss of segments, e.g. 1%
    #[arg(long, value_parser = parse::ratio)]
    pub(crate) loss: Option<Ratio>,
    /// Payload of a full segment, in bytes
    #[arg(long, value_parser = mss, default_value = "1448")]
    pub(crate) mss: Bytes,
    /// Print the answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What a rate counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RateLayer {
    /// Ethernet frames without FCS (IP + 14 bytes), as tc's tbf does
    Frame,
    /// What an Ethernet wire carries: 24 bytes more per frame (preamble, FCS, gap)
    Wire,
}

impl RateLayer {
    /// What a frame costs beside its own bytes.
    pub(crate) const fn overhead(self) -> Bytes {
        match self {
            Self::Frame => Bytes::new(0),
            Self::Wire => WIRE_OVERHEAD,
        }
    }
}

/// What to do with the simulator.
#[derive(Debug, Subcommand)]
pub(crate) enum SimCommand {
    /// Run random scenarios and check invariants; exit code 1 if one fails
    #[command(after_help = FUZZ_EXAMPLES)]
    Fuzz(FuzzArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct FuzzArgs {
    /// Number of the first scenario; without --for and --runs, run only that one [default: random]
    #[arg(long, value_name = "N", conflicts_with = "file")]
    pub(crate) seed: Option<u64>,
    /// How long to run, e.g. 10min
    #[arg(long = "for", value_name = "TIME", value_parser = parse::duration, conflicts_with_all = ["runs", "file"])]
    pub(crate) span: Option<Duration>,
    /// Number of scenarios [default: 100]
    #[arg(long, value_name = "N", value_parser = some, conflicts_with = "file")]
    pub(crate) runs: Option<u64>,
    /// Check this scenario file instead
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Number of runs at the same time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) jobs: u16,
    /// Print the findings as JSON
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
    /// Write a page for each command to this folder, which is created
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
}

/// Bytes, where a bare number is bytes too: an MSS has no other unit.
fn mss(text: &str) -> Result<Bytes, parse::ParseError> {
    parse::count(text).map(Bytes::new).or_else(|_| parse::bytes(text))
}

/// A number of scenarios, at least 1.
fn some(text: &str) -> Result<u64, parse::ParseError> {
    match parse::count(text)? {
        0 => Err(parse::ParseError::new("must be at least 1", "write 1 or more, or leave the option out")),
        count => Ok(count),
    }
}

/// Most runs at the same time.
pub(crate) const JOBS_MAX: u16 = 64;

/// The heading of options that every command has, after the command's own.
const GLOBAL: &str = "Global options";
const PATH: &str = "Path";

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definitions_are_sound() {
        Args::command().debug_assert();
    }

    #[test]
    fn a_time_to_run_is_a_duration_and_a_number_of_scenarios_is_not_zero() {
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
