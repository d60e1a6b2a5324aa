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
        (None, None, _) => Some(format!("{} was not measured", name(expectation.metric))),
        (None, _, None) => Some("the path has no rate to take a share of".to_owned()),
        (None, Some(_), Some(_)) => Some("a number and a word cannot be compared".to_owned()),
    }
}

/// The metric's name in the JSON, where it has one.
const fn name(metric: ExpectMetric) -> &'static str {
    match metric {
        ExpectMetric::Goodput => "goodput_bps",
        ExpectMetric::Sender => "sender_bps",
        ExpectMetric::Retransmits => "retransmits",
        ExpectMetric::MinRtt => "min_rtt_us",
        ExpectMetric::Srtt => "srtt_us_p50",
        ExpectMetric::Lost => "lost_percent",
        ExpectMetric::BaseRtt => "ping.base_rtt_us",
        ExpectMetric::ForwardRate => "ping.forward_bps",
        ExpectMetric::ReverseRate => "ping.reverse_bps",
        ExpectMetric::PingNaive => "ping.naive_bps",
        ExpectMetric::PingDoubled => "ping.doubled_bps",
        ExpectMetric::PingLaw => "ping.law_bps",
        ExpectMetric::LimitedBy => "limited_by",
        ExpectMetric::CwndCause => "cwnd_cause",
        ExpectMetric::AlsoLimitedBy => "a second cause",
        ExpectMetric::Flows => "flows",
        ExpectMetric::Bufferbloat => "bufferbloat",
        ExpectMetric::IdleRtt => "idle_rtt_us",
        ExpectMetric::LoadedRtt => "loaded_rtt_us_p50",
    }
}
