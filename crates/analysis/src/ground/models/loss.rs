//! What random loss allows: Mathis, PFTK, CUBIC.
//!
//! All take `p`, the probability that loses a segment and begins a congestion event, and give bits per second of
//! payload. They hold for independent losses of single segments. Never for a super-packet dropped whole, which loses up to
//! 45 segments in one event and lets a flow run many times faster than these say.

use pipefill_core::units::{Bytes, Ratio};
use std::time::Duration;

/// The kernel's shortest retransmission time-out (`TCP_RTO_MIN`).
pub const RTO_MIN: Duration = Duration::from_millis(200);
/// CUBIC's multiplicative decrease factor (RFC 9438 section 4.6).
const CUBIC_BETA: f64 = 0.7;
/// CUBIC's constant `C`, segments/s³ (RFC 9438 section 5).
const CUBIC_C: f64 = 0.4;
/// The constant of the average window of Reno as RFC 9438 section 5.1 has it.
const RENO_AVERAGE: f64 = 1.2;

/// Segments that one ACK acknowledges, `b` of the models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AckPolicy {
    /// Every segment is acknowledged: b = 1.
    EverySegment,
    /// Every other segment (delayed ACKs, RFC 5681 section 4.2): b = 2.
    Delayed,
}

impl AckPolicy {
    fn segments(self) -> f64 {
        match self {
            Self::EverySegment => 1.0,
            Self::Delayed => 2.0,
        }
    }
}

/// Which part of CUBIC's response function holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CubicRegion {
    /// CUBIC does what Reno would do (RFC 9438 section 4.3).
    RenoFriendly,
    /// Its own cubic growth is the faster one (sections 4.4 and 4.5).
    Cubic,
}

/// Mathis, Semke, Mahdavi, Ott (1997): `MSS/RTT × C/√p` with `C = √(3/(2b))`: 1.22 with an ACK for every segment, 0.87 with
/// delayed ACKs. No time-outs: too high above about 2 % of loss. `None` at zero loss or RTT.
pub fn mathis(mss: Bytes, rtt: Duration, p: Ratio, acks: AckPolicy) -> Option<f64> {
    let window = (1.5 / acks.segments()).sqrt() / p.fraction().sqrt();
    window_rate(window, mss, rtt, p)
}

/// The full model of Padhye, Firoiu, Towsley, Kurose (1998), with time-outs and a window limit: the *send* rate of Reno
/// (retransmissions included, so a little above its goodput). `rto` is their `T0`, `window_max` (segments) their `W_m`.
/// `None` at zero loss or RTT, and at total loss.
pub fn pftk(
    mss: Bytes,
    rtt: Duration,
    rto: Duration,
    p: Ratio,
    window_max: f64,
    acks: AckPolicy,
) -> Option<f64> {
    let (p, b) = (p.fraction(), acks.segments());
    if p <= 0.0 || p >= 1.0 || rtt.is_zero() {
        return None;
    }
    let (rtt, rto) = (rtt.as_secs_f64(), rto.as_secs_f64());
    let unlimited = pftk_window(p, b);
    let window = unlimited.min(window_max);
    let timeout = pftk_timeout_share(window, p);
    let rounds = if unlimited < window_max {
        b / 2.0 * window + 1.0
    } else {
        b / 8.0 * window + (1.0 - p) / (p * window) + 2.0
    };
    let segments = (1.0 - p) / p + window + timeout / (1.0 - p);
    // What the timer is doubled to, up to 64 times.
    let backoff = 1.0 + (1..=6).map(|i| 2_f64.powi(i - 1) * p.powi(i)).sum::<f64>();
    let time = rtt * rounds + timeout * rto * backoff / (1.0 - p);
    Some(segments / time * mss.get() as f64 * 8.0)
}

/// CUBIC's average window in segments (RFC 9438 section 5): the larger of
/// `(C(3+β)/(4(1−β)))^¼ × (RTT/p)^¾` and, in the Reno-friendly region, `1.2/√p`. `None` at zero loss.
pub fn cubic_window(rtt: Duration, p: Ratio) -> Option<(f64, CubicRegion)> {
    let p = p.fraction();
    if p <= 0.0 {
        return None;
    }
    let shape = (CUBIC_C * (3.0 + CUBIC_BETA) / (4.0 * (1.0 - CUBIC_BETA))).powf(0.25);
    let cubic = shape * (rtt.as_secs_f64() / p).powf(0.75);
    let reno = RENO_AVERAGE / p.sqrt();
    Some(if cubic > reno { (cubic, CubicRegion::Cubic) } else { (reno, CubicRegion::RenoFriendly) })
}

/// CUBIC's response function: one [`cubic_window`] per round trip. No time-outs: too high above about 2 % of loss.
/// `None` at zero loss or RTT.
pub fn cubic(mss: Bytes, rtt: Duration, p: Ratio) -> Option<f64> {
    let (window, _) = cubic_window(rtt, p)?;
    window_rate(window, mss, rtt, p)
}

/// `window` segments of `mss` bytes per round trip, bits/s.
fn window_rate(window: f64, mss: Bytes, rtt: Duration, p: Ratio) -> Option<f64> {
    (p.fraction() > 0.0 && !rtt.is_zero()).then(|| window * mss.get() as f64 * 8.0 / rtt.as_secs_f64())
}

/// `E[W]`, equation 13 of the paper.
fn pftk_window(p: f64, b: f64) -> f64 {
    let offset = (2.0 + b) / (3.0 * b);
    offset + (8.0 * (1.0 - p) / (3.0 * b * p) + offset * offset).sqrt()
}

/// `Q̂(w)`, equation 24: the probability that a loss in a window of `w` ends in a time-out; 1 where no three duplicate
/// ACKs can arrive.
fn pftk_timeout_share(window: f64, p: f64) -> f64 {
    if window <= 3.0 {
        return 1.0;
    }
    let kept = 1.0 - p;
    let three = kept.powi(3);
    let share = (1.0 - three) * (1.0 + three * (1.0 - kept.powf(window - 3.0))) / (1.0 - kept.powf(window));
    share.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MSS: Bytes = Bytes::new(1_460);

    /// With MSS 1460, RTT 100 ms and p = 10^-4, Mathis' formula gives a window of 122.47 segments: 14.3 Mbit/s.
    #[test]
    fn mathis_by_hand() {
        let rtt = Duration::from_millis(100);
        let p = Ratio::from_fraction(1e-4);
        let got = mathis(MSS, rtt, p, AckPolicy::EverySegment).unwrap();
        assert!((got - 14.305e6).abs() < 2e3, "{got}");
        let delayed = mathis(MSS, rtt, p, AckPolicy::Delayed).unwrap();
        assert!((got / delayed - 2_f64.sqrt()).abs() < 1e-12);
        assert_eq!(mathis(MSS, rtt, Ratio::ZERO, AckPolicy::Delayed), None);
        assert_eq!(mathis(MSS, Duration::ZERO, p, AckPolicy::Delayed), None);
    }

    /// The tables of RFC 9438 section 5.1: average windows of CUBIC with C = 0.4 at RTT 100 ms and 10 ms.
    #[test]
    fn cubic_matches_the_tables_of_rfc_9438() {
        let table = [
            (1e-2, 12, 12),
            (1e-3, 38, 38),
            (1e-4, 187, 120),
            (1e-5, 1_054, 379),
            (1e-6, 5_926, 1_200),
            (1e-7, 33_325, 5_926),
            (1e-8, 187_400, 33_325),
        ];
        for (p, at_100_ms, at_10_ms) in table {
            let window = |ms| {
                let (w, _) = cubic_window(Duration::from_millis(ms), Ratio::from_fraction(p)).unwrap();
                w
            };
            assert!(
                (window(100) / f64::from(at_100_ms) - 1.0).abs() < 0.005
                    || (window(100) - f64::from(at_100_ms)).abs() < 0.5,
                "p {p}"
            );
            assert!(
                (window(10) / f64::from(at_10_ms) - 1.0).abs() < 0.005
                    || (window(10) - f64::from(at_10_ms)).abs() < 0.5,
                "p {p}"
            );
        }
    }

    /// The approximation that the same authors give (and RFC 5348 section 3.1 uses) stays within 25 % where both hold.
    #[test]
    fn pftk_agrees_with_its_own_approximation() {
        let (rtt, rto) = (Duration::from_millis(100), Duration::from_millis(400));
        for percent in [0.01, 0.1, 0.5, 1.0, 2.0] {
            let p = Ratio::from_percent(percent);
            let full = pftk(MSS, rtt, rto, p, f64::INFINITY, AckPolicy::Delayed).unwrap();
            let x = p.fraction();
            let time = 0.1 * (4.0 * x / 3.0).sqrt()
                + 0.4 * (3.0 * (0.75 * x).sqrt()).min(1.0) * x * (1.0 + 32.0 * x * x);
            let approximate = 1_460.0 * 8.0 / time;
            assert!((full / approximate - 1.0).abs() < 0.25, "{percent} %: {full} against {approximate}");
        }
    }

    /// Without loss events to speak of, `W_m` segments per round trip are the limit (equation 31 as p → 0).
    #[test]
    fn pftk_respects_the_window_limit() {
        let (rtt, rto) = (Duration::from_millis(100), Duration::from_millis(400));
        let got = pftk(MSS, rtt, rto, Ratio::from_fraction(1e-9), 44.0, AckPolicy::Delayed).unwrap();
        let law = 44.0 * 1_460.0 * 8.0 / 0.1;
        assert!((got / law - 1.0).abs() < 1e-3, "{got} against {law}");
        assert_eq!(pftk(MSS, rtt, rto, Ratio::ONE, 44.0, AckPolicy::Delayed), None);
    }

    proptest! {
        #[test]
        fn more_loss_is_never_faster(low in 1e-6_f64..0.3, factor in 1.01_f64..3.0, ms in 1_u64..1_000) {
            let rtt = Duration::from_millis(ms);
            let (p, q) = (Ratio::from_fraction(low), Ratio::from_fraction(low * factor));
            let rate = |p| pftk(MSS, rtt, rtt * 4, p, 1e4, AckPolicy::Delayed).unwrap();
            prop_assert!(rate(q) < rate(p) * 1.000_001);
            prop_assert!(cubic(MSS, rtt, q) < cubic(MSS, rtt, p));
        }

        #[test]
        fn cubic_is_never_slower_than_its_reno_region(p in 1e-8_f64..0.5, ms in 1_u64..2_000) {
            let (window, region) = cubic_window(Duration::from_millis(ms), Ratio::from_fraction(p)).unwrap();
            let reno = RENO_AVERAGE / p.sqrt();
            prop_assert!(window >= reno);
            prop_assert_eq!(region == CubicRegion::RenoFriendly, window == reno);
        }
    }
}
