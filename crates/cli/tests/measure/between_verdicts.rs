//! Verdicts of tests between two hosts behind emulated paths, with our server and a stock one.

mod catalogue;

use crate::measuring::namespace::folder_with;
use crate::measuring::{Folder, Outcome, Skip, Test, in_time, is_quiet, slow_test, test};
use serde_json::Value;

pub(crate) fn tests() -> Vec<Test> {
    let mut tests: Vec<Test> = Vec::new();
    for server in ["serve", "iperf3"] {
        for (name, path, options, limit) in
            PATHS.iter().filter(|(name, ..)| is_quiet() || is_often(server, name))
        {
            let check = move || behind_a_path(server, path, options, *limit);
            tests.push(slow_test(format!("{server}: {name}"), check));
        }
    }
    for options in [&["-t", "2"][..], &["-t", "2", "-u", "-b", "22M"]] {
        let name = format!("the_way_that_is_full_is_told: {}", options.join(" "));
        tests.push(slow_test(name, || which_way(options)));
    }
    if is_quiet() {
        tests.push(slow_test("a_later_test_says_what_has_changed", what_has_changed));
    }
    for options in [&["-P", "2"][..], &["-R"]] {
        let name = format!("datagrams_are_recorded: {}", options.join(" "));
        tests.push(slow_test(name, || recorded_datagrams(options)));
    }
    if let Some(most) = catalogue::asked() {
        tests.extend(
            catalogue::KINDS.iter().map(|(name, kind)| {
                test(format!("catalogue: {name}"), move || catalogue::judge(*kind, most))
            }),
        );
    }
    tests
}

/// Whether a path is tried on any machine: with a stock server those whose verdict rests on other evidence, and nothing that takes ten seconds.
fn is_often(server: &str, path: &str) -> bool {
    path != "a slow way back" && (server == "serve" || ["path", "window, reverse", "loss"].contains(&path))
}

/// Paths with a known limit: options of `exec`, those of `test`, and the verdicts with our server and with a stock one.
const PATHS: &[Path] = &[
    ("path", &["--rtt", "40ms", "--rate", "50mbit"], &["-t", "4"], ["path", "path"]),
    ("window", &["--rtt", "40ms", "--rate", "50mbit"], &["-t", "3", "-w", "64K"], ["rwnd", "rwnd"]),
    (
        "window, reverse",
        &["--rtt", "40ms", "--reverse-rate", "50mbit"],
        &["-t", "3", "-w", "64K", "-R"],
        ["rwnd", "rwnd"],
    ),
    ("application", &["--rtt", "40ms", "--rate", "50mbit"], &["-t", "3", "-b", "5M"], ["app", "app"]),
    (
        "application, reverse",
        &["--rtt", "40ms", "--reverse-rate", "50mbit"],
        &["-t", "3", "-b", "5M", "-R"],
        ["app", "app"],
    ),
    ("loss", &["--rtt", "40ms", "--loss", "1%"], &["-t", "5", "-C", "reno"], ["cwnd", "cwnd"]),
    // What the server tells of its sockets has to go that way too.
    (
        "a slow way back",
        &["--rtt", "40ms", "--rate", "100mbit", "--reverse-rate", "50kbit"],
        &["-t", "6"],
        ["cwnd", "cwnd"],
    ),
    ("datagrams", &["--rtt", "40ms", "--rate", "50mbit"], &["-t", "3", "-u", "-b", "80M"], ["path", "path"]),
];

/// A name, options of `exec`, options of `test`, and both verdicts.
type Path = (&'static str, &'static [&'static str], &'static [&'static str], [&'static str; 2]);

/// A larger window fills the path, and the comparison with the tests of before says so.
fn what_has_changed() -> Outcome {
    let folder = folder_with(&["iperf3"])?;
    let program = assert_cmd::cargo::cargo_bin!("pipefill").to_str().unwrap();
    let server = format!("{program} serve");
    let path = ["exec", "--rtt", "40ms", "--rate", "50mbit", "--quiet", "--server", &server, "--", program];
    let test = |options: &[&str]| {
        let words = [&path[..], &["test", "{server}", "-t", "1", "-J"], options].concat();
        Ok::<_, Skip>(tested(&folder, &words)?["pipefill"].clone())
    };
    let before = test(&["--repeat", "3", "-w", "64K", "--out", "before"])?;
    let of = |told: &Value, key: &str| -> Vec<Value> {
        told["tests"].as_array().unwrap().iter().map(|test| test[key].clone()).collect()
    };
    assert_eq!(of(&before, "limited_by"), ["rwnd"; 3]);
    assert_eq!(before["changes"], Value::Null);
    // As often as before.
    let after = test(&["--out", "after", "--compare", "before"])?;
    assert_eq!(of(&after, "to_client_bps"), [Value::Null, Value::Null, Value::Null]);
    let cell = &after["changes"]["cells"][0];
    assert_eq!((&cell["valid_before"], &cell["valid_after"]), (&3.into(), &3.into()));
    assert_eq!(cell["goodput_bps"]["finding"], "better", "{cell:#}");
    assert_eq!(cell["limited_by_before"], "rwnd");
    Ok(())
}

/// What both ends counted of datagrams is a record like any other, and a later test with less to carry is compared with it.
fn recorded_datagrams(options: &[&str]) -> Outcome {
    let folder = folder_with(&[])?;
    let program = assert_cmd::cargo::cargo_bin!("pipefill").to_str().unwrap();
    let server = format!("{program} serve --once");
    let rates = ["--rate", "20mbit", "--reverse-rate", "20mbit", "--rtt", "10ms"];
    let test = |more: &[&str]| {
        let exec = [&["exec", "--quiet"], &rates[..], &["--server", &server, "--", program]].concat();
        let words = [&exec[..], &["test", "{server}", "-t", "1", "-u", "-J"], options, more].concat();
        tested(&folder, &words)
    };
    let told = test(&["-b", "30M", "--out", "before"])?;
    assert!(folder.path("before/report.html").is_file());
    let output = folder.pipefill(&["report", "before", "--json"]).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let cells = report["cells"].as_array().unwrap();
    assert_eq!(cells.len(), if options.contains(&"-P") { 2 } else { 1 });
    let flows: Vec<&Value> = cells.iter().map(|cell| &cell["flows"][0]).collect();
    let arrived: Vec<f64> = flows.iter().map(|flow| flow["goodput_bps"].as_f64().unwrap()).collect();
    let [sent, received] = ["datagrams_sent", "datagrams_received"]
        .map(|name| cells.iter().map(|cell| cell[name].as_f64().unwrap()).sum::<f64>());
    let sum = &told["end"]["sum_received"];
    let all = arrived.iter().sum::<f64>();
    let same = |a: f64, b: &Value| (a / b.as_f64().unwrap() - 1.0).abs() < 0.02;
    // A rate is over each end's own time, which a busy machine makes longer.
    assert!(!is_quiet() || same(all, &sum["bits_per_second"]), "{arrived:?} {sum:#}");
    // Streams do not send equally much, so that the mean of their shares is not the share of all.
    let lost_percent = 100.0 * (sent - received) / sent;
    assert!(same(lost_percent, &sum["lost_percent"]), "{lost_percent} {sum:#}");
    assert!(flows.iter().all(|flow| flow["limited_by"] == "path"), "{flows:#?}");
    let later = test(&["-b", "4M", "--out", "after", "--compare", "before"])?;
    let cell = &later["pipefill"]["changes"]["cells"][0];
    assert_eq!((&cell["limited_by_before"], &cell["limited_by_after"]), (&"path".into(), &"app".into()));
    Ok(())
}

/// The queue on the way to the server shows in the delay of that way alone; a path that is longer one way lies within the error.
fn which_way(options: &[&str]) -> Outcome {
    let folder = folder_with(&[])?;
    let program = assert_cmd::cargo::cargo_bin!("pipefill").to_str().unwrap();
    let server = format!("{program} serve --once");
    let path = ["--set", "path.forward_delay=25ms", "--set", "path.reverse_delay=15ms", "--rate", "20mbit"];
    let words = ["--quiet", "--server", &server, "--", program, "test", "{server}", "-J"];
    let document = tested(&folder, &[&["exec"], &path[..], &words, options].concat())?;
    let (clock, delays) = (&document["pipefill"]["clock"], &document["pipefill"]["one_way_delay"]);
    println!("{clock:#} {delays:#}");
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{clock:#} {delays:#}"));
    // The clocks are one, the path is 10 ms longer one way: 5 ms are taken for an offset.
    let (offset, error) = (number(&clock["offset_us"]), number(&clock["offset_error_us"]));
    assert!(offset.abs() <= error && (19_900.0..60_000.0).contains(&error), "{clock:#}");
    let added = |way: &str| number(&delays[way]["loaded_us_p50"]) - number(&delays[way]["idle_us"]);
    let [there, back] = ["to_server", "to_client"].map(added);
    assert!(there > 5_000.0 && there > back + 5_000.0, "{there} µs there, {back} µs back: {delays:#}");
    Ok(())
}

/// The document of a test, both of whose ends were in time.
///
/// # Errors
/// One was not, and the machine was late, or other tests ran.
fn tested(folder: &Folder, words: &[&str]) -> Result<Value, Skip> {
    let [output] = in_time(|| [folder.pipefill(words).output().unwrap()])?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout).unwrap())
}

/// The verdict over a path with a known limit.
fn behind_a_path(server: &str, path: &[&str], options: &[&str], limits: [&str; 2]) -> Outcome {
    let folder = folder_with(&["iperf3"])?;
    let program = assert_cmd::cargo::cargo_bin!("pipefill").to_str().unwrap();
    let is_ours = server == "serve";
    let server = if is_ours { format!("{program} serve --once") } else { "iperf3 -s -1".to_owned() };
    let words = [
        &["exec"],
        path,
        &["--quiet", "--server", &server, "--", program, "test", "{server}", "-J"],
        options,
    ];
    let document = tested(&folder, &words.concat())?;
    let told = &document["pipefill"];
    println!("{}: {}", told["limited_by"], told["verdict"]);
    assert_eq!(told["limited_by"], limits[usize::from(!is_ours)], "{told:#}");
    Ok(())
}
