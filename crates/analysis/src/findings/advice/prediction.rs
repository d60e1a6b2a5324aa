//! What a change should bring, where that can be foreseen: nothing that comes after the limit that it lifts may be unknown.
//!
//! The bytes of the time that a limit held go at the smallest limit that remains, after slow start up to there; the rest of the time stays.

use super::Case;
use crate::findings::verdict::JudgedFlow;
use crate::ground::buffers;
use crate::ground::interval;
use crate::ground::models::loss::{self, AckPolicy};
use crate::ground::models::sizing;
use crate::ground::models::window as laws;
use crate::ground::statistics::rounded;
use crate::judge::HeldTime;
use pipefill_core::cell::{CellSpec, FlowSpec, LossSpec, Protocol};
use pipefill_core::limit::{Cause, LimitedBy};
use pipefill_core::units::{Bytes, Rate, Ratio};
use std::time::Duration;

/// A buffer that does not limit.
const UNBOUNDED: Bytes = Bytes::new(u64::MAX);
/// The response functions hold while losses are rare.
const RARE: f64 = 0.03;
/// BBR holds its rate up to about this loss (Cardwell et al., 2016: a fifth).
const BBR_LOSS: f64 = 0.15;
/// A sender that cuts its window keeps the pipe full from this queue on, in BDPs (CUBIC: 0.43; Reno: 1).
const QUEUE_BDP: f64 = 0.4;
/// From this share of lost ACKs on no model predicts the rate.
const ACKS_LOST: f64 = 0.3;
/// ACKs that need at least this share of the reverse path are delayed by data that fills it.
const ACKS_PART: f64 = 0.1;

/// What a change should bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Forecast {
    /// Goodput of a flow that lasts as long, bits per second.
    pub(super) bps: Option<u64>,
    /// Time that the same bytes take, microseconds; `None` where it carried none.
    pub(super) us: Option<u64>,
    /// Payload over the active time, in place of the goodput, where pauses of the application itself take up what it gains.
    pub(super) active_bps: Option<u64>,
}

/// The time that a limit held, with all of its causes, and the rest of the flow's.
#[derive(Debug, Clone, Copy)]
struct HeldPart {
    seconds: f64,
    bits: f64,
    bps: f64,
    others_s: f64,
    other_bits: f64,
}

/// Growth of what is in flight, doubled each round trip, from one rate to a higher one.
#[derive(Debug, Clone, Copy)]
struct Growth {
    from_bps: f64,
    to_bps: f64,
    rtt_s: f64,
}

impl Growth {
    /// Bits that pass meanwhile.
    fn bits(self) -> f64 {
        (self.to_bps - self.from_bps) * self.rtt_s
    }

    fn seconds(self) -> f64 {
        (self.to_bps / self.from_bps).log2() * self.rtt_s
    }

    /// Time that `bits` take.
    fn seconds_of(self, bits: f64) -> f64 {
        let beyond = bits - self.bits();
        if beyond >= 0.0 {
            self.seconds() + beyond / self.to_bps
        } else {
            (1.0 + bits / (self.from_bps * self.rtt_s)).log2() * self.rtt_s
        }
    }

    /// Bits that pass in this time.
    fn bits_in(self, seconds: f64) -> f64 {
        let beyond = seconds - self.seconds();
        if beyond >= 0.0 {
            self.bits() + beyond * self.to_bps
        } else {
            ((seconds / self.rtt_s).exp2() - 1.0) * self.from_bps * self.rtt_s
        }
    }
}

/// A sender takes a path for a black hole when a timer runs out so long after its first retransmission: `tcp_retries1` (3) timers of `TCP_RTO_MIN`, each
/// twice as long as the last (`retransmits_timed_out()`, `tcp_model_timeout()`).
const PROBING_AFTER: Duration = Duration::from_secs(3);
/// The least retransmission timer beyond the round trip (`TCP_RTO_MIN`).
const TIMER_MIN: Duration = Duration::from_millis(200);
/// Payload of the segments that it tries, with timestamps (`tcp_base_mss`).
const PROBING_SEGMENT: f64 = 1_012.0;
/// Where slow start after the timeouts ends, of the initial window, of which no full segment arrived.
const PROBING_SSTHRESH: f64 = 0.5;
const PROBING_SSTHRESH_OF_CUBIC: f64 = 0.7;
/// After a timeout CUBIC knows no window at which it lost: it grows by this part each round trip (`bictcp_update()`: `cnt` is 20 at most).
const CUBIC_GROWS: f64 = 0.05;

/// What passes in a time after timeouts, beginning with one segment in flight: round trip and time in seconds.
fn bits_after_timeouts(control: &str, segment_bps: f64, limit_bps: f64, [rtt_s, left_s]: [f64; 2]) -> f64 {
    let (ssthresh, grows) =
        if control == "cubic" { (PROBING_SSTHRESH_OF_CUBIC, CUBIC_GROWS) } else { (PROBING_SSTHRESH, 0.0) };
    let ssthresh = laws::INITIAL_WINDOW_SEGMENTS as f64 * ssthresh;
    let (mut window, mut bits, mut left) = (1.0_f64, 0.0, left_s);
    while left > 0.0 && window * segment_bps < limit_bps {
        bits += window * segment_bps * left.min(rtt_s);
        left -= rtt_s;
        window =
            if window < ssthresh { (window * 2.0).min(ssthresh) } else { window + (window * grows).max(1.0) };
    }
    bits + limit_bps * left.max(0.0)
}

/// What a flow would be with a change.
#[derive(Clone, Copy)]
pub(super) struct Changed<'a> {
    /// Its congestion control.
    pub(super) control: &'a str,
    /// Number of its streams.
    pub(super) streams: u64,
    /// Whether its queue would be one BDP.
    pub(super) has_long_queue: bool,
}

impl Case<'_> {
    /// The flow as it is.
    pub(super) fn as_it_is(&self) -> Changed<'_> {
        let streams = u64::from(self.judged.flow.parallel);
        Changed { control: &self.judged.congestion_control, streams, has_long_queue: false }
    }

    /// The flow at `bps` from the beginning. Datagrams arrive in larger numbers then, not sooner.
    pub(super) fn at(&self, bps: u64) -> Forecast {
        let bits = self.carried_bits();
        let is_sooner = self.judged.flow.protocol == Protocol::Tcp && bps > 0 && bits > 0.0;
        let us = is_sooner.then(|| rounded(bits * 1e6 / bps as f64));
        Forecast { bps: Some(bps), us, active_bps: None }
    }

    /// The flow without its limit, where the next ones allow `bps` and what losses and buffers leave of it; `None` where that is not known.
    pub(super) fn forecast(&self, bps: u64, changed: Changed<'_>) -> Option<Forecast> {
        self.predicted(bps, changed).map(|limit_bps| self.lifted(limit_bps))
    }

    /// The flow without its limit, where `limit_bps` is the next one.
    pub(super) fn lifted(&self, limit_bps: u64) -> Forecast {
        let held = self.held();
        let limit_bps = limit_bps.max(self.judged.goodput_bps);
        let Some(growth) = self.growth(held.bps, limit_bps) else { return self.at(limit_bps) };
        let us = rounded((held.others_s + growth.seconds_of(held.bits)) * 1e6);
        let bits = held.other_bits + growth.bits_in(held.seconds);
        let bps = match &self.judged.plan {
            None => rounded(bits / (held.seconds + held.others_s)).min(limit_bps),
            Some(plan) => self.measured_bps(plan, growth),
        };
        let is_known = held.bits > 0.0;
        let bps = Some(bps.max(self.judged.goodput_bps));
        Forecast { bps, us: is_known.then_some(us), active_bps: None }
    }

    /// What is measured after the warm-up of a flow that begins with slow start.
    fn measured_bps(&self, plan: &CellSpec, growth: Growth) -> u64 {
        let flow = &self.judged.flow;
        let warmup = interval::warmup(plan.run.warmup, flow, plan.path.rtt());
        let initial =
            laws::INITIAL_WINDOW_SEGMENTS * self.judged.path.headers.mss() * u64::from(flow.parallel);
        let from_bps = (initial as f64 * 8.0 / growth.rtt_s).min(growth.to_bps);
        let whole = Growth { from_bps, ..growth };
        let [until, all_s] = [warmup, flow.duration].map(|time| time.as_secs_f64());
        rounded((whole.bits_in(all_s) - whole.bits_in(until)) / (all_s - until))
    }

    /// A flow that got no full segment through, whose sender then tries smaller ones: nothing passes until it does. How much waits is not known, and so
    /// is the time of it.
    pub(super) fn after_probing(&self) -> Option<Forecast> {
        let (limit_bps, rtt) = (self.judged.room_bps?, self.base_rtt()?);
        // A handshake is one measurement of a round trip: its variance is taken for half of it, four times (RFC 6298, 2.2).
        let timer = rtt + TIMER_MIN.max(rtt * 2);
        let (mut since_first, mut next) = (Duration::ZERO, timer * 2);
        while since_first < PROBING_AFTER {
            since_first += next;
            next *= 2;
        }
        // The handshake, and a loss probe after two round trips.
        let found_s = (rtt * 3 + timer + since_first).as_secs_f64();
        let all_s = self.judged.flow.duration.as_secs_f64();
        let (left_s, rtt_s) = ((all_s - found_s).max(0.0), rtt.as_secs_f64());
        let segment_bps = PROBING_SEGMENT * 8.0 / rtt_s;
        let bits = if self.judged.congestion_control == "bbr" {
            Growth { from_bps: segment_bps.min(limit_bps), to_bps: limit_bps, rtt_s }.bits_in(left_s)
        } else {
            bits_after_timeouts(&self.judged.congestion_control, segment_bps, limit_bps, [rtt_s, left_s])
        };
        Some(Forecast { bps: Some(rounded(bits / all_s)), us: None, active_bps: None })
    }

    /// Slow start from the rate while the limit held up to `limit_bps`; `None` without a round trip, or where there is nothing to gain.
    fn growth(&self, held_bps: f64, limit_bps: u64) -> Option<Growth> {
        let (rtt_s, to_bps) = (self.base_rtt()?.as_secs_f64(), limit_bps as f64);
        let mss = self.judged.diagnosis.figures.mss_bytes.unwrap_or(self.judged.path.headers.mss());
        let one_segment_bps = mss as f64 * 8.0 / rtt_s;
        let from_bps = held_bps.max(one_segment_bps);
        (from_bps < to_bps).then_some(Growth { from_bps, to_bps, rtt_s })
    }

    fn held(&self) -> HeldPart {
        let JudgedFlow { diagnosis, flow, goodput_bps, .. } = self.judged;
        let all_us = self.ledger_us();
        // A writer that waits for its buffer writes in lumps: where all of one is sent, that looks like an application without a cause.
        let is_its = |held: &&HeldTime| {
            let is_of_its_writer = self.limited_by == LimitedBy::Sndbuf
                && (held.limited_by, held.cause) == (LimitedBy::App, None);
            held.limited_by == self.limited_by || is_of_its_writer
        };
        let its_us: u64 = diagnosis.time.iter().filter(is_its).map(|held| held.us).sum();
        let share = if all_us > 0 { its_us as f64 / all_us as f64 } else { 1.0 };
        let seconds = flow.duration.as_secs_f64() * share;
        // The diagnosis has the figures of the limit with the most time.
        let is_main = diagnosis.limited_by == self.limited_by;
        let bps = diagnosis.figures.acked_bps.filter(|_| is_main).unwrap_or(*goodput_bps) as f64;
        let bits = (bps * seconds).min(self.carried_bits());
        HeldPart {
            seconds,
            bits,
            bps: if seconds > 0.0 { bits / seconds } else { bps },
            others_s: flow.duration.as_secs_f64() - seconds,
            other_bits: self.carried_bits() - bits,
        }
    }

    /// Payload of the whole flow, bits.
    pub(super) fn carried_bits(&self) -> f64 {
        self.judged.flow.duration.as_secs_f64() * self.judged.goodput_bps as f64
    }

    /// `bps`, or what losses and buffers leave of it; `None` where that is not known beforehand.
    pub(super) fn predicted(&self, bps: u64, changed: Changed<'_>) -> Option<u64> {
        let is_bbr = changed.control == "bbr";
        if self.is_disordered(is_bbr)
            || self.acks_are_held_up()
            || self.bucket_is_large()
            || self.has_unequal_rivals(changed.control)
        {
            return None;
        }
        if !is_bbr && !changed.has_long_queue && self.queue_bdp().is_some_and(|queue| queue < QUEUE_BDP) {
            return None;
        }
        let left = self.after_losses(self.within_the_buffers(bps), changed)?;
        Some(left.max(self.judged.goodput_bps))
    }

    /// Whether packets are reordered or jitter is large: no model predicts what reordering costs, nor when jitter ends slow start.
    pub(super) fn is_disordered(&self, is_bbr: bool) -> bool {
        let Some(plan) = &self.judged.plan else { return false };
        let direction = self.judged.flow.direction;
        let (way, back) = (plan.path.way(direction), plan.path.way(direction.opposite()));
        let has_jitter = way.jitter.is_some() || back.jitter.is_some();
        let overtakes = way.jitter.as_ref().is_some_and(|jitter| jitter.reorder);
        way.reorder.fraction() > 0.0 || overtakes || (has_jitter && !is_bbr)
    }

    /// ACKs are lost, or wait where the rate of their way is not known, or share a bottleneck that is slow for them with data that goes their way.
    pub(super) fn acks_are_held_up(&self) -> bool {
        let back = self.judged.flow.direction.opposite();
        let figures = &self.judged.diagnosis.figures;
        let are_lost = figures.ack_loss_share.is_some_and(|share| share >= ACKS_LOST);
        let wait = figures.ack_wait_us.is_some_and(|us| us > 0) && self.judged.path.way(back).rate.is_none();
        let is_slow = |rate: Rate| self.acks_bps() >= rate.bps() as f64 * ACKS_PART;
        let is_filled = self.judged.path.way(back).rate.is_some_and(|rate| is_slow(rate.value))
            && self.judged.flows.iter().any(|flow| {
                flow.direction == back
                    && flow.protocol == Protocol::Tcp
                    && flow.bitrate.is_none()
                    && flow.max_pacing_rate.is_none()
            });
        are_lost || wait || is_filled
    }

    /// What ACKs of data at the target take of the way back: 66 bytes for every second segment of 1448.
    pub(super) fn acks_bps(&self) -> f64 {
        self.target_bps() as f64 * 66.0 / (2.0 * 1448.0)
    }

    /// Other flows of its direction that take what they can.
    fn rivals(&self) -> impl Iterator<Item = &FlowSpec> {
        let direction = self.judged.flow.direction;
        let takes_all = move |flow: &FlowSpec| {
            flow.direction == direction
                && flow.protocol == Protocol::Tcp
                && flow.bitrate.is_none()
                && flow.read_rate.is_none()
                && flow.max_pacing_rate.is_none()
        };
        let others = self.judged.flows.iter().enumerate().filter(|(at, _)| *at != self.index());
        others.map(|(_, flow)| flow).filter(move |flow| takes_all(flow))
    }

    /// Whether no other flow of TCP is there, in either direction.
    pub(super) fn is_alone(&self) -> bool {
        self.judged.flows.iter().filter(|flow| flow.protocol == Protocol::Tcp).count() == 1
    }

    /// How flows share a path depends on how each of them answers to loss: only the same congestion control and number of streams share it evenly.
    fn has_unequal_rivals(&self, control: &str) -> bool {
        let Some(plan) = &self.judged.plan else { return self.rivals().next().is_some() };
        let of_host = &plan.data_sender(self.judged.flow.direction).congestion_control;
        self.rivals().any(|rival| {
            rival.congestion_control.as_ref().unwrap_or(of_host) != control
                || rival.parallel != self.judged.flow.parallel
        })
    }

    /// What a full bucket lets through at once is a part of the transfer.
    fn bucket_is_large(&self) -> bool {
        let way = self.judged.way();
        let Some((rate, burst)) = way.rate.zip(way.burst) else { return false };
        let carried = u128::from(rate.value.bps()) * self.judged.flow.duration.as_nanos() / 8_000_000_000;
        u128::from(burst.value.get()) * 10 > carried
    }

    /// What the queue of the data's way holds, in BDPs of the path.
    pub(super) fn queue_bdp(&self) -> Option<f64> {
        self.judged.path.queue_bdp(self.judged.flow.direction)
    }

    /// `bps`, or what both ends' buffers allow over the base round trip.
    fn within_the_buffers(&self, bps: u64) -> u64 {
        let JudgedFlow { plan, flow, .. } = self.judged;
        let Some(base) = self.base_rtt() else { return bps };
        let [receive, send] = if self.judged.is_observed() {
            self.windows_of_seen_hosts()
        } else {
            self.widened(buffers::windows(plan.as_ref(), flow))
        };
        let law = laws::window_law(receive.min(send), base).map(|bps| bps * f64::from(flow.parallel));
        law.map_or(bps, |law| bps.min(rounded(law)))
    }

    /// `receive` and `send` without a bound where the advice raises that buffer.
    fn widened(&self, [receive, send]: [Bytes; 2]) -> [Bytes; 2] {
        match self.limited_by {
            LimitedBy::Rwnd => [UNBOUNDED, send.max(self.flight_needed())],
            LimitedBy::Sndbuf => [receive, UNBOUNDED],
            _ => [receive, send],
        }
    }

    /// What both hosts let autotuning reach, where their sysctls were read: a program that sets no buffer comes up to that.
    fn windows_of_seen_hosts(&self) -> [Bytes; 2] {
        let JudgedFlow { sender_limits, receiver_limits, .. } = self.judged;
        let receive = receiver_limits
            .map(|limits| sizing::window_of_receive_buffer(Bytes::new(limits.tcp_rmem[2])))
            .unwrap_or(UNBOUNDED);
        let send = sender_limits
            .map(|limits| sizing::flight_of_send_buffer(Bytes::new(limits.tcp_wmem[2]))[1])
            .unwrap_or(UNBOUNDED);
        let is_raised = self.cause == Some(Cause::Maximum);
        match self.limited_by {
            LimitedBy::Rwnd if is_raised => [UNBOUNDED, send],
            LimitedBy::Sndbuf if is_raised => [receive, UNBOUNDED],
            _ => [receive, send],
        }
    }

    /// What is left of `bps` where the path loses segments by chance.
    fn after_losses(&self, bps: u64, changed: Changed<'_>) -> Option<u64> {
        let Some(plan) = &self.judged.plan else { return Some(bps) };
        let way = plan.path.way(self.judged.flow.direction);
        if way.loss_trace.is_some() {
            return None;
        }
        let p = match &way.loss {
            LossSpec::None => return Some(bps),
            LossSpec::Independent(p) => p.fraction(),
            LossSpec::GilbertElliott { p, r, loss_bad, loss_good } => {
                let bad = p.fraction() / (p.fraction() + r.fraction()).max(f64::MIN_POSITIVE);
                let mean = bad * loss_bad.fraction() + (1.0 - bad) * loss_good.fraction();
                return (changed.control == "bbr" && mean <= BBR_LOSS)
                    .then(|| rounded(bps as f64 * (1.0 - mean)));
            }
            // A list of packets ends, and BBR does not answer to it.
            LossSpec::Packets(_) => return (changed.control == "bbr").then_some(bps),
        };
        if changed.control == "bbr" {
            return (p <= BBR_LOSS).then(|| rounded(bps as f64 * (1.0 - p)));
        }
        let mss =
            Bytes::new(self.judged.diagnosis.figures.mss_bytes.unwrap_or(self.judged.path.headers.mss()));
        let (rtt, ratio) = (self.base_rtt()?, Ratio::from_fraction(p));
        let stream_bps = match changed.control {
            _ if p > RARE => None,
            "cubic" => loss::cubic(mss, rtt, ratio),
            "reno" => loss::mathis(mss, rtt, ratio, AckPolicy::EverySegment),
            _ => None,
        }?;
        Some(bps.min(rounded(stream_bps * changed.streams as f64)))
    }
}
