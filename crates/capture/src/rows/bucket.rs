//! Fits a bucket that overflows to the segments that passed and those that were lost: at the losses it is full, and at no other time.
//!
//! A queue of a constant rate loses what no longer fits, and a policer what finds no token: both are a bucket into which is poured what passes, and which
//! empties at that rate. Chance takes a segment at any filling. The rate is sought among many: by the true one, losses come at the fullest, and always at
//! the same filling. A loss is seen as a segment that is sent again, or as a hole that is filled later: then it passed right after the packet before.

use pipefill_core::record::BucketFit;
use std::ops::Range;

/// Fewer losses are explained by any bucket.
const LOST_MIN: usize = 5;
/// Rates that are tried: from the mean rate over this …
const SLOWEST: f64 = 5.0;
/// … to as many times the mean rate, each by this factor above the last, …
const FASTEST: f64 = 40.0;
const STEP: f64 = 1.12;
/// … and between the neighbours of the best one by this factor.
const FINE_STEP: f64 = 1.015;
/// What a spread of 1 costs, as a part of a rank: between rates with nearly the same rank the one at which the bucket is always as full.
const SPREAD_COSTS: f64 = 0.25;
/// A rate explains the losses as well as another one where its score is at most so much lower.
const AS_WELL: f64 = 0.02;
/// Rates that are compared so, in either direction.
const STEPS_MAX: usize = 16;
/// Segments that passed and are compared with those that were lost, at most.
const COMPARED_MAX: usize = 1 << 10;
/// So many segments passed between two losses that are no single event.
const BETWEEN_EVENTS: usize = 8;
/// Segments next to a loss on either side, of which the shortest round trip counts: an ACK may wait for the next segment.
const NEIGHBOURS: usize = 2;
/// A segment that left so much later, microseconds, says nothing of what was in the bucket at the loss.
const NEIGHBOUR_US: u32 = 5_000;
/// Sequence numbers that are further ahead lie before the first.
const REACH: u32 = 1 << 31;
/// Percentiles between which the spread lies.
const LOW: f64 = 0.1;
const HIGH: f64 = 0.9;

/// A packet with payload. Times and sequence numbers are their last 32 bits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passage {
    pub(super) at_us: u32,
    /// Its first sequence number.
    pub(super) from: u32,
    pub(super) bytes: u32,
    pub(super) kind: PassageKind,
}

/// What a packet with payload is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PassageKind {
    /// For the first time.
    New,
    /// Since it was lost.
    Again,
    /// A copy of what may have arrived, or overtaken by others: it was not lost.
    Late,
}

/// Sequence numbers that had arrived: from the first one on where none is given.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answer {
    pub(super) at_us: u32,
    pub(super) from: Option<u32>,
    pub(super) to: u32,
}

/// A segment, in the order in which it reached the bucket.
#[derive(Debug, Clone, Copy)]
struct Piece {
    at_us: u32,
    from: u32,
    bytes: u32,
    is_lost: bool,
    /// Of a segment that was seen before it was lost, and of one that left a hole, the place of its packet.
    seen: Option<usize>,
    hole: Option<usize>,
}

/// Where the last copy of a part of the data is.
#[derive(Debug, Clone, Copy)]
struct Part {
    from: u32,
    to: u32,
    piece: usize,
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

/// `None` where less is lost than shows it.
pub(super) fn fit(passages: &[Passage], answers: &[Answer], mss: u32) -> Option<BucketFit> {
    let pieces = pieces(passages, mss.max(1));
    let lost = pieces.iter().filter(|piece| piece.is_lost).count();
    let (first, last) = (pieces.first()?, pieces.last()?);
    let span_us = last.at_us.saturating_sub(first.at_us);
    if lost < LOST_MIN || span_us == 0 {
        return None;
    }
    let passed: u64 = pieces.iter().filter(|piece| !piece.is_lost).map(|piece| u64::from(piece.bytes)).sum();
    let mean = passed as f64 / f64::from(span_us);
    let rough = best(&pieces, mean / SLOWEST, mean * FASTEST, STEP)?;
    let found = best(&pieces, rough.rate / STEP, rough.rate * STEP, FINE_STEP)?;
    let (begins, zero) = (events(&pieces), passages.first()?);
    let whole = |value: f64| value.round() as u32;
    let bps = |rate: f64| (rate * 8e6).round() as u64;
    Some(BucketFit {
        payload_bps: bps(found.rate),
        least_payload_bps: bps(farthest(&pieces, found, 1.0 / STEP)),
        most_payload_bps: bps(farthest(&pieces, found, STEP)),
        held_bytes: found.held.round() as u64,
        spread_permille: whole(found.spread * 1e3),
        rank_permille: whole(found.rank * 1e3),
        lost_segments: u32::try_from(lost).unwrap_or(u32::MAX),
        rtt_us: median(begins.iter().filter_map(|&at| round_trip_us(&pieces, at, answers, zero))).map(whole),
        spacing_permille: median(begins.iter().filter_map(|&at| {
            let piece = &pieces[at];
            let behind = |us_of_byte: f64| us_of_byte * found.rate;
            before_hole(piece, passages).or_else(|| before_sacks(piece, answers, zero)).map(behind)
        }))
        .map(|spacing| whole(spacing * 1e3)),
    })
}

/// Every segment of `passages`, and those that left holes.
fn pieces(passages: &[Passage], mss: u32) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::with_capacity(passages.len());
    let mut parts: Vec<Part> = Vec::with_capacity(passages.len());
    let Some(first) = passages.first() else { return pieces };
    let (mut sent_to, mut last_us) = (0, 0);
    for (place, passage) in passages.iter().enumerate() {
        let at_us = passage.at_us.wrapping_sub(first.at_us);
        let from = passage.from.wrapping_sub(first.from);
        let to = from.saturating_add(passage.bytes);
        if to > REACH {
            continue;
        }
        let mut push = |at_us: u32, from: u32, to: u32, hole: Option<usize>| {
            let mut next = from;
            while next < to {
                let end = to.min(next.saturating_add(mss));
                parts.push(Part { from: next, to: end, piece: pieces.len() });
                let seen = hole.is_none().then_some(place);
                let is_lost = hole.is_some();
                pieces.push(Piece { at_us, from: next, bytes: end - next, is_lost, seen, hole });
                next = end;
            }
        };
        let known_to = sent_to;
        if to > sent_to {
            if from > sent_to {
                push(last_us, sent_to, from, Some(place));
            }
            push(at_us, from.max(sent_to), to, None);
            sent_to = to;
        }
        if from < known_to {
            came_again(&mut pieces, &mut parts, passage.kind, at_us, from..to.min(known_to));
        }
        last_us = at_us;
    }
    pieces
}

/// What was sent in `range` was lost before, or, where it came late, was not.
fn came_again(
    pieces: &mut Vec<Piece>,
    parts: &mut [Part],
    kind: PassageKind,
    at_us: u32,
    range: Range<u32>,
) {
    let first = parts.partition_point(|part| part.to <= range.start);
    for part in parts[first..].iter_mut().take_while(|part| part.from < range.end) {
        let copy = &mut pieces[part.piece];
        copy.is_lost = kind == PassageKind::Again;
        if copy.is_lost {
            part.piece = pieces.len();
            pieces.push(Piece {
                at_us,
                from: part.from,
                bytes: part.to - part.from,
                is_lost: false,
                seen: None,
                hole: None,
            });
        }
    }
}

/// The best of the rates from `from` on, each by `step` above the last.
fn best(pieces: &[Piece], from: f64, to: f64, step: f64) -> Option<Fit> {
    let rates = std::iter::successors(Some(from), |rate| Some(rate * step)).take_while(|&rate| rate <= to);
    rates.filter_map(|rate| fit_at(pieces, rate)).max_by(|a, b| a.score().total_cmp(&b.score()))
}

/// The rate farthest from the one that was `found`, in steps of that factor, at which the losses are explained as well.
fn farthest(pieces: &[Piece], found: Fit, step: f64) -> f64 {
    let rates = std::iter::successors(Some(found.rate * step), |rate| Some(rate * step)).take(STEPS_MAX);
    let as_well = |&rate: &f64| {
        fit_at(pieces, rate).is_some_and(|other| other.score() >= found.score() - AS_WELL)
    };
    rates.take_while(as_well).last().unwrap_or(found.rate)
}

fn fit_at(pieces: &[Piece], rate: f64) -> Option<Fit> {
    let (mut level, mut last_us) = (0.0_f64, 0);
    let (mut lost, mut others) = (Vec::new(), Vec::new());
    let every = pieces.len().div_ceil(COMPARED_MAX);
    for (at, piece) in pieces.iter().enumerate() {
        level = (level - rate * f64::from(piece.at_us.saturating_sub(last_us))).max(0.0);
        last_us = last_us.max(piece.at_us);
        if piece.is_lost {
            lost.push(level);
            continue;
        }
        if at.is_multiple_of(every) {
            others.push(level);
        }
        level += f64::from(piece.bytes);
    }
    lost.sort_unstable_by(f64::total_cmp);
    let held = percentile(&lost, 0.5)?;
    let fuller = |&level: &f64| {
        let [below, to] = [
            lost.partition_point(|&of_lost| of_lost < level),
            lost.partition_point(|&of_lost| of_lost <= level),
        ];
        lost.len() as f64 - below.midpoint(to) as f64
    };
    let rank = others.iter().map(fuller).sum::<f64>() / (others.len() * lost.len()) as f64;
    let width = percentile(&lost, HIGH)? - percentile(&lost, LOW)?;
    Some(Fit { rate, held, spread: width / held.max(1.0), rank })
}

/// The first lost piece of each event.
fn events(pieces: &[Piece]) -> Vec<usize> {
    let (mut begins, mut since) = (Vec::new(), BETWEEN_EVENTS);
    for (at, piece) in pieces.iter().enumerate() {
        if !piece.is_lost {
            since += 1;
            continue;
        }
        if since >= BETWEEN_EVENTS {
            begins.push(at);
        }
        since = 0;
    }
    begins
}

/// The shortest of the segments next to the one at `at`, which was seen before it was lost.
fn round_trip_us(pieces: &[Piece], at: usize, answers: &[Answer], zero: &Passage) -> Option<f64> {
    let lost = &pieces[at];
    lost.seen?;
    let before = pieces[..at].iter().rev().filter(|piece| !piece.is_lost).take(NEIGHBOURS);
    let after = pieces[at..].iter().filter(|piece| !piece.is_lost).take(NEIGHBOURS);
    let near = before.chain(after).filter(|piece| piece.at_us.abs_diff(lost.at_us) <= NEIGHBOUR_US);
    near.filter_map(|piece| answered_us(piece, answers, zero)).map(f64::from).reduce(f64::min)
}

/// From when `piece` passed until it was acknowledged; its time and number count from `zero`.
fn answered_us(piece: &Piece, answers: &[Answer], zero: &Passage) -> Option<u32> {
    let at_us = |answer: &Answer| answer.at_us.wrapping_sub(zero.at_us);
    let place = |seq: u32| i64::from(seq.wrapping_sub(zero.from) as i32);
    let (from, to) = (i64::from(piece.from), i64::from(piece.from) + i64::from(piece.bytes));
    let since = answers.partition_point(|answer| at_us(answer) < piece.at_us);
    let covers =
        |answer: &&Answer| answer.from.is_none_or(|seq| place(seq) <= from) && place(answer.to) >= to;
    answers[since..].iter().find(covers).map(|answer| at_us(answer) - piece.at_us)
}

/// Between the last two packets before the hole of `piece`, microseconds for each byte of the second.
fn before_hole(piece: &Piece, passages: &[Passage]) -> Option<f64> {
    let before = passages.get(..piece.hole?)?;
    let [.., first, second] = before else { return None };
    let is_new = |passage: &Passage| passage.kind == PassageKind::New;
    let apart_us = f64::from(second.at_us.wrapping_sub(first.at_us));
    (is_new(first) && is_new(second)).then(|| apart_us / f64::from(second.bytes.max(1)))
}

/// Between the last two ACKs before the one that shows that `piece` is missing, microseconds for each byte that the second acknowledges.
fn before_sacks(piece: &Piece, answers: &[Answer], zero: &Passage) -> Option<f64> {
    piece.seen?;
    let at_us = |answer: &Answer| answer.at_us.wrapping_sub(zero.at_us);
    let since = answers.partition_point(|answer| at_us(answer) < piece.at_us);
    let is_above = |seq: u32| seq.wrapping_sub(zero.from).wrapping_sub(piece.from) < REACH;
    let shown = answers[since..].iter().position(|answer| answer.from.is_some_and(is_above))?;
    let [.., first, second] = &answers[..since + shown] else { return None };
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
