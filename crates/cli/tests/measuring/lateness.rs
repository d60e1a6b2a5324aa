//! In which of a test's last runs the machine was late. One that is skipped for it again and again measures nothing, and that has to show.

use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The last runs of a test that are looked at.
const RUNS: usize = 4;
/// So many of them may not be late.
const TOO_MANY: usize = 3;

/// Kept with what was built: a fresh clone has no history.
pub(super) fn file() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("late-tests.json")
}

/// Notes in `file` whether the machine was late in this run of the test `name`; returns whether it was so in too many of the last ones. A file
/// that cannot be read begins anew.
pub(super) fn is_too_often(file: &Path, name: &str, is_late: bool) -> bool {
    static WRITING: Mutex<()> = Mutex::new(());
    let _alone = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let read = fs::read(file).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    let mut history = read.filter(Value::is_object).unwrap_or_else(|| json!({}));
    let before = history[name].as_array().into_iter().flatten().filter_map(Value::as_bool);
    let mut runs: Vec<bool> = before.chain([is_late]).collect();
    runs.drain(..runs.len().saturating_sub(RUNS));
    let late = runs.iter().filter(|&&is_late| is_late).count();
    history[name] = json!(runs);
    fs::write(file, history.to_string()).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    is_late && late >= TOO_MANY
}
