//! What a verdict is composed from: a judged flow with its laws, or the reason that stands in its place.
//!
//! A law gives a figure only where its assumptions hold.

use crate::findings::finding::{Advice, Latency};
use crate::findings::metrics::AqmMetrics;
use crate::findings::udp_socket_report::UdpSocketReport;
use crate::ground::models::loss::{self, AckPolicy};
use crate::ground::models::window;
use crate::ground::statistics::rounded;
use crate::infer::{KnownPath, KnownWay, SharedBottleneck, of_others};
use crate::judge::{Diagnosis, FULL, Figures, HeldTime, JoinedEvidence, RuleId};
use pipefill_core::cell::{CellSpec, FlowSpec, LossSpec, LossUnit, Protocol};
use pipefill_core::limit::{Cause, CwndCause, LimitedBy};
use pipefill_core::record::{BufferLimits, CpuQuota, OptionsSet, WayFacts};
use pipefill_core::units::{Bytes, Rate, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// From this share of the time on it is said that nothing moved.
pub const STANDS_STILL: f64 = 0.05;
/// From this share of stalled time on, flight / round trip does not estimate the rate: samples miss most of what moves between two timeouts.
pub const MOSTLY_STANDS_STILL: f64 = 0.5;
/// Little's law is about a steady state: what is in flight changes by less than this part of its peak in an epoch.
const STEADY: f64 = 0.3;
/// Little's law holds where it agrees with what was acknowledged.
const AGREES: f64 = 0.1;
/// The response functions know no timeouts: they hold while losses are rare (RFC 9438, 5; Padhye et al., 1998).
const RARE: f64 = 0.03;
/// The flow takes at least this part of what passes in its direction.
const NEARLY_ALONE: f64 = 0.9;

/// What limits a flow or a connection, and what to change: the same members in every document.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Verdict {
    /// The category with the largest share of the time; null where nothing was sampled, or too little to judge.
    pub limited_by: Option<LimitedBy>,
    /// Category → share of the time; of several runs their mean.
    pub limited_fraction: Option<BTreeMap<LimitedBy, f64>>,
    /// What refines it; null where the evidence supports no cause.
    pub cause: Option<Cause>,
    /// Where that is the congestion window: why it is no larger.
    pub cwnd_cause: Option<CwndCause>,
    /// What limits over the active time: without what the other side had not asked for, and without pauses of an application that nobody asks.
    pub active_limited_by: Option<LimitedBy>,
    /// What refines that.
    pub active_cause: Option<Cause>,
    /// The time that is judged, microseconds, of all streams: from the first payload of either direction to this direction's last. Null where
    /// the capture's clock was set back in between.
    pub span_us: Option<u64>,
    /// It by who held it, the longest first; the microseconds add up to `span_us`. Null where nothing was judged.
    pub time: Option<Vec<HeldTime>>,
    /// The rule that gives it most of its time; null where no rule was asked.
    pub rule: Option<RuleId>,
    /// The smallest relative move of one threshold that names another: the median over its time; null where no threshold decides.
    pub margin: Option<f64>,
    /// In a sentence.
    #[serde(rename = "verdict")]
    pub sentence: Option<String>,
    /// What to change, and on which machine.
    pub advice: Option<Vec<Advice>>,
    /// What `sentence` is composed from; none once it is.
    #[serde(skip)]
    #[schemars(skip)]
    pub reason: Option<VerdictReason>,
}

impl Verdict {
    /// Of a judged flow with `advice`, without words.
    pub fn of(judged: Box<JudgedFlow>, advice: Vec<Advice>) -> Self {
        let diagnosis = &judged.diagnosis;
        Self {
            limited_by: Some(diagnosis.limited_by),
            limited_fraction: Some(diagnosis.limited_fraction.clone()),
            cause: diagnosis.cause,
            cwnd_cause: diagnosis.cwnd_cause,
            active_limited_by: diagnosis.active_limited_by,
            active_cause: diagnosis.active_cause,
            span_us: Some(diagnosis.time.iter().map(|held| held.us).sum()),
            time: Some(diagnosis.time.clone()),
            rule: diagnosis.rule,
            margin: diagnosis.margin,
            sentence: None,
            advice: Some(advice),
            reason: Some(VerdictReason::Judged(judged)),
        }
    }

    /// Nothing is said to limit what was too short to judge.
    pub(crate) fn too_short(reason: VerdictReason) -> Self {
        Self { rule: Some(RuleId::TOO_SHORT), reason: Some(reason), ..Self::default() }
    }
}

/// A flow with its diagnosis.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedFlow {
    /// What a scenario asked for; absent where none describes the connection, of whose path only its ends show something.
    pub plan: Option<CellSpec>,
    /// What is known of the path.
    pub path: KnownPath,
    /// The flows that share it; of observed ones those that carried more than next to nothing.
    pub flows: Vec<FlowSpec>,
    /// The flow.
    pub flow: FlowSpec,
    /// Name of its congestion control.
    pub congestion_control: String,
    /// What the host that sends its data allows sockets to buffer, where no scenario says it.
    pub sender_limits: Option<BufferLimits>,
    /// The same of the host that receives them.
    pub receiver_limits: Option<BufferLimits>,
    /// What the program that sends its data has set of its socket, where no scenario says it and the kernel tells.
    pub sender_options: Option<OptionsSet>,
    /// The same of the program that receives them.
    pub receiver_options: Option<OptionsSet>,
    /// The CPU quota of the process that sends its data, where no scenario describes it.
    pub sender_quota: Option<CpuQuota>,
    /// The same of the process that receives them.
    pub receiver_quota: Option<CpuQuota>,
    /// What limited it.
    pub diagnosis: Diagnosis,
    /// Its round trips.
    pub latency: Latency,
    /// What the discipline of the queue in its direction did; absent where that is drop-tail.
    pub aqm: Option<AqmMetrics>,
    /// Its goodput.
    pub goodput_bps: u64,
    /// What it could reach beside the others, bits per second of payload; absent where the path has no rate.
    pub room_bps: Option<f64>,
}

impl JudgedFlow {
    /// Whether no scenario describes it.
    pub const fn is_observed(&self) -> bool {
        self.plan.is_none()
    }

    /// What is known of the path in the flow's direction.
    pub const fn way(&self) -> &KnownWay {
        self.path.way(self.flow.direction)
    }

    /// What its limit may have to do with other flows at its bottleneck, where nothing but its samples shows them.
    pub fn shared(&self) -> Option<SharedBottleneck> {
        let is_sharers = match (self.diagnosis.limited_by, self.diagnosis.cwnd_cause) {
            (LimitedBy::Path, _) => true,
            (LimitedBy::Cwnd, cause) => cause.is_none_or(|cause| cause == CwndCause::QueueLoss),
            _ => false,
        };
        let KnownWay { rate, inferred, .. } = self.way();
        let rate_bps = rate.map(|rate| rate.map(Rate::bps));
        let way = inferred.filter(|_| is_sharers).map(|way| WayFacts { rate_bps, ..way })?;
        of_others(&way, self.diagnosis.limited_by)
    }

    /// What theory gives for the flow as it was, bits per second of payload; `None` where the cause has no formula that holds.
    pub fn predicted_bps(&self) -> Option<u64> {
        let figures = &self.diagnosis.figures;
        match self.diagnosis.limited_by {
            // Its rate is not what limits.
            LimitedBy::Path if matches!(self.diagnosis.cause, Some(Cause::Silence | Cause::Mtu)) => None,
            // Beside others the path's rate is no prediction of one flow, nor where chance takes datagrams out of a path that is not full.
            LimitedBy::Path => figures.path_goodput_bps.filter(|_| {
                let is_tcp = self.flow.protocol == Protocol::Tcp;
                self.is_alone() && (is_tcp || figures.utilisation.is_some_and(|share| share >= FULL))
            }),
            LimitedBy::Rwnd => window_product(figures.rwnd_bytes?, figures),
            LimitedBy::Sndbuf => flight_product(figures),
            LimitedBy::App => self.of_all_streams(self.flow.bitrate),
            LimitedBy::Receiver => self.of_all_streams(self.flow.read_rate),
            // The kernel's own pacing counts payload (tcp_update_skb_after_send()); only the fq qdisc counts headers.
            LimitedBy::Pacing => self.of_all_streams(self.flow.max_pacing_rate),
            LimitedBy::Cwnd => self.response_bps(),
            LimitedBy::Cpu | LimitedBy::Testbed | LimitedBy::Unknown => None,
        }
    }

    /// What all its streams do where each of them does `rate`.
    pub fn of_all_streams(&self, rate: Option<Rate>) -> Option<u64> {
        rate?.bps().checked_mul(u64::from(self.flow.parallel))
    }

    /// Whether nearly all that passes in its direction is this flow's.
    pub fn is_alone(&self) -> bool {
        let figures = &self.diagnosis.figures;
        let all = figures.path_goodput_bps.zip(figures.utilisation).map(|(path, share)| path as f64 * share);
        all.is_none_or(|all| self.goodput_bps as f64 >= NEARLY_ALONE * all)
    }

    /// CUBIC's and Reno's response to losses by chance, each segment by itself (RFC 9438, 5; Mathis 1997). BBR has none, nor have losses
    /// that come many at once, and neither knows the timeouts of heavy loss.
    pub fn response_bps(&self) -> Option<u64> {
        let (figures, flow) = (&self.diagnosis.figures, &self.flow);
        if self.diagnosis.cwnd_cause != Some(CwndCause::RandomLoss) {
            return None;
        }
        let way = self.plan.as_ref()?.path.way(flow.direction);
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
        let bps = match self.congestion_control.as_str() {
            "cubic" => loss::cubic(mss, rtt, p),
            "reno" => loss::mathis(mss, rtt, p, AckPolicy::EverySegment),
            _ => None,
        }?;
        let all = bps * f64::from(flow.parallel);
        Some(figures.path_goodput_bps.map_or(rounded(all), |path| rounded(all).min(path)))
    }
}

/// A window a mean round trip.
pub fn window_product(window_bytes: u64, figures: &Figures) -> Option<u64> {
    product(window_bytes, figures.rtt_mean_us.or(figures.base_rtt_us)?)
}

/// What was in flight in the mean, over the mean round trip (Little's law), less the time in which nothing moved where that is more than a little.
/// `None` where the law does not hold.
pub fn flight_product(figures: &Figures) -> Option<u64> {
    let still = figures.stalled_share.filter(|&share| share >= STANDS_STILL).unwrap_or(0.0);
    let is_steady = figures.changing_share.is_none_or(|share| share < STEADY);
    let moving = product(figures.flight_mean_bytes?, figures.rtt_mean_us?)?;
    let bps = rounded(moving as f64 * (1.0 - still));
    let agrees = figures.acked_bps.is_none_or(|acked| agree(bps, acked));
    (is_steady && still < MOSTLY_STANDS_STILL && agrees).then_some(bps)
}

/// Whether a product of Little's law is what was measured.
pub fn agree(product_bps: u64, measured_bps: u64) -> bool {
    (product_bps as f64 - measured_bps as f64).abs() <= AGREES * measured_bps as f64
}

fn product(size: u64, rtt_us: u64) -> Option<u64> {
    window::window_law(Bytes::new(size), Duration::from_micros(rtt_us)).map(rounded)
}

/// What is too little in a single reading of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShortReading {
    /// The connection is too young, or its round trip too long.
    RoundTrips {
        /// From the first sample to the last.
        span_us: u64,
        /// The longest smoothed round trip.
        rtt_us: u32,
    },
    /// It moved too little although data waited.
    Segments {
        /// From the first sample to the last.
        span_us: u64,
        /// Segments with payload that it sent.
        segments: u32,
    },
}

/// What the verdict on a connection, a captured flow or a test says.
#[derive(Debug, Clone, PartialEq)]
pub enum VerdictReason {
    /// What limited it, by its samples.
    Judged(Box<JudgedFlow>),
    /// It was too short.
    TooShort,
    /// Only packets of its sender were captured.
    OneDirection,
    /// It took a few ticks of the capture's clock.
    CoarseClock,
    /// The receiver's window closed and did not open again.
    WindowStaysClosed,
    /// What a single reading shows of it is too little.
    ShortReading(ShortReading),
    /// So many datagrams came to the path.
    FewDatagrams(u64),
    /// There is one sample.
    SeenOnce,
    /// Nothing was carried.
    Idle,
    /// What limited it, as a capture at each end shows it.
    BothCaptures(Box<JudgedFlow>, JoinedEvidence),
    /// What a UDP socket shows.
    UdpSocket(UdpSocketReport),
    /// Datagrams of a test.
    Datagrams(DatagramEvidence),
}

/// The datagrams of a test in one direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DatagramEvidence {
    /// What limited them.
    pub limited_by: LimitedBy,
    /// What was asked for, bits per second of payload; `None` for as much as goes.
    pub asked_bps: Option<u64>,
    /// What was sent, bits per second of payload; `None` for nothing at all.
    pub sent_bps: Option<u64>,
    /// The part that did not arrive.
    pub lost_share: f64,
}
