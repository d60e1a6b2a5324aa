//! `pipefill test`: the way to another host, and what limits it.

mod output;

use crate::args::TestArgs;
use crate::outcome::Outcome;
use crate::page;
use crate::signals::stop_on_signals;
use crate::terminal::Terminal;
use output::Output;
use pipefill_analysis::findings::changes::Changes;
use pipefill_analysis::findings::connections::{TestFinding, TestResult};
use pipefill_core::problem::Problem;
use pipefill_core::record::Invalid;
use pipefill_core::units::{Bytes, Rate};
use pipefill_hosts::{SAMPLE, TestRequest, Tested, read_key, test as make_test};
use pipefill_remote::iperf3::parameters::{BLOCK_MAX, DATAGRAM_MAX, DATAGRAM_MIN};
use pipefill_remote::iperf3::{PORT, Parameters, TestDirection, Transport};
use pipefill_report::changes as text;
use pipefill_report::iperf3::lines;
use pipefill_report::iperf3::measured::TestStream;
use pipefill_runs::{Failure, Recorded, Stop, result_of, write_connections};
use std::fs;
use std::net::Ipv6Addr;
use std::path::Path;

/// The default rate of UDP, bits per second: iperf3's.
const UDP_RATE: u64 = 1 << 20;
/// The version of iperf3's protocol that is spoken.
const PROTOCOL: &str = "3.12";

/// A change for the worse counts as a regression from this share on, as with `pipefill compare`.
const THRESHOLD: f64 = 0.05;

/// Makes the test, as often as it is asked for, and prints it.
pub(super) fn test(args: &TestArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let asked = asked(args)?;
    if let Some(out) = args.out.as_deref().filter(|out| fs::symlink_metadata(out).is_ok()) {
        return Err(Failure::usage(
            format!("{} is there already", out.display()),
            "choose another one with --out OTHER",
        ));
    }
    let before = args.compare.as_deref().map(|before| result_of(before, None, terminal)).transpose()?;
    let as_before = || before.as_ref().map_or(1, |before| before.cells.first().map_or(1, |cell| cell.runs));
    let count = args.repeat.unwrap_or_else(|| u32::try_from(as_before()).unwrap_or(1)).max(1);
    let output = Output::open(args, terminal)?;
    let stop = stop_on_signals()?;
    let mut tests = Vec::new();
    for number in 1..=count {
        if count > 1 && !args.json {
            output.print(&lines::number(number, count))?;
        }
        tests.push(run_test(args, &asked, &stop, &output)?);
    }
    let told = args.out.as_deref().map(|out| keep(&mut tests, out, terminal)).transpose()?;
    let changes = match (before, args.compare.as_deref(), args.out.as_deref()) {
        (Some(before), Some(before_in), Some(out)) => {
            let after = result_of(out, None, terminal)?;
            let names = [before_in, out].map(|directory| directory.to_string_lossy());
            Some(Changes::of((&names[0], &before), (&names[1], &after), THRESHOLD))
        }
        _ => None,
    };
    let is_invalid = tests.iter().any(|test| !test.invalid.is_empty());
    let is_worse = changes.as_ref().is_some_and(|changes| changes.regressions > 0);
    print(args, tests, changes, &output)?;
    told.iter().for_each(|told| terminal.say(told));
    Ok(match (is_worse, is_invalid) {
        (true, _) => Outcome::Regression,
        (false, true) => Outcome::Invalid,
        (false, false) => Outcome::Done,
    })
}

/// One test, with its lines while it runs and its verdict at the end.
fn run_test(
    args: &TestArgs,
    asked: &TestRequest,
    stop: &Stop,
    output: &Output<'_>,
) -> Result<Tested, Failure> {
    let tested = make_test(asked, stop, &mut |measured, interval| match interval {
        _ if args.json => Ok(()),
        None => output.print(&lines::heading(measured)),
        Some(interval) => output.print(&lines::interval(measured, interval)),
    })?;
    if !args.json {
        output.print(&lines::summary(&tested.measured, &tested.finding, output.style()))?;
    }
    Ok(tested)
}

/// Writes the records of all tests. A stream has the same name each time, whatever its ports were.
fn keep(tests: &mut [Tested], out: &Path, terminal: &Terminal) -> Result<String, Failure> {
    let Some(first) = tests.first() else { return Ok(String::new()) };
    let streams = first.measured.streams.len();
    let name = |(index, stream): (usize, &TestStream)| {
        let from = if stream.sends { "" } else { "from " };
        let number = if streams > 1 { format!(" stream {}", index + 1) } else { String::new() };
        format!("{from}{}:{}{number}", stream.remote.0, stream.remote.1)
    };
    let names: Vec<String> = first.measured.streams.iter().enumerate().map(name).collect();
    let kept: Vec<Vec<Recorded>> = tests.iter_mut().map(|test| std::mem::take(&mut test.kept)).collect();
    let invalid: Vec<Vec<Invalid>> = tests.iter().map(|test| test.invalid.clone()).collect();
    page::leave_page_of_connections(&write_connections(&kept, &invalid, &names, "test", out)?, terminal)
}

/// What all tests have in common, and what changed; as JSON the document of the test in the middle.
fn print(
    args: &TestArgs,
    mut tests: Vec<Tested>,
    changes: Option<Changes>,
    output: &Output<'_>,
) -> Result<(), Problem> {
    let results: Vec<TestResult> = tests.iter().map(result).collect();
    let all = if results.len() > 1 { results } else { Vec::new() };
    if !args.json {
        if !all.is_empty() {
            output.print(&format!("\n{}", lines::repeated(&all)))?;
        }
        let changes = changes.map(|changes| text::render(&changes, output.style()));
        return changes.map_or(Ok(()), |changes| output.print(&format!("\n{changes}")));
    }
    // One that may be believed, where there is one.
    if tests.iter().any(|test| test.invalid.is_empty()) {
        tests.retain(|test| test.invalid.is_empty());
    }
    tests.sort_by(|a, b| goodput(a).total_cmp(&goodput(b)));
    let Tested { measured, finding, .. } = tests.swap_remove((tests.len() - 1) / 2);
    let finding = TestFinding { tests: all, changes, ..finding };
    let finding = serde_json::to_value(&finding).map_err(Problem::json)?;
    let document = serde_json::to_string_pretty(&measured.document(&finding)).map_err(Problem::json)?;
    output.print_data(&(document + "\n"))
}

fn result(test: &Tested) -> TestResult {
    TestResult {
        to_server_bps: test.measured.received_bps(true),
        to_client_bps: test.measured.received_bps(false),
        limited_by: test.finding.limited_by,
        verdict: test.finding.verdict.clone(),
        valid: test.invalid.is_empty(),
    }
}

/// What tests are put in order by, bits per second: what went to the server, or came from there.
fn goodput(test: &Tested) -> f64 {
    test.measured.received_bps(true).or_else(|| test.measured.received_bps(false)).unwrap_or(0.0)
}

fn asked(args: &TestArgs) -> Result<TestRequest, Failure> {
    let (host, port) = address(&args.host)?;
    if let (Some(in_address), Some(in_option)) = (port, args.port)
        && in_address != in_option
    {
        return Err(Failure::usage(
            format!("the port is {in_address} in {}, and {in_option} behind -p", args.host),
            "write it once",
        ));
    }
    let is_v6 = if args.v6 { Some(true) } else { args.v4.then_some(false) };
    let parameters = parameters(args)?;
    Ok(TestRequest {
        host: (host, port.or(args.port).unwrap_or(PORT)),
        is_v6,
        bind: args.bind,
        connect_timeout: args.connect_timeout,
        own_window: parameters.window,
        span: None,
        sample: SAMPLE,
        parameters,
        key: args.key.as_deref().map(read_key).transpose()?,
        title: args.title.clone(),
        interval: (!args.interval.is_zero()).then_some(args.interval),
    })
}

fn parameters(args: &TestArgs) -> Result<Parameters, Failure> {
    let transport = if args.udp { Transport::Udp } else { Transport::Tcp };
    let has_goal = args.bytes.is_some() || args.blocks.is_some();
    if !has_goal && args.time == 0 {
        return Err(Failure::usage("a test of 0 s measures nothing", "write -t 1 or more"));
    }
    let (least, most) = if args.udp { (DATAGRAM_MIN, DATAGRAM_MAX) } else { (1, BLOCK_MAX) };
    let length = args.length.map(Bytes::get);
    if let Some(length) = length.filter(|length| !(least..=most).contains(length)) {
        let kind = if args.udp { "datagram" } else { "block" };
        return Err(Failure::usage(
            format!("a {kind} of {length} bytes can't be sent"),
            format!("write -l {least} to -l {most}"),
        ));
    }
    let bitrate = args.bitrate.map(Rate::bps);
    Ok(Parameters {
        transport,
        way: match (args.reverse, args.bidir) {
            (_, true) => TestDirection::Both,
            (true, false) => TestDirection::ToClient,
            (false, false) => TestDirection::ToServer,
        },
        streams: args.parallel,
        time_s: if has_goal { 0 } else { args.time },
        omit_s: args.omit,
        bytes: args.bytes.map_or(0, Bytes::get),
        blocks: args.blocks.unwrap_or(0),
        length: length.unwrap_or(0),
        bitrate_bps: bitrate.unwrap_or(if args.udp { UDP_RATE } else { 0 }),
        pacing_bps: args.fq_rate.map_or(0, Rate::bps),
        window: args.window.map(Bytes::get),
        mss: args.mss.map(u64::from),
        no_delay: args.no_delay,
        congestion_control: args.congestion_control.clone(),
        tos: args.tos,
        has_wide_counters: false,
        client_version: Some(PROTOCOL.to_owned()),
        wants_telemetry: true,
        wants_clock: true,
        names_hellos: true,
        wants_output: args.get_server_output,
        read_rate_bps: 0,
    })
}

/// A host, and a port where one is named. An IPv6 address without a port needs no brackets.
pub(super) fn address(text: &str) -> Result<(String, Option<u16>), Failure> {
    let wrong =
        || Failure::usage(format!("\"{text}\" is no host and port"), "write HOST, HOST:PORT, or [IPV6]:PORT");
    if text.parse::<Ipv6Addr>().is_ok() {
        return Ok((text.to_owned(), None));
    }
    let (host, port) = match text.strip_prefix('[').map(|rest| rest.split_once(']')) {
        Some(Some((host, ""))) => (host, None),
        Some(Some((host, rest))) => (host, Some(rest.strip_prefix(':').ok_or_else(wrong)?)),
        Some(None) => return Err(wrong()),
        None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
    };
    if host.is_empty() {
        return Err(wrong());
    }
    let port = port.map(|port| port.parse::<u16>().map_err(|_| wrong())).transpose()?;
    Ok((host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_a_port_or_none() {
        let of = |text: &str| address(text).unwrap();
        assert_eq!(of("a.example"), ("a.example".to_owned(), None));
        assert_eq!(of("a.example:5300"), ("a.example".to_owned(), Some(5300)));
        assert_eq!(of("::1"), ("::1".to_owned(), None));
        assert_eq!(of("[::1]:5300"), ("::1".to_owned(), Some(5300)));
        assert_eq!(of("[fe80::1]"), ("fe80::1".to_owned(), None));
        for wrong in ["", ":5300", "a:b", "[::1", "[::1]5300", "a:70000"] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }
}
