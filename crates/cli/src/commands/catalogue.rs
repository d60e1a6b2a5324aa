//! `pipefill catalogue`: runs every scenario with a known limit, and counts the verdicts that name it. A verdict is right only if every
//! other expectation of its scenario holds too.

use super::run::{self, Wanted};
use crate::args::{CatalogueArgs, End};
use crate::outcome::Outcome;
use crate::terminal::Terminal;
use pipefill_analysis::findings::confusion::{Blindfold, Catalogue, CatalogueSet, scenario_name};
use pipefill_analysis::findings::experiment::Experiment;
use pipefill_analysis::findings::perturbation::Perturbation;
use pipefill_analysis::infer::View;
use pipefill_report::confusion;
use pipefill_runs::catalogue::{CATALOGUE, CatalogueScenario};
use pipefill_runs::{Failure, Finished, PlannedScenario, result_of, rows};
use pipefill_store::ExperimentDirectory;
use std::path::{Path, PathBuf};

/// Where the records go if the user names no directory; numbered where that is taken.
const DEFAULT: &str = "pipefill-runs/catalogue";

/// Runs the catalogue, or the part of it that was named.
pub(super) fn catalogue(args: &CatalogueArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let folder = args.options.out.clone().unwrap_or_else(free);
    let chosen = chosen(&args.names)?;
    let sets: Vec<CatalogueSet> = chosen.iter().map(|entry| entry.set).collect();
    let experiments = chosen
        .into_iter()
        .map(|entry| {
            let mut options = args.options.clone();
            options.out = Some(folder.join(entry.name));
            Ok(Wanted {
                asked: PlannedScenario::built_in(entry.name, entry.text, &args.set)?,
                options,
                shard: None,
            })
        })
        .collect::<Result<Vec<_>, Failure>>()?;
    let finished = run::carry_out(experiments, terminal, false, &|_| Ok(()))?;
    let mut result =
        Catalogue::of(sets.iter().copied().zip(finished.iter().map(|experiment| &experiment.result)));
    result.perturbation = args
        .perturb
        .map(|part| perturbed(&finished, args.blindfold.map(End::view), part.fraction()))
        .transpose()?;
    result.blindfold =
        args.blindfold.map(|end| blindfolded(&sets, &finished, end.view(), terminal)).transpose()?;
    if args.options.json {
        terminal.print_data(&(serde_json::to_string_pretty(&result).map_err(Failure::json)? + "\n"))?;
    } else if args.options.json_stream.is_none() {
        terminal.print(&confusion::render(&result))?;
    }
    if args.options.quiet {
        run::say_chosen(&folder, args.options.out.as_deref(), terminal);
    } else {
        terminal.say(&format!("\nrecords: {}", folder.display()));
    }
    Ok(run::worst(&finished))
}

/// Judges the records by the sockets of one end.
fn blindfolded(
    sets: &[CatalogueSet],
    finished: &[Finished],
    view: View,
    terminal: &Terminal,
) -> Result<Blindfold, Failure> {
    let seen: Vec<Experiment> = finished
        .iter()
        .map(|finished| result_of(&finished.directory, Some(view), terminal))
        .collect::<Result<_, Failure>>()?;
    let pairs = sets.iter().copied().zip(finished).zip(&seen);
    Ok(Blindfold::of(view, pairs.map(|((set, planned), seen)| (set, &planned.result, seen))))
}

/// Judges the records again with one threshold moved at a time.
fn perturbed(finished: &[Finished], view: Option<View>, part: f64) -> Result<Perturbation, Failure> {
    let mut perturbation = Perturbation::new(part);
    for planned in finished {
        let Some(experiment) = ExperimentDirectory::open(&planned.directory)? else { continue };
        let directories = experiment.run_directories()?;
        for cell in &planned.result.cells {
            // One run of a cell shows what the others would.
            let first = cell.run_values.first();
            let directory =
                first.and_then(|run| directories.iter().find(|path| path.ends_with(&run.directory)));
            if let Some(directory) = directory
                && let Some((manifest, rows)) = rows(directory, view)?
            {
                perturbation.add(&scenario_name(&planned.result, cell), &manifest, &rows);
            }
        }
    }
    Ok(perturbation)
}

fn chosen(names: &[String]) -> Result<Vec<CatalogueScenario>, Failure> {
    if names.is_empty() {
        return Ok(CATALOGUE.to_vec());
    }
    let is_of = |entry: &CatalogueScenario, name: &str| {
        let is_of_set = CatalogueSet::ALL.iter().any(|set| set.as_str() == name && *set == entry.set);
        is_of_set || entry.name == name || entry.name.starts_with(&format!("{name}-"))
    };
    if let Some(unknown) = names.iter().find(|name| !CATALOGUE.iter().any(|entry| is_of(entry, name))) {
        let sets = CatalogueSet::ALL.iter().map(|set| set.as_str());
        let known: Vec<&str> = sets.chain(CATALOGUE.iter().map(|entry| entry.name)).collect();
        return Err(Failure::usage(
            format!("the catalogue has no \"{unknown}\""),
            format!("its sets and scenarios are: {}", known.join(", ")),
        ));
    }
    Ok(CATALOGUE.iter().copied().filter(|entry| names.iter().any(|name| is_of(entry, name))).collect())
}

fn free() -> PathBuf {
    let numbered = (2..).map(|number| PathBuf::from(format!("{DEFAULT}-{number}")));
    let mut all = std::iter::once(PathBuf::from(DEFAULT)).chain(numbered);
    all.find(|path: &PathBuf| !Path::exists(path)).unwrap_or_else(|| PathBuf::from(DEFAULT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_scenario_or_a_group_of_them() {
        let names = |asked: &str| -> Vec<&str> {
            chosen(&[asked.to_owned()]).unwrap().into_iter().map(|entry| entry.name).collect()
        };
        assert_eq!(names("app-bitrate"), ["app-bitrate"]);
        assert!(names("rwnd").len() >= 2 && names("rwnd").iter().all(|name| name.starts_with("rwnd-")));
        assert!(chosen(&["rw".to_owned()]).is_err());
        assert_eq!(names("applications"), ["applications"]);
        let of_set = |set: CatalogueSet| CATALOGUE.iter().filter(move |entry| entry.set == set).count();
        assert_eq!(names("limits").len(), of_set(CatalogueSet::Limits));
        assert_eq!(names("aqm").len(), of_set(CatalogueSet::Aqm));
    }
}
