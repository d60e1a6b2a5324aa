//! What users read beside results: help, messages, the chosen directory, other people's text on a terminal. Without any privilege.

use crate::pipefill::Folder;
use predicates::prelude::*;
use predicates::str::contains;
use std::fs;
use std::process::Stdio;

const SCENARIO: &str = r#"
name = "small"
[path]
rtt = ["1ms", "10ms"]
rate = "10mbit"
loss = "0.01%"
[[flow]]
duration = "200ms"
"#;

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("small.toml", SCENARIO);
    folder
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn quiet_prints_the_chosen_directory_alone() {
    let folder = folder();
    let run = |words: &[&str]| {
        let output = folder
            .pipefill(&[&["run", "small.toml", "--on", "sim", "--quiet"], words].concat())
            .output()
            .unwrap();
        assert!(output.status.success());
        text(&output.stderr)
    };
    assert_eq!(run(&[]), "pipefill-runs/small\n");
    assert_eq!(run(&["--json"]), "pipefill-runs/small-2\n");
    assert_eq!(run(&["--out", "named"]), "");
    let catalogue =
        folder.pipefill(&["catalogue", "app-bitrate", "--on", "sim", "--quiet"]).output().unwrap();
    assert_eq!(text(&catalogue.stderr), "pipefill-runs/catalogue\n");
    let fix = folder.pipefill(&["fix", "named", "--repeat", "1", "--quiet"]).output().unwrap();
    assert_eq!(text(&fix.stderr), "pipefill-runs/small-fix\n");
}

#[test]
fn a_full_disk_behind_a_stream_or_a_table_is_an_error() {
    let folder = folder();
    for form in ["--json-stream", "--json-stream=samples", "--json", "--quick"] {
        let full = Stdio::from(fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
        let program = assert_cmd::cargo::cargo_bin!("pipefill");
        let output = std::process::Command::new(program)
            .args(["run", "small.toml", "--on", "sim", "--repeat", "1", form])
            .current_dir(folder.root())
            .env("XDG_RUNTIME_DIR", folder.runtime())
            .stdout(full)
            .output()
            .unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{form}: {said}");
        assert!(said.contains("error: writing standard output: No space left on device"), "{form}: {said}");
    }
}

#[test]
fn closing_the_pipe_does_not_stop_the_run() {
    let folder = folder();
    let program = assert_cmd::cargo::cargo_bin!("pipefill");
    let script = format!(
        "{} run small.toml --on sim --json-stream --out out | head -n 1; exit ${{PIPESTATUS[0]}}",
        program.display()
    );
    let mut bash = std::process::Command::new("bash");
    bash.args(["-c", &script]).current_dir(folder.root()).env("XDG_RUNTIME_DIR", folder.runtime());
    assert_eq!(bash.output().unwrap().status.code(), Some(0));
    assert_eq!(fs::read_dir(folder.path("out/runs")).unwrap().count(), 10);
}

#[test]
fn repeat_overrides_the_scenario_and_is_kept_for_the_command_that_repeats_it() {
    let folder = folder();
    for words in [
        vec!["plan", "small.toml"],
        vec!["plan", "small.toml", "--set", "run.repeat=7"],
        vec!["plan", "small.toml", "--quick"],
    ] {
        let plan = folder.pipefill(&[&words[..], &["--repeat", "5"]].concat()).assert().success();
        plan.stdout(contains("2 cells, 10 runs"));
    }
    let run = folder
        .pipefill(&["run", "small.toml", "--on", "sim", "--repeat", "2", "--json", "--out", "out"])
        .assert();
    let result: serde_json::Value = serde_json::from_slice(&run.success().get_output().stdout).unwrap();
    assert_eq!(result["cells"][0]["runs"], 2);
    let command = result["cells"][0]["repeat_command"].as_str().unwrap();
    assert!(command.contains("run.repeat=2"), "{command}");
    folder.pipefill(&["plan", "small.toml", "--repeat", "0"]).assert().code(2).stderr(contains("1..=1000"));
}

#[test]
fn a_scenario_may_come_from_standard_input() {
    let folder = Folder::new();
    folder.pipefill(&["plan", "-"]).write_stdin(SCENARIO).assert().success().stdout(contains("2 cells"));
    let run = ["run", "-", "--on", "sim", "--quiet", "--out", "out"];
    folder.pipefill(&run).write_stdin(SCENARIO).assert().success();
    assert_eq!(fs::read_to_string(folder.path("out/scenario.toml")).unwrap(), SCENARIO);
    let bad = folder.pipefill(&["plan", "-"]).write_stdin("name = 3").assert().code(2);
    bad.stderr(contains("standard input:1:8"));
}

#[test]
fn a_file_that_is_none_is_told_what_to_give() {
    let folder = folder();
    folder.pipefill(&["run", "small.toml", "--on", "sim", "--quiet", "--out", "out"]).assert().success();
    fs::create_dir(folder.path("empty")).unwrap();
    fs::write(folder.path("binary"), [0xff, 0xfe]).unwrap();
    for (file, what, help) in [
        ("none.toml", "there is no file none.toml", "study --list"),
        ("rtt", "built-in study", "pipefill study rtt"),
        ("empty", "empty is a directory", "give a scenario file"),
        ("out", "directory of an experiment", "out/scenario.toml"),
        ("binary", "is not text", "TOML"),
    ] {
        let said = folder.pipefill(&["run", file]).assert().code(2);
        said.stderr(contains(what).and(contains(help)).and(contains("os error").not()));
    }
    folder.pipefill(&["run"]).assert().code(2).stderr(contains("<FILE>"));
}

#[test]
fn a_directory_that_is_none_is_told_what_to_give() {
    let folder = folder();
    for command in [
        vec!["report"],
        vec!["report", "--format", "iperf3"],
        vec!["explain"],
        vec!["fix"],
        vec!["compare", "small.toml"],
    ] {
        let of = |path| folder.pipefill(&[&command[..], &[path]].concat()).assert().code(2);
        let expected =
            if command[0] == "compare" { "small.toml is a file" } else { "there is no directory none" };
        of("none").stderr(contains(expected).and(contains("pipefill run")).and(contains("os error").not()));
        let of_a_file =
            if command[0] == "explain" { "small.toml is not a pcap" } else { "small.toml is a file" };
        of("small.toml").stderr(contains(of_a_file).and(contains("os error").not()));
    }
}

#[test]
fn a_directory_that_cannot_be_made_names_the_option() {
    let folder = folder();
    folder.write("pipefill-runs", "a file\n");
    let run = ["run", "small.toml", "--on", "sim"];
    folder
        .pipefill(&run)
        .assert()
        .code(2)
        .stderr(contains("making pipefill-runs").and(contains("--out DIR")));
}

/// What a scenario lets pass: it refuses controls in titles, but not those of the direction of text.
const SPOOFING: &str = "a\\u202eb\\u2066c\\u200f";
/// Text in a record, as JSON: an escape sequence, a bell, an override of the direction, a C1 control, DEL.
const HOSTILE: &str = "a\\u001b]0;owned\\u0007b\\u202ec\\u009b31md\\u007f";

/// Characters that a terminal must not get: all controls but line feed and tab, and those that change the direction of text.
fn hidden(text: &str) -> Vec<char> {
    let bidi = [
        '\u{200e}', '\u{200f}', '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}', '\u{202e}', '\u{2066}',
        '\u{2067}', '\u{2068}', '\u{2069}',
    ];
    text.chars().filter(|c| (c.is_control() && !"\n\t".contains(*c)) || bidi.contains(c)).collect()
}

#[test]
fn hostile_text_never_reaches_the_terminal() {
    let folder = Folder::new();
    let scenario = format!(
        "name = \"hostile\"\ntitle = \"{SPOOFING}\"\n[path]\nrtt = [\"1ms\", \"2ms\"]\nrate = \"10mbit\"\n[[flow]]\nduration = \"200ms\"\n\
         [run]\nrepeat = 1\n[published]\nsource = \"{SPOOFING}\"\n[[published.row]]\nwhere = {{ \"path.rtt\" = \"1ms\" }}\ngoodput = \"9mbit\"\n\
         [[published.conclusion]]\nsays = \"{SPOOFING}\"\nif_so = \"{SPOOFING}\"\nif_not = \"{SPOOFING}\"\n\
         claim = [{{ where = {{ \"path.rtt\" = \"1ms\" }}, goodput = \">= 1mbit\" }}]\n"
    );
    folder.write("hostile.toml", &scenario);
    folder.pipefill(&["run", "hostile.toml", "--on", "sim", "--out", "out"]).assert().success();
    poison(&folder);
    let mut shown = 0;
    for words in [
        vec!["plan", "hostile.toml"],
        vec!["run", "hostile.toml", "--on", "sim"],
        vec!["report", "out"],
        vec!["explain", "out"],
        vec!["compare", "out", "out"],
        vec!["fix", "out", "--repeat", "1"],
        vec!["plan", "hostile.toml", "--set", "path.rtt=\u{1b}[2J1ms"],
        vec!["plan", "hostile.toml", "--only", "path.rtt=\u{1b}[2J\u{202e}"],
        vec!["report", "no\u{1b}[2Jthing"],
    ] {
        let output = folder.pipefill(&words).output().unwrap();
        for stream in [&output.stdout, &output.stderr] {
            let stream = text(stream);
            assert_eq!(hidden(&stream), Vec::<char>::new(), "{words:?}: {stream:?}");
            shown += stream.matches("\\u{1b}").count() + stream.matches("\\u{202e}").count();
        }
        // With colours the only escape sequences are those that set them.
        let coloured = folder.pipefill(&[&words[..], &["--color", "always"]].concat()).output().unwrap();
        let coloured = text(&coloured.stdout) + &text(&coloured.stderr);
        for sequence in coloured.split('\x1b').skip(1) {
            let end = sequence.find(|c: char| !"[;0123456789".contains(c)).unwrap();
            assert!(
                sequence[end..].starts_with('m') && !sequence[..end].contains("[8"),
                "{words:?}: {sequence:?}"
            );
        }
    }
    assert!(shown >= 10, "the hostile text was not even printed: {shown}");
}

/// The text in what the records say of the experiment and of the machine.
fn poison(folder: &Folder) {
    let hostile: String = serde_json::from_str(&format!("\"{HOSTILE}\"")).unwrap();
    let path = folder.path("out/experiment.json");
    let mut stored: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    stored["plan"]["title"] = hostile.clone().into();
    stored["plan"]["published_source"] = hostile.clone().into();
    stored["plan"]["conclusions"][0]["says"] = hostile.clone().into();
    fs::write(&path, serde_json::to_vec(&stored).unwrap()).unwrap();
    for run in fs::read_dir(folder.path("out/runs")).unwrap() {
        let path = run.unwrap().path().join("manifest.json");
        let mut manifest: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        manifest["environment"]["kernel"] = hostile.clone().into();
        manifest["environment"]["cpu_model"] = hostile.clone().into();
        fs::write(&path, serde_json::to_vec(&manifest).unwrap()).unwrap();
    }
}

#[test]
fn data_for_programs_is_exact() {
    let folder = Folder::new();
    folder.write("title.toml", &format!("name = \"x\"\ntitle = \"{SPOOFING}\"\n"));
    let plan = folder.pipefill(&["plan", "title.toml", "--json"]).assert().success();
    let plan: serde_json::Value = serde_json::from_slice(&plan.get_output().stdout).unwrap();
    let title: String = serde_json::from_str(&format!("\"{SPOOFING}\"")).unwrap();
    assert_eq!(plan["title"], title);
}

#[test]
fn options_of_every_command_come_last_in_help() {
    let folder = Folder::new();
    for command in ["run", "study", "plan", "report", "explain", "fix", "compare", "doctor", "bdp"] {
        let help = text(&folder.pipefill(&[command, "--help"]).assert().success().get_output().stdout);
        let at = |word: &str| help.find(word).unwrap_or_else(|| panic!("{command}: no {word}: {help}"));
        assert!(
            at("\nOptions:") < at("\nGlobal options:") && at("\nGlobal options:") < at("--color"),
            "{command}: {help}"
        );
        assert!(at("\nGlobal options:") < at("\nEXAMPLES:"), "{command}: {help}");
    }
}

#[test]
fn completions_know_studies_and_keys() {
    let folder = Folder::new();
    for shell in ["bash", "fish", "zsh"] {
        let script = text(&folder.pipefill(&["completions", shell]).assert().success().get_output().stdout);
        for word in ["buffers", "path.rtt=", "path.rate_layer=", "flow.bitrate=", "receiver.tcp_rmem="] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    let program = assert_cmd::cargo::cargo_bin!("pipefill");
    let completed = |words: &str, word: &str, option: &str| {
        let script = format!(
            "source <({} completions bash); COMP_WORDS=(pipefill {words} {option} {word}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _pipefill_without_space pipefill {word} {option} 2>/dev/null; echo \"${{COMPREPLY[@]}}\"",
            program.display()
        );
        text(&std::process::Command::new("bash").args(["-c", &script]).output().unwrap().stdout)
    };
    assert_eq!(completed("run x.toml", "path.rate_l", "--set"), "path.rate_layer=\n");
    assert_eq!(completed("exec", "star", "--profile"), "starlink\n");
    assert_eq!(completed("exec", "lte-d", "--rate-trace"), "lte-driving\n");
}

#[test]
fn manual_pages_have_an_exit_status_of_five_codes() {
    let page = text(&Folder::new().pipefill(&["man"]).assert().success().get_output().stdout);
    let (_, status) = page.split_once(".SH \"EXIT STATUS\"").unwrap_or_else(|| panic!("{page}"));
    let (status, _) = status.split_once(".SH ").unwrap_or((status, ""));
    for code in 0..5 {
        assert!(status.contains(&format!("\\fB{code}\\fR")), "{code}: {status}");
    }
}
