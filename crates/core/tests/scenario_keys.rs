//! The table of keys against the code that it drives.

use pipefill_core::cell::CellSpec;
use pipefill_core::scenario::{KEYS, Key, Scenario, Section};

/// What other keys need in order to mean something.
const GROUND: [&str; 15] = [
    "path.rtt=10ms",
    "path.rate=100mbit",
    "path.reverse_rate=100mbit",
    "path.aqm=codel",
    "path.reverse_aqm=codel",
    "path.jitter=1ms",
    "path.loss=1%",
    "path.policer.rate=50mbit",
    "path.reverse_policer.rate=50mbit",
    "path.inner_mtu=1450",
    CHANGE_AT,
    "path.change.loss=50%",
    "path.change.reverse_loss=50%",
    "hosts.receiver=netns:ground",
    "flow.bitrate=1mbit",
];

/// A change without a time is none: its key stays in the ground.
const CHANGE_AT: &str = "path.change.at=1s";

/// Keys that only a ping has, and what it needs instead of the ground's last.
const OF_A_PING: [&str; 2] = ["flow.payloads", "flow.interval"];
const PING: &str = "flow.protocol=ping";

/// The key that a flow with a bitrate does not have, and what it needs.
const OF_BULK_DATA: &str = "flow.writer";
const TCP: &str = "flow.protocol=tcp";

/// What the parameters of an application need: one that has them.
const REQUESTS: &str = "flow.app=requests response=1MiB";
const OF_APPLICATIONS: [(&str, &str); 3] = [
    ("flow.app.size", "flow.app=window size=1MiB"),
    ("flow.app.every", "flow.app=bursts size=1MB every=1s"),
    ("flow.app.sizes", "flow.app=writes sizes=1B"),
];

fn ground_without(path: &str) -> Scenario {
    let mut scenario = Scenario::parse("name = \"keys\"\n", "keys.toml").expect("a scenario");
    let flow = match path {
        _ if OF_A_PING.contains(&path) => PING,
        OF_BULK_DATA | "flow.app" => TCP,
        _ if path.starts_with("flow.app.") => {
            OF_APPLICATIONS.iter().find(|(parameter, _)| *parameter == path).map_or(REQUESTS, |(_, app)| *app)
        }
        _ => GROUND[GROUND.len() - 1],
    };
    let profile = (path == "path.subscriber").then_some(&"path.profile=lte");
    let ground = GROUND[..GROUND.len() - 1].iter().chain(profile).chain([&flow]);
    // A trace stands in place of a rate, a round trip or a loss, and a queue is managed where a rate makes one.
    let replaced = ["rate", "rtt", "loss"]
        .iter()
        .fold(path.to_owned(), |path, key| path.replace(&format!("{key}_trace"), key));
    let aqm_of_it = replaced.replace("rate", "aqm");
    let is_ground = |text: &&&str| {
        let is_of = |key: &str| text.starts_with(&format!("{key}="));
        **text == CHANGE_AT || !(is_of(path) || is_of(&replaced) || is_of(&aqm_of_it))
    };
    let ground: Vec<String> = ground.filter(is_ground).map(|text| (*text).to_owned()).collect();
    scenario.set_all(&ground).expect("the ground is sound");
    scenario
}

fn paths(key: &'static Key) -> impl Iterator<Item = String> {
    let name =
        if key.name.ends_with('.') { format!("{}net.ipv4.tcp_sack", key.name) } else { key.name.to_owned() };
    key.sections.iter().map(move |section| format!("{section}.{name}"))
}

fn only_cell(scenario: &Scenario) -> CellSpec {
    assert_eq!(scenario.plan().cells.len(), 1);
    scenario.plan().cells[0].spec.clone()
}

#[test]
fn every_example_is_accepted_and_changes_the_cell() {
    for key in KEYS {
        for path in paths(key) {
            let mut scenario = ground_without(&path);
            let before = only_cell(&scenario);
            let text = format!("{path}={}", key.example);
            scenario.set(&text).unwrap_or_else(|error| panic!("{text}\n{error}"));
            assert_ne!(only_cell(&scenario), before, "{text} changes nothing");
        }
    }
}

#[test]
fn every_stated_default_is_what_absence_means() {
    let mut seen = 0;
    for key in KEYS {
        let Some(default) = key.default else { continue };
        for path in paths(key) {
            let mut scenario = ground_without(&path);
            let absent = only_cell(&scenario);
            scenario.set(&format!("{path}={default}")).unwrap_or_else(|error| panic!("{path}\n{error}"));
            assert_eq!(only_cell(&scenario), absent, "{path} = {default}");
            seen += 1;
        }
    }
    assert!(seen > 15, "only {seen} defaults");
}

#[test]
fn names_are_unique_in_their_section_and_every_section_has_keys() {
    for section in Section::ALL {
        let mut names: Vec<&str> = Key::of(section).map(|key| key.name).collect();
        assert!(!names.is_empty(), "{section}");
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "{section}");
    }
}
