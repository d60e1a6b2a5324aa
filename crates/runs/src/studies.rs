//! The built-in studies: the scenario files of `scenarios/studies/`, compiled into the binary.

use pipefill_core::parse::nearest;
use pipefill_core::problem::Problem;

/// A built-in scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Study {
    /// What `pipefill study` calls it; its file's stem.
    pub name: &'static str,
    /// The scenario.
    pub text: &'static str,
}

/// Every study, in the order in which `study all` runs them.
pub const STUDIES: &[Study] = &[
    Study { name: "rtt", text: include_str!("../../../scenarios/studies/rtt.toml") },
    Study { name: "bdp", text: include_str!("../../../scenarios/studies/bdp.toml") },
    Study { name: "window", text: include_str!("../../../scenarios/studies/window.toml") },
    Study { name: "buffers", text: include_str!("../../../scenarios/studies/buffers.toml") },
    Study { name: "loss", text: include_str!("../../../scenarios/studies/loss.toml") },
    Study { name: "bufferbloat", text: include_str!("../../../scenarios/studies/bufferbloat.toml") },
];

/// The name of all studies together.
pub const ALL: &str = "all";

/// The study called `name`.
pub fn find(name: &str) -> Option<Study> {
    STUDIES.iter().copied().find(|study| study.name == name)
}

/// The study called `name`, or all of them for `all`.
///
/// # Errors
/// [`Problem`] that lists them.
pub fn named(name: &str) -> Result<Vec<Study>, Problem> {
    if name == ALL {
        return Ok(STUDIES.to_vec());
    }
    find(name).map(|study| vec![study]).ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> Problem {
    let known: Vec<&str> = STUDIES.iter().map(|study| study.name).chain(std::iter::once(ALL)).collect();
    let list = known.join(", ");
    let help = nearest(name, &known).map_or_else(
        || format!("the studies are: {list}"),
        |word| format!("did you mean \"{word}\"? The studies are: {list}"),
    );
    Problem::usage(format!("there is no study \"{name}\""), help)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::scenario::Scenario;
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn every_study_file_is_built_in_under_its_own_name() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/studies");
        let files: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|e| e == "toml"))
            .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        let built_in: BTreeSet<String> = STUDIES.iter().map(|study| study.name.to_owned()).collect();
        assert_eq!(files, built_in);
        for study in STUDIES {
            let scenario = Scenario::parse(study.text, study.name).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(scenario.name(), study.name);
        }
    }

    #[test]
    fn an_unknown_study_is_told_the_known_ones() {
        let problem = named("rtl").unwrap_err();
        let text = problem.remedy.unwrap_or_default();
        assert!(text.contains("did you mean \"rtt\"") && text.contains("all"), "{text}");
    }
}
