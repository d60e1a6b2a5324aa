//! Fits a leaky bucket to the segments of a direction that passed and those that were lost.
//!
//! A queue of a constant rate drops what no longer fits, a policer what finds no token: both are a bucket that every passing segment fills and that empties
//! at a constant rate. At the true rate the bucket is fullest, and always as full, when segments are lost. Random loss comes at any level.

use pipefill_core::record::BucketFit;
use std::ops::Range;

/// Any bucket explains fewer losses.
const LOST_MIN: usize = 5;
/// The bucket holds at least this many segments: a smaller one is full after each segment of an even flow, whatever is lost then.
const HOLDS_MIN: u32 = 4;
/// Rates that are tried: from the mean rate over this …
const SLOWEST: f64 = 5.0;
/// … to as many times the mean rate, each by this factor above the last, …
const FASTEST: f64 = 40.0;
const STEP: f64 = 1.12;
/// … and between the neighbours of the best one by this factor.
const FINE_STEP: f64 = 1.015;
/// What a spread of 1 costs, as a part of a rank: between rates with nearly the same rank the one at which the bucket is always as full.
const SPREAD_COSTS: f64 = 0.25;
/// A rate explains the losses as well as another one where its score is lower by at most this.
const AS_WELL: f64 = 0.02;
/// Rates that are tried in one pass.
const TOGETHER: usize = 4;
/// Rates that are compared so, in either direction.
const STEPS_MAX: usize = 48;
/// Segments that passed and are compared with those that were lost, at most.
const COMPARED_MAX: usize = 1 << 10;
/// Losses with at least this many passed segments between them are two events.
const BETWEEN_EVENTS: u32 = 8;
/// Segments on either side of a loss whose shortest round trip counts: an ACK may wait for the next segment.
const NEIGHBOURS: usize = 2;
/// A segment that left this much earlier or later, microseconds, met another level.
const NEIGHBOUR_US: u32 = 5_000;
/// Sequence numbers that are further ahead lie before the first.
const REACH: u32 = 1 << 31;
/// Percentiles between which the spread lies.
const LOW: f64 = 0.1;
const HIGH: f64 = 0.9;

/// A packet with payload. Times and sequence numbers are their last 32 bits.
#[derive(Debug, Clone, Copy)]
pub(super) struct LoggedPacket {
    pub(super) at_us: u32,
    /// Its first sequence number.
    pub(super) from: u32,
    pub(super) bytes: u32,
    pub(super) kind: LoggedKind,
}

/// How a packet came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoggedKind {
    /// Its data passed for the first time.
    New,
    /// Its data was lost before.
    Again,
    /// Its data was not lost: others overtook it, or it is a probe.
    Late,
}

/// Data that arrived, by its sequence numbers: all up to `to` where `from` is absent.
#[derive(Debug, Clone, Copy)]
pub(super) struct LoggedAck {
    pub(super) at_us: u32,
    pub(super) from: Option<u32>,
    pub(super) to: u32,
}

/// Segments of a packet that all passed or were all lost, in the order in which they reached the bucket.
#[derive(Debug, Clone, Copy)]
struct Piece {
    at_us: u32,
    from: u32,
    bytes: u32,
    is_lost: bool,
    /// Whether it is the first one that was lost in an event.
    begins_event: bool,
    /// Of what left a hole, the place behind the packet whose data it follows.
    hole: Option<usize>,
}

/// A part of the data, and where its last copy is.
#[derive(Debug, Clone, Copy)]
struct Part {
    from: u32,
    to: u32,
    copy: LastCopy,
}

/// In the packet at that index, or nowhere: it followed the data of that packet. When the hole showed says nothing: a flight may have lost its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum LastCopy {
    Missing(usize),
    Passed(usize),
}

/// A rate and how well it explains the losses.
#[derive(Debug, Clone, Copy)]
struct Fit {
    /// Bytes a microsecond.
    rate: f64,
    held: f64,
    spread: f64,
    rank: f64,
}

impl Fit {
    fn score(&self) -> f64 {
        self.rank - SPREAD_COSTS * self.spread.min(1.0)
    }
}

/// `None` where there are too few losses, or all packets have one time.
pub(super) fn fit(packets: &[LoggedPacket], acks: &[LoggedAck], mss: u32) -> Option<BucketFit> {
    let (mss, zero) = (mss.max(1), packets.first()?);
    let pieces = pieces(packets, mss);
    let lost = || pieces.iter().filter(|piece| piece.is_lost);
    let (first, last) = (pieces.first()?, pieces.last()?);
    let span_us = last.at_us.saturating_sub(first.at_us);
    if lost().count() < LOST_MIN || span_us == 0 {
        return None;
    }
    let passed: u64 = pieces.iter().filter(|piece| !piece.is_lost).map(|piece| u64::from(piece.bytes)).sum();
    let mean = passed as f64 / f64::from(span_us);
    let least = f64::from(mss.saturating_mul(HOLDS_MIN));
    let load = BucketLoad::new(&pieces);
    let rough = load.best(least, mean / SLOWEST..mean * FASTEST, STEP)?;
    let best = load.best(least, rough.rate / STEP..rough.rate * STEP, FINE_STEP)?;
    let (found, most) = (load.farthest(best, 1.0 / STEP), load.farthest(best, STEP));
    let begins: Vec<usize> = (0..pieces.len()).filter(|&at| pieces[at].begins_event).collect();
    let spacing = |at: usize| {
        let us_of_byte = before_hole(&pieces[at], packets).or_else(|| before_sacks(&pieces[at], acks, zero));
        us_of_byte.map(|us| us * found.rate)
    };
    // Near the receiver a lost segment is not seen, and an ACK comes at once.
    let are_seen = 2 * begins.iter().filter(|&&at| pieces[at].hole.is_none()).count() > begins.len();
    let rtts = begins.iter().filter(|_| are_seen).filter_map(|&at| round_trip_us(&pieces, at, acks, zero));
    let passed = pieces.iter().step_by(pieces.len().div_ceil(COMPARED_MAX)).filter(|piece| !piece.is_lost);
    let least_us = passed.filter_map(|piece| answered_us(piece, acks, zero)).min().map_or(0.0, f64::from);
    let whole = |value: f64| value.round() as u32;
    let bps = |rate: f64| (rate * 8e6).round() as u64;
    Some(BucketFit {
        payload_bps: bps(found.rate),
        most_payload_bps: bps(most.rate),
        held_bytes: found.held.round() as u64,
        spread_permille: whole(found.spread * 1e3),
        rank_permille: whole(found.rank * 1e3),
        lost_segments: lost().fold(0, |sum: u32, piece| sum.saturating_add(piece.bytes.div_ceil(mss))),
        events: u32::try_from(begins.len()).unwrap_or(u32::MAX),
        waited_us: median(rtts).map(|rtt_us| whole((rtt_us - least_us).max(0.0))),
        spacing_permille: median(begins.iter().filter_map(|&at| spacing(at)))
            .map(|spacing| whole(spacing * 1e3)),
    })
}

/// What passed and what was lost. Times and sequence numbers count from the first packet.
fn pieces(packets: &[LoggedPacket], mss: u32) -> Vec<Piece> {
    let lost = lost_parts(packets);
    let Some(first) = packets.first() else { return Vec::new() };
    let mut pieces: Vec<Piece> = Vec::with_capacity(packets.len() + 2 * lost.len());
    for (place, packet) in packets.iter().enumerate() {
        let of = |copy: LastCopy| {
            let begin = lost.partition_point(|part| part.copy < copy);
            lost[begin..].iter().take_while(move |part| part.copy == copy)
        };
        let mut push = |at_us: u32, from: u32, to: u32, is_lost: bool, hole: Option<usize>| {
            if to > from {
                pieces.push(Piece { at_us, from, bytes: to - from, is_lost, begins_event: false, hole });
            }
        };
        let at_us = packet.at_us.wrapping_sub(first.at_us);
        let mut from = packet.from.wrapping_sub(first.from);
        let to = from.saturating_add(packet.bytes);
        for part in of(LastCopy::Passed(place)) {
            push(at_us, from, part.from, false, None);
            push(at_us, part.from, part.to, true, None);
            from = part.to;
        }
        push(at_us, from, to, false, None);
        for hole in of(LastCopy::Missing(place)) {
            push(at_us, hole.from, hole.to, true, Some(place + 1));
        }
    }
    mark_events(&mut pieces, mss);
    pieces
}

/// Marks the first piece of each event.
fn mark_events(pieces: &mut [Piece], mss: u32) {
    let mut since = BETWEEN_EVENTS;
    for piece in pieces {
        if piece.is_lost {
            piece.begins_event = since >= BETWEEN_EVENTS;
            since = 0;
        } else {
            since = piece.bytes.div_ceil(mss).saturating_add(since);
        }
    }
}

/// The parts that were lost, by the packet that had them, or that came after their hole.
fn lost_parts(packets: &[LoggedPacket]) -> Vec<Part> {
    let Some(first) = packets.first() else { return Vec::new() };
    let (mut lost, mut last, mut sent_to, mut sent_last) = (Vec::new(), Vec::<Part>::new(), 0, 0);
    for (place, packet) in packets.iter().enumerate() {
        let from = packet.from.wrapping_sub(first.from);
        let to = from.saturating_add(packet.bytes);
        if to > REACH {
            continue;
        }
        let known = from.min(sent_to)..to.min(sent_to);
        if from > sent_to {
            last.push(Part { from: sent_to, to: from, copy: LastCopy::Missing(sent_last) });
        }
        if to > sent_to {
            last.push(Part { from: from.max(sent_to), to, copy: LastCopy::Passed(place) });
            (sent_to, sent_last) = (to, place);
        }
        came_again(&mut last, &mut lost, known, place, packet.kind);
    }
    // What is missing at the end is missing in the capture.
    lost.sort_unstable_by_key(|part| (part.copy, part.from));
    lost
}

/// What passes again in `known` was lost before, or, where it comes late, was not.
fn came_again(last: &mut Vec<Part>, lost: &mut Vec<Part>, known: Range<u32>, place: usize, kind: LoggedKind) {
    let (from, to) = (known.start, known.end);
    let begin = last.partition_point(|part| part.to <= from);
    let end = last.partition_point(|part| part.from < to);
    if begin >= end {
        return;
    }
    let parts: Vec<Part> = last[begin..end].to_vec();
    let edges = [
        parts.first().map(|part| Part { to: from, ..*part }),
        Some(Part { from, to, copy: LastCopy::Passed(place) }),
        parts.last().map(|part| Part { from: to, ..*part }),
    ];
    if kind == LoggedKind::Again {
        lost.extend(parts.iter().map(|part| Part {
            from: part.from.max(from),
            to: part.to.min(to),
            ..*part
        }));
    }
    last.splice(begin..end, edges.into_iter().flatten().filter(|part| part.from < part.to));
}

/// The input of the bucket, computed once for all rates: times and bytes of the segments that passed, and where the level is sampled.
#[derive(Debug, Default)]
struct BucketLoad {
    passed: Vec<LoadStep>,
    levels: Vec<LevelSample>,
}

/// The bucket empties for this many microseconds, and then takes that many bytes.
#[derive(Debug, Clone, Copy)]
struct LoadStep {
    idle_us: f64,
    bytes: f64,
}

/// A sample of the level, after `steps` steps and `idle_us` without a segment.
#[derive(Debug, Clone, Copy)]
struct LevelSample {
    steps: usize,
    idle_us: f64,
    is_lost: bool,
}

impl BucketLoad {
    /// Each event counts as much as another one, however much was lost in it: a stall of the path, or of the sender's host, is one event.
    fn new(pieces: &[Piece]) -> Self {
        let mut load = Self::default();
        let (mut emptied_us, mut at_us) = (0, 0);
        let every = pieces.len().div_ceil(COMPARED_MAX);
        for (at, piece) in pieces.iter().enumerate() {
            at_us = piece.at_us.max(at_us);
            let idle_us = f64::from(at_us - emptied_us);
            if piece.begins_event || (!piece.is_lost && at % every == 0) {
                load.levels.push(LevelSample { steps: load.passed.len(), idle_us, is_lost: piece.is_lost });
            }
            if !piece.is_lost {
                load.passed.push(LoadStep { idle_us, bytes: f64::from(piece.bytes) });
                emptied_us = at_us;
            }
        }
        load
    }

    /// The best of the rates of a range, each by `step` above the last, at which the bucket has at least `least` bytes at a loss.
    fn best(&self, least: f64, rates: Range<f64>, step: f64) -> Option<Fit> {
        let all = std::iter::successors(Some(rates.start), |rate| Some(rate * step));
        let fits = self.fits(all.take_while(|&rate| rate <= rates.end)).flatten();
        fits.filter(|fit| fit.held >= least).max_by(|a, b| a.score().total_cmp(&b.score()))
    }

    /// The rate farthest from that of `found`, in steps of that factor, at which the losses are explained as well.
    fn farthest(&self, found: Fit, step: f64) -> Fit {
        let rates = std::iter::successors(Some(found.rate * step), |rate| Some(rate * step)).take(STEPS_MAX);
        let as_well = |other: &Fit| other.score() >= found.score() - AS_WELL;
        self.fits(rates).map_while(|fit| fit).take_while(as_well).last().unwrap_or(found)
    }

    /// How well each rate explains the losses.
    fn fits(&self, mut rates: impl Iterator<Item = f64>) -> impl Iterator<Item = Option<Fit>> {
        let together = std::iter::from_fn(move || {
            let rates: [Option<f64>; TOGETHER] = std::array::from_fn(|_| rates.next());
            rates[0]?;
            let fits = self.fits_at(rates.map(Option::unwrap_or_default));
            Some(fits.into_iter().zip(rates).filter(|(_, rate)| rate.is_some()).map(|(fit, _)| fit))
        });
        together.flatten()
    }

    /// In one pass over the segments: each step of a rate waits for the one before it.
    fn fits_at(&self, rates: [f64; TOGETHER]) -> [Option<Fit>; TOGETHER] {
        let emptied = |levels: [f64; TOGETHER], idle_us: f64| -> [f64; TOGETHER] {
            std::array::from_fn(|at| (levels[at] - rates[at] * idle_us).max(0.0))
        };
        let (mut levels, mut since) = ([0.0; TOGETHER], 0);
        let (mut lost, mut others) = (Vec::new(), Vec::with_capacity(self.levels.len()));
        for at in &self.levels {
            levels = self.passed[since..at.steps]
                .iter()
                .fold(levels, |levels, step| emptied(levels, step.idle_us).map(|level| level + step.bytes));
            since = at.steps;
            let sampled = if at.is_lost { &mut lost } else { &mut others };
            sampled.push(emptied(levels, at.idle_us));
        }
        std::array::from_fn(|at| {
            let of_rate = |levels: &[[f64; TOGETHER]]| levels.iter().map(|levels| levels[at]).collect();
            Fit::new(rates[at], of_rate(&lost), &of_rate(&others))
        })
    }
}

impl Fit {
    /// By the levels at which segments were lost, and those at which others passed.
    fn new(rate: f64, mut lost: Vec<f64>, others: &[f64]) -> Option<Self> {
        lost.sort_unstable_by(f64::total_cmp);
        let held = percentile(&lost, 0.5)?;
        let fuller = |&level: &f64| {
            let below = lost.partition_point(|&of_lost| of_lost < level);
            let is_met = lost.get(below).is_some_and(|&of_lost| of_lost <= level);
            let to = if is_met { lost.partition_point(|&of_lost| of_lost <= level) } else { below };
            lost.len() as f64 - below.midpoint(to) as f64
        };
        let rank = others.iter().map(fuller).sum::<f64>() / (others.len() * lost.len()) as f64;
        let width = percentile(&lost, HIGH)? - percentile(&lost, LOW)?;
        Some(Self { rate, held, spread: width / held.max(1.0), rank })
    }
}

/// The shortest of the segments next to the one at `at`, which was seen before it was lost.
fn round_trip_us(pieces: &[Piece], at: usize, acks: &[LoggedAck], zero: &LoggedPacket) -> Option<f64> {
    let lost = pieces.get(at).filter(|piece| piece.hole.is_none())?;
    let before = pieces[..at].iter().rev().filter(|piece| !piece.is_lost).take(NEIGHBOURS);
    let after = pieces[at..].iter().filter(|piece| !piece.is_lost).take(NEIGHBOURS);
    let near = before.chain(after).filter(|piece| piece.at_us.abs_diff(lost.at_us) <= NEIGHBOUR_US);
    near.filter_map(|piece| answered_us(piece, acks, zero)).map(f64::from).reduce(f64::min)
}

/// From when `piece` passed until it was acknowledged; its time and number count from `zero`.
fn answered_us(piece: &Piece, acks: &[LoggedAck], zero: &LoggedPacket) -> Option<u32> {
    let at_us = |ack: &LoggedAck| ack.at_us.wrapping_sub(zero.at_us);
    let place = |seq: u32| i64::from(seq.wrapping_sub(zero.from) as i32);
    let (from, to) = (i64::from(piece.from), i64::from(piece.from) + i64::from(piece.bytes));
    let since = acks.partition_point(|ack| at_us(ack) < piece.at_us);
    let covers = |ack: &&LoggedAck| ack.from.is_none_or(|seq| place(seq) <= from) && place(ack.to) >= to;
    acks[since..].iter().find(covers).map(|ack| at_us(ack) - piece.at_us)
}

/// Between the last two packets before the hole of `piece`, microseconds for each byte of the second.
fn before_hole(piece: &Piece, packets: &[LoggedPacket]) -> Option<f64> {
    let before = packets.get(..piece.hole?)?;
    let [.., first, second] = before else { return None };
    let is_new = |packet: &LoggedPacket| packet.kind == LoggedKind::New;
    let apart_us = f64::from(second.at_us.wrapping_sub(first.at_us));
    (is_new(first) && is_new(second)).then(|| apart_us / f64::from(second.bytes.max(1)))
}

/// Between the last two ACKs before the one that shows that `piece` is missing, microseconds for each byte that the second acknowledges.
fn before_sacks(piece: &Piece, acks: &[LoggedAck], zero: &LoggedPacket) -> Option<f64> {
    if piece.hole.is_some() {
        return None;
    }
    let at_us = |ack: &LoggedAck| ack.at_us.wrapping_sub(zero.at_us);
    let since = acks.partition_point(|ack| at_us(ack) < piece.at_us);
    let is_above = |seq: u32| seq.wrapping_sub(zero.from).wrapping_sub(piece.from) < REACH;
    let shown = acks[since..].iter().position(|ack| ack.from.is_some_and(is_above))?;
    let [.., first, second] = &acks[..since + shown] else { return None };
    let bytes = second.to.wrapping_sub(first.to);
    let are_in_order = first.from.is_none() && second.from.is_none() && (1..REACH).contains(&bytes);
    are_in_order.then(|| f64::from(second.at_us.wrapping_sub(first.at_us)) / f64::from(bytes))
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    percentile(&values, 0.5)
}

fn percentile(sorted: &[f64], part: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    sorted.get((last as f64 * part).round() as usize).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::prng::Prng;
    use pipefill_core::units::Seed;
    use proptest::prelude::*;

    const MSS: u32 = 1_448;
    /// From one flight to the next, microseconds.
    const ROUND_US: u32 = 50_000;
    /// Bytes a microsecond: 10 Mbit/s.
    const RATE: f64 = 1.25;
    /// 30 segments.
    const HOLDS: f64 = 43_440.0;

    /// Flights of 25 to 45 segments, in each of which `is_lost` says of a segment at a time whether it is lost. As they pass before it, or after it.
    fn flights(is_before: bool, mut is_lost: impl FnMut(u32) -> bool) -> Vec<LoggedPacket> {
        let mut packets: Vec<LoggedPacket> = Vec::new();
        let (mut next, mut missing) = (0, Vec::new());
        for round in 0..60 {
            let segments = 25 + round % 20;
            let mut at_us = round * ROUND_US;
            // What was lost is sent again a round trip later.
            let mut due: Vec<u32> = std::mem::take(&mut missing);
            for _ in 0..segments {
                let again = due.pop();
                let from = again.unwrap_or(next);
                let kind = if again.is_some() { LoggedKind::Again } else { LoggedKind::New };
                let is_gone = is_lost(at_us);
                if is_gone {
                    missing.push(from);
                }
                if is_before || !is_gone {
                    packets.push(LoggedPacket { at_us, from, bytes: MSS, kind });
                }
                next += if again.is_none() { MSS } else { 0 };
                at_us += 20;
            }
            missing.extend(due);
        }
        packets
    }

    /// What no longer fits into a bucket is lost.
    fn overflow() -> impl FnMut(u32) -> bool {
        let (mut level, mut last_us) = (0.0_f64, 0);
        move |at_us| {
            level = (level - RATE * f64::from(at_us - last_us)).max(0.0);
            last_us = at_us;
            let is_lost = level + f64::from(MSS) > HOLDS;
            level += if is_lost { 0.0 } else { f64::from(MSS) };
            is_lost
        }
    }

    #[test]
    fn the_bucket_that_overflowed_is_found_from_either_end() {
        for is_before in [true, false] {
            let fit = fit(&flights(is_before, overflow()), &[], MSS).unwrap();
            assert!(fit.rank_permille >= 900 && fit.spread_permille <= 100, "{is_before}: {fit:?}");
            assert!((fit.held_bytes as f64 / HOLDS - 1.0).abs() < 0.1, "{is_before}: {fit:?}");
            let rate = (RATE * 8e6) as u64;
            assert!(fit.payload_bps * 9 / 10 <= rate && rate <= fit.most_payload_bps * 11 / 10, "{fit:?}");
        }
    }

    /// A stall of the path, in which much is lost while the bucket is empty, is one event of many.
    #[test]
    fn a_stall_in_which_much_is_lost_hides_no_bucket() {
        for is_before in [true, false] {
            let mut overflows = overflow();
            let stall = 41 * ROUND_US..41 * ROUND_US + 400;
            let fit = fit(&flights(is_before, |at_us| overflows(at_us) || stall.contains(&at_us)), &[], MSS)
                .unwrap();
            assert!(fit.rank_permille >= 900 && fit.spread_permille <= 100, "{is_before}: {fit:?}");
        }
    }

    #[test]
    fn no_bucket_explains_chance() {
        for is_before in [true, false] {
            let mut prng = Prng::stream(Seed::new(7), "losses");
            let fit = fit(&flights(is_before, |_| prng.below(40) == 0), &[], MSS).unwrap();
            assert!(fit.rank_permille <= 800, "{is_before}: {fit:?}");
        }
    }

    /// A second packet of each pair comes when the first has left the queue; 20 µs later where nothing holds it.
    #[test]
    fn what_leaves_a_queue_comes_at_its_rate() {
        let behind_queue: Vec<LoggedPacket> = flights(false, overflow())
            .into_iter()
            .map(|packet| {
                let [round, place] = [packet.at_us / ROUND_US, packet.at_us % ROUND_US / 20];
                let at_us = round * ROUND_US + (f64::from(place * MSS) / RATE) as u32;
                LoggedPacket { at_us, ..packet }
            })
            .collect();
        let spacing = |packets: &[LoggedPacket]| fit(packets, &[], MSS).unwrap().spacing_permille.unwrap();
        assert!(spacing(&flights(false, overflow())) < 100);
        let queued = spacing(&behind_queue);
        assert!((700..1_400).contains(&queued), "{queued}");
    }

    #[test]
    fn round_trips_and_spacing_of_acks_are_those_next_to_a_loss() {
        let packets = flights(true, overflow());
        // Each is acknowledged 30 ms later, by itself.
        let mut acks: Vec<LoggedAck> = packets
            .iter()
            .map(|packet| LoggedAck {
                at_us: packet.at_us + 30_000,
                from: Some(packet.from),
                to: packet.from + packet.bytes,
            })
            .collect();
        acks.sort_by_key(|ack| ack.at_us);
        let found = fit(&packets, &acks, MSS).unwrap();
        assert_eq!((found.waited_us, found.spacing_permille), (Some(0), None), "all are SACKs");
    }

    #[test]
    fn a_copy_of_what_had_arrived_is_no_loss_and_a_few_losses_show_nothing() {
        let late = |packets: Vec<LoggedPacket>| -> Vec<LoggedPacket> {
            packets
                .into_iter()
                .map(|packet| match packet.kind {
                    LoggedKind::Again => LoggedPacket { kind: LoggedKind::Late, ..packet },
                    _ => packet,
                })
                .collect()
        };
        assert_eq!(fit(&late(flights(true, overflow())), &[], MSS), None);
        let mut left = LOST_MIN - 1;
        let few = flights(true, |at_us| {
            let is_lost = at_us % 7 == 0 && left > 0;
            left -= usize::from(is_lost);
            is_lost
        });
        assert_eq!(fit(&few, &[], MSS), None);
        assert_eq!(fit(&[], &[], MSS), None);
    }

    proptest! {
        /// Whatever passed in whatever order, with numbers and times that wrap.
        #[test]
        fn parts_stay_parts(
            all in prop::collection::vec((any::<u32>(), any::<u32>(), 0..70_000_u32, 0..3_u8), 0..200),
            mss in 0..2_000_u32,
        ) {
            let packets: Vec<LoggedPacket> = all
                .into_iter()
                .map(|(at_us, from, bytes, kind)| LoggedPacket {
                    at_us,
                    from: from % 500_000,
                    bytes,
                    kind: [LoggedKind::New, LoggedKind::Again, LoggedKind::Late][usize::from(kind)],
                })
                .collect();
            if let Some(fit) = fit(&packets, &[], mss.max(500)) {
                prop_assert!(fit.rank_permille <= 1_000);
                prop_assert!(fit.payload_bps <= fit.most_payload_bps);
            }
        }
    }
}
