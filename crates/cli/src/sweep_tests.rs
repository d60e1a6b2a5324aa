//! What a sweep asks of its engine, without one.

use super::*;
use crate::args::{Args, Command};
use clap::Parser;

/// A matrix of four.cells.
const TEXT: &str = "name = \"four.cells\"\n[path]\nrtt = [\"1ms\", \"2ms\"]\nloss = [\"0%\", \"1%\"]\n[[flow]]\nduration = \"1s\"\n";

/// What `pipefill sweep FILE --on sim` with `more` describes.
pub(super) fn described(more: &[&str]) -> Result<Description, Failure> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("four.toml");
    fs::write(&file, TEXT).unwrap();
    let words = ["pipefill", "sweep", file.to_str().unwrap(), "--on", "sim"];
    let parsed = Args::try_parse_from(words.iter().chain(more)).unwrap();
    let Command::Sweep(args) = parsed.command else { unreachable!() };
    Description::new(&args, &PlannedScenario::file(&args.file, &args.selection.with_capture(false)).unwrap())
}

#[test]
fn the_options_of_a_shard_are_those_that_were_asked_for() {
    let more = [
        "--engine",
        "local",
        "--shards",
        "2",
        "--repeat",
        "2",
        "--cpus",
        "3",
        "--only",
        "path.loss=0%,path.rtt=1ms",
    ];
    assert!(described(&more).unwrap_err().to_string().contains("the plan has 1 cells"));
    let description =
        described(&[&more[..8], &["--set", "path.rate=10mbit", "--records", "summary"]].concat()).unwrap();
    let words = description.words(Path::new("/a b"), "2", Path::new("/a b")).join("|");
    assert_eq!(
        words,
        "run|/a b/scenario.toml|--on|sim|--jobs|3|--records|summary|--set|path.rate=10mbit|--set|run.repeat=2|--quiet|--resume|--shard|2/2|--out|/a b/shards/2"
    );
}

#[test]
fn a_sweep_needs_an_engine_and_no_more_shards_than_cells() {
    assert!(described(&["--shards", "2"]).is_err());
    assert!(described(&["--engine", "local"]).is_err());
    assert!(described(&["--engine", "ray", "--shards", "2", "--at-once", "1"]).is_err());
    let refused = described(&["--engine", "local", "--shards", "5"]).unwrap_err();
    assert_eq!(refused.to_string(), "the plan has 4 cells, and each of 5 shards needs one");
}

#[test]
fn a_directory_is_made_once_and_tells_what_it_lacks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sweep");
    let description = described(&["--engine", "local", "--shards", "3"]).unwrap();
    let made = Sweep::create(&path, description.clone(), TEXT).unwrap();
    assert_eq!(made.status().unwrap().lacking(), [1, 2, 3]);
    let opened = Sweep::open(&path).unwrap().unwrap();
    assert_eq!(opened.description, description);
    assert!(Sweep::create(&path, description, TEXT).unwrap_err().to_string().ends_with("exists already"));
    assert!(Sweep::open(folder.path()).unwrap().is_none());
    fs::write(path.join(DESCRIPTION), "{}").unwrap();
    assert!(Sweep::open(&path).is_err());
}

#[test]
fn a_shell_gets_every_word_whole() {
    let words = [
        "run",
        "/it's/$shard/s.toml",
        "--set",
        "a=\"b c\"",
        "--shard",
        "\0/8",
        "--out",
        "/it's/$shard/shards/\0",
    ];
    let words: Vec<String> = words.map(str::to_owned).into();
    let line = shell("printf '%s\\n'", &words);
    let output = std::process::Command::new("sh").args(["-c", &format!("shard=3; {line}")]).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let expected = "run\n/it's/$shard/s.toml\n--set\na=\"b c\"\n--shard\n3/8\n--out\n/it's/$shard/shards/3\n";
    assert_eq!(printed, expected);
}
