//! A disk that is full when an output is written: an older, complete file stays, and nothing half-written is left. A limit of file sizes stands for the
//! full disk: a write fails in the same way, without root.

use crate::pipefill::{Folder, command};
use std::fs;
use std::process::Command;

const SCENARIO: &str = "name = \"one\"\n[path]\nrtt = \"10ms\"\nrate = \"10mbit\"\n[[flow]]\nduration = \"1s\"\n[run]\nrepeat = 1\ncapture = true\n";

/// Runs pipefill where no file can have a byte; what it says.
fn on_full_disk(folder: &Folder, words: &[&str]) -> (Option<i32>, String) {
    let pipefill = command(folder.root(), folder.runtime(), words);
    let mut limited = Command::new("bash");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "bash"]);
    limited.arg(pipefill.get_program()).args(pipefill.get_args()).current_dir(folder.root());
    limited.env("XDG_RUNTIME_DIR", folder.runtime());
    let output = limited.output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn what_was_there_stays_and_no_half_is_left() {
    let folder = Folder::new();
    folder.write("one.toml", SCENARIO);
    folder.pipefill(&["run", "one.toml", "--on", "sim", "--out", "out"]).assert().success();
    let runs: Vec<_> =
        fs::read_dir(folder.path("out/runs")).unwrap().map(|run| run.unwrap().path()).collect();
    let run = runs[0].to_str().unwrap();
    let capture = format!("{run}/artifacts/sender.pcapng");
    let reports = ["html", "json", "csv", "md", "table", "parquet", "iperf3", "flent"];
    for format in reports {
        let words = ["report", "out", "--format", format, "-o", "shown"];
        folder.pipefill(&words).assert().success();
        let whole = fs::read(folder.path("shown")).unwrap();
        assert!(!whole.is_empty());
        let names = folder.names();
        let (code, told) = on_full_disk(&folder, &words);
        assert_eq!(code, Some(2), "{format}: {told}");
        assert!(told.contains("shown") && told.contains("File too large"), "{format}: {told}");
        assert_eq!(fs::read(folder.path("shown")).unwrap(), whole, "{format}");
        assert_eq!(folder.names(), names, "{format}");
        fs::remove_file(folder.path("shown")).unwrap();
        // Where nothing was there, nothing is.
        let names = folder.names();
        assert_eq!(on_full_disk(&folder, &words).0, Some(2), "{format}");
        assert_eq!(folder.names(), names, "{format}");
    }
    let names = folder.names();
    for words in [
        &["pcap", &capture, "--page", "page.html"][..],
        &["pcap", &capture, "--graphs", "drawn"],
        &["pcap", &capture, "--scenario", "made.toml", "--no-fit"],
        &["report", "out", "--format", "svg", "-o", "pictures"],
        &["man", "-o", "pages"],
    ] {
        let (code, told) = on_full_disk(&folder, words);
        assert_eq!(code, Some(2), "{words:?}: {told}");
        // A folder that was asked for may be there, with nothing in it.
        for name in folder.names().into_iter().filter(|name| !names.contains(name)) {
            assert!(
                fs::read_dir(folder.path(&name)).is_ok_and(|mut all| all.next().is_none()),
                "{words:?}: {name}"
            );
            fs::remove_dir(folder.path(&name)).unwrap();
        }
    }
}
