//! `run --on hosts` as an ordinary user, and what it says where it can't.

use crate::pipefill::Folder;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

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

/// Against a server of this host, in whose namespace the client is already.
#[test]
fn an_ordinary_user_needs_to_enter_nothing() {
    let folder = Folder::new();
    let mut server = folder.start(&["serve", "-p", "0", "--once", "--bind", "127.0.0.1"]);
    let mut greeting = String::new();
    BufReader::new(server.stderr.take().unwrap()).read_line(&mut greeting).unwrap();
    let address = greeting.split([' ', ',']).find(|word| word.contains(':')).unwrap();
    folder.write(
        "a.toml",
        &format!(
            "name = \"a\"\n[hosts]\nreceiver = \"pipefill:{address}\"\n[[flow]]\nduration = \"300ms\"\n[run]\nrepeat = 1\n"
        ),
    );
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
