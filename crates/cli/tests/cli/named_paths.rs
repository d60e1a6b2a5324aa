//! Traces, profiles and tc's output: what a scenario names, and where it comes from.

use crate::pipefill::Folder;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;
use std::fs;

const TRACED: &str = "name = \"traced\"\n[path]\nrtt = \"20ms\"\nrate_trace = \"office.trace\"\n\
                      [[flow]]\nduration = \"5s\"\n[run]\nrepeat = 1\n";
const TRACE: &str = "0s 5mbit\n2s 20mbit\n4s repeat\n";

fn json(output: &std::process::Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The experiment keeps the trace: it is judged, explained and planned again without the file.
#[test]
fn a_trace_beside_the_scenario_is_kept_with_the_records() {
    let folder = Folder::new();
    fs::create_dir(folder.path("there")).unwrap();
    folder.write("there/s.toml", TRACED);
    folder.write("there/office.trace", TRACE);
    folder.pipefill(&["run", "there/s.toml", "--on", "sim", "--quiet", "--out", "o"]).assert().success();
    fs::remove_file(folder.path("there/office.trace")).unwrap();
    let kept = fs::read_to_string(folder.path("o/scenario.toml")).unwrap();
    assert!(kept.starts_with(TRACED) && kept.contains("[files]") && kept.contains("2s 20mbit"), "{kept}");
    let report = json(&folder.pipefill(&["report", "o", "--json"]).output().unwrap());
    let capacity = &report["cells"][0]["flows"][0]["capacity"];
    let offered = capacity["offered_bps"].as_f64().unwrap();
    assert!((10e6..13e6).contains(&offered), "{capacity}");
    assert!(capacity["used_share"].as_f64().unwrap() > 0.7, "{capacity}");
    assert_eq!((&capacity["rises"], &capacity["followed"]), (&1.into(), &1.into()), "{capacity}");
    let explained = folder.pipefill(&["explain", "o"]).assert().success().get_output().stdout.clone();
    let explained = String::from_utf8(explained).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    let capacity = "Capacity over time tcp, forward: the path offered ";
    let wanted =
        [capacity, "of it was used. The rate rose once; ", "later the flow reached 90 % of the new rate."];
    assert!(wanted.iter().all(|part| explained.contains(part)), "{explained}");
    let [before, after] = ["o/scenario.toml", "o"].map(|name| folder.path(name));
    let planned = json(&folder.pipefill(&["plan", before.to_str().unwrap(), "--json"]).output().unwrap());
    let stored: Value = serde_json::from_slice(&fs::read(after.join("experiment.json")).unwrap()).unwrap();
    assert_eq!(planned["cells"][0]["id"], stored["plan"]["cells"][0]["id"]);
}

#[test]
fn a_wrong_trace_is_shown_with_its_own_line() {
    let folder = Folder::new();
    folder.write("s.toml", TRACED);
    folder.write("office.trace", "0s 5mbit\n4s 2mbit\n3s 1mbit\n");
    let wrong = contains("office.trace:3:1").and(contains("does not go on")).and(contains("sort the lines"));
    folder.pipefill(&["plan", "s.toml"]).assert().code(2).stderr(wrong);
    fs::remove_file(folder.path("office.trace")).unwrap();
    let missing = contains("there is no trace \"office.trace\"")
        .and(contains("lte-driving"))
        .and(contains("s.toml:4:14"));
    folder.pipefill(&["plan", "s.toml"]).assert().code(2).stderr(missing);
    folder.write("office.trace", TRACE);
    let words = ["plan", "s.toml", "--set", "path.rate_trace=lte-drivin"];
    folder.pipefill(&words).assert().code(2).stderr(contains("did you mean \"lte-driving\"?"));
    let both = ["plan", "s.toml", "--set", "path.rate_trace=5g", "--set", "path.rate=1mbit"];
    folder.pipefill(&both).assert().code(2).stderr(contains("leave rate out, or rate_trace"));
}

#[test]
fn a_profile_is_printed_with_its_sources_and_overridden_by_what_is_given() {
    let folder = Folder::new();
    let sources = contains("Huang et al.").and(contains("rate_trace = \"lte-static\""));
    folder.pipefill(&["plan", "--profile", "lte"]).assert().success().stdout(sources);
    let told = json(&folder.pipefill(&["plan", "--profile", "adsl", "--json"]).output().unwrap());
    let rates =
        ["forward", "reverse"].map(|way| told["path"][way]["bottleneck"]["rate_bps"].as_u64().unwrap());
    assert_eq!(rates, [16_000_000, 1_000_000]);
    let path = |words: &[&str]| {
        folder.write("s.toml", "name = \"x\"\n[path]\nprofile = \"adsl\"\n");
        let plan = json(&folder.pipefill(&[&["plan", "s.toml", "--json"], words].concat()).output().unwrap());
        plan["cells"][0]["spec"]["path"].clone()
    };
    let given = path(&["--set", "path.rate=2mbit", "--set", "path.forward_delay=5ms"]);
    let figures = [
        &given["forward"]["bottleneck"]["rate_bps"],
        &given["forward"]["delay_ns"],
        &given["reverse"]["delay_ns"],
    ];
    assert_eq!(figures.map(|figure| figure.as_u64().unwrap()), [2_000_000, 5_000_000, 0]);
    let turned = path(&["--set", "path.subscriber=sender"]);
    assert_eq!(turned["forward"]["bottleneck"]["rate_bps"], 1_000_000);
    let wrong = contains("there is no profile \"ltee\"").and(contains("The profiles are: lte,"));
    folder.pipefill(&["plan", "--profile", "ltee"]).assert().code(2).stderr(wrong);
}

#[test]
fn profiles_of_ones_own_stand_beside_the_built_in_ones() {
    let folder = Folder::new();
    let config = folder.path("config");
    fs::create_dir_all(config.join("pipefill/profiles")).unwrap();
    let write =
        |name: &str, text: &str| fs::write(config.join("pipefill/profiles").join(name), text).unwrap();
    write("office.toml", "title = \"Ours\"\n[path]\nrtt = \"18ms\"\nrate = \"90mbit\"\n");
    write("wrong.toml", "[path]\nrate = \"90\"\n");
    write("list.toml", "[path]\nrate = [\"90mbit\", \"1mbit\"]\n");
    let pipefill = |words: &[&str]| {
        let mut command = folder.pipefill(words);
        command.env("XDG_CONFIG_HOME", &config);
        command
    };
    pipefill(&["plan", "--profile", "office"]).assert().success().stdout(contains("rate = \"90mbit\""));
    let place = contains("profiles/wrong.toml:2:8").and(contains("90mbit"));
    pipefill(&["plan", "--profile", "wrong"]).assert().code(2).stderr(place);
    pipefill(&["plan", "--profile", "list"])
        .assert()
        .code(2)
        .stderr(contains("can't stand in a profile like this"));
    pipefill(&["plan", "--profile", "offic"]).assert().code(2).stderr(contains("did you mean \"office\"?"));
    pipefill(&["completions", "bash"])
        .assert()
        .success()
        .stdout(contains("office").and(contains("starlink")));
    folder.write(
        "s.toml",
        "name = \"x\"\n[path]\nprofile = \"office\"\n[[flow]]\nduration = \"1s\"\n[run]\nrepeat = 1\n",
    );
    pipefill(&["run", "s.toml", "--on", "sim", "--quiet", "--out", "o"]).assert().success();
    // Without the folder: the experiment's own copy has the profile.
    folder.pipefill(&["plan", "o/scenario.toml"]).assert().success();
    folder.pipefill(&["plan", "s.toml"]).assert().code(2).stderr(contains("there is no profile \"office\""));
}

#[test]
fn what_tc_shows_becomes_a_scenario() {
    const SHOWN: &str = "qdisc netem 1: root refcnt 2 limit 1000 delay 50.0ms loss 1% corrupt 0.1%\n \
                         Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0)\n\
                         qdisc tbf 2: parent 1:1 rate 10Mbit burst 32Kb lat 50.0ms\n";
    let folder = Folder::new();
    folder.write("shown", SHOWN);
    let asserted = folder.pipefill(&["plan", "--from-tc", SHOWN]).assert().success();
    let output = asserted.stderr("left out: netem: corrupt 0.1%\n").get_output().clone();
    let scenario = String::from_utf8(output.stdout).unwrap();
    assert!(scenario.starts_with("#:schema https://"), "{scenario}");
    assert!(
        scenario.contains("rate = \"10mbit\"") && scenario.contains("# Left out: netem: corrupt"),
        "{scenario}"
    );
    folder.write("s.toml", &scenario);
    folder.pipefill(&["plan", "s.toml"]).assert().success();
    folder.pipefill(&["plan", "--from-tc", "shown"]).assert().success().stdout(scenario.clone());
    folder
        .pipefill(&["plan", "--from-tc", "-"])
        .write_stdin(SHOWN)
        .assert()
        .success()
        .stdout(scenario.clone());
    let told = json(&folder.pipefill(&["plan", "--from-tc", "shown", "--json"]).output().unwrap());
    assert_eq!(
        (told["scenario"].as_str(), told["left_out"][0].as_str()),
        (Some(&*scenario), Some("netem: corrupt 0.1%"))
    );
    folder
        .pipefill(&["plan", "--from-tc", "absent"])
        .assert()
        .code(2)
        .stderr(contains("there is no file absent"));
}

#[test]
fn tcs_words_are_translated() {
    let folder = Folder::new();
    let help = |key: &str, wanted: &str| {
        folder.write("s.toml", &format!("name = \"x\"\n[path]\nrate = \"10mbit\"\n{key}\n"));
        folder.pipefill(&["plan", "s.toml"]).assert().code(2).stderr(contains(wanted));
    };
    // 10 Mbit/s × 50 ms + 32 KiB.
    help("latency = \"50ms\"", "queue = \"95268B\"");
    help("limit = \"256Kb\"", "queue = \"256KiB\"");
    help("queue = \"256Mb\"", "\"256MiB\", which tc calls 256Mb");
    help("reverse_rate = \"10Mbit\"", "\"10mbit\"");
    help("loss = \"gemodel 1% 20%\"", "gilbert-elliott p=1% r=20%");
    help("delay = \"25.0ms\"", "forward_delay = \"25.0ms\"");
    folder.write("s.toml", "name = \"x\"\n[path]\nrtt = \"25.0ms\"\n");
    folder.pipefill(&["plan", "s.toml"]).assert().success();
}
