//! The path's part of a cell: who gets which delay, what a queue holds, and which keys need another.

use super::super::bounds::{BURST, SIZE_MAX};
use super::super::draft::{PathDraft, Split, WayDraft};
use super::super::named::Named;
use super::{Violations, aqm, hazards};
use crate::cell::{
    BottleneckSpec, DirectionSpec, ETHERNET_MTU, Family, Framing, JitterDistribution, JitterSpec, LossSpec,
    LossUnit, PathSpec, RateTrace, StepTrace,
};
use crate::units::{Bytes, QueueLimit, Rate, Ratio};
use std::time::Duration;

/// Frames that an unstated queue holds at least.
const DEFAULT_QUEUE_FRAMES: u64 = 100;

/// Resolves the path: delays, defaults of the queue, and the keys that need one another.
pub(super) fn resolve(draft: &PathDraft, named: &Named, violations: &mut Violations) -> PathSpec {
    let mut draft = draft.clone();
    let rate_trace = trace(&mut draft.forward, "", named, violations);
    let reverse_trace = trace(&mut draft.reverse, "reverse_", named, violations);
    let delay_traces = delay_traces(&mut draft, named, violations);
    let draft = &draft;
    let (forward_delay, reverse_delay) = delays(draft, violations);
    let rtt = forward_delay.saturating_add(reverse_delay);
    orphans(draft, violations);
    let framing = framing(draft);
    let unit = draft.loss_unit.unwrap_or(LossUnit::Segment);
    let mtu = mtu(draft, violations);
    let frame = Bytes::new(u64::from(mtu) + 14);
    let (duplicate, reorder) = (draft.duplicate.unwrap_or(Ratio::ZERO), draft.reorder.unwrap_or(Ratio::ZERO));
    let inner_mtu = hazards::inner_mtu(draft, mtu, violations);
    let [forward_changes, reverse_changes] = hazards::changes(draft, violations);
    let loss_traces = [(&draft.forward, ""), (&draft.reverse, "reverse_")]
        .map(|(way, prefix)| loss_trace(way, prefix, named, violations));
    let mut way = |way: &WayDraft, prefix: &str, delay, duplicate, reorder, changes| {
        let bottleneck = bottleneck(way, prefix, rtt, (frame, framing), violations);
        let queue = bottleneck.as_ref().map(|bottleneck| bottleneck.queue);
        DirectionSpec {
            aqm: aqm::resolve(way, prefix, queue, frame, violations),
            delay,
            jitter: jitter(draft, way),
            delay_limit: delay_limit(way, prefix, rtt, frame, violations),
            loss: way.loss.clone().unwrap_or(LossSpec::None),
            loss_unit: unit,
            duplicate,
            reorder,
            bottleneck,
            mark: way.mark.clone().unwrap_or(LossSpec::None),
            policer: hazards::policer(way, prefix, frame, violations),
            inner_mtu: inner_mtu.clone(),
            framing: Some(framing).filter(|framing| framing.is_more_than_overhead() && way.rate.is_some()),
            rate_trace: None,
            delay_trace: None,
            loss_trace: None,
            changes,
        }
    };
    let forward = way(&draft.forward, "", forward_delay, duplicate, reorder, forward_changes);
    let reverse = way(&draft.reverse, "reverse_", reverse_delay, Ratio::ZERO, Ratio::ZERO, reverse_changes);
    let [forward_delays, reverse_delays] = delay_traces;
    let [forward_losses, reverse_losses] = loss_traces;
    PathSpec {
        forward: DirectionSpec {
            rate_trace,
            delay_trace: forward_delays,
            loss_trace: forward_losses,
            ..forward
        },
        reverse: DirectionSpec {
            rate_trace: reverse_trace,
            delay_trace: reverse_delays,
            loss_trace: reverse_losses,
            ..reverse
        },
        payload: draft.payload.unwrap_or_default(),
        family: draft.family.unwrap_or_default(),
        mtu,
    }
}

/// The trace of a direction whose keys begin with `prefix`. Its mean becomes the direction's rate, of which queues count BDPs.
fn trace(way: &mut WayDraft, prefix: &str, named: &Named, violations: &mut Violations) -> Option<RateTrace> {
    let trace = named.trace(way.rate_trace.as_ref()?)?;
    if way.rate.is_some() {
        let message = format!("{prefix}rate is given too, and the trace is the rate over time");
        let help = format!("leave {prefix}rate out, or {prefix}rate_trace");
        violations.path(&format!("{prefix}rate_trace"), &message, &help);
    }
    way.rate = Some(trace.mean());
    Some(trace.clone())
}

/// The delays of both directions over time, divided as `split` says. The shortest becomes the path's round trip.
fn delay_traces(
    draft: &mut PathDraft,
    named: &Named,
    violations: &mut Violations,
) -> [Option<StepTrace<u64>>; 2] {
    let Some(trace) = draft.rtt_trace.as_ref().and_then(|name| named.delays(name)) else {
        return [None, None];
    };
    let given = [
        ("rtt", draft.rtt.is_some()),
        ("forward_delay", draft.forward_delay.is_some()),
        ("reverse_delay", draft.reverse_delay.is_some()),
    ];
    if let Some((key, _)) = given.into_iter().find(|(_, is_given)| *is_given) {
        let message = format!("{key} is given too, and the trace is the round trip over time");
        violations.path("rtt_trace", &message, &format!("leave {key} out, or rtt_trace"));
    }
    draft.rtt = trace.values().iter().min().map(|ns| Duration::from_nanos(*ns));
    match draft.split {
        Some(Split::Forward) => [Some(trace.clone()), None],
        _ => [Some(trace.map(|rtt| rtt - rtt / 2)), Some(trace.map(|rtt| rtt / 2))],
    }
}

/// The loss of a direction whose keys begin with `prefix`, over time.
fn loss_trace(
    way: &WayDraft,
    prefix: &str,
    named: &Named,
    violations: &mut Violations,
) -> Option<StepTrace<Ratio>> {
    let trace = named.losses(way.loss_trace.as_ref()?)?;
    if way.loss.is_some() {
        let message = format!("{prefix}loss is given too, and the trace is the loss over time");
        let help = format!("leave {prefix}loss out, or {prefix}loss_trace");
        violations.path(&format!("{prefix}loss_trace"), &message, &help);
    }
    Some(trace.clone())
}

/// What each frame costs: that of the layer, with the overhead beside it.
fn framing(draft: &PathDraft) -> Framing {
    let layer = draft.rate_layer.unwrap_or_default();
    let overhead = layer.overhead + draft.overhead.unwrap_or(0);
    Framing { overhead, mpu: draft.mpu.unwrap_or(layer.mpu), ..layer }
}

fn mtu(draft: &PathDraft, violations: &mut Violations) -> u16 {
    let mtu = draft.mtu.and_then(|mtu| u16::try_from(mtu).ok()).unwrap_or(ETHERNET_MTU);
    if draft.family == Some(Family::Ipv6) && mtu < hazards::IPV6_LEAST {
        violations.path("mtu", "IPv6 needs at least 1280", "write at least 1280, or family = \"ipv4\"");
    }
    mtu
}

/// Both one-way delays. The half nanosecond of an odd `rtt` goes forward.
fn delays(draft: &PathDraft, violations: &mut Violations) -> (Duration, Duration) {
    let (forward, reverse) = (draft.forward_delay, draft.reverse_delay);
    if draft.split.is_some() && (forward.is_some() || reverse.is_some() || draft.rtt.is_none()) {
        violations.path(
            "split",
            "it divides rtt, and needs rtt without forward_delay and reverse_delay",
            "give rtt and split, or the delay of each direction",
        );
    }
    let Some(rtt) = draft.rtt else {
        return (forward.unwrap_or_default(), reverse.unwrap_or_default());
    };
    match (forward, reverse) {
        (None, None) if draft.split == Some(Split::Forward) => (rtt, Duration::ZERO),
        (None, None) => (rtt - rtt / 2, rtt / 2),
        (Some(forward), None) => (forward, rest(rtt, forward, "forward_delay", violations)),
        (None, Some(reverse)) => (rest(rtt, reverse, "reverse_delay", violations), reverse),
        (Some(forward), Some(reverse)) => {
            if forward.checked_add(reverse) != Some(rtt) {
                violations.path(
                    "rtt",
                    "it is not the sum of forward_delay and reverse_delay",
                    "leave rtt out, or one of the two delays, which then gets the rest",
                );
            }
            (forward, reverse)
        }
    }
}

fn rest(rtt: Duration, delay: Duration, name: &str, violations: &mut Violations) -> Duration {
    rtt.checked_sub(delay).unwrap_or_else(|| {
        violations.path(name, "it is longer than the round trip", "write at most rtt, or leave rtt out");
        Duration::ZERO
    })
}

/// Keys that say how something is, where nothing says that it is.
fn orphans(draft: &PathDraft, violations: &mut Violations) {
    let no_jitter = draft.forward.jitter.is_none() && draft.reverse.jitter.is_none();
    let loses = |way: &WayDraft| way.loss.is_some() || way.loss_trace.is_some();
    let no_loss = !loses(&draft.forward) && !loses(&draft.reverse);
    let no_rate = draft.forward.rate.is_none() && draft.reverse.rate.is_none();
    for (name, given, without, needs) in [
        ("subscriber", draft.subscriber.is_some(), draft.profile.is_none(), "profile"),
        ("jitter_distribution", draft.jitter_distribution.is_some(), no_jitter, "jitter"),
        ("jitter_reorder", draft.jitter_reorder.is_some(), no_jitter, "jitter"),
        ("loss_unit", draft.loss_unit.is_some(), no_loss, "loss"),
        ("rate_layer", draft.rate_layer.is_some(), no_rate, "rate"),
        ("overhead", draft.overhead.is_some(), no_rate, "rate"),
        ("mpu", draft.mpu.is_some(), no_rate, "rate"),
    ] {
        if given && without {
            violations.path(
                name,
                &format!("it has no effect without {needs}"),
                &format!("give {needs} too, or leave this out"),
            );
        }
    }
}

fn jitter(draft: &PathDraft, way: &WayDraft) -> Option<JitterSpec> {
    let spread = way.jitter.filter(|spread| !spread.is_zero())?;
    Some(JitterSpec {
        spread,
        distribution: draft.jitter_distribution.clone().unwrap_or(JitterDistribution::Uniform),
        reorder: draft.jitter_reorder.unwrap_or(false),
    })
}

fn delay_limit(
    way: &WayDraft,
    prefix: &str,
    rtt: Duration,
    frame: Bytes,
    violations: &mut Violations,
) -> Option<QueueLimit> {
    let limit = way.delay_limit?;
    if matches!(limit, QueueLimit::Bdp(_)) && way.rate.is_none() {
        violations.path(
            &format!("{prefix}delay_limit"),
            "a limit in BDPs needs a rate",
            &format!("give {prefix}rate, or write bytes or packets"),
        );
    }
    Some(way.rate.map_or(limit, |rate| in_bytes(limit, rate, rtt, frame)))
}

fn bottleneck(
    way: &WayDraft,
    prefix: &str,
    rtt: Duration,
    (frame, framing): (Bytes, Framing),
    violations: &mut Violations,
) -> Option<BottleneckSpec> {
    let Some(rate) = way.rate else {
        for (name, given) in [("queue", way.queue.is_some()), ("burst", way.burst.is_some())] {
            if given {
                violations.path(
                    &format!("{prefix}{name}"),
                    &format!("it has no effect without {prefix}rate"),
                    &format!("give {prefix}rate too, e.g. \"100mbit\", or leave this out"),
                );
            }
        }
        return None;
    };
    let burst = way.burst.unwrap_or(BURST);
    let least = framing.cost(frame.get());
    if burst.get() < least {
        violations.path(
            &format!("{prefix}burst"),
            "it must hold at least one frame",
            &format!("write at least \"{least}B\", e.g. \"32KiB\""),
        );
    }
    let queue = way
        .queue
        .or_else(|| aqm::default_queue(way))
        .map_or_else(|| default_queue(rate, rtt, frame), |queue| in_bytes(queue, rate, rtt, frame));
    if matches!(queue, QueueLimit::Bytes(bytes) if bytes < frame) {
        violations.path(
            &format!("{prefix}queue"),
            "it must hold at least one frame",
            &format!("write at least \"{}B\" or \"1p\"", frame.get()),
        );
    }
    // What is more is the direction's framing.
    let overhead = if framing.is_more_than_overhead() { 0 } else { framing.overhead.unsigned_abs().into() };
    let overhead = Bytes::new(overhead);
    Some(BottleneckSpec { rate, overhead, queue, burst })
}

/// One BDP, but not below 100 frames, and not above what a queue may be asked for.
fn default_queue(rate: Rate, rtt: Duration, frame: Bytes) -> QueueLimit {
    QueueLimit::Bytes(rate.bdp(rtt).max(Bytes::new(DEFAULT_QUEUE_FRAMES * frame.get())).min(SIZE_MAX))
}

/// BDPs as bytes, rounded down but not below one frame; at a round trip of zero, where a BDP says nothing, as absent.
fn in_bytes(limit: QueueLimit, rate: Rate, rtt: Duration, frame: Bytes) -> QueueLimit {
    let QueueLimit::Bdp(multiple) = limit else {
        return limit;
    };
    if rtt.is_zero() {
        return default_queue(rate, rtt, frame);
    }
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the multiple is a float; `as` saturates"
    )]
    let bytes = (rate.bdp(rtt).get() as f64 * multiple) as u64;
    QueueLimit::Bytes(Bytes::new(bytes).max(frame).min(SIZE_MAX))
}
