//! What a change should bring, where that can be foreseen: nothing that comes after the limit that it lifts may be unknown.

use super::Case;
use crate::findings::verdict::JudgedFlow;
use crate::ground::buffers;
use crate::ground::models::loss::{self, AckPolicy};
use crate::ground::models::window as laws;
use crate::ground::statistics::rounded;
use pipefill_core::cell::{FlowSpec, LossSpec, Protocol};
use pipefill_core::units::{Bytes, Ratio};

/// The response functions hold while losses are rare.
const RARE: f64 = 0.03;
/// BBR holds its rate up to about this loss (Cardwell et al., 2016: a fifth).
const BBR_LOSS: f64 = 0.15;
/// A sender that cuts its window keeps the pipe full from this queue on, in BDPs (CUBIC: 0.43; Reno: 1).
const QUEUE_BDP: f64 = 0.4;
/// Of ACKs that are lost nobody foresees the rate.
const ACKS_LOST: f64 = 0.3;

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

    /// `bps`, or what losses and buffers leave of it; `None` where that is not known beforehand.
    pub(super) fn predicted(&self, bps: u64, changed: Changed<'_>) -> Option<u64> {
        let is_bbr = changed.control == "bbr";
        if self.is_disordered(is_bbr)
            || self.acks_are_held_up()
            || self.bucket_is_large()
            || self.has_rivals()
        {
            return None;
        }
        if !is_bbr && !changed.has_long_queue && self.queue_bdp().is_some_and(|queue| queue < QUEUE_BDP) {
            return None;
        }
        let left = self.after_losses(self.within_the_buffers(bps), changed)?;
        Some(left.max(self.judged.goodput_bps))
    }

    /// Nobody's theory tells what reordering costs, nor where jitter ends slow start.
    pub(super) fn is_disordered(&self, is_bbr: bool) -> bool {
        let Some(plan) = &self.judged.plan else { return false };
        let direction = self.judged.flow.direction;
        let (way, back) = (plan.path.way(direction), plan.path.way(direction.opposite()));
        let has_jitter = way.jitter.is_some() || back.jitter.is_some();
        let overtakes = way.jitter.as_ref().is_some_and(|jitter| jitter.reorder);
        way.reorder.fraction() > 0.0 || overtakes || (has_jitter && !is_bbr)
    }

    /// ACKs are lost, or share a bottleneck with data that goes their way.
    pub(super) fn acks_are_held_up(&self) -> bool {
        let back = self.judged.flow.direction.opposite();
        let are_lost = self.judged.diagnosis.figures.ack_loss_share.is_some_and(|share| share >= ACKS_LOST);
        let is_filled = self.judged.path.way(back).rate.is_some()
            && self.judged.flows.iter().any(|flow| {
                flow.direction == back
                    && flow.protocol == Protocol::Tcp
                    && flow.bitrate.is_none()
                    && flow.max_pacing_rate.is_none()
            });
        are_lost || is_filled
    }

    /// Another flow of its direction takes what it can: how both share the path depends on how each of them answers to loss.
    pub(super) fn has_rivals(&self) -> bool {
        let direction = self.judged.flow.direction;
        let takes_all = |flow: &FlowSpec| {
            flow.direction == direction
                && flow.protocol == Protocol::Tcp
                && flow.bitrate.is_none()
                && flow.read_rate.is_none()
                && flow.max_pacing_rate.is_none()
        };
        let others = self.judged.flows.iter().enumerate().filter(|(at, _)| *at != self.index());
        others.into_iter().any(|(_, flow)| takes_all(flow))
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
        let [receive, send] = self.widened(buffers::windows(plan.as_ref(), flow));
        let law = laws::window_law(receive.min(send), base).map(|one| one * f64::from(flow.parallel));
        law.map_or(bps, |law| bps.min(rounded(law)))
    }

    /// Buffers that the advice raises are no limit behind it.
    fn widened(&self, [receive, send]: [Bytes; 2]) -> [Bytes; 2] {
        use pipefill_core::limit::LimitedBy::{Rwnd, Sndbuf};
        let all = Bytes::new(u64::MAX);
        match self.judged.diagnosis.limited_by {
            Rwnd => [all, send.max(self.flight_needed())],
            Sndbuf => [receive, all],
            _ => [receive, send],
        }
    }

    /// What is left of `bps` where the path loses segments by chance.
    fn after_losses(&self, bps: u64, changed: Changed<'_>) -> Option<u64> {
        let Some(plan) = &self.judged.plan else { return Some(bps) };
        let p = match &plan.path.way(self.judged.flow.direction).loss {
            LossSpec::None => return Some(bps),
            LossSpec::Independent(p) => p.fraction(),
            LossSpec::GilbertElliott { p, r, loss_bad, loss_good } => {
                let bad = p.fraction() / (p.fraction() + r.fraction()).max(f64::MIN_POSITIVE);
                let mean = bad * loss_bad.fraction() + (1.0 - bad) * loss_good.fraction();
                return (changed.control == "bbr" && mean <= BBR_LOSS)
                    .then(|| rounded(bps as f64 * (1.0 - mean)));
            }
            // A list of packets ends.
            LossSpec::Packets(_) => return None,
        };
        if changed.control == "bbr" {
            return (p <= BBR_LOSS).then(|| rounded(bps as f64 * (1.0 - p)));
        }
        let mss =
            Bytes::new(self.judged.diagnosis.figures.mss_bytes.unwrap_or(self.judged.path.headers.mss()));
        let (rtt, ratio) = (self.base_rtt()?, Ratio::from_fraction(p));
        let one = match changed.control {
            _ if p > RARE => None,
            "cubic" => loss::cubic(mss, rtt, ratio),
            "reno" => loss::mathis(mss, rtt, ratio, AckPolicy::EverySegment),
            _ => None,
        }?;
        Some(bps.min(rounded(one * changed.streams as f64)))
    }
}
