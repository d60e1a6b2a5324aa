//! From what was said to a resolved cell: defaults, and the rules that bind several keys.

mod app;
mod aqm;
mod hazards;
mod path;

use super::bounds::STREAMS_MAX;
use super::draft::{AppKind, Draft, FlowDraft, HostDraft, HostsDraft, Ways};
use super::expect;
use super::key::Slot;
use super::named::Named;
use super::section::Section;
use crate::cell::{
    Bound, CellSpec, Direction, ExpectMetric, FlowSpec, HostSpec, Offloads, PingSpec, Protocol, RunSpec,
};
use crate::hosts::{HostsSpec, Place};
use crate::traffic::pacing::LEAST_DATAGRAM;
use crate::units::Bytes;
use std::time::Duration;

/// Payload of a UDP datagram: room for our own header, up to what IPv4 carries (65535 − 20 − 8).
const UDP_LENGTH: std::ops::RangeInclusive<u64> = LEAST_DATAGRAM.get()..=65_507;
/// Payloads of a ping: from little to nearly all that a datagram holds.
const PING_PAYLOADS: [u64; 4] = [64, 1_400, 16_000, 65_500];
/// From a reply to the next request.
const PING_INTERVAL: Duration = Duration::from_millis(10);
/// The largest write of a TCP flow.
const WRITE_MAX: u64 = 64 << 20;
/// The shortest interval of the telemetry.
const SAMPLE_MIN: Duration = Duration::from_millis(1);
/// The interval of the telemetry where none is given.
pub(super) const SAMPLE: Duration = Duration::from_millis(10);
/// The duration of a flow where none is given.
pub(super) const DURATION: Duration = Duration::from_secs(10);

/// A rule that is broken, and the slots whose text to point at: the first that was written.
#[derive(Debug)]
pub(super) struct Violation {
    pub(super) slots: Vec<Slot>,
    pub(super) message: String,
    pub(super) help: String,
}

/// Resolves a draft.
///
/// # Errors
/// Every rule that it breaks.
pub(super) fn cell(draft: &Draft, named: &Named) -> Result<CellSpec, Vec<Violation>> {
    let mut violations = Violations::default();
    let spec = CellSpec {
        path: path::resolve(&draft.path, named, &mut violations),
        sender: host(&draft.both, &draft.sender),
        receiver: host(&draft.both, &draft.receiver),
        flows: numbered(
            draft.flows.iter().enumerate().map(|(index, flow)| flows(flow, index, &mut violations)),
        ),
        run: run(draft, &mut violations),
        expect: draft.expectations.clone(),
        hosts: hosts(&draft.hosts, &mut violations),
    };
    check_streams(&spec, &mut violations);
    check_expectations(&spec, &mut violations);
    if violations.0.is_empty() { Ok(spec) } else { Err(violations.0) }
}

/// The rules broken so far.
#[derive(Default)]
struct Violations(Vec<Violation>);

impl Violations {
    fn add(&mut self, slots: &[Slot], message: impl Into<String>, help: impl Into<String>) {
        self.0.push(Violation { slots: slots.to_vec(), message: message.into(), help: help.into() });
    }

    fn path(&mut self, name: &str, message: &str, help: &str) {
        self.add(&[Slot::new(Section::Path, name)], format!("path.{name}: {message}"), help);
    }

    fn flow(&mut self, index: usize, name: &str, message: &str, help: &str) {
        self.add(&[Slot::in_flow(index, name)], format!("flow.{name}: {message}"), help);
    }
}

fn host(both: &HostDraft, own: &HostDraft) -> HostSpec {
    let mut sysctl = both.sysctl.clone();
    sysctl.extend(own.sysctl.clone());
    let ecn = own.tcp_ecn.or(both.tcp_ecn);
    sysctl.extend(ecn.map(|ecn| ("net.ipv4.tcp_ecn".to_owned(), ecn.to_string())));
    for (name, value) in [
        ("net.ipv4.tcp_rmem", own.tcp_rmem.as_ref().or(both.tcp_rmem.as_ref())),
        ("net.ipv4.tcp_wmem", own.tcp_wmem.as_ref().or(both.tcp_wmem.as_ref())),
    ] {
        sysctl.extend(value.map(|value| (name.to_owned(), value.clone())));
    }
    let congestion_control = own.congestion_control.as_ref().or(both.congestion_control.as_ref());
    HostSpec {
        congestion_control: congestion_control.map_or_else(|| "cubic".to_owned(), Clone::clone),
        sysctl,
        offloads: Offloads {
            gso: own.offloads.gso.or(both.offloads.gso),
            gro: own.offloads.gro.or(both.offloads.gro),
            tso: own.offloads.tso.or(both.offloads.tso),
        },
    }
}

/// The flows of all tables, each with its table's number where that is not its own position.
fn numbered(tables: impl Iterator<Item = Vec<FlowSpec>>) -> Vec<FlowSpec> {
    let mut all: Vec<FlowSpec> = Vec::new();
    for (table, flows) in (0_u32..).zip(tables) {
        for flow in flows {
            let is_own = usize::try_from(table) == Ok(all.len());
            all.push(FlowSpec { table: (!is_own).then_some(table), ..flow });
        }
    }
    all
}

fn flows(draft: &FlowDraft, index: usize, violations: &mut Violations) -> Vec<FlowSpec> {
    let protocol = draft.protocol.unwrap_or(Protocol::Tcp);
    check_protocol(draft, protocol, index, violations);
    let app = app::resolve(draft, index, violations);
    let directions: &[Direction] = match draft.direction.unwrap_or(Ways::Forward) {
        Ways::Forward => &[Direction::Forward],
        Ways::Reverse => &[Direction::Reverse],
        Ways::Both => &[Direction::Forward, Direction::Reverse],
    };
    let flow = |&direction: &Direction| FlowSpec {
        protocol,
        direction,
        start: draft.start.unwrap_or_default(),
        duration: draft.duration.unwrap_or(DURATION),
        parallel: draft.parallel.unwrap_or(1),
        bitrate: draft.bitrate,
        length: length(draft, protocol),
        read_rate: draft.read_rate,
        sndbuf: draft.sndbuf,
        rcvbuf: draft.rcvbuf,
        max_pacing_rate: draft.max_pacing_rate,
        congestion_control: draft.congestion_control.clone(),
        writer: draft.writer.unwrap_or_default(),
        app: app.clone(),
        nodelay: draft.nodelay.unwrap_or(false),
        table: None,
        ping: (protocol == Protocol::Ping).then(|| ping(draft)),
    };
    directions.iter().map(flow).collect()
}

fn length(draft: &FlowDraft, protocol: Protocol) -> Bytes {
    draft.length.unwrap_or(match protocol {
        Protocol::Tcp => Bytes::new(512 << 10),
        Protocol::Udp => Bytes::new(1448),
        Protocol::Ping => ping(draft).payloads[0],
    })
}

fn ping(draft: &FlowDraft) -> PingSpec {
    let payloads = draft.payloads.clone().unwrap_or_else(|| PING_PAYLOADS.map(Bytes::new).to_vec());
    PingSpec { payloads, interval: draft.interval.unwrap_or(PING_INTERVAL) }
}

fn check_protocol(draft: &FlowDraft, protocol: Protocol, index: usize, violations: &mut Violations) {
    let length = length(draft, protocol).get();
    match protocol {
        Protocol::Tcp if length == 0 || length > WRITE_MAX => {
            violations.flow(index, "length", "a write must be 1 byte to 64 MiB", "write e.g. \"512KiB\"");
        }
        Protocol::Tcp => {
            if draft.writer.is_some() && draft.bitrate.is_some() {
                let help = "leave writer out, or bitrate";
                violations.flow(index, "writer", "a flow with a bitrate writes when data is due", help);
            }
        }
        Protocol::Udp => {
            if !UDP_LENGTH.contains(&length) {
                violations.flow(
                    index,
                    "length",
                    "the payload of a datagram must be 32 to 65507 bytes",
                    "write e.g. \"1448B\", which fills a frame",
                );
            }
            if draft.bitrate.is_none() && draft.app.kind.unwrap_or_default() == AppKind::Bulk {
                violations.flow(
                    index,
                    "protocol",
                    "UDP needs a bitrate",
                    "give bitrate too, e.g. bitrate = \"20mbit\", or an app of kind bursts",
                );
            }
        }
        Protocol::Ping => {
            if draft.parallel.is_some_and(|streams| streams > 1) {
                let help = "write several [[flow]] tables";
                violations.flow(index, "parallel", "a ping sends one request at a time", help);
            }
        }
    }
    for (name, given, owners) in [
        ("congestion_control", draft.congestion_control.is_some(), &[Protocol::Tcp][..]),
        ("max_pacing_rate", draft.max_pacing_rate.is_some(), &[Protocol::Tcp]),
        ("read_rate", draft.read_rate.is_some(), &[Protocol::Tcp]),
        ("writer", draft.writer.is_some(), &[Protocol::Tcp]),
        ("nodelay", draft.nodelay.is_some(), &[Protocol::Tcp]),
        ("bitrate", draft.bitrate.is_some(), &[Protocol::Tcp, Protocol::Udp]),
        ("length", draft.length.is_some(), &[Protocol::Tcp, Protocol::Udp]),
        ("payloads", draft.payloads.is_some(), &[Protocol::Ping]),
        ("interval", draft.interval.is_some(), &[Protocol::Ping]),
    ] {
        if given && !owners.contains(&protocol) {
            let (message, help) = match owners {
                [Protocol::Tcp] => ("this key is for TCP only", "leave it out, or write protocol = \"tcp\""),
                [Protocol::Ping] => {
                    ("this key is for a ping only", "leave it out, or write protocol = \"ping\"")
                }
                _ => ("a ping has none", "write payloads and interval instead"),
            };
            violations.flow(index, name, message, help);
        }
    }
}

fn run(draft: &Draft, violations: &mut Violations) -> RunSpec {
    let run = RunSpec {
        repeat: draft.run.repeat.unwrap_or(5),
        seed: draft.run.seed.unwrap_or(1),
        sample: draft.run.sample.unwrap_or(SAMPLE),
        warmup: draft.run.warmup,
        capture: draft.run.capture.unwrap_or(false),
        capture_packets: draft.run.capture_packets.unwrap_or_default(),
    };
    let sample = Slot::new(Section::Run, "sample");
    if run.sample < SAMPLE_MIN {
        violations.add(
            std::slice::from_ref(&sample),
            "run.sample must be at least 1ms",
            "write at least \"1ms\"",
        );
    }
    for (index, flow) in draft.flows.iter().enumerate() {
        let duration = flow.duration.unwrap_or(DURATION);
        let slot = Slot::in_flow(index, "duration");
        if duration.is_zero() {
            violations.add(&[slot], "flow.duration must be above zero", "write e.g. \"10s\"");
            continue;
        }
        if run.sample > duration {
            violations.add(
                &[sample.clone(), slot.clone()],
                "run.sample is longer than the flow's duration",
                "sample at least ten times in a flow, e.g. every \"10ms\"",
            );
        }
        if run.warmup.is_some_and(|warmup| warmup >= duration) {
            violations.add(
                &[Slot::new(Section::Run, "warmup"), slot],
                "run.warmup must be shorter than the flow's duration",
                "write less than flow.duration, or leave it out for the automatic rule",
            );
        }
    }
    run
}

/// None where both ends are the same place: then there is nothing between them.
fn hosts(draft: &HostsDraft, violations: &mut Violations) -> Option<HostsSpec> {
    let [sender, receiver] =
        [&draft.sender, &draft.receiver].map(|place| place.clone().unwrap_or(Place::Local));
    let slots = ["receiver", "sender"].map(|name| Slot::new(Section::Hosts, name));
    if (sender.is_far() || receiver.is_far()) && sender != Place::Local && receiver != Place::Local {
        let message = format!("hosts: {sender} and {receiver}: with one end elsewhere the other one is here");
        violations.add(&slots, message, "write sender = \"local\", and run pipefill where that is");
    }
    (sender != receiver).then(|| HostsSpec {
        sender,
        receiver,
        address: draft.address,
        shape: draft.shape.clone(),
    })
}

fn check_streams(spec: &CellSpec, violations: &mut Violations) {
    let streams = spec.flows.iter().fold(0_u32, |sum, flow| sum.saturating_add(flow.parallel));
    if streams > STREAMS_MAX {
        violations.add(
            &[Slot::in_flow(0, "parallel"), Slot::in_flow(0, "direction")],
            format!("flow.parallel: all flows together have {streams} streams, more than {STREAMS_MAX}"),
            "lower parallel, or leave some flows out",
        );
    }
}

fn check_expectations(spec: &CellSpec, violations: &mut Violations) {
    for expectation in &spec.expect {
        if matches!(expectation.bound, Bound::OfRate(_)) && spec.path.forward.bottleneck.is_none() {
            let name = expect::name(expectation.metric);
            violations.add(
                &[Slot::new(Section::Expect, name)],
                format!("expect.{name} is a share of the rate, but the path has no rate"),
                "give path.rate, or write a rate, e.g. \">= 95mbit\"",
            );
        }
    }
    let word = |metric| spec.expected_word(metric);
    if let (Some(limited_by), Some(cause)) = (word(ExpectMetric::LimitedBy), word(ExpectMetric::Cause))
        && let Some((message, help)) = expect::cause_of_another_limit(limited_by, cause)
    {
        violations.add(&[Slot::new(Section::Expect, "cause")], format!("expect.cause: {message}"), help);
    }
}
