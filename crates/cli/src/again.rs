//! The command that carries out a stored experiment again.

use crate::studies;
use pipefill_analysis::experiment::quoted;
use pipefill_store::ExperimentDirectory;

/// The command that repeats the runs of `experiment` that are damaged or missing.
pub(crate) fn resume_command(experiment: &ExperimentDirectory) -> String {
    let out = experiment.path.to_string_lossy();
    let word = quoted(&out);
    format!("{} --on {} --resume --out {word}", command(experiment), experiment.stored.backend)
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
