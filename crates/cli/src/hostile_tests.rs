//! What somebody else may have written, as this program reads it: `--only`, `experiment.json`, `fix.json`, the files of the registry. Any
//! text is what it should be, or an error; never a panic.

use crate::store::{ExperimentDirectory, Owner, Registry};
use crate::{fix_file, select, synthetic};
use pipefill_core::scenario::Style;
use proptest::prelude::*;
use proptest::sample::Index;
use std::fs;
use std::path::Path;

const CASES: u32 = 128;
const EXPERIMENT: &str = "experiment.json";
/// Pieces that filters are made of.
const PIECES: [&str; 9] = ["path.rtt", "=", "1ms", "10ms", ",", "variant", ".", "x", "é"];
/// A proof without rounds.
const PROOFS: &str = r#"{"schema":1,"cells":[{"index":0,"id":"a","axes":{"path.rtt":"1ms"},"backend":"sim","set":[],"rounds":[],
    "path_goodput_bps":1,"end":"nothing_left","why":null,"repeat_command":"x"}]}"#;

/// `text` with pieces cut out or doubled, or digits put in.
fn changed(text: &str, changes: &[(Index, Index, u8)]) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for (from, until, kind) in changes {
        let (a, b) = (from.index(bytes.len() + 1), until.index(bytes.len() + 1));
        let (start, end) = (a.min(b), a.max(b));
        match kind % 3 {
            0 => drop(bytes.drain(start..end)),
            1 => bytes.splice(start..start, bytes[start..end].to_vec()).for_each(drop),
            _ => bytes.splice(start..start, b"99999999999".iter().copied()).for_each(drop),
        }
    }
    bytes
}

fn changes() -> impl Strategy<Value = Vec<(Index, Index, u8)>> {
    prop::collection::vec((any::<Index>(), any::<Index>(), any::<u8>()), 1..3)
}

fn stored(folder: &Path) -> String {
    ExperimentDirectory::create(folder, &synthetic::asked(&[]), "sim").unwrap();
    fs::read_to_string(folder.join(EXPERIMENT)).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn any_filter_leaves_cells_or_is_refused(pieces in prop::collection::vec(0..PIECES.len(), 0..8), text in ".{0,20}") {
        let made: String = pieces.iter().map(|&piece| PIECES[piece]).collect();
        for filter in [made, text] {
            let mut plan = synthetic::asked(&[]).plan;
            match select::only(&mut plan, std::slice::from_ref(&filter)) {
                Ok(()) => prop_assert!(!plan.cells.is_empty()),
                Err(failure) => prop_assert!(!failure.render(Style::Plain).is_empty()),
            }
        }
    }

    #[test]
    fn any_experiment_json_is_one_or_an_error(changes in changes()) {
        let folder = tempfile::tempdir().unwrap();
        let text = stored(folder.path());
        fs::write(folder.path().join(EXPERIMENT), changed(&text, &changes)).unwrap();
        if let Ok(Some(experiment)) = ExperimentDirectory::open(folder.path()) {
            let plan = &experiment.stored.plan;
            prop_assert_eq!(plan.runs().len(), plan.run_count());
            let _same_or_not = experiment.stored.difference(&synthetic::asked(&[]), "sim");
        }
    }

    #[test]
    fn any_fix_json_is_one_or_an_error(changes in changes()) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("fix.json"), changed(PROOFS, &changes)).unwrap();
        let _ = fix_file::read(folder.path());
    }

    #[test]
    fn any_entry_of_the_registry_is_one_or_is_let_alone(changes in changes()) {
        let folder = tempfile::tempdir().unwrap();
        let registry = Registry::at(&folder.path().join("registry"));
        let owner = Owner::current().unwrap();
        let entry = registry.enter(&owner, folder.path(), false).unwrap();
        let file = fs::read_dir(folder.path().join("registry")).unwrap().next().unwrap().unwrap().path();
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, changed(&text, &changes)).unwrap();
        registry.sweep().unwrap();
        drop(entry);
    }
}

/// Otherwise the changes above would change what is refused anyway.
#[test]
fn what_is_changed_is_read_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    stored(folder.path());
    assert!(ExperimentDirectory::open(folder.path()).unwrap().is_some());
    fs::write(folder.path().join("fix.json"), PROOFS).unwrap();
    assert_eq!(fix_file::read(folder.path()).unwrap().len(), 1);
}
