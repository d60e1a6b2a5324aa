//! The commands, one module each. They compute nothing; that is `analysis`.

mod bdp;
mod catalogue;
mod compare;
mod completions;
mod doctor;
mod exec;
mod explain;
mod fix;
mod flows;
mod fuzz;
mod man;
mod merge;
mod pcap;
mod plan;
mod report;
mod run;
mod serve;
mod shape;
mod sweep;
mod test;
mod watch;

use crate::args::{Command, SimCommand};
use crate::outcome::Outcome;
use crate::terminal::Terminal;
use pipefill_runs::Failure;

/// Executes the command line.
///
/// # Errors
/// [`Failure`], which knows its exit code.
pub(crate) fn carry_out(command: Command, terminal: &Terminal) -> Result<Outcome, Failure> {
    match command {
        Command::Plan(args) => plan::plan(&args, terminal),
        Command::Run(args) => run::run(&args, terminal),
        Command::Merge(args) => merge::merge(&args, terminal),
        Command::Study(args) => run::study(&args, terminal),
        Command::Catalogue(args) => catalogue::catalogue(&args, terminal),
        Command::Report(args) => report::report(&args, terminal),
        Command::Explain(args) => explain::explain(&args, terminal),
        Command::Fix(args) => fix::fix(&args, terminal),
        Command::Compare(args) => compare::compare(&args, terminal),
        Command::Watch(args) => watch::watch(&args, terminal),
        Command::Pcap(args) => pcap::pcap(&args, terminal),
        Command::Exec(args) => exec::exec(&args, terminal),
        Command::Serve(args) => serve::serve(&args),
        Command::Shape(args) => shape::shape(&args, terminal),
        Command::Test(args) => test::test(&args, terminal),
        Command::Sweep(args) => sweep::sweep(&args, terminal),
        Command::Doctor(args) => doctor::doctor(&args, terminal),
        Command::Bdp(args) => bdp::bdp(&args, terminal),
        Command::Sim(SimCommand::Fuzz(args)) => fuzz::fuzz(&args, terminal),
        Command::Completions(args) => completions::completions(&args, terminal),
        Command::Man(args) => man::man(&args, terminal),
    }
}
