//! What a sender's socket would have told, and estimates of what only the socket knows: cwnd, whether data waits, the send buffer, pacing.
//!
//! The rules are in the spirit of T-RAT (Zhang et al., SIGCOMM 2002) and of Siekkinen et al. (2008), over spans of some round trips. Linux sets PSH
//! on the last segment of what was written, and in a longer queue only once for each half of the largest window (`forced_push()`): so PSH shows
//! a queue that has run dry. Then the application offers no more, or its buffer holds no more. Super-packets always end with PSH (since 5.4) and
//! hide the others: but a buffer is filled again only when a third of it is free (`sk_stream_min_wspace()`), so that less than the most is in
//! flight when ACKs come. Where data wait, they leave on ACKs, or evenly by a pacing rate.

use super::look::{self, Clocking, Look, SideLook};
use crate::tcp::Side;
use pipefill_core::record::{StreamEnd, TcpSample};
use pipefill_core::tcp_info::{CaState, TcpInfo};

/// A span has so many round trips, and so many microseconds and looks at least.
const ROUND_TRIPS: u64 = 6;
const SPAN_US: u64 = 100_000;
const SPAN_LOOKS: usize = 6;
/// Where so much of the new data follows an ACK at once, ACKs clock it.
const PROMPT: f64 = 0.5;
/// A round trip so much above the least one has a queue in it: by this part, or so many microseconds.
const RISEN: f64 = 1.10;
const RISEN_US: u64 = 1_000;
/// And by this part in half of the looks where it stands there.
const STANDING: f64 = 1.20;
/// In so many round trips of slow start the flight grows by this factor at least.
const SLOW_START_ROUND_TRIPS: u64 = 3;
const SLOW_START: f64 = 1.5;
/// Spans after a loss in which the window is what the loss has left.
const MEMORY_SPANS: usize = 3;
/// Bytes of the looks of a span differ by no more than this part of their mean where they are paced.
const EVEN: f64 = 0.35;
/// Of what a longer queue would have sent between two PSHs, no more than this part: it has run dry.
const DRY: f64 = 0.7;
/// Programs write no more at once; in a queue that is never empty the end of a write shows more seldom.
const MOST_OF_A_WRITE: f64 = 192.0 * 1024.0;
/// An application that writes less than this part of what is in flight fills no buffer.
const SMALL_WRITES: f64 = 0.25;
/// Nor does one that writes less than so many segments.
const SEGMENTS_OF_A_WRITE: f64 = 3.0;
/// Nor does one whose writes mostly end in a segment that is not full.
const TAILS: f64 = 0.7;
/// Looks with less than this part of the span's largest flight: the sender let the pipe run empty.
const DRAINED: f64 = 0.34;
const OFTEN_DRAINED: f64 = 0.30;

/// A sender with so little in flight when ACKs come, on average, leaves room in cwnd: a buffer's writer waits until a third of it is free.
const NOT_FULL: f64 = 0.88;
/// Nor is a window used up of which this part is in flight then.
const HALF_FULL: f64 = 0.6;
/// A flight that is the same but for this part in both halves of a span neither grows nor shrinks …
const STEADY: f64 = 0.15;
/// … and one that is the same to a segment over so many spans more is no congestion window's.
const CONSTANT_SPANS: usize = 1;

/// What holds the sender back, as far as its packets tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Held {
    /// The congestion window, or what the path makes of it.
    Cwnd,
    /// The peer's window.
    Rwnd,
    /// The send buffer: a flight that stays the same, and no queue.
    Buffer,
    /// A pacing rate.
    Pacing,
    /// Nothing: all that is written is sent.
    Application,
}

/// What a row needs and no packet says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Estimate {
    held: Held,
    /// The largest flight of the last round trip.
    flight: u64,
    /// A queue stands, of this connection's own making or of others'.
    has_queue: bool,
    /// Whether slow start has ended.
    has_ssthresh: bool,
    /// New bytes of the whole connection over its time, bits per second.
    rate_bps: u64,
}

impl Estimate {
    /// Whether all that was written is sent.
    pub(super) fn is_the_applications(&self) -> bool {
        self.held == Held::Application
    }
}

/// A span of looks.
struct Span<'a> {
    looks: &'a [Look],
    side: Side,
    /// What was in flight before each ACK, over the most that was around that time; `None` without ACKs.
    fill: Option<f64>,
}

/// What the spans before tell.
struct About {
    /// Something was lost not long ago.
    has_lost: bool,
    /// The largest window when the data were written, bytes.
    widest: u64,
    /// The largest flight has been the same for long.
    is_constant: bool,
}

/// One estimate for each look.
pub(super) fn estimate(looks: &[Look], side: Side) -> Vec<Estimate> {
    let mut all = Vec::with_capacity(looks.len());
    let (mut since_loss, mut since_change) = (MEMORY_SPANS, 0);
    let rate_bps = mean_rate(looks, side);
    let (mut rest, mut before) = (looks, 0);
    while !rest.is_empty() {
        let (own, later) = rest.split_at(span_length(rest, side));
        let at = looks.len() - rest.len();
        rest = later;
        let span = Span { looks: own, side, fill: fill(looks, side, at..at + own.len()) };
        since_loss = if span.has_losses() { 0 } else { since_loss + 1 };
        let flight = span.largest_flight();
        since_change = if flight.abs_diff(before) <= span.segment() { since_change + 1 } else { 0 };
        before = flight;
        let has_queue = span.has_queue();
        let about = About {
            has_lost: since_loss < MEMORY_SPANS,
            widest: written_for(looks, own, side),
            is_constant: since_change >= CONSTANT_SPANS,
        };
        let held = span.held(&about);
        all.extend(own.iter().map(|_| Estimate {
            held,
            flight: 0,
            has_ssthresh: false,
            has_queue,
            rate_bps,
        }));
    }
    let mut has_ssthresh = false;
    for at in 0..all.len() {
        all[at].flight = flight_around(looks, side, at);
        has_ssthresh |= all[at].held == Held::Cwnd && !doubles(looks, &all[..=at], side);
        all[at].has_ssthresh = has_ssthresh;
    }
    all
}

/// Whether the last flight is larger than that of some round trips before, as slow start makes it.
fn doubles(looks: &[Look], all: &[Estimate], side: Side) -> bool {
    let Some((at, now)) = all.iter().enumerate().next_back() else { return true };
    let back_ns = SLOW_START_ROUND_TRIPS * 1_000 * looks[at].of_side(side).srtt_us.map_or(0, u64::from);
    let before = looks[..at].partition_point(|look| look.time_ns.saturating_add(back_ns) < looks[at].time_ns);
    before == 0
        || all[before - 1].flight == 0
        || now.flight as f64 >= SLOW_START * all[before - 1].flight as f64
}

/// The largest window when the data of `span` may have been written: at half of the connection's age.
fn written_for(looks: &[Look], span: &[Look], side: Side) -> u64 {
    let (Some(first), Some(last)) = (looks.first(), span.last()) else { return 0 };
    let half_ns = first.time_ns + (last.time_ns - first.time_ns) / 2;
    let then = looks.iter().take_while(|look| look.time_ns <= half_ns);
    then.filter_map(|look| look.of_side(side).window).max().unwrap_or(0).into()
}

/// The most in flight in the round trip before the look, and at the next one.
fn flight_around(looks: &[Look], side: Side, at: usize) -> u64 {
    let now = &looks[at];
    let since_ns = now.time_ns.saturating_sub(now.of_side(side).srtt_us.map_or(0, u64::from) * 1_000);
    let before = looks[..at].iter().rev().take_while(|look| look.time_ns >= since_ns);
    let after = looks[at..].iter().take(2);
    before.chain(after).map(|look| look.of_side(side).most_in_flight()).max().unwrap_or(0)
}

/// What was in flight before each ACK of the looks `span`, over the most in flight around that time.
fn fill(looks: &[Look], side: Side, span: std::ops::Range<usize>) -> Option<f64> {
    let clocking = |at: usize| &looks[at].of_side(side).clocking;
    let found: u64 = span.clone().map(|at| clocking(at).before_acks).sum();
    let most: u64 = span.map(|at| u64::from(clocking(at).acks) * flight_around(looks, side, at)).sum();
    (most > 0).then(|| found as f64 / most as f64)
}

fn span_length(looks: &[Look], side: Side) -> usize {
    length_by(looks, looks.first().and_then(|first| first.of_side(side).srtt_us))
}

/// How many looks the first span has where a round trip takes so long.
pub(super) fn length_by(looks: &[Look], rtt_us: Option<u32>) -> usize {
    let Some(first) = looks.first() else { return 0 };
    let least_ns = (ROUND_TRIPS * rtt_us.map_or(0, u64::from)).max(SPAN_US) * 1_000;
    let end = looks.partition_point(|look| look.time_ns < first.time_ns.saturating_add(least_ns));
    let end = end.max(SPAN_LOOKS).min(looks.len());
    // What is left over belongs to the last span.
    if looks.len() - end < SPAN_LOOKS { looks.len() } else { end }
}

fn mean_rate(looks: &[Look], side: Side) -> u64 {
    let (Some(first), Some(last)) = (looks.first(), looks.last()) else { return 0 };
    let bytes = last.of_side(side).acked_to.saturating_sub(first.of_side(side).acked_to);
    bytes.saturating_mul(8_000_000) / ((last.time_ns - first.time_ns) / 1_000).max(1)
}

impl Span<'_> {
    fn sides(&self) -> impl Iterator<Item = &SideLook> {
        self.looks.iter().map(|look| look.of_side(self.side))
    }

    fn has_losses(&self) -> bool {
        let ends = self.sides().next().zip(self.sides().last());
        ends.is_some_and(|(first, last)| last.retransmits > first.retransmits)
            || self.sides().any(|look| look.ca_state.is_some_and(|state| state >= CaState::Recovery))
    }

    fn largest_flight(&self) -> u64 {
        self.sides().map(SideLook::most_in_flight).max().unwrap_or(0)
    }

    fn held(&self, about: &About) -> Held {
        if self.has_used_the_window() && !self.is_filled_below(HALF_FULL) {
            return Held::Rwnd;
        }
        if self.is_dry(about.widest) {
            return if self.fills_no_buffer() { Held::Application } else { Held::Buffer };
        }
        if about.has_lost {
            return Held::Cwnd;
        }
        if self.prompt_share() < PROMPT && self.is_even() && self.is_flat() {
            return Held::Pacing;
        }
        // A congestion window that nothing is lost from grows, and is filled after each ACK; what is written at any time fills none.
        let is_refilled = self.is_steady() && self.is_filled_below(NOT_FULL) && self.prompt_share() >= PROMPT;
        let is_buffer = is_refilled || about.is_constant && self.is_flat();
        if self.has_round_trips() && is_buffer { Held::Buffer } else { Held::Cwnd }
    }

    /// Whether it is long enough to see a window grow.
    fn has_round_trips(&self) -> bool {
        let (Some(first), Some(last)) = (self.looks.first(), self.looks.last()) else { return false };
        let rtt_us = last.of_side(self.side).srtt_us.map_or(0, u64::from);
        last.time_ns - first.time_ns >= ROUND_TRIPS / 2 * rtt_us * 1_000
    }

    fn is_filled_below(&self, share: f64) -> bool {
        self.fill.is_some_and(|fill| fill < share)
    }

    /// Whether the most in flight is the same in both halves.
    fn is_steady(&self) -> bool {
        let (first, second) = self.looks.split_at(self.looks.len() / 2);
        let most = |looks: &[Look]| {
            looks.iter().map(|look| look.of_side(self.side).most_in_flight()).max().unwrap_or(0) as f64
        };
        (most(second) - most(first)).abs() <= STEADY * most(first)
    }

    /// Payload of a full segment.
    fn segment(&self) -> u64 {
        self.sides().map(|look| u64::from(look.mss)).max().unwrap_or(0)
    }

    /// A sender waits until its next packet fits.
    fn has_used_the_window(&self) -> bool {
        let largest = self.sides().map(|look| look.clocking.largest).max().unwrap_or(0);
        let used = |look: &&SideLook| look.least_room().is_some_and(|room| room < u64::from(largest));
        let sending = self.sides().filter(|look| look.new_bytes() > 0).count();
        2 * self.sides().filter(used).count() >= sending.max(1)
    }

    /// New bytes for each PSH; `None` without any.
    fn bytes_of_a_push(&self) -> Option<f64> {
        let pushes: u32 = self.sides().map(|look| look.clocking.pushes).sum();
        let bytes: u64 = self.sides().map(SideLook::new_bytes).sum();
        (pushes > 0).then(|| bytes as f64 / f64::from(pushes))
    }

    /// The largest window was `widest` when the data were written.
    fn is_dry(&self, widest: u64) -> bool {
        let most = (DRY * widest as f64 / 2.0).min(MOST_OF_A_WRITE);
        self.bytes_of_a_push().is_some_and(|bytes| bytes < most)
    }

    fn fills_no_buffer(&self) -> bool {
        let sum = |count: fn(&Clocking) -> u32| self.sides().map(|look| count(&look.clocking)).sum::<u32>();
        let (pushes, tails) = (sum(|one| one.pushes), sum(|one| one.tails));
        let least = SEGMENTS_OF_A_WRITE * self.segment() as f64;
        let small = (SMALL_WRITES * self.largest_flight() as f64).max(least);
        let is_small = self.bytes_of_a_push().is_some_and(|bytes| bytes < small);
        is_small || f64::from(tails) >= TAILS * f64::from(pushes) || self.is_often_drained()
    }

    fn prompt_share(&self) -> f64 {
        let prompt: u64 = self.sides().map(|look| look.clocking.prompt).sum();
        let all: u64 = self.sides().map(SideLook::new_bytes).sum();
        if all == 0 { 0.0 } else { prompt as f64 / all as f64 }
    }

    /// Whether a queue stands in the round trip.
    fn has_queue(&self) -> bool {
        let stands = |look: &&SideLook| {
            let (Some(now), Some(least)) = (look.srtt_us, look.min_rtt_us) else { return false };
            u64::from(now) >= u64::from(least) + RISEN_US && f64::from(now) >= STANDING * f64::from(least)
        };
        2 * self.sides().filter(stands).count() >= self.looks.len()
    }

    /// Whether the round trip never rises: a congestion control that paces (BBR) probes for more.
    fn is_flat(&self) -> bool {
        let risen = |look: &SideLook| {
            let (Some(now), Some(least)) = (look.srtt_us, look.min_rtt_us) else { return false };
            u64::from(now) >= u64::from(least) + RISEN_US || f64::from(now) >= RISEN * f64::from(least)
        };
        !self.sides().any(risen)
    }

    fn is_often_drained(&self) -> bool {
        let most = self.largest_flight() as f64;
        let drained = self.sides().filter(|look| (look.in_flight as f64) < DRAINED * most).count();
        drained as f64 >= OFTEN_DRAINED * self.looks.len() as f64
    }

    fn is_even(&self) -> bool {
        look::unevenness(self.looks, self.side).is_some_and(|uneven| uneven <= EVEN)
    }
}

/// The row of one look.
pub(super) fn row(look: &SideLook, estimate: &Estimate) -> TcpSample {
    let waits = !matches!(estimate.held, Held::Application | Held::Buffer);
    let cwnd = match estimate.held {
        Held::Cwnd => estimate.flight,
        _ => 3 * estimate.flight,
    };
    let is_buffer = estimate.held == Held::Buffer;
    // A window that makes a queue is larger than the pipe: only looks at any time show whether it is used up all the time.
    let is_window = estimate.held == Held::Rwnd && !estimate.has_queue;
    let info = TcpInfo {
        state: 1,
        ca_state: look.ca_state,
        mss_bytes: look.mss,
        cwnd_bytes: Some(cwnd.max(u64::from(look.mss))),
        ssthresh_bytes: (look.retransmits > 0 || estimate.has_ssthresh).then_some(cwnd),
        in_flight_bytes: Some(look.most_in_flight()),
        delivered_segments: u32::try_from(
            look.acked_to / u64::from(look.mss.max(1)) + u64::from(look.sacked),
        )
        .ok(),
        reord_seen: Some(u32::from(look.sack_acks > look.dsacks && look.dsacks > 0)),
        unacked_bytes: if is_window { look.clocking.unacked.max(look.unacked) } else { look.unacked },
        sacked_segments: Some(look.sacked),
        lost_segments: Some(look.lost),
        retrans_segments: Some(look.again_in_flight),
        notsent_bytes: Some(u32::from(waits)),
        rwnd_bytes: if is_window { look.clocking.window.or(look.window) } else { look.window },
        srtt_us: look.srtt_us,
        min_rtt_us: look.min_rtt_us,
        rto_us: look.rto_us,
        pacing_rate_bps: (estimate.held == Held::Pacing).then_some(estimate.rate_bps),
        delivery_app_limited: Some(estimate.held == Held::Application),
        bytes_sent: Some(look.sent_to.saturating_sub(1) + look.retransmitted_bytes),
        bytes_retrans: Some(look.retransmitted_bytes),
        bytes_acked: Some(look.acked_to.saturating_sub(1)),
        retransmits: look.retransmits,
        data_segs_out: u32::try_from(look.segments).ok(),
        dsack_dups: Some(look.dsacks),
        rto_count: u16::try_from(look.timeouts).ok(),
        ..TcpInfo::default()
    };
    TcpSample {
        t_us: 0,
        stream: 0,
        end: StreamEnd::Sender,
        info,
        wmem_queued_bytes: is_buffer.then_some(estimate.flight),
        sndbuf_bytes: is_buffer.then_some(estimate.flight),
        rmem_alloc_bytes: None,
        rcvbuf_bytes: None,
        raw: None,
    }
}
