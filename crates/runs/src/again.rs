//! The command that carries out a stored experiment again.

use crate::studies;
use pipefill_core::plan::Shard;
use pipefill_report::words::quoted;
use pipefill_store::{ExperimentDirectory, Records};

/// The command that makes the runs of `experiment` that are damaged or missing.
pub fn resume_command(experiment: &ExperimentDirectory) -> String {
    let out = experiment.path.to_string_lossy();
    format!("{} --resume --out {}", whole_command(experiment, experiment.stored.shard()), quoted(&out))
}

/// The command that makes `shard` of the plan that `experiment` is a shard of, in a directory beside it.
pub fn shard_command(experiment: &ExperimentDirectory, shard: Shard) -> String {
    let Shard { number, of } = shard;
    let name = format!("{}-shard-{number}-of-{of}", experiment.stored.plan.experiment);
    let out = experiment.path.with_file_name(name);
    format!("{} --out {}", whole_command(experiment, Some(shard)), quoted(&out.to_string_lossy()))
}

/// The command that makes `shard`, or all, of what `experiment` is about, up to and without `--out`.
fn whole_command(experiment: &ExperimentDirectory, shard: Option<Shard>) -> String {
    let stored = &experiment.stored;
    let mut words = command(experiment);
    for only in &stored.only {
        words += &format!(" --only {}", quoted(only));
    }
    words += &format!(" --on {}", stored.backend);
    if stored.records == Records::Summary {
        words += " --records summary";
    }
    if let Some(shard) = shard {
        words += &format!(" --shard {shard}");
    }
    words
}

/// The command that ran `experiment`, up to and without `--on`. Built on the copy of the scenario, unless that is the very study that this
/// pipefill has.
pub(crate) fn command(experiment: &ExperimentDirectory) -> String {
    let stored = &experiment.stored;
    let copy = experiment.scenario();
    let study = stored.study.as_deref().and_then(studies::find);
    let text = experiment.scenario_text().ok().flatten();
    let same = study.filter(|study| text.as_deref() == Some(study.text));
    let mut words = vec!["pipefill".to_owned()];
    match same {
        Some(study) => words.extend(["study".to_owned(), study.name.to_owned()]),
        None => words.extend(["run".to_owned(), copy.to_string_lossy().into_owned()]),
    }
    words.extend(stored.quick.then(|| "--quick".to_owned()));
    for set in &stored.set {
        words.extend(["--set".to_owned(), set.clone()]);
    }
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}
