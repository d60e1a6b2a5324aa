//! polars, pandas and DuckDB read every table of a simulated and a measured run with no option but its path, and a report in Parquet.
//!
//! The programs come from PyPI (`scripts/readers.sh`). Where they are not to be had the test is skipped; with
//! `PIPEFILL_REQUIRE_READERS=1` that is a failure.

mod measuring;

use measuring::{Folder, Outcome, Skip, run, test};
use std::process::{Command, ExitCode};

/// Every table but that of the CPU, which only the lab has. At a round trip of a second, and with many streams, some columns have no
/// value for longer than readers look for types; `ssthresh` has none before the first loss.
const SCENARIO: &str = r#"
name = "read"
[path]
rtt = ["1ms", "1s"]
rate = "20mbit"
queue = "20p"
[[flow]]
duration = "1500ms"
parallel = 8
[[flow]]
protocol = "udp"
bitrate = "1mbit"
direction = "reverse"
duration = "1500ms"
[[flow]]
protocol = "ping"
duration = "1500ms"
[run]
repeat = 1
"#;

fn main() -> ExitCode {
    let name = "data_frames_are_made_of_records_as_they_are";
    run([("readers", vec![test(name, data_frames_are_made_of_records_as_they_are)])])
}

fn data_frames_are_made_of_records_as_they_are() -> Outcome {
    let folder = Folder::new();
    folder.write("read.toml", SCENARIO);
    let mut experiments = vec!["sim"];
    if folder.pipefill(&["doctor"]).output().unwrap().status.success() {
        experiments.push("lab");
    }
    for backend in &experiments {
        let words = ["run", "read.toml", "--on", backend, "--out", backend, "--quiet"];
        let code = folder.pipefill(&words).output().unwrap().status.code();
        assert!(matches!(code, Some(0 | 4)), "{backend}: an invalid run has its tables too: {code:?}");
        for (format, file) in [("parquet", "runs.parquet"), ("json", "report.json")] {
            let file = folder.path(backend).join(file);
            let words = ["report", backend, "--format", format, "-o", file.to_str().unwrap()];
            assert!(folder.pipefill(&words).output().unwrap().status.success(), "{format}");
        }
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/readers.sh");
    let paths = experiments.iter().map(|backend| folder.path(backend));
    let output = Command::new(script).args(paths).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(3) {
        assert!(std::env::var_os("PIPEFILL_REQUIRE_READERS").is_none_or(|value| value != "1"), "{said}");
        let reason = said.lines().last().unwrap_or("no reason given");
        return Err(Skip::ReadersUnavailable(reason.to_owned()));
    }
    assert!(output.status.success(), "{said}");
    let told = String::from_utf8_lossy(&output.stdout);
    assert_eq!(told.lines().count(), experiments.len(), "{told}");
    Ok(())
}
