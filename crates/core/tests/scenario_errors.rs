//! What is refused, where the caret stands, and what the error says to write instead.

use pipefill_core::scenario::{Scenario, ScenarioError, Style};

fn refused(text: &str) -> ScenarioError {
    match Scenario::parse(text, "test.toml") {
        Ok(scenario) => panic!("accepted:\n{text}\n{:?}", scenario.plan().cells),
        Err(error) => error,
    }
}

#[test]
fn every_bad_scenario_is_refused_with_its_line_and_remedy() {
    let file = include_str!("bad_scenarios.toml");
    let document = toml_edit::Document::parse(file).expect("the table of cases is TOML");
    let cases = document["case"].as_array_of_tables().expect("a list of cases");
    assert!(cases.len() >= 100, "only {} cases", cases.len());
    let mut failures = Vec::new();
    for case in cases {
        let field = |name: &str| case[name].as_str().expect("a text");
        let line = usize::try_from(case["line"].as_integer().expect("a line")).expect("a line");
        let error = refused(field("text"));
        let fits = error.problems().iter().any(|problem| {
            error.line(problem) == line
                && problem.message.contains(field("message"))
                && problem.help.contains(field("help"))
        });
        if !fits || error.problems().len() != 1 {
            failures.push(format!(
                "{}\nwanted line {line}, {:?}, {:?}; got\n{error}",
                field("text"),
                field("message"),
                field("help")
            ));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn all_errors_show_at_once_in_the_order_of_the_file() {
    let error = refused("name = \"a b\"\n[path]\nrate = \"1\"\nfoo = 1\n[run]\nrepeat = 0\n");
    let lines: Vec<usize> = error.problems().iter().map(|p| error.line(p)).collect();
    assert_eq!(lines, [1, 3, 4, 6]);
}

#[test]
fn a_value_is_underlined() {
    let error = refused("name = \"x\"\n[path]\nrate = \"100\"\n");
    let want = "\
error: path.rate: \"100\": a rate needs a unit
 --> test.toml:3:8
  |
3 | rate = \"100\"
  |        ^^^^^
  |
  = help: write \"100mbit\"";
    assert_eq!(error.render(Style::Plain), want);
    assert_eq!(error.to_string(), want);
}

#[test]
fn an_unknown_key_is_underlined() {
    let error = refused("name = \"x\"\n[path]\nrtt = \"1ms\"\nburts = \"32KiB\"\n");
    let want = "\
error: unknown key \"burts\" in [path]
 --> test.toml:4:1
  |
4 | burts = \"32KiB\"
  | ^^^^^
  |
  = help: did you mean \"burst\"?";
    assert_eq!(error.to_string(), want);
}

#[test]
fn one_value_of_an_axis_is_underlined() {
    let error = refused("name = \"x\"\n[path]\nrtt = [\"1ms\", \"2\"]\n");
    let want = "\
error: path.rtt: \"2\": a duration needs a unit
 --> test.toml:3:15
  |
3 | rtt = [\"1ms\", \"2\"]
  |               ^^^
  |
  = help: write \"2ms\"";
    assert_eq!(error.to_string(), want);
}

#[test]
fn too_many_changes_are_refused_with_their_count_and_the_traces() {
    let change = |at: usize| format!("[[path.change]]\nat = \"{at}ms\"\nrate = \"5mbit\"\n");
    let changes: String = (1..=65).map(change).collect();
    let error = refused(&format!("name = \"x\"\n{changes}"));
    let [problem] = error.problems() else { panic!("{error}") };
    assert_eq!(problem.message, "changes must be a list of 1 to 64 tables");
    assert!(problem.help.contains("these are 65: keep 64") && problem.help.contains("rate_trace"), "{error}");
}

#[test]
fn a_setting_of_the_command_line_is_underlined_and_changes_nothing() {
    let mut scenario = Scenario::parse("name = \"x\"\n", "test.toml").expect("a scenario");
    let before = scenario.plan().clone();
    let error = scenario.set("path.rtt=50").expect_err("no unit");
    let want = "\
error: path.rtt: \"50\": a duration needs a unit
 --> --set:1:10
  |
1 | path.rtt=50
  |          ^^
  |
  = help: write \"50ms\"";
    assert_eq!(error.to_string(), want);
    assert_eq!(*scenario.plan(), before);
}

#[test]
fn an_option_is_underlined_as_it_was_typed() {
    let mut scenario = Scenario::parse("name = \"x\"\n", "test.toml").expect("a scenario");
    let texts = ["path.loss=0.01", "path.reverse_loss=0.01", "path.rtt=50"].map(str::to_owned);
    let typed = [0, 1].map(|index| ("--loss", texts[index].clone()));
    let error = scenario.set_all(&texts).expect_err("no units").as_typed(&typed);
    let want = "\
error: path.loss: \"0.01\": a share needs a per cent sign
 --> command line:1:8
  |
1 | --loss 0.01
  |        ^^^^
  |
  = help: write \"1%\" for a share of 0.01, or \"0.01%\" for 0.01 per cent

error: path.rtt: \"50\": a duration needs a unit
 --> --set:1:10
  |
1 | path.rtt=50
  |          ^^
  |
  = help: write \"50ms\"";
    assert_eq!(error.to_string(), want);
}

#[test]
fn settings_are_checked_together() {
    let hosts = ["hosts.sender=netns:a", "hosts.receiver=netns:b"].map(str::to_owned);
    let text = "name = \"x\"\n[hosts]\nreceiver = \"ssh:user@b.example\"\n";
    for order in [[0, 1], [1, 0]] {
        let mut scenario = Scenario::parse(text, "test.toml").expect("a scenario");
        let set = order.map(|index| hosts[index].clone());
        scenario.set_all(&set).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn bad_settings_of_the_command_line_say_what_to_write() {
    let scenario = Scenario::parse("name = \"x\"\n[path]\nrtt = \"1ms\"\n", "test.toml").expect("a scenario");
    for (text, message, help) in [
        ("path.rtt", "\"=\" is missing", "KEY=VALUE"),
        ("path.rt=1ms", "unknown key \"rt\"", "did you mean \"rtt\"?"),
        ("rtt=1ms", "unknown key \"rtt\"", "belongs in [path]"),
        ("path=1ms", "unknown key \"\"", "the keys of [path]"),
        ("path.rtt=[]", "list is empty", "at least one"),
        ("path.rtt=[1ms,1ms]", "twice", "leave one out"),
        ("path.queue=1bdp", "no effect without rate", "give rate too"),
        ("flow.3.duration=1s", "flow 3", "count from 0"),
        ("flow.x.duration=1s", "unknown key \"x\"", "the keys of [flow]"),
        ("run.repeat=[1,2]", "not a list", "one value"),
        ("variant=tcp", "unknown key \"variant\"", "top of the scenario"),
    ] {
        let error = scenario.clone().set(text).expect_err(text);
        let problem = &error.problems()[0];
        assert!(problem.message.contains(message), "{text}: {}", problem.message);
        assert!(problem.help.contains(help), "{text}: {}", problem.help);
    }
}

#[test]
fn colours_are_the_callers_choice() {
    let error = refused("name = \"x\"\n[path]\nrate = \"100\"\n");
    assert!(error.render(Style::Coloured).contains('\u{1b}'));
    assert!(!error.render(Style::Plain).contains('\u{1b}'));
}
