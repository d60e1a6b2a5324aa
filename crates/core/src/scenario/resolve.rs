//! From what was said to a resolved cell: defaults, and the rules that bind several keys.
//!
//! Never: text; every value is typed already. Never: a value that only a machine knows.

use super::draft::{Draft, FlowDraft, HostDraft, PathDraft, Split, WayDraft, Ways};
use super::expect;
use super::key::{Section, Slot};
use crate::cell::{
    BottleneckSpec, Bound, CellSpec, Direction, DirectionSpec, FlowSpec, HostSpec, JitterDistribution,
    JitterSpec, LossSpec, LossUnit, PathSpec, Protocol, RunSpec,
};
use crate::units::{Bytes, QueueLimit, Rate, Ratio};
use std::time::Duration;

/// A full frame as the bottleneck counts it: an MTU of 1500 and 14 bytes of Ethernet.
const FRAME: u64 = 1514;
/// Frames that an unstated queue holds at least.
const DEFAULT_QUEUE_FRAMES: u64 = 100;
/// Payload of a UDP datagram: room for our own header, up to what IPv4 carries (65535 − 20 − 8).
const UDP_LENGTH: std::ops::RangeInclusive<u64> = 32..=65_507;
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
pub(super) struct Complaint {
    pub(super) slots: Vec<Slot>,
    pub(super) message: String,
    pub(super) help: String,
}

/// Resolves a draft.
///
/// # Errors
/// Every rule that it breaks.
pub(super) fn cell(draft: &Draft) -> Result<CellSpec, Vec<Complaint>> {
    let mut complaints = Complaints::default();
    let spec = CellSpec {
        path: path(&draft.path, &mut complaints),
        sender: host(&draft.both, &draft.sender),
        receiver: host(&draft.both, &draft.receiver),
        flows: draft
            .flows
            .iter()
            .enumerate()
            .flat_map(|(index, flow)| flows(flow, index, &mut complaints))
            .collect(),
        run: run(draft, &mut complaints),
        expect: draft.expectations.clone(),
    };
    check_expectations(&spec, &mut complaints);
    if complaints.0.is_empty() {
        Ok(spec)
    } else {
        Err(complaints.0)
    }
}

#[derive(Default)]
struct Complaints(Vec<Complaint>);

impl Complaints {
    fn add(&mut self, slots: &[Slot], message: impl Into<String>, help: impl Into<String>) {
        self.0.push(Complaint {
            slots: slots.to_vec(),
            message: message.into(),
            help: help.into(),
        });
    }

    fn path(&mut self, name: &str, message: &str, help: &str) {
        self.add(
            &[Slot::new(Section::Path, name)],
            format!("path.{name}: {message}"),
            help,
        );
    }

    fn flow(&mut self, index: usize, name: &str, message: &str, help: &str) {
        self.add(
            &[Slot::in_flow(index, name)],
            format!("flow.{name}: {message}"),
            help,
        );
    }
}

fn path(draft: &PathDraft, complaints: &mut Complaints) -> PathSpec {
    let (forward_delay, reverse_delay) = delays(draft, complaints);
    let rtt = forward_delay.saturating_add(reverse_delay);
    orphans(draft, complaints);
    let unit = draft.loss_unit.unwrap_or(LossUnit::Segment);
    let (duplicate, reorder) = (
        draft.duplicate.unwrap_or(Ratio::ZERO),
        draft.reorder.unwrap_or(Ratio::ZERO),
    );
    let mut way = |way: &WayDraft, prefix: &str, delay, duplicate, reorder| DirectionSpec {
        delay,
        jitter: jitter(draft, way),
        delay_limit: delay_limit(way, prefix, rtt, complaints),
        loss: way.loss.clone().unwrap_or(LossSpec::None),
        loss_unit: unit,
        duplicate,
        reorder,
        bottleneck: bottleneck(way, prefix, rtt, complaints),
    };
    PathSpec {
        forward: way(&draft.forward, "", forward_delay, duplicate, reorder),
        reverse: way(
            &draft.reverse,
            "reverse_",
            reverse_delay,
            Ratio::ZERO,
            Ratio::ZERO,
        ),
    }
}

/// Both one-way delays. The half nanosecond of an odd `rtt` goes forward.
fn delays(draft: &PathDraft, complaints: &mut Complaints) -> (Duration, Duration) {
    let (forward, reverse) = (draft.forward_delay, draft.reverse_delay);
    if draft.split.is_some() && (forward.is_some() || reverse.is_some() || draft.rtt.is_none()) {
        complaints.path(
            "split",
            "it divides rtt, and needs rtt alone",
            "give rtt and split, or the delay of a direction",
        );
    }
    let Some(rtt) = draft.rtt else {
        return (forward.unwrap_or_default(), reverse.unwrap_or_default());
    };
    match (forward, reverse) {
        (None, None) if draft.split == Some(Split::Forward) => (rtt, Duration::ZERO),
        (None, None) => (rtt - rtt / 2, rtt / 2),
        (Some(forward), None) => (forward, rest(rtt, forward, "forward_delay", complaints)),
        (None, Some(reverse)) => (rest(rtt, reverse, "reverse_delay", complaints), reverse),
        (Some(forward), Some(reverse)) => {
            if forward.checked_add(reverse) != Some(rtt) {
                complaints.path(
                    "rtt",
                    "forward_delay and reverse_delay do not add up to it",
                    "leave rtt out, or one of the two delays: it gets the rest",
                );
            }
            (forward, reverse)
        }
    }
}

fn rest(rtt: Duration, delay: Duration, name: &str, complaints: &mut Complaints) -> Duration {
    rtt.checked_sub(delay).unwrap_or_else(|| {
        complaints.path(
            name,
            "it is longer than the round trip",
            "write at most rtt, or leave rtt out",
        );
        Duration::ZERO
    })
}

/// Keys that say how something is, where nothing says that it is.
fn orphans(draft: &PathDraft, complaints: &mut Complaints) {
    let no_jitter = draft.forward.jitter.is_none() && draft.reverse.jitter.is_none();
    let no_loss = draft.forward.loss.is_none() && draft.reverse.loss.is_none();
    for (name, given, without, needs) in [
        (
            "jitter_distribution",
            draft.jitter_distribution.is_some(),
            no_jitter,
            "jitter",
        ),
        (
            "jitter_reorder",
            draft.jitter_reorder.is_some(),
            no_jitter,
            "jitter",
        ),
        ("loss_unit", draft.loss_unit.is_some(), no_loss, "loss"),
    ] {
        if given && without {
            complaints.path(
                name,
                &format!("there is no {needs} that it could describe"),
                &format!("give {needs} too, or leave this out"),
            );
        }
    }
}

fn jitter(draft: &PathDraft, way: &WayDraft) -> Option<JitterSpec> {
    let spread = way.jitter.filter(|spread| !spread.is_zero())?;
    Some(JitterSpec {
        spread,
        distribution: draft
            .jitter_distribution
            .clone()
            .unwrap_or(JitterDistribution::Uniform),
        reorder: draft.jitter_reorder.unwrap_or(false),
    })
}

fn delay_limit(
    way: &WayDraft,
    prefix: &str,
    rtt: Duration,
    complaints: &mut Complaints,
) -> Option<QueueLimit> {
    let limit = way.delay_limit?;
    if matches!(limit, QueueLimit::Bdp(_)) && way.rate.is_none() {
        complaints.path(
            &format!("{prefix}delay_limit"),
            "a BDP needs a rate",
            &format!("give {prefix}rate, or write bytes or packets"),
        );
    }
    Some(way.rate.map_or(limit, |rate| in_bytes(limit, rate, rtt)))
}

fn bottleneck(
    way: &WayDraft,
    prefix: &str,
    rtt: Duration,
    complaints: &mut Complaints,
) -> Option<BottleneckSpec> {
    let Some(rate) = way.rate else {
        for (name, given) in [("queue", way.queue.is_some()), ("burst", way.burst.is_some())] {
            if given {
                complaints.path(
                    &format!("{prefix}{name}"),
                    &format!("there is no bottleneck without {prefix}rate"),
                    &format!("give {prefix}rate too, e.g. \"100mbit\", or leave this out"),
                );
            }
        }
        return None;
    };
    let burst = way.burst.unwrap_or(Bytes::new(32 << 10));
    if burst.get() < FRAME {
        complaints.path(
            &format!("{prefix}burst"),
            "a bucket that can't hold one frame lets none through",
            "write at least \"1514B\"; 32KiB is usual",
        );
    }
    let queue = way
        .queue
        .map_or_else(|| default_queue(rate, rtt), |queue| in_bytes(queue, rate, rtt));
    if matches!(queue, QueueLimit::Bytes(bytes) if bytes.get() < FRAME) {
        complaints.path(
            &format!("{prefix}queue"),
            "a queue that can't hold one frame lets none through",
            "write at least \"1514B\" or \"1p\"",
        );
    }
    Some(BottleneckSpec { rate, queue, burst })
}

/// One BDP, but not below 100 frames.
fn default_queue(rate: Rate, rtt: Duration) -> QueueLimit {
    QueueLimit::Bytes(rate.bdp(rtt).max(Bytes::new(DEFAULT_QUEUE_FRAMES * FRAME)))
}

/// BDPs as bytes, rounded down but not below one frame; at a round trip of zero, where a BDP says nothing, as absent.
fn in_bytes(limit: QueueLimit, rate: Rate, rtt: Duration) -> QueueLimit {
    let QueueLimit::Bdp(multiple) = limit else {
        return limit;
    };
    if rtt.is_zero() {
        return default_queue(rate, rtt);
    }
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the multiple is a float; `as` saturates"
    )]
    let bytes = (rate.bdp(rtt).get() as f64 * multiple) as u64;
    QueueLimit::Bytes(Bytes::new(bytes.max(FRAME)))
}

fn host(both: &HostDraft, own: &HostDraft) -> HostSpec {
    let mut sysctl = both.sysctl.clone();
    sysctl.extend(own.sysctl.clone());
    for (name, value) in [
        (
            "net.ipv4.tcp_rmem",
            own.tcp_rmem.as_ref().or(both.tcp_rmem.as_ref()),
        ),
        (
            "net.ipv4.tcp_wmem",
            own.tcp_wmem.as_ref().or(both.tcp_wmem.as_ref()),
        ),
    ] {
        sysctl.extend(value.map(|value| (name.to_owned(), value.clone())));
    }
    let congestion_control = own
        .congestion_control
        .as_ref()
        .or(both.congestion_control.as_ref());
    HostSpec {
        congestion_control: congestion_control.map_or_else(|| "cubic".to_owned(), Clone::clone),
        sysctl,
    }
}

fn flows(draft: &FlowDraft, index: usize, complaints: &mut Complaints) -> Vec<FlowSpec> {
    let protocol = draft.protocol.unwrap_or(Protocol::Tcp);
    check_protocol(draft, protocol, index, complaints);
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
    };
    directions.iter().map(flow).collect()
}

fn length(draft: &FlowDraft, protocol: Protocol) -> Bytes {
    draft.length.unwrap_or(match protocol {
        Protocol::Tcp => Bytes::new(128 << 10),
        Protocol::Udp => Bytes::new(1448),
    })
}

fn check_protocol(draft: &FlowDraft, protocol: Protocol, index: usize, complaints: &mut Complaints) {
    let length = length(draft, protocol).get();
    match protocol {
        Protocol::Tcp if length == 0 || length > WRITE_MAX => {
            complaints.flow(index, "length", "a write is 1 byte to 64 MiB", "128KiB is usual");
        }
        Protocol::Tcp => {}
        Protocol::Udp => {
            if !UDP_LENGTH.contains(&length) {
                complaints.flow(
                    index,
                    "length",
                    "the payload of a datagram is 32 to 65507 bytes",
                    "1448B fills a frame",
                );
            }
            if draft.bitrate.is_none() {
                complaints.flow(
                    index,
                    "protocol",
                    "UDP has no congestion control that could find its rate",
                    "give bitrate too, e.g. bitrate = \"20mbit\"",
                );
            }
            for (name, given) in [
                ("congestion_control", draft.congestion_control.is_some()),
                ("max_pacing_rate", draft.max_pacing_rate.is_some()),
                ("read_rate", draft.read_rate.is_some()),
            ] {
                if given {
                    complaints.flow(
                        index,
                        name,
                        "it is for TCP only",
                        "leave it out, or write protocol = \"tcp\"",
                    );
                }
            }
        }
    }
}

fn run(draft: &Draft, complaints: &mut Complaints) -> RunSpec {
    let run = RunSpec {
        repeat: draft.run.repeat.unwrap_or(3),
        seed: draft.run.seed.unwrap_or(1),
        sample: draft.run.sample.unwrap_or(SAMPLE),
        warmup: draft.run.warmup,
        capture: draft.run.capture.unwrap_or(false),
    };
    let sample = Slot::new(Section::Run, "sample");
    if run.sample < SAMPLE_MIN {
        complaints.add(
            std::slice::from_ref(&sample),
            "run.sample: the telemetry can't be faster than this",
            "write at least \"1ms\"",
        );
    }
    for (index, flow) in draft.flows.iter().enumerate() {
        let duration = flow.duration.unwrap_or(DURATION);
        let slot = Slot::in_flow(index, "duration");
        if duration.is_zero() {
            complaints.add(
                &[slot],
                "flow.duration: a flow of no duration sends nothing",
                "write e.g. \"10s\"",
            );
            continue;
        }
        if run.sample > duration {
            complaints.add(
                &[sample.clone(), slot.clone()],
                "run.sample is longer than the flow's duration",
                "sample at least ten times in a flow, e.g. every \"10ms\"",
            );
        }
        if run.warmup.is_some_and(|warmup| warmup >= duration) {
            complaints.add(
                &[Slot::new(Section::Run, "warmup"), slot],
                "run.warmup leaves nothing of the flow's duration",
                "write less than flow.duration, or leave it out for the automatic rule",
            );
        }
    }
    run
}

fn check_expectations(spec: &CellSpec, complaints: &mut Complaints) {
    for expectation in &spec.expect {
        if matches!(expectation.bound, Bound::OfRate(_)) && spec.path.forward.bottleneck.is_none() {
            let name = expect::name(expectation.metric);
            complaints.add(
                &[Slot::new(Section::Expect, name)],
                format!("expect.{name}: a share of the rate, and the path has no rate"),
                "give path.rate, or write a rate, e.g. \">= 95mbit\"",
            );
        }
    }
}
