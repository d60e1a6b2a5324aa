//! Two captures of the same transfer, made at both ends: each is judged alone, then both are read once more and joined.

use pipefill_analysis::findings::connections::{
    Captured, CapturedFlow, ClockDifference, DelayBasis, JoinedCaptures, JoinedDirection, JoinedFlow,
    LostPacket, OffsetMove, OneWayDelay, PlacedBy, UdpFlow, UnmatchedPackets,
};
use pipefill_capture::join::{
    Clock, Delay, Joined, JoinedPair, JoinedWay, Origin, Pairing, Placed, Survey, join,
};
use pipefill_capture::read::SET_BACK_NS;
use pipefill_observe::{CaptureFile, CaptureRead, STDIN, capture_name, judge_capture, read_capture};
use pipefill_runs::Failure;
use std::collections::BTreeSet;
use std::path::Path;

/// SurveyedCapture capture after its first reading.
struct SurveyedCapture<'a> {
    file: &'a Path,
    read: CaptureRead,
    survey: Survey,
}

/// The flows of both captures together, the largest first.
pub(super) fn joined(first: &Path, second: &Path) -> Result<Captured, Failure> {
    let mut both = [first_reading(first)?, first_reading(second)?];
    let mut pairing = Pairing::of(&both[0].survey, &both[1].survey);
    match pairing.senders_capture() {
        None => return Err(nothing_in_common(&both)),
        // Then everything is the same, whichever file is named first.
        Some(1) => {
            both.reverse();
            pairing = Pairing::of(&both[0].survey, &both[1].survey);
        }
        Some(_) => {}
    }
    let (only, left_out) = (pairing.only, pairing.left_out);
    let [mut sender, mut receiver] = [CaptureFile::open(both[0].file)?, CaptureFile::open(both[1].file)?];
    let joined = join(&mut sender.reader()?, &mut receiver.reader()?, pairing);
    let mut ways = joined.pairs.iter().flat_map(|pair| &pair.ways);
    if ways.all(|way| way.counts.matched == 0) {
        return Err(nothing_matched(&both));
    }
    let found = both.each_ref().map(|capture| judge_capture(&capture.read));
    let captures = JoinedCaptures {
        sender_file: capture_name(both[0].file),
        receiver_file: capture_name(both[1].file),
        same_clock: joined.is_same_clock,
        clock: joined.clock.as_ref().map(clock),
        backward_times_at_sender: found[0].backward_times,
        backward_times_at_receiver: found[1].backward_times,
        offset_move: joined.offset_move.map(|moved| OffsetMove { by_us: us(moved.by_ns) }),
        only_at_sender: only[0],
        only_at_receiver: only[1],
        left_out,
        cut_at_sender: both[0].read.cut(),
        cut_at_receiver: both[1].read.cut(),
        dropped_at_sender: both[0].read.dropped,
        dropped_at_receiver: both[1].read.dropped,
    };
    Ok(Captured { joined: Some(captures), ..with_flows(found, &joined) })
}

fn first_reading(file: &Path) -> Result<SurveyedCapture<'_>, Failure> {
    if file == Path::new(STDIN) {
        return Err(Failure::usage(
            "two captures are read twice, and standard input can be read once".to_owned(),
            "write it into a file first",
        ));
    }
    let mut survey = Survey::default();
    let read = read_capture(file, Some(&mut survey))?;
    survey.origin = Origin::of(&read.comments);
    Ok(SurveyedCapture { file, read, survey })
}

fn nothing_in_common(both: &[SurveyedCapture<'_>; 2]) -> Failure {
    let told = |capture: &SurveyedCapture<'_>| {
        let cut = match capture.read.cut() {
            0 => String::new(),
            count => {
                format!(
                    " In {}, the snap length has cut the headers of {count} packets.",
                    capture_name(capture.file)
                )
            }
        };
        let broken = capture.read.broken.as_ref();
        broken.map_or_else(String::new, |broken| format!(" Reading ended early: {broken}.")) + &cut
    };
    let count = |capture: &SurveyedCapture<'_>| {
        format!("{} ({} connections)", capture_name(capture.file), capture.read.counts.connections)
    };
    Failure::usage(
        format!(
            "the captures have no connection in common: {} and {}.{}{}",
            count(&both[0]),
            count(&both[1]),
            told(&both[0]),
            told(&both[1]),
        ),
        "give two captures of the same transfer, made at the same time; where a NAT is between them, both need the handshake",
    )
}

fn nothing_matched(both: &[SurveyedCapture<'_>; 2]) -> Failure {
    Failure::usage(
        format!(
            "{} and {} have connections between the same ends, and not one packet in common",
            capture_name(both[0].file),
            capture_name(both[1].file),
        ),
        "give two captures that were made at the same time; a device that rewrites sequence numbers or timestamps can't be between them",
    )
}

/// The flows of both captures: a flow in both comes from its sender's capture, with the other's additions; a flow in one capture as it is.
fn with_flows(found: [Captured; 2], joined: &Joined) -> Captured {
    let mut all = Captured {
        clock_resolution_us: found.iter().filter_map(|capture| capture.clock_resolution_us).max(),
        packets: found.iter().map(|capture| capture.packets).sum(),
        forgotten: found.iter().map(|capture| capture.forgotten).sum(),
        left_out: found.iter().map(|capture| capture.left_out).sum(),
        dropped: found.iter().filter_map(|capture| capture.dropped).reduce(|first, second| first + second),
        ..Captured::new()
    };
    for (kind, count) in found.iter().flat_map(|capture| &capture.not_understood) {
        *all.not_understood.entry(kind.clone()).or_insert(0) += count;
    }
    let broken: Vec<&str> = found.iter().filter_map(|capture| capture.broken.as_deref()).collect();
    all.broken = (!broken.is_empty()).then(|| broken.join("; "));
    let [mut first, second] = found;
    let ends = |flow: &UdpFlow| (flow.src.clone(), flow.dst.clone());
    let known: BTreeSet<(String, String)> = first.udp_flows.iter().map(ends).collect();
    all.udp_flows = std::mem::take(&mut first.udp_flows);
    all.udp_flows.extend(second.udp_flows.iter().filter(|flow| !known.contains(&ends(flow))).cloned());
    all.udp_left_out = first.udp_left_out + second.udp_left_out;
    all.mptcp = std::mem::take(&mut first.mptcp);
    all.nat = std::mem::take(&mut first.nat);
    let mut flows = [first, second].map(|capture| capture.flows);
    for pair in &joined.pairs {
        for end in [0, 1] {
            all.flows.extend(flow(pair, end, &mut flows, joined));
        }
    }
    all.flows.extend(flows.into_iter().flatten());
    all.flows.sort_by_key(|flow| std::cmp::Reverse(flow.bytes));
    all
}

/// The flow that this end of `pair` sends, taken out of both captures' flows; `None` where it sends nothing.
fn flow(
    pair: &JoinedPair,
    end: usize,
    flows: &mut [Vec<CapturedFlow>; 2],
    joined: &Joined,
) -> Option<CapturedFlow> {
    let ends = |of: [_; 2]| if end == 0 { of } else { [of[1], of[0]] };
    let (at_a, near, far) = (pair.pair.at_a, ends(pair.pair.ends), ends(pair.pair.far_ends));
    // The capture at this end, and its names.
    let (capture, own, other) = if end == 0 { (at_a, near, far) } else { (1 - at_a, far, near) };
    let mut take = |capture: usize, ends: [_; 2]| {
        let ends = ends.map(|end| format!("{end}"));
        let all: &mut Vec<CapturedFlow> = &mut flows[capture];
        let at = all.iter().position(|flow| (&flow.src, &flow.dst) == (&ends[0], &ends[1]))?;
        Some(all.remove(at))
    };
    let theirs = take(1 - capture, other);
    let mut flow = take(capture, own).or(theirs)?;
    let [forward, reverse] = if end == 0 { [0, 1] } else { [1, 0] };
    let direction = |at: usize| direction(&pair.ways[at], joined.is_same_clock);
    // The clock that was set is unknown. If it was set back, the flow has no times already.
    if joined.offset_move.is_some_and(|moved| moved.by_ns.unsigned_abs() >= SET_BACK_NS) {
        flow.forget_times();
    }
    let renamed = |at: usize| pair.pair.is_translated().then(|| other[at].to_string());
    flow.join(JoinedFlow {
        placed_by: match pair.pair.placed {
            Placed::Answers => PlacedBy::Answers,
            Placed::Comment => PlacedBy::Comment,
            Placed::Assumed => PlacedBy::Assumed,
        },
        src_at_receiver: renamed(0),
        dst_at_receiver: renamed(1),
        forward: direction(forward),
        reverse: direction(reverse),
    });
    Some(flow)
}

fn direction(way: &JoinedWay, is_same_clock: bool) -> JoinedDirection {
    let counts = &way.counts;
    let missing = counts.unmatched_sent.before + counts.unmatched_sent.after;
    let could = (counts.data + counts.bare).saturating_sub(missing);
    let lost = counts.lost_data + counts.lost_bare;
    JoinedDirection {
        data_segments: counts.data,
        pure_acks: counts.bare,
        lost_data_segments: counts.lost_data,
        lost_pure_acks: counts.lost_bare,
        lost_share: (could > 0).then(|| lost as f64 / could as f64),
        lost_retransmits: counts.lost_again,
        duplicated: counts.duplicated,
        reordered: counts.reordered,
        unmatched: UnmatchedPackets {
            sent_before: counts.unmatched_sent.before,
            sent_after: counts.unmatched_sent.after,
            received_before: counts.unmatched_seen.before,
            received_after: counts.unmatched_seen.after,
            received_only: counts.unmatched_seen.within,
            hurried: counts.hurried,
        },
        first_losses: way
            .lost
            .iter()
            .map(|lost| LostPacket {
                t_us: lost.time_ns.saturating_sub(way.first_ns.unwrap_or(0)) / 1_000,
                packet: lost.number,
                seq_from: lost.seq_from,
                seq_to: lost.seq_to,
                retransmit: lost.is_again,
            })
            .collect(),
        one_way_delay: way.delay.as_ref().map(|measured| delay(measured, is_same_clock)),
    }
}

fn delay(delay: &Delay, is_same_clock: bool) -> OneWayDelay {
    let [above_min_us_p50, above_min_us_p95, above_min_us_p99] = delay.above_ns.map(us);
    let variation = |at: usize| delay.variation_ns.map(|all| us(all[at]));
    OneWayDelay {
        samples: delay.samples,
        min_us: us(delay.least_ns),
        basis: if is_same_clock { DelayBasis::SameClock } else { DelayBasis::HalfRtt },
        above_min_us_p50,
        above_min_us_p95,
        above_min_us_p99,
        ipdv_us_p50: variation(0),
        ipdv_us_p95: variation(1),
        ipdv_us_p99: variation(2),
        above_min_us_before_loss: delay.at_loss_ns.map(us),
    }
}

fn clock(clock: &Clock) -> ClockDifference {
    let ppm = |value: f64| (value * 1e9).round() / 1e3;
    ClockDifference {
        offset_us: us(clock.offset_ns),
        offset_error_us: clock.offset_error_ns.div_ceil(1_000),
        offset_bound_us: clock.offset_bound_ns.div_ceil(1_000),
        drift_ppm: clock.drift.map(ppm),
        drift_error_ppm: clock.drift_error.map(ppm),
    }
}

/// Rounded.
fn us(ns: i64) -> i64 {
    (ns + 500).div_euclid(1_000)
}
