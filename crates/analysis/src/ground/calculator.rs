//! `pipefill bdp`: one path's arithmetic in one struct.

use crate::ground::interval::micros;
use crate::ground::models::headers::Headers;
use crate::ground::models::loss::{self, AckPolicy, CubicRegion};
use crate::ground::models::{sizing, window};
use crate::ground::statistics::rounded;
use pipefill_core::cell::{Framing, Protocol};
use pipefill_core::units::{Bytes, Rate, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The emulated bottleneck's queue is a BDP, but not below this: a hundred frames, as `path.queue` has it.
const QUEUE_MIN: Bytes = Bytes::new(151_400);

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Question {
    /// The bottleneck's rate, counting IP + 14 bytes and `overhead`.
    pub rate: Rate,
    /// What each frame costs beside these bytes: with `path.rate_layer = "wire"` preamble, FCS and gap.
    pub overhead: Bytes,
    /// Base round trip.
    pub rtt: Duration,
    /// A fixed window (the smallest of cwnd, rwnd and what the send buffer holds); `None` = as large as it needs to be.
    pub window: Option<Bytes>,
    /// A socket buffer, the maximum of `tcp_rmem` or `tcp_wmem`; `None` = as large as it needs to be.
    pub buffer: Option<Bytes>,
    /// Random loss of segments; `None` = none.
    pub loss: Option<Ratio>,
    /// Payload of a full segment.
    pub mss: Bytes,
}

/// The answers, in the order of a screen. Rates are bits per second of TCP payload but for `rate_bps`.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Calculation {
    /// As asked, counting IP + 14 bytes and `overhead_bytes`.
    pub rate_bps: u64,
    /// What each frame costs beside these bytes: 24 with `--rate-layer wire`, for preamble, FCS and gap.
    #[serde(default)]
    pub overhead_bytes: u64,
    /// As asked.
    pub rtt_us: u64,
    /// As asked.
    pub mss_bytes: u64,
    /// What a full segment costs of the rate: MSS, headers and overhead.
    #[serde(default)]
    pub counted_bytes: u64,
    /// `rate × rtt`.
    pub bdp_bytes: u64,
    /// The BDP in full frames with their overhead, rounded up.
    pub bdp_packets: u64,
    /// What the headers leave of the rate.
    pub goodput_limit_bps: u64,
    /// What the window allows; null where no window was given or the RTT is zero.
    pub window: Option<WindowAnswer>,
    /// What a socket buffer allows; null where none was given or the RTT is zero.
    #[serde(default)]
    pub buffer: Option<BufferAnswer>,
    /// What the loss allows; null where no loss was given, or where the RTT is zero.
    pub loss: Option<LossAnswer>,
    /// The least of the limits above (of the loss models, CUBIC's).
    pub predicted_bps: u64,
    /// Which limit that is.
    pub predicted_by: PredictedBy,
    /// Time until slow start has a BDP in flight.
    pub slow_start_us: u64,
    /// Sysctl lines that let a BDP be in flight.
    pub sysctl: Vec<String>,
    /// Sysctl lines for programs that set their buffers themselves.
    #[serde(default)]
    pub socket_sysctl: Vec<String>,
    /// Commands that emulate the path, and the one that undoes them; `DEV` is the interface.
    #[serde(default)]
    pub tc: Vec<String>,
    /// Smallest `limit` of a netem that delays one direction by the whole RTT.
    pub netem_limit_packets: u64,
    /// Smallest `burst` of a tbf.
    pub tbf_burst_bytes: u64,
}

/// What a fixed window allows.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct WindowAnswer {
    /// As asked.
    pub window_bytes: u64,
    /// The window law, `8 × window / rtt`; the pipe may be narrower.
    pub window_law_bps: u64,
    /// Share of the BDP that the window fills, per cent; above 100 it also fills a queue.
    pub bdp_percent: f64,
    /// The RTT up to which the window fills the pipe.
    pub rtt_limit_us: u64,
}

/// What a socket buffer allows, at most the path's goodput.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct BufferAnswer {
    /// As asked.
    pub buffer_bytes: u64,
    /// As receive buffer, at least: half of it is window; kernels since 6.6 come to three quarters.
    pub rcvbuf_bps: u64,
    /// As send buffer with packets of one segment each, at least.
    pub sndbuf_mtu_bps: u64,
    /// As send buffer with super-packets (GSO), at least: up to 1.7 times as much where ACKs come one by one.
    pub sndbuf_gso_bps: u64,
}

/// What a random loss allows.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct LossAnswer {
    /// As asked.
    pub loss_percent: f64,
    /// Mathis et al. (1997), an ACK for every segment.
    pub mathis_bps: u64,
    /// Padhye et al. (1998), delayed ACKs, RTO = max(200 ms, 2 RTT); a send rate.
    pub pftk_bps: u64,
    /// CUBIC (RFC 9438 section 5).
    pub cubic_bps: u64,
    /// True where CUBIC does no better than Reno.
    pub reno_friendly: bool,
}

/// Which arithmetic is the narrowest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PredictedBy {
    /// The bottleneck less headers.
    Rate,
    /// The window law.
    Window,
    /// CUBIC's response to loss.
    Loss,
}

/// Why a question has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CalculationError {
    /// A rate of zero.
    #[error("the rate must be above zero")]
    ZeroRate,
    /// A segment of no bytes.
    #[error("the MSS must be above zero")]
    ZeroMss,
    /// A loss that leaves nothing.
    #[error("a loss of 100 % leaves nothing to compute")]
    TotalLoss,
}

/// Answers `question`.
///
/// # Errors
/// [`CalculationError`] for a zero rate or MSS, or a loss of 100 %.
pub fn calculate(question: &Question) -> Result<Calculation, CalculationError> {
    check(question)?;
    let Question { rate, overhead, rtt, mss, .. } = *question;
    let bdp = rate.bdp(rtt);
    let frame = Headers::USUAL.frame(Protocol::Tcp, mss);
    let counted = Bytes::new(frame.get() + overhead.get());
    let goodput_limit = Headers::USUAL.goodput(rate, Framing::beside(overhead), Protocol::Tcp, mss);
    let window = question.window.and_then(|w| answer_window(question, w, bdp));
    let loss = question.loss.and_then(|p| answer_loss(question, p, bdp));
    let (predicted_bps, predicted_by) = narrowest(rounded(goodput_limit), window.as_ref(), loss.as_ref());
    Ok(Calculation {
        rate_bps: rate.bps(),
        overhead_bytes: overhead.get(),
        rtt_us: micros(rtt),
        mss_bytes: mss.get(),
        counted_bytes: counted.get(),
        bdp_bytes: bdp.get(),
        bdp_packets: window::packets(bdp, counted).ok_or(CalculationError::ZeroMss)?,
        goodput_limit_bps: rounded(goodput_limit),
        window,
        buffer: question.buffer.and_then(|size| answer_buffer(question, size, goodput_limit)),
        loss,
        predicted_bps,
        predicted_by,
        slow_start_us: window::slow_start_time(bdp, mss, rtt).map(micros).ok_or(CalculationError::ZeroMss)?,
        sysctl: sizing::sysctl_lines(bdp),
        socket_sysctl: sizing::socket_sysctl_lines(bdp),
        tc: sizing::tc_lines(rate, rtt, bdp.max(QUEUE_MIN), question.loss, frame, overhead)
            .ok_or(CalculationError::ZeroMss)?,
        netem_limit_packets: sizing::netem_limit_packets(rate, rtt, counted)
            .ok_or(CalculationError::ZeroMss)?,
        tbf_burst_bytes: sizing::tbf_burst(rate, sizing::TIMER_HZ).map_or(0, Bytes::get),
    })
}

fn check(question: &Question) -> Result<(), CalculationError> {
    if question.rate.bps() == 0 {
        return Err(CalculationError::ZeroRate);
    }
    if question.mss.get() == 0 {
        return Err(CalculationError::ZeroMss);
    }
    if question.loss.is_some_and(|p| p.fraction() >= 1.0) {
        return Err(CalculationError::TotalLoss);
    }
    Ok(())
}

fn answer_window(question: &Question, window: Bytes, bdp: Bytes) -> Option<WindowAnswer> {
    let law = window::window_law(window, question.rtt)?;
    Some(WindowAnswer {
        window_bytes: window.get(),
        window_law_bps: rounded(law),
        bdp_percent: 100.0 * window.get() as f64 / bdp.get().max(1) as f64,
        rtt_limit_us: micros(question.rate.time_to_send(window)),
    })
}

fn answer_buffer(question: &Question, size: Bytes, goodput_limit: f64) -> Option<BufferAnswer> {
    let carries =
        |flight: Bytes| window::window_law(flight, question.rtt).map(|bps| rounded(bps.min(goodput_limit)));
    let [mtu, gso] = sizing::flight_of_send_buffer(size);
    Some(BufferAnswer {
        buffer_bytes: size.get(),
        rcvbuf_bps: carries(sizing::window_of_receive_buffer(size))?,
        sndbuf_mtu_bps: carries(mtu)?,
        sndbuf_gso_bps: carries(gso)?,
    })
}

/// `None` at a zero loss too: without loss the models have nothing to say.
fn answer_loss(question: &Question, p: Ratio, bdp: Bytes) -> Option<LossAnswer> {
    let Question { rtt, mss, window, .. } = *question;
    let limit = window.unwrap_or_else(|| bdp.max(mss)).get() as f64 / mss.get() as f64;
    let rto = loss::RTO_MIN.max(rtt * 2);
    let (_, region) = loss::cubic_window(rtt, p)?;
    Some(LossAnswer {
        loss_percent: p.percent(),
        mathis_bps: rounded(loss::mathis(mss, rtt, p, AckPolicy::EverySegment)?),
        pftk_bps: rounded(loss::pftk(mss, rtt, rto, p, limit, AckPolicy::Delayed)?),
        cubic_bps: rounded(loss::cubic(mss, rtt, p)?),
        reno_friendly: region == CubicRegion::RenoFriendly,
    })
}

fn narrowest(
    goodput_limit: u64,
    window: Option<&WindowAnswer>,
    loss: Option<&LossAnswer>,
) -> (u64, PredictedBy) {
    let mut least = (goodput_limit, PredictedBy::Rate);
    let others = [
        window.map(|w| (w.window_law_bps, PredictedBy::Window)),
        loss.map(|l| (l.cubic_bps, PredictedBy::Loss)),
    ];
    for candidate in others.into_iter().flatten() {
        if candidate.0 < least.0 {
            least = candidate;
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::cell::WIRE_OVERHEAD;

    fn question() -> Question {
        Question {
            rate: Rate::from_bps(1_000_000_000),
            overhead: Bytes::new(0),
            rtt: Duration::from_millis(10),
            window: None,
            buffer: None,
            loss: None,
            mss: Bytes::new(Headers::USUAL.mss()),
        }
    }

    /// Study 2's path: 1.25 MB, 956 Mbit/s of goodput.
    #[test]
    fn a_clean_path_is_limited_by_its_rate() {
        let got = calculate(&question()).unwrap();
        assert_eq!((got.bdp_bytes, got.bdp_packets), (1_250_000, 826));
        assert_eq!(got.predicted_by, PredictedBy::Rate);
        assert_eq!(got.predicted_bps, 956_406_869);
        assert_eq!((got.window, got.loss), (None, None));
        assert_eq!(got.tbf_burst_bytes, 500_000);
        assert_eq!(got.netem_limit_packets, 827);
    }

    /// What iperf3 shows on Gigabit Ethernet: 1448 of every 1538 bytes.
    #[test]
    fn a_rate_of_the_wire_leaves_less() {
        let got = calculate(&Question { overhead: WIRE_OVERHEAD, ..question() }).unwrap();
        assert_eq!((got.predicted_bps, got.counted_bytes), (941_482_445, 1_538));
        assert_eq!((got.bdp_packets, got.netem_limit_packets), (813, 814));
        assert!(
            got.tc[1].ends_with("tbf rate 1000000000bit burst 500000 limit 1250000 overhead 24"),
            "{got:?}"
        );
    }

    /// Study 2's finding: some 250 kB in flight at 10 ms are 200 Mbit/s.
    #[test]
    fn a_small_window_limits() {
        let got = calculate(&Question { window: Some(Bytes::new(250_000)), ..question() }).unwrap();
        assert_eq!((got.predicted_bps, got.predicted_by), (200_000_000, PredictedBy::Window));
        let window = got.window.unwrap();
        assert_eq!(window.rtt_limit_us, 2_000);
        assert!((window.bdp_percent - 20.0).abs() < 1e-9);
    }

    /// Study 2: half of 512 KiB at 10 ms are the published 200 Mbit/s.
    #[test]
    fn a_buffer_is_not_a_window() {
        let got = calculate(&Question { buffer: Some(Bytes::new(512 << 10)), ..question() }).unwrap();
        let buffer = got.buffer.unwrap();
        assert_eq!(buffer.rcvbuf_bps, 209_715_200);
        assert!(buffer.sndbuf_mtu_bps < buffer.rcvbuf_bps && buffer.rcvbuf_bps < buffer.sndbuf_gso_bps);
        let roomy = calculate(&Question { buffer: Some(Bytes::new(32 << 20)), ..question() }).unwrap();
        assert_eq!(roomy.buffer.unwrap().rcvbuf_bps, got.goodput_limit_bps);
    }

    /// At 10 ms and 1 % CUBIC is in its Reno-friendly region: 12 segments a round trip, 13.9 Mbit/s.
    #[test]
    fn loss_limits() {
        let got = calculate(&Question { loss: Some(Ratio::from_percent(1.0)), ..question() }).unwrap();
        assert_eq!(got.predicted_by, PredictedBy::Loss);
        let loss = got.loss.unwrap();
        assert!(loss.reno_friendly);
        assert_eq!(loss.cubic_bps, 13_900_800);
        assert!(loss.pftk_bps < loss.mathis_bps);
    }

    #[test]
    fn nonsense_is_refused() {
        let ask = |change: fn(&mut Question)| {
            let mut asked = question();
            change(&mut asked);
            calculate(&asked).unwrap_err()
        };
        assert_eq!(ask(|q| q.rate = Rate::from_bps(0)), CalculationError::ZeroRate);
        assert_eq!(ask(|q| q.mss = Bytes::new(0)), CalculationError::ZeroMss);
        assert_eq!(ask(|q| q.loss = Some(Ratio::ONE)), CalculationError::TotalLoss);
    }

    #[test]
    fn a_zero_rtt_has_no_window_law() {
        let got = calculate(&Question {
            rtt: Duration::ZERO,
            window: Some(Bytes::new(65_535)),
            loss: Some(Ratio::from_percent(1.0)),
            ..question()
        })
        .unwrap();
        assert_eq!((got.window, got.loss, got.bdp_bytes), (None, None, 0));
    }

    #[test]
    fn json_round_trips() {
        let got = calculate(&question()).unwrap();
        let text = serde_json::to_string(&got).unwrap();
        assert_eq!(serde_json::from_str::<Calculation>(&text).unwrap(), got);
    }
}
