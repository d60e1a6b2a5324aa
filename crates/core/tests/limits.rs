//! How much a scenario may ask for: what is refused before it takes time or memory, and with which words.

use pipefill_core::plan::{CELLS_MAX, Plan, RUNS_MAX};
use pipefill_core::scenario::{Scenario, ScenarioError, Style};

fn refused(text: &str) -> ScenarioError {
    match Scenario::parse(text, "test.toml") {
        Ok(scenario) => panic!("accepted, {} cells", scenario.plan().cells.len()),
        Err(error) => error,
    }
}

/// The only problem's message and help.
fn problem(text: &str) -> (String, String) {
    let error = refused(text);
    assert_eq!(error.problems().len(), 1, "{error}");
    (error.problems()[0].message.clone(), error.problems()[0].help.clone())
}

fn list(count: usize, value: impl Fn(usize) -> String) -> String {
    let values: Vec<String> = (0..count).map(|n| format!("\"{}\"", value(n))).collect();
    format!("[{}]", values.join(", "))
}

/// A matrix of `cells` cells, a hundred times as many rtts as rates at most.
fn matrix(cells: usize, repeat: u32) -> String {
    format!(
        "name = \"m\"\n[path]\nrtt = {}\nloss = {}\n[run]\nrepeat = {repeat}\n",
        list(cells / 100, |n| format!("{n}us")),
        list(100, |n| format!("0.0{n:02}%")),
    )
}

#[test]
fn a_plan_of_ten_million_runs_is_refused_with_its_size() {
    let error = refused(&matrix(10_000, 1000));
    let problem = &error.problems()[0];
    assert_eq!(problem.message, "10000 cells make 10000000 runs, more than 100000");
    assert!(problem.help.contains("lower run.repeat"), "{}", problem.help);
    assert_eq!(error.line(problem), 6);
}

#[test]
fn the_largest_plan_is_taken_and_one_more_is_not() {
    let scenario = Scenario::parse(&matrix(10_000, 10), "m.toml").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scenario.plan().cells.len(), CELLS_MAX);
    assert_eq!(scenario.plan().run_count() as u64, RUNS_MAX);
    assert_eq!(problem(&matrix(10_000, 11)).0, "10000 cells make 110000 runs, more than 100000");
    assert_eq!(problem(&matrix(10_100, 1)).0, "the matrix has 10100 cells, more than 10000");
}

#[test]
fn a_stored_plan_has_the_limits_of_a_scenario() {
    let small = Scenario::parse("name = \"x\"\n", "x.toml").unwrap_or_else(|error| panic!("{error}"));
    let mut plan = serde_json::to_value(small.plan()).expect("a plan is JSON");
    assert!(serde_json::from_value::<Plan>(plan.clone()).is_ok());
    plan["cells"][0]["spec"]["run"]["repeat"] = u32::MAX.into();
    let error = serde_json::from_value::<Plan>(plan.clone()).expect_err("too many runs").to_string();
    assert!(error.contains("1 cells make 4294967295 runs, more than 100000"), "{error}");
    plan["cells"][0]["spec"]["run"]["repeat"] = 1.into();
    let cell = plan["cells"][0].clone();
    plan["cells"] = vec![cell; CELLS_MAX + 1].into();
    assert!(serde_json::from_value::<Plan>(plan).is_err());
}

/// 800 kB in each of 10,000 cells.
#[test]
fn a_long_list_of_packets_in_every_cell_is_refused() {
    let text = format!(
        "name = \"x\"\n[path]\nloss = \"packets 1-100000\"\nrtt = {}\nrate = {}\n",
        list(100, |n| format!("{n}ms")),
        list(100, |n| format!("{}mbit", n + 1)),
    );
    let (message, help) = problem(&text);
    assert!(message.contains("MB of text, more than 134 MB"), "{message}");
    assert!(help.contains("shorten the lists"), "{help}");
}

#[test]
fn flows_and_streams_are_counted() {
    let flows =
        |count: usize, body: &str| format!("name = \"x\"\n{}", format!("[[flow]]\n{body}\n").repeat(count));
    let (message, help) = problem(&flows(10_000, "parallel = 1024"));
    assert_eq!(message, "there are 10000 flows, more than 256");
    assert!(help.contains("parallel = N"), "{help}");
    let (message, _) = problem(&flows(3, "parallel = 1024\ndirection = \"both\""));
    assert_eq!(message, "flow.parallel: all flows together have 6144 streams, more than 4096");
    assert!(Scenario::parse(&flows(2, "parallel = 1024\ndirection = \"both\""), "x").is_ok());
    assert!(Scenario::parse(&flows(256, ""), "x").is_ok());
}

#[test]
fn keys_are_counted_in_every_cell_before_any_is_made() {
    let sysctls: String = (0..5_000).map(|n| format!("\"net.ipv4.key_{n}\" = 0\n")).collect();
    let cells = format!(
        "name = \"x\"\n[path]\nrtt = {}\n[host.sysctl]\n{sysctls}",
        list(1_000, |n| format!("{n}us"))
    );
    let (message, _) = problem(&cells);
    assert_eq!(message, "the keys of all cells are 5001000 values, more than 1000000");
    let variants: String = (0..5_000).map(|n| format!("[[variant]]\nname = \"v{n}\"\n")).collect();
    let (message, _) = problem(&format!("name = \"x\"\n[host.sysctl]\n{sysctls}{variants}"));
    assert_eq!(message, "the keys of all cells are 25000000 values, more than 1000000");
}

#[test]
fn a_text_is_no_longer_than_a_scenario_can_be() {
    let (message, help) = problem(&format!("name = \"x\"\n{}", "#\n".repeat(3 << 20)));
    assert!(message.contains("longer than 4194304 bytes"), "{message}");
    assert!(help.contains("split the scenario"), "{help}");
    let rows = "[[published.row]]\n".repeat(1_001);
    let (message, _) = problem(&format!("name = \"x\"\n{rows}"));
    assert_eq!(message, "\"row\" has 1001 entries, more than 1000");
}

#[test]
fn eight_thousand_bad_values_show_twenty_errors_and_how_many_more() {
    let text = format!("name = \"x\"\n[path]\nrtt = {}\n", list(8_000, |n| n.to_string()));
    let error = refused(&text);
    assert_eq!(error.problems().len(), 8_000);
    let shown = error.render(Style::Plain);
    assert_eq!(shown.matches("error: ").count(), 20);
    assert!(shown.ends_with("\n\n... and 7980 more"), "{}", &shown[shown.len() - 100..]);
    assert!(shown.len() < 20_000, "{} bytes", shown.len());
    let twice = refused(&format!("name = \"x\"\n[path]\nrtt = {}\n", list(8_000, |_| "1ms".to_owned())));
    assert_eq!(twice.problems().len(), 7_999);
}

#[test]
fn a_long_value_is_cut_in_the_message() {
    let error = refused(&format!(
        "name = \"x\"\n[path]\nrate = \"{}\"\n{} = 1\n",
        "é".repeat(200_000),
        "k".repeat(200_000)
    ));
    let longest = error.problems().iter().map(|problem| problem.message.len().max(problem.help.len())).max();
    assert!(longest <= Some(503), "{longest:?}");
    assert!(error.render(Style::Plain).len() < 10_000, "{}", error.render(Style::Plain).len());
}

#[test]
fn deep_tables_are_no_deep_calls() {
    for depth in [1_000, 100_000] {
        let dotted = "a.".repeat(depth);
        for text in [
            format!("name = \"x\"\n[host.sysctl]\n{dotted}a = 1\n"),
            format!("name = \"x\"\n[[published.row]]\nwhere.{dotted}a = 1\n"),
            format!("name = \"x\"\n[host.sysctl.{dotted}a]\nb = 1\n"),
            format!("name = \"x\"\nx = {}\n", "[".repeat(depth)),
        ] {
            refused(&text).render(Style::Plain);
        }
    }
}

#[test]
fn a_value_beyond_what_can_be_summed_is_refused_with_the_most_that_is_taken() {
    for (key, value, most) in [
        ("flow.rcvbuf", "9223372036854775808B", "1073741823B"),
        ("flow.sndbuf", "1GiB", "31 bits"),
        ("path.queue", "9223372036854775808B", "1024GiB"),
        ("path.queue", "1000000001p", "1000000000p"),
        ("path.queue", "1000001bdp", "1000000bdp"),
        ("path.burst", "1025GiB", "1024GiB"),
        ("path.rate", "1001tbit", "1000tbit"),
        ("flow.max_pacing_rate", "18446744073709551615bit", "1000tbit"),
        ("path.rtt", "1001h", "1000h"),
        ("path.jitter", "5000000h", "1000h"),
        ("flow.start", "1001h", "1000h"),
        ("flow.duration", "584000h", "1000h"),
    ] {
        let mut scenario =
            Scenario::parse("name = \"x\"\n[path]\nrate = \"1gbit\"\n", "x").expect("a scenario");
        let error = scenario.set(&format!("{key}={value}")).expect_err(key);
        let problem = &error.problems()[0];
        assert!(problem.message.contains("too large"), "{key}: {}", problem.message);
        assert!(problem.help.contains(most), "{key}: {}", problem.help);
    }
}

#[test]
fn a_name_that_is_no_file_name_everywhere_is_refused() {
    for (name, help) in [
        (".", "hides a file"),
        ("..", "hides a file"),
        (".x", "hides a file"),
        ("-x", "begins an option"),
        ("--help", "begins an option"),
        ("x.", "drop a dot"),
        ("x\\u0007", "one line of text"),
        ("x\\u001b[2J", "one line of text"),
        ("nul", "name of a device"),
        ("CON.1", "name of a device"),
        ("com1", "name of a device"),
        ("", "1 to 64"),
        ("a/b", "1 to 64"),
    ] {
        let error = refused(&format!("name = \"{name}\"\n"));
        let problem = &error.problems()[0];
        let told = format!("{} {}", problem.message, problem.help);
        assert!(told.contains(help), "{name}: {told}");
        assert!(!error.render(Style::Plain).contains(['\u{7}', '\u{1b}']), "{name}");
    }
    for name in ["x", "_x", "a.b-c_d", "conn", "com", "com10", "0", "x-"] {
        assert!(Scenario::parse(&format!("name = \"{name}\"\n"), "x").is_ok(), "{name}");
    }
}
