//! The products and formulas behind a verdict, each where it holds.

use super::{Measured, Subject};
use crate::ground::models::loss::{self, AckPolicy};
use crate::ground::models::window;
use crate::ground::statistics::rounded;
use crate::ground::wording::{bytes, duration, percent, rate};
use crate::judge::Figures;
use pipefill_core::cell::{LossSpec, LossUnit};
use pipefill_core::limit::CwndCause;
use pipefill_core::units::{Bytes, Rate, Ratio};
use std::time::Duration;

/// From this share of the time on it is said that nothing moved.
const STANDS_STILL: f64 = 0.05;
/// From here on the product of what is in flight is no estimate any more: between two timeouts samples see little of what moves.
const MOSTLY_STANDS_STILL: f64 = 0.5;
/// Little's law is about a steady state: what is in flight changes by less than this part of its peak in an epoch.
const STEADY: f64 = 0.3;
/// The product is told where it agrees with what was acknowledged.
const AGREES: f64 = 0.1;
/// The response functions know no timeouts: they hold while losses are rare (RFC 9438, 5; Padhye et al., 1998).
const RARE: f64 = 0.03;

/// What the application offers.
pub(super) fn offered(subject: &Subject<'_>) -> Option<u64> {
    subject.flow.bitrate.map(Rate::bps)?.checked_mul(u64::from(subject.flow.parallel))
}

/// A window a mean round trip.
pub(super) fn window_product(window_bytes: u64, figures: &Figures) -> Option<u64> {
    product(window_bytes, figures.rtt_mean_us.or(figures.base_rtt_us)?)
}

/// What was in flight in the mean, over the mean round trip (Little's law), less the time in which nothing moved. `None` where the law
/// does not hold.
pub(super) fn flight_product(figures: &Figures) -> Option<u64> {
    let still = figures.stalled_share.unwrap_or(0.0);
    let is_steady = figures.changing_share.is_none_or(|share| share < STEADY);
    let moving = product(figures.flight_mean_bytes?, figures.rtt_mean_us?)?;
    let bps = rounded(moving as f64 * (1.0 - still));
    let agrees = figures.acked_bps.is_none_or(|acked| agree(bps, acked));
    (is_steady && still < MOSTLY_STANDS_STILL && agrees).then_some(bps)
}

fn agree(product_bps: u64, measured_bps: u64) -> bool {
    (product_bps as f64 - measured_bps as f64).abs() <= AGREES * measured_bps as f64
}

/// What was in flight, and what that gives a round trip where Little's law holds: of what was acknowledged, and of what is told as measured.
pub(super) fn in_flight(figures: &Figures, measured: &Measured) -> String {
    let (Some(flight), Some(rtt)) = (figures.flight_mean_bytes, figures.rtt_mean_us) else {
        return measured.text.clone();
    };
    let (measured_bps, measured) = (measured.bps, &measured.text);
    let still = figures.stalled_share.unwrap_or(0.0);
    let (flight, rtt) = (bytes(flight), duration(rtt));
    if still >= MOSTLY_STANDS_STILL {
        return format!(
            "for {} of the time nothing came back for longer than a round trip, and the sender waited for a timer; in the rest {flight} \
             were in flight on average; {measured}",
            percent(still)
        );
    }
    match flight_product(figures).filter(|&bps| agree(bps, measured_bps)) {
        Some(bps) if still >= STANDS_STILL => format!(
            "{flight} were in flight on average; {flight} / {rtt}, less the {} of the time in which nothing came back for longer than a \
             round trip, gives {}, {measured}",
            percent(still),
            rate(bps)
        ),
        Some(bps) => {
            format!("{flight} were in flight on average; {flight} / {rtt} gives {}, {measured}", rate(bps))
        }
        None => format!("{flight} were in flight on average, with a round trip of {rtt}; {measured}"),
    }
}

/// CUBIC's and Reno's response to losses by chance, each segment by itself (RFC 9438, 5; Mathis 1997). BBR has none, nor have losses that
/// come many at once, and neither knows the timeouts of heavy loss.
pub(super) fn response(subject: &Subject<'_>) -> Option<u64> {
    let (figures, flow) = (&subject.diagnosis.figures, subject.flow);
    if subject.diagnosis.cwnd_cause != Some(CwndCause::RandomLoss) {
        return None;
    }
    let way = subject.spec.path.way(flow.direction);
    if !matches!(way.loss, LossSpec::Independent(_)) || way.loss_unit == LossUnit::SuperPacket {
        return None;
    }
    let p = figures.random_loss_share.or(figures.loss_share)?;
    let is_still = figures.stalled_share.is_some_and(|share| share >= STANDS_STILL);
    if is_still || p > RARE {
        return None;
    }
    let (mss, rtt) = (Bytes::new(figures.mss_bytes?), Duration::from_micros(figures.srtt_us?));
    let p = Ratio::from_fraction(p.clamp(0.0, 1.0));
    let host = subject.spec.data_sender(flow.direction);
    let bps = match flow.congestion_control.as_ref().unwrap_or(&host.congestion_control).as_str() {
        "cubic" => loss::cubic(mss, rtt, p),
        "reno" => loss::mathis(mss, rtt, p, AckPolicy::EverySegment),
        _ => None,
    }?;
    let all = bps * f64::from(flow.parallel);
    Some(figures.path_goodput_bps.map_or(rounded(all), |path| rounded(all).min(path)))
}

fn product(size: u64, rtt_us: u64) -> Option<u64> {
    window::window_law(Bytes::new(size), Duration::from_micros(rtt_us)).map(rounded)
}
