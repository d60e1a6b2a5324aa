//! The path of the scenario: round trip, and in each direction rate, queue and what happens to packets.

use super::Draft;
use super::knob::{Knob, Setting};
use crate::findings::connections::CapturedFlow;
use crate::ground::models::loss::cubic;
use pipefill_core::cell::Direction;
use pipefill_core::limit::{CwndCause, LimitedBy};
use pipefill_core::units::{Bytes, Ratio};
use std::fmt::Write;
use std::time::Duration;

/// Bytes of the shortest queue.
const LEAST_QUEUE: u64 = 30_000;
/// Bytes of a full frame: no queue is shorter, nor a bucket.
const LEAST_FRAME: u64 = 1_514;
/// Shares of losses that the response function is asked for.
const MODEL_LOSS: (f64, f64) = (1e-8, 0.5);
/// The function knows no timeouts: it holds up to here.
const RARE: f64 = 0.03;
/// An ACK with timestamps on Ethernet, bytes of its frame.
const ACK_FRAME: u64 = 66;

pub(super) fn write(text: &mut String, draft: &Draft<'_>, setting: Option<Setting>) {
    let rtt_us = draft.flows.iter().filter_map(|(flow, _)| flow.min_rtt_us).min().unwrap_or(0);
    let _ = writeln!(text, "\n[path]\nrtt = \"{rtt_us}us\"");
    direction_lines(text, "", &draft.of_way(Direction::Forward), setting);
    direction_lines(text, "reverse_", &draft.of_way(Direction::Reverse), None);
    order(text, draft, setting);
    way_of_acks(text, draft, setting);
}

fn value(setting: Option<Setting>, knob: Knob) -> Option<f64> {
    setting.filter(|setting| setting.knob == knob).map(|setting| setting.value)
}

/// Rate, queue and losses of a direction.
fn direction_lines(text: &mut String, prefix: &str, flows: &[&CapturedFlow], setting: Option<Setting>) {
    if let Some(rate) = rate(flows) {
        let rate = (rate as f64 * value(setting, Knob::Rate).unwrap_or(1.0)) as u64;
        let _ = writeln!(text, "{prefix}rate = \"{rate}bit\"");
        let seen = queue(flows, rate).map(|bytes| bytes.max(LEAST_QUEUE));
        if let Some(queue) = value(setting, Knob::Queue).map(|bytes| bytes as u64).or(seen) {
            let _ = writeln!(text, "{prefix}queue = \"{queue}B\"");
        }
    }
    if let Some(percent) = value(setting, Knob::Loss) {
        let _ = writeln!(text, "{prefix}loss = \"{percent}%\"");
    } else if let Some((again, percent)) = loss(flows) {
        let _ = writeln!(
            text,
            "# {again:.4} % were sent again; with this share of random losses CUBIC is as fast.\n{prefix}loss = \"{percent:.4}%\""
        );
    }
}

/// Reordering and jitter.
fn order(text: &mut String, draft: &Draft<'_>, setting: Option<Setting>) {
    if let Some(percent) = value(setting, Knob::Reorder).or_else(|| draft.unset(Knob::Reorder)) {
        let _ = writeln!(
            text,
            "# Linux waits for what is late, up to a round trip (RACK): what comes earlier by all of it is still taken for lost.\n\
             reorder = \"{percent}%\"\nsplit = \"forward\""
        );
    }
    if let Some(us) = value(setting, Knob::Jitter) {
        let _ = writeln!(text, "jitter = \"{}us\"", us as u64);
    }
}

/// What delays and loses ACKs.
fn way_of_acks(text: &mut String, draft: &Draft<'_>, setting: Option<Setting>) {
    if let Some(percent) = value(setting, Knob::AcksThatArrive) {
        let _ = writeln!(text, "reverse_loss = \"{:.2}%\"", 100.0 - percent);
    }
    if let Some((rate, queue)) = path_of_acks(draft) {
        let rate = (rate as f64 * value(setting, Knob::AckRate).unwrap_or(1.0)) as u64;
        let _ = writeln!(
            text,
            "# ACKs came no faster, and had waited so long. One frame at a time: a bucket would let many through.\n\
             reverse_rate = \"{rate}bit\"\nreverse_queue = \"{queue}B\"\nreverse_burst = \"{LEAST_FRAME}B\""
        );
    }
}

/// The longest queue that was seen at `rate`, bytes.
fn queue(flows: &[&CapturedFlow], rate: u64) -> Option<u64> {
    let queue_us = flows.iter().filter_map(|flow| flow.queue_us).max()?;
    Some(rate / 8 * queue_us / 1_000_000).filter(|&bytes| bytes > 0)
}

/// Rate and queue of a way back on which ACKs wait: they come as fast as it lets them.
pub(super) fn path_of_acks(draft: &Draft<'_>) -> Option<(u64, u64)> {
    let main = draft.main;
    let is_their_own = draft.of_way(Direction::Reverse).is_empty();
    let data_us = main.data_us.filter(|&us| us > 0)?;
    if !is_slow_for_acks(main) || !is_their_own {
        return None;
    }
    let rate = main.acks * ACK_FRAME * 8_000_000 / data_us;
    let wait_us = main.srtt_us?.saturating_sub(main.min_rtt_us?);
    Some((rate.max(1), (rate / 8 * wait_us / 1_000_000).max(LEAST_FRAME)))
}

/// The bottleneck of a direction. Where it is not known, the path is no faster than what got through at most.
pub(super) fn rate(flows: &[&CapturedFlow]) -> Option<u64> {
    let may_be_full = |flow: &&CapturedFlow| match flow.verdict.limited_by {
        Some(LimitedBy::Path) => true,
        // A window that grows has not met the bottleneck yet, nor has one that reordering keeps small.
        Some(LimitedBy::Cwnd) => {
            !matches!(flow.verdict.cwnd_cause, Some(CwndCause::Startup | CwndCause::Reordering))
        }
        _ => false,
    };
    let most = |value: fn(&CapturedFlow) -> Option<u64>| {
        flows.iter().map(|flow| beside(flows, flow, value)).max().filter(|&sum| sum > 0)
    };
    let together = most(|flow| flow.goodput_bps)?;
    let known = flows.iter().filter_map(|flow| flow.path_rate_bps).filter(|&rate| rate >= together).max();
    let fastest = || most(|flow| flow.fastest_bps).filter(|_| flows.iter().all(may_be_full));
    let is_full = flows.iter().any(|flow| flow.verdict.limited_by == Some(LimitedBy::Path));
    known.or_else(fastest).or(is_full.then_some(together))
}

/// The sum over all flows that were there at the same time as `reference`.
fn beside(flows: &[&CapturedFlow], reference: &CapturedFlow, value: fn(&CapturedFlow) -> Option<u64>) -> u64 {
    let data_us = |flow: &CapturedFlow| flow.data_us.unwrap_or(0);
    let half_us = reference.start_us + data_us(reference) / 2;
    let is_there = |flow: &&&CapturedFlow| (flow.start_us..=flow.start_us + data_us(flow)).contains(&half_us);
    flows.iter().filter(is_there).filter_map(|flow| value(flow)).sum()
}

/// What was sent again, and the losses by chance that make CUBIC as fast as the mean of the lossy flows, percent of the segments. Whatever the
/// sender's congestion control is, and whether losses came in bursts: the scenario has CUBIC and single losses.
pub(super) fn loss(flows: &[&CapturedFlow]) -> Option<(f64, f64)> {
    let by_chance = |flow: &&CapturedFlow| match flow.verdict.cwnd_cause {
        Some(CwndCause::RandomLoss | CwndCause::Policer) => true,
        Some(CwndCause::Startup) => false,
        _ => flow.loss_is_chance,
    };
    let lossy: Vec<&CapturedFlow> = flows.iter().copied().filter(by_chance).collect();
    let sum = |count: fn(&CapturedFlow) -> u64| lossy.iter().map(|flow| count(flow)).sum::<u64>();
    let (again, all) = (sum(|flow| flow.retransmits), sum(|flow| flow.segments));
    if again == 0 || all == 0 {
        return None;
    }
    let measured = again as f64 / all as f64;
    let mss = Bytes::new(sum(|flow| flow.bytes) / all.saturating_sub(again).max(1));
    let rtt = Duration::from_micros(lossy.iter().filter_map(|flow| flow.min_rtt_us).min()?);
    let is_held_back = lossy.iter().all(|flow| flow.verdict.limited_by == Some(LimitedBy::Cwnd));
    let each = lossy.iter().filter_map(|flow| flow.goodput_bps).sum::<u64>() as f64 / lossy.len() as f64;
    let equal = is_held_back.then(|| loss_that_gives(each, mss, rtt)).flatten();
    let equal = equal.filter(|&share| share <= RARE).unwrap_or(measured);
    Some((100.0 * measured, 100.0 * equal))
}

/// The share of losses at which CUBIC reaches `bps`.
fn loss_that_gives(bps: f64, mss: Bytes, rtt: Duration) -> Option<f64> {
    let (mut low, mut high) = MODEL_LOSS;
    for _ in 0..40 {
        let middle = (low * high).sqrt();
        if cubic(mss, rtt, Ratio::from_fraction(middle))? > bps {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(low)
}

/// Whether ACKs wait on their way back: they are late, and no timer ran out.
pub(super) fn is_slow_for_acks(flow: &CapturedFlow) -> bool {
    flow.verdict.cwnd_cause == Some(CwndCause::AckPath)
        && flow.retransmits_by_kind.get("rto").is_none_or(|&count| count == 0)
}
