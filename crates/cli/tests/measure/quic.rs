//! `pipefill explain` of a qlog that a QUIC library writes while something known limits it: aioquic of PyPI, over `exec`.

use crate::measuring::{Folder, Outcome, Skip, Test, is_quiet, lab, slow_test};
use serde_json::Value;
use std::fs;
use std::process::Command;

/// Holder, path, words of the server, what the client writes.
const CASES: [(&str, &[&str], &str, &str); 6] = [
    ("cwnd", &["--rtt", "100ms", "--rate", "20mbit", "--loss", "3%"], "", "endless"),
    ("cwnd", &["--rtt", "40ms", "--rate", "20mbit", "--loss", "2%"], "", "endless"),
    ("rwnd", &["--rtt", "100ms", "--rate", "20mbit"], "12000", "endless"),
    ("rwnd", &["--rtt", "40ms", "--rate", "20mbit"], "20000", "endless"),
    ("app", &["--rtt", "40ms", "--rate", "20mbit"], "", "paused"),
    ("app", &["--rtt", "10ms", "--rate", "20mbit"], "", "paused"),
];

/// Only `make proof` has them: the library is downloaded.
pub(crate) fn tests() -> Vec<Test> {
    let name = "the_planted_holder_is_named_by_a_qlog";
    if is_quiet() { vec![slow_test(name, planted_holders)] } else { Vec::new() }
}

fn planted_holders() -> Outcome {
    let python = python()?;
    let mut wrong = Vec::new();
    for (at, (limited_by, path, window, writes)) in CASES.into_iter().enumerate() {
        let folder = lab()?;
        let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/measure/quic.py");
        fs::create_dir(folder.path("logs")).unwrap();
        let server = format!("'{python}' '{program}' serve 4433 {window}");
        let client = [&python, program, "send", "{server}", "4433", writes, "4", "logs"];
        let words = [&["exec"], path, &["--quiet", "--server", &server, "--"], &client[..]].concat();
        let output = folder.pipefill(&words).output().unwrap();
        assert!(output.status.success(), "case {at}: {}", String::from_utf8_lossy(&output.stderr));
        let found = explained(&folder);
        println!("case {at}: {found}, planted {limited_by}");
        if found != limited_by {
            wrong.push(at);
        }
    }
    assert!(wrong.is_empty(), "cases {wrong:?}");
    Ok(())
}

/// The holder that the only log names.
fn explained(folder: &Folder) -> String {
    let log = fs::read_dir(folder.path("logs")).unwrap().next().unwrap().unwrap().path();
    let output = folder.pipefill(&["explain", log.to_str().unwrap(), "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    found["connections"][0]["limited_by"].as_str().unwrap_or("none").to_owned()
}

/// A Python with aioquic.
fn python() -> Result<String, Skip> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/python.sh");
    let output = Command::new(script).arg("quic").output().unwrap();
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).lines().last().unwrap_or_default().to_owned();
    match output.status.code() {
        Some(0) => Ok(said(&output.stdout) + "/bin/python"),
        Some(3) => Err(Skip::ReadersUnavailable(said(&output.stderr))),
        code => panic!("python.sh quic: {code:?}: {}", said(&output.stderr)),
    }
}
