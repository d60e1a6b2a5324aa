//! What somebody else may have written, as this program reads it: `--only`, `fix.json`. Any text is what it should be, or an error; never a
//! panic.

use crate::{fix_file, synthetic};
use pipefill_testkit::changes::{changed, changes};
use proptest::prelude::*;
use std::fs;

const CASES: u32 = 128;
/// Pieces that filters are made of.
const PIECES: [&str; 9] = ["path.rtt", "=", "1ms", "10ms", ",", "variant", ".", "x", "é"];
/// A proof without rounds.
const PROOFS: &str = r#"{"schema":1,"cells":[{"index":0,"id":"a","axes":{"path.rtt":"1ms"},"backend":"sim","set":[],"rounds":[],
    "path_goodput_bps":1,"end":"nothing_left","why":null,"repeat_command":"x"}]}"#;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn any_filter_leaves_cells_or_is_refused(pieces in prop::collection::vec(0..PIECES.len(), 0..8), text in ".{0,20}") {
        let made: String = pieces.iter().map(|&piece| PIECES[piece]).collect();
        for filter in [made, text] {
            let mut plan = synthetic::asked(&[]).plan;
            match plan.select(std::slice::from_ref(&filter)) {
                Ok(()) => prop_assert!(!plan.cells.is_empty()),
                Err(problem) => prop_assert!(!problem.what.is_empty()),
            }
        }
    }

    #[test]
    fn any_fix_json_is_one_or_an_error(changes in changes()) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("fix.json"), changed(PROOFS.as_bytes(), &changes)).unwrap();
        let _ = fix_file::read(folder.path());
    }
}

/// Otherwise the changes above would change what is refused anyway.
#[test]
fn what_is_changed_is_read_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("fix.json"), PROOFS).unwrap();
    assert_eq!(fix_file::read(folder.path()).unwrap().len(), 1);
}
