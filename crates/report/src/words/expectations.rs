//! Why an expectation could not be judged, in words.

use pipefill_analysis::findings::experiment::{CellResult, ExpectationResult};
use pipefill_core::cell::{ExpectMetric, Expectation};

/// The reason; `None` where it was judged.
pub(super) fn why_not_judged(
    cell: &CellResult,
    expectation: &Expectation,
    result: &ExpectationResult,
) -> Option<String> {
    match (&result.held, &result.measured, &result.bound) {
        (Some(_), ..) => None,
        (None, None, _) if cell.valid == 0 => Some(format!("no valid run ({} recorded)", cell.runs)),
        (None, None, _) => Some(format!("{} was not measured", name(expectation.metric).1)),
        (None, _, None) => Some("the path has no rate to take a share of".to_owned()),
        (None, Some(_), Some(_)) => Some("a number and a word cannot be compared".to_owned()),
    }
}

/// The metric in a sentence, and its name in the JSON, where it has one.
pub(super) const fn name(metric: ExpectMetric) -> (&'static str, &'static str) {
    match metric {
        ExpectMetric::Goodput => ("goodput", "goodput_bps"),
        ExpectMetric::Sender => ("offered", "sender_bps"),
        ExpectMetric::Retransmits => ("retransmits", "retransmits"),
        ExpectMetric::MinRtt => ("least RTT", "min_rtt_us"),
        ExpectMetric::Srtt => ("smoothed RTT", "srtt_us_p50"),
        ExpectMetric::Lost => ("lost", "lost_percent"),
        ExpectMetric::BaseRtt => ("base RTT", "ping.base_rtt_us"),
        ExpectMetric::ForwardRate => ("forward rate", "ping.forward_bps"),
        ExpectMetric::ReverseRate => ("reverse rate", "ping.reverse_bps"),
        ExpectMetric::PingNaive => ("the ping's window / RTT", "ping.naive_bps"),
        ExpectMetric::PingDoubled => ("twice the ping's window / RTT", "ping.doubled_bps"),
        ExpectMetric::PingLaw => ("window / fitted base RTT", "ping.law_bps"),
        ExpectMetric::LimitedBy => ("limited by", "limited_by"),
        ExpectMetric::Cause => ("cause", "cause"),
        ExpectMetric::CwndCause => ("cwnd because of", "cwnd_cause"),
        ExpectMetric::AlsoLimitedBy => ("also limited by", "a second cause"),
        ExpectMetric::Flows => ("limits of the flows", "flows"),
        ExpectMetric::Bufferbloat => ("bufferbloat", "bufferbloat"),
        ExpectMetric::IdleRtt => ("idle RTT", "idle_rtt_us"),
        ExpectMetric::LoadedRtt => ("loaded RTT", "loaded_rtt_us_p50"),
        ExpectMetric::LoadedRttP95 => ("95th percentile of the loaded RTT", "loaded_rtt_us_p95"),
        ExpectMetric::Fairness => ("fairness", "fairness_index"),
    }
}
