//! Reports whose path or program a scenario says: `pipefill fix` applies the advice on this machine's kernel and measures both sides.

use super::has_bbr;
use super::table::{Figure, Row};
use crate::measuring::{Outcome, Test, in_time, lab, read, report, test};
use serde_json::Value;

/// A scenario, and what it is about.
#[derive(Debug, Clone, Copy)]
struct Planned {
    name: &'static str,
    /// What was reported, and where.
    report: &'static str,
    /// Whether `make test` runs it.
    is_quick: bool,
    rtt: &'static str,
    scenario: &'static str,
    /// `active_limited_by` and `active_cause`.
    limit: (&'static str, &'static str),
    /// What the first advice that is applied sets; `None` where nothing helps.
    setting: Option<&'static str>,
    /// The same in words.
    applied: &'static str,
}

const CASES: &[Planned] = &[
    Planned {
        name: "planned_send_buffer",
        report: "Scenario: `sndbuf = \"16KiB\"`, BBR (plantegg)",
        is_quick: false,
        rtt: "20ms",
        scenario: "name = \"plantegg\"
[path]
rtt = \"20ms\"
rate = \"100mbit\"
[host]
congestion_control = \"bbr\"
[[flow]]
sndbuf = \"16KiB\"
length = \"16KiB\"
duration = \"5s\"
",
        limit: ("sndbuf", "program"),
        setting: Some("SO_SNDBUF"),
        applied: "a larger `sndbuf`",
    },
    Planned {
        name: "planned_receive_buffer",
        report: "Scenario: `rcvbuf = \"64KiB\"` (Kafka)",
        is_quick: false,
        rtt: "100ms",
        scenario: "name = \"kafka\"
[path]
rtt = \"100ms\"
rate = \"100mbit\"
[[flow]]
rcvbuf = \"64KiB\"
duration = \"8s\"
",
        limit: ("rwnd", "program"),
        setting: Some("SO_RCVBUF"),
        applied: "a larger `rcvbuf`",
    },
    Planned {
        name: "planned_datagram_buffer",
        report: "Scenario: UDP with `rcvbuf = \"4KiB\"` (haproxy 2473)",
        is_quick: false,
        rtt: "1ms",
        scenario: "name = \"udp\"
[path]
rtt = \"1ms\"
rate = \"1gbit\"
[[flow]]
protocol = \"udp\"
bitrate = \"300mbit\"
length = \"1400B\"
rcvbuf = \"4KiB\"
duration = \"3s\"
",
        limit: ("receiver", ""),
        setting: Some("SO_RCVBUF"),
        applied: "a larger `rcvbuf`",
    },
    Planned {
        name: "planned_over_the_rate",
        report: "Scenario: 300 Mbit/s of UDP into 100 (containernetworking/plugins 922)",
        is_quick: false,
        rtt: "1ms",
        scenario: "name = \"cni\"
[path]
rtt = \"1ms\"
rate = \"100mbit\"
[[flow]]
protocol = \"udp\"
bitrate = \"300mbit\"
length = \"1400B\"
duration = \"3s\"
",
        limit: ("path", ""),
        setting: None,
        applied: "nothing: the path is full",
    },
    Planned {
        name: "planned_bursts",
        report: "Scenario: bursts of 1 MB every 2 s (shadow 3085), payload over the active time",
        is_quick: false,
        rtt: "100ms",
        scenario: "name = \"bursts\"
[path]
rtt = \"100ms\"
rate = \"200mbit\"
[[flow]]
duration = \"10s\"
app = { kind = \"bursts\", size = \"1MB\", every = \"2s\" }
[run]
warmup = \"0s\"
",
        limit: ("cwnd", "idle_restart"),
        setting: Some("net.ipv4.tcp_slow_start_after_idle"),
        applied: "`tcp_slow_start_after_idle=0` at the sender",
    },
    Planned {
        name: "planned_cable",
        report: "Scenario: a download beside an upload on 15/1 Mbit/s (sqm-scripts 68)",
        is_quick: false,
        rtt: "25ms",
        scenario: "name = \"cable\"
[path]
rtt = \"25ms\"
rate = \"15mbit\"
queue = \"150KiB\"
reverse_rate = \"1mbit\"
reverse_queue = \"256KiB\"
[[flow]]
duration = \"12s\"
[[flow]]
direction = \"reverse\"
duration = \"12s\"
",
        limit: ("cwnd", "ack_path"),
        setting: Some("SO_MAX_PACING_RATE"),
        applied: "the upload paced below 1 Mbit/s",
    },
];

pub(super) fn tests(is_all: bool) -> impl Iterator<Item = Test> {
    let wanted = CASES.iter().filter(move |case| is_all || case.is_quick);
    wanted.map(move |case| test(case.name, move || is_fixed(case, is_all)))
}

fn is_fixed(case: &Planned, is_written: bool) -> Outcome {
    let folder = lab()?;
    if case.scenario.contains("bbr") {
        has_bbr()?;
    }
    folder.write("scenario.toml", case.scenario);
    let report = report(&folder, &["scenario.toml", "--repeat", "1"])?;
    let cell = &report["cells"][0];
    println!("{}", cell["verdict"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let limit = (text(&cell["active_limited_by"]), text(&cell["active_cause"]));
    let (holder, cause) = case.limit;
    assert_eq!((&*limit.0, cause.is_empty() || limit.1 == cause), (holder, true), "{cell:#}");
    let advice = cell["advice"].as_array().unwrap();
    let Some(setting) = case.setting else {
        let for_throughput = || advice.iter().filter(|advice| advice["goal"] == "throughput");
        assert!(for_throughput().all(|advice| advice["target"].is_null()), "{advice:#?}");
        // A queue may be shortened; TCP's settings are no datagrams' affair.
        assert!(advice.iter().all(|advice| advice["target"] != "sender"), "{advice:#?}");
        return Ok(());
    };
    let [output] = in_time(|| {
        [folder
            .pipefill(&["fix", "lab", "--repeat", "1", "--quiet", "--json", "--out", "fixed"])
            .output()
            .unwrap()]
    })?;
    let fixed = read(&output);
    let rounds = fixed["cells"][0]["rounds"].as_array().unwrap();
    let round = rounds.iter().find(|round| round["advice"]["setting"] == setting);
    let round = round.unwrap_or_else(|| panic!("{setting} was not tried: {fixed:#}"));
    let bps = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{round:#}"));
    let (advice, comparison) = (&round["advice"], &round["comparison"]);
    // Of an application that sends at its own pace only the active time can become shorter.
    let members = ["predicted_bps", "predicted_active_bps"].map(|member| &advice[member]);
    let predicted = members.into_iter().find(|value| value.is_number()).unwrap_or(&Value::Null);
    let figures = [&comparison["before"]["bps"], predicted, &comparison["after"]["bps"]];
    let figures = figures.map(|value| Figure::Rate(bps(value)));
    let cause = if limit.1.is_empty() { &limit.0 } else { &limit.1 };
    let row = Row { report: case.report, rtt: case.rtt, cause, applied: case.applied, figures };
    println!("{row}");
    row.check();
    if is_written {
        row.write();
    }
    Ok(())
}
