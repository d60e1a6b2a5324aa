//! The tests of the history of late runs (`measuring/lateness.rs`): the tests that measure have no harness of the standard library.
#![allow(dead_code, reason = "made for the tests that measure")]

#[path = "measuring/lateness.rs"]
mod lateness;

use lateness::is_too_often;

#[test]
fn three_late_runs_of_four_are_too_many() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("late.json");
    let runs = |late: [bool; 5]| late.map(|late| is_too_often(&file, "a test", late));
    assert_eq!(runs([true, true, false, true, true]), [false, false, false, true, true]);
    assert_eq!(runs([false, false, true, true, true]), [false, false, false, false, true]);
    assert!(!is_too_often(&file, "another test", true), "each has its own history");
    std::fs::write(&file, "[1").unwrap();
    assert!(!is_too_often(&file, "a test", true), "what is no history begins anew");
}
