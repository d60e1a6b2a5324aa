//! `run --on hosts` as an ordinary user, and what it says where it can't.

use crate::pipefill::Folder;
use nix::sys::signal::{Signal, kill};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

/// A user without a privilege.
const NOBODY: u32 = 65_534;

#[test]
fn a_scenario_without_hosts_has_a_help_line() {
    let folder = Folder::new();
    folder.write("a.toml", "name = \"a\"\n[[flow]]\nduration = \"1s\"\n");
    let output = folder.pipefill(&["run", "a.toml", "--on", "hosts"]).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{text}");
    let [error, help] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
    assert_eq!(error, "error: run 0000-r1: the scenario does not say where its hosts are");
    assert!(help.starts_with("help: write e.g. [hosts] receiver = "), "{help}");
}

#[test]
fn a_server_of_tests_has_no_applications() {
    let folder = Folder::new();
    for (flow, what) in [
        ("app = { kind = \"window\", size = \"1MiB\" }", "flow.app other than \"bulk\""),
        ("nodelay = true", "flow.nodelay"),
    ] {
        let hosts = "[hosts]\nreceiver = \"pipefill:127.0.0.1:1\"\n";
        folder.write("a.toml", &format!("name = \"a\"\n{hosts}[[flow]]\nduration = \"1s\"\n{flow}\n"));
        let output = folder.pipefill(&["run", "a.toml", "--on", "hosts"]).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(&format!("{what} needs both ends on this machine")), "{text}");
        assert!(text.contains("help: leave it out, or choose other ends"), "{text}");
    }
}

/// Both ends measure how punctual they were, as those of a test do.
#[test]
fn a_run_whose_server_was_stopped_is_invalid_and_its_figures_stand_in_brackets() {
    let folder = Folder::new();
    let mut server = folder.start(&["serve", "-p", "0", "--bind", "127.0.0.1"]);
    let mut said = BufReader::new(server.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    let address = line.split([' ', ',']).find(|word| word.contains(':')).unwrap().to_owned();
    let flow = "[[flow]]\nduration = \"3s\"\nbitrate = \"20mbit\"\n[run]\nrepeat = 1\n";
    folder.write("a.toml", &format!("name = \"a\"\n[hosts]\nreceiver = \"pipefill:{address}\"\n{flow}"));
    let mut run = folder.start(&["run", "a.toml", "--on", "hosts", "--quiet", "--out", "out"]);
    let id = nix::unistd::Pid::from_raw(server.id().try_into().unwrap());
    // Whenever its traffic begins: half of the time, until it has ended.
    while run.try_wait().unwrap().is_none() {
        for signal in [Signal::SIGSTOP, Signal::SIGCONT] {
            kill(id, signal).unwrap();
            std::thread::sleep(Duration::from_millis(300));
        }
    }
    let output = run.wait_with_output().unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(4), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let report = folder.pipefill(&["report", "out", "--json"]).output().unwrap();
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    // The cell has one detail for each reason, and that may be this host's, where the machine is busy.
    let run = &report["cells"][0]["run_values"][0];
    let invalid = run["invalid"].as_array().unwrap_or_else(|| panic!("{report:#}"));
    let is_the_servers =
        |reason: &Value| reason["detail"].as_str().is_some_and(|said| said.starts_with("at the server: "));
    assert!(invalid.iter().any(is_the_servers), "{invalid:#?}");
    assert!(text.contains("figures in brackets are of invalid runs"), "{text}");
}

/// Against a server of this host, in whose namespace the client is already.
#[test]
fn an_ordinary_user_needs_to_enter_nothing() {
    let folder = Folder::new();
    let mut server = folder.start(&["serve", "-p", "0", "--once", "--bind", "127.0.0.1"]);
    let mut greeting = String::new();
    BufReader::new(server.stderr.take().unwrap()).read_line(&mut greeting).unwrap();
    let address = greeting.split([' ', ',']).find(|word| word.contains(':')).unwrap();
    // What an ordinary user may choose.
    let allowed = fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control").unwrap();
    let allowed = allowed.split_whitespace().next().unwrap();
    let text = format!(
        "name = \"a\"\n[hosts]\nreceiver = \"pipefill:{address}\"\n[host]\ncongestion_control = \"{allowed}\"\n[[flow]]\n\
         duration = \"300ms\"\n[run]\nrepeat = 1\n"
    );
    folder.write("a.toml", &text);
    let program = folder.path("pipefill");
    fs::copy(assert_cmd::cargo::cargo_bin!("pipefill"), &program).unwrap();
    for path in [folder.root(), folder.runtime()] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    }
    let mut command = Command::new(program);
    command.args(["run", "a.toml", "--on", "hosts", "--quiet", "--out", "out"]).current_dir(folder.root());
    command.env("XDG_RUNTIME_DIR", folder.path("registry"));
    if nix::unistd::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let _ended = server.kill();
    let _status = server.wait();
    assert!(!text.contains("not permitted") && !text.contains("error"), "{text}");
    let run = fs::read_dir(folder.path("out/runs")).unwrap().next().unwrap().unwrap().path();
    let manifest: Value = serde_json::from_slice(&fs::read(run.join("manifest.json")).unwrap()).unwrap();
    assert_eq!(manifest["environment"]["privilege"], "user", "{:#}", manifest["environment"]);
}
